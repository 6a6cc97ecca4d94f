/* The disk tier: blocks of prefixes in files, so that they outlive their model's time in memory and
 * their process. A thread of its own reads and writes; the callers never wait for the disk.
 *
 *   write:  (copied to host memory) --begin--> WAITS --block by block--> OVER --ended--> FREE
 *   read:   (room in host memory)   --begin--> WAITS --block by block--> OVER --ended--> FREE
 *                                                |--dropped, a block that is not usable--^
 *
 * A block is named by SHA-256 of its key and of all tokens up to its end. It is used only if all of
 * its file agrees with that (kv/disk_file.h). Reads go before writes. The bytes of all files are
 * bounded, and the blocks that were used longest ago leave first; of one prefix the last block
 * leaves first. One thread owns a tier; it may end a job only after kv_disk_ended. */
#pragma once
#include "base/status.h"
#include "kv/disk_key.h"
#include "kv/host.h"

enum { KV_DISK_JOBS = 32, KV_DISK_FILES_MAX = 1 << 18 };

struct kv_disk;
struct kv_disk_options {
    const char *path; /* the tier's folder is PATH/engine-N */
    int engine;
    int64_t bytes_max;       /* of all files */
    int64_t block_bytes_min; /* bounds the number of files, together with KV_DISK_FILES_MAX */
};
/* Opens the folder and starts the thread, which first lists what an earlier process left. */
enum status kv_disk_open(struct kv_disk **out, const struct kv_disk_options *options,
                         struct fault *fault) MUST_USE;
/* Writes what waits, for two seconds at most, and ends the thread. */
void kv_disk_close(struct kv_disk *disk);
/* Returns whether kv_disk_open could open the folder now. */
enum status kv_disk_check(const char *path, int engine, struct fault *fault) MUST_USE;

bool kv_disk_has(struct kv_disk *disk, struct hash128 name); /* as far as it knows */
/* The first n blocks of a prefix are used now, from memory. Only this process knows: the times of
 * their files stay. */
void kv_disk_touch(struct kv_disk *disk, const struct hash128 *names, int32_t n);
/* Returns whether writes make sense now; after one that failed they rest for ten seconds. */
bool kv_disk_may_write(struct kv_disk *disk);

struct kv_disk_work {
    bool is_write;
    struct kv_disk_key key;
    const struct hash128 *names; /* (first + n_blocks) of the prefix; lent until it has ended, as
                                    the memory is */
    int32_t first, n_blocks;     /* first: number of its first block in the prefix */
    struct kv_host_view view;    /* of the n_blocks, in memory at base */
    unsigned char *base;
    void (*wake)(void *self); /* called in the tier's thread when it is over; NULL: not */
    void *wake_self;
};
/* Begins a job under a free number below KV_DISK_JOBS. */
void kv_disk_begin(struct kv_disk *disk, int job, const struct kv_disk_work *work);
void kv_disk_drop(struct kv_disk *disk, int job); /* it is over after its present block */
/* Returns whether the job is over, and frees its number then. *n_done: its blocks from the first on
 * that were written, or read and found right. */
bool kv_disk_ended(struct kv_disk *disk, int job, int32_t *n_done);
/* Waits until the folder is listed and all jobs are over. For tests and for the end. */
void kv_disk_settle(struct kv_disk *disk);

struct kv_disk_stats {
    int64_t n_files, n_bytes;               /* now */
    int64_t n_written, n_read;              /* blocks */
    int64_t n_evicted, n_dropped, n_failed; /* blocks; dropped: not as they were written */
};
void kv_disk_stats(struct kv_disk *disk, struct kv_disk_stats *stats);
