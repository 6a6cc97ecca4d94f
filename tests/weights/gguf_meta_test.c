/* Typed metadata: values by type, defaults, wrong types and ranges. */
#include "weights/refused.h"
#include "weights/build.h"
#include "weights/gguf_meta.h"

struct opened {
    struct weights_gguf gguf;
    unsigned char *bytes;
};

static void open_values(struct opened *o)
{
    static const char *const texts[] = { "x", "", "yz" };
    struct build b;
    size_t n;
    build_init(&b);
    build_u32(&b, "u32", 7);
    build_f32(&b, "f32", 0.5f);
    build_bool(&b, "bool", true);
    build_text(&b, "text", "hello");
    build_texts(&b, "texts", texts, 3);
    build_key(&b, "i8", GGUF_I8);
    build_put(&b.values, 0xFE, 1);
    build_key(&b, "i16", GGUF_I16);
    build_put(&b.values, 0x7FFF, 2);
    build_key(&b, "u64", GGUF_U64);
    build_put(&b.values, UINT64_MAX, 8);
    build_key(&b, "f64", GGUF_F64);
    double x = 0.25, infinite = 1e308 * 10;
    str_add(&b.values, (const char *)&x, 8);
    build_key(&b, "infinite", GGUF_F64);
    str_add(&b.values, (const char *)&infinite, 8);
    o->bytes = build_end(&b, &n);
    struct fault fault;
    assert_int_equal(weights_gguf_read(&o->gguf, o->bytes, n, &fault), STATUS_OK);
    build_free(&b);
}

static void close_values(struct opened *o)
{
    weights_gguf_close(&o->gguf);
    mem_give(o->bytes);
}

static void gives_values(void **state)
{
    (void)state;
    struct opened o;
    struct fault fault = { 0 };
    int64_t i = -5;
    float f = 0;
    bool flag = false;
    struct view text = { 0 };
    open_values(&o);
    assert_int_equal(weights_gguf_meta_i64(&o.gguf, "absent", 0, 1, &i, &fault), STATUS_OK);
    assert_int_equal(i, -5);
    assert_int_equal(weights_gguf_meta_i64(&o.gguf, "u32", 0, 9, &i, &fault), STATUS_OK);
    assert_int_equal(i, 7);
    assert_int_equal(weights_gguf_meta_i64(&o.gguf, "i8", -9, 9, &i, &fault), STATUS_OK);
    assert_int_equal(i, -2);
    assert_int_equal(weights_gguf_meta_i64(&o.gguf, "i16", 0, 1 << 20, &i, &fault), STATUS_OK);
    assert_int_equal(i, 32767);
    assert_int_equal(weights_gguf_meta_f32(&o.gguf, "f32", &f, &fault), STATUS_OK);
    assert_true(f == 0.5f);
    assert_int_equal(weights_gguf_meta_f32(&o.gguf, "f64", &f, &fault), STATUS_OK);
    assert_true(f == 0.25f);
    assert_int_equal(weights_gguf_meta_bool(&o.gguf, "bool", &flag, &fault), STATUS_OK);
    assert_true(flag);
    assert_int_equal(weights_gguf_meta_text(&o.gguf, "text", &text, &fault), STATUS_OK);
    assert_true(view_equal_text(text, "hello"));
    close_values(&o);
}

static void walks_texts(void **state)
{
    (void)state;
    struct opened o;
    struct fault fault = { 0 };
    const struct weights_gguf_value *array;
    size_t cursor = 0;
    open_values(&o);
    assert_int_equal(weights_gguf_meta_array(&o.gguf, "texts", GGUF_TEXT, &array, &fault),
                     STATUS_OK);
    assert_int_equal(array->n, 3);
    assert_true(view_equal_text(weights_gguf_meta_next_text(array, &cursor), "x"));
    assert_true(view_equal_text(weights_gguf_meta_next_text(array, &cursor), ""));
    assert_true(view_equal_text(weights_gguf_meta_next_text(array, &cursor), "yz"));
    assert_int_equal(cursor, array->n_bytes);
    assert_int_equal(weights_gguf_meta_array(&o.gguf, "none", GGUF_TEXT, &array, &fault),
                     STATUS_OK);
    assert_null(array);
    close_values(&o);
}

static void refuses_wrong_types(void **state)
{
    (void)state;
    struct opened o;
    struct fault fault = { 0 };
    int64_t i = 0;
    float f = 0;
    bool flag = false;
    struct view text;
    const struct weights_gguf_value *array;
    open_values(&o);
    assert_refused(weights_gguf_meta_i64(&o.gguf, "text", 0, 9, &i, &fault), STATUS_BAD_INPUT,
                   &fault, "text is a text, expected an integer");
    assert_refused(weights_gguf_meta_i64(&o.gguf, "u64", 0, 9, &i, &fault), STATUS_BAD_INPUT,
                   &fault, "u64 is");
    assert_refused(weights_gguf_meta_i64(&o.gguf, "u32", 0, 6, &i, &fault), STATUS_BAD_INPUT,
                   &fault, "u32 is 7, expected 0 to 6");
    assert_refused(weights_gguf_meta_f32(&o.gguf, "u32", &f, &fault), STATUS_BAD_INPUT, &fault,
                   "u32 is a uint32, expected a float");
    assert_refused(weights_gguf_meta_f32(&o.gguf, "infinite", &f, &fault), STATUS_BAD_INPUT, &fault,
                   "infinite isn't a finite number");
    assert_refused(weights_gguf_meta_bool(&o.gguf, "u32", &flag, &fault), STATUS_BAD_INPUT, &fault,
                   "expected a bool");
    assert_refused(weights_gguf_meta_text(&o.gguf, "bool", &text, &fault), STATUS_BAD_INPUT, &fault,
                   "bool is a bool, expected a text");
    assert_refused(weights_gguf_meta_array(&o.gguf, "u32", GGUF_TEXT, &array, &fault),
                   STATUS_BAD_INPUT, &fault, "expected an array");
    assert_refused(weights_gguf_meta_array(&o.gguf, "texts", GGUF_F32, &array, &fault),
                   STATUS_BAD_INPUT, &fault, "an element of texts is a text");
    close_values(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_values),
        cmocka_unit_test(walks_texts),
        cmocka_unit_test(refuses_wrong_types),
    };
    return cmocka_run_group_tests_name("weights/gguf_meta", tests, NULL, NULL);
}
