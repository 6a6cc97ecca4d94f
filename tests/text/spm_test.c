/* SentencePiece BPE on small vocabularies with answers worked out by hand. */
#include "test.h"
#include "text/tokenizer.h"

static const char *const tokens[] = { "<unk>",
                                      "\xE2\x96\x81",
                                      "a",
                                      "b",
                                      "c",
                                      "ab",
                                      "bc",
                                      ("\xE2\x96\x81"
                                       "ab"),
                                      "cab",
                                      "<0x64>",
                                      "U",
                                      "bb",
                                      "aa",
                                      "aaaa" };
/* bb is unused; U is user-defined. */
static const uint8_t types[] = { 2, 1, 1, 1, 1, 1, 1, 1, 1, 6, 4, 5, 1, 1 };
static const float scores[] = { 0, -9, -9, -9, -9, -2, -1, -3, -4, 0, 0, -1, -5, -6 };
enum { UNK, SPACE, A, B, C, AB, BC, SPACE_AB, CAB, BYTE_D, USER, BB, AA, AAAA };

static void expect(bool prefix, const char *text, const char *expected)
{
    struct tokenizer_options options = { .kind = TOKENIZER_SPM,
                                         .n_tokens = COUNT_OF(types),
                                         .tokens = tokens,
                                         .types = types,
                                         .scores = scores,
                                         .add_space_prefix = prefix,
                                         .bos_id = -1,
                                         .eos_id = -1,
                                         .unknown_id = UNK };
    struct tokenizer *tokenizer;
    struct fault fault;
    int32_t ids[64];
    char got[256] = "";
    assert_int_equal(tokenizer_open(&tokenizer, &options, &fault), STATUS_OK);
    int32_t n = tokenizer_encode(tokenizer, view_text(text), 0, ids, 64);
    for (int32_t i = 0, at = 0; i < n; i++)
        at += snprintf(got + at, sizeof(got) - (size_t)at, i > 0 ? " %d" : "%d", ids[i]);
    assert_string_equal(got, expected);
    tokenizer_close(tokenizer);
}

static void the_best_score_merges_first(void **state)
{
    (void)state;
    expect(false, "abc", "2 6"); /* bc (-1) before ab (-2) */
    expect(false, "cab", "8");
    expect(false, "ab", "5");
}

static void equal_scores_merge_from_the_left(void **state)
{
    (void)state;
    expect(false, "aaa", "12 2");
    expect(false, "aaaaaaaa", "13 13");
}

static void the_prefix_is_a_space(void **state)
{
    (void)state;
    expect(true, "ab", "7");
    expect(true, "", "");
    expect(true, " ab", "1 7");
    expect(false,
           "\xE2\x96\x81"
           "ab",
           "7"); /* U+2581 is a space */
}

static void letters_without_a_piece_are_bytes_or_unknown(void **state)
{
    (void)state;
    expect(false, "d", "9");
    expect(false, "xyz", "0"); /* one for a run */
    expect(false, "xay", "0 2 0");
}

static void user_defined_pieces_are_never_merged(void **state)
{
    (void)state;
    expect(false, "aUb", "2 10 3");
    expect(false, "UU", "10 10");
}

static void unused_pieces_fall_apart(void **state)
{
    (void)state;
    expect(false, "bb", "3 3");
    expect(false, "abb", "2 3 3");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_best_score_merges_first),
        cmocka_unit_test(equal_scores_merge_from_the_left),
        cmocka_unit_test(the_prefix_is_a_space),
        cmocka_unit_test(letters_without_a_piece_are_bytes_or_unknown),
        cmocka_unit_test(user_defined_pieces_are_never_merged),
        cmocka_unit_test(unused_pieces_fall_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
