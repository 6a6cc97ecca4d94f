/* Tokenizers against HF's own (tests/golden/data/tokenizers), on broken text, special tokens, long
 * words, and descriptions that contradict themselves. */
#include "base/mem.h"
#include "base/time.h"
#include "serve/model_card.h"
#include "weights/hf_card.h"
#include "test.h"
#include <jansson.h>

#define GOLDEN SOURCE_ROOT "/tests/golden/data/tokenizers/"

static struct weights_hf_card hf;
static struct tokenizer *open_golden(const char *name)
{
    char path[512];
    struct fault fault = { "" };
    struct weights_card card;
    struct tokenizer *tokenizer = NULL;
    (void)snprintf(path, sizeof(path), GOLDEN "%s", name);
    if (weights_hf_card_open(&hf, path, NULL, 0, &card, &fault) != STATUS_OK ||
        model_card_open_tokenizer(&tokenizer, &card, &fault) != STATUS_OK)
        fail_msg("%s: %s", name, fault.text);
    return tokenizer;
}

static void close_golden(struct tokenizer *tokenizer)
{
    tokenizer_close(tokenizer);
    weights_hf_card_close(&hf);
}

static bool ids_equal(const int32_t *ids, int32_t n, const json_t *wanted)
{
    bool is_equal = n >= 0 && (size_t)n == json_array_size(wanted);
    for (int32_t i = 0; i < n && is_equal; i++)
        is_equal = ids[i] == json_integer_value(json_array_get(wanted, (size_t)i));
    return is_equal;
}

static bool decodes_to(const struct tokenizer *tokenizer, const int32_t *ids, int32_t n,
                       struct view text)
{
    struct detokenizer d;
    struct str out;
    str_init(&out);
    detokenizer_init(&d, tokenizer, true);
    for (int32_t i = 0; i < n; i++)
        detokenizer_add(&d, ids[i], &out);
    detokenizer_end(&d, &out);
    bool is_equal = view_equal(view_of(out.at, out.n), text);
    str_free(&out);
    return is_equal;
}

static bool encodes_to(const struct tokenizer *tokenizer, struct view text, unsigned flags,
                       const json_t *wanted)
{
    int32_t n_max = (int32_t)text.n + 8;
    int32_t *ids = mem_take((size_t)n_max * sizeof(*ids));
    int32_t n = tokenizer_encode(tokenizer, text, flags, ids, n_max);
    bool is_equal = ids_equal(ids, n, wanted);
    for (int32_t i = 0; i < n && !is_equal; i++)
        printf(i == 0 ? "  got %d" : " %d", ids[i]);
    mem_give(ids);
    return is_equal;
}

/* Checks a line of vectors.jsonl: {"text", "ids"}, and optionally "ids_plain" (without a search for
 * special tokens) and "decoded" (when that differs from the text). */
static bool line_passes(const struct tokenizer *tokenizer, const char *line)
{
    json_t *row = json_loads(line, JSON_ALLOW_NUL, NULL);
    const json_t *text = json_object_get(row, "text"), *wanted = json_object_get(row, "ids");
    const json_t *plain = json_object_get(row, "ids_plain");
    const json_t *decoded = json_object_get(row, "decoded");
    struct view view = view_of(json_string_value(text), json_string_length(text));
    bool passes = encodes_to(tokenizer, view, TOKENIZER_PARSE_SPECIAL, wanted) &&
                  encodes_to(tokenizer, view, 0, plain != NULL ? plain : wanted);
    if (decoded != NULL)
        view = view_of(json_string_value(decoded), json_string_length(decoded));
    int32_t n = (int32_t)json_array_size(wanted);
    int32_t *ids = mem_take((size_t)n * sizeof(*ids));
    for (int32_t i = 0; i < n; i++)
        ids[i] = (int32_t)json_integer_value(json_array_get(wanted, (size_t)i));
    passes = passes && decodes_to(tokenizer, ids, n, view);
    mem_give(ids);
    json_decref(row);
    return passes;
}

static void check_golden(const char *name)
{
    char path[512];
    char *content = NULL;
    size_t n_bytes = 0, n_lines = 0, n_failed = 0;
    struct tokenizer *tokenizer = open_golden(name);
    (void)snprintf(path, sizeof(path), GOLDEN "%s/vectors.jsonl", name);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (getline(&content, &n_bytes, file) > 0) {
        n_lines++;
        if (!line_passes(tokenizer, content)) {
            printf("  %.300s\n", content);
            n_failed++;
        }
    }
    free(content);
    fclose(file);
    close_golden(tokenizer);
    printf("%s: %zu lines\n", name, n_lines);
    assert_true(n_lines > 50);
    assert_int_equal(n_failed, 0);
}

static void agrees_spm(void **state)
{
    (void)state;
    check_golden("spm");
}

static void agrees_gemma(void **state)
{
    (void)state;
    check_golden("gemma");
}

static void agrees_phi3(void **state)
{
    (void)state;
    check_golden("phi3");
}

/* White space of any kind, up to the token before. */
static void swallows_white_space(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        { "a\xE3\x80\x80 <|both|>\xC2\xA0\xE2\x80\x83\tb", "a<|both|>b" },
        { "<|both|>\n \xC2\x85<|both|> ", "<|both|><|both|>" },
        { "\xE2\x80\x8B<|end|>\r\n", "\xE2\x80\x8B<|end|>" }, /* U+200B is not white space */
        { "\x80 \x80<|both|>\xE3\x80", "\x80 \x80<|both|>\xE3\x80" },
    };
    struct tokenizer *tokenizer = open_golden("phi3");
    for (size_t i = 0; i < COUNT_OF(pairs); i++) {
        int32_t ids[2][64];
        int32_t n = tokenizer_encode(tokenizer, view_text(pairs[i][0]), TOKENIZER_PARSE_SPECIAL,
                                     ids[0], 64);
        assert_int_equal(tokenizer_encode(tokenizer, view_text(pairs[i][1]),
                                          TOKENIZER_PARSE_SPECIAL, ids[1], 64),
                         n);
        assert_true(n > 0);
        assert_memory_equal(ids[0], ids[1], (size_t)n * sizeof(ids[0][0]));
    }
    close_golden(tokenizer);
}

static void agrees_gpt2(void **state)
{
    (void)state;
    check_golden("gpt2");
}

static void agrees_llama3(void **state)
{
    (void)state;
    check_golden("llama3");
}

static void agrees_qwen2(void **state)
{
    (void)state;
    check_golden("qwen2");
}

static void broken_text_encodes(void **state)
{
    (void)state;
    static const char text[] = "ab\xFF\xC3 \xE2\x82 x\xF0\x9F\x98\x80\x80\x00z";
    struct view view = view_of(text, sizeof(text) - 1);
    int32_t ids[64];
    struct tokenizer *tokenizer = open_golden("gpt2");
    int32_t n = tokenizer_encode(tokenizer, view, 0, ids, 64);
    struct str back;
    str_init(&back);
    for (int32_t i = 0; i < n; i++) {
        struct view piece = tokenizer_piece(tokenizer, ids[i], false);
        str_add(&back, piece.at, piece.n);
    }
    assert_true(view_equal(view_of(back.at, back.n), view)); /* byte for byte */
    close_golden(tokenizer);
    tokenizer = open_golden("spm");
    n = tokenizer_encode(tokenizer, view, 0, ids, 64);
    assert_true(n > 0);
    assert_true(decodes_to(tokenizer, ids, n,
                           view_text("ab\xEF\xBF\xBD\xEF\xBF\xBD \xEF\xBF\xBD\xEF\xBF\xBD x"
                                     "\xF0\x9F\x98\x80\xEF\xBF\xBD")) == false); /* the NUL */
    str_clear(&back);
    for (int32_t i = 0; i < n; i++) {
        struct view piece = tokenizer_piece(tokenizer, ids[i], false);
        str_add(&back, piece.at, piece.n);
    }
    static const char expected[] = " ab\xEF\xBF\xBD\xEF\xBF\xBD \xEF\xBF\xBD\xEF\xBF\xBD x"
                                   "\xF0\x9F\x98\x80\xEF\xBF\xBD\x00z";
    assert_true(view_equal(view_of(back.at, back.n), view_of(expected, sizeof(expected) - 1)));
    str_free(&back);
    close_golden(tokenizer);
}

static void special_tokens_need_their_flag(void **state)
{
    (void)state;
    struct tokenizer *tokenizer = open_golden("gpt2");
    struct view text = view_text("a<|endoftext|>b");
    int32_t ids[32];
    assert_int_equal(tokenizer_encode(tokenizer, text, TOKENIZER_PARSE_SPECIAL, ids, 32), 3);
    int32_t id = ids[1];
    assert_true(tokenizer_encode(tokenizer, text, 0, ids, 32) > 3);
    assert_int_equal(tokenizer_piece(tokenizer, id, false).n, 0);
    assert_int_equal(tokenizer_piece(tokenizer, id, true).n, 13);
    close_golden(tokenizer);
}

static void a_full_buffer_says_so(void **state)
{
    (void)state;
    struct tokenizer *tokenizer = open_golden("gpt2");
    int32_t ids[4] = { -5, -5, -5, -5 };
    assert_int_equal(tokenizer_encode(tokenizer, view_text("one two three four"), 0, ids, 3), -1);
    assert_int_equal(ids[3], -5);
    assert_int_equal(tokenizer_encode(tokenizer, view_text(""), 0, ids, 0), 0);
    close_golden(tokenizer);
}

/* A megabyte of one letter must not take quadratic time. The bound is loose for slow machines. */
static void long_words_are_fast(void **state)
{
    (void)state;
    static const char *const names[] = { "gpt2", "spm" };
    size_t n_bytes = 1 << 20;
    char *text = mem_take(n_bytes);
    int32_t *ids = mem_take((n_bytes + 8) * sizeof(*ids));
    for (size_t k = 0; k < COUNT_OF(names); k++) {
        struct tokenizer *tokenizer = open_golden(names[k]);
        for (const char *letter = "a <\xFF"; *letter != '\0'; letter++) {
            memset(text, *letter, n_bytes);
            int64_t start = time_now_ns();
            int32_t n =
                tokenizer_encode(tokenizer, view_of(text, n_bytes), 0, ids, (int32_t)n_bytes + 8);
            double seconds = (double)(time_now_ns() - start) * 1e-9;
            printf("%s: 1 MiB of 0x%02x: %.2f s, %d ids\n", names[k], (unsigned char)*letter,
                   seconds, n);
            assert_true(*letter == '\xFF' || n > 0);
            assert_true(seconds < 20);
        }
        close_golden(tokenizer);
    }
    mem_give(text);
    mem_give(ids);
}

static enum status open_with(const struct tokenizer_options *options, struct fault *fault)
{
    struct tokenizer *tokenizer = NULL;
    enum status status = tokenizer_open(&tokenizer, options, fault);
    tokenizer_close(tokenizer);
    return status;
}

static void bad_descriptions_are_refused(void **state)
{
    (void)state;
    static const char *const tokens[] = { "a", "b", "ab", "<0xZZ>" };
    static const uint8_t types[] = { 1, 1, 1, 6 };
    static const char *const merges[] = { "a b", "nospace" };
    static const float scores[] = { 0, 0, 1, 0 };
    struct fault fault;
    struct tokenizer_options good = { .kind = TOKENIZER_BPE,
                                      .n_tokens = 3,
                                      .tokens = tokens,
                                      .n_merges = 1,
                                      .merges = merges,
                                      .pre = "gpt-2",
                                      .bos_id = -1,
                                      .eos_id = -1,
                                      .unknown_id = -1 };
    assert_int_equal(open_with(&good, &fault), STATUS_OK);
    struct tokenizer_options bad = good;
    bad.n_tokens = 0;
    assert_int_equal(open_with(&bad, &fault), STATUS_BAD_INPUT);
    bad = good;
    bad.bos_id = 3;
    assert_int_equal(open_with(&bad, &fault), STATUS_BAD_INPUT);
    bad = good;
    bad.n_merges = 2;
    assert_int_equal(open_with(&bad, &fault), STATUS_BAD_INPUT);
    assert_non_null(strstr(fault.text, "nospace"));
    bad = good;
    bad.n_tokens = 4;
    bad.types = types;
    assert_int_equal(open_with(&bad, &fault), STATUS_BAD_INPUT);
    bad = good;
    bad.kind = TOKENIZER_SPM;
    assert_int_equal(open_with(&bad, &fault), STATUS_BAD_INPUT);
    bad.scores = scores;
    assert_int_equal(open_with(&bad, &fault), STATUS_OK);
}

static void bos_and_eos_go_where_asked(void **state)
{
    (void)state;
    static const char *const tokens[] = { "a", "<s>", "</s>" };
    static const uint8_t types[] = { 1, 3, 3 };
    struct tokenizer_options options = { .kind = TOKENIZER_BPE,
                                         .n_tokens = 3,
                                         .tokens = tokens,
                                         .types = types,
                                         .pre = "gpt-2",
                                         .add_bos = true,
                                         .add_eos = true,
                                         .bos_id = 1,
                                         .eos_id = 2,
                                         .unknown_id = -1 };
    struct fault fault;
    struct tokenizer *tokenizer;
    int32_t ids[8];
    assert_int_equal(tokenizer_open(&tokenizer, &options, &fault), STATUS_OK);
    assert_int_equal(tokenizer_n_tokens(tokenizer), 3);
    assert_int_equal(tokenizer_encode(tokenizer, view_text("aa"), TOKENIZER_ADD_SPECIAL, ids, 8),
                     4);
    assert_true(ids[0] == 1 && ids[1] == 0 && ids[3] == 2);
    assert_int_equal(tokenizer_encode(tokenizer, view_text("a"), 0, ids, 8), 1);
    assert_int_equal(tokenizer_piece(tokenizer, 99, true).n, 0);
    assert_int_equal(tokenizer_piece(tokenizer, -1, true).n, 0);
    tokenizer_close(tokenizer);
}

/* A GGUF file's added tokens are texts, not bytes in GPT-2's letters: U+00F6 is not byte F6. */
static void added_tokens_read_as_they_stand(void **state)
{
    (void)state;
    static const char *const tokens[] = { "a", "\xC3\xB6", "b\xC3\xB6" };
    static const uint8_t types[] = { 1, 4, 4 };
    static const int32_t ids[] = { 1, 0, 2 };
    const struct tokenizer_options options = { .kind = TOKENIZER_BPE,
                                               .n_tokens = 3,
                                               .tokens = tokens,
                                               .types = types,
                                               .pre = "gpt-2",
                                               .bos_id = -1,
                                               .eos_id = -1,
                                               .unknown_id = -1 };
    struct fault fault;
    struct tokenizer *tokenizer;
    struct detokenizer detokenizer;
    struct str out;
    str_init(&out);
    assert_int_equal(tokenizer_open(&tokenizer, &options, &fault), STATUS_OK);
    detokenizer_init(&detokenizer, tokenizer, false);
    for (size_t i = 0; i < COUNT_OF(ids); i++)
        detokenizer_add(&detokenizer, ids[i], &out);
    detokenizer_end(&detokenizer, &out);
    assert_string_equal(out.at, "\xC3\xB6"
                                "ab\xC3\xB6");
    str_free(&out);
    tokenizer_close(tokenizer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_spm),
        cmocka_unit_test(added_tokens_read_as_they_stand),
        cmocka_unit_test(agrees_gemma),
        cmocka_unit_test(agrees_phi3),
        cmocka_unit_test(swallows_white_space),
        cmocka_unit_test(agrees_gpt2),
        cmocka_unit_test(agrees_llama3),
        cmocka_unit_test(agrees_qwen2),
        cmocka_unit_test(broken_text_encodes),
        cmocka_unit_test(special_tokens_need_their_flag),
        cmocka_unit_test(a_full_buffer_says_so),
        cmocka_unit_test(long_words_are_fast),
        cmocka_unit_test(bad_descriptions_are_refused),
        cmocka_unit_test(bos_and_eos_go_where_asked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
