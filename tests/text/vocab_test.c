/* The vocabulary: GPT-2's alphabet, U+2581, byte tokens, duplicates. */
#include "test.h"
#include "text/vocab.h"

static void every_byte_has_a_letter(void **state)
{
    (void)state;
    bool seen[256] = { false };
    int n_seen = 0;
    for (uint32_t c = 0; c < 0x400; c++) {
        char letter[4];
        unsigned char byte;
        uint32_t n_bytes;
        int n = utf8_encode(c, letter);
        if (!text_vocab_unprint(view_of(letter, (size_t)n), &byte, &n_bytes))
            continue;
        assert_int_equal(n_bytes, 1);
        assert_false(seen[byte]);
        seen[byte] = true;
        n_seen++;
    }
    assert_int_equal(n_seen, 256);
    unsigned char space[4];
    uint32_t n;
    assert_true(text_vocab_unprint(view_text("\xC4\xA0\xC4\x8A"), space, &n)); /* U+0120 U+010A */
    assert_true(n == 2 && space[0] == ' ' && space[1] == '\n');
    assert_false(text_vocab_unprint(view_text("\xE4\xB8\xAD"), space, &n));
}

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_byte_has_a_letter),
        cmocka_unit_test(tokens_become_running_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
