/* A profile's points as a truth: exact at every point, between neighbours in between, along the
 * line beyond, and for mixed batches as the line. */
#include "test.h"
#include "base/mem.h"
#include "predict/points.h"
#include <math.h>

static const struct perf line = {
    .c1_ps = 1000000000,
    .k1_ps = 20000000,
    .c3_ps = { 500000000, 500000000 },
    .c2_ps = { 30000000, 30000000 },
    .k2_ps = { 100000, 100000 },
    .b_switch = INT32_MAX,
    .prefill_scale = 1,
    .decode_scale = 1,
};

static struct perf_load prompt(int32_t n)
{
    return (struct perf_load){ .n_new = n, .n_new_squared = (int64_t)n * n };
}

static struct perf_load decodes(int32_t b, int64_t context)
{
    return (struct perf_load){ .n_decodes = b, .n_decode_context = b * context };
}

/* Makes points that are off the line by factors: 1.5 for prompts of 64, 0.8 for 256; decodes by
 * batch. */
static void open_profile(struct predict_profile *profile, struct predict_profile_group *group)
{
    static const double factors[3] = { 1.2, 0.9, 1.1 };
    *profile = (struct predict_profile){ .n_groups = 1, .groups = group };
    group->n_cores = 1;
    group->perf = line;
    group->samples[0].load = prompt(64);
    group->samples[0].ps = perf_step_ps(&line, &group->samples[0].load) * 3 / 2;
    group->samples[1].load = prompt(256);
    group->samples[1].ps = perf_step_ps(&line, &group->samples[1].load) * 4 / 5;
    for (int i = 0; i < 6; i++) {
        struct perf_sample *s = &group->samples[2 + i];
        s->load = decodes(1 << (2 * (i / 2)), i % 2 == 0 ? 100 : 300);
        s->ps = (int64_t)((double)perf_step_ps(&line, &s->load) * factors[i / 2]);
    }
    group->n_samples = 8;
}

static void is_near(int64_t got_ps, double want_ps)
{
    if (!(fabs((double)got_ps - want_ps) <= 1e-6 * want_ps))
        fail_msg("%lld ps, not %.0f", (long long)got_ps, want_ps);
}

static void follows_its_points(void **state)
{
    (void)state;
    struct predict_profile profile;
    struct predict_profile_group *group = mem_take(sizeof(*group));
    struct perf_points points;
    struct fault fault;
    open_profile(&profile, group);
    assert_int_equal(points_open(&points, &profile, 1, &fault), STATUS_OK);
    for (int i = 0; i < group->n_samples; i++)
        is_near(points_step_ps(&points, &group->samples[i].load), (double)group->samples[i].ps);
    struct perf_load between = prompt(160), beyond = prompt(2000), many = decodes(64, 5000);
    is_near(points_step_ps(&points, &between), 1.15 * (double)perf_step_ps(&line, &between));
    is_near(points_step_ps(&points, &beyond), 0.8 * (double)perf_step_ps(&line, &beyond));
    is_near(points_step_ps(&points, &many), 1.1 * (double)perf_step_ps(&line, &many));
    struct perf_load mixed = decodes(4, 200), alone = mixed, nothing = { 0 };
    mixed.n_new = 64;
    mixed.n_new_squared = 64 * 64;
    is_near(points_step_ps(&points, &mixed),
            1.5 * (1e9 + 64 * 2e7) +
                0.9 * ((double)perf_step_ps(&line, &alone) - (double)line.c3_ps[0]));
    assert_int_equal(points_step_ps(&points, &nothing), 0);
    points.step_ps = 7000;
    points.prompt_ps = 100000;
    points.request_ps = 20;
    points.token_ps = 1;
    int64_t before_ps = points_truth(&points).step_ps(&points, &mixed);
    points.step_ps = points.prompt_ps = points.request_ps = points.token_ps = 0;
    assert_int_equal(before_ps - points_step_ps(&points, &mixed), 107000 + 80 + 68);
    points_free(&points);
    group->n_samples = 2; /* only prompts */
    assert_int_equal(points_open(&points, &profile, 1, &fault), STATUS_BAD_INPUT);
    mem_give(group);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(follows_its_points) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
