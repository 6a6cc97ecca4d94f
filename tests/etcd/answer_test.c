/* Replies of etcd, and what is none. */
#include "etcd/answer.h"

#include "etcd/body.h"
#include "test.h"

#include "base/mem.h"
#include "base/rng.h"

static struct etcd_answer reply(enum store_call_kind kind, long status, const char *text)
{
    struct etcd_answer answer;
    etcd_answer_read(kind, status, view_text(text), &answer);
    mem_give(answer.entries);
    answer.entries = NULL;
    return answer;
}

#define HEADER "\"header\":{\"cluster_id\":\"17\",\"revision\":\"9\",\"raft_term\":\"2\"}"

static void test_replies(void **state)
{
    (void)state;
    struct etcd_answer a = reply(STORE_CHANGE, 200, "{" HEADER ",\"succeeded\":true}");
    assert_true(a.end == STORE_DONE && a.is_made && a.head.revision == 9 && a.head.term == 2);
    a = reply(STORE_CHANGE, 200, "{" HEADER "}");
    assert_true(a.end == STORE_DONE && !a.is_made);
    a = reply(STORE_KEEP, 200, "{\"result\":{" HEADER ",\"TTL\":\"5\"}}");
    assert_true(a.end == STORE_DONE && a.has_lease && a.ttl_s == 5);
    a = reply(STORE_KEEP, 200, "{\"result\":{" HEADER "}}");
    assert_true(a.end == STORE_DONE && !a.has_lease);
    a = reply(STORE_LIST, 200, "{" HEADER ",\"kvs\":[{\"key\":\"YQ==\",\"mod_revision\":\"3\"}]}");
    assert_true(a.end == STORE_DONE && a.n_entries == 1);
    assert_int_equal(reply(STORE_LIST, 200, "{" HEADER ",\"more\":true}").end, STORE_UNSURE);
    /* No key, a key that is no base64, one with a zero byte. */
    a = reply(STORE_LIST, 200,
              "{" HEADER ",\"kvs\":[{},{\"key\":\"Y\"},{\"key\":\"????\"},{\"key\":\"AAAA\"},7]}");
    assert_true(a.end == STORE_DONE && a.n_entries == 0);
    assert_int_equal(reply(STORE_GRANT, 400, "{\"error\":\"x\",\"code\":9}").end, STORE_REFUSED);
    assert_int_equal(reply(STORE_CHANGE, 503, "{\"error\":\"x\",\"code\":14}").end, STORE_UNSURE);
    assert_int_equal(
        reply(STORE_KEEP, 200, "{\"error\":{\"grpc_code\":14,\"message\":\"no leader\"}}").end,
        STORE_UNSURE);
    const char *const none[] = { "", "[]", "{", "{}", "null", "{\"header\":7}", "\xff" };
    for (size_t i = 0; i < COUNT_OF(none); i++)
        assert_int_equal(reply(STORE_CHANGE, 200, none[i]).end, STORE_UNSURE);
}

static void test_lines(void **state)
{
    struct etcd_line line;
    (void)state;
    etcd_answer_read_line(view_text("{\"result\":{" HEADER ",\"created\":true}}"), &line);
    assert_true(line.is_created && !line.is_over && line.n_events == 0);
    etcd_answer_read_line(view_text("{\"result\":{" HEADER ",\"events\":[{\"kv\":{\"key\":\"YQ==\","
                                    "\"value\":\"Yg==\",\"mod_revision\":\"4\"}},{\"type\":"
                                    "\"DELETE\",\"kv\":{\"key\":\"YQ==\"}}]}}"),
                          &line);
    assert_int_equal(line.n_events, 2);
    assert_true(!line.are_deleted[0] && line.are_deleted[1]);
    assert_string_equal(line.entries[0].key, "a");
    assert_true(view_equal_text(line.entries[0].value, "b") && line.entries[0].changed == 4);
    mem_give(line.entries);
    const char *const over[] = { "{\"result\":{" HEADER ",\"canceled\":true}}", "{", "7",
                                 "{\"error\":{\"message\":\"no leader\"}}" };
    for (size_t i = 0; i < COUNT_OF(over); i++) {
        etcd_answer_read_line(view_text(over[i]), &line);
        assert_true(line.is_over && line.fault.text[0] != '\0');
    }
}

/* Whatever bytes change, nothing is read outside the text. */
static void test_damaged(void **state)
{
    static const char whole[] =
        "{\"result\":{" HEADER ",\"events\":[{\"kv\":{\"key\":\"YQ==\",\"value\":\"Yg==\","
        "\"mod_revision\":\"4\"}}]}," HEADER ",\"kvs\":[{\"key\":\"YQ==\",\"value\":\"YmM=\"}]}";
    struct rng rng;
    (void)state;
    rng_init(&rng, test_seed(3), 0);
    for (int i = 0; i < 20000; i++) {
        char *text = malloc(sizeof whole);
        size_t n = sizeof whole - 1 - rng_below(&rng, 4);
        struct etcd_answer answer;
        struct etcd_line line;
        memcpy(text, whole, sizeof whole);
        for (uint64_t k = rng_below(&rng, 4); k > 0; k--)
            text[rng_below(&rng, (uint32_t)n)] = (char)rng_below(&rng, 256);
        etcd_answer_read(STORE_LIST, 200, view_of(text, n), &answer);
        mem_give(answer.entries);
        etcd_answer_read_line(view_of(text, n), &line);
        mem_give(line.entries);
        free(text);
    }
}

static void test_bodies(void **state)
{
    struct str body;
    (void)state;
    str_init(&body);
    struct store_call call = { .kind = STORE_CHANGE, .n_conditions = 1, .n_changes = 2 };
    call.conditions[0] = (struct store_condition){ STORE_CREATED_AT, "a", 0, { 0 } };
    call.changes[0] = (struct store_change){ "a", view_text("hello"), 77, false };
    call.changes[1] = (struct store_change){ .key = "b", .is_delete = true };
    assert_string_equal(etcd_body_of_call(&call, &body), "/v3/kv/txn");
    assert_string_equal(
        body.at, "{\"compare\":[{\"key\":\"YQ==\",\"result\":\"EQUAL\",\"target\":\"CREATE\","
                 "\"create_revision\":\"0\"}],\"success\":[{\"request_put\":{\"key\":\"YQ==\","
                 "\"value\":\"aGVsbG8=\",\"lease\":\"77\"}},{\"request_delete_range\":{\"key\":"
                 "\"Yg==\"}}]}");
    str_clear(&body);
    call = (struct store_call){ .kind = STORE_LIST, .prefix = "/cp/" };
    assert_string_equal(etcd_body_of_call(&call, &body), "/v3/kv/range");
    assert_string_equal(body.at, "{\"key\":\"L2NwLw==\",\"range_end\":\"L2NwMA==\"}");
    str_free(&body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_replies),
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_bodies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
