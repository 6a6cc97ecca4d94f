/* Server-sent events: every line ending, every cut, and lines that are no event. */
#include "../test.h"
#include "loadgen/sse.h"

static void keep(void *self, const char *data, size_t n)
{
    str_add(self, data, n);
    str_add_char(self, '|');
}

static void expect(const char *bytes, size_t step, const char *events, bool is_whole)
{
    struct loadgen_sse sse;
    struct str got;
    size_t n = strlen(bytes);
    loadgen_sse_init(&sse);
    str_init(&got);
    str_add_text(&got, "");
    for (size_t at = 0; at < n; at += step)
        loadgen_sse_feed(&sse, bytes + at, at + step < n ? step : n - at, keep, &got);
    assert_null(sse.wrong);
    assert_string_equal(got.at, events);
    assert_int_equal(loadgen_sse_is_whole(&sse), is_whole);
    str_free(&got);
    loadgen_sse_free(&sse);
}

static void events_come_however_they_are_cut(void **state)
{
    (void)state;
    for (size_t step = 1; step < 40; step++) {
        expect("data: a\n\ndata: b\n\n", step, "a|b|", true);
        expect("data: a\r\n\r\ndata: b\r\n\r\n", step, "a|b|", true);
        expect("data: a\r\rdata:b\r\r", step, "a|b|", true);
        expect(": ping\n\ndata: a\ndata: b\n\n", step, "a\nb|", true);
        expect("event: x\nid: 3\nretry: 5\ndata\n\n", step, "|", true);
        expect("data: {\"a\": \"b:c\"}\n\n", step, "{\"a\": \"b:c\"}|", true);
        expect("data: a\n\ndata: b\n", step, "a|", false);
        expect("data: a\n\ndat", step, "a|", false);
        expect("", step, "", true);
    }
}

static void what_is_no_event_is_wrong(void **state)
{
    static const char *const wrong[] = { "{\"a\": 1}\n\n", "data : a\n\n",
                                         "\xef\xbb\xbf"
                                         "data: a\n\n" };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        struct loadgen_sse sse;
        struct str got;
        loadgen_sse_init(&sse);
        str_init(&got);
        loadgen_sse_feed(&sse, wrong[i], strlen(wrong[i]), keep, &got);
        assert_non_null(sse.wrong);
        str_free(&got);
        loadgen_sse_free(&sse);
    }
}

static void an_event_has_a_bound(void **state)
{
    struct loadgen_sse sse;
    struct str got;
    static char bytes[65536];
    (void)state;
    memset(bytes, 'a', sizeof(bytes));
    loadgen_sse_init(&sse);
    str_init(&got);
    for (int i = 0; i < 1000; i++)
        loadgen_sse_feed(&sse, bytes, sizeof(bytes), keep, &got);
    assert_non_null(sse.wrong);
    assert_true(sse.line.n <= LOADGEN_SSE_BYTES_MAX + sizeof(bytes));
    str_free(&got);
    loadgen_sse_free(&sse);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_come_however_they_are_cut),
        cmocka_unit_test(what_is_no_event_is_wrong),
        cmocka_unit_test(an_event_has_a_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
