/* tokenizer.json: the three kinds of model, added tokens, and refusals by name. */
#include "weights/refused.h"
#include "base/log.h"
#include "base/mem.h"
#include "weights/tokenizer_json.h"

struct opened {
    struct weights_json json;
    struct pile pile;
    struct weights_vocabulary vocabulary;
    struct weights_card card;
};

static enum status open_with(struct opened *o, const char *text, const struct weights_added *extra,
                             int32_t n_extra, struct fault *fault)
{
    *o = (struct opened){ 0 };
    weights_card_init(&o->card);
    assert_int_equal(
        weights_json_parse(&o->json, mem_copy_text(text), strlen(text), "tokenizer.json", fault),
        STATUS_OK);
    const struct weights_tokenizer_source source = { .root = o->json.nodes,
                                                     .n_extra = n_extra,
                                                     .extra = extra };
    return weights_tokenizer_json(&source, &o->pile, &o->vocabulary, &o->card, fault);
}

static enum status open_text(struct opened *o, const char *text, struct fault *fault)
{
    return open_with(o, text, NULL, 0, fault);
}

static void close_text(struct opened *o)
{
    weights_json_close(&o->json);
    weights_vocabulary_free(&o->vocabulary);
    pile_free(&o->pile);
}

#define VOCAB "\"vocab\":{\"a\":0,\"b\":1,\"ab\":2,\"<s>\":3,\"abb\":4},"
#define BPE(more)                                                                                  \
    "{" more "\"model\":{\"type\":\"BPE\"," VOCAB "\"merges\":[\"a b\",[\"ab\",\"b\"]]}}"
#define MODEL(more) "{\"model\":{" more "}}"

static void reads_bpe(void **state)
{
    (void)state;
    struct opened o;
    struct fault fault = { "" };
    assert_int_equal(
        open_text(&o,
                  "{\"added_tokens\":[{\"id\":3,\"content\":\"<s>\",\"special\":true},{\"id\":5,"
                  "\"content\":\"new\",\"lstrip\":true,\"rstrip\":true,\"single_word\":true,"
                  "\"normalized\":true}],\"model\":{\"byte_fallback\":true,\"fuse_unk\":true,"
                  "\"ignore_merges\":true,\"unk_token\":\"b\"," VOCAB
                  "\"merges\":[\"a b\",[\"ab\",\"b\"]]}}",
                  &fault),
        STATUS_OK);
    const struct tokenizer_steps *steps = o.card.steps;
    assert_int_equal(o.card.tokenizer, WEIGHTS_TOKENIZER_BPE);
    assert_int_equal(o.card.n_tokens, 6);
    assert_string_equal(o.card.tokens[5], "new");
    assert_true(steps->is_model[3] && !steps->is_model[5]);
    assert_int_equal(steps->n_merges, 2);
    assert_true(steps->merges[0][0] == 0 && steps->merges[0][1] == 1 && steps->merges[0][2] == 2);
    assert_true(steps->merges[1][0] == 2 && steps->merges[1][1] == 1 && steps->merges[1][2] == 4);
    assert_true(steps->falls_back_to_bytes && steps->fuses_unknown && steps->ignores_merges);
    assert_int_equal(o.card.unknown_id, 1);
    assert_int_equal(steps->n_added, 2);
    assert_true(steps->added[0].id == 3 && steps->added[0].flags == ADDED_SPECIAL);
    assert_int_equal(steps->added[1].flags, ADDED_NORMALIZED | ADDED_WAS_NORMALIZED |
                                                ADDED_STRIPS_LEFT | ADDED_STRIPS_RIGHT |
                                                ADDED_SINGLE_WORD);
    assert_true(o.card.types[3] == TOKEN_CONTROL && o.card.types[5] == TOKEN_USER);
    assert_false(steps->has_decoder);
    close_text(&o);
}

/* The text that a merge forms has the prefix of inner pieces once. */
static void reads_affixes(void **state)
{
    (void)state;
    struct opened o;
    struct fault fault = { "" };
    assert_int_equal(open_text(&o,
                               MODEL("\"continuing_subword_prefix\":\"##\",\"end_of_word_suffix\":"
                                     "\"</w>\",\"vocab\":{\"a\":0,\"##b\":1,\"ab\":2},"
                                     "\"merges\":[\"a ##b\"]"),
                               &fault),
                     STATUS_OK);
    assert_int_equal(o.card.steps->merges[0][2], 2);
    assert_true(view_equal_text(o.card.steps->word_prefix, "##"));
    assert_true(view_equal_text(o.card.steps->word_suffix, "</w>"));
    close_text(&o);
}

static void reads_unigram(void **state)
{
    (void)state;
    struct opened o;
    struct fault fault = { "" };
    assert_int_equal(open_text(&o,
                               MODEL("\"type\":\"Unigram\",\"unk_id\":1,\"byte_fallback\":true,"
                                     "\"vocab\":[[\"a\",-1.5],[\"<unk>\",0],[\"a\",-2e-1]]"),
                               &fault),
                     STATUS_OK);
    assert_int_equal(o.card.tokenizer, WEIGHTS_TOKENIZER_UNIGRAM);
    assert_true(o.card.n_tokens == 3 && o.card.unknown_id == 1);
    assert_true(o.card.steps->scores[0] == -1.5 && o.card.steps->scores[1] == 0);
    assert_true(o.card.steps->scores[2] == -0.2 && o.card.steps->falls_back_to_bytes);
    assert_int_equal(weights_vocabulary_find(&o.vocabulary, view_text("a")), 2); /* the last one */
    close_text(&o);
}

/* serde_json rounds the digits first and then the quotient, which is one bit off the nearest number
 * here. */
static void scores_are_rounded_as_in_the_library(void **state)
{
    (void)state;
    struct opened o;
    struct fault fault = { "" };
    assert_int_equal(
        open_text(&o,
                  MODEL("\"type\":\"Unigram\",\"unk_id\":0,\"vocab\":[[\"a\",-13.275178909301758],"
                        "[\"b\",1E+2],[\"c\",123456789012345678901234.5],[\"d\",-0.0],"
                        "[\"e\",9.5367431640625e-7]]"),
                  &fault),
        STATUS_OK);
    const double *scores = o.card.steps->scores;
    assert_true(scores[0] == -(13275178909301758.0 / 1e15) && scores[1] == 100);
    assert_true(scores[2] == 12345678901234567890.0 * 1e4 && scores[3] == 0);
    assert_true(scores[4] == 95367431640625.0 / 1e20);
    close_text(&o);
    assert_refused(
        open_text(&o, MODEL("\"type\":\"Unigram\",\"unk_id\":0,\"vocab\":[[\"a\",1e999]]"), &fault),
        STATUS_BAD_INPUT, &fault, "too large");
    close_text(&o);
}

static void reads_word_piece(void **state)
{
    (void)state;
    struct opened o;
    struct fault fault = { "" };
    assert_int_equal(open_text(&o,
                               MODEL("\"type\":\"WordPiece\",\"unk_token\":\"[UNK]\","
                                     "\"continuing_subword_prefix\":\"##\","
                                     "\"max_input_chars_per_word\":7,"
                                     "\"vocab\":{\"[UNK]\":0,\"a\":1,\"##b\":2}"),
                               &fault),
                     STATUS_OK);
    assert_int_equal(o.card.tokenizer, WEIGHTS_TOKENIZER_WORDPIECE);
    assert_int_equal(o.card.unknown_id, 0);
    assert_int_equal(o.card.steps->word_letters_max, 7);
    close_text(&o);
}

/* Tokens of other files come behind. A strong one changes existing tokens, a weak one only other
 * weak ones. */
static void adds_the_tokens_of_other_files(void **state)
{
    (void)state;
    static const struct weights_added extra[] = {
        { { "<s>", 3 }, ADDED_STRIPS_LEFT, -1, false, false },
        { { "far", 3 }, 0, 5, false, false },
        { { "", 0 }, 0, -1, false, false },
        { { "far", 3 }, ADDED_SPECIAL | ADDED_STRIPS_LEFT, -1, true, true },
        { { "<s>", 3 }, ADDED_SPECIAL | ADDED_STRIPS_RIGHT, -1, true, false },
        { { "ab", 2 }, ADDED_SPECIAL | ADDED_STRIPS_LEFT, -1, true, false },
        { { "ab", 2 }, ADDED_SPECIAL | ADDED_STRIPS_RIGHT, -1, true, false },
    };
    struct opened o;
    struct fault fault = { "" };
    assert_int_equal(open_with(&o,
                               BPE("\"added_tokens\":[{\"id\":3,\"content\":\"<s>\","
                                   "\"special\":true}],"),
                               extra, COUNT_OF(extra), &fault),
                     STATUS_OK);
    const struct tokenizer_steps *steps = o.card.steps;
    assert_int_equal(steps->n_added, 3);
    assert_int_equal(steps->added[0].flags, ADDED_STRIPS_LEFT | ADDED_SPECIAL); /* stays special */
    assert_true(steps->added[1].id == 5 && steps->added[1].flags == ADDED_SPECIAL); /* named */
    assert_true(steps->added[2].id == 2 &&
                steps->added[2].flags == (ADDED_SPECIAL | ADDED_STRIPS_RIGHT));
    assert_int_equal(o.card.n_tokens, 6);
    close_text(&o);
}

static void refuses_by_name(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum status status;
        const char *words;
    } rows[] = {
        { "{}", STATUS_BAD_INPUT, "model is missing" },
        { "{\"version\":\"2.0\",\"model\":{}}", STATUS_UNSUPPORTED, "the version \"2.0\"" },
        { MODEL("\"type\":\"WordLevel\",\"vocab\":{}"), STATUS_UNSUPPORTED, "model \"WordLevel\"" },
        { MODEL("\"vocab\":[],\"merges\":[]"), STATUS_BAD_INPUT, "model.vocab isn't an object" },
        { MODEL("\"type\":\"Unigram\",\"vocab\":{}"), STATUS_BAD_INPUT,
          "model.vocab isn't an array" },
        { MODEL("\"type\":\"Unigram\",\"vocab\":[[\"a\"]]"), STATUS_BAD_INPUT,
          "isn't a text and a score" },
        { MODEL("\"type\":\"Unigram\",\"vocab\":[[\"a\",1]]"), STATUS_UNSUPPORTED, "\"unk_id\"" },
        { MODEL("\"type\":\"Unigram\",\"unk_id\":1,\"vocab\":[[\"a\",1]]"), STATUS_BAD_INPUT,
          "unk_id" },
        { MODEL("\"type\":\"WordPiece\",\"vocab\":{\"a\":0}"), STATUS_UNSUPPORTED,
          "\"unk_token\"" },
        { MODEL("\"vocab\":{\"a\":-1},\"merges\":[]"), STATUS_BAD_INPUT, "integer from 0" },
        { MODEL("\"vocab\":{\"a\":\"0\"},\"merges\":[]"), STATUS_BAD_INPUT, "integer from 0" },
        { MODEL("\"vocab\":{\"a\":5000},\"merges\":[]"), STATUS_BAD_INPUT, "ids up to 5000" },
        { MODEL("\"vocab\":{},\"merges\":[]"), STATUS_BAD_INPUT, "ids up to -1" },
        { MODEL("\"vocab\":{\"a\":0,\"b\":0},\"merges\":[]"), STATUS_BAD_INPUT, "0 twice" },
        { MODEL("\"vocab\":{\"a\":0,\"a\":1},\"merges\":[]"), STATUS_BAD_INPUT, "\"a\" or its id" },
        { MODEL(VOCAB "\"merges\":{}"), STATUS_BAD_INPUT, "model.merges isn't an array" },
        { MODEL(VOCAB "\"merges\":[1]"), STATUS_BAD_INPUT, "isn't two texts" },
        { MODEL(VOCAB "\"merges\":[\"ab\"]"), STATUS_BAD_INPUT, "isn't two texts" },
        { MODEL(VOCAB "\"merges\":[[\"a\"]]"), STATUS_BAD_INPUT, "isn't two texts" },
        { MODEL(VOCAB "\"merges\":[\"b a\"]"), STATUS_BAD_INPUT, "forms \"ba\"" },
        { MODEL(VOCAB "\"dropout\":0.1,\"merges\":[]"), STATUS_UNSUPPORTED, "\"dropout\"" },
        { MODEL(VOCAB "\"unk_token\":\"?\",\"merges\":[]"), STATUS_BAD_INPUT, "unk_token \"?\"" },
        { BPE("\"added_tokens\":[{\"id\":5}],"), STATUS_BAD_INPUT, "added_tokens" },
        { BPE("\"added_tokens\":{},"), STATUS_BAD_INPUT, "added_tokens" },
        { BPE("\"added_tokens\":[{\"id\":7,\"content\":\"x\"}],"), STATUS_UNSUPPORTED,
          "\"x\" has id 7, but its place in the vocabulary is 5" },
        { BPE("\"added_tokens\":[{\"id\":2,\"content\":\"a\"}],"), STATUS_UNSUPPORTED,
          "\"a\" has id 2, but its place in the vocabulary is 0" },
        { BPE("\"normalizer\":{\"type\":\"Shout\"},"), STATUS_UNSUPPORTED, "normalizer \"Shout\"" },
        { BPE("\"post_processor\":{\"type\":\"Stamp\"},"), STATUS_UNSUPPORTED, "\"Stamp\"" },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct opened o;
        struct fault fault = { 0 };
        assert_refused(open_text(&o, rows[i].text, &fault), rows[i].status, &fault, rows[i].words);
        close_text(&o);
    }
}

/* They are named in the log and change nothing. */
static void truncation_and_padding_are_not_applied(void **state)
{
    (void)state;
    struct opened o;
    struct fault fault = { "" };
    log_set(LOG_ERROR, false);
    assert_int_equal(
        open_text(&o, BPE("\"truncation\":{\"max_length\":2},\"padding\":{\"pad_id\":0},"), &fault),
        STATUS_OK);
    assert_int_equal(o.card.n_tokens, 5);
    close_text(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_bpe),
        cmocka_unit_test(reads_affixes),
        cmocka_unit_test(reads_unigram),
        cmocka_unit_test(scores_are_rounded_as_in_the_library),
        cmocka_unit_test(reads_word_piece),
        cmocka_unit_test(adds_the_tokens_of_other_files),
        cmocka_unit_test(refuses_by_name),
        cmocka_unit_test(truncation_and_padding_are_not_applied),
    };
    return cmocka_run_group_tests_name("weights/tokenizer_json", tests, NULL, NULL);
}
