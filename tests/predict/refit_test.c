/* Refits follow a machine whose coefficients differ from the believed ones, which scaling alone
 * cannot, and change nothing where the belief is right. */
#include "test.h"
#include "base/rng.h"
#include "predict/refit.h"

static const struct perf belief = {
    .c1_ps = 10000000000,
    .k1_ps = 50000000,
    .q1_ps = 20000000,
    .c3_ps = { 12000000000, 12000000000 },
    .c2_ps = { 100000000, 300000000 },
    .k2_ps = { 100000, 100000 },
    .b_switch = 64,
    .prefill_scale = 1,
    .decode_scale = 1,
};

enum { PROMPTS, DECODES };
static struct perf_load draw_load(struct rng *rng, int kind, int32_t b_least, int32_t b_most)
{
    int64_t n = b_least + (int64_t)rng_below(rng, (uint32_t)(b_most - b_least + 1));
    if (kind == PROMPTS)
        return (struct perf_load){ .n_new = (int32_t)n * 16, .n_new_squared = n * n * 256 };
    int64_t context = 50 + rng_below(rng, 2000);
    return (struct perf_load){ .n_decodes = (int32_t)n, .n_decode_context = n * context };
}

/* Runs n batches on a machine with the coefficients of `truth` and 5% noise. */
static void serve(struct rng *rng, const struct perf *truth, int kind, int32_t b_most, int n,
                  struct perf_refit *refit, struct perf *perf)
{
    for (int i = 0; i < n; i++) {
        struct perf_load load = draw_load(rng, kind, 1, b_most);
        double noise = 0.95 + 0.1 * rng_unit(rng);
        int64_t ps = (int64_t)((double)perf_step_ps(truth, &load) * noise);
        if (refit != NULL)
            perf_refit_observe(refit, perf, &load, ps);
        else
            perf_observe(perf, &load, ps);
    }
}

/* Returns the mean of |predicted / true - 1| over batches of b_least to b_most. */
static double error_of(const struct perf *perf, const struct perf *truth, int kind, int32_t b_least,
                       int32_t b_most)
{
    struct rng rng;
    rng_init(&rng, 9, 9);
    double sum = 0;
    for (int i = 0; i < 1000; i++) {
        struct perf_load load = draw_load(&rng, kind, b_least, b_most);
        double ratio = (double)perf_step_ps(perf, &load) / (double)perf_step_ps(truth, &load);
        sum += ratio > 1 ? ratio - 1 : 1 - ratio;
    }
    return sum / 1000;
}

static struct perf other_machine(void)
{
    struct perf truth = belief;
    truth.c3_ps[0] = truth.c3_ps[1] = 4000000000;
    truth.c2_ps[0] = truth.c2_ps[1] = 600000000;
    truth.k2_ps[0] = truth.k2_ps[1] = 500000;
    truth.c1_ps = 40000000000;
    truth.k1_ps = 90000000;
    truth.q1_ps = 100000000;
    return truth;
}

static void a_wrong_shape_is_learned(void **state)
{
    (void)state;
    struct perf truth = other_machine();
    for (int kind = PROMPTS; kind <= DECODES; kind++) {
        struct rng rng;
        rng_init(&rng, 1, (uint64_t)kind);
        struct perf_refit refit = { 0 };
        struct perf refitted = belief, scaled = belief;
        serve(&rng, &truth, kind, 60, 600, &refit, &refitted);
        serve(&rng, &truth, kind, 60, 600, NULL, &scaled);
        double with = error_of(&refitted, &truth, kind, 1, 60);
        double without = error_of(&scaled, &truth, kind, 1, 60);
        print_message("kind %d: %.1f%% off refitted, %.1f%% scaled\n", kind, 100 * with,
                      100 * without);
        assert_true(with < 0.03);
        assert_true(without > 4 * with);
    }
}

/* Batches of one size do not tell constant and slope apart. Sizes that never came may then be no
 * further off than under the belief's own slope. */
static void sizes_that_never_came_lead_nowhere(void **state)
{
    (void)state;
    struct perf truth = other_machine();
    struct rng rng;
    rng_init(&rng, 2, 2);
    struct perf_refit refit = { 0 };
    struct perf refitted = belief, scaled = belief;
    serve(&rng, &truth, DECODES, 2, 3000, &refit, &refitted);
    serve(&rng, &truth, DECODES, 2, 3000, NULL, &scaled);
    double with = error_of(&refitted, &truth, DECODES, 40, 60);
    double without = error_of(&scaled, &truth, DECODES, 40, 60);
    print_message("unseen sizes: %.1f%% off refitted, %.1f%% scaled\n", 100 * with, 100 * without);
    assert_true(with < without);
    assert_true(coefficients_are_sane(&refitted));
}

static void a_right_belief_stays_to_the_last_bit(void **state)
{
    (void)state;
    struct rng rng;
    rng_init(&rng, 3, 3);
    struct perf_refit refit = { 0 };
    struct perf perf = belief;
    for (int i = 0; i < 2000; i++) {
        struct perf_load load = draw_load(&rng, i % 2, 1, 100);
        perf_refit_observe(&refit, &perf, &load, perf_step_ps(&belief, &load));
    }
    assert_memory_equal(&perf, &belief, sizeof(perf));
}

/* A machine that becomes twice as slow, and later fast again. */
static void drift_is_followed(void **state)
{
    (void)state;
    struct rng rng;
    rng_init(&rng, 4, 4);
    struct perf_refit refit = { 0 };
    struct perf truth = other_machine(), perf = belief;
    for (int turn = 0; turn < 4; turn++) {
        struct perf now = truth;
        now.decode_scale = turn % 2 == 0 ? 1 : 2;
        serve(&rng, &now, DECODES, 60, 1500, &refit, &perf);
        double off = error_of(&perf, &now, DECODES, 1, 60);
        print_message("turn %d: %.1f%% off\n", turn, 100 * off);
        assert_true(off < 0.06);
    }
}

/* Times of zero, of hours, and of one picosecond: nothing leaves the bounds. */
static void hostile_times_stay_in_bounds(void **state)
{
    (void)state;
    struct rng rng;
    rng_init(&rng, 5, 5);
    struct perf_refit refit = { 0 };
    struct perf perf = belief;
    static const int64_t times[] = { 0, -1, 1, INT64_MAX, 3600000000000000, 5 };
    for (int i = 0; i < 20000; i++) {
        struct perf_load load = draw_load(&rng, (int)rng_below(&rng, 2), 1, 1000);
        perf_refit_observe(&refit, &perf, &load, times[rng_below(&rng, 6)]);
        assert_true(coefficients_are_sane(&perf) && perf.decode_scale > 0 &&
                    perf.prefill_scale > 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wrong_shape_is_learned),
        cmocka_unit_test(sizes_that_never_came_lead_nowhere),
        cmocka_unit_test(a_right_belief_stays_to_the_last_bit),
        cmocka_unit_test(drift_is_followed),
        cmocka_unit_test(hostile_times_stay_in_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
