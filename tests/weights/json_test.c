/* The JSON reader against jansson, and typed access. */
#include "weights/refused.h"
#include "base/mem.h"
#include "base/rng.h"
#include "weights/json.h"
#include <jansson.h>

static enum status parse_bytes_of(struct weights_json *json, const char *text, size_t n,
                                  struct fault *fault)
{
    char *copy = mem_take(n + 1);
    memcpy(copy, text, n);
    return weights_json_parse(json, copy, n, "x.json", fault);
}

static enum status parse(struct weights_json *json, const char *text, struct fault *fault)
{
    return parse_bytes_of(json, text, strlen(text), fault);
}

static void assert_same(const struct weights_json_node *node, json_t *value);

static void assert_same_members(const struct weights_json_node *node, json_t *value)
{
    const char *key;
    json_t *member;
    size_t i;
    assert_int_equal(node->kind, json_is_object(value) ? WEIGHTS_JSON_OBJECT : WEIGHTS_JSON_ARRAY);
    if (json_is_object(value) && json_object_size(value) != node->n)
        return; /* keys that occur twice */
    const struct weights_json_node *inner = node + 1;
    if (json_is_object(value)) {
        json_object_foreach(value, key, member) {
            assert_int_equal(inner->key_bytes, strlen(key));
            assert_memory_equal(inner->key, key, inner->key_bytes);
            assert_same(inner, member);
            inner = weights_json_next(inner);
        }
    } else {
        assert_int_equal(node->n, json_array_size(value));
        json_array_foreach(value, i, member) {
            assert_same(inner, member);
            inner = weights_json_next(inner);
        }
    }
    assert_ptr_equal(inner, weights_json_next(node));
}

static void assert_same(const struct weights_json_node *node, json_t *value)
{
    int64_t integer = 0;
    double real = 0;
    if (json_is_object(value) || json_is_array(value)) {
        assert_same_members(node, value);
    } else if (json_is_string(value)) {
        size_t n = json_string_length(value);
        bool has_nul = memchr(json_string_value(value), '\0', n) != NULL;
        assert_int_equal(node->kind, has_nul ? WEIGHTS_JSON_TEXT_NUL : WEIGHTS_JSON_TEXT);
        assert_int_equal(node->n, n);
        assert_memory_equal(node->text, json_string_value(value), n);
        assert_int_equal(node->text[n], '\0');
    } else if (json_is_integer(value)) {
        assert_int_equal(node->kind, WEIGHTS_JSON_INTEGER);
        assert_true(weights_json_to_i64(node, &integer));
        assert_int_equal(integer, json_integer_value(value));
    } else if (json_is_real(value)) {
        assert_int_equal(node->kind, WEIGHTS_JSON_REAL);
        assert_true(weights_json_to_f64(node, &real));
        assert_true(real == json_real_value(value));
    } else {
        assert_int_equal(node->kind, json_is_true(value)    ? WEIGHTS_JSON_TRUE
                                     : json_is_false(value) ? WEIGHTS_JSON_FALSE
                                                            : WEIGHTS_JSON_NULL);
    }
}

/* Both accept with the same values, or both refuse. Only jansson refuses numbers beyond its range
 * and keys with U+0000. */
static bool compare(const char *text, size_t n)
{
    struct weights_json json;
    struct fault fault = { 0 };
    json_error_t error;
    json_t *value = json_loadb(text, n, JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
    enum status status = parse_bytes_of(&json, text, n, &fault);
    enum json_error_code code = value == NULL ? json_error_code(&error) : json_error_unknown;
    bool is_range = code == json_error_numeric_overflow || code == json_error_null_byte_in_key;
    if ((value != NULL) != (status == STATUS_OK) && !is_range)
        print_error("%.*s: %s | %s\n", (int)n, text, fault.text, error.text);
    assert_true((value != NULL) == (status == STATUS_OK) || is_range);
    if (status == STATUS_OK && value != NULL)
        assert_same(json.nodes, value);
    assert_true(status == STATUS_OK || strncmp(fault.text, "x.json: not valid JSON", 22) == 0);
    bool is_accepted = status == STATUS_OK;
    weights_json_close(&json);
    json_decref(value);
    return is_accepted;
}

static const char *const samples[] = {
    "{\"a\": [1, -2.5e+3, 0, -0, 0.5, true, false, null], \"b\": {\"c\": {}}, \"\": []}",
    ("[\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\u20AC\\ud83d\\ude00\", \"h\xc3\xa9llo "
     "\xf0\x9f\x98\x80\"]"),
    " [ [ [ ] , [ { } ] ] , \"x\" ] \n",
    "12",
    "\"text\"",
    "[1 2]",
    "[1,]",
    "{\"a\":1,}",
    "{\"a\" 1}",
    "{a:1}",
    "[01]",
    "[1.]",
    "[.5]",
    "[+1]",
    "[1e]",
    "[-]",
    "[\"\\ud83d\"]",
    "[\"\\ude00\"]",
    "[\"\\ud83d\\u0041\"]",
    "[\"\\u0000\"]",
    "[\"\\x\"]",
    "[\"\\u12g4\"]",
    "[\"a\nb\"]",
    "[\"\xff\"]",
    "[\"\xc0\xaf\"]",
    "[\"\xed\xa0\x80\"]",
    "[\"open",
    "[\"\\",
    "[tru]",
    "[nul",
    "{",
    "[",
    "]",
    "{} {}",
    "",
    "'a'",
    "[\"a\\u0000b\"]",
    "[NaN1]",
    "[Inf]",
    "[-NaN]",
    "[nan]",
    "[--Infinity]",
};

static void agrees_with_jansson(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(samples); i++)
        compare(samples[i], strlen(samples[i]));
}

static void agrees_on_mutations(void **state)
{
    (void)state;
    static const char bytes[] = "{}[]\",:\\u0019.eE-+ \ntfnal\x80\xc3\xed";
    struct rng rng;
    int n_accepted = 0;
    rng_init(&rng, test_seed(11), 0);
    for (int round = 0; round < 60000; round++) {
        char text[256];
        const char *sample = samples[rng_below(&rng, 5)];
        size_t n = strlen(sample);
        memcpy(text, sample, n);
        for (uint32_t k = rng_below(&rng, 3) + 1; k > 0; k--) {
            char c = bytes[rng_below(&rng, sizeof(bytes) - 1)];
            size_t at = rng_below(&rng, (uint32_t)n);
            if (rng_below(&rng, 2) == 0) {
                text[at] = c;
            } else if (n < sizeof(text) - 1) {
                memmove(text + at + 1, text + at, n - at);
                text[at] = c;
                n++;
            }
        }
        n_accepted += compare(text, n);
    }
    assert_true(n_accepted > 500); /* both outcomes were seen */
}

static void bounds_depth(void **state)
{
    (void)state;
    struct weights_json json;
    struct fault fault = { 0 };
    char text[256];
    memset(text, '[', 64);
    memset(text + 64, ']', 64);
    assert_int_equal(parse_bytes_of(&json, text, 128, &fault), STATUS_OK);
    weights_json_close(&json);
    memset(text, '[', 65);
    assert_refused(parse_bytes_of(&json, text, 130, &fault), STATUS_BAD_INPUT, &fault,
                   "nested too deeply");
}

static void bounds_values(void **state)
{
    (void)state;
    struct weights_json json;
    struct fault fault = { 0 };
    size_t n = 2 * (size_t)WEIGHTS_JSON_NODES_MAX + 1;
    char *text = mem_take(n + 1);
    for (size_t i = 0; i < n; i++)
        text[i] = i % 2 == 1 ? '0' : ',';
    text[0] = '[';
    text[n - 1] = ']';
    assert_refused(weights_json_parse(&json, text, n, "x.json", &fault), STATUS_BAD_INPUT, &fault,
                   "too many values");
}

static void names_the_line(void **state)
{
    (void)state;
    struct weights_json json;
    struct fault fault = { 0 };
    assert_refused(parse(&json, "{\n\"a\": 1,\n\"b\" 2}", &fault), STATUS_BAD_INPUT, &fault,
                   "line 3: a colon is missing");
    assert_refused(weights_json_open(&json, "/nonexistent.json", 100, "n.json", &fault),
                   STATUS_NOT_FOUND, &fault, "/nonexistent.json");
}

static void reads_what_python_writes(void **state)
{
    (void)state;
    struct weights_json json;
    struct fault fault = { 0 };
    float f = 2;
    int64_t i = 3;
    const char *text = NULL;
    assert_int_equal(parse(&json,
                           "{\"a\":NaN,\"b\":Infinity,\"c\":-Infinity,\"k\":1,\"k\":2,"
                           "\"gone\":4,\"gone\":null,\"x\\u0000y\":5,\"x\":6,\"t\":\"p\\u0000q\"}",
                           &fault),
                     STATUS_OK);
    struct weights_json_from from = { json.nodes, "x.json", &fault };
    assert_refused(weights_json_f32(&from, "a", &f), STATUS_BAD_INPUT, &fault,
                   "a isn't a number that a float holds (it is NaN)");
    assert_refused(weights_json_i64(&from, "b", 0, 9, &i), STATUS_BAD_INPUT, &fault,
                   "b isn't an integer (it is Infinity)");
    assert_refused(weights_json_f32(&from, "c", &f), STATUS_BAD_INPUT, &fault, "(it is -Infinity)");
    assert_refused(weights_json_text(&from, "t", &text), STATUS_BAD_INPUT, &fault,
                   "t isn't a text (it is a text with U+0000)");
    assert_int_equal(weights_json_i64(&from, "k", 0, 9, &i), STATUS_OK);
    assert_int_equal(i, 2);
    assert_int_equal(weights_json_i64(&from, "x", 0, 9, &i), STATUS_OK);
    assert_int_equal(i, 6);
    assert_null(weights_json_find(json.nodes, "gone"));
    assert_int_equal(weights_json_member(json.nodes, "gone")->kind, WEIGHTS_JSON_NULL);
    assert_null(weights_json_member(json.nodes, "none"));
    weights_json_close(&json);
}

static void gives_members_by_type(void **state)
{
    (void)state;
    struct weights_json json;
    struct fault fault = { 0 };
    int64_t i = 5;
    float f = 1;
    bool flag = false;
    const char *text = NULL;
    assert_int_equal(parse(&json,
                           "{\"n\":null,\"i\":7,\"r\":4096.0,\"f\":0.5,\"t\":\"x\",\"b\":true,"
                           "\"long\":123456789012345678901234567890,\"big\":1e300,\"i\":8,"
                           "\"odd\":1.5}",
                           &fault),
                     STATUS_OK);
    struct weights_json_from from = { json.nodes, "x.json", &fault };
    assert_int_equal(weights_json_i64(&from, "n", 0, 9, &i), STATUS_OK);
    assert_int_equal(weights_json_i64(&from, "none", 0, 9, &i), STATUS_OK);
    assert_int_equal(i, 5);
    assert_int_equal(weights_json_i64(&from, "i", 0, 9, &i), STATUS_OK);
    assert_int_equal(i, 8);
    assert_int_equal(weights_json_i64(&from, "r", 0, 9999, &i), STATUS_OK);
    assert_int_equal(i, 4096);
    assert_int_equal(weights_json_f32(&from, "f", &f), STATUS_OK);
    assert_true(f == 0.5f);
    assert_int_equal(weights_json_bool(&from, "b", &flag), STATUS_OK);
    assert_true(flag);
    assert_int_equal(weights_json_text(&from, "t", &text), STATUS_OK);
    assert_string_equal(text, "x");
    assert_refused(weights_json_i64(&from, "t", 0, 9, &i), STATUS_BAD_INPUT, &fault,
                   "x.json: t isn't an integer");
    assert_refused(weights_json_i64(&from, "odd", 0, 9, &i), STATUS_BAD_INPUT, &fault,
                   "odd isn't an integer");
    assert_refused(weights_json_i64(&from, "long", 0, 9, &i), STATUS_BAD_INPUT, &fault,
                   "long isn't an integer");
    assert_refused(weights_json_i64(&from, "i", 0, 6, &i), STATUS_BAD_INPUT, &fault,
                   "i is 8, expected 0 to 6");
    assert_refused(weights_json_f32(&from, "big", &f), STATUS_BAD_INPUT, &fault, "big isn't");
    assert_refused(weights_json_bool(&from, "i", &flag), STATUS_BAD_INPUT, &fault, "i isn't true");
    assert_refused(weights_json_text(&from, "i", &text), STATUS_BAD_INPUT, &fault,
                   "i isn't a text");
    assert_null(weights_json_find(weights_json_find(json.nodes, "i"), "x"));
    assert_null(weights_json_find(NULL, "x"));
    weights_json_close(&json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_jansson),   cmocka_unit_test(agrees_on_mutations),
        cmocka_unit_test(bounds_depth),          cmocka_unit_test(bounds_values),
        cmocka_unit_test(names_the_line),        cmocka_unit_test(reads_what_python_writes),
        cmocka_unit_test(gives_members_by_type),
    };
    return cmocka_run_group_tests_name("weights/json", tests, NULL, NULL);
}
