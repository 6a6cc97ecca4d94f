/* The tournament over engines against a walk over all of them. */
#include "../test.h"
#include "base/mem.h"
#include "base/rng.h"
#include "route/pick.h"

enum { N_SERVICES = 300 };
static const int services[] = { 0, 63, 64, 299 }; /* the first, and at the ends of words */

static int32_t walk(const int64_t *loads, const struct set *sets, int n, int service)
{
    int32_t best = -1;
    for (int e = 0; e < n; e++) {
        if (set_has(&sets[e], service) && (best < 0 || loads[e] < loads[best]))
            best = e;
    }
    return best;
}

static struct set drawn(struct rng *rng)
{
    struct set set = { { 0 } };
    for (size_t i = 0; i < COUNT_OF(services); i++)
        if (rng_below(rng, 3) > 0)
            set_add(&set, services[i]);
    return set;
}

static void test_against_a_walk(void **state)
{
    (void)state;
    struct rng rng;
    rng_init(&rng, 3, 0);
    for (int n = 1; n < 70; n += 7) {
        struct route_pick pick;
        int64_t loads[70] = { 0 };
        struct set sets[70] = { 0 };
        void *memory = mem_take(route_pick_bytes(n, N_SERVICES));
        route_pick_init(&pick, n, N_SERVICES, memory);
        assert_int_equal(route_pick_first(&pick, 0), -1);
        for (int i = 0; i < 3000; i++) {
            int e = (int)rng_below(&rng, (uint32_t)n);
            loads[e] = rng_below(&rng, 6);
            sets[e] = rng_below(&rng, 3) == 0 ? (struct set){ { 0 } } : drawn(&rng);
            route_pick_set(&pick, e, &sets[e], loads[e]);
            assert_true(route_pick_is(&pick, e, &sets[e]));
            for (size_t at = 0; at < COUNT_OF(services); at++) {
                int s = services[at];
                int32_t some[4], best = walk(loads, sets, n, s);
                assert_int_equal(route_pick_first(&pick, s), best);
                int32_t n_some = route_pick_some(&pick, s, 4, some);
                for (int k = 0; k < n_some; k++) { /* each is the least of the remaining ones */
                    struct set left[70];
                    memcpy(left, sets, sizeof left);
                    for (int j = 0; j < k; j++)
                        set_remove(&left[some[j]], s);
                    assert_int_equal(some[k], walk(loads, left, n, s));
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
