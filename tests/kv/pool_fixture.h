/* A small pool for the tests of this room: two services with different cuts of 1 KiB units. */
#pragma once
#include "kv/kv.h"

enum { POOL_UNIT_BYTES = 1024, POOL_SLOTS = 32, POOL_TOKENS = 512 };

static const struct kv_layout pool_layouts[2] = {
    { .bytes_per_token = 32, .block_tokens = 8, .blocks_per_unit = 4, .block_bytes = 256 },
    { .bytes_per_token = 20, .block_tokens = 16, .blocks_per_unit = 3, .block_bytes = 320 },
};

static struct kv *pool_open(int64_t n_units, int64_t n_units_max, bool has_prefix_cache)
{
    struct kv_service_options services[2] = { { .layout = pool_layouts[0] },
                                              { .layout = pool_layouts[1] } };
    struct kv_options options = {
        .pool_bytes_max = n_units_max * POOL_UNIT_BYTES,
        .pool_bytes = n_units * POOL_UNIT_BYTES,
        .unit_bytes = POOL_UNIT_BYTES,
        .n_services = 2,
        .services = services,
        .n_requests_max = POOL_SLOTS,
        .n_tokens_max = POOL_TOKENS,
        .has_prefix_cache = has_prefix_cache,
        .prefix_salt = 99,
    };
    return kv_open(&options);
}

static inline bool pool_reserve(struct kv *kv, int service, uint32_t slot, int32_t n_tokens)
{
    struct kv_need need = { .slot = slot, .n_tokens = n_tokens };
    return kv_reserve(kv, service, &need, 1);
}
