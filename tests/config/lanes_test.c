/* Shares of cores become whole cores. */
#include "../test.h"
#include "config/lanes.h"

#include <string.h>

static struct lanes lanes;

static enum status make(int32_t n_cores, const char *const *shares, int n, struct fault *fault)
{
    struct device_spec device = { .kind = DEVICE_CPU, .n_cores = n_cores };
    for (int32_t i = 0; i < n_cores; i++)
        device.cores[i] = 10 + i;
    return config_lanes_make(&lanes, &device, shares, n, fault);
}

static void check(int32_t n_cores, const char *const *shares, int n, const int32_t *expected)
{
    struct fault fault;
    int32_t next = 10;
    assert_int_equal(make(n_cores, shares, n, &fault), STATUS_OK);
    assert_int_equal(lanes.n, n + 1);
    assert_int_equal(lanes.devices[0].n_cores, n_cores);
    assert_int_equal(lanes.shares[0].conflicts, (1u << (n + 1)) - 2);
    for (int i = 0; i < n; i++) {
        assert_int_equal(lanes.devices[i + 1].n_cores, expected[i]);
        assert_int_equal(lanes.shares[i + 1].conflicts, 1);
        assert_true(lanes.shares[i + 1].share == (float)expected[i] / (float)n_cores);
        for (int32_t k = 0; k < expected[i]; k++)
            assert_int_equal(lanes.devices[i + 1].cores[k], next++); /* used by no other lane */
    }
}

static void whole_cores_by_share(void **state)
{
    (void)state;
    check(2, (const char *[]){ "1", "1" }, 2, (int32_t[]){ 1, 1 });
    check(8, (const char *[]){ "3", "1" }, 2, (int32_t[]){ 6, 2 });
    check(5, (const char *[]){ "1", "1" }, 2, (int32_t[]){ 3, 2 });
    check(4, (const char *[]){ "100", "1", "1" }, 3, (int32_t[]){ 2, 1, 1 });
    check(7, (const char *[]){ "1" }, 1, (int32_t[]){ 7 });
    check(3, NULL, 0, NULL);
}

static void what_can_t_be_is_said(void **state)
{
    struct fault fault;
    (void)state;
    assert_int_equal(make(2, (const char *[]){ "1", "1", "1" }, 3, &fault), STATUS_BAD_INPUT);
    assert_non_null(strstr(fault.text, "3 shares of 2 cores"));
    static const char *const wrong[] = { "0", "-1", "x", "1001", "0.5" };
    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        assert_int_equal(make(4, &wrong[i], 1, &fault), STATUS_BAD_INPUT);
}

/* A GPU divides itself, and then says what its lanes have got. */
static void a_gpu_says_what_its_lanes_have(void **state)
{
    const struct device_spec gpu = { .kind = DEVICE_CUDA, .n_cores = 1 };
    struct fault fault;
    (void)state;
    assert_int_equal(config_lanes_make(&lanes, &gpu, (const char *[]){ "3", "1" }, 2, &fault),
                     STATUS_OK);
    assert_int_equal(lanes.n, 3);
    assert_int_equal(lanes.parts[0], 3);
    assert_int_equal(lanes.parts[1], 1);
    assert_int_equal(lanes.shares[0].conflicts, 6);
    assert_int_equal(lanes.shares[2].conflicts, 1);
    config_lanes_measure(&lanes, (const int32_t[]){ 132, 96, 32 });
    assert_true(lanes.shares[1].share == 96.0F / 132.0F && lanes.shares[2].share == 32.0F / 132.0F);
    assert_int_equal(config_lanes_make(&lanes, &gpu, NULL, 0, &fault), STATUS_OK);
    assert_int_equal(lanes.n, 1);
}

/* A modelled device is divided as finely as wanted; policies with lanes get two halves. */
static void parts_in_proportion(void **state)
{
    struct schedule_lane parts[LIMIT_LANES];
    struct fault fault;
    int32_t n;
    int n_usual;
    (void)state;
    assert_int_equal(config_lanes_of_shares((const char *[]){ "3", "1" }, 2, parts, &n, &fault),
                     STATUS_OK);
    assert_true(n == 3 && parts[0].share == 1 && parts[1].share == 0.75f &&
                parts[2].share == 0.25f);
    assert_true(parts[0].conflicts == 6 && parts[1].conflicts == 1 && parts[2].conflicts == 1);
    assert_int_equal(config_lanes_of_shares(NULL, 0, parts, &n, &fault), STATUS_OK);
    assert_true(n == 1 && parts[0].conflicts == 0);
    assert_int_equal(config_lanes_of_shares((const char *[]){ "0" }, 1, parts, &n, &fault),
                     STATUS_BAD_INPUT);
    assert_non_null(config_lanes_usual(schedule_find("adbs"), true, &n_usual));
    assert_int_equal(n_usual, 2);
    assert_null(config_lanes_usual(schedule_find("fcfs"), false, &n_usual));
    assert_int_equal(n_usual, 0);
    assert_non_null(config_lanes_usual(schedule_find("value"), false, &n_usual));
    assert_int_equal(n_usual, 2);
    assert_null(config_lanes_usual(schedule_find("value"), true, &n_usual));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(whole_cores_by_share),
                                        cmocka_unit_test(what_can_t_be_is_said),
                                        cmocka_unit_test(a_gpu_says_what_its_lanes_have),
                                        cmocka_unit_test(parts_in_proportion) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
