/* The vocabulary: U+2581, byte tokens, duplicates, and the model's own tokens. */
#include "test.h"
#include "text/vocab.h"

static void tokens_become_running_text(void **state)
{
    (void)state;
    static const char *const tokens[] = { "<0x0A>", "\xE2\x96\x81x", "x", "x", "<s>" };
    static const uint8_t types[] = { 6, 1, 1, 1, 3 };
    struct tokenizer_options options = {
        .kind = TOKENIZER_SPM, .n_tokens = COUNT_OF(types), .tokens = tokens, .types = types
    };
    struct text_vocab vocab;
    struct fault fault;
    assert_int_equal(text_vocab_open(&vocab, &options, &fault), STATUS_OK);
    assert_true(view_equal_text(vocab.tokens[0], "\n"));
    assert_true(view_equal_text(vocab.tokens[1], " x"));
    assert_int_equal(vocab.byte_ids['\n'], 0);
    assert_int_equal(vocab.byte_ids['x'], -1);
    assert_int_equal(text_vocab_find(&vocab, view_text("x")), 2); /* the first of equals */
    assert_int_equal(text_vocab_find(&vocab, view_text(" x")), 1);
    assert_int_equal(text_vocab_find(&vocab, view_text("<s>")), -1); /* merges never form it */
    assert_int_equal(text_vocab_find(&vocab, view_text("\n")), -1);
    text_vocab_close(&vocab);
}

/* A token in raw letters differs from a token in letters for its bytes. */
static void other_tokens_stay_as_they_are(void **state)
{
    (void)state;
    static const char *const tokens[] = { "\xE4\xB8\xAD", "\xC3\xA4\xC2\xB8\xC5\x83", "<s>", "x" };
    static const uint8_t types[] = { 1, 1, 3, 1 }, is_model[] = { 1, 1, 1, 0 };
    const struct tokenizer_steps steps = { .is_model = is_model };
    const struct tokenizer_options options = { .kind = TOKENIZER_BPE,
                                               .n_tokens = COUNT_OF(types),
                                               .tokens = tokens,
                                               .types = types,
                                               .steps = &steps };
    struct text_vocab vocab;
    struct fault fault;
    assert_int_equal(text_vocab_open(&vocab, &options, &fault), STATUS_OK);
    assert_int_equal(text_vocab_find(&vocab, view_text(tokens[0])), 0);
    assert_int_equal(text_vocab_find(&vocab, view_text(tokens[1])), 1);
    assert_int_equal(text_vocab_find(&vocab, view_text("<s>")), 2);
    assert_int_equal(text_vocab_find(&vocab, view_text("x")), -1); /* an added token */
    text_vocab_close(&vocab);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(other_tokens_stay_as_they_are),
        cmocka_unit_test(tokens_become_running_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
