/* Draws have the moments that they are asked for: the normal's inverse, cut lengths, gaps of every
 * kind, bursts, rates by the clock. */
#include "../test.h"
#include "base/num.h"
#include "workload/draw.h"

enum { N = 200000 };

static void is_near(double got, double want, double part)
{
    double off = got > want ? got - want : want - got;
    if (off > part * (want > 0 ? want : -want))
        fail_msg("%.6f, not %.6f", got, want);
}

/* Against Python's statistics.NormalDist().inv_cdf. */
static void the_normals_inverse_is_right(void **state)
{
    static const double rows[][2] = {
        { 0.5, 0 },
        { 0.9, 1.2815515655446004 },
        { 0.1, -1.2815515655446004 },
        { 0.975, 1.9599639845400545 },
        { 0.01, -2.3263478740408408 },
        { 0.999, 3.090232306167813 },
        { 1e-6, -4.753424308822899 },
        { 1e-10, -6.361340902404056 },
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        double off = workload_draw_normal(rows[i][0]) - rows[i][1];
        assert_true(off < 1e-8 && off > -1e-8);
    }
}

static void lengths_keep_to_their_filter(void **state)
{
    struct workload_traffic t = {
        .prompt = { 4.4, 1.1, 1, 100000 },
        .output = { 5.4, 0.9, 1, 100000 },
        .filter = { .prompt_min = 4, .prompt_max = 1024, .output_min = 4, .total_max = 2048 },
    };
    double n_prompt = 0, n_output = 0;
    int n_at_max = 0;
    (void)state;
    for (uint64_t i = 0; i < N; i++) {
        struct workload_pair pair = workload_draw_lengths(&t, 1, 0, i);
        assert_true(pair.n_prompt >= 4 && pair.n_prompt <= 1024 && pair.n_output >= 4);
        assert_true(pair.n_prompt + pair.n_output <= 2048);
        n_at_max += pair.n_prompt == 1024;
        n_prompt += pair.n_prompt;
        n_output += pair.n_output;
    }
    printf("means %.1f, %.1f\n", n_prompt / N, n_output / N);
    assert_true(n_at_max < N / 1000); /* drawn again, not cut */
    /* What cannot be drawn is cut in the end. */
    t.filter =
        (struct workload_filter){ .prompt_min = 90000, .prompt_max = 90000, .output_max = 3 };
    struct workload_pair pair = workload_draw_lengths(&t, 1, 0, 7);
    assert_true(pair.n_prompt == 90000 && pair.n_output <= 3 && pair.n_output >= 1);
    t.filter = (struct workload_filter){ .total_max = 2 };
    pair = workload_draw_cut(&t.filter, (struct workload_pair){ 10, 10 });
    assert_true(pair.n_prompt == 1 && pair.n_output == 1);
}

static void pairs_stay_together(void **state)
{
    static const struct workload_pair pairs[] = { { 1, 10 }, { 2, 20 }, { 3, 30 } };
    struct workload_traffic t = { .pairs = pairs, .n_pairs = 3 };
    int counts[4] = { 0 };
    (void)state;
    for (uint64_t i = 0; i < 30000; i++) {
        struct workload_pair pair = workload_draw_lengths(&t, 1, 0, i);
        assert_int_equal(pair.n_output, 10 * pair.n_prompt);
        counts[pair.n_prompt]++;
    }
    for (int i = 1; i < 4; i++)
        assert_true(counts[i] > 9700 && counts[i] < 10300);
}

struct moments {
    double mean, cv;
};
static struct moments gaps_of(const struct workload_traffic *t, uint32_t n)
{
    struct workload_draw_clock clock;
    double last = 0, sum = 0, squares = 0;
    workload_draw_begin(&clock, t, 1, 0);
    for (uint32_t i = 0; i < n; i++) {
        double at = workload_draw_arrival(&clock);
        assert_true(at >= last);
        sum += at - last;
        squares += (at - last) * (at - last);
        last = at;
    }
    double mean = sum / n;
    return (struct moments){ mean, num_sqrt(squares / n - mean * mean) / mean };
}

static void gaps_have_their_mean_and_variation(void **state)
{
    static const double cvs[] = { 0.3, 1, 2, 5 };
    struct moments m;
    (void)state;
    m = gaps_of(&(struct workload_traffic){ .rate_per_s = 4 }, N);
    is_near(m.mean, 0.25, 0.01);
    is_near(m.cv, 1, 0.01);
    m = gaps_of(&(struct workload_traffic){ .rate_per_s = 4, .arrivals = WORKLOAD_CONSTANT }, N);
    is_near(m.mean, 0.25, 1e-9);
    assert_true(m.cv < 1e-3);
    for (size_t i = 0; i < COUNT_OF(cvs); i++) {
        m = gaps_of(
            &(struct workload_traffic){ .rate_per_s = 4, .arrivals = WORKLOAD_GAMMA, .cv = cvs[i] },
            N);
        is_near(m.mean, 0.25, 0.01 * (1 + cvs[i]));
        is_near(m.cv, cvs[i], 0.03);
    }
    /* A Weibull of shape 0.5 has cv sqrt(5), of shape 2 sqrt(4 / pi - 1). */
    m = gaps_of(
        &(struct workload_traffic){ .rate_per_s = 4, .arrivals = WORKLOAD_WEIBULL, .shape = 0.5 },
        N);
    is_near(m.mean, 0.25, 0.02);
    is_near(m.cv, 2.2360680, 0.03);
    m = gaps_of(
        &(struct workload_traffic){ .rate_per_s = 4, .arrivals = WORKLOAD_WEIBULL, .shape = 2 }, N);
    is_near(m.mean, 0.25, 0.01);
    is_near(m.cv, 0.5227232, 0.01);
}

static void bursts_keep_the_mean_rate(void **state)
{
    struct workload_traffic t = { .rate_per_s = 10, .on_s = 2, .off_s = 6 };
    (void)state;
    struct moments m = gaps_of(&t, 10 * N);
    is_near(m.mean, 0.1, 0.03);
    assert_true(m.cv > 4); /* within bursts 40 requests/s, then pauses of 6 s */
    t.off_factor = 0.5;
    m = gaps_of(&t, 10 * N);
    is_near(m.mean, 0.1, 0.03);
    assert_true(m.cv > 1.1 && m.cv < 2);
}

static void a_profile_is_followed(void **state)
{
    static const float factors[] = { 0, 2, 0.5F, 1.5F };
    struct workload_profile profile = { 10, 4, factors };
    struct workload_traffic t = { .rate_per_s = 5, .profile = &profile };
    struct workload_draw_clock clock;
    double counts[4] = { 0 }, at = 0;
    (void)state;
    workload_draw_begin(&clock, &t, 1, 0);
    for (uint32_t i = 0; i < N; i++) {
        at = workload_draw_arrival(&clock);
        counts[(uint64_t)(at / 10) % 4]++;
    }
    is_near(at, N / 5.0, 0.01);
    assert_true(counts[0] == 0);
    for (int i = 1; i < 4; i++)
        is_near(counts[i], N / 4.0 * (double)factors[i], 0.02);
    /* Even gaps on the rate's clock: exactly the profile's counts a step. */
    t.arrivals = WORKLOAD_CONSTANT;
    workload_draw_begin(&clock, &t, 1, 0);
    for (int i = 1; i <= 100; i++)
        at = workload_draw_arrival(&clock);
    is_near(at, 20, 1e-9);
    /* Gaps of many periods: a request every 100 s of a profile of 40. */
    t.rate_per_s = 0.01;
    workload_draw_begin(&clock, &t, 1, 0);
    for (int i = 1; i <= 1000; i++) {
        at = workload_draw_arrival(&clock);
        is_near(at, 100.0 * i, i < 10 ? 0.1 : 0.01);
    }
    t.rate_per_s = 1e-9;
    workload_draw_begin(&clock, &t, 1, 0);
    is_near(workload_draw_arrival(&clock), 1e9, 1e-6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_normals_inverse_is_right),
        cmocka_unit_test(lengths_keep_to_their_filter),
        cmocka_unit_test(pairs_stay_together),
        cmocka_unit_test(gaps_have_their_mean_and_variation),
        cmocka_unit_test(bursts_keep_the_mean_rate),
        cmocka_unit_test(a_profile_is_followed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
