/* Files: mapped read-only, or read and written whole. */
#pragma once
#include "base/status.h"

struct file_map {
    const unsigned char *at;
    size_t n_bytes;
    int fd; /* private below */
    int64_t changed_ns;
    uint32_t n_missing;
};
enum status file_map_open(struct file_map *map, const char *path,
                          struct fault *fault) MUST_USE; /* a regular file */
void file_map_close(struct file_map *map);
/* False: the file was written or cut since it was opened, or some of it could not be read. What
 * lies where it has ended reads as zeros: whoever copies from a map asks afterwards. */
bool file_map_is_whole(const struct file_map *map);
void file_map_drop(const struct file_map *map, size_t offset,
                   size_t n_bytes); /* these pages are not needed any more */

/* Reads a whole file of at most n_bytes_max into memory for mem_give; a zero byte follows the
 * content. A pipe is read to its end, which may never come: what strangers name, or what is read
 * again while serving, is read as regular, and anything else is refused at once. */
enum status file_read(const char *path, size_t n_bytes_max, char **content, size_t *n_bytes,
                      struct fault *fault) MUST_USE;
enum status file_read_regular(const char *path, size_t n_bytes_max, char **content, size_t *n_bytes,
                              struct fault *fault) MUST_USE;
/* What comes through a pipe can be read once: for a path that names an open descriptor, as
 * /dev/stdin and a shell's <(...) do, its bytes are moved into memory behind the same descriptor,
 * and whoever reads the path from now on has them all. Any other path is left as it is. */
enum status file_keep(const char *path, size_t n_bytes_max, struct fault *fault) MUST_USE;
enum status file_write(const char *path, const void *content, size_t n_bytes,
                       struct fault *fault) MUST_USE; /* by rename; into devices and pipes as is */
/* After file_write: the file's new name survives a loss of power too. */
enum status file_sync_folder_of(const char *path, struct fault *fault) MUST_USE;
/* Could file_write do it now? Asked before work that takes long. */
enum status file_may_write(const char *path, struct fault *fault) MUST_USE;
/* All of them to an open file; false: errno says why. */
bool file_put(int fd, const void *bytes, size_t n_bytes);
bool file_exists(const char *path);
bool file_is_directory(const char *path);
/* The first file in alphabetical order whose name ends so, in a directory; false: there is none, or
 * the directory can't be read. Names of FILE_NAME_BYTES and more are passed over. */
enum { FILE_NAME_BYTES = 256 };
bool file_find(const char *directory, const char *ending, char name[FILE_NAME_BYTES]);
/* The names in a directory that end so, in the order of their bytes: how many, at most n_max; -1
 * when the directory can't be read. */
int file_list(const char *path, const char *ending, char (*names)[FILE_NAME_BYTES], int n_max);
