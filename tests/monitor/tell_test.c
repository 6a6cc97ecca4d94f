/* JSON and metrics of a window with known numbers. */
#include "test.h"

#include "monitor/tell.h"

#define S INT64_C(1000000000)

static const char *service(const void *self, int32_t s)
{
    (void)self;
    return s == 0 ? "tale" : "cee";
}

static const char *engine(const void *self, int32_t e)
{
    (void)self;
    return e == 0 ? "a:1/0" : NULL; /* the other one is not there */
}

static void test_tell(void **state)
{
    (void)state;
    static const char *const parts[] = {
        "\"name\":\"tale\",\"rate_per_s\":0.2,\"n_done\":1,\"n_failed\":0,\"attainment\":1",
        "\"prompt_tokens\":{\"n\":2,\"mean\":200,\"deviation\":100}",
        "\"tpot_s\":{\"n\":1,\"mean\":1,\"deviation\":0}",
        "\"latency_s_max\":4",
        "\"name\":\"cee\",\"rate_per_s\":0",
        "\"profile\":null",
        "\"window_s\":10",
        "\"engines\":[{\"name\":\"a:1/0\",\"n_seen\":1,\"utilisation\":0,\"memory_bytes\":1000",
    };
    static const char *const lines[] = {
        "shoal_monitor_rate{model=\"tale\"} 0.2\n",
        "shoal_monitor_prompt_tokens_deviation{model=\"tale\"} 100\n",
        "shoal_monitor_engine_bytes{engine=\"a:1/0\",kind=\"memory\"} 1000\n",
        "shoal_monitor_engines_wanted_by_routers 0\n",
    };
    const struct monitor_names names = { service, engine, NULL };
    struct engine_report *report = calloc(1, sizeof *report);
    struct monitor_gather g;
    struct json_out json;
    struct str out;
    assert_non_null(report);
    monitor_gather_open(&g, 2, 2, 10 * S, 0);
    monitor_arrived(&g.window, 0, S, 100);
    monitor_arrived(&g.window, 0, S, 300);
    monitor_ended(&g.window, 0, &(struct monitor_end){ 5 * S, 4 * S, S, 2 * S, 4, true, true });
    report->now_ns = S;
    report->memory_bytes = 1000;
    monitor_gather_saw(&g, 0, report, 2, S);
    monitor_gather_saw(&g, 1, report, 2, S);
    str_init(&out);
    json_out_init(&json, &out);
    json_out_open(&json, '{');
    monitor_tell_json(&g, &names, 10 * S, &json);
    json_out_close(&json, '}');
    for (size_t i = 0; i < COUNT_OF(parts); i++)
        if (strstr(out.at, parts[i]) == NULL)
            fail_msg("%s is not in %s", parts[i], out.at);
    str_clear(&out);
    monitor_tell_metrics(&g, &names, 10 * S, &out);
    for (size_t i = 0; i < COUNT_OF(lines); i++)
        if (strstr(out.at, lines[i]) == NULL)
            fail_msg("%s is not in %s", lines[i], out.at);
    str_free(&out);
    free(report);
    monitor_gather_close(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_tell) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
