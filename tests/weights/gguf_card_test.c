/* Cards from GGUF metadata, and refusals. */
#include "weights/refused.h"
#include "weights/build.h"
#include "weights/card.h"
#include "weights/gguf_card.h"

static enum status card_of(struct build *b, int32_t n_vocabulary, struct weights_gguf *gguf,
                           struct weights_card *card, struct fault *fault)
{
    size_t n;
    unsigned char *bytes = build_end(b, &n);
    assert_int_equal(weights_gguf_read(gguf, bytes, n, fault), STATUS_OK);
    enum status status = weights_gguf_card(gguf, n_vocabulary, card, fault);
    mem_give(bytes); /* the card needs only the pile */
    gguf->n_values = 0;
    build_free(b);
    return status;
}

static void reads_spm(void **state)
{
    (void)state;
    struct build b;
    struct weights_gguf gguf;
    struct weights_card card;
    struct fault fault = { 0 };
    build_init(&b);
    build_llama_values(&b);
    build_spm(&b);
    assert_int_equal(card_of(&b, 12, &gguf, &card, &fault), STATUS_OK);
    assert_int_equal(card.tokenizer, WEIGHTS_TOKENIZER_SPM);
    assert_null(card.strips);
    assert_int_equal(card.n_tokens, 10);
    assert_string_equal(card.tokens[7], "ab");
    assert_int_equal(card.token_bytes[4], 3);
    assert_true(card.scores[6] == -3.0f);
    assert_int_equal(card.types[3], 6);
    assert_int_equal(card.bos_id, 1);
    assert_int_equal(card.pad_id, -1);
    assert_int_equal(card.unknown_id, 0);
    assert_true(card.add_bos && card.add_space_prefix && !card.add_eos);
    assert_int_equal(card.n_eog, 2);
    assert_int_equal(card.eog_ids[0], 2);
    assert_int_equal(card.eog_ids[1], 9);
    assert_string_equal(card.chat_template, "{{ messages[0].content }}");
    assert_string_equal(card.specials_json, "{\"bos_token\":\"<s>\",\"eos_token\":\"</s>\","
                                            "\"unk_token\":\"<unk>\"}");
    assert_string_equal(card.name, "tiny");
    weights_gguf_close(&gguf);
}

/* Phi-3's: all special tokens but a few. */
static void swallows_spaces(void **state)
{
    (void)state;
    struct build b;
    struct weights_gguf gguf;
    struct weights_card card;
    struct fault fault = { 0 };
    build_init(&b);
    build_text(&b, "general.architecture", "phi3");
    build_spm(&b);
    assert_int_equal(card_of(&b, 12, &gguf, &card, &fault), STATUS_OK);
    for (int32_t i = 0; i < card.n_tokens; i++) {
        bool is_special = card.types[i] == TOKEN_CONTROL || card.types[i] == TOKEN_USER;
        bool is_bos = strcmp(card.tokens[i], "<s>") == 0;
        assert_int_equal(card.strips[i], is_special && !is_bos ? STRIP_RIGHT : 0);
    }
    assert_int_equal(card.strips[card.eos_id], STRIP_RIGHT);
    weights_gguf_close(&gguf);
}

static void reads_bpe(void **state)
{
    (void)state;
    struct build b;
    struct weights_gguf gguf;
    struct weights_card card;
    struct fault fault = { 0 };
    build_init(&b);
    build_bpe(&b);
    assert_int_equal(card_of(&b, 0, &gguf, &card, &fault), STATUS_OK);
    assert_int_equal(card.tokenizer, WEIGHTS_TOKENIZER_BPE);
    assert_string_equal(card.pre, "qwen2");
    assert_null(card.scores);
    assert_int_equal(card.n_merges, 1);
    assert_string_equal(card.merges[0], "a b");
    assert_true(card.normalizes_nfc && !card.add_bos && !card.ignore_merges);
    assert_int_equal(card.n_eog, 2);
    weights_gguf_close(&gguf);
}

static void llama3_has_its_ways(void **state)
{
    (void)state;
    struct build b;
    struct weights_gguf gguf;
    struct weights_card card;
    struct fault fault = { 0 };
    build_init(&b);
    b.without = "tokenizer.ggml.pre";
    build_bpe(&b);
    b.without = NULL;
    build_text(&b, "tokenizer.ggml.pre", "llama-bpe");
    build_u32(&b, "tokenizer.ggml.bos_token_id", 1);
    assert_int_equal(card_of(&b, 0, &gguf, &card, &fault), STATUS_OK);
    assert_true(card.add_bos && card.ignore_merges && !card.normalizes_nfc);
    weights_gguf_close(&gguf);
}

static void does_without_a_tokenizer(void **state)
{
    (void)state;
    struct build b;
    struct weights_gguf gguf;
    struct weights_card card;
    struct fault fault = { 0 };
    build_init(&b);
    build_llama_values(&b);
    assert_int_equal(card_of(&b, 0, &gguf, &card, &fault), STATUS_OK);
    assert_int_equal(card.tokenizer, WEIGHTS_TOKENIZER_NONE);
    weights_gguf_close(&gguf);
}

/* Expects the result for a vocabulary of byte-level BPE with one more key, or with one key
 * replaced. */
static void expect_bpe(const char *without, const char *key, const char *text, const char *said)
{
    struct build b;
    struct weights_gguf gguf;
    struct weights_card card;
    struct fault fault = { 0 };
    build_init(&b);
    b.without = without;
    build_bpe(&b);
    b.without = NULL;
    if (key != NULL)
        build_text(&b, key, text);
    enum status status = card_of(&b, 0, &gguf, &card, &fault);
    if (said != NULL)
        assert_refused(status, STATUS_UNSUPPORTED, &fault, said);
    else
        assert_int_equal(status, STATUS_OK);
    weights_gguf_close(&gguf);
}

/* The vocabulary is split as its file names it. A missing name is known only for GPT-2. */
static void split_patterns_are_known_or_refused(void **state)
{
    (void)state;
    static const char pre[] = "tokenizer.ggml.pre";
    expect_bpe(pre, pre, "smollm", NULL);
    expect_bpe(pre, pre, "llama4", "\"llama4\" is not supported");
    expect_bpe(pre, pre, "a name that is longer than any other name of them", "is not supported");
    expect_bpe(pre, pre, "default", "convert the model again");
    expect_bpe(pre, NULL, NULL, "convert the model again");
    expect_bpe(pre, "general.architecture", "gpt2", NULL);
}

static void add_kind(struct build *b)
{
    build_text(b, "tokenizer.ggml.model", "bert");
}
static void add_types(struct build *b)
{
    static const int32_t types[] = { 1, 2, 3 };
    build_i32s(b, "tokenizer.ggml.token_type", types, 3);
}
static void add_wild_types(struct build *b)
{
    static const int32_t types[] = { 2, 3, 3, 6, 1, 77, 1, 1, 1, 1 };
    build_i32s(b, "tokenizer.ggml.token_type", types, 10);
}
static void add_false_byte(struct build *b)
{
    static const int32_t types[] = { 2, 3, 3, 6, 1, 6, 1, 1, 1, 1 };
    build_i32s(b, "tokenizer.ggml.token_type", types, 10);
}
static void add_text_types(struct build *b)
{
    static const char *const types[] = { "1" };
    build_texts(b, "tokenizer.ggml.token_type", types, 1);
}
static void add_scores(struct build *b)
{
    static const float scores[] = { 0, 1 };
    build_f32s(b, "tokenizer.ggml.scores", scores, 2);
}
static void add_nan(struct build *b)
{
    float scores[10] = { 0 };
    uint32_t bits = 0x7FC00000;
    memcpy(&scores[5], &bits, 4);
    build_f32s(b, "tokenizer.ggml.scores", scores, 10);
}
static void add_tokens(struct build *b)
{
    static const int32_t tokens[] = { 1 };
    build_i32s(b, "tokenizer.ggml.tokens", tokens, 1);
}
static void add_no_tokens(struct build *b)
{
    build_texts(b, "tokenizer.ggml.tokens", NULL, 0);
}
static void add_twins(struct build *b)
{
    static const char *const tokens[] = { "<unk>", "<s>", "</s>", "<0x00>", "a",
                                          "b",     "c",   "d",    "e",      "a" };
    build_texts(b, "tokenizer.ggml.tokens", tokens, 10);
}
static void add_sep(struct build *b)
{
    build_bool(b, "tokenizer.ggml.add_sep_token", true);
}
static void add_no_bos(struct build *b)
{
    build_u32(b, "tokenizer.ggml.bos_token_id", UINT32_MAX);
}
static void add_bos(struct build *b)
{
    build_u32(b, "tokenizer.ggml.bos_token_id", 10);
}
static void add_flag(struct build *b)
{
    build_u32(b, "tokenizer.ggml.add_bos_token", 1);
}
static void add_template(struct build *b)
{
    build_text(b, "tokenizer.chat_template", "\xff\xfe");
}
static void add_long_template(struct build *b)
{
    size_t n = (1 << 20) + 1;
    char *text = mem_take(n + 1);
    memset(text, 'x', n);
    build_text(b, "tokenizer.chat_template", text);
    mem_give(text);
}
static void add_long_token(struct build *b)
{
    size_t n = (1 << 16) + 1;
    char *text = mem_take(n + 1);
    memset(text, 'x', n);
    const char *tokens[] = { text, text, text, "<0x00>", text, text, text, text, text, text };
    build_texts(b, "tokenizer.ggml.tokens", tokens, 10);
    mem_give(text);
}

static void refuses_by_name(void **state)
{
    (void)state;
    static const struct {
        const char *without;
        void (*add)(struct build *);
        enum status status;
        const char *words;
    } rows[] = {
        { "tokenizer.ggml.model", add_kind, STATUS_UNSUPPORTED, "tokenizer \"bert\"" },
        { "tokenizer.ggml.token_type", add_types, STATUS_BAD_INPUT, "token_type has 3 elements" },
        { "tokenizer.ggml.token_type", add_wild_types, STATUS_BAD_INPUT, "token 5 has type 77" },
        { "tokenizer.ggml.token_type", add_false_byte, STATUS_BAD_INPUT, "token 5 is a byte" },
        { "tokenizer.ggml.token_type", add_text_types, STATUS_BAD_INPUT, "token_type is a text" },
        { "tokenizer.ggml.scores", add_scores, STATUS_BAD_INPUT, "scores has 2 elements" },
        { "tokenizer.ggml.scores", add_nan, STATUS_BAD_INPUT, "score of token 5" },
        { "tokenizer.ggml.scores", NULL, STATUS_BAD_INPUT, "scores is missing" },
        { "tokenizer.ggml.tokens", NULL, STATUS_BAD_INPUT, "tokens is missing" },
        { "tokenizer.ggml.tokens", add_tokens, STATUS_BAD_INPUT, "tokens is an int32" },
        { "tokenizer.ggml.tokens", add_no_tokens, STATUS_BAD_INPUT, "tokens is missing" },
        { "tokenizer.ggml.tokens", add_long_token, STATUS_TOO_LARGE, "token 0 has 65537 bytes" },
        { "tokenizer.ggml.tokens", add_twins, STATUS_BAD_INPUT, "tokens 4 and 9" },
        { "tokenizer.ggml.add_sep_token", add_sep, STATUS_UNSUPPORTED, "separators" },
        { "tokenizer.ggml.bos_token_id", add_no_bos, STATUS_BAD_INPUT, "bos_token_id is missing" },
        { "tokenizer.ggml.bos_token_id", add_bos, STATUS_BAD_INPUT, "bos_token_id is 10" },
        { "tokenizer.ggml.add_bos_token", add_flag, STATUS_BAD_INPUT, "expected a bool" },
        { "tokenizer.chat_template", add_template, STATUS_BAD_INPUT, "template isn't valid UTF-8" },
        { "tokenizer.chat_template", add_long_template, STATUS_TOO_LARGE, "has 1048577 bytes" },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct build b;
        struct weights_gguf gguf;
        struct weights_card card;
        struct fault fault = { 0 };
        build_init(&b);
        b.without = rows[i].without;
        build_spm(&b);
        b.without = NULL;
        if (rows[i].add != NULL)
            rows[i].add(&b);
        assert_refused(card_of(&b, 0, &gguf, &card, &fault), rows[i].status, &fault, rows[i].words);
        weights_gguf_close(&gguf);
    }
}

static void refuses_more_tokens_than_rows(void **state)
{
    (void)state;
    struct build b;
    struct weights_gguf gguf;
    struct weights_card card;
    struct fault fault = { 0 };
    build_init(&b);
    build_spm(&b);
    assert_refused(card_of(&b, 9, &gguf, &card, &fault), STATUS_BAD_INPUT, &fault,
                   "has 10 tokens, the embedding has room for 9");
    weights_gguf_close(&gguf);
}

static void refuses_bad_merges(void **state)
{
    (void)state;
    static const char *const merges[] = { "ab", " b", "a ", "" };
    for (size_t i = 0; i < COUNT_OF(merges); i++) {
        struct build b;
        struct weights_gguf gguf;
        struct weights_card card;
        struct fault fault = { 0 };
        build_init(&b);
        b.without = "tokenizer.ggml.merges";
        build_bpe(&b);
        b.without = NULL;
        build_texts(&b, "tokenizer.ggml.merges", &merges[i], 1);
        assert_refused(card_of(&b, 0, &gguf, &card, &fault), STATUS_BAD_INPUT, &fault, "merge 0");
        weights_gguf_close(&gguf);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_spm),
        cmocka_unit_test(swallows_spaces),
        cmocka_unit_test(reads_bpe),
        cmocka_unit_test(llama3_has_its_ways),
        cmocka_unit_test(split_patterns_are_known_or_refused),
        cmocka_unit_test(does_without_a_tokenizer),
        cmocka_unit_test(refuses_by_name),
        cmocka_unit_test(refuses_more_tokens_than_rows),
        cmocka_unit_test(refuses_bad_merges),
    };
    return cmocka_run_group_tests_name("weights/gguf_card", tests, NULL, NULL);
}
