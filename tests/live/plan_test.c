/* Live plans on small clusters whose best placement is plain. */
#include "test.h"

#include "base/mem.h"
#include "live/plan.h"
#include "kv/kv.h"

#define S   INT64_C(1000000000)
#define MIB (INT64_C(1) << 20)

/* Three engines of 1,000 MiB; models of 300 MiB whose decode step takes 20 ms. */
static struct live_job *open_job(void)
{
    struct live_job *job = mem_take(sizeof *job);
    static const struct perf perf = { .c1_ps = 5000000000,
                                      .k1_ps = 50000000,
                                      .c3_ps = { 20000000000, 20000000000 },
                                      .c2_ps = { 2000000000, 2000000000 },
                                      .b_switch = 64,
                                      .prefill_scale = 1,
                                      .decode_scale = 1 };
    job->n_services = 2;
    job->n_engines = 3;
    job->bin_ns = 2 * S;
    job->n_bins = MONITOR_BINS;
    struct live_settings *settings = &job->settings;
    snprintf(settings->planner, sizeof settings->planner, "default");
    snprintf(settings->policy, sizeof settings->policy, "value");
    snprintf(settings->router, sizeof settings->router, "least");
    schedule_config_init(&settings->schedule);
    route_config_init(&settings->route);
    settings->schedule.n_seqs_max = 8;
    settings->schedule.n_batch_tokens_max = 512;
    settings->kv_kind = KV_MERGED;
    settings->n_requests_max = 64;
    settings->effort = 0.2;
    settings->seed = 1;
    replace_config_init(&settings->replace);
    settings->links = (struct replace_links){ 24e9, 1e9, 0 };
    settings->interval_ns = 600 * S;
    for (int s = 0; s < 2; s++) {
        struct live_service *service = &job->services[s];
        snprintf(service->name, sizeof service->name, "m%d", s);
        service->size = (struct service_size){ .weights_bytes = 300 * MIB,
                                               .activation_bytes = MIB,
                                               .kv_bytes_per_token = 16384 };
        service->perf = perf;
        service->prompt = (struct monitor_mean){ 10, 100, 20 };
        service->output = (struct monitor_mean){ 10, 60, 10 };
    }
    for (int e = 0; e < 3; e++) {
        job->engines[e].memory_bytes = 1000 * MIB;
        set_add(&job->engines[e].there, e < 2 ? 0 : 1);
    }
    return job;
}

static void arrive(struct live_job *job, int service, int64_t n_per_bin)
{
    for (int bin = 0; bin < job->n_bins; bin++)
        job->services[service].n_arrived[bin] = n_per_bin;
}

static int copies(const struct live_job *job, int service)
{
    int n = 0;
    for (int e = 0; e < job->n_engines; e++)
        n += set_has(&job->result.next[e], service);
    return n;
}

/* Model 1 has most of the traffic and one engine: it gets more, and model 0 keeps a place. */
static void test_traffic_shifted(void **state)
{
    (void)state;
    struct live_job *job = open_job();
    arrive(job, 0, 1);
    arrive(job, 1, 12);
    live_plan(job);
    assert_int_equal(job->result.status, STATUS_OK);
    printf("%s\n", job->result.why);
    assert_int_equal(job->result.verdict, REPLACE_INSTALL);
    assert_true(copies(job, 1) >= 2 && copies(job, 0) >= 1);
    assert_true(job->result.planned.attainment > job->result.kept.attainment ||
                job->result.planned.normalized_latency < job->result.kept.normalized_latency);
    assert_true(job->result.n_changed > 0);
    assert_true(live_plan_is_sane(job, &job->result));
    struct live_result first = job->result;
    live_plan(job); /* the same question has the same answer */
    assert_memory_equal(&first.next, &job->result.next, sizeof first.next);
    mem_give(job);
}

/* A short interval leaves no time in which the gain could pay for the move. */
static void test_not_worth(void **state)
{
    (void)state;
    struct live_job *job = open_job();
    arrive(job, 0, 1);
    arrive(job, 1, 12);
    job->settings.interval_ns = S / 10; /* 300 MiB at 1 GB/s take longer */
    live_plan(job);
    assert_int_equal(job->result.status, STATUS_OK);
    assert_int_equal(job->result.verdict, REPLACE_NOT_WORTH);
    mem_give(job);
}

static void test_little_traffic(void **state)
{
    (void)state;
    struct live_job *job = open_job();
    job->services[0].n_arrived[3] = 2;
    job->services[1].n_arrived[9] = 2;
    live_plan(job);
    assert_int_equal(job->result.status, STATUS_OK);
    assert_true(job->result.verdict != REPLACE_INSTALL);
    mem_give(job);
}

static void expect_fault(struct live_job *job, const char *part)
{
    live_plan(job);
    assert_int_not_equal(job->result.status, STATUS_OK);
    if (strstr(job->result.fault.text, part) == NULL)
        fail_msg("%s is not in %s", part, job->result.fault.text);
    assert_true(live_plan_is_sane(job, &job->result));
    mem_give(job);
}

static void test_refused(void **state)
{
    (void)state;
    struct live_job *job = open_job();
    expect_fault(job, "no request came");
    job = open_job();
    arrive(job, 0, 1);
    job->services[0].size.weights_bytes = 2000 * MIB; /* it would need two devices */
    for (int e = 0; e < 3; e++)
        set_remove(&job->engines[e].there, 0);
    live_plan(job);
    assert_int_equal(job->result.status, STATUS_OK); /* the others are planned for */
    assert_int_equal(copies(job, 0), 0);
    assert_non_null(strstr(job->result.fault.text, "one device"));
    mem_give(job);
    job = open_job();
    arrive(job, 0, 1);
    snprintf(job->settings.planner, sizeof job->settings.planner, "nothing");
    expect_fault(job, "no planner");
    job = open_job();
    arrive(job, 0, 1);
    job->engines[0].memory_bytes = 200 * MIB; /* the model is there and can't be */
    expect_fault(job, "can't be simulated");
}

/* A result that no planner wrote is not used. */
static void test_foreign_results(void **state)
{
    (void)state;
    struct live_job *job = open_job();
    struct live_result good = { .verdict = REPLACE_SAME };
    assert_true(live_plan_is_sane(job, &good));
    struct live_result bad[5] = { good, good, good, good, good };
    bad[0].verdict = 9;
    bad[1].status = -1;
    set_add(&bad[2].next[1], 2); /* there are two services */
    memset(bad[3].why, 'x', sizeof bad[3].why);
    bad[4].planned.attainment = 1e300 * 1e300;
    for (int i = 0; i < 5; i++)
        assert_false(live_plan_is_sane(job, &bad[i]));
    mem_give(job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_traffic_shifted), cmocka_unit_test(test_not_worth),
        cmocka_unit_test(test_little_traffic),  cmocka_unit_test(test_refused),
        cmocka_unit_test(test_foreign_results),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
