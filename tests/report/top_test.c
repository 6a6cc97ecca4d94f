/* Samples of a server as a page of any size: rates, events, and absurd values. */
#include "report/top.h"

#include "base/mem.h"
#include "base/time.h"
#include "report/top_page.h"
#include "test.h"

static const char states[] =
    "{\"data\":[{\"id\":\"tale\",\"status\":{\"value\":\"%s\"},\"paused\":%s,\"memory\":{\"kv_used_"
    "bytes\":1048576},\"engines\":[{\"status\":{\"value\":\"loaded\"}}],\"requests_running\":2,"
    "\"requests_waiting\":1,\"requests_total\":%d,\"tokens_total\":%d}],"
    "\"engines\":[{\"device\":\"a:1 engine 0\",\"healthy\":true,\"state\":\"running\",\"memory_"
    "bytes\":9,\"kv_pool_bytes\":4194304,\"kv_free_bytes\":3145728,\"steps\":%d},"
    "{\"device\":\"a:1 engine 1\",\"healthy\":true,\"state\":\"%s\",\"memory_bytes\":9},"
    "{\"device\":\" engine 0\",\"memory_bytes\":9},{\"device\":\"b:1 engine 0\"}]}";
static const char metrics[] =
    "# HELP x\nvllm:time_to_first_token_seconds_sum{model_name=\"tale\"} %g\n"
    "vllm:time_to_first_token_seconds_count{model_name=\"tale\"} %d\n"
    "vllm:request_success_total{model_name=\"tale\",finished_reason=\"refused\"} %d\n"
    "vllm:request_success_total{model_name=\"tale\",finished_reason=\"stop\"} 99\n";

/* Sample k: each second 5 requests, 50 tokens, 10 first tokens of 20 ms each. */
static void take(struct top *top, int k, const char *status, const char *engine)
{
    struct str text, more;
    str_init(&text);
    str_init(&more);
    str_printf(&text, states, status, k > 1 ? "true" : "false", 5 * k, 50 * k, 7 * k, engine);
    str_printf(&more, metrics, 0.2 * k, 10 * k, k > 1 ? 3 : 0);
    json_t *root = json_loads(text.at, 0, NULL);
    assert_non_null(root);
    report_top_take(top, root, view_of(more.at, more.n), k * TIME_NS_PER_S, 1000 + k);
    json_decref(root);
    str_free(&text);
    str_free(&more);
}

static bool page_has(const struct top *top, int width, int height, const char *part)
{
    struct str page;
    str_init(&page);
    top_page_print(top, width, height, 0, &page);
    bool has = strstr(page.at, part) != NULL;
    str_free(&page);
    return has;
}

static void test_rates_and_events(void **state)
{
    struct top *top = mem_take(sizeof *top);
    (void)state;
    report_top_open(top, "here:1");
    take(top, 1, "loaded", "running");
    assert_int_equal(top->n_events, 0);
    assert_int_equal(top->last.n_engines, 2); /* not the places that no engine has */
    take(top, 2, "loaded", "restarting");
    assert_true(page_has(top, 0, 0, "5.0 req/s  50.0 tok/s"));
    assert_true(page_has(top, 0, 0, "   20.0 ")); /* ms to the first token */
    assert_true(page_has(top, 0, 0, "25.0%"));
    assert_true(page_has(top, 0, 0, "NODES") && page_has(top, 0, 0, "  1/2 "));
    assert_true(page_has(top, 0, 0, "model tale: paused"));
    assert_true(page_has(top, 0, 0, "model tale: 3 requests were refused"));
    assert_true(page_has(top, 0, 0, "a:1 engine 1: restarts"));
    report_top_lose(top, "no \x1b[2J answer\n", 1003);
    report_top_lose(top, "no answer", 1004);
    assert_true(page_has(top, 0, 0, "no  [2J answer"));
    take(top, 1, "unloaded", "running"); /* it was restarted: its counters began again */
    assert_true(page_has(top, 0, 0, "0.0 req/s  0.0 tok/s"));
    assert_true(page_has(top, 0, 0, "the server answers again"));
    assert_true(page_has(top, 0, 0, "model tale: unloaded"));
    report_top_close(top);
    mem_give(top);
}

/* No size is exceeded, and the first line is there. */
static void test_every_size(void **state)
{
    struct top *top = mem_take(sizeof *top);
    (void)state;
    report_top_open(top, "here:1");
    for (int k = 1; k < 60; k++)
        take(top, k % 3 + 1, k % 2 ? "loaded" : "fäiled", "running");
    for (int width = 1; width < 200; width += width < 30 ? 1 : 13)
        for (int height = 1; height < 70; height++) {
            struct str page;
            int n_lines = 0, n = 0;
            str_init(&page);
            top_page_print(top, width, height, 0, &page);
            assert_true(utf8_is_valid(view_of(page.at, page.n)));
            for (size_t i = 0; i < page.n; i++) {
                n = page.at[i] == '\n' ? 0 : n + (((unsigned char)page.at[i] & 0xC0) != 0x80);
                n_lines += page.at[i] == '\n';
                assert_true(n <= width);
            }
            assert_true(n_lines >= 1 && n_lines <= height);
            str_free(&page);
        }
    assert_true(page_has(top, 80, 5, "MODELS") && !page_has(top, 80, 5, "NODES"));
    assert_true(page_has(top, 80, 24, "EVENTS") && page_has(top, 80, 24, "of"));
    report_top_close(top);
    mem_give(top);
}

static void test_absurd_answers(void **state)
{
    static const char *const answers[] = {
        "{}",
        "{\"data\":3,\"engines\":\"x\"}",
        "{\"data\":[1,[],{},{\"id\":7,\"status\":9,\"engines\":{},\"requests_total\":-1e300}]}",
        "{\"data\":[{\"id\":\"a\\nb\\u001b[2J\",\"tokens_total\":1e308,\"memory\":[]}],"
        "\"engines\":[{\"device\":\"x\",\"memory_bytes\":1e99,\"kv_pool_bytes\":1,\"kv_free_"
        "bytes\":"
        "9},{\"device\":\"y\",\"memory_bytes\":1,\"kv_pool_bytes\":1,\"kv_free_bytes\":9}]}",
    };
    static const char *const lines[] = {
        "",
        "\n\n",
        "vllm:",
        "vllm:time_to_first_token_seconds_sum{model_name=\"a",
        "vllm:time_to_first_token_seconds_sum{model_name=\"\"} nan\nvllm:x",
    };
    struct top *top = mem_take(sizeof *top);
    (void)state;
    report_top_open(top, "\xff\x1b");
    for (size_t i = 0; i < COUNT_OF(answers); i++)
        for (size_t k = 0; k < COUNT_OF(lines); k++) {
            struct str page;
            json_t *root = json_loads(answers[i], 0, NULL);
            assert_non_null(root);
            report_top_take(top, root, view_text(lines[k]), 1 + (int64_t)(i + k), 0);
            json_decref(root);
            str_init(&page);
            top_page_print(top, 80, 24, 0, &page);
            assert_null(strchr(page.at, '\x1b'));
            assert_true(utf8_is_valid(view_of(page.at, page.n)));
            str_free(&page);
        }
    report_top_close(top);
    mem_give(top);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_rates_and_events),
                                        cmocka_unit_test(test_every_size),
                                        cmocka_unit_test(test_absurd_answers) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
