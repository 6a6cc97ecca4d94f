/* Random documents: json_out writes them, jansson reads them back, and the result must be equal. */
#include "test.h"
#include "base/json_out.h"
#include "base/rng.h"
#include <jansson.h>

static struct rng rng;

/* Random text: mostly valid characters of all lengths, sometimes broken bytes. */
static void make_text(struct str *text, bool is_clean)
{
    str_clear(text);
    str_add(text, "", 0);
    for (uint32_t i = rng_below(&rng, 12); i > 0; i--) {
        char bytes[4];
        static const uint32_t ranges[] = { 0x20, 0x80, 0x800, 0x10000, 0x110000 };
        int n = utf8_encode(rng_below(&rng, ranges[rng_below(&rng, 5)]), bytes);
        if (!is_clean && rng_below(&rng, 4) == 0) {
            bytes[0] = (char)rng_below(&rng, 256);
            n = 1;
        }
        str_add(text, bytes, (size_t)n);
    }
}

/* Writes a random value, and returns the same value for jansson. */
static json_t *write_value(struct json_out *json, struct str *text, int depth)
{
    uint32_t kind = rng_below(&rng, depth < 6 ? 7 : 5);
    switch (kind) {
    case 0:
        json_out_null(json);
        return json_null();
    case 1: {
        bool value = rng_below(&rng, 2) == 1;
        json_out_bool(json, value);
        return json_boolean(value);
    }
    case 2: {
        int64_t value = (int64_t)rng_u64(&rng) >> rng_below(&rng, 64);
        json_out_i64(json, value);
        return json_integer(value);
    }
    case 3: {
        double value = (double)(int32_t)rng_u64(&rng) / 4 + 0.25;
        value = value - (double)(int64_t)value == 0 ? value + 0.25 : value;
        json_out_f64(json, value);
        char nine[40];
        snprintf(nine, sizeof(nine), "%.9g", value);
        if (strpbrk(nine, ".e") == NULL)
            return json_integer(strtoll(nine, NULL, 10));
        return json_real(strtod(nine, NULL));
    }
    case 4:
        make_text(text, true);
        json_out_view(json, view_of(text->at, text->n));
        return json_stringn(text->at, text->n);
    case 5: {
        json_t *array = json_array();
        json_out_open(json, '[');
        for (uint32_t i = rng_below(&rng, 4); i > 0; i--)
            json_array_append_new(array, write_value(json, text, depth + 1));
        json_out_close(json, ']');
        return array;
    }
    default: {
        json_t *object = json_object();
        json_out_open(json, '{');
        for (uint32_t i = rng_below(&rng, 4); i > 0; i--) {
            char key[16];
            snprintf(key, sizeof(key), "k\"\xC3\xA9%u", i);
            json_out_key(json, key);
            json_object_set_new(object, key, write_value(json, text, depth + 1));
        }
        json_out_close(json, '}');
        return object;
    }
    }
}

static void test_round_trip(void **state)
{
    (void)state;
    struct str out, text;
    str_init(&out);
    str_init(&text);
    rng_init(&rng, test_seed(1), 0);
    for (int round = 0; round < 5000; round++) {
        struct json_out json;
        json_error_t error;
        str_clear(&out);
        json_out_init(&json, &out);
        json_t *wanted = write_value(&json, &text, 0);
        json_t *got = json_loadb(out.at, out.n,
                                 JSON_DECODE_ANY | JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES, &error);
        if (got == NULL)
            fail_msg("round %d: %s in %s", round, error.text, out.at);
        if (!json_equal(wanted, got))
            fail_msg("round %d: not the same: %s", round, out.at);
        json_decref(wanted);
        json_decref(got);
    }
    str_free(&out);
    str_free(&text);
}

static void test_broken_text_becomes_valid(void **state)
{
    (void)state;
    struct str out, text;
    str_init(&out);
    str_init(&text);
    rng_init(&rng, test_seed(2), 0);
    for (int round = 0; round < 20000; round++) {
        struct json_out json;
        str_clear(&out);
        make_text(&text, false);
        json_out_init(&json, &out);
        json_out_view(&json, view_of(text.at, text.n));
        json_t *got = json_loadb(out.at, out.n, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
        assert_non_null(got);
        if (utf8_is_valid(view_of(text.at, text.n))) {
            assert_int_equal(json_string_length(got), text.n);
            assert_memory_equal(json_string_value(got), text.at, text.n);
        }
        json_decref(got);
    }
    str_free(&out);
    str_free(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_broken_text_becomes_valid),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
