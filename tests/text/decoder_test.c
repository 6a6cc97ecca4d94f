/* Decoders: the text that each makes of tokens, whole and as a stream, and refused lists. Expected
 * texts are those of tokenizers 0.23.3. */
#include "test.h"
#include "text/tokenizer.h"

#define MARK "\xE2\x96\x81"
#define BAD  "\xEF\xBF\xBD"

static const char *const tokens[] = { MARK "a", "b",        "<0xC3>",   "<0xA9>",   "##c",
                                      "d</w>",  "\xC3\x83", "\xC2\xA9", "\xC4\xA0", "<s>",
                                      ".",      "e",        MARK };
enum { MARK_A, B, C3, A9, INNER_C, D_END, LETTER_C3, LETTER_A9, SPACE, S, DOT, E, ONLY_MARK };
static const uint8_t is_model[COUNT_OF(tokens)] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 };
static const struct tokenizer_added added[] = { { S, ADDED_SPECIAL } };

static struct tokenizer *open_list(const struct tokenizer_step *decoders, int32_t n,
                                   bool has_decoder, struct fault *fault)
{
    const struct tokenizer_steps steps = { .is_model = is_model,
                                           .decoders = decoders,
                                           .n_decoders = n,
                                           .has_decoder = has_decoder,
                                           .added = added,
                                           .n_added = 1 };
    const struct tokenizer_options options = { .kind = TOKENIZER_BPE,
                                               .n_tokens = COUNT_OF(tokens),
                                               .tokens = tokens,
                                               .bos_id = -1,
                                               .eos_id = -1,
                                               .unknown_id = -1,
                                               .steps = &steps };
    struct tokenizer *tokenizer = NULL;
    enum status status = tokenizer_open(&tokenizer, &options, fault);
    assert_true((status == STATUS_OK) == (tokenizer != NULL));
    return tokenizer;
}

/* The same whole and as a stream. */
static void expect(const struct tokenizer *tokenizer, const int32_t *ids, int n,
                   const char *expected)
{
    struct detokenizer d;
    struct str out;
    str_init(&out);
    tokenizer_decode(tokenizer, ids, n, true, &out);
    assert_string_equal(out.at != NULL ? out.at : "", expected);
    str_clear(&out);
    detokenizer_init(&d, tokenizer, true);
    for (int i = 0; i < n; i++)
        detokenizer_add(&d, ids[i], &out);
    detokenizer_end(&d, &out);
    assert_string_equal(out.at != NULL ? out.at : "", expected);
    str_free(&out);
}
#define EXPECT(expected, ...)                                                                      \
    expect(tokenizer, (const int32_t[]){ __VA_ARGS__ },                                            \
           (int)COUNT_OF(((const int32_t[]){ __VA_ARGS__ })), expected)
#define STEP(...) ((const struct tokenizer_step){ __VA_ARGS__ })

static const struct tokenizer_step spaces = { .kind = STEP_REPLACE,
                                              .pattern = { MARK, 3 },
                                              .content = { " ", 1 } };
static const struct tokenizer_step fallback = { .kind = STEP_BYTE_FALLBACK };
static const struct tokenizer_step fuse = { .kind = STEP_FUSE };

static void llama(void **state)
{
    (void)state;
    struct fault fault = { "" };
    const struct tokenizer_step strip = {
        .kind = STEP_STRIP_CHARACTER, .content = { " ", 1 }, .start = 1, .stop = 1
    };
    const struct tokenizer_step list[] = { spaces, fallback, fuse, strip };
    struct tokenizer *tokenizer = open_list(list, 4, true, &fault);
    EXPECT("ab\xC3\xA9", MARK_A, B, C3, A9);
    EXPECT(" ab", ONLY_MARK, MARK_A, B);
    EXPECT("a b", MARK_A, ONLY_MARK, B, ONLY_MARK); /* the last space is stripped */
    EXPECT("a ", MARK_A, ONLY_MARK, ONLY_MARK);
    EXPECT("", ONLY_MARK);
    EXPECT("b" BAD "b", B, C3, B);
    tokenizer_close(tokenizer);
}

/* A run of byte tokens is whole, or each of its bytes is broken. A stream has shown its start
 * already. */
static void broken_runs(void **state)
{
    (void)state;
    struct fault fault = { "" };
    const struct tokenizer_step list[] = { fallback };
    struct tokenizer *tokenizer = open_list(list, 1, true, &fault);
    static const int32_t ids[] = { C3, A9, A9, B };
    struct str out;
    struct detokenizer d;
    str_init(&out);
    tokenizer_decode(tokenizer, ids, COUNT_OF(ids), true, &out);
    assert_string_equal(out.at, BAD BAD BAD "b");
    str_clear(&out);
    detokenizer_init(&d, tokenizer, true);
    for (size_t i = 0; i < COUNT_OF(ids); i++)
        detokenizer_add(&d, ids[i], &out);
    detokenizer_end(&d, &out);
    assert_string_equal(out.at, "\xC3\xA9" BAD "b");
    str_free(&out);
    tokenizer_close(tokenizer);
}

static void metaspace(void **state)
{
    (void)state;
    struct fault fault = { "" };
    struct tokenizer_step step = { .kind = STEP_METASPACE, .content = { MARK, 3 } };
    step.scheme = SCHEME_ALWAYS;
    struct tokenizer *tokenizer = open_list(&step, 1, true, &fault);
    EXPECT("a a", MARK_A, MARK_A);
    tokenizer_close(tokenizer);
    step.scheme = SCHEME_NEVER;
    tokenizer = open_list(&step, 1, true, &fault);
    EXPECT(" a a", MARK_A, MARK_A);
    tokenizer_close(tokenizer);
}

static void word_pieces_and_suffixes(void **state)
{
    (void)state;
    struct fault fault = { "" };
    struct tokenizer_step step = { .kind = STEP_WORD_PIECE, .content = { "##", 2 } };
    struct tokenizer *tokenizer = open_list(&step, 1, true, &fault);
    EXPECT("bc e .", B, INNER_C, E, DOT);
    EXPECT("##c b", INNER_C, B);
    tokenizer_close(tokenizer);
    step.cleans_up = true;
    tokenizer = open_list(&step, 1, true, &fault);
    EXPECT("bc e.", B, INNER_C, E, DOT);
    tokenizer_close(tokenizer);
    step = STEP(.kind = STEP_BPE_SUFFIX, .content = { "</w>", 4 });
    tokenizer = open_list(&step, 1, true, &fault);
    EXPECT("bd bd", B, D_END, B, D_END);
    tokenizer_close(tokenizer);
}

static void letters_and_nothing(void **state)
{
    (void)state;
    struct fault fault = { "" };
    const struct tokenizer_step letters = { .kind = STEP_BYTE_LEVEL };
    struct tokenizer *tokenizer = open_list(&letters, 1, true, &fault);
    EXPECT("b \xC3\xA9", B, SPACE, LETTER_C3, LETTER_A9);
    EXPECT("b" BAD "b", B, LETTER_C3, B);
    EXPECT(MARK "a", MARK_A); /* not in the alphabet: unchanged */
    tokenizer_close(tokenizer);
    tokenizer = open_list(NULL, 0, false, &fault);
    EXPECT("b e <s>", B, E, S);
    tokenizer_close(tokenizer);
    tokenizer = open_list(NULL, 0, true, &fault);
    EXPECT("be", B, E);
    tokenizer_close(tokenizer);
}

static void special_tokens_are_left_out(void **state)
{
    (void)state;
    struct fault fault = { "" };
    struct tokenizer_step step = { .kind = STEP_METASPACE, .content = { MARK, 3 } };
    struct tokenizer *tokenizer = open_list(&step, 1, true, &fault);
    static const int32_t ids[] = { S, MARK_A, S, 99, -1 };
    struct str out;
    str_init(&out);
    tokenizer_decode(tokenizer, ids, COUNT_OF(ids), false, &out);
    assert_string_equal(out.at, "a"); /* the first token that is shown is the first one */
    str_free(&out);
    assert_false(tokenizer_shows(tokenizer, S, false));
    assert_true(tokenizer_shows(tokenizer, S, true));
    assert_true(view_equal_text(tokenizer_piece(tokenizer, MARK_A, false), " a"));
    tokenizer_close(tokenizer);
}

static void other_lists_are_refused(void **state)
{
    (void)state;
    const struct tokenizer_step word = { .kind = STEP_WORD_PIECE, .content = { "##", 2 } };
    const struct tokenizer_step suffix = { .kind = STEP_BPE_SUFFIX, .content = { "</w>", 4 } };
    const struct tokenizer_step inside = { .kind = STEP_BPE_SUFFIX, .content = { "<", 1 } };
    const struct tokenizer_step empty = { .kind = STEP_BPE_SUFFIX };
    const struct tokenizer_step two = { .kind = STEP_REPLACE, .pattern = { "ab", 2 } };
    const struct tokenizer_step rows[][2] = { { fuse, word },         { fallback, word },
                                              { fuse, two },          { suffix, word },
                                              { fuse, fallback },     { empty, fuse },
                                              { fallback, fallback }, { inside, fuse } };
    static const char *const words[] = { "WordPiece behind Fuse",
                                         "WordPiece between ByteFallback",
                                         "Replace of other than one character",
                                         "WordPiece behind BPEDecoder",
                                         "ByteFallback behind Fuse",
                                         "BPEDecoder with an empty suffix",
                                         "ByteFallback between",
                                         "suffix inside" };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct fault fault = { "" };
        assert_null(open_list(rows[i], 2, true, &fault));
        if (strstr(fault.text, words[i]) == NULL)
            fail_msg("\"%s\" lacks \"%s\"", fault.text, words[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(llama),
        cmocka_unit_test(broken_runs),
        cmocka_unit_test(metaspace),
        cmocka_unit_test(word_pieces_and_suffixes),
        cmocka_unit_test(letters_and_nothing),
        cmocka_unit_test(special_tokens_are_left_out),
        cmocka_unit_test(other_lists_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
