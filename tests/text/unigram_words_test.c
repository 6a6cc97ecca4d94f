/* Words of a Unigram model: the best way, runs of unknowns, bytes, repeated pieces. */
#include "test.h"
#include "text/unigram_words.h"

/* The example of the library's own documentation, and pieces for its handling of unknowns. */
static const char *const tokens[] = { "<unk>", "a",    "b",  "c",      "d",      "cd",    "ab",
                                      "abc",   "abcd", "xy", "<0xC3>", "<0xA9>", "added", "b" };
static const double scores[] = { 0, 0, 0, 0, 0, 1, 2, 5, 10, -50, 0, 0, 0, 3 };
static const uint8_t is_model[] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 1 };
enum { UNK, A, B, C, D, CD, AB, ABC, ABCD, XY, BYTE_C3, BYTE_A9, ADDED, LAST_B };

static void expect(bool falls_back, const char *word, int n, const int32_t *wanted)
{
    const struct tokenizer_steps steps = { .is_model = is_model,
                                           .scores = scores,
                                           .falls_back_to_bytes = falls_back };
    const struct tokenizer_options options = {
        .kind = TOKENIZER_UNIGRAM, .n_tokens = COUNT_OF(tokens), .tokens = tokens, .steps = &steps
    };
    struct text_vocab vocab;
    struct text_unigram_words unigram;
    struct unigram_work work = { 0 };
    struct fault fault;
    int32_t at[16];
    struct text_ids ids = { .at = at, .n_max = 16 };
    assert_int_equal(text_vocab_open(&vocab, &options, &fault), STATUS_OK);
    assert_int_equal(text_unigram_words_open(&unigram, &vocab, &steps, UNK, &fault), STATUS_OK);
    text_unigram_words_encode(&unigram, &work, view_text(word), &ids);
    assert_int_equal(ids.n, n);
    for (int i = 0; i < n; i++)
        assert_int_equal(at[i], wanted[i]);
    unigram_work_free(&work);
    text_unigram_words_close(&unigram);
    text_vocab_close(&vocab);
}
#define EXPECT(falls_back, word, ...)                                                              \
    expect(falls_back, word, (int)COUNT_OF(((const int32_t[]){ __VA_ARGS__ })),                    \
           (const int32_t[]){ __VA_ARGS__ })

static void takes_the_best_way(void **state)
{
    (void)state;
    EXPECT(false, "abcd", ABCD);
    EXPECT(false, "abcdacdzz", ABCD, A, CD, UNK);
    EXPECT(false, "cb", C, LAST_B); /* the last of two pieces with one text */
}

/* A run of unknowns counts as one. Its text may be that of a piece with a lower score than two
 * unknowns. */
static void unknowns_run_together(void **state)
{
    (void)state;
    EXPECT(false, "zaz", UNK, A, UNK);
    EXPECT(false, "zzz", UNK);
    EXPECT(false, "xy", XY);
    EXPECT(false, "zxy", UNK, XY);
    EXPECT(false, "added", A, D, D, UNK, D);
}

static void unknowns_become_bytes_where_all_are_there(void **state)
{
    (void)state;
    EXPECT(true, "a\xC3\xA9", A, BYTE_C3, BYTE_A9);
    EXPECT(true, "a\xC3\xA9z", A, UNK);
    EXPECT(false, "a\xC3\xA9", A, UNK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_the_best_way),
        cmocka_unit_test(unknowns_run_together),
        cmocka_unit_test(unknowns_become_bytes_where_all_are_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
