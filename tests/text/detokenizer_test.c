/* The stream-safe detokenizer: sentences split at any byte, broken sequences, the first space. */
#include "test.h"
#include "text/tokenizer.h"

static const char *const tokens[] = { "<0xE2>", "<0x82>", "<0xAC>",         "<0xF0>",
                                      "<0x9F>", "<0xFF>", "\xE2\x96\x81hi", "a",
                                      "</s>",   "<unk>",  "\xE2\x82\xAC" };
static const uint8_t types[] = { 6, 6, 6, 6, 6, 6, 1, 1, 3, 2, 1 };
static const float scores[COUNT_OF(types)];
enum { E2, B82, BAC, F0, B9F, FF, HI, A, EOS, UNK, EURO };

static struct tokenizer *open_tokenizer(void)
{
    struct tokenizer_options options = { .kind = TOKENIZER_SPM,
                                         .n_tokens = COUNT_OF(types),
                                         .tokens = tokens,
                                         .types = types,
                                         .scores = scores,
                                         .add_space_prefix = true,
                                         .bos_id = -1,
                                         .eos_id = EOS,
                                         .unknown_id = UNK };
    struct tokenizer *tokenizer;
    struct fault fault;
    assert_int_equal(tokenizer_open(&tokenizer, &options, &fault), STATUS_OK);
    return tokenizer;
}

static void expect(const struct tokenizer *tokenizer, const int32_t *ids, int n, bool show,
                   const char *expected)
{
    struct detokenizer d;
    struct str out;
    str_init(&out);
    detokenizer_init(&d, tokenizer, show);
    for (int i = 0; i < n; i++) {
        detokenizer_add(&d, ids[i], &out);
        assert_true(utf8_is_valid(view_of(out.at, out.n)));
    }
    detokenizer_end(&d, &out);
    assert_string_equal(out.at != NULL ? out.at : "", expected);
    str_free(&out);
}
#define EXPECT(show, expected, ...)                                                                \
    expect(tokenizer, (const int32_t[]){ __VA_ARGS__ },                                            \
           (int)COUNT_OF(((const int32_t[]){ __VA_ARGS__ })), show, expected)

static void letters_wait_until_whole(void **state)
{
    (void)state;
    struct tokenizer *tokenizer = open_tokenizer();
    EXPECT(false, "\xE2\x82\xAC", E2, B82, BAC);
    EXPECT(false,
           "a\xE2\x82\xAC"
           "a",
           A, E2, B82, BAC, A);
    struct detokenizer d;
    struct str out;
    str_init(&out);
    detokenizer_init(&d, tokenizer, false);
    detokenizer_add(&d, E2, &out);
    detokenizer_add(&d, B82, &out);
    assert_int_equal(out.n, 0);
    detokenizer_add(&d, BAC, &out);
    assert_int_equal(out.n, 3);
    str_free(&out);
    tokenizer_close(tokenizer);
}

#define BAD "\xEF\xBF\xBD"
static void broken_bytes_become_a_replacement_each(void **state)
{
    (void)state;
    struct tokenizer *tokenizer = open_tokenizer();
    EXPECT(false, BAD BAD, E2, B82);
    EXPECT(false, BAD BAD "a", E2, B82, A);
    EXPECT(false, BAD BAD, FF, FF);
    EXPECT(false, BAD BAD "\xE2\x82\xAC", F0, B9F, EURO);
    EXPECT(false, BAD "\xE2\x82\xAC", E2, E2, B82, BAC);
    EXPECT(false, BAD BAD, B82, BAC);
    tokenizer_close(tokenizer);
}

static void the_first_space_is_dropped_once(void **state)
{
    (void)state;
    struct tokenizer *tokenizer = open_tokenizer();
    EXPECT(false, "hi hi", HI, HI);
    EXPECT(false, "hi hi", EOS, HI, HI); /* a hidden token has no text */
    EXPECT(true, "</s> hi", EOS, HI);
    EXPECT(false, "a hi", A, HI);
    tokenizer_close(tokenizer);
}

/* An answer continues where its prompt ends. */
static void a_text_that_goes_on_keeps_its_space(void **state)
{
    (void)state;
    struct tokenizer *tokenizer = open_tokenizer();
    struct detokenizer d;
    struct str out;
    str_init(&out);
    detokenizer_init(&d, tokenizer, false);
    d.is_first = false;
    detokenizer_add(&d, HI, &out);
    assert_string_equal(out.at, " hi");
    str_free(&out);
    tokenizer_close(tokenizer);
}

static void special_tokens_show_when_asked(void **state)
{
    (void)state;
    struct tokenizer *tokenizer = open_tokenizer();
    EXPECT(false, "aa", A, EOS, UNK, A);
    EXPECT(true, "a</s><unk>a", A, EOS, UNK, A);
    EXPECT(true, "", -1, 1000);
    tokenizer_close(tokenizer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(letters_wait_until_whole),
        cmocka_unit_test(broken_bytes_become_a_replacement_each),
        cmocka_unit_test(the_first_space_is_dropped_once),
        cmocka_unit_test(a_text_that_goes_on_keeps_its_space),
        cmocka_unit_test(special_tokens_show_when_asked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
