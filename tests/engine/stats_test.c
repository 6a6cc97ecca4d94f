/* The statistics that policies get of their services: guesses first, then measured values. */
#include "../test.h"
#include "base/time.h"
#include "engine/state.h"
#include "engine/stats.h"
#include "world.h"

static void solo_times_are_learned(void **state)
{
    struct world w;
    struct world_options o;
    (void)state;
    world_options_init(&o);
    world_open(&w, &o);
    const struct schedule_service *s = &w.engine->services[0];
    int64_t guess_ns = perf_solo_ps(&s->perf, 256, 256) / 1000;
    assert_int_equal(s->solo_ns, guess_ns);
    for (uint32_t i = 0; i < 40; i++) {
        assert_true(world_submit(
            &w, &(struct world_ask){ .index = i, .n_prompt = 20, .n_new = i % 2 == 0 ? 10 : 30 }));
        world_finish(&w);
        if (i < 18)
            assert_int_equal(s->solo_deviation_ns, 0);
    }
    double mean = s->n_output_mean;
    assert_true(mean > 19.9 && mean < 20.1 && s->n_prompt_mean == 20);
    assert_true(s->solo_ns < guess_ns / 5 && s->solo_deviation_ns > s->solo_ns / 4);
    world_close(&w);
}

/* The model that an engine was opened with is ten times too fast or too slow. The measured spans of
 * batches correct it, for prompts and decodes alike. */
static void a_wrong_model_is_put_right(void **state)
{
    (void)state;
    for (int is_slow = 0; is_slow < 2; is_slow++) {
        struct world w;
        struct world_options o;
        const struct perf_load prompt = { .n_new = 20, .n_new_squared = 400 };
        const struct perf_load decode = { .n_decodes = 1, .n_decode_context = 25 };
        world_options_init(&o);
        o.n_requests = 400;
        o.n_rounds_max = 1;
        world_open(&w, &o);
        struct perf *perf = &w.engine->services[0].perf;
        double real_ps = (double)w.fake.step_ns * 1000, factor = is_slow ? 10 : 0.1;
        *perf = (struct perf){ .c1_ps = (int64_t)(real_ps * factor),
                               .c3_ps = { (int64_t)(real_ps * factor) },
                               .b_switch = INT32_MAX,
                               .prefill_scale = 1,
                               .decode_scale = 1 };
        for (uint32_t i = 0; i < 400; i++) {
            assert_true(
                world_submit(&w, &(struct world_ask){ .index = i, .n_prompt = 20, .n_new = 10 }));
            world_finish(&w);
        }
        double of_prompt = (double)perf_step_ps(perf, &prompt) / real_ps;
        double of_decode = (double)perf_step_ps(perf, &decode) / real_ps;
        if (of_prompt < 0.9 || of_prompt > 1.1 || of_decode < 0.95 || of_decode > 1.05)
            fail_msg("from %g times: prompts %.3f, decodes %.3f of what they take", factor,
                     of_prompt, of_decode);
        world_close(&w);
    }
}

/* 50 a second for a while, then none. */
static void rates_follow_arrivals(void **state)
{
    struct world w;
    struct world_options o;
    (void)state;
    world_options_init(&o);
    o.n_requests = 600;
    world_open(&w, &o);
    world_step(&w); /* the first second begins */
    for (uint32_t i = 0; i < 500; i++) {
        assert_true(world_submit(&w, &(struct world_ask){ .index = i, .n_prompt = 9, .n_new = 2 }));
        world_run(&w, w.clock_ns + 20000000);
    }
    world_finish(&w);
    double rate = w.engine->services[0].rate_per_s;
    assert_true(rate > 45 && rate < 55);
    w.clock_ns += 2000 * TIME_NS_PER_S;
    world_step(&w);
    assert_true(w.engine->services[0].rate_per_s < 1e-6);
    world_close(&w);
}

static void remaining_work_shrinks(void **state)
{
    struct world w;
    struct world_options o;
    int64_t before = INT64_MAX;
    (void)state;
    world_options_init(&o);
    o.n_rounds_max = 1;
    world_open(&w, &o);
    for (uint32_t i = 0; i < 4; i++)
        assert_true(
            world_submit(&w, &(struct world_ask){ .index = i, .n_prompt = 9, .n_new = 40 }));
    for (int n = 0; n < 10; n++) {
        int64_t now = engine_stats_remaining_ns(w.engine, 0);
        assert_true(now > 0 && now < before);
        before = now;
        world_run(&w, w.clock_ns + 4000000);
    }
    world_finish(&w);
    assert_int_equal(engine_stats_remaining_ns(w.engine, 0), 0);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(solo_times_are_learned),
        cmocka_unit_test(a_wrong_model_is_put_right),
        cmocka_unit_test(rates_follow_arrivals),
        cmocka_unit_test(remaining_work_shrinks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
