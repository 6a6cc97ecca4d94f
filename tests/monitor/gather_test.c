/* The sums of gateways and the reports of engines that a manager gathers, against numbers worked
 * out by hand. */
#include "test.h"

#include "monitor/gather.h"

#define S INT64_C(1000000000)

static bool near(double a, double b)
{
    double away = a < b ? b - a : a - b;
    return away <= 1e-9 * (b < 0 ? -b : b) + 1e-12;
}

static void hear(struct monitor_gather *g, uint64_t life, uint64_t number,
                 const struct monitor_bin *sums, int64_t now_ns)
{
    monitor_gather_heard(
        g, 0, &(struct monitor_heard){ .life = life, .number = number, .sums = sums }, now_ns);
}

/* Two gateways; one of them counted before the manager led. Messages are lost, repeated and come
 * in another order. */
static void test_gateways(void **state)
{
    (void)state;
    struct monitor_gather g;
    struct monitor_bin a = { 0 }, b = { 0 }, early;
    struct monitor_reading r;
    monitor_gather_open(&g, 1, 1, 10 * S, 0);
    monitor_bin_arrived(&a, 100);
    hear(&g, 1, 1, &a, 1 * S); /* its first: all of it counts */
    early = a;
    monitor_bin_arrived(&a, 200);
    monitor_bin_ended(&a, &(struct monitor_end){ 0, 4 * S, 1 * S, 2 * S, 4, true, true });
    hear(&g, 1, 3, &a, 3 * S); /* the second message was lost */
    hear(&g, 1, 2, &early, 3 * S);
    hear(&g, 1, 3, &a, 4 * S);
    for (int i = 0; i < 50; i++)
        monitor_bin_arrived(&b, 1000);
    hear(&g, 2, 77, &b, 5 * S); /* it counted before: a base */
    monitor_bin_arrived(&b, 300);
    monitor_bin_ended(&b, &(struct monitor_end){ 0, 6 * S, 2 * S, 2 * S, 1, true, false });
    hear(&g, 2, 78, &b, 6 * S);
    monitor_read(&g.window, 0, 10 * S, &r);
    /* Prompts 100, 200, 300 in 10 s: mean 200, variance 20000 / 3. */
    assert_true(near(r.rate, 0.3) && near(r.prompt.mean, 200));
    assert_true(near(r.prompt.deviation * r.prompt.deviation, 20000.0 / 3));
    /* Answers of 4 and 1 tokens; latencies 4 s and 6 s, TTFT 1 s and 2 s; one in time. */
    assert_true(near(r.output.mean, 2.5) && near(r.output.deviation, 1.5));
    assert_true(near(r.latency_s.mean, 5) && near(r.ttft_s.mean, 1.5));
    assert_int_equal(r.tpot_s.n, 1); /* an answer of one token has none */
    assert_true(near(r.tpot_s.mean, 1) && near(r.normalized.mean, 2.5));
    assert_true(near(r.attainment, 0.5));
    monitor_gather_close(&g);
}

/* A gateway whose sums fall is another one with the same number: nothing is counted twice. */
static void test_sums_that_fall(void **state)
{
    (void)state;
    struct monitor_gather g;
    struct monitor_bin sums = { 0 }, less = { 0 };
    struct monitor_reading r;
    monitor_gather_open(&g, 1, 1, 10 * S, 0);
    monitor_bin_arrived(&sums, 10);
    monitor_bin_arrived(&sums, 10);
    monitor_bin_arrived(&less, 10);
    hear(&g, 9, 1, &sums, S);
    hear(&g, 9, 2, &less, S);
    monitor_bin_arrived(&less, 30);
    hear(&g, 9, 3, &less, S);
    monitor_read(&g.window, 0, 10 * S, &r);
    assert_int_equal(r.prompt.n, 3);
    monitor_gather_close(&g);
}

/* More gateways than places: the one that was silent for longest is forgotten. */
static void test_many_gateways(void **state)
{
    (void)state;
    struct monitor_gather g;
    struct monitor_bin sums = { 0 };
    struct monitor_reading r;
    monitor_gather_open(&g, 1, 1, 1000 * S, 0);
    monitor_bin_arrived(&sums, 10);
    for (int i = 0; i < MONITOR_GATEWAYS_MAX + 10; i++)
        hear(&g, (uint64_t)i + 1, 1, &sums, (i + 1) * S);
    monitor_read(&g.window, 0, 500 * S, &r);
    assert_int_equal(r.prompt.n, MONITOR_GATEWAYS_MAX + 10);
    hear(&g, 1, 2, &sums, 400 * S);                    /* forgotten: its sums are a base now */
    hear(&g, MONITOR_GATEWAYS_MAX, 1, &sums, 400 * S); /* known: repeated */
    monitor_read(&g.window, 0, 500 * S, &r);
    assert_int_equal(r.prompt.n, MONITOR_GATEWAYS_MAX + 10);
    monitor_gather_close(&g);
}

/* Another service that gets the number begins with nothing, and its first sums are a base. */
static void test_a_number_is_used_again(void **state)
{
    (void)state;
    struct monitor_gather g;
    struct monitor_bin sums = { 0 };
    struct monitor_reading r;
    monitor_gather_open(&g, 2, 1, 10 * S, 0);
    monitor_bin_arrived(&sums, 10);
    hear(&g, 1, 1, &sums, S);
    hear(&g, 1, 2, &sums, S);
    monitor_gather_forget(&g, 0);
    monitor_read(&g.window, 0, S, &r);
    assert_true(r.prompt.n == 0 && g.n_arrived[0] == 0);
    hear(&g, 1, 3, &sums, 2 * S);
    monitor_read(&g.window, 0, 2 * S, &r);
    assert_int_equal(r.prompt.n, 0);
    monitor_bin_arrived(&sums, 10);
    hear(&g, 1, 4, &sums, 3 * S);
    monitor_read(&g.window, 0, 3 * S, &r);
    assert_int_equal(r.prompt.n, 1);
    monitor_gather_close(&g);
}

static void test_wanted(void **state)
{
    (void)state;
    struct monitor_gather g;
    struct monitor_bin sums = { 0 };
    monitor_gather_open(&g, 1, 1, 10 * S, 0);
    for (uint64_t i = 1; i <= 2; i++)
        monitor_gather_heard(&g, 0, &(struct monitor_heard){ i, 1, 3, &sums }, (int64_t)i * 20 * S);
    assert_int_equal(monitor_gather_n_wanted(&g, 41 * S), 6);
    assert_int_equal(monitor_gather_n_wanted(&g, 60 * S), 3); /* one has been silent for 40 s */
    monitor_gather_close(&g);
}

static void test_engines(void **state)
{
    (void)state;
    struct monitor_gather g;
    struct monitor_engine_reading r;
    struct engine_report *report = calloc(1, sizeof *report);
    assert_non_null(report);
    monitor_gather_open(&g, 1, 1, 10 * S, 0);
    set_add(&report->listed, 0);
    report->services[0] = (struct service_report){ .status = SERVICE_LOADED,
                                                   .weights_bytes = 300,
                                                   .activation_bytes = 100,
                                                   .perf = { .c1_ps = 7 } };
    report->memory_bytes = 1000;
    report->kv_pool_bytes = 600;
    report->kv_free_bytes = 600;
    report->now_ns = 1 * S;
    report->step_ns = 100 * S; /* before the manager led */
    monitor_gather_saw(&g, 0, report, 1, 1 * S);
    report->now_ns = 5 * S;
    report->step_ns = 101 * S;
    report->kv_free_bytes = 400;
    monitor_gather_saw(&g, 0, report, 1, 5 * S);
    monitor_gather_saw(&g, 0, report, 1, 6 * S); /* the same report */
    report->now_ns = 9 * S;
    report->step_ns = 2 * S; /* its process was started anew */
    monitor_gather_saw(&g, 0, report, 1, 9 * S);
    report->now_ns = 13 * S;
    report->step_ns = 5 * S;
    monitor_gather_saw(&g, 0, report, 1, 13 * S);
    monitor_gather_read_engine(&g, 0, 14 * S, &r);
    assert_true(near(r.utilisation, 0.5)); /* (1 + 3) of (4 + 4) s */
    assert_true(near(r.memory_bytes, 1000) && near(r.weights_bytes, 400));
    assert_true(near(r.kv_bytes, 150) && r.n_seen == 4);
    assert_int_equal(g.services[0].perf.c1_ps, 7);
    monitor_gather_read_engine(&g, 0, 1000 * S, &r);
    assert_true(r.n_seen == 0 && r.utilisation == 0);
    free(report);
    monitor_gather_close(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gateways),      cmocka_unit_test(test_sums_that_fall),
        cmocka_unit_test(test_many_gateways), cmocka_unit_test(test_wanted),
        cmocka_unit_test(test_engines),       cmocka_unit_test(test_a_number_is_used_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
