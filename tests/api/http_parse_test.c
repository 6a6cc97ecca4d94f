/* Heads by table, chunked bodies at every split, percent-decoding. (Sockets:
 * tests/e2e/bad_http.py.) */
#include "test.h"
#include "api/http_parse.h"

static int parse(const char *text, struct api_http_head *head)
{
    const char *why = NULL;
    int status = api_http_parse_head(view_text(text), head, &why);
    assert_non_null(why);
    return status;
}

static void test_heads(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int status;
    } rows[] = {
        { "GET / HTTP/1.1\r\nHost: a\r\n\r\n", 0 },
        { "GET / HTTP/1.0\r\n\r\n", 0 },
        { "GET / HTTP/1.1\r\n\r\n", 400 },
        { "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", 400 },
        { "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 12\r\n\r\n", 0 },
        { "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n", 400 },
        { "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9223372036854775808\r\n\r\n", 413 },
        { "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", 0 },
        { "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n", 0 },
        { "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, chunked\r\n\r\n", 400 },
        { "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n",
          400 },
        { "GET / HTTP/1.1\r\nHost : a\r\n\r\n", 400 },
        { "GET / HTTP/1.1\r\nHost: a\r\n x\r\n\r\n", 400 },
        { "GET / HTTP/1.1\r\nHost: a\nX: b\r\n\r\n", 400 },
        { "GET / HTTP/1.1\r\nHost: a\rX: b\r\n\r\n", 400 },
        { "GET / HTTP/3.0\r\nHost: a\r\n\r\n", 505 },
        { "GET  / HTTP/1.1\r\nHost: a\r\n\r\n", 400 },
        { "\r\n\r\n", 400 },
    };
    struct api_http_head head;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        int status = parse(rows[i].text, &head);
        if (status != rows[i].status)
            fail_msg("row %zu: %d, not %d", i, status, rows[i].status);
    }
}

static void test_what_a_head_says(void **state)
{
    (void)state;
    struct api_http_head head;
    assert_int_equal(parse("POST /a/b?x=1&y HTTP/1.1\r\nhost: h:80\r\nX-Y:  a b \t\r\n"
                           "Content-Length: 42\r\nConnection: x, Close\r\n"
                           "Expect: 100-continue\r\n\r\n",
                           &head),
                     0);
    assert_int_equal(head.method, HTTP_POST);
    assert_true(view_equal_text(head.path, "/a/b") && view_equal_text(head.query, "x=1&y"));
    assert_true(view_equal_text(api_http_parse_find(&head, "x-y"), "a b"));
    assert_true(view_equal_text(head.host, "h:80"));
    assert_null(api_http_parse_find(&head, "none").at);
    assert_true(head.n_body == 42 && !head.keeps_alive && head.expects_continue);
    assert_int_equal(parse("BREW http://h/tea HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", &head),
                     0);
    assert_true(head.method == HTTP_OTHER && head.is_1_0 && head.keeps_alive);
    assert_true(view_equal_text(head.path, "/tea"));
}

static void test_extent(void **state)
{
    (void)state;
    const char *text = "GET / HTTP/1.1\r\nHost: a\r\n\r\nrest";
    size_t at = 0, n = strlen(text);
    for (size_t i = 0; i < n - 4; i++)
        assert_int_equal(api_http_parse_extent(view_of(text, i), &at), 0);
    assert_int_equal(api_http_parse_extent(view_of(text, n), &at), n - 4);
}

static void test_chunks_at_every_split(void **state)
{
    (void)state;
    const char *text = "5;a=b\r\nhello\r\n00A\r\n0123456789\r\n0\r\nT: x\r\n\r\nnext";
    size_t n = strlen(text) - 4;
    for (size_t i = 0; i <= n; i++)
        for (size_t j = i; j <= n; j++) {
            struct api_http_chunks chunks = { 0 };
            struct str out;
            size_t n_taken;
            enum api_http_chunks_said said = HTTP_CHUNKS_MORE;
            str_init(&out);
            const size_t cuts[] = { 0, i, j, n + 4 };
            for (int k = 0; k < 3 && said == HTTP_CHUNKS_MORE; k++) {
                struct view piece = view_of(text + cuts[k], cuts[k + 1] - cuts[k]);
                said = api_http_parse_chunks(&chunks, piece, &out, &n_taken);
                if (said == HTTP_CHUNKS_DONE)
                    assert_int_equal(cuts[k] + n_taken, n);
            }
            assert_int_equal(said, HTTP_CHUNKS_DONE);
            assert_string_equal(out.at, "hello0123456789");
            str_free(&out);
        }
}

static void test_percent(void **state)
{
    (void)state;
    char out[8];
    assert_true(api_http_parse_percent(view_text("a%2Fb%41"), out, sizeof(out)));
    assert_string_equal(out, "a/bA");
    static const char *const bad[] = { "%", "%4", "%zz", "%00", "%4g", "12345678" };
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        assert_false(api_http_parse_percent(view_text(bad[i]), out, sizeof(out)));
}

static void queries_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *query, *value;
        enum api_http_query found;
    } rows[] = {
        { "", "", API_HTTP_QUERY_ABSENT },
        { "a", "", API_HTTP_QUERY_ABSENT },
        { "a=1", "1", API_HTTP_QUERY_FOUND },
        { "xa=2&a=1&a=3", "1", API_HTTP_QUERY_FOUND },
        { "ab=1&b=a=1", "", API_HTTP_QUERY_ABSENT },
        { "&&a=&b", "", API_HTTP_QUERY_FOUND },
        { "a=%2Fx%20y", "/x y", API_HTTP_QUERY_FOUND },
        { "a=%zz", "", API_HTTP_QUERY_BAD },
        { "a=%00", "", API_HTTP_QUERY_BAD },
        { "a=12345678", "", API_HTTP_QUERY_BAD },
        { "a=1234567", "1234567", API_HTTP_QUERY_FOUND },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char out[8];
        assert_int_equal(api_http_parse_query(view_text(rows[i].query), "a", out, sizeof out),
                         rows[i].found);
        if (rows[i].found != API_HTTP_QUERY_BAD)
            assert_string_equal(out, rows[i].value);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(queries_are_read),           cmocka_unit_test(test_heads),
        cmocka_unit_test(test_what_a_head_says),      cmocka_unit_test(test_extent),
        cmocka_unit_test(test_chunks_at_every_split), cmocka_unit_test(test_percent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
