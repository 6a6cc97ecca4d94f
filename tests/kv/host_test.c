/* The host tier: bytes that are copied out come back the same, and its room is bounded and never
 * lost. The tests use merged blocks and head-wise ones. */
#include "../kv_open.h"
#include "lent.h"

#include "base/rng.h"
#include <string.h>

enum { N_SLOTS = 12, N_TOKENS_MAX = 100, N_SERVICES = 2, HOST_BYTES = 12000 };

static struct kv *kv;
static struct lent lent;
static struct kv_layout layouts[N_SERVICES];

static void open_pool(enum kv_kind kind)
{
    const struct kv_shape shapes[N_SERVICES] = { { 16, 2 }, { 40, 5 } };
    struct kv_service_options services[N_SERVICES];
    double waste;
    int64_t unit = kv_choose(kind, N_SERVICES, shapes, 2048, layouts, &waste);
    int64_t n_units = kind == KV_HEADS ? 1000 : 100;
    for (int i = 0; i < N_SERVICES; i++)
        services[i] = (struct kv_service_options){ .layout = layouts[i] };
    kv = kv_open_with(&(struct kv_options){ .kind = kind,
                                            .pool_bytes_max = n_units * unit,
                                            .pool_bytes = n_units * unit,
                                            .unit_bytes = unit,
                                            .n_requests_max = N_SLOTS,
                                            .n_tokens_max = N_TOKENS_MAX,
                                            .host_bytes = HOST_BYTES },
                      services, N_SERVICES);
    lent_open(&lent, kv);
}

/* Returns byte k of the slot's block, as its owner fills it. */
static unsigned char *byte_at(int service, uint32_t slot, int32_t i, int64_t k)
{
    int32_t n_blocks;
    uint32_t id = kv_table(kv, slot, &n_blocks)[i], per_unit, stride;
    const uint32_t *heads = kv_table_heads(kv, slot, &stride);
    per_unit = (uint32_t)layouts[service].blocks_per_unit;
    assert_true(i < n_blocks);
    if (heads != NULL) {
        int64_t part = layouts[service].block_bytes / layouts[service].units_per_block;
        return lent.base + heads[k / part * stride + i] * kv_unit_bytes(kv) + k % part;
    }
    return lent.base + id / per_unit * kv_unit_bytes(kv) +
           id % per_unit * layouts[service].block_bytes + k;
}

static void fill(int service, uint32_t slot, int32_t n_tokens, bool is_check, int seed)
{
    int64_t n = kv_blocks_for(n_tokens, layouts[service].block_tokens);
    for (int32_t i = 0; i < n; i++)
        for (int64_t k = 0; k < layouts[service].block_bytes; k++) {
            unsigned char value = (unsigned char)rng_at((uint64_t)seed, (uint64_t)i, (uint64_t)k);
            if (is_check)
                assert_int_equal(*byte_at(service, slot, i, k), value);
            else
                *byte_at(service, slot, i, k) = value;
        }
}

static void take(int service, uint32_t slot, int32_t n_tokens)
{
    const struct kv_need need = { .slot = slot, .n_tokens = n_tokens };
    assert_true(kv_reserve(kv, service, &need, 1));
}

static void go_and_come(enum kv_kind kind)
{
    struct rng rng;
    int32_t n_tokens[N_SLOTS] = { 0 };
    int seeds[N_SLOTS], n_out = 0, n_full = 0;
    open_pool(kind);
    rng_init(&rng, test_seed(3), 0);
    int64_t all = kv_host_free_bytes(kv);
    assert_true(all > 0 && all <= HOST_BYTES);
    for (int step = 0; step < 2000; step++) {
        uint32_t slot = rng_below(&rng, N_SLOTS);
        int service = (int)slot % N_SERVICES;
        if (n_tokens[slot] > 0) { /* into other blocks than before */
            take(service, slot, n_tokens[slot]);
            lent_copy(&lent, kv, slot, false);
            fill(service, slot, n_tokens[slot], true, seeds[slot]);
            kv_host_put(kv, slot);
            kv_release(kv, slot);
            n_tokens[slot] = 0;
            continue;
        }
        int32_t n = 1 + (int32_t)rng_below(&rng, N_TOKENS_MAX);
        int64_t before = kv_host_free_bytes(kv);
        take(service, slot, n);
        if (kv_host_take(kv, service, slot, n)) {
            seeds[slot] = step;
            fill(service, slot, n, false, step);
            lent_copy(&lent, kv, slot, true);
            n_tokens[slot] = n;
            n_out++;
        } else {
            n_full++;
            assert_int_equal(kv_host_free_bytes(kv), before);
        }
        kv_release(kv, slot);
        assert_true(kv_is_sound(kv));
    }
    assert_true(n_out > 300 && n_full > 50);
    assert_false(kv_is_idle(kv));
    for (uint32_t slot = 0; slot < N_SLOTS; slot++)
        kv_host_put(kv, slot);
    assert_int_equal(kv_host_free_bytes(kv), all);
    assert_true(kv_is_idle(kv));
    kv_close(kv);
    lent_close(&lent);
}

static void what_goes_out_comes_back(void **state)
{
    (void)state;
    go_and_come(KV_MERGED);
}

static void so_does_what_is_scattered(void **state)
{
    (void)state;
    go_and_come(KV_HEADS);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(what_goes_out_comes_back),
                                        cmocka_unit_test(so_does_what_is_scattered) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
