/* The key of a block on disk: all that its bytes depend on, beside its tokens. */
#pragma once
#include "base/hash.h"

struct kv_disk_key {
    uint64_t file;     /* names the model's files by size and time of change */
    uint64_t identity; /* service_spec.identity: model file and settings */
    uint64_t arithmetic;
    uint64_t tenant;
    uint64_t adapter; /* hash of an adapter's content; 0: the model alone */
    int64_t bytes_per_token, block_bytes;
    int32_t block_tokens, units_per_block;
    uint32_t kind; /* enum kv_kind */
    uint32_t has_row_classes;
};
/* Returns the name that stands before a prefix's first block. */
struct hash128 kv_disk_key_root(const struct kv_disk_key *key);
