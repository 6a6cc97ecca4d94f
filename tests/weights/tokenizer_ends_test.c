/* The ids around a text: each processor, sequences of them, and refusals by name. */
#include "weights/refused.h"
#include "base/mem.h"
#include "weights/tokenizer_ends.h"

static struct {
    struct weights_json json;
    struct pile pile;
    struct tokenizer_steps steps;
} now;

static enum status read_ends(const char *processor, struct fault *fault)
{
    char text[1024];
    (void)snprintf(text, sizeof(text), "{\"post_processor\":%s}", processor);
    now.steps = (struct tokenizer_steps){ 0 };
    pile_init(&now.pile);
    assert_int_equal(
        weights_json_parse(&now.json, mem_copy_text(text), strlen(text), "tokenizer.json", fault),
        STATUS_OK);
    return weights_tokenizer_ends(now.json.nodes, &now.pile, &now.steps, fault);
}

static void forget(void)
{
    weights_json_close(&now.json);
    pile_free(&now.pile);
}

#define PAIRS "\"cls\":[\"<s>\",5],\"sep\":[\"</s>\",7]"
/* clang-format off */
#define SPECIALS \
    "\"special_tokens\":{\"X\":{\"id\":\"X\",\"ids\":[1,2]},\"Y\":{\"ids\":[3]}}"
/* clang-format on */
#define TEMPLATE(single) "{\"type\":\"TemplateProcessing\",\"single\":[" single "]," SPECIALS "}"
#define TOKEN(name)      "{\"SpecialToken\":{\"id\":\"" name "\",\"type_id\":0}}"
#define TEXT             "{\"Sequence\":{\"id\":\"A\",\"type_id\":0}}"

static void reads_each(void **state)
{
    (void)state;
    static const struct {
        const char *processor;
        int n_before, n_behind, first, last;
    } rows[] = {
        { "null", 0, 0, 0, 0 },
        { "{\"type\":\"ByteLevel\",\"add_prefix_space\":true}", 0, 0, 0, 0 },
        { "{\"type\":\"BertProcessing\"," PAIRS "}", 1, 1, 5, 7 },
        { "{\"type\":\"RobertaProcessing\"," PAIRS "}", 1, 1, 5, 7 },
        { TEMPLATE(TEXT), 0, 0, 0, 0 },
        { TEMPLATE(TOKEN("X") "," TEXT), 2, 0, 1, 0 },
        { TEMPLATE(TEXT "," TOKEN("Y")), 0, 1, 0, 3 },
        { TEMPLATE(TOKEN("X") "," TOKEN("Y") "," TEXT "," TOKEN("X")), 3, 2, 1, 2 },
        { "{\"type\":\"Sequence\",\"processors\":[{\"type\":\"ByteLevel\"}," TEMPLATE(
              TOKEN("Y") "," TEXT) "]}",
          1, 0, 3, 0 },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct fault fault = { "" };
        if (read_ends(rows[i].processor, &fault) != STATUS_OK)
            fail_msg("%s: %s", rows[i].processor, fault.text);
        assert_int_equal(now.steps.n_before, rows[i].n_before);
        assert_int_equal(now.steps.n_behind, rows[i].n_behind);
        if (rows[i].n_before > 0)
            assert_int_equal(now.steps.before[0], rows[i].first);
        if (rows[i].n_behind > 0)
            assert_int_equal(now.steps.behind[rows[i].n_behind - 1], rows[i].last);
        forget();
    }
}

#define ITEM(kind, name, type) "{\"" kind "\":{\"id\":\"" name "\",\"type_id\":" type "}}"
#define BEFORE(name)           ITEM("SpecialToken", name, "0") "," TEXT ","
#define BEHIND(type)           ITEM("SpecialToken", "Y", type)
#define SECOND(type)           ITEM("Sequence", "B", type) "," BEHIND(type)

/* A pair has one of two forms, with the ids of a single text around both texts. */
static void reads_pairs(void **state)
{
    (void)state;
    static const struct {
        const char *pair;
        enum tokenizer_pair form;
    } rows[] = {
        { BEFORE("W") BEHIND("0") "," SECOND("1"), PAIR_ONCE },
        { BEFORE("W") BEHIND("0") "," BEHIND("0") "," SECOND("0"), PAIR_TWICE },
        { BEFORE("Y") BEHIND("0") "," SECOND("1"), PAIR_NONE }, /* another id before A */
        { TEXT "," BEHIND("0") "," SECOND("1"), PAIR_NONE },
        { SECOND("0") "," BEFORE("W") BEHIND("0"), PAIR_NONE },
        { BEFORE("W") SECOND("1"), PAIR_NONE },
        { BEFORE("W") BEHIND("0") "," SECOND("0"), PAIR_NONE },
        { BEFORE("W") BEHIND("0") "," SECOND("1") "," BEHIND("1"), PAIR_NONE },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char text[800];
        struct fault fault = { "" };
        (void)snprintf(text, sizeof(text),
                       "{\"type\":\"TemplateProcessing\",\"single\":[" BEFORE("W")
                           BEHIND("0") "],\"pair\":[%s],\"special_tokens\":{\"W\":{\"ids\":[1]},"
                                       "\"Y\":{\"ids\":[3]}}}",
                       rows[i].pair);
        assert_int_equal(read_ends(text, &fault), STATUS_OK);
        if (now.steps.pair != rows[i].form)
            fail_msg("%s has form %d", rows[i].pair, (int)now.steps.pair);
        forget();
    }
}

static void refuses_by_name(void **state)
{
    (void)state;
    static const struct {
        const char *processor, *words;
    } rows[] = {
        { "[]", "isn't an object" },
        { "{}", "\"\" is not supported" },
        { "{\"type\":\"Stamp\"}", "\"Stamp\" is not supported" },
        { "{\"type\":\"BertProcessing\",\"cls\":[\"a\",1]}", "no pairs cls and sep" },
        { "{\"type\":\"BertProcessing\",\"cls\":[\"a\",-1],\"sep\":[\"b\",1]}", "an id from 0" },
        { "{\"type\":\"TemplateProcessing\"}", "no array single" },
        { TEMPLATE(TOKEN("X")), "leaves out the text" },
        { TEMPLATE(TEXT "," TEXT), "other texts than one A" },
        { TEMPLATE("{\"Sequence\":{\"id\":\"B\"}}"), "other texts than one A" },
        { TEMPLATE(TOKEN("Z") "," TEXT), "special_tokens don't have" },
        { "{\"type\":\"Sequence\"}", "no array processors" },
        { "{\"type\":\"Sequence\",\"processors\":[" TEMPLATE(TEXT) "," TEMPLATE(TEXT) "]}",
          "behind another one" },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct fault fault = { 0 };
        enum status status = read_ends(rows[i].processor, &fault);
        assert_true(status == STATUS_UNSUPPORTED || status == STATUS_BAD_INPUT);
        assert_refused(status, status, &fault, rows[i].words);
        forget();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_each),
        cmocka_unit_test(reads_pairs),
        cmocka_unit_test(refuses_by_name),
    };
    return cmocka_run_group_tests_name("weights/tokenizer_ends", tests, NULL, NULL);
}
