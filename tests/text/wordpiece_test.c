/* WordPiece: the longest pieces, words that no pieces form, words that are too long. */
#include "test.h"
#include "text/wordpiece.h"

static const char *const tokens[] = { "[UNK]", "un",    "##aff", "##able",
                                      "##a",   "un##a", "added", "##" };
static const uint8_t is_model[] = { 1, 1, 1, 1, 1, 1, 0, 1 };
enum { UNK, UN, AFF, ABLE, A };
static const struct tokenizer_steps steps = { .is_model = is_model,
                                              .word_prefix = { "##", 2 },
                                              .word_letters_max = 12 };
static const struct tokenizer_options options = {
    .kind = TOKENIZER_WORDPIECE, .n_tokens = COUNT_OF(tokens), .tokens = tokens, .steps = &steps
};

static void expect(const char *word, int n, const int32_t *wanted)
{
    struct text_vocab vocab;
    struct text_wordpiece wordpiece;
    struct fault fault;
    int32_t at[16];
    struct text_ids ids = { .at = at, .n_max = 16 };
    assert_int_equal(text_vocab_open(&vocab, &options, &fault), STATUS_OK);
    assert_int_equal(text_wordpiece_open(&wordpiece, &vocab, &steps, UNK, &fault), STATUS_OK);
    text_wordpiece_encode(&wordpiece, view_text(word), &ids);
    assert_int_equal(ids.n, n);
    for (int i = 0; i < n; i++)
        assert_int_equal(at[i], wanted[i]);
    text_wordpiece_close(&wordpiece);
    text_vocab_close(&vocab);
}
#define EXPECT(word, ...)                                                                          \
    expect(word, (int)COUNT_OF(((const int32_t[]){ __VA_ARGS__ })),                                \
           (const int32_t[]){ __VA_ARGS__ })

static void takes_the_longest_pieces(void **state)
{
    (void)state;
    EXPECT("unaffable", UN, AFF, ABLE);
    EXPECT("una", UN, A);
    EXPECT("un##a", 5); /* at the start of a word the prefix is ordinary text */
}

static void other_words_are_unknown(void **state)
{
    (void)state;
    EXPECT("unaffx", UNK); /* as a whole */
    EXPECT("xun", UNK);
    EXPECT("added", UNK); /* an added token is not one of the model's */
    EXPECT("unaffaffable", UN, AFF, AFF, ABLE);
    EXPECT("unaffaffaffable", UNK); /* 15 letters */
}

static void it_needs_an_unknown_token(void **state)
{
    (void)state;
    struct text_vocab vocab;
    struct text_wordpiece wordpiece;
    struct fault fault = { "" };
    assert_int_equal(text_vocab_open(&vocab, &options, &fault), STATUS_OK);
    assert_int_equal(text_wordpiece_open(&wordpiece, &vocab, &steps, -1, &fault), STATUS_BAD_INPUT);
    assert_non_null(strstr(fault.text, "unknown token"));
    text_wordpiece_close(&wordpiece);
    text_vocab_close(&vocab);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_the_longest_pieces),
        cmocka_unit_test(other_words_are_unknown),
        cmocka_unit_test(it_needs_an_unknown_token),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
