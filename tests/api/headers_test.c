/* Ids, deadlines and keys from headers. */
#include "test.h"
#include "api/headers.h"
#include "base/time.h"

static void parse(const char *headers, struct api_http_head *head)
{
    static char text[512];
    const char *why;
    snprintf(text, sizeof(text), "GET / HTTP/1.1\r\nHost: a\r\n%s\r\n", headers);
    assert_int_equal(api_http_parse_head(view_text(text), head, &why), 0);
}

static void test_targets(void **state)
{
    (void)state;
    struct api_http_head head;
    struct api_error error = { 0 };
    struct service_slo slo = { 0 };
    int64_t deadline_ns;
    parse("X-Slo-Ttft-Ms: 250\r\nX-Request-Deadline-Ms: 1000\r\n", &head);
    assert_true(api_headers_targets(&head, 5, &deadline_ns, &slo, &error));
    assert_true(slo.ttft_ns == 250 * TIME_NS_PER_MS && slo.e2e_ns == 0);
    assert_int_equal(deadline_ns, 5 + TIME_NS_PER_S);
    parse("x-llm-d-slo-ttft-ms: 300\r\nx-llm-d-slo-tpot-ms: 40\r\n", &head);
    assert_true(api_headers_targets(&head, 5, &deadline_ns, &slo, &error));
    assert_true(slo.ttft_ns == 300 * TIME_NS_PER_MS && slo.tpot_ns == 40 * TIME_NS_PER_MS);
    parse("", &head);
    assert_true(api_headers_targets(&head, 5, &deadline_ns, &slo, &error));
    assert_true(deadline_ns == TIME_NEVER);
    parse("x-slo-e2e-ms: 1e3\r\n", &head);
    assert_false(api_headers_targets(&head, 5, &deadline_ns, &slo, &error));
    assert_string_equal(error.text, "the header x-slo-e2e-ms must be an integer between 1 and "
                                    "604800000 (milliseconds)");
}

static void test_keys(void **state)
{
    (void)state;
    struct api_http_head head;
    parse("Authorization: Bearer abc\r\n", &head);
    assert_true(api_headers_has_key(&head, "abc"));
    assert_false(api_headers_has_key(&head, "abcd"));
    parse("X-Api-Key: abc\r\nAuthorization: Basic abc\r\n", &head);
    assert_true(api_headers_has_key(&head, "abc"));
    parse("Authorization: abc\r\n", &head);
    assert_false(api_headers_has_key(&head, "abc"));
    parse("X: y\r\n", &head); /* sending no key must not match an empty key */
    assert_false(api_headers_has_key(&head, ""));
    parse("Authorization: Bearer \r\nX-Api-Key:\r\n", &head);
    assert_false(api_headers_has_key(&head, ""));
}

static void test_ids(void **state)
{
    (void)state;
    struct api_http_head head;
    char id[8];
    parse("X-Request-Id: a-1\r\n", &head);
    api_headers_request_id(&head, id, sizeof(id));
    assert_string_equal(id, "a-1");
    parse("X-Request-Id: a 1\r\n", &head);
    api_headers_request_id(&head, id, sizeof(id));
    assert_string_equal(id, "");
    parse("X-Request-Id: 12345678\r\n", &head);
    api_headers_request_id(&head, id, sizeof(id));
    assert_string_equal(id, "");
}

static void test_encodings(void **state)
{
    (void)state;
    static const char *const plain[] = { "", "Content-Encoding: identity\r\n",
                                         "content-encoding: IDENTITY\r\n",
                                         "Content-Encoding: \r\n" };
    static const char *const encoded[] = { "Content-Encoding: gzip\r\n",
                                           "Content-Encoding: identity, gzip\r\n",
                                           "Content-Encoding: identit\r\n" };
    struct api_http_head head;
    for (size_t i = 0; i < COUNT_OF(plain); i++) {
        struct api_error error = { 0 };
        parse(plain[i], &head);
        assert_true(api_headers_is_plain(&head, &error) && !error.is_set);
    }
    for (size_t i = 0; i < COUNT_OF(encoded); i++) {
        struct api_error error = { 0 };
        parse(encoded[i], &head);
        assert_false(api_headers_is_plain(&head, &error));
        assert_int_equal(error.status, 415);
    }
}

static void test_traces(void **state)
{
    (void)state;
    static const char trace[] = "4bf92f3577b34da6a3ce929d0e0e4736";
    static const char *const wrong[] = {
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0",  /* too short */
        "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01", /* capitals */
        "00-00000000000000000000000000000000-00f067aa0ba902b7-01", /* no trace */
        "00-4bf92f3577b34da6a3ce929d0e0e473-600f067aa0ba902b7-01", /* bars elsewhere */
        "00 4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "zz-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", /* no digits: the version, */
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00F067AA0BA902B7-01", /* the parent, */
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-x1", /* the flags */
        "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", /* an invalid version */
        "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01", /* no parent */
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more", /* 00 has no more */
        "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01.more",
    };
    struct api_http_head head;
    char id[128], line[160];
    parse("traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\r\n", &head);
    api_headers_request_id(&head, id, sizeof(id));
    assert_string_equal(id, trace);
    api_headers_request_id(&head, id, sizeof(trace) - 1); /* no room for it */
    assert_string_equal(id, "");
    parse("Traceparent: 01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more\r\n", &head);
    api_headers_request_id(&head, id, sizeof(id));
    assert_string_equal(id, trace);
    parse("traceparent: cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-\r\n", &head);
    api_headers_request_id(&head, id, sizeof(id));
    assert_string_equal(id, trace);
    parse("X-Request-Id: a-1\r\n"
          "traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\r\n",
          &head);
    api_headers_request_id(&head, id, sizeof(id));
    assert_string_equal(id, "a-1");
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        snprintf(line, sizeof(line), "traceparent: %s\r\n", wrong[i]);
        parse(line, &head);
        api_headers_request_id(&head, id, sizeof(id));
        assert_string_equal(id, "");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_targets), cmocka_unit_test(test_keys),
                                        cmocka_unit_test(test_ids),
                                        cmocka_unit_test(test_encodings),
                                        cmocka_unit_test(test_traces) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
