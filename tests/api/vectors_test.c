/* Vectors: cut, normalised, compared, and as base64. */
#include "test.h"
#include "api/vectors.h"

static void test_base64(void **state)
{
    (void)state;
    static const struct {
        float vector[4];
        int32_t n;
        const char *text;
    } rows[] = {
        { { 0 }, 0, "" },
        { { 1 }, 1, "AACAPw==" },
        { { 1, -2 }, 2, "AACAPwAAAMA=" },
        { { 1, -2, 0.5f }, 3, "AACAPwAAAMAAAAA/" },
        { { 1, -2, 0.5f, 3.14159274f }, 4, "AACAPwAAAMAAAAA/2w9JQA==" },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct str out;
        str_init(&out);
        str_add_text(&out, "");
        api_vectors_base64(rows[i].vector, rows[i].n, &out);
        assert_int_equal(out.n, strlen(rows[i].text));
        if (out.n > 0)
            assert_string_equal(out.at, rows[i].text);
        str_free(&out);
    }
}

static void test_finish(void **state)
{
    (void)state;
    float vector[] = { 3, 4, 12 }, zeros[] = { 0, 0 };
    assert_int_equal(api_vectors_finish(vector, 3, 0, false), 3);
    assert_true(vector[0] == 3 && vector[2] == 12);
    assert_int_equal(api_vectors_finish(vector, 3, 2, true), 2);
    assert_true(vector[0] == 0.6f && vector[1] == 0.8f && vector[2] == 12);
    assert_int_equal(api_vectors_finish(vector, 3, 9, false), 3);
    assert_int_equal(api_vectors_finish(zeros, 2, 0, true), 2);
    assert_true(zeros[0] == 0 && zeros[1] == 0);
}

static void test_cosine(void **state)
{
    (void)state;
    const float a[] = { 1, 0 }, b[] = { 0, 5 }, c[] = { -2, 0 }, d[] = { 3, 3 }, zero[] = { 0, 0 };
    assert_true(api_vectors_cosine(a, b, 2) == 0);
    assert_true(api_vectors_cosine(a, c, 2) == -1);
    assert_true(api_vectors_cosine(a, a, 2) == 1);
    assert_float_equal(api_vectors_cosine(a, d, 2), 0.70710678, 1e-7);
    assert_true(api_vectors_cosine(a, zero, 2) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_base64),
        cmocka_unit_test(test_finish),
        cmocka_unit_test(test_cosine),
    };
    return cmocka_run_group_tests_name("api/vectors", tests, NULL, NULL);
}
