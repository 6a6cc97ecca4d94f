/* Sets of records: names, order, hash, and the words for a request's end. */
#include "../test.h"
#include "metrics/record.h"

static void names_are_kept_once(void **state)
{
    struct record_set set = { 0 };
    char name[16];
    (void)state;
    assert_int_equal(metrics_record_service(&set, view_text("a")), 0);
    assert_int_equal(metrics_record_service(&set, view_text("b")), 1);
    assert_int_equal(metrics_record_service(&set, view_text("a")), 0);
    for (int i = 2; i < RECORD_SERVICES_MAX; i++) {
        snprintf(name, sizeof(name), "s%d", i);
        assert_int_equal(metrics_record_service(&set, view_text(name)), i);
    }
    assert_int_equal(metrics_record_service(&set, view_text("one more")), -1);
    assert_int_equal(metrics_record_service(&set, view_text("b")), 1);
    metrics_record_set_free(&set);
}

static void sorting_makes_the_hash_one_of_what_happened(void **state)
{
    struct record_set a = { 0 }, b = { 0 };
    (void)state;
    for (uint64_t i = 0; i < 1000; i++) {
        struct record r = { .id = i, .arrived_ns = (int64_t)i * 7, .end_ns = (int64_t)i * 9 };
        metrics_record_add(&a, &r);
        r.id = 999 - i;
        r.arrived_ns = (int64_t)r.id * 7;
        r.end_ns = (int64_t)r.id * 9;
        metrics_record_add(&b, &r);
    }
    assert_int_not_equal(metrics_record_hash(&a), metrics_record_hash(&b));
    metrics_record_sort(&b);
    assert_int_equal(metrics_record_hash(&a), metrics_record_hash(&b));
    b.at[500].end_ns++;
    assert_int_not_equal(metrics_record_hash(&a), metrics_record_hash(&b));
    metrics_record_set_free(&a);
    metrics_record_set_free(&b);
}

static void every_end_has_a_word(void **state)
{
    (void)state;
    for (int i = 0; i < RECORD_WHY_N; i++)
        assert_string_not_equal(metrics_record_why_name((enum record_why)i), "unknown");
    assert_string_equal(metrics_record_why_name(RECORD_WHY_N), "unknown");
    assert_int_equal(metrics_record_why_of(SERVICE_LENGTH), RECORD_LENGTH);
    assert_int_equal(metrics_record_why_of(SERVICE_NOT_READY), RECORD_REFUSED);
    assert_int_equal(metrics_record_why_of(SERVICE_LOAD_FAILED), RECORD_REFUSED);
    assert_int_equal(metrics_record_why_of(SERVICE_TOO_LARGE), RECORD_TOO_LARGE);
    assert_true(record_is_done(&(struct record){ .why = RECORD_STOPPED }));
    assert_false(record_is_done(&(struct record){ .why = RECORD_CUT }));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_kept_once),
        cmocka_unit_test(sorting_makes_the_hash_one_of_what_happened),
        cmocka_unit_test(every_end_has_a_word),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
