/* Large answers: the text that was handed over is sent in order, in slices, and is freed once. */
#include "test.h"

#include "api/http_out.h"
#include "base/mem.h"
#include <event2/buffer.h>
#include <event2/event.h>

enum { N_BYTES = 100000, RECORD_BYTES = 16 << 10 };

static void add_numbers(struct str *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        str_add_char(text, (char)(i * i % 251));
}

static void test_a_text_leaves_in_slices_behind_what_is_there(void **state)
{
    (void)state;
    struct evbuffer *out = evbuffer_new();
    struct str text, expected, got;
    str_init(&text);
    str_init(&expected);
    str_init(&got);
    evbuffer_add(out, "head", 4);
    str_add_text(&expected, "head");
    for (size_t n = 0; n < 4 * RECORD_BYTES; n += RECORD_BYTES - 1) {
        str_add(&text, "x", 1);
        str_clear(&text);
        add_numbers(&text, n);
        str_add(&expected, text.at, text.n);
        assert_true(api_http_out_add(out, &text));
        assert_null(text.at);
    }
    assert_int_equal(evbuffer_get_length(out), expected.n);
    for (size_t n; (n = evbuffer_get_contiguous_space(out)) > 0;) {
        assert_true(n <= RECORD_BYTES);
        str_add(&got, (const char *)evbuffer_pullup(out, (ev_ssize_t)n), n);
        evbuffer_drain(out, n);
    }
    assert_true(view_equal(view_of(got.at, got.n), view_of(expected.at, expected.n)));
    evbuffer_free(out);
    str_free(&expected);
    str_free(&got);
}

static void test_what_never_leaves_is_freed_too(void **state)
{
    (void)state;
    struct evbuffer *out = evbuffer_new();
    struct str text;
    str_init(&text);
    add_numbers(&text, N_BYTES);
    assert_true(api_http_out_add(out, &text));
    evbuffer_drain(out, N_BYTES / 2);
    evbuffer_free(out);
}

static int fails_at; /* libevent's allocation that fails; 0: none */

static void *take(size_t n)
{
    return fails_at > 0 && --fails_at == 0 ? NULL : mem_library_take(n);
}

static void test_a_text_is_freed_when_there_is_no_memory(void **state)
{
    (void)state;
    struct mem_account held = { 0 };
    (void)mem_account_use(&held);
    int n_failed = 0;
    for (int at = 1; at <= 2 + N_BYTES / RECORD_BYTES; at++) {
        struct evbuffer *out = evbuffer_new();
        struct str text;
        str_init(&text);
        add_numbers(&text, N_BYTES);
        fails_at = at;
        n_failed += !api_http_out_add(out, &text);
        fails_at = 0;
        assert_null(text.at);
        evbuffer_free(out);
        assert_int_equal(mem_account_bytes(&held), 0);
    }
    assert_true(n_failed > 2);
    held.n_bytes_max = N_BYTES; /* reached before the text's record */
    struct str text;
    str_init(&text);
    add_numbers(&text, N_BYTES);
    struct evbuffer *out = evbuffer_new();
    assert_false(api_http_out_add(out, &text));
    evbuffer_free(out);
    assert_int_equal(mem_account_bytes(&held), 0);
    (void)mem_account_use(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_text_leaves_in_slices_behind_what_is_there),
        cmocka_unit_test(test_what_never_leaves_is_freed_too),
        cmocka_unit_test(test_a_text_is_freed_when_there_is_no_memory),
    };
    event_set_mem_functions(take, mem_library_grow, mem_library_give); /* before all else */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
