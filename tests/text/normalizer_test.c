/* Normalizers one by one and in sequence, and how many bytes of a text still stand for its start.
 * Expected texts are those of tokenizers 0.23.3. */
#include "test.h"
#include "base/pile.h"
#include "text/normalizer.h"

static void expect(const struct tokenizer_step *steps, int32_t n, const char *text,
                   const char *expected, size_t n_first)
{
    struct normalizer normalizer;
    struct normalizer_work work;
    struct regex_work regex;
    struct pile pile;
    struct fault fault = { "" };
    pile_init(&pile);
    if (normalizer_open(&normalizer, steps, n, &pile, &fault) != STATUS_OK)
        fail_msg("%s", fault.text);
    regex_work_init(&regex);
    normalizer_work_init(&work, &regex);
    normalizer_run(&normalizer, &work, view_text(text));
    assert_string_equal(work.text.at != NULL ? work.text.at : "", expected);
    assert_int_equal(work.n_first, n_first);
    assert_true(work.text.n <= strlen(text) * normalizer.growth);
    assert_false(work.is_too_long);
    normalizer_work_free(&work);
    regex_work_free(&regex);
    normalizer_close(&normalizer);
    pile_free(&pile);
}

#define STEP(...) ((const struct tokenizer_step){ __VA_ARGS__ })
#define MARK      "\xE2\x96\x81"

static void one(struct tokenizer_step step, const char *text, const char *expected, size_t n_first)
{
    expect(&step, 1, text, expected, n_first);
}

static void each_changes_its_part(void **state)
{
    (void)state;
    one(STEP(.kind = STEP_NFC), "e\xCC\x81x", "\xC3\xA9x", 2);
    one(STEP(.kind = STEP_NFD), "\xC3\xA9x", "e\xCC\x81x", 3);
    one(STEP(.kind = STEP_NFKC), "\xEF\xAC\x81x", "fix", 2);
    one(STEP(.kind = STEP_NFKD), "\xC2\xBD",
        "1\xE2\x81\x84"
        "2",
        5);
    one(STEP(.kind = STEP_LOWERCASE), "\xC4\xB0X", "i\xCC\x87x", 3);
    one(STEP(.kind = STEP_STRIP_ACCENTS),
        "\xCC\x81"
        "a\xCC\x81",
        "a", 0);
    one(STEP(.kind = STEP_NMT),
        "\x01"
        "a\tb\xE2\x80\x8B",
        "a b ", 0);
    one(STEP(.kind = STEP_BYTE_LEVEL), "\xC3\xA9 a",
        "\xC3\x83\xC2\xA9\xC4\xA0"
        "a",
        4);
    one(STEP(.kind = STEP_PREPEND, .content = view_text(MARK)), "ab", MARK "ab", 4);
    one(STEP(.kind = STEP_PREPEND, .content = view_text(MARK)), "", "", 0);
}

static void spaces_are_stripped(void **state)
{
    (void)state;
    one(STEP(.kind = STEP_STRIP_SPACES, .strips_left = true), " \xC2\xA0x ", "x ", 0);
    one(STEP(.kind = STEP_STRIP_SPACES, .strips_right = true), "x \xE3\x80\x80", "x", 1);
    one(STEP(.kind = STEP_STRIP_SPACES, .strips_left = true, .strips_right = true), " \n ", "", 0);
}

/* The replacement of a match stands for the match's last character. */
static void matches_are_replaced(void **state)
{
    (void)state;
    const struct tokenizer_step text =
        STEP(.kind = STEP_REPLACE, .pattern = view_text(" "), .content = view_text(MARK));
    const struct tokenizer_step regex =
        STEP(.kind = STEP_REPLACE, .is_regex = true, .pattern = view_text(" {2,}"),
             .content = view_text("_"));
    one(text, " a b", MARK "a" MARK "b", 3);
    one(text, "", "", 0);
    one(regex, "  a b   c", "_a b_c", 0);
    one(regex, "a  b", "a_b", 1);
}

static void bert_cleans_and_folds(void **state)
{
    (void)state;
    one(STEP(.kind = STEP_BERT, .cleans_text = true),
        "a\t\x01\xEF\xBF\xBD"
        "b",
        "a b", 1);
    one(STEP(.kind = STEP_BERT, .spaces_chinese = true),
        "\xE4\xB8\xAD"
        "a",
        " \xE4\xB8\xAD a", 5);
    one(STEP(.kind = STEP_BERT, .strips_accents = true, .lowercases = true), "\xC3\x89x", "ex", 1);
}

static void steps_follow_each_other(void **state)
{
    (void)state;
    const struct tokenizer_step llama[] = {
        { .kind = STEP_PREPEND, .content = view_text(MARK) },
        { .kind = STEP_REPLACE, .pattern = view_text(" "), .content = view_text(MARK) },
    };
    expect(llama, 2, " a b", MARK MARK "a" MARK "b", 6);
    expect(llama, 0, "a b", "a b", 1);
}

/* "a" becomes "b", and so does a short cluster that begins with it. */
static void character_maps_take_short_clusters_whole(void **state)
{
    (void)state;
    static unsigned char map[4 + 0x1000 + 2] = { 0x00, 0x10 };
    static const struct {
        size_t unit;
        uint32_t value;
    } units[] = { { 0, 256u << 10 },
                  { 0x161, (0x161u ^ 0x200) << 10 | 1u << 8 | 0x61 },
                  { 0x200, 0x80000000u } };
    for (size_t i = 0; i < COUNT_OF(units); i++)
        memcpy(map + 4 + 4 * units[i].unit, &units[i].value, 4);
    map[4 + 0x1000] = 'b';
    const struct tokenizer_step step =
        STEP(.kind = STEP_CHARSMAP, .content = view_of((const char *)map, sizeof(map)));
    one(step, "xa\xCC\x81", "xb", 1);
    one(step, "a\xCC\x81\xCC\x81\xCC\x81", "b\xCC\x81\xCC\x81\xCC\x81", 1); /* not short */
    one(step, "a\r\nx", "b\r\nx", 1);
}

static void what_may_match_nothing_is_refused(void **state)
{
    (void)state;
    const struct tokenizer_step step =
        STEP(.kind = STEP_REPLACE, .is_regex = true, .pattern = view_text("x*"));
    struct normalizer normalizer;
    struct pile pile;
    struct fault fault = { "" };
    pile_init(&pile);
    assert_int_equal(normalizer_open(&normalizer, &step, 1, &pile, &fault), STATUS_UNSUPPORTED);
    assert_non_null(strstr(fault.text, "\"x*\", which may match nothing"));
    normalizer_close(&normalizer);
    pile_free(&pile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_changes_its_part),
        cmocka_unit_test(spaces_are_stripped),
        cmocka_unit_test(matches_are_replaced),
        cmocka_unit_test(bert_cleans_and_folds),
        cmocka_unit_test(steps_follow_each_other),
        cmocka_unit_test(character_maps_take_short_clusters_whole),
        cmocka_unit_test(what_may_match_nothing_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
