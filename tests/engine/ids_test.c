/* Slots by id, against a look at all: random requests that come and go in a small table, so that
 * homes collide and holes are closed around its end. */
#include "../test.h"
#include "base/rng.h"
#include "engine/ids.h"
#include <string.h>

enum { N = 24, STEPS = 20000 };

static uint32_t look(const struct request *requests, const bool *is_there, uint64_t id)
{
    for (uint32_t slot = 0; slot < N; slot++)
        if (is_there[slot] && requests[slot].id == id)
            return slot;
    return ENGINE_IDS_NONE;
}

static void test_like_a_look_at_all(void **state)
{
    (void)state;
    struct request requests[N];
    bool is_there[N] = { false };
    struct engine_ids ids;
    struct rng rng;
    uint32_t n = 0;
    memset(requests, 0, sizeof(requests));
    rng_init(&rng, 7, 0);
    engine_ids_open(&ids, requests, N);
    for (int step = 0; step < STEPS; step++) {
        uint32_t slot = rng_below(&rng, N);
        uint64_t id = (uint64_t)rng_below(&rng, 3 * N) << (step % 2 * 20);
        assert_int_equal(engine_ids_find(&ids, id), look(requests, is_there, id));
        if (is_there[slot]) {
            engine_ids_remove(&ids, slot);
            is_there[slot] = false;
            n--;
        } else if (look(requests, is_there, id) == ENGINE_IDS_NONE) {
            requests[slot].id = id;
            engine_ids_add(&ids, slot);
            is_there[slot] = true;
            n++;
        }
        assert_int_equal(ids.n, n);
        for (uint32_t i = 0; i < N; i++)
            if (is_there[i])
                assert_int_equal(engine_ids_find(&ids, requests[i].id), i);
    }
    engine_ids_close(&ids);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_like_a_look_at_all) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
