/* The table reader: names, rows of all lengths, comments, line ends, nonsense. */
#include "test.h"
#include "predict/csv.h"

static void reads_rows(void **state)
{
    (void)state;
    static const char text[] =
        "# where from\nname,ms,n\r\na,1.5,2\n\n# between\nb,x\nc,,7,8\nd,2e3,9";
    struct csv csv;
    struct fault fault;
    assert_int_equal(csv_open(&csv, text, &fault), STATUS_OK);
    assert_int_equal(csv.n_columns, 3);
    int name = csv_column(&csv, "name", &fault), ms = csv_column(&csv, "ms", &fault);
    int n = csv_column(&csv, "n", &fault);
    assert_true(name == 0 && ms == 1 && n == 2);
    assert_int_equal(csv_column(&csv, "watts", &fault), -1);
    assert_string_equal(fault.text, "the table has no column watts");
    assert_true(csv_next(&csv) && csv_is(&csv, name, "a") && csv_f64(&csv, ms) == 1.5);
    assert_true(csv_next(&csv) && csv_is(&csv, name, "b") && csv_f64(&csv, ms) == 0);
    assert_true(csv_is(&csv, n, "") && csv_f64(&csv, n) == 0);
    assert_true(csv_next(&csv) && csv_is(&csv, name, "c") && csv_f64(&csv, n) == 7);
    assert_true(csv_next(&csv) && csv_f64(&csv, ms) == 2000 && csv_f64(&csv, n) == 9);
    assert_false(csv_next(&csv));
    assert_int_equal(csv_open(&csv, "", &fault), STATUS_BAD_INPUT);
    assert_int_equal(csv_open(&csv, "# only\n\n", &fault), STATUS_BAD_INPUT);
}

static void many_columns_are_cut(void **state)
{
    (void)state;
    char text[512] = "a";
    struct csv csv;
    struct fault fault;
    for (int i = 0; i < 200; i++)
        strcat(text, ",b");
    assert_int_equal(csv_open(&csv, text, &fault), STATUS_OK);
    assert_int_equal(csv.n_columns, CSV_COLUMNS_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_rows),
        cmocka_unit_test(many_columns_are_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
