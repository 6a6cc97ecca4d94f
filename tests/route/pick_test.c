/* The tournament over engines against a walk over all of them. */
#include "../test.h"
#include "base/mem.h"
#include "base/rng.h"
#include "route/pick.h"

static int32_t walk(const int64_t *loads, const uint64_t *masks, int n, int service)
{
    int32_t best = -1;
    for (int e = 0; e < n; e++) {
        if ((masks[e] >> service & 1) && (best < 0 || loads[e] < loads[best]))
            best = e;
    }
    return best;
}

static void test_against_a_walk(void **state)
{
    (void)state;
    struct rng rng;
    rng_init(&rng, 3, 0);
    for (int n = 1; n < 70; n += 7) {
        struct route_pick pick;
        int64_t loads[70] = { 0 };
        uint64_t masks[70] = { 0 };
        void *memory = mem_take(route_pick_bytes(n));
        route_pick_init(&pick, n, memory);
        assert_int_equal(route_pick_first(&pick, 0), -1);
        for (int i = 0; i < 3000; i++) {
            int e = (int)rng_below(&rng, (uint32_t)n);
            loads[e] = rng_below(&rng, 6);
            masks[e] = rng_below(&rng, 3) == 0 ? 0 : 1 + rng_below(&rng, 7);
            route_pick_set(&pick, e, masks[e], loads[e]);
            for (int s = 0; s < 3; s++) {
                int32_t some[4], best = walk(loads, masks, n, s);
                assert_int_equal(route_pick_first(&pick, s), best);
                int32_t n_some = route_pick_some(&pick, s, 4, some);
                int64_t load_of[70];
                memcpy(load_of, loads, sizeof load_of);
                for (int k = 0; k < n_some; k++) { /* each is the least of those that are left */
                    uint64_t left[70];
                    memcpy(left, masks, sizeof left);
                    for (int j = 0; j < k; j++)
                        left[some[j]] = 0;
                    assert_int_equal(some[k], walk(load_of, left, n, s));
                }
                assert_int_equal(n_some > 0, best >= 0);
            }
        }
        mem_give(memory);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_against_a_walk) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
