/* The report's figures, from a workload that can be reckoned by hand. */
#include "../test.h"
#include "base/time.h"
#include "sim/sim.h"

#define LONELY                                                                                     \
    {                                                                                              \
        .name = "lonely", .bytes_per_token = 100,                                                  \
        .perf = { .c1_ps = 20000000000,                                                            \
                  .c3_ps = { 5000000000, 5000000000 },                                             \
                  .b_switch = 9,                                                                   \
                  .prefill_scale = 1,                                                              \
                  .decode_scale = 1 },                                                             \
    }

static void take(void *self, const struct record *record)
{
    metrics_record_add(self, record);
}

/* One engine of one service; what a test wants otherwise it sets. */
static struct sim_options one_engine(const struct sim_service *service,
                                     const struct workload *workload, struct record_set *set)
{
    return (struct sim_options){ .n_engines = 1,
                                 .n_lanes = 1,
                                 .n_services = 1,
                                 .services = service,
                                 .memory_bytes = 1000000,
                                 .n_requests_max = 8,
                                 .n_tokens_max = 128,
                                 .policy = schedule_find("fcfs"),
                                 .workload = workload,
                                 .take = set != NULL ? take : NULL,
                                 .take_self = set };
}

/* 10 requests so far apart that each is alone: 20 ms for the prompt, 9 more tokens of 5 ms. */
static void figures_are_as_reckoned(void **state)
{
    struct sim_service service = LONELY;
    struct record_set set = { 0 };
    struct workload workload = { .seed = 1, .n_requests = 10, .n_services = 1 };
    workload.services[0] = (struct workload_traffic){ .rate_per_s = 0.001,
                                                      .prompt = { 3, 0, 1, 100 },
                                                      .output = { 2.3025851, 0, 1, 100 } };
    struct sim_options options = one_engine(&service, &workload, &set);
    struct sim_report report;
    struct str text;
    options.takes_ends = *state != NULL;
    sim_run(&options, &report);
    assert_null(report.wrong);
    const struct sim_service_report *s = &report.services[0];
    assert_true(report.n_requests == 10 && s->n_ended[SERVICE_LENGTH] == 10);
    assert_true(s->n_prompt_tokens == 200 && s->n_tokens == 100 && s->n_met == 10);
    assert_true(s->ttft_s > 0.1999999 && s->ttft_s < 0.2000001);
    assert_true(s->e2e_s > 0.6499999 && s->e2e_s < 0.6500001 && s->solo_s > 0.6499999);
    assert_true(s->tpot_s > 0.0499999 && s->tpot_s < 0.0500001);
    assert_int_equal(report.busy_ns, 650000000);
    assert_int_equal(set.n, 10);
    for (size_t i = 0; i < set.n; i++) {
        const struct record *r = &set.at[i];
        assert_true(r->id == i && r->why == RECORD_LENGTH && r->n_slices == 1);
        assert_int_equal(r->end_ns - r->arrived_ns, 65000000);
        assert_int_equal(r->first_ns - r->arrived_ns, 20000000);
        assert_int_equal(r->solo_ns, 65000000);
        assert_true(r->n_prompt == 20 && r->n_output == 10 && r->n_wanted == 10);
        assert_int_equal(r->gap_ns_max, options.takes_ends ? 0 : 5000000);
        assert_int_equal(r->n_batches, options.takes_ends ? 0 : 10);
    }
    metrics_record_set_free(&set);
    str_init(&text);
    sim_report_print(&report, &options, &text);
    assert_non_null(strstr(text.at, "lonely: 10 requests, 10 length; 200 prompt tokens"));
    assert_non_null(strstr(text.at, "normalized latency 1"));
    str_free(&text);
    sim_report_free(&report);
}

static void ends_may_be_all_that_is_taken(void **state)
{
    void *only_ends = state;
    figures_are_as_reckoned(&only_ends);
}

/* Two at once: both in the prompts' batch, then three decodes of both, two of the longer alone. */
static void batches_are_counted(void **state)
{
    const struct workload_pair pairs[2] = { { 20, 4 }, { 20, 6 } };
    struct sim_service service = LONELY;
    struct record_set set = { 0 };
    struct workload workload = { .seed = 1, .n_requests = 2, .n_services = 1 };
    struct schedule_config config;
    schedule_config_init(&config);
    struct sim_options options = one_engine(&service, &workload, &set);
    options.config = &config;
    (void)state;
    workload.services[0] = (struct workload_traffic){
        .arrivals = WORKLOAD_ONCE, .n_requests = 2, .pairs = pairs, .n_pairs = 2
    };
    for (int holds = 0; holds < 2; holds++) {
        struct sim_report report;
        config.n_rounds_max = holds == 1 ? 4096 : 1;
        sim_run(&options, &report);
        assert_null(report.wrong);
        assert_int_equal(set.n, 2);
        metrics_record_sort(&set);
        int64_t n_batches = 0, n_rows = 0;
        for (size_t i = 0; i < 2; i++) { /* pairs are drawn: both may be the same */
            const struct record *r = &set.at[i], *other = &set.at[1 - i];
            int32_t n_both = min_i32(r->n_output, other->n_output);
            assert_int_equal(r->n_batches, r->n_output);
            assert_int_equal(r->n_batch_rows, 2 * n_both + r->n_output - n_both);
            assert_int_equal(r->end_ns, 20000000 + 5000000 * (r->n_output - 1));
            n_batches = max_i64(n_batches, r->n_batches);
            n_rows += r->n_output;
        }
        assert_int_equal(report.services[0].n_batches, n_batches);
        assert_int_equal(report.services[0].n_batch_rows, n_rows);
        assert_int_equal(report.n_rounds, n_batches);
        metrics_record_set_free(&set);
        sim_report_free(&report);
    }
}

/* Twelve requests at once make one static batch: each row has as many pads as it is shorter than
 * the longest prompt, and as many invalid tokens as it ends before the last. */
static void static_batches_waste_what_they_say(void **state)
{
    struct sim_service service = LONELY;
    struct record_set set = { 0 };
    struct workload workload = { .seed = 5, .n_requests = 12, .n_services = 1 };
    workload.services[0] = (struct workload_traffic){ .rate_per_s = 1e9,
                                                      .prompt = { 3, 0.8, 1, 60 },
                                                      .output = { 3, 0.8, 1, 60 } };
    struct schedule_config config;
    schedule_config_init(&config);
    struct sim_options options = one_engine(&service, &workload, &set);
    options.n_requests_max = 12;
    options.policy = schedule_find("cohort");
    options.router = route_find("fifo");
    options.config = &config;
    struct sim_report report;
    int32_t n_prompt = 0, n_output = 0, n_batch = 0;
    (void)state;
    sim_run(&options, &report);
    assert_null(report.wrong);
    assert_int_equal(report.n_static_seats, 12);
    assert_int_equal(set.n, 12);
    int64_t last_ns = set.at[11].end_ns;
    for (size_t i = 0; i < set.n; i++) {
        if (set.at[i].end_ns != last_ns)
            continue; /* who came while the engine was idle has a batch of his own */
        n_batch++;
        n_prompt = max_i32(n_prompt, set.at[i].n_prompt);
        n_output = max_i32(n_output, set.at[i].n_output);
    }
    assert_true(n_batch > 5);
    for (size_t i = 0; i < set.n; i++) {
        const struct record *r = &set.at[i];
        if (r->end_ns != last_ns)
            continue;
        assert_int_equal(r->n_pad, n_prompt - r->n_prompt);
        assert_int_equal(r->n_invalid, n_output - r->n_output);
    }
    assert_int_equal(report.n_static_early, 0); /* nobody had a lease */
    metrics_record_set_free(&set);
    sim_report_free(&report);

    options.router = route_find("so"); /* slices of 128 tokens: all end before */
    sim_run(&options, &report);
    assert_true(report.n_static_batches > 0);
    assert_int_equal(report.n_static_early, report.n_static_batches);
    for (size_t i = 0; i < set.n; i++)
        assert_true(set.at[i].n_early == 1 && set.at[i].n_slices == 1);
    metrics_record_set_free(&set);
    sim_report_free(&report);
}

/* A deadline ends a request at its engine, unless only routers are to know of it. */
static void deadlines_may_be_soft(void **state)
{
    struct sim_service service = LONELY;
    struct workload workload = { .seed = 1, .n_requests = 10, .n_services = 1 };
    workload.services[0] = (struct workload_traffic){ .rate_per_s = 0.001,
                                                      .prompt = { 3, 0, 1, 100 },
                                                      .output = { 2.3025851, 0, 1, 100 } };
    workload.with_deadline = 1;
    workload.deadline_ns = 30 * TIME_NS_PER_MS; /* a request takes 65 ms */
    struct sim_options options = one_engine(&service, &workload, NULL);
    (void)state;
    for (int is_soft = 0; is_soft < 2; is_soft++) {
        struct sim_report report;
        options.has_soft_deadlines = is_soft == 1;
        sim_run(&options, &report);
        assert_null(report.wrong);
        enum service_why why = is_soft == 1 ? SERVICE_LENGTH : SERVICE_DEADLINE;
        assert_int_equal(report.services[0].n_ended[why], 10);
        sim_report_free(&report);
    }
}

/* Two services on engines of their own: the second's is half as fast. What the end of the run cuts
 * off is told as unfinished. */
static void engines_may_differ(void **state)
{
    struct sim_service services[2] = { LONELY, LONELY };
    struct perf slow[2] = { services[0].perf, services[1].perf };
    struct record_set set = { 0 };
    struct sim_report report;
    struct workload workload = { .seed = 1, .n_requests = 1000, .n_services = 2 };
    int n_unfinished = 0;
    (void)state;
    slow[1].c1_ps *= 2;
    for (int i = 0; i < 2; i++)
        workload.services[i] = (struct workload_traffic){ .rate_per_s = 20,
                                                          .prompt = { 3, 0, 1, 100 },
                                                          .output = { 2.3025851, 0, 1, 100 } };
    const struct sim_engine_spec engines[2] = {
        { .services = { { 1 } }, .memory_bytes = 1000000 },
        { .services = { { 2 } }, .memory_bytes = 1000000, .perfs = slow }
    };
    struct sim_options options = { .n_engines = 2,
                                   .n_lanes = 1,
                                   .n_services = 2,
                                   .services = services,
                                   .engines = engines,
                                   .n_requests_max = 8,
                                   .n_tokens_max = 128,
                                   .policy = schedule_find("fcfs"),
                                   .workload = &workload,
                                   .until_ns = 10000000000,
                                   .take = take,
                                   .take_self = &set };
    sim_run(&options, &report);
    assert_null(report.wrong);
    for (size_t i = 0; i < set.n; i++) {
        const struct record *r = &set.at[i];
        assert_true(r->engine == r->service || r->engine == UINT16_MAX);
        assert_true(r->engine == UINT16_MAX ||
                    r->solo_ns == (r->engine == 1 ? 85000000 : 65000000));
        n_unfinished += r->why == RECORD_UNFINISHED;
        assert_true(r->why != RECORD_UNFINISHED || r->end_ns == options.until_ns);
    }
    assert_true(set.n > 300 && set.n < 500 && n_unfinished > 0);
    assert_int_equal(set.n, report.n_requests + (uint64_t)n_unfinished);
    metrics_record_set_free(&set);
    sim_report_free(&report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures_are_as_reckoned),
        cmocka_unit_test(ends_may_be_all_that_is_taken),
        cmocka_unit_test(batches_are_counted),
        cmocka_unit_test(static_batches_waste_what_they_say),
        cmocka_unit_test(deadlines_may_be_soft),
        cmocka_unit_test(engines_may_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
