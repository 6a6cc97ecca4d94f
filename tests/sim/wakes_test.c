/* The tournament against a scan, for every number of sleepers. */
#include "../test.h"
#include "base/rng.h"
#include "base/time.h"
#include "sim/wakes.h"

static void first_is_the_least(void **state)
{
    struct rng rng;
    (void)state;
    rng_init(&rng, test_seed(1), 0);
    for (uint32_t n = 1; n < 40; n++) {
        struct sim_wakes wakes;
        sim_wakes_init(&wakes, n);
        assert_int_equal(sim_wakes_first(&wakes), 0);
        for (int i = 0; i < 300; i++) {
            uint32_t index = rng_below(&rng, n), best = 0;
            sim_wakes_set(&wakes, index,
                          rng_below(&rng, 9) == 0 ? TIME_NEVER : rng_below(&rng, 20));
            for (uint32_t k = 1; k < n; k++)
                if (wakes.wake_ns[k] < wakes.wake_ns[best])
                    best = k;
            assert_int_equal(sim_wakes_first(&wakes), best); /* ties go to the lower index */
        }
        sim_wakes_free(&wakes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(first_is_the_least) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
