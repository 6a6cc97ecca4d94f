/* The lists of steps: the fields of each kind, nested sequences, and refusals by name. */
#include "weights/refused.h"
#include "base/mem.h"
#include "weights/tokenizer_steps.h"

static struct {
    struct weights_json json;
    struct pile pile;
    struct tokenizer_steps steps;
} now;

static enum status read_steps(const char *text, struct fault *fault)
{
    now.steps = (struct tokenizer_steps){ 0 };
    pile_init(&now.pile);
    assert_int_equal(
        weights_json_parse(&now.json, mem_copy_text(text), strlen(text), "tokenizer.json", fault),
        STATUS_OK);
    return weights_tokenizer_steps(now.json.nodes, &now.pile, &now.steps, fault);
}

static void forget(void)
{
    weights_json_close(&now.json);
    pile_free(&now.pile);
}

static const struct tokenizer_step *read_splitter(const char *step)
{
    char text[512];
    struct fault fault = { "" };
    (void)snprintf(text, sizeof(text), "{\"pre_tokenizer\":%s}", step);
    if (read_steps(text, &fault) != STATUS_OK)
        fail_msg("%s: %s", step, fault.text);
    assert_int_equal(now.steps.n_splitters, 1);
    return now.steps.splitters;
}

static void reads_splitters(void **state)
{
    (void)state;
    const struct tokenizer_step *step =
        read_splitter("{\"type\":\"Metaspace\",\"replacement\":\"\xE2\x96\x81\","
                      "\"prepend_scheme\":\"first\",\"split\":false}");
    assert_true(step->kind == STEP_METASPACE && step->scheme == SCHEME_FIRST && !step->splits);
    forget();
    step =
        read_splitter("{\"type\":\"Metaspace\",\"replacement\":\"_\",\"add_prefix_space\":true}");
    assert_true(step->scheme == SCHEME_ALWAYS && step->splits);
    forget();
    step =
        read_splitter("{\"type\":\"Metaspace\",\"replacement\":\"_\",\"add_prefix_space\":false}");
    assert_true(step->scheme == SCHEME_NEVER);
    forget();
    step = read_splitter("{\"type\":\"Split\",\"pattern\":{\"Regex\":\"x+\"},"
                         "\"behavior\":\"MergedWithNext\",\"invert\":true}");
    assert_true(step->is_regex && view_equal_text(step->pattern, "x+") && step->is_inverted);
    assert_int_equal(step->behavior, BEHAVIOR_MERGED_WITH_NEXT);
    forget();
    step = read_splitter("{\"type\":\"ByteLevel\",\"add_prefix_space\":true}");
    assert_true(step->kind == STEP_BYTE_LEVEL && step->adds_space && step->uses_regex);
    forget();
    step = read_splitter("{\"type\":\"Digits\",\"individual_digits\":false}");
    assert_true(step->kind == STEP_DIGITS && step->behavior == BEHAVIOR_CONTIGUOUS);
    forget();
    step = read_splitter("{\"type\":\"Punctuation\"}");
    assert_true(step->kind == STEP_PUNCTUATION && step->behavior == BEHAVIOR_ISOLATED);
    forget();
}

static void takes_sequences_apart(void **state)
{
    (void)state;
    struct fault fault = { "" };
    assert_int_equal(
        read_steps("{\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"NFC\"},"
                   "{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"Replace\",\"pattern\":"
                   "{\"String\":\" \"},\"content\":\"_\"},{\"type\":\"BertNormalizer\","
                   "\"clean_text\":true,\"handle_chinese_chars\":false,\"strip_accents\":null,"
                   "\"lowercase\":true}]},{\"type\":\"Precompiled\",\"precompiled_charsmap\":"
                   "\"AAEC/w==\"}]},\"pre_tokenizer\":null,\"decoder\":{\"type\":\"Sequence\","
                   "\"decoders\":[]}}",
                   &fault),
        STATUS_OK);
    assert_int_equal(now.steps.n_normalizers, 4);
    const struct tokenizer_step *steps = now.steps.normalizers;
    assert_int_equal(steps[0].kind, STEP_NFC);
    assert_true(steps[1].kind == STEP_REPLACE && !steps[1].is_regex);
    assert_true(steps[2].cleans_text && !steps[2].spaces_chinese && steps[2].strips_accents);
    assert_int_equal(steps[3].content.n, 4);
    assert_memory_equal(steps[3].content.at, "\x00\x01\x02\xFF", 4);
    assert_int_equal(now.steps.n_splitters, 0);
    assert_true(now.steps.has_decoder && now.steps.n_decoders == 0);
    forget();
}

static void reads_decoders(void **state)
{
    (void)state;
    struct fault fault = { "" };
    assert_int_equal(
        read_steps("{\"decoder\":{\"type\":\"Sequence\",\"decoders\":[{\"type\":\"ByteFallback\"},"
                   "{\"type\":\"Fuse\"},{\"type\":\"Strip\",\"content\":\" \",\"start\":1,"
                   "\"stop\":2},{\"type\":\"WordPiece\",\"prefix\":\"##\",\"cleanup\":true},"
                   "{\"type\":\"BPEDecoder\",\"suffix\":\"</w>\"}]}}",
                   &fault),
        STATUS_OK);
    const struct tokenizer_step *steps = now.steps.decoders;
    assert_int_equal(now.steps.n_decoders, 5);
    assert_true(steps[0].kind == STEP_BYTE_FALLBACK && steps[1].kind == STEP_FUSE);
    assert_true(steps[2].kind == STEP_STRIP_CHARACTER && steps[2].start == 1 && steps[2].stop == 2);
    assert_true(steps[3].cleans_up && view_equal_text(steps[3].content, "##"));
    assert_true(view_equal_text(steps[4].content, "</w>"));
    forget();
}

static void refuses_by_name(void **state)
{
    (void)state;
    static const struct {
        const char *text, *words;
    } rows[] = {
        { "{\"normalizer\":[]}", "normalizer isn't an object" },
        { "{\"normalizer\":{}}", "without a type" },
        { "{\"normalizer\":{\"type\":\"Sequence\"}}", "normalizer.normalizers isn't an array" },
        { "{\"normalizer\":{\"type\":\"Strip\",\"strip_left\":true}}", "Strip has no strip_right" },
        { "{\"normalizer\":{\"type\":\"Prepend\"}}", "Prepend has no text prepend" },
        { "{\"normalizer\":{\"type\":\"Split\"}}", "normalizer \"Split\"" },
        { "{\"normalizer\":{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"?\"}}", "base64" },
        { "{\"pre_tokenizer\":{\"type\":\"UnicodeScripts\"}}", "pre_tokenizer \"UnicodeScripts\"" },
        { "{\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":\"x\"}}", "no pattern" },
        { "{\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"String\":\"x\"},"
          "\"behavior\":\"Melted\",\"invert\":false}}",
          "behavior \"Melted\"" },
        { "{\"pre_tokenizer\":{\"type\":\"Metaspace\",\"replacement\":\"ab\"}}", "one character" },
        { "{\"pre_tokenizer\":{\"type\":\"Metaspace\",\"replacement\":\"a\","
          "\"prepend_scheme\":\"often\"}}",
          "prepend_scheme" },
        { "{\"pre_tokenizer\":{\"type\":\"Metaspace\",\"replacement\":\"a\","
          "\"prepend_scheme\":\"first\",\"add_prefix_space\":false}}",
          "contradict" },
        { "{\"pre_tokenizer\":{\"type\":\"Digits\",\"individual_digits\":1}}", "true or false" },
        { "{\"decoder\":{\"type\":\"CTC\"}}", "decoder \"CTC\"" },
        { "{\"decoder\":{\"type\":\"Strip\",\"content\":\" \",\"start\":-1}}", "number start" },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct fault fault = { 0 };
        enum status status = read_steps(rows[i].text, &fault);
        assert_true(status == STATUS_UNSUPPORTED || status == STATUS_BAD_INPUT);
        assert_refused(status, status, &fault, rows[i].words);
        forget();
    }
}

static void refuses_too_many(void **state)
{
    (void)state;
    struct fault fault = { 0 };
    struct str text;
    str_init(&text);
    str_add_text(&text,
                 "{\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"NFC\"}");
    for (int i = 0; i < TOKENIZER_STEPS_MAX; i++)
        str_add_text(&text, ",{\"type\":\"NFC\"}");
    str_add_text(&text, "]}}");
    assert_refused(read_steps(text.at, &fault), STATUS_UNSUPPORTED, &fault, "one step too many");
    str_free(&text);
    forget();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_splitters),  cmocka_unit_test(takes_sequences_apart),
        cmocka_unit_test(reads_decoders),   cmocka_unit_test(refuses_by_name),
        cmocka_unit_test(refuses_too_many),
    };
    return cmocka_run_group_tests_name("weights/tokenizer_steps", tests, NULL, NULL);
}
