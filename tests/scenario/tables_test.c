/* Reads measured tables and host terms of a scenario's services. */
#include "base/file.h"
#include "scenario/tables.h"
#include "test.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char steps_path[] = "workload_tables_test_steps.csv";
static const char dense_path[] = "workload_tables_test_dense.csv";
static const char attention_path[] = "workload_tables_test_attention.csv";

static void put(const char *path, const char *text)
{
    struct fault fault;
    assert_int_equal(file_write(path, text, strlen(text), &fault), STATUS_OK);
}

static struct scenario_service service_of(const char *first, const char *second)
{
    struct scenario_service service = { .name = "chat", .table_layers = 10 };
    service.tables.at[service.tables.n++] = first;
    if (second != NULL)
        service.tables.at[service.tables.n++] = second;
    return service;
}

static void is_near(double got, double want)
{
    if (!(fabs(got - want) <= 1e-9 * fabs(want)))
        fail_msg("%g, not %g", got, want);
}

static void reads_and_adds_the_host(void **state)
{
    (void)state;
    struct costs costs;
    struct perf perf;
    struct fault fault;
    put(steps_path, "phase,batch,length,ms\nprefill,1,16,2\nprefill,1,4096,82\n"
                    "decode,1,64,10\ndecode,1,8192,11\ndecode,64,64,12\ndecode,64,8192,30\n");
    struct scenario_service service = service_of(steps_path, NULL);
    service.host = (struct scenario_host){ 1, 5, 100, 10 };
    assert_int_equal(scenario_tables_open(&service, &costs, &perf, &fault), STATUS_OK);
    const struct perf_load decode = { .n_decodes = 64, .n_decode_context = 64 * 64 };
    const struct perf_load prompt = { .n_new = 16, .n_new_squared = 256 };
    is_near(costs_step_ms(&costs, &decode), 12 + 1 + 6.4 + 0.64);
    is_near(costs_step_ms(&costs, &prompt), 2 + 1 + 5 + 0.1 + 0.16);
    /* the engines' performance model includes the host too */
    assert_true(perf_step_ps(&perf, &decode) > INT64_C(15000000000));
    costs_free(&costs);
    (void)remove(steps_path);
}

static void layers_count(void **state)
{
    (void)state;
    struct costs costs;
    struct perf perf;
    struct fault fault;
    put(dense_path, "layer,tokens,time_us\nqkv,1,100\nqkv,4096,5000\n");
    put(attention_path, "prefill_chunk,kv_prefill,n_decode,kv_decode,time_us\n"
                        "16,0,0,0,10\n4096,0,0,0,2000\n0,0,1,64,10\n0,0,256,64,200\n"
                        "0,0,1,8192,50\n0,0,256,8192,9000\n");
    struct scenario_service service = service_of(dense_path, attention_path);
    assert_int_equal(scenario_tables_open(&service, &costs, &perf, &fault), STATUS_OK);
    const struct perf_load decode = { .n_decodes = 1, .n_decode_context = 64 };
    is_near(costs_step_ms(&costs, &decode), 10 * (0.1 + 0.01));
    costs_free(&costs);
    (void)remove(dense_path);
    (void)remove(attention_path);
}

static void times_come_from_one_place(void **state)
{
    (void)state;
    struct fault fault;
    struct scenario_service both = service_of(steps_path, NULL);
    const struct {
        struct scenario_service service;
        bool has_profile;
        const char *sentence;
    } asks[] = {
        { both, false, NULL },
        { { .name = "chat", .profile_cores = 2, .profile_scale = 2, .profile_points = true },
          true,
          NULL },
        { { .name = "chat" }, false, NULL },
        { both, true,
          "service chat: a profile and tables both give its times, expected one of the two" },
        { { .name = "chat", .profile_cores = 2 },
          false,
          "service chat: profile_cores is for a profile, expected profile: FILE beside it or "
          "--profile chat=FILE" },
        { { .name = "chat", .profile_scale = 1 }, false, "profile_scale is for a profile" },
        { { .name = "chat", .profile_points = true }, false, "profile_points is for a profile" },
        { { .name = "chat", .table_layers = 1 },
          false,
          "service chat: table_layers is for tables, expected tables: [FILE, ...] beside it" },
        { { .name = "chat", .table_skew = 0.1 }, true, "table_skew is for tables" },
    };
    for (size_t i = 0; i < COUNT_OF(asks); i++) {
        enum status status = scenario_tables_check(&asks[i].service, asks[i].has_profile, &fault);
        assert_int_equal(status, asks[i].sentence == NULL ? STATUS_OK : STATUS_BAD_INPUT);
        if (status != STATUS_OK && strstr(fault.text, asks[i].sentence) == NULL)
            fail_msg("%s", fault.text);
    }
}

static void says_what_is_wrong(void **state)
{
    (void)state;
    struct costs costs;
    struct perf perf;
    struct fault fault;
    struct scenario_service service = service_of("no_such_file.csv", NULL);
    assert_true(scenario_tables_open(&service, &costs, &perf, &fault) != STATUS_OK);
    costs_free(&costs);
    put(steps_path, "colour,shape\nred,round\n");
    service = service_of(steps_path, NULL);
    assert_int_equal(scenario_tables_open(&service, &costs, &perf, &fault), STATUS_BAD_INPUT);
    assert_non_null(strstr(fault.text, steps_path));
    costs_free(&costs);
    (void)remove(steps_path);
}

/* A line with the host's terms stays a line: each step is longer by exactly these. */
static void a_line_stays_one(void **state)
{
    (void)state;
    const struct perf before = { .c1_ps = 1000000000,
                                 .k1_ps = 20000000,
                                 .c3_ps = { 500000000, 600000000 },
                                 .c2_ps = { 30000000, 40000000 },
                                 .k2_ps = { 100000, 200000 },
                                 .b_switch = 8,
                                 .prefill_scale = 1,
                                 .decode_scale = 1 };
    const struct scenario_host host = { 0.25, 0.5, 40, 10 };
    struct perf after = before;
    const struct perf_load prompt = { .n_new = 100, .n_new_squared = 10000 };
    scenario_tables_add_host(&host, &after);
    for (int32_t b = 1; b <= 64; b *= 2) {
        const struct perf_load decode = { .n_decodes = b, .n_decode_context = 100 * b };
        assert_int_equal(perf_step_ps(&after, &decode) - perf_step_ps(&before, &decode),
                         250000000 + 50000000 * (int64_t)b);
    }
    assert_int_equal(perf_step_ps(&after, &prompt) - perf_step_ps(&before, &prompt),
                     750000000 + 100 * 10000000);
}

static void a_factor_makes_all_longer(void **state)
{
    (void)state;
    const struct perf before = { .floor_ps = 9000000,
                                 .c1_ps = 1000000000,
                                 .k1_ps = 20000000,
                                 .q1_ps = 1024,
                                 .c3_ps = { 500000000, 600000000 },
                                 .c2_ps = { 30000000, 40000000 },
                                 .k2_ps = { 100000, 200000 },
                                 .b_switch = 8,
                                 .prefill_scale = 1,
                                 .decode_scale = 1 };
    struct perf after = before;
    scenario_tables_scale(1.5, &after);
    const struct perf_load loads[] = { { .n_new = 64, .n_new_squared = 4096 },
                                       { .n_decodes = 4, .n_decode_context = 400 },
                                       { .n_decodes = 16, .n_decode_context = 400 },
                                       { .n_decodes = 16, .n_decode_context = 400, .n_new = 2 } };
    for (size_t i = 0; i < COUNT_OF(loads); i++)
        is_near((double)perf_step_ps(&after, &loads[i]),
                1.5 * (double)perf_step_ps(&before, &loads[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_and_adds_the_host),   cmocka_unit_test(layers_count),
        cmocka_unit_test(times_come_from_one_place), cmocka_unit_test(says_what_is_wrong),
        cmocka_unit_test(a_line_stays_one),          cmocka_unit_test(a_factor_makes_all_longer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
