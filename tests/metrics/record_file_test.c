/* Files of records: a written file is read back, and a wrong one is refused with its line. */
#include "../test.h"
#include "base/rng.h"
#include "metrics/record.h"

static struct record draw(struct rng *rng, uint64_t id)
{
    struct record r = { .id = id,
                        .arrived_ns = (int64_t)(rng_u64(rng) >> 12),
                        .solo_ns = rng_below(rng, 1000),
                        .gap_ns_max = rng_below(rng, 1000),
                        .late_ns = rng_below(rng, 1000),
                        .n_pad = rng_below(rng, 1000),
                        .n_invalid = rng_below(rng, 1000),
                        .n_prompt = (int32_t)rng_below(rng, 5000),
                        .n_output = (int32_t)rng_below(rng, 3),
                        .n_wanted = (int32_t)rng_below(rng, 1000),
                        .n_predicted = (int32_t)rng_below(rng, 1000),
                        .n_cached = (int32_t)rng_below(rng, 100),
                        .n_preempted = (int32_t)rng_below(rng, 3),
                        .n_slices = (int32_t)rng_below(rng, 9),
                        .n_batches = (int32_t)rng_below(rng, 99),
                        .n_batch_rows = (int32_t)rng_below(rng, 999),
                        .n_swapped = (int32_t)rng_below(rng, 3),
                        .n_early = (int32_t)rng_below(rng, 3),
                        .http_status = 200,
                        .service = (uint16_t)rng_below(rng, 3),
                        .engine = (uint16_t)rng_below(rng, 60000),
                        .why = (uint8_t)rng_below(rng, RECORD_WHY_N) };
    r.first_ns = r.n_output > 0 ? r.arrived_ns + 1 + rng_below(rng, 1000) : 0;
    r.end_ns = r.arrived_ns + 1001 + rng_below(rng, 1000);
    return r;
}

static void both_forms_come_back(void **state)
{
    static const char *const names[] = { "a", "org/name, \"quoted\"", "\xc3\xa4" };
    struct record_set set = { 0 };
    struct rng rng;
    (void)state;
    rng_init(&rng, test_seed(1), 0);
    for (size_t i = 0; i < COUNT_OF(names); i++)
        assert_int_equal(metrics_record_service(&set, view_text(names[i])), (int)i);
    for (uint64_t id = 0; id < 500; id++) {
        struct record r = draw(&rng, id);
        r.service = id < 3 ? (uint16_t)id : r.service; /* a reader numbers them as they come */
        metrics_record_add(&set, &r);
    }
    for (int form = RECORD_CSV; form <= RECORD_JSONL; form++) {
        struct record_set again = { 0 };
        struct fault fault;
        struct str out;
        str_init(&out);
        metrics_record_write(&set, (enum record_form)form, &out);
        assert_int_equal(
            metrics_record_read(&again, (enum record_form)form, view_of(out.at, out.n), &fault),
            STATUS_OK);
        assert_int_equal(again.n, set.n);
        assert_memory_equal(again.at, set.at, set.n * sizeof(*set.at));
        assert_int_equal(again.n_services, 3);
        assert_string_equal(again.names[1], names[1]);
        str_free(&out);
        metrics_record_set_free(&again);
    }
    metrics_record_set_free(&set);
}

static void refuses(enum record_form form, const char *text, const char *sentence)
{
    struct record_set set = { 0 };
    struct fault fault = { "" };
    assert_int_equal(metrics_record_read(&set, form, view_text(text), &fault), STATUS_BAD_INPUT);
    if (strstr(fault.text, sentence) == NULL)
        fail_msg("\"%s\" says \"%s\", not \"%s\"", text, fault.text, sentence);
    metrics_record_set_free(&set);
}

#define NAMES "id,service,why,arrived_ns,first_ns,end_ns,n_prompt,n_output\n"

static void wrong_csv_is_refused(void **state)
{
    (void)state;
    refuses(RECORD_CSV, "", "the line of names is missing");
    refuses(RECORD_CSV, "id,why\n", "service is missing");
    refuses(RECORD_CSV, "id,colour\n", "colour is not a column");
    refuses(RECORD_CSV, "id,id\n", "id appears twice");
    refuses(RECORD_CSV, "id,\n", "ends in a comma");
    refuses(RECORD_CSV, NAMES "0,a,stop,1,2,3,4\n", "line 2: n_output is missing");
    refuses(RECORD_CSV, NAMES "0,a,stop,1,2,3,4,5,6\n", "more fields");
    refuses(RECORD_CSV, NAMES "0,a,stop,1,2,3,4,5,\n", "ends in a comma");
    refuses(RECORD_CSV, NAMES "0,a,stop,1,2,3,4,x\n", "n_output is not a whole number");
    refuses(RECORD_CSV, NAMES "0,a,stop,1,2,3,4,-5\n", "n_output is out of range");
    refuses(RECORD_CSV, NAMES "0,a,stop,1,2,3,4,2000000000\n", "n_output is out of range");
    refuses(RECORD_CSV, NAMES "0,a,stop,1,2,99999999999999999999,4,5\n", "end_ns is not");
    refuses(RECORD_CSV, NAMES "0,a,slept,1,2,3,4,5\n", "why is not a known end");
    refuses(RECORD_CSV, NAMES "0,,stop,1,2,3,4,5\n", "service is not a name");
    refuses(RECORD_CSV, NAMES "0,\"a,stop,1,2,3,4,5\n", "service is quoted wrongly");
    refuses(RECORD_CSV, NAMES "0,\"a\"b,stop,1,2,3,4,5\n", "service is quoted wrongly");
    refuses(RECORD_CSV, NAMES "0,\xff,stop,1,2,3,4,5\n", "service is not a name");
    refuses(RECORD_CSV, NAMES "0,a,stop,4,2,3,4,5\n", "ends before it arrives");
    refuses(RECORD_CSV, NAMES "0,a,stop,1,9,3,4,5\n", "first_ns lies outside");
    refuses(RECORD_CSV, NAMES "0,a,stop,1,0,3,4,5\n", "contradict each other");
}

static void wrong_jsonl_is_refused(void **state)
{
    (void)state;
    refuses(RECORD_JSONL, "[]\n", "line 1: the line is not a JSON object");
    refuses(RECORD_JSONL, "{}\n", "id is missing");
    refuses(RECORD_JSONL, "{\"id\":\"0\"}\n", "id is not a whole number");
    refuses(RECORD_JSONL, "{\"service\":3}\n", "service is not a text");
    refuses(RECORD_JSONL, "{\"service\":\"a\\u0000b\"}\n", "line");
    refuses(RECORD_JSONL, "{\"id\":1.5}\n", "id is not a whole number");
    refuses(RECORD_JSONL, "{\"size\":1}\n", "size is not a column");
    refuses(RECORD_JSONL, "{\"id\":1,\"id\":1}\n", "not a JSON object");
}

static void columns_may_be_few_and_in_any_order(void **state)
{
    struct record_set set = { 0 };
    struct fault fault;
    (void)state;
    const char *text = "why,end_ns,first_ns,arrived_ns,n_output,n_prompt,service,id\r\n"
                       "length,9,5,1,2,3,\"x\"\"y\",7\r\n\r\n";
    assert_int_equal(metrics_record_read(&set, RECORD_CSV, view_text(text), &fault), STATUS_OK);
    assert_int_equal(set.n, 1);
    assert_string_equal(set.names[0], "x\"y");
    assert_int_equal(set.at[0].id, 7);
    assert_int_equal(set.at[0].end_ns, 9);
    assert_int_equal(set.at[0].why, RECORD_LENGTH);
    metrics_record_set_free(&set);
    assert_int_equal(metrics_record_form_of("a/b.jsonl"), RECORD_JSONL);
    assert_int_equal(metrics_record_form_of("a.jsonl/b.csv"), RECORD_CSV);
}

/* Any byte may be changed, cut or doubled: the reader answers, and the records that it keeps are
 * consistent. */
static void noise_does_no_harm(void **state)
{
    struct record_set set = { 0 };
    struct rng rng;
    struct str out;
    (void)state;
    rng_init(&rng, test_seed(2), 0);
    assert_int_equal(metrics_record_service(&set, view_text("a,b")), 0);
    for (uint64_t id = 0; id < 3; id++) {
        struct record r = draw(&rng, id);
        r.service = 0;
        metrics_record_add(&set, &r);
    }
    str_init(&out);
    for (int i = 0; i < 20000; i++) {
        enum record_form form = i % 2 == 0 ? RECORD_CSV : RECORD_JSONL;
        struct record_set again = { 0 };
        str_clear(&out);
        metrics_record_write(&set, form, &out);
        for (uint32_t n = 1 + rng_below(&rng, 3); n > 0; n--)
            out.at[rng_below(&rng, (uint32_t)out.n)] = (char)rng_below(&rng, 256);
        size_t n = i % 5 == 0 ? rng_below(&rng, (uint32_t)out.n) : out.n;
        if (metrics_record_read(&again, form, view_of(out.at, n), NULL) == STATUS_OK)
            for (size_t r = 0; r < again.n; r++)
                assert_true(again.at[r].end_ns >= again.at[r].arrived_ns &&
                            again.at[r].service < again.n_services);
        metrics_record_set_free(&again);
    }
    str_free(&out);
    metrics_record_set_free(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_forms_come_back),
        cmocka_unit_test(wrong_csv_is_refused),
        cmocka_unit_test(wrong_jsonl_is_refused),
        cmocka_unit_test(columns_may_be_few_and_in_any_order),
        cmocka_unit_test(noise_does_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
