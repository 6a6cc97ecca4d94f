/* The loops end, measure something, and know their sizes. The speed depends on the machine. */
#include "../test.h"
#include "cpu/limits.h"

#include <string.h>

static const struct device_spec device = { .kind = DEVICE_CPU, .n_cores = 1 };

static void loops_measure_something(void **state)
{
    (void)state;
    assert_true(cpu_limits_read(&device, 1, 64 << 10) > 1e6);
    assert_true(cpu_limits_read(&device, 1, 1) > 1e6); /* less than a page is a page */
    assert_true(cpu_limits_read(&device, 1, 10000001) > 1e6);
    for (int i = 0; i < CPU_LIMIT_N; i++) {
        assert_true(cpu_limits_peak(&device, 1, (enum cpu_limit)i) > 1e6);
        assert_true(strlen(cpu_limits_instructions((enum cpu_limit)i)) > 0);
    }
}

/* Cores that this machine lacks pin no thread. */
static void any_number_of_threads_measures(void **state)
{
    (void)state;
    enum { MANY = 300 };
    struct device_spec many = { .kind = DEVICE_CPU, .n_cores = MANY };
    struct cpu_limits_sizes sizes;
    for (int i = 0; i < MANY; i++)
        many.cores[i] = i;
    assert_true(cpu_limits_read(&many, MANY, 64 << 10) > 1e6);
    assert_true(cpu_limits_peak(&many, MANY, CPU_LIMIT_FLOAT) > 1e6);
    cpu_limits_sizes(MANY, &sizes);
    assert_true(sizes.l2 < sizes.l3 && sizes.l3 < sizes.memory);
}

static void levels_grow(void **state)
{
    (void)state;
    struct cpu_limits_sizes one, two;
    cpu_limits_sizes(1, &one);
    cpu_limits_sizes(2, &two);
    assert_true(0 < one.l2 && one.l2 < one.l3 && one.l3 < one.memory);
    assert_int_equal(two.l2, 2 * one.l2);
    assert_true(two.l3 >= one.l3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loops_measure_something),
        cmocka_unit_test(any_number_of_threads_measures),
        cmocka_unit_test(levels_grow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
