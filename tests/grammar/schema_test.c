/* Grammars by hand: which texts they accept, from which byte on a text is dead, and what is
 * refused by name. */
#include "test.h"
#include "grammar/grammar.h"
#include <string.h>

/* Opens a grammar, which must compile. */
static struct grammar *opened(enum grammar_kind kind, const char *text)
{
    struct grammar *grammar;
    struct fault fault = { "" };
    if (grammar_open(&grammar, kind, view_text(text), &fault) != STATUS_OK)
        fail_msg("%s: %s", text, fault.text);
    return grammar;
}

/* Expects how many bytes of the text can be taken, and whether it is complete. */
static void expect(enum grammar_kind kind, const char *grammar_text, const char *text,
                   size_t n_taken, bool is_complete)
{
    struct grammar *grammar = opened(kind, grammar_text);
    struct grammar_state *state = grammar_state_open(grammar);
    size_t n = grammar_state_add(state, view_text(text));
    if (n != n_taken || (n == strlen(text) && grammar_state_is_complete(state)) != is_complete)
        fail_msg("%s: %s: %zu taken", grammar_text, text, n);
    grammar_state_close(state);
    grammar_close(grammar);
}

static void accepts(const char *schema, const char *text)
{
    expect(GRAMMAR_SCHEMA, schema, text, strlen(text), true);
}

static void dies(const char *schema, const char *text, size_t at)
{
    expect(GRAMMAR_SCHEMA, schema, text, at, false);
}

static void refuses(enum grammar_kind kind, const char *text, const char *word)
{
    struct grammar *grammar;
    struct fault fault = { "" };
    assert_int_not_equal(grammar_open(&grammar, kind, view_text(text), &fault), STATUS_OK);
    assert_null(grammar);
    if (strstr(fault.text, word) == NULL)
        fail_msg("%s: \"%s\" does not name %s", text, fault.text, word);
}

static void numbers_keep_their_bounds(void **state)
{
    (void)state;
    const char *bounded = "{\"type\":\"integer\",\"minimum\":-12,\"exclusiveMaximum\":120}";
    const char *real = "{\"type\":\"number\",\"exclusiveMinimum\":0.05,\"maximum\":1e3}";
    accepts(bounded, "119");
    accepts(bounded, "-12");
    accepts(bounded, "-0");
    dies(bounded, "120", 2);
    dies(bounded, "-13", 2);
    accepts(real, "0.051");
    accepts(real, "1000.0");
    dies(real, "1000.1", 5);
    dies(real, "0.05", 4);
    dies(real, "-1", 0);
    accepts("{\"type\":\"integer\",\"multipleOf\":7}", "343");
    dies("{\"type\":\"integer\",\"multipleOf\":7,\"maximum\":20,\"minimum\":8}", "13", 1);
    accepts("{\"type\":\"number\",\"multipleOf\":0.01}", "2.25");
    dies("{\"type\":\"number\",\"multipleOf\":0.01}", "2.255", 4);
}

static void properties_come_in_any_order(void **state)
{
    (void)state;
    const char *closed = "{\"properties\":{\"a\":{\"type\":\"null\"},\"b\":{\"type\":\"boolean\"}},"
                         "\"required\":[\"b\"],\"type\":\"object\",\"additionalProperties\":false}";
    const char *open = "{\"type\":\"object\",\"properties\":{\"ab\":{\"type\":\"null\"}}}";
    accepts(closed, "{\"b\": true, \"a\": null}");
    accepts(closed, "{\"a\":null,\"b\":false}");
    dies(closed, "{\"a\":null}", 9);
    dies(closed, "{\"b\":true,\"b\":true}", 11);
    dies(closed, "{\"c\":1}", 2);
    accepts(open, "{\"ac\": 5, \"ab\": null}");
    dies(open, "{\"ab\": 5}", 7);
    dies(open, "{\"\\u0061b\": 5}", 12); /* an escape is no way around a property */
}

static void strings_count_characters(void **state)
{
    (void)state;
    const char *two = "{\"type\":\"string\",\"minLength\":2,\"maxLength\":2}";
    accepts(two, "\"\xC3\xA9\\u00e9\"");
    accepts(two, "\"\\ud83d\\ude00x\"");
    dies(two, "\"a\"", 2);
    dies(two, "\"abc\"", 3);
    dies(two, "\"\xED\xA0\x80\"", 2); /* a surrogate is no character */
    accepts("{\"type\":\"string\",\"pattern\":\"^(?!no)[a-z]+$\"}", "\"nice\"");
    dies("{\"type\":\"string\",\"pattern\":\"^(?!no)[a-z]+$\"}", "\"no\"", 2);
    accepts("{\"type\":\"string\",\"format\":\"date\"}", "\"2024-02-29\"");
    dies("{\"type\":\"string\",\"format\":\"date\"}", "\"2023-02-29\"", 10);
}

static void schemas_are_joined(void **state)
{
    (void)state;
    const char *tree =
        "{\"$ref\":\"#/$defs/t\",\"$defs\":{\"t\":{\"type\":\"object\",\"properties\":"
        "{\"next\":{\"anyOf\":[{\"$ref\":\"#/$defs/t\"},{\"type\":\"null\"}]}},"
        "\"required\":[\"next\"],\"additionalProperties\":false}}}";
    const char *all = "{\"allOf\":[{\"type\":[\"integer\",\"string\"]},{\"minimum\":5}],"
                      "\"not\":{\"const\":7}}";
    const char *one = "{\"oneOf\":[{\"required\":[\"a\"]},{\"required\":[\"b\"]}],"
                      "\"type\":\"object\"}";
    accepts(tree, "{\"next\":{\"next\":null}}");
    dies(tree, "{\"next\":{}", 9);
    accepts(all, "6");
    accepts(all, "\"x\"");
    dies(all, "4,", 1);
    dies(all, "7,", 1);
    accepts(one, "{\"a\":1}");
    dies(one, "{\"a\":1,\"b\"", 9);
    accepts("{\"prefixItems\":[{\"const\":1}],\"items\":{\"const\":2},\"maxItems\":3,"
            "\"type\":\"array\"}",
            "[1, 2, 2]");
    dies("{\"items\":{\"const\":2},\"maxItems\":2,\"type\":\"array\"}", "[2,2,2]", 4);
}

static void white_space_is_bounded(void **state)
{
    (void)state;
    accepts("{\"type\":\"array\"}", "[\n    1,\n    2\n]");
    dies("{\"type\":\"array\"}", "[  1]", 2);
    dies("{\"type\":\"array\"}", " [1]", 0);
    dies("{\"type\":\"array\"}", "[\n\n1]", 2);
}

/* Nested repeats of nothing take as long as one. */
static void empty_repeats_are_quick(void **state)
{
    const char *const text = "(){20000}{20000}{20000}a";
    struct grammar *grammar;
    struct fault fault;
    (void)state;
    assert_int_equal(grammar_open(&grammar, GRAMMAR_REGEX, view_of(text, strlen(text)), &fault),
                     STATUS_OK);
    grammar_close(grammar);
}

/* Objects that nothing satisfies, and properties that need others which can't come. */
static void dead_ends_are_cut_off(void **state)
{
    (void)state;
    refuses(GRAMMAR_SCHEMA,
            "{\"type\":\"object\",\"properties\":{\"a\":{}},\"additionalProperties\":false,"
            "\"minProperties\":2}",
            "no text");
    refuses(GRAMMAR_SCHEMA,
            "{\"type\":\"object\",\"required\":[\"a\"],\"propertyNames\":{\"enum\":[\"b\"]}}",
            "no text");
    static const char needs[] =
        "{\"type\":\"object\",\"properties\":{\"a\":{},\"b\":false},"
        "\"additionalProperties\":false,\"dependentRequired\":{\"a\":[\"b\"]}}";
    accepts(needs, "{}");
    dies(needs, "{\"a\"", 1);
    static const char depends[] =
        "{\"type\":\"object\",\"dependentSchemas\":{\"a\":false,\"b\":false}}";
    accepts(depends, "{\"c\":1}");
    dies(depends, "{\"a\"", 3);
    dies(depends, "{\"b\"", 3);
}

static void keywords_are_refused_by_name(void **state)
{
    (void)state;
    refuses(GRAMMAR_SCHEMA, "{\"contains\":{}}", "contains");
    refuses(GRAMMAR_SCHEMA, "{\"type\":\"array\",\"uniqueItems\":true}", "uniqueItems");
    refuses(GRAMMAR_SCHEMA, "{\"unevaluatedProperties\":false}", "unevaluatedProperties");
    refuses(GRAMMAR_SCHEMA, "{\"$ref\":\"#/nowhere\"}", "$ref");
    refuses(GRAMMAR_SCHEMA, "{\"pattern\":\"(a)\\\\1\",\"type\":\"string\"}", "pattern");
    refuses(GRAMMAR_SCHEMA, "{\"type\":\"list\"}", "type");
    refuses(GRAMMAR_SCHEMA, "false", "no text");
    refuses(GRAMMAR_SCHEMA,
            "{\"$ref\":\"#/$defs/a\",\"$defs\":{\"a\":{\"type\":\"object\","
            "\"properties\":{\"n\":{\"$ref\":\"#/$defs/a\"}},"
            "\"required\":[\"n\"]}}}",
            "no text");
    refuses(GRAMMAR_REGEX, "(a|b)*a(a|b){24}", "states");
    refuses(GRAMMAR_GBNF, "root ::= root \"a\" | \"a\"", "left recursion");
    refuses(GRAMMAR_LARK, "%ignore \" \"\nstart: \"a\"", "%import");
    refuses(GRAMMAR_CHOICE, "[]", "at least one");
}

static void ambiguity_does_not_explode(void **state)
{
    (void)state;
    char text[401];
    memset(text, 'a', 200);
    memset(text + 200, 'b', 200);
    text[400] = '\0';
    expect(GRAMMAR_GBNF, "root ::= \"a\" root | \"a\" root \"b\" | \"\"", text, 400, true);
    expect(GRAMMAR_GBNF, "root ::= x{2,3} \"!\"\nx ::= \"a\" x | \"b\"", "abaab!", 6, true);
    expect(GRAMMAR_LARK, "start: A (\",\" A)*\nA: /[0-9]+/ | \"x\"~2", "12,xx,3", 7, true);
}

static void calls_have_literal_pieces(void **state)
{
    (void)state;
    struct str text;
    const struct grammar_call call = { view_text("<call>{\"n\":\"f\",\"a\":"),
                                       view_text("{\"type\":\"array\"}"), view_text("}</call>") };
    struct grammar_calls calls = {
        .between = view_text("\n"), .calls = &call, .n_calls = 1, .n_min = 1, .n_max = 2
    };
    str_init(&text);
    assert_true(grammar_calls_write(&calls, &text));
    expect(GRAMMAR_CALLS, text.at, "<call>{\"n\":\"f\",\"a\":[]}</call>", 29, true);
    expect(GRAMMAR_CALLS, text.at, "no", 0, false);
    str_clear(&text);
    calls.trigger = view_text("<call>");
    struct grammar_call behind = call;
    behind.prefix = view_text("{\"a\":");
    calls.calls = &behind;
    assert_true(grammar_calls_write(&calls, &text));
    expect(GRAMMAR_CALLS, text.at, "free <cal text", 14, true);
    expect(GRAMMAR_CALLS, text.at, "so <call>{\"a\":[1]}</call>", 25, true);
    expect(GRAMMAR_CALLS, text.at, "so <call>x", 9, false);
    str_free(&text);
}

static void masks_equal_the_bytes(void **state)
{
    (void)state;
    static const char *const pieces[] = { "{",   "}",   "\"",  "a",    "\":",  "1",
                                          "2\"", "\\",  "\",", "\xC3", "\xA9", "\"a\":",
                                          " ",   "\n ", "a\"", "" };
    const char *schema = "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"}}}";
    const char *texts[] = {
        "", "{", "{\"", "{\"a", "{\"a\":", "{\"a\":\"", "{\"a\":\"\xC3", "{\"b"
    };
    struct view views[COUNT_OF(pieces)];
    struct grammar *grammar = opened(GRAMMAR_SCHEMA, schema);
    struct grammar_state *now = grammar_state_open(grammar);
    for (size_t i = 0; i < COUNT_OF(pieces); i++)
        views[i] = view_text(pieces[i]);
    struct grammar_vocabulary *vocabulary = grammar_vocabulary_open(views, COUNT_OF(pieces));
    struct grammar_masks *masks = grammar_masks_open(vocabulary, 4);
    for (size_t t = 0; t < COUNT_OF(texts); t++) {
        uint32_t mask = 0;
        grammar_state_reset(now, grammar);
        assert_int_equal(grammar_state_add(now, view_text(texts[t])), strlen(texts[t]));
        assert_true(grammar_masks_fill(masks, now, &mask));
        for (size_t i = 0; i < COUNT_OF(pieces); i++) {
            grammar_state_reset(now, grammar);
            (void)grammar_state_add(now, view_text(texts[t]));
            bool fits = views[i].n > 0 && grammar_state_add(now, views[i]) == views[i].n;
            assert_int_equal(mask >> i & 1, fits);
        }
    }
    grammar_masks_close(masks);
    grammar_vocabulary_close(vocabulary);
    grammar_state_close(now);
    grammar_close(grammar);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_keep_their_bounds), cmocka_unit_test(properties_come_in_any_order),
        cmocka_unit_test(strings_count_characters),  cmocka_unit_test(schemas_are_joined),
        cmocka_unit_test(white_space_is_bounded),    cmocka_unit_test(keywords_are_refused_by_name),
        cmocka_unit_test(empty_repeats_are_quick),   cmocka_unit_test(ambiguity_does_not_explode),
        cmocka_unit_test(dead_ends_are_cut_off),     cmocka_unit_test(calls_have_literal_pieces),
        cmocka_unit_test(masks_equal_the_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
