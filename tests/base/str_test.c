/* Tests of text: growing, views, UTF-8, and numbers as people write them. */
#include "test.h"
#include "base/str.h"

static void test_str_grows(void **state)
{
    (void)state;
    struct str str;
    str_init(&str);
    str_add(&str, NULL, 0);
    assert_string_equal(str.at, "");
    for (int i = 0; i < 1000; i++)
        str_add_char(&str, (char)('a' + i % 26));
    assert_int_equal(str.n, 1000);
    assert_int_equal(strlen(str.at), 1000);
    str_clear(&str);
    str_add_text(&str, "x");
    str_printf(&str, "=%d", 5);
    assert_string_equal(str.at, "x=5");
    str_printf(&str, "%0500d", 7);
    assert_int_equal(str.n, 503);
    assert_int_equal(str.at[502], '7');
    str_free(&str);
    str_free(&str);
}

static void test_views(void **state)
{
    (void)state;
    struct view v = view_text("stream: true");
    assert_true(view_starts(v, "stream"));
    assert_true(view_starts(v, ""));
    assert_false(view_starts(view_of("str", 3), "stream"));
    assert_true(view_equal_text(view_of("stream", 3), "str"));
    assert_false(view_equal_text(v, "stream"));
    assert_true(view_equal(view_of(NULL, 0), view_text("")));
}

static int decode(const char *bytes, size_t n, uint32_t *codepoint)
{
    return utf8_decode(view_of(bytes, n), codepoint);
}

static void test_utf8_decode(void **state)
{
    (void)state;
    uint32_t c = 0;
    assert_int_equal(decode("", 0, &c), -1);
    assert_int_equal(decode("A", 1, &c), 1);
    assert_int_equal(c, 'A');
    assert_int_equal(decode("\0", 1, NULL), 1);
    assert_int_equal(decode("\xC3\xA9", 2, &c), 2);
    assert_int_equal(c, 0xE9);
    assert_int_equal(decode("\xF0\x9F\x98\x80", 4, &c), 4);
    assert_int_equal(c, 0x1F600);
    static const char *bad[] = { "\x80",         "\xC0\xAF",         "\xC1\xBF",
                                 "\xE0\x9F\xBF", "\xED\xA0\x80",     "\xF0\x8F\xBF\xBF",
                                 "\xF5\x80\x80", "\xF4\x90\x80\x80", "\xFF",
                                 "\xC3(",        "\xE2\x82(" };
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        assert_int_equal(decode(bad[i], strlen(bad[i]), NULL), 0);
    static const char *cut[] = { "\xC3", "\xE2", "\xE2\x82", "\xF0", "\xF0\x9F", "\xF0\x9F\x98" };
    for (size_t i = 0; i < COUNT_OF(cut); i++)
        assert_int_equal(decode(cut[i], strlen(cut[i]), NULL), -1);
    assert_true(utf8_is_valid(view_text("a\xC3\xA9\xE6\xBC\xA2")));
    assert_false(utf8_is_valid(view_text("a\xC3")));
    assert_true(utf8_is_space(0x3000) && utf8_is_space(9) && !utf8_is_space(28));
    assert_true(utf8_is_valid(view_of(NULL, 0)));
}

static void test_utf8_round_trip(void **state)
{
    (void)state;
    for (uint32_t c = 0; c <= 0x110100; c++) {
        char out[4];
        uint32_t back;
        int n = utf8_encode(c, out);
        bool is_scalar = c <= 0x10FFFF && (c < 0xD800 || c > 0xDFFF);
        if (!is_scalar) {
            if (n != 0)
                fail();
        } else if (n <= 0 || utf8_decode(view_of(out, (size_t)n), &back) != n || back != c) {
            fail();
        }
    }
}

static void test_parse_i64(void **state)
{
    (void)state;
    int64_t out = 5;
    assert_true(parse_i64("-9223372036854775808", &out) && out == INT64_MIN);
    assert_true(parse_i64("+7", &out) && out == 7);
    static const char *bad[] = { "",     "-",   " 1", "1 ", "1x", "9223372036854775808",
                                 "0x10", "1.0", "+-1" };
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        assert_false(parse_i64(bad[i], &out));
    assert_int_equal(out, 7);
}

static void test_parse_f64(void **state)
{
    (void)state;
    double out = 0;
    assert_true(parse_f64("1e3", &out) && out == 1000);
    assert_true(parse_f64("-.5", &out) && out == -0.5);
    assert_true(parse_f64("2.", &out) && out == 2);
    static const char *bad[] = { "",      ".",     "e5", "1e", "nan", "inf",
                                 "1e999", "0x1p3", " 1", "1 ", "1,5", "--1" };
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        assert_false(parse_f64(bad[i], &out));
}

static void test_parse_bytes(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t bytes;
    } rows[] = { { "0", 0 },
                 { "512M", INT64_C(512) << 20 },
                 { "2GiB", INT64_C(2) << 30 },
                 { "2gb", -1 },
                 { "2GB", INT64_C(2) << 30 },
                 { "1.5k", 1536 },
                 { "1e9", 1000000000 },
                 { "3B", 3 },
                 { "1T", INT64_C(1) << 40 },
                 { "9223372036854775807", INT64_MAX },
                 { "-1", -1 },
                 { "-1K", -1 },
                 { "", -1 },
                 { "K", -1 },
                 { "1KK", -1 },
                 { "1Ki", -1 },
                 { "1e30", -1 },
                 { "8388608T", -1 },
                 { "1 K", -1 } };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        int64_t out;
        bool ok = parse_bytes(rows[i].text, &out);
        assert_int_equal(ok, rows[i].bytes >= 0);
        if (ok)
            assert_int_equal(out, rows[i].bytes);
    }
}

static void test_parse_duration(void **state)
{
    (void)state;
    int64_t out;
    assert_true(parse_duration_ns("10m", &out) && out == INT64_C(600000000000));
    assert_true(parse_duration_ns("1.5s", &out) && out == 1500000000);
    assert_true(parse_duration_ns("200ms", &out) && out == 200000000);
    assert_true(parse_duration_ns("3us", &out) && out == 3000);
    assert_true(parse_duration_ns("5", &out) && out == 5000000000);
    assert_true(parse_duration_ns("2h", &out) && out == INT64_C(7200000000000));
    assert_true(parse_duration_ns("-1", &out) && out == -1);
    assert_true(parse_duration_ns("-5m", &out) && out == -1);
    static const char *bad[] = { "", "s", "5 s", "5sec", "1e300h", "5S" };
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        assert_false(parse_duration_ns(bad[i], &out));
}

static void test_utf8_tame(void **state)
{
    static const struct {
        const char *from, *to;
    } cases[] = { { "", "" },
                  { "plain \xC3\xA4 \xF0\x9F\x90\x9F", "plain \xC3\xA4 \xF0\x9F\x90\x9F" },
                  { "a\r\nb\tc\x1b[2J\x7f", "a  b c [2J " },
                  { "a\xC2\x9B"
                    "2Jb",
                    "a  2Jb" },
                  { "\xFF"
                    "a\xC0\x8A\xE2\x80",
                    "?a????" } };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char text[64];
        snprintf(text, sizeof(text), "%s", cases[i].from);
        utf8_tame(text);
        assert_string_equal(text, cases[i].to);
        utf8_tame(text); /* nothing more to do */
        assert_string_equal(text, cases[i].to);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_str_grows),       cmocka_unit_test(test_views),
        cmocka_unit_test(test_utf8_tame),       cmocka_unit_test(test_utf8_decode),
        cmocka_unit_test(test_utf8_round_trip), cmocka_unit_test(test_parse_i64),
        cmocka_unit_test(test_parse_f64),       cmocka_unit_test(test_parse_bytes),
        cmocka_unit_test(test_parse_duration),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
