/* The ledger never promises a byte twice. */
#include "test.h"
#include "kv/ledger.h"

static void books_what_fits(void **state)
{
    (void)state;
    struct ledger ledger;
    struct ledger_model models[2] = { 0 };
    ledger_init(&ledger, 1000, models, 2);
    assert_true(ledger_set_pool(&ledger, 600));
    assert_int_equal(ledger_free_bytes(&ledger), 400);
    assert_false(ledger_take_model(&ledger, 0, 300, 101));
    assert_true(ledger_take_model(&ledger, 0, 300, 100));
    assert_false(ledger_set_pool(&ledger, 601));
    assert_false(ledger_take_model(&ledger, 1, 1, 0));
    assert_true(ledger_set_pool(&ledger, 200));
    assert_true(ledger_take_model(&ledger, 1, 350, 50));
    assert_int_equal(ledger_free_bytes(&ledger), 0);
    ledger_put_model(&ledger, 0);
    assert_int_equal(ledger_free_bytes(&ledger), 400);
    assert_true(ledger_set_pool(&ledger, 600));
    assert_int_equal(ledger_free_bytes(&ledger), 0);
}

static void refuses_sums_that_overflow(void **state)
{
    (void)state;
    struct ledger ledger;
    struct ledger_model models[2] = { 0 };
    ledger_init(&ledger, 1000, models, 2);
    assert_false(ledger_take_model(&ledger, 0, INT64_MAX, INT64_MAX));
    assert_false(ledger_take_model(&ledger, 0, 1, INT64_MAX));
    assert_false(ledger_set_pool(&ledger, INT64_MAX));
    assert_int_equal(ledger_free_bytes(&ledger), 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(books_what_fits),
        cmocka_unit_test(refuses_sums_that_overflow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
