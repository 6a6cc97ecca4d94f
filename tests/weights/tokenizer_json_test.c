/* tokenizer.json: both kinds of model, and every step that is refused by name. */
#include "weights/refused.h"
#include "base/mem.h"
#include "weights/tokenizer_json.h"

struct opened {
    struct weights_json json;
    struct pile pile;
    struct weights_vocabulary vocabulary;
    struct weights_card card;
    bool says_specials;
};

static enum status open_text(struct opened *o, const char *text, struct fault *fault)
{
    *o = (struct opened){ 0 };
    weights_card_init(&o->card);
    assert_int_equal(
        weights_json_parse(&o->json, mem_copy_text(text), strlen(text), "tokenizer.json", fault),
        STATUS_OK);
    return weights_tokenizer_json(o->json.nodes, &o->pile, &o->vocabulary, &o->card,
                                  &o->says_specials, fault);
}

static void close_text(struct opened *o)
{
    weights_json_close(&o->json);
    weights_vocabulary_free(&o->vocabulary);
    pile_free(&o->pile);
}

#define BYTE_LEVEL "\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":false},"
#define BPE(more)                                                                                  \
    "{" more "\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"b\":1,\"ab\":2,\"abb\":4},"         \
    "\"merges\":[\"a b\",[\"ab\",\"b\"]]}}"
#define SPM(more)                                                                                  \
    "{" more "\"model\":{\"type\":\"BPE\",\"byte_fallback\":true,\"unk_token\":\"<unk>\","         \
    "\"vocab\":{\"<unk>\":0,\"<0x0A>\":1,\"a\":2,\"b\":3,\"ab\":4,\"abb\":5,\"zz\":6},"            \
    "\"merges\":[\"a b\",\"ab b\"]}}"

static void reads_bpe(void **state)
{
    (void)state;
    struct opened o;
    struct fault fault = { 0 };
    const char *text =
        BPE(BYTE_LEVEL
            "\"normalizer\":{\"type\":\"NFC\"},"
            "\"added_tokens\":[{\"id\":5,\"content\":\"<x>\","
            "\"special\":true,\"rstrip\":true},{\"lstrip\":true,\"id\":6,\"content\":\"<y>\"}],");
    assert_int_equal(open_text(&o, text, &fault), STATUS_OK);
    assert_int_equal(o.card.tokenizer, WEIGHTS_TOKENIZER_BPE);
    assert_int_equal(o.card.n_tokens, 7);
    assert_string_equal(o.card.tokens[4], "abb");
    assert_int_equal(o.card.types[3], TOKEN_UNUSED); /* a hole */
    assert_int_equal(o.card.types[5], TOKEN_CONTROL);
    assert_int_equal(o.card.types[6], TOKEN_USER);
    assert_true(o.card.strips[5] == STRIP_RIGHT && o.card.strips[6] == STRIP_LEFT);
    assert_int_equal(o.card.strips[0], 0);
    assert_int_equal(o.card.n_merges, 2);
    assert_string_equal(o.card.merges[0], "a b");
    assert_string_equal(o.card.merges[1], "ab b");
    assert_string_equal(o.card.pre, "gpt-2");
    assert_null(o.card.pattern);
    assert_true(o.card.normalizes_nfc && !o.says_specials);
    close_text(&o);
}

static void reads_patterns_and_specials(void **state)
{
    (void)state;
    struct opened o;
    struct fault fault = { 0 };
    const char *text =
        BPE("\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Split\","
            "\"pattern\":{\"Regex\":\"\\\\p{L}+\"},\"behavior\":\"Removed\",\"invert\":true},"
            "{\"type\":\"ByteLevel\",\"use_regex\":false,\"add_prefix_space\":true}]},"
            "\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":["
            "{\"SpecialToken\":{\"id\":\"a\"}},{\"Sequence\":{\"id\":\"A\"}},"
            "{\"SpecialToken\":{\"id\":\"b\"}}]},");
    assert_int_equal(open_text(&o, text, &fault), STATUS_OK);
    assert_string_equal(o.card.pattern, "\\p{L}+");
    assert_string_equal(o.card.pre, "");
    assert_true(o.card.add_space_prefix && o.says_specials);
    assert_true(o.card.add_bos && o.card.bos_id == 0);
    assert_true(o.card.add_eos && o.card.eos_id == 1);
    close_text(&o);
}

/* Scores from ranks: what merges first scores best; what nothing makes can't come from text. */
static void scores_spm_by_rank(void **state)
{
    (void)state;
    struct opened o;
    struct fault fault = { 0 };
    assert_int_equal(open_text(&o,
                               SPM("\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":["
                                   "{\"type\":\"Prepend\",\"prepend\":\"\xe2\x96\x81\"},"
                                   "{\"type\":\"Replace\",\"pattern\":{\"String\":\" \"},"
                                   "\"content\":\"\xe2\x96\x81\"}]},"),
                               &fault),
                     STATUS_OK);
    assert_int_equal(o.card.tokenizer, WEIGHTS_TOKENIZER_SPM);
    assert_true(o.card.add_space_prefix);
    assert_int_equal(o.card.unknown_id, 0);
    assert_int_equal(o.card.types[0], TOKEN_UNKNOWN);
    assert_int_equal(o.card.types[1], TOKEN_BYTE);
    assert_true(o.card.scores[4] == 0.0f && o.card.scores[5] == -1.0f);
    assert_int_equal(o.card.types[2], TOKEN_NORMAL);
    assert_int_equal(o.card.types[6], TOKEN_UNUSED);
    close_text(&o);
    assert_int_equal(open_text(&o,
                               SPM("\"pre_tokenizer\":{\"type\":\"Metaspace\","
                                   "\"prepend_scheme\":\"first\"},"),
                               &fault),
                     STATUS_OK);
    assert_true(o.card.add_space_prefix);
    close_text(&o);
    assert_int_equal(open_text(&o,
                               SPM("\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"String\":"
                                   "\" \"},\"behavior\":\"MergedWithPrevious\"},"),
                               &fault),
                     STATUS_OK);
    assert_false(o.card.add_space_prefix);
    close_text(&o);
}

#define MODEL(text) "{" BYTE_LEVEL "\"model\":{" text "}}"
#define VOCAB       "\"vocab\":{\"a\":0},"

static void refuses_by_name(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum status status;
        const char *words;
    } rows[] = {
        { "{}", STATUS_BAD_INPUT, "model is missing" },
        { "[]", STATUS_BAD_INPUT, "model is missing" },
        { MODEL("\"type\":\"Unigram\""), STATUS_UNSUPPORTED, "the model \"Unigram\"" },
        { MODEL("\"type\":3"), STATUS_BAD_INPUT, "type isn't a text" },
        { MODEL("\"end_of_word_suffix\":\"</w>\""), STATUS_UNSUPPORTED, "\"</w>\"" },
        { MODEL("\"merges\":[]"), STATUS_BAD_INPUT, "model.vocab isn't an object" },
        { MODEL("\"vocab\":{\"a\":-1},\"merges\":[]"), STATUS_BAD_INPUT, "an id in model.vocab" },
        { MODEL("\"vocab\":{\"a\":\"0\"},\"merges\":[]"), STATUS_BAD_INPUT, "an id in model" },
        { MODEL("\"vocab\":{\"a\":900000},\"merges\":[]"), STATUS_BAD_INPUT, "ids up to 900000" },
        { MODEL("\"vocab\":{},\"merges\":[]"), STATUS_BAD_INPUT, "ids up to -1" },
        { MODEL(VOCAB "\"merges\":{}"), STATUS_BAD_INPUT, "model.merges isn't an array" },
        { MODEL(VOCAB "\"merges\":[1]"), STATUS_BAD_INPUT, "isn't two texts" },
        { MODEL(VOCAB "\"merges\":[[\"a\"]]"), STATUS_BAD_INPUT, "isn't two texts" },
        { MODEL(VOCAB "\"merges\":[[\"a b\",\"c\"]]"), STATUS_UNSUPPORTED, "space inside" },
        { "{\"model\":{" VOCAB "\"merges\":[]}}", STATUS_UNSUPPORTED, "ByteLevel or Split" },
        { BPE("\"added_tokens\":[{\"id\":5}],"), STATUS_BAD_INPUT, "added_tokens" },
        { BPE("\"added_tokens\":{},"), STATUS_BAD_INPUT, "added_tokens" },
        { BPE("\"normalizer\":{\"type\":\"Lowercase\"},"), STATUS_UNSUPPORTED,
          "normalizer \"Lowercase\"" },
        { BPE("\"normalizer\":[],"), STATUS_BAD_INPUT, "normalizer isn't an object" },
        { BPE("\"normalizer\":{\"type\":\"Sequence\"},"), STATUS_BAD_INPUT,
          "normalizer.normalizers isn't an array" },
        { BPE("\"pre_tokenizer\":{\"type\":\"Digits\"},"), STATUS_UNSUPPORTED, "\"Digits\"" },
        { BPE("\"pre_tokenizer\":{\"type\":\"Metaspace\"},"), STATUS_UNSUPPORTED, "\"Metaspace\"" },
        { BPE("\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"x\"},\"behavior\":"
              "\"MergedWithNext\"},"),
          STATUS_UNSUPPORTED, "\"MergedWithNext\"" },
        { BPE("\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"String\":\"x\"}},"),
          STATUS_UNSUPPORTED, "\"Split\"" },
        { BPE("\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Split\","
              "\"pattern\":{\"Regex\":\"x\"},\"behavior\":\"Isolated\"},{\"type\":\"Split\","
              "\"pattern\":{\"Regex\":\"y\"},\"behavior\":\"Isolated\"}]},"),
          STATUS_UNSUPPORTED, "a second Split" },
        { BPE("\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Split\","
              "\"pattern\":{\"Regex\":\"x\"},\"behavior\":\"Isolated\"},"
              "{\"type\":\"ByteLevel\"}]},"),
          STATUS_UNSUPPORTED, "use_regex after Split" },
        { BPE(BYTE_LEVEL "\"post_processor\":{\"type\":\"TemplateProcessing\"},"), STATUS_BAD_INPUT,
          "post_processor.single" },
        { BPE(BYTE_LEVEL "\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":["
                         "{\"SpecialToken\":{\"id\":\"none\"}}]},"),
          STATUS_BAD_INPUT, "tokens that we can't add" },
        { BPE(BYTE_LEVEL "\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":["
                         "{\"SpecialToken\":{\"id\":\"a\"}},{\"SpecialToken\":{\"id\":\"b\"}}]},"),
          STATUS_BAD_INPUT, "tokens that we can't add" },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct opened o;
        struct fault fault = { 0 };
        assert_refused(open_text(&o, rows[i].text, &fault), rows[i].status, &fault, rows[i].words);
        close_text(&o);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_bpe),
        cmocka_unit_test(reads_patterns_and_specials),
        cmocka_unit_test(scores_spm_by_rank),
        cmocka_unit_test(refuses_by_name),
    };
    return cmocka_run_group_tests_name("weights/tokenizer_json", tests, NULL, NULL);
}
