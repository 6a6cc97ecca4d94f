/* The files of the disk tier: a folder, and in it one file per block. Private to this room.
 *
 *   PATH/engine-0/lock               one process at a time has the folder
 *   PATH/engine-0/NAME.kv            a head, then the block's bytes; NAME is 32 hexadecimal digits
 *   PATH/engine-0/block.tmp          the file that is being written; it gets its name when it is
 *                                    whole
 *
 * A reader uses a file only if its length is right, all fields of its head are those that it
 * expects, and both checksums agree. So a file that a crash tore, or that the disk changed, is
 * noticed. A file is as secret as the prompts that it was computed from, so that only its owner may
 * read it. */
#pragma once
#include "base/status.h"
#include "kv/disk_key.h"

struct kv_disk_folder {
    int fd, lock_fd;
};
/* Opens the folder of an engine, and makes it if only its last two names are missing. Refuses a
 * path that is no folder, may not be written, or that another process uses. */
enum status kv_disk_file_open(struct kv_disk_folder *folder, const char *path, int engine,
                              struct fault *fault) MUST_USE;
void kv_disk_file_close(struct kv_disk_folder *folder);

struct kv_disk_file { /* a block, as it should be in its file */
    struct kv_disk_key key;
    struct hash128 name;
    int32_t position; /* of its first token */
    int64_t used_ns;  /* the file's time of change tells when it was used last */
};
enum kv_disk_result {
    KV_DISK_DONE,
    KV_DISK_GONE, /* there is no such file */
    KV_DISK_BAD,  /* it is not what was written */
    KV_DISK_FULL, /* the disk, or the owner's part of it, has no room */
    KV_DISK_FAILED
};
/* Both copy key.block_bytes. */
enum kv_disk_result kv_disk_file_write(const struct kv_disk_folder *folder,
                                       const struct kv_disk_file *file, const void *bytes);
enum kv_disk_result kv_disk_file_read(const struct kv_disk_folder *folder,
                                      const struct kv_disk_file *file, void *bytes);
void kv_disk_file_remove(const struct kv_disk_folder *folder, struct hash128 name);
/* Returns the bytes that a file with a block of this size takes on the disk. */
int64_t kv_disk_file_bytes(int64_t block_bytes);

struct kv_disk_found {
    struct hash128 name;
    int64_t n_bytes, used_ns;
};
/* Lists the files, the one that was used longest ago first. Returns how many; the caller gives
 * *found back. Files that no tier writes are left alone. */
int64_t kv_disk_file_list(const struct kv_disk_folder *folder, struct kv_disk_found **found);
