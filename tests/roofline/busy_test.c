/* Other processes' processor time, from the system's first line and from two moments. */
#include "../test.h"
#include "base/time.h"
#include "roofline/busy.h"

static void the_first_line_is_read(void **state)
{
    (void)state;
    /* user, nice, system, (idle, waiting), interrupts, soft, stolen: 1 + 2 + 4 + 32 + 64 + 128 */
    assert_int_equal(roofline_busy_parse("cpu  1 2 4 8 16 32 64 128 256 512\ncpu0 1", 100),
                     (1 + 2 + 4 + 32 + 64 + 128) * INT64_C(10000000));
    assert_int_equal(roofline_busy_parse("cpu0 1 2 4 8 16 32 64 128", 100), -1);
    assert_int_equal(roofline_busy_parse("cpu  1 2 4 8 16 32 64", 100), -1);
    assert_int_equal(roofline_busy_parse("cpu  1 2 -4 8 16 32 64 128", 100), -1);
    assert_int_equal(roofline_busy_parse("cpu  1 2 4 8 16 32 64 128", 0), -1);
    assert_int_equal(roofline_busy_parse("", 100), -1);
}

static void own_time_is_taken_off(void **state)
{
    (void)state;
    const struct busy from = { .all_ns = 1000, .own_ns = 100, .wall_ns = 0 };
    const struct busy to = { .all_ns = 4000, .own_ns = 1100, .wall_ns = 1000 };
    assert_true(roofline_busy_others(&from, &to) == 2.0);
    const struct busy own = { .all_ns = 1500, .own_ns = 1100, .wall_ns = 1000 };
    assert_true(roofline_busy_others(&from, &own) == 0); /* ticks are coarse: never below 0 */
    const struct busy unknown = { .all_ns = -1, .own_ns = 1100, .wall_ns = 1000 };
    assert_true(roofline_busy_others(&from, &unknown) == 0);
    assert_true(roofline_busy_others(&to, &to) == 0);
}

static void this_machine_has_a_clock(void **state)
{
    (void)state;
    struct busy now = roofline_busy_now();
    volatile uint64_t x = 0;
    for (int i = 0; i < 2000000; i++)
        x = x + 1;
    struct busy later = roofline_busy_now();
    assert_true(now.all_ns > 0 && later.all_ns >= now.all_ns);
    assert_true(later.own_ns > now.own_ns && later.wall_ns > now.wall_ns);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_line_is_read),
        cmocka_unit_test(own_time_is_taken_off),
        cmocka_unit_test(this_machine_has_a_clock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
