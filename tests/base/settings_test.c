/* Fields by name: every kind is stored as written, and a wrong text changes nothing. */
#include "../test.h"
#include "base/settings.h"
#include "base/time.h"

enum fruit { APPLE, PEAR, PLUM };
struct basket {
    int32_t n;
    uint64_t seed;
    int64_t bytes, ns;
    double weight;
    bool is_full;
    enum fruit fruit;
};
static const char *const fruits[] = { "apple", "pear", "plum" };
#define ROW(field, kind, min, max)                                                                 \
    SETTINGS_ROW(struct basket, field, SETTINGS_##kind, min, max, NULL)
static const struct settings_row rows[] = {
    ROW(n, COUNT, 1, 1 << 20),
    ROW(seed, SEED, 0, 9e15),
    ROW(bytes, BYTES, 0, 1e15),
    ROW(ns, MILLISECONDS, 0.001, 1e9),
    ROW(weight, NUMBER, -1, 1),
    ROW(is_full, FLAG, 0, 1),
    SETTINGS_ROW(struct basket, fruit, SETTINGS_WORD, 0, 0, fruits),
};

static enum status set(struct basket *basket, const char *text)
{
    struct fault fault = { 0 };
    const struct settings_row *row = settings_find(rows, COUNT_OF(rows), text);
    if (row == NULL)
        return STATUS_NOT_FOUND;
    enum status status = settings_set(basket, row, text, &fault);
    assert_int_equal(status == STATUS_OK, fault.text[0] == '\0');
    return status;
}

static void test_kinds(void **state)
{
    (void)state;
    struct basket basket = { 0 };
    static const char *const texts[] = { "n=1048576", "seed=9000000000000000", "bytes=1e15",
                                         "ns=0.3",    "weight=-0.25",          "is_full=1",
                                         "fruit=plum" };
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        assert_int_equal(set(&basket, texts[i]), STATUS_OK);
    assert_int_equal(basket.n, 1 << 20);
    assert_true(basket.seed == UINT64_C(9000000000000000));
    assert_true(basket.bytes == INT64_C(1000000000000000));
    assert_int_equal(basket.ns, 300000);
    assert_true(basket.weight == -0.25 && basket.is_full && basket.fruit == PLUM);
}

static void test_wrong(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "n=0",     "n=1.5",      "n=",       "n= 5",       "n=0x10",     "n=1048577", "n=9x",
        "n=nan",   "weight=inf", "weight=2", "weight=nan", "is_full=2",  "ns=0",      "ns=1e10",
        "seed=-1", "is_full=",   "fruit=",   "fruit=fig",  "bytes=1e16", "n=1e400",   "is_full=0.5",
    };
    struct basket basket = { .n = 5, .weight = 0.5, .fruit = PEAR };
    const struct basket before = basket;
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        if (set(&basket, wrong[i]) != STATUS_BAD_INPUT)
            fail_msg("taken: %s", wrong[i]);
        assert_memory_equal(&basket, &before, sizeof(basket));
    }
    assert_int_equal(set(&basket, "none=1"), STATUS_NOT_FOUND);
    assert_int_equal(set(&basket, "n"), STATUS_NOT_FOUND);
    assert_int_equal(set(&basket, ""), STATUS_NOT_FOUND);
    assert_int_equal(set(&basket, "nn=1"), STATUS_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_kinds),
                                        cmocka_unit_test(test_wrong) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
