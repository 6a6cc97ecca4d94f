/* Characters as in tokenizers 0.23: classes, lower case, normal forms with their changes. */
#include "test.h"
#include "base/time.h"
#include "base/mem.h"
#include "text/unicode.h"

static void classes_have_edges(void **state)
{
    (void)state;
    static const struct {
        enum unicode_class class;
        uint32_t in, out;
    } rows[] = {
        { UNICODE_NUMERIC, '0', '/' },      { UNICODE_NUMERIC, 0xBD, 'a' },
        { UNICODE_PUNCTUATION, '$', 'a' },  { UNICODE_PUNCTUATION, 0x3002, 0x3003 - 3 },
        { UNICODE_WORD, '_', '-' },         { UNICODE_WORD, 0x4E2D, 0x3000 },
        { UNICODE_CONTROL, 1, ' ' },        { UNICODE_CONTROL, 0x200B, '\n' },
        { UNICODE_COMBINING, 0x301, 'a' },  { UNICODE_NONSPACING, 0x301, 0x903 },
        { UNICODE_FROZEN, 0x32FF, 0x32FE }, { UNICODE_EXTENDING, 0x897, 0x600 },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        assert_true(unicode_is(rows[i].class, rows[i].in));
        assert_false(unicode_is(rows[i].class, rows[i].out));
        assert_false(unicode_is(rows[i].class, UINT32_MAX));
    }
}

static void lower_case_is_one_character_but_once(void **state)
{
    (void)state;
    static const uint32_t pairs[][2] = {
        { 'A', 'a' },      { 'a', 'a' },       { '[', '[' },          { 0x100, 0x101 },
        { 0x101, 0x101 },  { 0x3A3, 0x3C3 },   { 0x1E9E, 0xDF },      { 0x10D50, 0x10D70 },
        { 0xA7DC, 0x19B }, { 0x1FBC, 0x1FB3 }, { 0x10FFFF, 0x10FFFF }
    };
    uint32_t out[2];
    for (size_t i = 0; i < COUNT_OF(pairs); i++) {
        assert_int_equal(unicode_lower(pairs[i][0], out), 1);
        assert_int_equal(out[0], pairs[i][1]);
    }
    assert_int_equal(unicode_lower(0x130, out), 2);
    assert_true(out[0] == 'i' && out[1] == 0x307);
}

struct expected {
    uint32_t c;
    int32_t change;
};
static void expect(const char *text, unsigned form, int n, const struct expected *wanted)
{
    struct unicode_changes changes = { 0 };
    unicode_normalize(view_text(text), form, &changes);
    assert_int_equal(changes.n, n);
    for (int i = 0; i < n; i++) {
        assert_int_equal(changes.at[i].c, wanted[i].c);
        assert_int_equal(changes.at[i].change, wanted[i].change);
    }
    unicode_changes_free(&changes);
}
#define EXPECT(text, form, ...)                                                                    \
    expect(text, form, (int)COUNT_OF(((const struct expected[]){ __VA_ARGS__ })),                  \
           (const struct expected[]){ __VA_ARGS__ })

static void forms_say_what_they_stand_for(void **state)
{
    (void)state;
    EXPECT("a\xC3\xA9", 0, { 'a', 0 }, { 'e', 0 }, { 0x301, 1 });
    EXPECT("a\xC3\xA9", UNICODE_COMPOSED, { 'a', 0 }, { 0xE9, 0 });
    EXPECT("e\xCC\x81x", UNICODE_COMPOSED, { 0xE9, -1 }, { 'x', 0 });
    /* a-diaeresis and a dot below: the dot goes first, and joins the a */
    EXPECT("\xC3\xA4\xCC\xA3", 0, { 'a', 0 }, { 0x323, 0 }, { 0x308, 1 });
    EXPECT("\xC3\xA4\xCC\xA3", UNICODE_COMPOSED, { 0x1EA1, -1 }, { 0x308, 1 });
    EXPECT("\xEF\xAC\x81", UNICODE_COMPATIBLE, { 'f', 0 }, { 'i', 1 });
    EXPECT("\xE1\x84\x80\xE1\x85\xA1\xE1\x86\xA8", UNICODE_COMPOSED, { 0xAC01, -2 });
    EXPECT("\xEA\xB0\x81", 0, { 0x1100, 0 }, { 0x1161, 1 }, { 0x11A8, 1 });
    EXPECT("\xE0\xA5\x98", UNICODE_COMPOSED, { 0x915, 0 }, { 0x93C, 1 }); /* excluded */
    EXPECT("\xE3\x8B\xBF", UNICODE_COMPATIBLE, { 0x32FF, 0 });            /* too new */
    EXPECT("\xF0\x91\xA4\xB5\xF0\x91\xA4\xB0", UNICODE_COMPOSED, { 0x11935, 0 }, { 0x11930, 0 });
}

/* A letter with a million marks in the wrong order must not take quadratic time. */
static void long_runs_of_marks_are_fast(void **state)
{
    (void)state;
    size_t n = 1 << 20;
    char *text = mem_take(2 * n);
    for (size_t i = 0; i < n; i++)
        memcpy(text + 2 * i, i % 2 == 0 ? "\xCC\x81" : "\xCC\xA3", 2); /* classes 230 and 220 */
    struct unicode_changes changes = { 0 };
    int64_t start = time_now_ns();
    unicode_normalize(view_of(text, 2 * n), 0, &changes);
    assert_true(time_now_ns() - start < (int64_t)20 * 1000 * 1000 * 1000);
    assert_int_equal(changes.n, n);
    assert_true(changes.at[0].c == 0x323 && changes.at[n - 1].c == 0x301);
    unicode_changes_free(&changes);
    mem_give(text);
}

static void clusters_are_joined(void **state)
{
    (void)state;
    int32_t joint = 0;
    assert_true(unicode_joins('a', 0x301, &joint));
    joint = 0;
    assert_true(unicode_joins('a', 0x897, &joint)); /* newer than utf8proc's tables */
    joint = 0;
    assert_true(unicode_joins('\r', '\n', &joint));
    joint = 0;
    assert_false(unicode_joins('a', 'b', &joint));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(classes_have_edges),
        cmocka_unit_test(lower_case_is_one_character_but_once),
        cmocka_unit_test(forms_say_what_they_stand_for),
        cmocka_unit_test(long_runs_of_marks_are_fast),
        cmocka_unit_test(clusters_are_joined),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
