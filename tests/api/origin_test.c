/* Pages that may call: by Origin and Host as browsers send them, and as other clients do. */
#include "test.h"
#include "api/origin.h"

static char text[512];

static void parse(const char *headers, struct api_http_head *head)
{
    const char *why = "";
    size_t at = 0;
    snprintf(text, sizeof(text), "POST /sleep HTTP/1.1\r\n%s\r\n", headers);
    size_t n = api_http_parse_extent(view_text(text), &at);
    assert_int_equal(api_http_parse_head(view_of(text, n), head, &why), 0);
}

static void test_origins(void **state)
{
    (void)state;
    static const struct {
        const char *headers, *cors_origin;
        bool is_allowed;
    } rows[] = {
        { "Host: localhost:7411\r\n", NULL, true }, /* no page */
        { "Host: localhost:7411\r\nOrigin: http://localhost:7411\r\n", NULL, true },
        { "Host: LocalHost\r\nOrigin: https://localhost\r\n", NULL, true },
        { "Host: [::1]:7411\r\nOrigin: http://[::1]:7411\r\n", NULL, true },
        { "Host: localhost:7411\r\nOrigin: http://localhost:3000\r\n", NULL, false },
        { "Host: localhost:7411\r\nOrigin: http://localhost\r\n", NULL, false },
        { "Host: localhost:7411\r\nOrigin: ftp://localhost:7411\r\n", NULL, false },
        { "Host: localhost:7411\r\nOrigin: http://localhost:7411.a.example\r\n", NULL, false },
        { "Host: localhost\r\nOrigin: null\r\n", NULL, false },
        { "Host: localhost\r\nOrigin: \r\n", NULL, false },
        { "Host: \r\nOrigin: http://\r\n", NULL, false },
        { "Host: localhost\r\nOrigin: null\r\n", "*", true },
        { "Host: localhost\r\nOrigin: https://a.example\r\n", "*", true },
        { "Host: localhost\r\nOrigin: https://a.example\r\n", "https://a.example", true },
        { "Host: localhost\r\nOrigin: https://a.example:444\r\n", "https://a.example", false },
        { "Host: localhost\r\nOrigin: https://b.example\r\n", "https://a.example", false },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct api_http_head head;
        parse(rows[i].headers, &head);
        assert_int_equal(api_origin_is_allowed(&head, rows[i].cors_origin), rows[i].is_allowed);
    }
}

static void test_hosts(void **state)
{
    (void)state;
    static const struct {
        const char *host;
        bool is_direct;
    } rows[] = {
        { "localhost", true },
        { "LOCALHOST:7411", true },
        { "127.0.0.1", true },
        { "192.168.1.5:80", true },
        { "[::1]:7411", true },
        { "[::1]", true },
        { "[fe80::1]:1", true },
        { "a.example", false },
        { "a.example:7411", false },
        { "localhost.a.io", false },
        { "127.0.0.1.nip.io:1", false },
        { "[a.example]:1", false },
        { "[::1", false },
        { "x", false },
        { "", true },
        { "1::2", false },
        { "localhost:7411.a.io", false },
        { "[::1]:", true },
        { "[]", false },
        { ":80", false },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct api_http_head head;
        char header[128];
        snprintf(header, sizeof(header), "Host: %s\r\n", rows[i].host);
        parse(header, &head);
        assert_int_equal(api_origin_is_direct(&head), rows[i].is_direct);
    }
}

static void test_asked_headers(void **state)
{
    (void)state;
    static const struct {
        const char *header, *granted; /* NULL: none is granted */
    } rows[] = {
        { "", NULL },
        { "Access-Control-Request-Headers: \r\n", NULL },
        { "Access-Control-Request-Headers: x-stainless-os, x-b\r\n", "x-stainless-os, x-b" },
        { "Access-Control-Request-Headers: x-a,x_b\r\n", "x-a,x_b" },
        { "Access-Control-Request-Headers: x-a;x-b\r\n", NULL },
        { "Access-Control-Request-Headers: x\xff\r\n", NULL },
        { "Access-Control-Request-Headers: x-23456789-23456789-\r\n", NULL }, /* too long */
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct api_http_head head;
        char headers[128], out[20];
        snprintf(headers, sizeof(headers), "Host: a\r\n%s", rows[i].header);
        parse(headers, &head);
        assert_int_equal(api_origin_asked_headers(&head, out, sizeof(out)),
                         rows[i].granted != NULL);
        if (rows[i].granted != NULL)
            assert_string_equal(out, rows[i].granted);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_origins),
                                        cmocka_unit_test(test_hosts),
                                        cmocka_unit_test(test_asked_headers) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
