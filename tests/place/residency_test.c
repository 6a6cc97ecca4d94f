/* Eviction by bytes: which models leave, and which never do. */
#include "test.h"

#include "base/time.h"
#include "place/residency.h"

static const struct residency_model residents[] = {
    { .service = 0, .n_bytes = 100, .idle_since_ns = 50 },
    { .service = 1, .n_bytes = 200, .idle_since_ns = TIME_NEVER }, /* busy */
    { .service = 2, .n_bytes = 300, .idle_since_ns = 10 },
    { .service = 3, .n_bytes = 150, .idle_since_ns = 5, .keep_alive_ns = -1 }, /* pinned */
};

static void test_longest_idle_leaves_first(void **state)
{
    (void)state;
    struct residency_eviction out;
    residency_evict(residents, 4, 250, 0, 750, &out);
    assert_int_equal(out.n_victims, 1);
    assert_int_equal(out.victims[0], 2);
    assert_int_equal(out.free_bytes, 300);
    residency_evict(residents, 4, 350, 0, 750, &out);
    assert_int_equal(out.n_victims, 2);
    assert_int_equal(out.victims[1], 0);
}

static void test_no_victim_when_it_fits(void **state)
{
    (void)state;
    struct residency_eviction out;
    residency_evict(residents, 4, 60, 60, 810, &out);
    assert_int_equal(out.n_victims, 0);
    assert_false(out.never || out.must_wait);
}

static void test_busy_and_pinned_stay(void **state)
{
    (void)state;
    struct residency_eviction out;
    residency_evict(residents, 4, 500, 0, 750, &out); /* 400 bytes are idle, 200 busy */
    assert_true(out.must_wait);
    assert_int_equal(out.n_victims, 0);               /* no model leaves in vain */
    residency_evict(residents, 4, 601, 0, 750, &out); /* 750 less 150 pinned */
    assert_true(out.never);
    residency_evict(residents, 4, 600, 0, 750, &out);
    assert_false(out.never);
}

static void test_keep_alive(void **state)
{
    (void)state;
    struct residency_model three[3] = {
        { .service = 7, .idle_since_ns = 100, .keep_alive_ns = 50 },
        { .service = 8, .idle_since_ns = 100, .keep_alive_ns = 500 },
        { .service = 9, .idle_since_ns = TIME_NEVER, .keep_alive_ns = 1 },
    };
    uint16_t services[3];
    int64_t next;
    assert_int_equal(residency_expired(three, 3, 149, services, &next), 0);
    assert_int_equal(next, 150);
    assert_int_equal(residency_expired(three, 3, 150, services, &next), 1);
    assert_int_equal(services[0], 7);
    assert_int_equal(next, 600);
    three[0].keep_alive_ns = INT64_MAX; /* no overflow; it just stays */
    assert_int_equal(residency_expired(three, 1, INT64_MAX - 1, services, &next), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_longest_idle_leaves_first),
        cmocka_unit_test(test_no_victim_when_it_fits),
        cmocka_unit_test(test_busy_and_pinned_stay),
        cmocka_unit_test(test_keep_alive),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
