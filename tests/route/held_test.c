/* The held lists against sorting: order, links and counts while requests come and go. */
#include "../test.h"
#include "base/rng.h"
#include "route/held.h"
#include "route/sent.h"

enum { N = 300, SERVICES = 3 };

static void test_order(void **state)
{
    (void)state;
    static struct route_request requests[N];
    static struct tree_node nodes[N];
    static struct tree trees[SERVICES];
    static struct route_service services[SERVICES];
    static bool is_held[N];
    struct route_held held;
    struct rng rng;
    rng_init(&rng, 11, 0);
    route_held_init(&held, requests, services, nodes, trees, SERVICES);
    for (int i = 0; i < 20000; i++) {
        uint32_t slot = rng_below(&rng, N);
        if (is_held[slot]) {
            route_held_remove(&held, slot);
        } else {
            requests[slot].id = slot + 1;
            requests[slot].service = (uint16_t)rng_below(&rng, SERVICES);
            requests[slot].priority = (int16_t)((int)rng_below(&rng, 3) - 1);
            /* microseconds apart, nanoseconds apart, and equal */
            requests[slot].arrived_ns = (int64_t)rng_below(&rng, 4) * 1000 + rng_below(&rng, 3);
            route_held_add(&held, slot);
        }
        is_held[slot] = !is_held[slot];
        uint32_t n = 0;
        for (int s = 0; s < SERVICES; s++) {
            uint32_t last = ROUTE_NONE, n_service = 0;
            for (uint32_t at = services[s].n_held > 0 ? services[s].first_held : ROUTE_NONE;
                 at != ROUTE_NONE; at = requests[at].next) {
                assert_true(is_held[at]);
                assert_int_equal(requests[at].service, s);
                assert_int_equal(requests[at].prev, last);
                assert_true(last == ROUTE_NONE ||
                            route_sent_is_before(&requests[last], &requests[at]));
                last = at;
                n_service++;
            }
            assert_true(n_service == 0 || services[s].last_held == last);
            assert_int_equal(n_service, services[s].n_held);
            assert_int_equal(set_has(&held.services_held, s), n_service > 0);
            n += n_service;
        }
        assert_int_equal(n, held.n);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_order) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
