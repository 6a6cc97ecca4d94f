/* Units from bytes, and cuts of services that were not known when the pool was opened. */
#include "../test.h"
#include "base/rng.h"
#include "kv/cut.h"

static const int64_t MIB = INT64_C(1) << 20;

/* The unit depends on bytes alone: it keeps the number of units bounded, and holds the smallest
 * block. */
static void units_follow_from_bytes(void **state)
{
    (void)state;
    assert_int_equal(kv_cut_unit_bytes(KV_MERGED, 1 * MIB, 0), 65536);
    assert_int_equal(kv_cut_unit_bytes(KV_MERGED, 256 * MIB, 0), 65536);
    assert_int_equal(kv_cut_unit_bytes(KV_MERGED, 257 * MIB, 0), 131072);
    assert_int_equal(kv_cut_unit_bytes(KV_PRIVATE, 16384 * MIB, 0), 4 * MIB);
    assert_int_equal(kv_cut_unit_bytes(KV_MERGED, INT64_C(1) << 50, 0), 64 * MIB);
    assert_int_equal(kv_cut_unit_bytes(KV_HEADS, 16384 * MIB, 0), 8192);
    assert_int_equal(kv_cut_unit_bytes(KV_HEADS, 16384 * MIB, 8193), 16384);
    assert_int_equal(kv_cut_unit_bytes(KV_MERGED, 1 * MIB, 5 * MIB), 8 * MIB);
    /* Four blocks of 8 tokens of Llama-2-13B's 800 KiB, if the pool has that much. */
    assert_int_equal(kv_cut_unit_bytes(KV_MERGED, 16384 * MIB, 8 * 800 * 1024), 32 * MIB);
}

static void a_cut_fits_and_wastes_little(void **state)
{
    struct rng rng;
    (void)state;
    rng_init(&rng, test_seed(3), 1);
    for (int k = 0; k < 4000; k++) {
        enum kv_kind kind = (enum kv_kind)(k % KV_KINDS);
        int32_t n_heads = 1 + (int32_t)rng_below(&rng, 64);
        const struct kv_shape shape = { (int64_t)n_heads * (4 + rng_below(&rng, 1024)), n_heads };
        int64_t pool = MIB * (1 + rng_below(&rng, 64 * 1024));
        int64_t unit = kv_cut_unit_bytes(kind, pool, kv_cut_least_bytes(kind, &shape));
        struct kv_layout layout;
        double waste;
        assert_true(kv_cut_service(kind, &shape, unit, &layout, &waste));
        int64_t n_units = max_i32(layout.units_per_block, 1);
        assert_int_equal(layout.block_bytes, layout.block_tokens * shape.bytes_per_token);
        assert_true(layout.block_bytes * layout.blocks_per_unit <= unit * n_units);
        double kept =
            (double)(layout.block_bytes * layout.blocks_per_unit) / (double)(unit * n_units);
        assert_true(waste >= 0 && waste < 1 && kept > 1 - waste - 1e-9 && kept < 1 - waste + 1e-9);
        const struct kv_bounds any = kv_cut_bounds_any(kind, &layout, 1);
        const struct kv_bounds own = kv_cut_bounds_of(&layout, 1);
        assert_null(kv_cut_refuse(kind, &any, unit, &layout));
        assert_null(kv_cut_refuse(kind, &own, unit, &layout));
        bool is_small = kind != KV_HEADS && shape.bytes_per_token * 32 * KV_UNIT_BLOCKS_MAX < unit;
        if (kind != KV_HEADS && !is_small && layout.blocks_per_unit >= 4)
            assert_true(waste <= 0.25);
    }
}

static double waste_of(int64_t pool_bytes, const struct kv_shape *shapes, int n)
{
    int64_t unit = kv_cut_unit_for(KV_MERGED, pool_bytes, shapes, n);
    double worst = 0;
    for (int i = 0; i < n; i++) {
        struct kv_layout layout;
        double waste;
        assert_true(kv_cut_service(KV_MERGED, &shapes[i], unit, &layout, &waste));
        worst = waste > worst ? waste : worst;
    }
    return worst;
}

/* If services are known, the unit suits them: small ones in a large pool, and large ones. */
static void known_services_waste_little(void **state)
{
    (void)state;
    static const int64_t bytes_per_token[] = { 272,   544,    1024,   12288,  28672,
                                               57344, 131072, 327680, 524288, 819200 };
    for (size_t i = 0; i < COUNT_OF(bytes_per_token); i++) {
        const struct kv_shape one = { bytes_per_token[i], 1 };
        for (int64_t pool = 8 * MIB; pool <= 512 * 1024 * MIB; pool *= 4)
            if (pool >= 256 * bytes_per_token[i])
                assert_true(waste_of(pool, &one, 1) < 0.06);
        for (size_t k = 0; k < i; k++) {
            const struct kv_shape two[] = { { bytes_per_token[k], 1 }, one };
            double waste = waste_of(16384 * MIB, two, 2);
            if (bytes_per_token[i] < 256 * bytes_per_token[k]) /* else no unit suits both */
                assert_true(waste < 0.15);
        }
    }
    /* A narrow service keeps blocks of 16 tokens in a large pool, because shared prefixes are whole
     * blocks. */
    for (int64_t bytes = 272; bytes <= 4096; bytes += 16) {
        const struct kv_shape narrow = { bytes, 1 };
        struct kv_layout layout;
        double waste;
        int64_t unit = kv_cut_unit_for(KV_MERGED, 16384 * MIB, &narrow, 1);
        assert_true(kv_cut_service(KV_MERGED, &narrow, unit, &layout, &waste));
        assert_true(layout.block_tokens <= 16 && waste < 0.06);
    }
    const struct kv_shape head = { 512, 1 };
    assert_int_equal(kv_cut_unit_for(KV_HEADS, 16384 * MIB, &head, 1), 8192);
    assert_int_equal(kv_cut_unit_for(KV_MERGED, 16384 * MIB, NULL, 0), 4 * MIB);
}

/* Services that do not fit are refused, for every reason. */
static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
    struct kv_layout layout;
    double waste;
    assert_false(kv_cut_service(KV_MERGED, &(struct kv_shape){ 8193, 1 }, 65536, &layout, &waste));
    assert_false(kv_cut_service(KV_MERGED, &(struct kv_shape){ 0, 1 }, 65536, &layout, &waste));
    assert_false(kv_cut_service(KV_MERGED, &(struct kv_shape){ -5, 1 }, 65536, &layout, &waste));
    assert_false(
        kv_cut_service(KV_HEADS, &(struct kv_shape){ 4 * 2000, 4 }, 8192, &layout, &waste));
    assert_false(
        kv_cut_service(KV_HEADS, &(struct kv_shape){ INT64_MAX, 4 }, 8192, &layout, &waste));
    const struct kv_layout good = { 64, 16, 4, 1024, 1 };
    const struct kv_bounds bounds = kv_cut_bounds_of(&good, 1);
    struct kv_layout bad[] = { good, good, good, good, good };
    bad[0].block_tokens = 8;      /* its tables would be longer */
    bad[1].blocks_per_unit = 5;   /* more than there are records of */
    bad[2].units_per_block = 2;   /* of another kind of pool */
    bad[3].block_bytes = 1 << 20; /* longer than its part of a unit */
    bad[4].bytes_per_token = 0;
    assert_null(kv_cut_refuse(KV_MERGED, &bounds, 4096, &good));
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        assert_non_null(kv_cut_refuse(KV_MERGED, &bounds, 4096, &bad[i]));
    const struct kv_layout heads = { 40, 16, 1, 640, 20 };
    const struct kv_bounds most = kv_cut_bounds_any(KV_HEADS, &heads, 1);
    struct kv_layout more = heads, fewer = heads;
    more.units_per_block = 21; /* than block tables have rows */
    fewer.units_per_block = 15;
    assert_null(kv_cut_refuse(KV_HEADS, &most, 8192, &heads));
    assert_non_null(kv_cut_refuse(KV_HEADS, &most, 8192, &more));
    assert_non_null(kv_cut_refuse(KV_HEADS, &most, 8192, &fewer));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(units_follow_from_bytes),
        cmocka_unit_test(a_cut_fits_and_wastes_little),
        cmocka_unit_test(known_services_waste_little),
        cmocka_unit_test(what_does_not_fit_is_refused),
    };
    return cmocka_run_group_tests_name("kv_cut", tests, NULL, NULL);
}
