/* A trace is JSON with the times of each lane's batches. */
#include "../test.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/team.h"
#include "metrics/trace.h"

#include <jansson.h>
#include <unistd.h>

static char path[64];

static json_t *read_trace(void)
{
    char *content;
    size_t n;
    struct fault fault;
    assert_int_equal(file_read(path, 1 << 24, &content, &n, &fault), STATUS_OK);
    json_error_t error;
    json_t *json = json_loadb(content, n, 0, &error);
    if (json == NULL)
        fail_msg("line %d: %s", error.line, error.text);
    mem_give(content);
    unlink(path);
    return json;
}

static struct metrics_trace *open_trace(int64_t n_bytes_max)
{
    struct metrics_trace *trace;
    struct fault fault;
    snprintf(path, sizeof(path), "/tmp/shoal-trace-test-%d.json", (int)getpid());
    assert_int_equal(metrics_trace_open(&trace, path, n_bytes_max, &fault), STATUS_OK);
    return trace;
}

static void a_batch_is_a_complete_event(void **state)
{
    struct metrics_trace *trace = open_trace(1 << 20);
    (void)state;
    metrics_trace_lane(trace, 2, 1, "lane 1: 3 cores");
    metrics_trace_add(
        trace, &(struct metrics_trace_batch){ .engine = 2,
                                              .lane = 1,
                                              .service = "a \"b\"",
                                              .kind = "decode",
                                              .n_items = 7,
                                              .n_tokens = 9,
                                              .n_rounds = 1,
                                              .begin_ns = 9007199254740993001, /* no double */
                                              .end_ns = 9007199254741003007 });
    metrics_trace_close(trace);
    json_t *json = read_trace();
    assert_int_equal(json_array_size(json), 3);
    json_t *name = json_array_get(json, 1), *batch = json_array_get(json, 2);
    assert_string_equal(json_string_value(json_object_get(name, "ph")), "M");
    assert_string_equal(json_string_value(json_object_get(json_object_get(name, "args"), "name")),
                        "lane 1: 3 cores");
    assert_string_equal(json_string_value(json_object_get(batch, "ph")), "X");
    assert_string_equal(json_string_value(json_object_get(batch, "name")), "a \"b\"");
    assert_int_equal(json_integer_value(json_object_get(batch, "pid")), 2);
    assert_int_equal(json_integer_value(json_object_get(batch, "tid")), 1);
    assert_true(json_real_value(json_object_get(batch, "dur")) == 10.006);
    assert_int_equal(json_integer_value(json_object_get(json_object_get(batch, "args"), "tokens")),
                     9);
    json_decref(json);
}

static void a_full_trace_is_still_json(void **state)
{
    struct metrics_trace *trace = open_trace(20000);
    (void)state;
    for (int i = 0; i < 1000; i++)
        metrics_trace_add(
            trace, &(struct metrics_trace_batch){ .service = "m", .kind = "decode", .end_ns = i });
    metrics_trace_close(trace);
    json_t *json = read_trace();
    assert_true(json_array_size(json) > 50 && json_array_size(json) < 1000);
    json_decref(json);
}

static void add_many(void *arg)
{
    for (int i = 0; i < 2000; i++)
        metrics_trace_add(
            arg, &(struct metrics_trace_batch){ .service = "m", .kind = "decode", .end_ns = i });
}

static void engines_write_side_by_side(void **state)
{
    struct metrics_trace *trace = open_trace(1 << 24);
    struct thread *threads[3];
    (void)state;
    for (int i = 0; i < 3; i++)
        threads[i] = thread_start("tracer", add_many, trace);
    for (int i = 0; i < 3; i++)
        thread_join(threads[i]);
    metrics_trace_close(trace);
    json_t *json = read_trace();
    assert_int_equal(json_array_size(json), 6000);
    json_decref(json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_batch_is_a_complete_event),
        cmocka_unit_test(a_full_trace_is_still_json),
        cmocka_unit_test(engines_write_side_by_side),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
