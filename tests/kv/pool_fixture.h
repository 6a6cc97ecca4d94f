/* A small pool for the tests of this room: two services with different cuts of 1 KiB units. With
 * pool_is_by_head they have 4 and 5 heads instead, of as many bytes, and 16 units replace one of
 * the others. */
#pragma once
#include "../kv_open.h"
#include "../test.h"
#include "kv/kv.h"

enum { POOL_UNIT_BYTES = 1024, POOL_SLOTS = 32, POOL_TOKENS = 512 };

static const struct kv_layout pool_layouts[2] = {
    { .bytes_per_token = 32, .block_tokens = 8, .blocks_per_unit = 4, .block_bytes = 256 },
    { .bytes_per_token = 20, .block_tokens = 16, .blocks_per_unit = 3, .block_bytes = 320 },
};

enum { POOL_HEAD_BYTES = 64 };
static const struct kv_layout pool_heads[2] = { { 32, 8, 1, 256, 4 }, { 20, 16, 1, 320, 5 } };
static bool pool_is_by_head, pool_has_row_classes;

static inline const struct kv_layout *pool_layout(int service)
{
    return pool_is_by_head ? &pool_heads[service] : &pool_layouts[service];
}

static struct kv *pool_open(int64_t n_units, int64_t n_units_max, bool has_prefix_cache)
{
    struct kv_service_options services[2] = { { .layout = *pool_layout(0) },
                                              { .layout = *pool_layout(1) } };
    struct kv_options options = {
        .kind = pool_is_by_head ? KV_HEADS : KV_MERGED,
        .pool_bytes_max = n_units_max * POOL_UNIT_BYTES,
        .pool_bytes = n_units * POOL_UNIT_BYTES,
        .unit_bytes = pool_is_by_head ? POOL_HEAD_BYTES : POOL_UNIT_BYTES,
        .n_requests_max = POOL_SLOTS,
        .n_tokens_max = POOL_TOKENS,
        .has_prefix_cache = has_prefix_cache,
        .has_row_classes = pool_has_row_classes,
        .prefix_salt = 99,
    };
    return kv_open_with(&options, services, 2);
}

static inline bool pool_reserve(struct kv *kv, int service, uint32_t slot, int32_t n_tokens)
{
    struct kv_need need = { .slot = slot, .n_tokens = n_tokens };
    return kv_reserve(kv, service, &need, 1);
}

/* Fills the pool with some of everything: cached blocks of one service, a request of either. */
static inline struct kv *pool_fill(struct kv *kv)
{
    static int32_t tokens[64];
    struct request r = { .service = 0 };
    assert_true(pool_reserve(kv, 0, 0, 40));
    kv_publish(kv, &r, 0, tokens, 40);
    kv_release(kv, 0);
    assert_true(pool_reserve(kv, 0, 1, 12));
    assert_true(pool_reserve(kv, 1, 2, 20));
    assert_true(kv_is_sound(kv));
    return kv;
}
