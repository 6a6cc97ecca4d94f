/* The counting pool beside the one that names its blocks: both give the same answers to
 * everything. */
#include "../kv_open.h"
#include "test.h"
#include "base/rng.h"
#include "kv/pool.h"

enum { N_SLOTS = 24, N_TOKENS = 400, UNIT_BYTES = 640, N_UNITS = 120 };

static struct kv *open_pool(enum kv_kind kind, bool is_virtual)
{
    /* One block per unit each, of 8 and of 16 tokens. The second service has a floor and a ceiling.
     * Head-wise a block has three units or two. */
    struct kv_service_options services[2] = {
        { .layout = { 80, 8, 1, 640 } },
        { .layout = { 40, 16, 1, 640 },
          .bytes_min = 10 * UNIT_BYTES,
          .bytes_max = 70 * UNIT_BYTES },
    };
    if (kind == KV_HEADS) {
        services[0].layout = (struct kv_layout){ 240, 8, 1, 1920, 3 };
        services[1].layout = (struct kv_layout){ 80, 16, 1, 1280, 2 };
    }
    return kv_open_with(&(struct kv_options){ .kind = kind,
                                              .pool_bytes_max = N_UNITS * UNIT_BYTES,
                                              .pool_bytes = N_UNITS * UNIT_BYTES / 2,
                                              .unit_bytes = UNIT_BYTES,
                                              .n_requests_max = N_SLOTS,
                                              .n_tokens_max = N_TOKENS,
                                              .is_virtual = is_virtual,
                                              .may_count = is_virtual },
                        services, 2);
}

static void assert_same(const struct kv *a, const struct kv *b)
{
    for (uint32_t slot = 0; slot < N_SLOTS; slot++) {
        int32_t n, m;
        (void)kv_table(a, slot, &n);
        (void)kv_table(b, slot, &m);
        assert_int_equal(n, m);
        assert_int_equal(kv_table_sizes(a)[slot], m);
    }
    assert_memory_equal(kv_budget(a), kv_budget(b), kv_budget_bytes(kv_budget(a)->n_services));
    for (int service = 0; service < 2; service++) {
        struct kv_stats s, t;
        kv_stats(a, service, &s);
        kv_stats(b, service, &t);
        assert_memory_equal(&s, &t, sizeof(s));
    }
    int64_t most_a, most_b;
    assert_int_equal(kv_open_bytes(a), kv_open_bytes(b));
    assert_int_equal(kv_table_bytes(a, &most_a), kv_table_bytes(b, &most_b));
    assert_int_equal(most_a, most_b);
    assert_int_equal(kv_is_idle(a), kv_is_idle(b));
    assert_true(kv_is_sound(a));
    assert_true(kv_is_sound(b));
}

static void run_both(enum kv_kind kind)
{
    struct rng rng;
    struct kv *counted = open_pool(kind, true), *named = open_pool(kind, false);
    int32_t n_tokens[N_SLOTS] = { 0 }, n_refused = 0;
    assert_true(counted->is_counted && !named->is_counted);
    rng_init(&rng, test_seed(1), 0);
    for (int i = 0; i < 20000; i++) {
        uint32_t slot = rng_below(&rng, N_SLOTS);
        int service = slot % 2;
        switch (rng_below(&rng, 8)) {
        case 0:
            kv_release(counted, slot);
            kv_release(named, slot);
            n_tokens[slot] = 0;
            break;
        case 1:
            n_tokens[slot] = (int32_t)rng_below(&rng, (uint32_t)n_tokens[slot] + 1);
            kv_trim(counted, slot, n_tokens[slot]);
            kv_trim(named, slot, n_tokens[slot]);
            break;
        case 2: /* only free units may close, since each pool would choose others differently */
            if (kv_budget(counted)->n_units_free == 0 || rng_below(&rng, 4) > 0)
                break;
            if (!kv_is_idle(named))
                break;
            assert_int_equal(kv_shrink(counted, 3 * UNIT_BYTES), kv_shrink(named, 3 * UNIT_BYTES));
            break;
        case 3:
            if (rng_below(&rng, 50) == 0)
                assert_int_equal(kv_grow(counted, UNIT_BYTES), kv_grow(named, UNIT_BYTES));
            break;
        default: {
            int32_t n = min_i32(N_TOKENS, n_tokens[slot] + (int32_t)rng_below(&rng, 90));
            struct kv_need need = { slot, n,
                                    rng_below(&rng, 2) ? min_i32(n, n_tokens[slot] + 1) : 0 };
            bool is_taken = kv_reserve(counted, service, &need, 1);
            assert_int_equal(is_taken, kv_reserve(named, service, &need, 1));
            n_refused += !is_taken;
            n_tokens[slot] = is_taken ? max_i32(n, n_tokens[slot]) : n_tokens[slot];
        }
        }
        assert_same(counted, named);
    }
    assert_in_range(n_refused, 100, 19000);
    kv_close(counted);
    kv_close(named);
}

static void counts_what_the_other_names(void **state)
{
    (void)state;
    run_both(KV_MERGED);
}

static void counts_heads(void **state)
{
    (void)state;
    run_both(KV_HEADS);
}

static void counts_parts(void **state)
{
    (void)state;
    run_both(KV_PRIVATE);
}

/* Units that are given back first close, and closing units are taken back first. */
static void closes_as_blocks_return(void **state)
{
    (void)state;
    struct kv *kv = open_pool(KV_MERGED, true);
    struct kv_need need = { 3, 8 * 40, 0 };
    assert_true(kv_reserve(kv, 0, &need, 1)); /* 40 of 60 units; 10 are owed to the other */
    assert_int_equal(kv_shrink(kv, 30 * UNIT_BYTES), 20 * UNIT_BYTES);
    assert_int_equal(kv_open_bytes(kv), 40 * UNIT_BYTES);
    assert_int_equal(kv_busy_closing(kv), 3);
    assert_true(kv_is_sound(kv));
    kv_trim(kv, 3, 8 * 36);
    assert_int_equal(kv_shrink(kv, 0), 4 * UNIT_BYTES);
    assert_int_equal(kv_grow(kv, 2 * UNIT_BYTES), 2 * UNIT_BYTES);
    assert_int_equal(kv_budget(kv)->n_units_open, 38);
    assert_int_equal(kv_busy_closing(kv), UINT32_MAX);
    assert_true(kv_is_sound(kv));
    kv_release(kv, 3);
    assert_int_equal(kv_budget(kv)->n_units_free, 38);
    assert_true(kv_is_sound(kv) && kv_is_idle(kv));
    kv->budget.n_units_free--;
    assert_false(kv_is_sound(kv));
    kv_close(kv);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_what_the_other_names),
        cmocka_unit_test(counts_heads),
        cmocka_unit_test(counts_parts),
        cmocka_unit_test(closes_as_blocks_return),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
