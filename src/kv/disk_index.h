/* The index of the disk tier: which blocks have a file, in the order of their last use. Private to
 * this room. */
#pragma once
#include "base/hash.h"
#include "base/map.h"

struct kv_disk_entry {
    struct hash128 name;
    int64_t n_bytes;
    uint32_t older, newer;
};
struct kv_disk_index {
    struct map map; /* low half of the name -> entry */
    struct kv_disk_entry *entries;
    uint32_t n, n_max, n_used; /* n_used: entries from here on were never taken */
    uint32_t first_free, oldest, newest;
    int64_t n_bytes; /* of all entries */
};
void kv_disk_index_open(struct kv_disk_index *index, uint32_t n_max);
void kv_disk_index_close(struct kv_disk_index *index);
bool kv_disk_index_has(const struct kv_disk_index *index, struct hash128 name);
/* Adds a block as the newest. Returns false when it is there, when the index is full, or when
 * another name has the same low half. */
bool kv_disk_index_add(struct kv_disk_index *index, struct hash128 name, int64_t n_bytes) MUST_USE;
void kv_disk_index_remove(struct kv_disk_index *index, struct hash128 name); /* if it is there */
void kv_disk_index_touch(struct kv_disk_index *index, struct hash128 name);  /* now the newest */
/* Names the block that was used longest ago. Returns false when there is none. */
bool kv_disk_index_oldest(const struct kv_disk_index *index, struct hash128 *name);
