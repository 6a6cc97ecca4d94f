/* Splitters: every behavior, each kind, and sequences. Expected pieces are those of tokenizers
 * 0.23.3,
 * "|" before each. */
#include "test.h"
#include "base/pile.h"
#include "text/splitter.h"

static char got[1024];

static void note(void *of, struct view word)
{
    (void)of;
    strncat(got, "|", sizeof(got) - strlen(got) - 1);
    strncat(got, word.at, word.n < sizeof(got) - strlen(got) - 1 ? word.n : 0);
}

static void expect_at(const struct tokenizer_step *steps, int32_t n, const char *text,
                      size_t n_first, const char *expected)
{
    struct splitter splitter;
    struct splitter_work work;
    struct regex_work regex;
    struct pile pile;
    struct fault fault = { "" };
    pile_init(&pile);
    if (splitter_open(&splitter, steps, n, &pile, &fault) != STATUS_OK)
        fail_msg("%s", fault.text);
    regex_work_init(&regex);
    splitter_work_init(&work, &splitter, &regex);
    work.word = note;
    got[0] = '\0';
    splitter_run(&work, view_text(text), n_first);
    assert_string_equal(got, expected);
    splitter_work_free(&work);
    regex_work_free(&regex);
    splitter_close(&splitter);
    pile_free(&pile);
}

static void one(struct tokenizer_step step, const char *text, const char *expected)
{
    expect_at(&step, 1, text, 1, expected);
}

#define STEP(...) ((const struct tokenizer_step){ __VA_ARGS__ })
#define MARK      "\xE2\x96\x81"

static struct tokenizer_step split(const char *pattern, enum step_behavior behavior, bool inverted)
{
    return STEP(.kind = STEP_SPLIT, .pattern = view_text(pattern), .behavior = behavior,
                .is_inverted = inverted);
}

static void every_behavior_splits_its_way(void **state)
{
    (void)state;
    const char *text = "the-final--countdown";
    one(split("-", BEHAVIOR_REMOVED, false), text, "|the|final|countdown");
    one(split("-", BEHAVIOR_ISOLATED, false), text, "|the|-|final|-|-|countdown");
    one(split("-", BEHAVIOR_MERGED_WITH_PREVIOUS, false), text, "|the-|final-|-|countdown");
    one(split("-", BEHAVIOR_MERGED_WITH_NEXT, false), text, "|the|-final|-|-countdown");
    one(split("-", BEHAVIOR_CONTIGUOUS, false), text, "|the|-|final|--|countdown");
    one(split("-", BEHAVIOR_REMOVED, true), text, "|-|-|-");
    one(split("-", BEHAVIOR_MERGED_WITH_PREVIOUS, true), text, "|the|-final|-|-countdown");
    one(split("-", BEHAVIOR_MERGED_WITH_NEXT, false), "-a-", "|-a|-");
    one(split("-", BEHAVIOR_MERGED_WITH_PREVIOUS, false), "-a-", "|-|a-");
    one(split("-", BEHAVIOR_ISOLATED, false), "", "");
}

static void empty_matches_cut(void **state)
{
    (void)state;
    struct tokenizer_step step = split("(?=b)", BEHAVIOR_ISOLATED, false);
    step.is_regex = true;
    one(step, "abab", "|a|ba|b");
    one(split("", BEHAVIOR_ISOLATED, false), "ab\xC3\xA9", "|a|b|\xC3\xA9");
}

static void classes_of_letters(void **state)
{
    (void)state;
    one(STEP(.kind = STEP_DIGITS),
        "a12\xC2\xBD"
        "b",
        "|a|1|2|\xC2\xBD|b");
    one(STEP(.kind = STEP_DIGITS, .behavior = BEHAVIOR_CONTIGUOUS), "a12b3", "|a|12|b|3");
    one(STEP(.kind = STEP_PUNCTUATION), "a,b!?", "|a|,|b|!|?");
    one(STEP(.kind = STEP_PUNCTUATION, .behavior = BEHAVIOR_CONTIGUOUS), "a!?$", "|a|!?$");
    one(STEP(.kind = STEP_WHITESPACE), "a_1 b-- \tc", "|a_1|b|--|c");
    one(STEP(.kind = STEP_WHITESPACE_SPLIT),
        " a,b\xE3\x80\x80"
        "c\n",
        "|a,b|c");
    one(STEP(.kind = STEP_BERT_SPLIT), "don't go", "|don|'|t|go");
    one(STEP(.kind = STEP_DELIMITER, .content = view_text("_")), "_a__b", "|a|b");
}

static void byte_level_spells(void **state)
{
    (void)state;
    one(STEP(.kind = STEP_BYTE_LEVEL), "a \xC3\xA9", "|a\xC4\xA0\xC3\x83\xC2\xA9");
    one(STEP(.kind = STEP_BYTE_LEVEL, .adds_space = true, .uses_regex = true), "a b'll",
        "|\xC4\xA0"
        "a|\xC4\xA0"
        "b|'ll");
    one(STEP(.kind = STEP_BYTE_LEVEL, .adds_space = true), " a",
        "|\xC4\xA0"
        "a");
}

static void metaspace_marks_words(void **state)
{
    (void)state;
    struct tokenizer_step step = STEP(.kind = STEP_METASPACE, .content = view_text(MARK));
    step.scheme = SCHEME_ALWAYS;
    one(step, "a b", "|" MARK "a" MARK "b");
    one(step, " a", "|" MARK "a");
    step.splits = true;
    one(step, "a  b", "|" MARK "a|" MARK "|" MARK "b");
    step.scheme = SCHEME_NEVER;
    one(step, "a b", "|a|" MARK "b");
    step.scheme = SCHEME_FIRST;
    expect_at(&step, 1, "a b", 1, "|" MARK "a|" MARK "b");
    expect_at(&step, 1, "a b", 0, "|a|" MARK "b");
}

/* "First" depends on where a piece begins, not on the step that cut it off. */
static void first_pieces_stay_first(void **state)
{
    (void)state;
    const struct tokenizer_step steps[] = {
        { .kind = STEP_DIGITS },
        { .kind = STEP_METASPACE, .content = view_text(MARK), .scheme = SCHEME_FIRST },
        { .kind = STEP_METASPACE, .content = view_text("_"), .scheme = SCHEME_FIRST },
    };
    expect_at(steps, 2, "1 2", 1, "|" MARK "1|" MARK "|2");
    expect_at(steps, 2, "12", 2, "|" MARK "1|" MARK "2");
    expect_at(steps, 3, "ab", 1, "|_" MARK "ab");
}

static void sequences_cut_pieces_of_pieces(void **state)
{
    (void)state;
    const struct tokenizer_step falcon[] = {
        { .kind = STEP_PUNCTUATION, .behavior = BEHAVIOR_CONTIGUOUS },
        { .kind = STEP_BYTE_LEVEL, .uses_regex = true },
        { .kind = STEP_DIGITS, .behavior = BEHAVIOR_CONTIGUOUS },
        { .kind = STEP_SPLIT, .is_regex = true, .pattern = view_text("[0-9][0-9][0-9]") },
    };
    expect_at(falcon, 4, "a 12345!", 1, "|a|\xC4\xA0|123|45|!");
    expect_at(falcon, 0, "a b", 1, "|a b");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_behavior_splits_its_way),
        cmocka_unit_test(empty_matches_cut),
        cmocka_unit_test(classes_of_letters),
        cmocka_unit_test(byte_level_spells),
        cmocka_unit_test(metaspace_marks_words),
        cmocka_unit_test(first_pieces_stay_first),
        cmocka_unit_test(sequences_cut_pieces_of_pieces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
