/* Reads, writes and maps files: a map is read-only, other files are read and written whole. */
#pragma once
#include "base/status.h"

struct file_map {
    const unsigned char *at;
    size_t n_bytes;
    int64_t changed_ns; /* when the file was written last, as it was opened */
    int fd;             /* private below */
    uint32_t n_missing;
};
enum status file_map_open(struct file_map *map, const char *path,
                          struct fault *fault) MUST_USE; /* a regular file */
void file_map_close(struct file_map *map);
/* Returns false if the file was written or cut since it was opened, or if some of it could not be
 * read. Bytes beyond the file's present end read as zeros, so a caller that copies from a map
 * checks this afterwards. */
bool file_map_is_whole(const struct file_map *map);
void file_map_drop(const struct file_map *map, size_t offset,
                   size_t n_bytes); /* these pages are not needed any more */

/* Reads a whole file of at most n_bytes_max into memory for mem_give; a zero byte follows the
 * content. It reads a pipe to its end, which may never come. file_read_regular refuses
 * everything but regular files at once. Use it for files that clients name, and for files that are
 * read again while serving. */
enum status file_read(const char *path, size_t n_bytes_max, char **content, size_t *n_bytes,
                      struct fault *fault) MUST_USE;
enum status file_read_regular(const char *path, size_t n_bytes_max, char **content, size_t *n_bytes,
                              struct fault *fault) MUST_USE;
/* Lets a pipe be read more than once. If the path names an open descriptor, as /dev/stdin and a
 * shell's <(...) do, this moves its bytes into memory behind the same descriptor. Later readers of
 * the path then get all of them. Any other path is left as it is. */
enum status file_keep(const char *path, size_t n_bytes_max, struct fault *fault) MUST_USE;
enum status file_write(const char *path, const void *content, size_t n_bytes,
                       struct fault *fault) MUST_USE; /* by rename; into devices and pipes as is */
/* After file_write: the file's new name survives a loss of power too. */
enum status file_sync_folder_of(const char *path, struct fault *fault) MUST_USE;
/* Checks whether file_write could write the path now. Call it before work that takes long. */
enum status file_may_write(const char *path, struct fault *fault) MUST_USE;
/* Writes all n_bytes to an open file. On false, errno has the reason. */
bool file_put(int fd, const void *bytes, size_t n_bytes);
bool file_exists(const char *path);
bool file_is_directory(const char *path);
/* Finds the first file in alphabetical order whose name has this ending. False: the directory has
 * no such file, or it can't be read. Names of FILE_NAME_BYTES and more are skipped. */
enum { FILE_NAME_BYTES = 256 };
bool file_find(const char *directory, const char *ending, char name[FILE_NAME_BYTES]);
/* Lists the names in a directory that have this ending, in the order of their bytes. Returns how
 * many, at most n_max; -1 when the directory can't be read. */
int file_list(const char *path, const char *ending, char (*names)[FILE_NAME_BYTES], int n_max);
