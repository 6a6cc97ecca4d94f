/* Shares: buckets in whole numbers, caps against a search by brute force. */
#include "test.h"
#include "base/num.h"
#include "base/rng.h"
#include "schedule/share.h"

enum { DEPTH_NS = 300000000 };

static void one_stretch_is_many_short_ones(void **state)
{
    (void)state;
    struct rng rng;
    rng_init(&rng, test_seed(1), 0);
    for (int round = 0; round < 500; round++) {
        struct share_bucket once, often;
        schedule_share_init(&once, DEPTH_NS);
        once.phi = 1 + rng_below(&rng, SHARE_ONE);
        once.level = DEPTH_NS / 7 * SHARE_ONE;
        often = once;
        int64_t step_ns = 1 + rng_below(&rng, 20000000), n = 1 + rng_below(&rng, 200), now = 0;
        for (int64_t i = 0; i < n; i++)
            schedule_share_charge(&often, now += step_ns, step_ns, DEPTH_NS);
        schedule_share_charge(&once, now, now, DEPTH_NS);
        assert_int_equal(once.level, often.level);
        for (int64_t i = 0; i < n; i++)
            schedule_share_settle(&often, now += step_ns, DEPTH_NS);
        assert_int_equal(schedule_share_level(&once, now, DEPTH_NS), often.level);
    }
}

static void a_bucket_gives_its_share(void **state)
{
    (void)state;
    struct share_bucket bucket;
    schedule_share_init(&bucket, DEPTH_NS);
    bucket.phi = SHARE_ONE / 4;
    int64_t now = 0, used = 0, step_ns = 10000000;
    for (int i = 0; i < 10000; i++) {
        now += step_ns;
        bool is_eligible = schedule_share_level(&bucket, now - step_ns, DEPTH_NS) > 0;
        if (is_eligible)
            schedule_share_charge(&bucket, now, step_ns, DEPTH_NS);
        used += is_eligible ? step_ns : 0;
    }
    assert_in_range(used * 1000 / now, 250, 258); /* a quarter, and the depth once */
}

static void debts_and_savings_are_bounded(void **state)
{
    (void)state;
    struct share_bucket bucket;
    schedule_share_init(&bucket, DEPTH_NS);
    bucket.phi = SHARE_ONE / 2;
    schedule_share_charge(&bucket, INT64_C(900000000000000), INT64_C(900000000000000), DEPTH_NS);
    assert_int_equal(bucket.level, -(int64_t)DEPTH_NS * SHARE_ONE);
    assert_int_equal(schedule_share_level(&bucket, INT64_MAX / 2, DEPTH_NS),
                     (int64_t)DEPTH_NS * SHARE_ONE);
}

/* The cost of docs/ALGORITHMS.md 1.4, written down again. */
static double cost_of(const struct share_load *h, const struct share_load *l, double phi)
{
    double n = h->rate * h->fixed / (phi - h->marginal);
    double u = h->marginal + (phi - h->marginal) * (1 - num_exp(-n));
    double left = 1 - u - l->marginal;
    return left <= 0 ? 1e300 : h->rate / (phi - h->marginal) + l->rate / left;
}

static void the_cap_of_two_is_the_best_of_a_fine_grid(void **state)
{
    (void)state;
    struct rng rng;
    rng_init(&rng, test_seed(1), 2);
    for (int round = 0; round < 500; round++) {
        struct share_load loads[2] = {
            { .solo = 1e9,
              .rate = 0.1 + 4 * rng_unit(&rng),
              .marginal = 0.3 * rng_unit(&rng),
              .fixed = 0.2 + rng_unit(&rng) },
            { .solo = 5e9,
              .rate = 0.1 + 2 * rng_unit(&rng),
              .marginal = 0.5 * rng_unit(&rng),
              .fixed = 2 * rng_unit(&rng) },
        };
        double phi[2], least = 1e300;
        assert_true(schedule_share_solve(loads, 2, phi));
        assert_true(phi[1] >= 1 && phi[0] > loads[0].marginal && phi[0] <= 1);
        for (int i = 1; i <= 20000; i++) {
            double at = loads[0].marginal + (1 - loads[0].marginal) * i / 20000;
            double cost = cost_of(&loads[0], &loads[1], at);
            least = cost < least ? cost : least;
        }
        assert_true(cost_of(&loads[0], &loads[1], phi[0]) < least * 1.01);
    }
}

static void overload_shares_by_load(void **state)
{
    (void)state;
    struct share_load loads[3] = { { 1e9, 1, 0.4, 1 }, { 2e9, 1, 0.8, 1 }, { 3e9, 1, 0.4, 1 } };
    double phi[3];
    assert_false(schedule_share_solve(loads, 3, phi));
    assert_true(phi[2] == 1 && phi[1] == 0.5 && phi[0] == 0.25);
}

static void silence_caps_nobody(void **state)
{
    (void)state;
    struct share_load loads[3] = { { 1e9, 0, 0, 1 }, { 2e9, 1, 0.1, 1 }, { 3e9, 0, 0, 1 } };
    double phi[3];
    assert_true(schedule_share_solve(loads, 3, phi));
    assert_true(phi[0] == 1 && phi[1] == 1 && phi[2] == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_stretch_is_many_short_ones),
        cmocka_unit_test(a_bucket_gives_its_share),
        cmocka_unit_test(debts_and_savings_are_bounded),
        cmocka_unit_test(the_cap_of_two_is_the_best_of_a_fine_grid),
        cmocka_unit_test(overload_shares_by_load),
        cmocka_unit_test(silence_caps_nobody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
