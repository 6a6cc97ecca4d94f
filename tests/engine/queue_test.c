/* The order of waiting, and the blocks that prefix hits hold and give back. */
#include "../test.h"
#include "base/rng.h"
#include "engine/state.h"
#include "world.h"

static void waits_by_priority_arrival_id(void **state)
{
    struct world w;
    struct world_options o;
    struct rng rng;
    (void)state;
    rng_init(&rng, test_seed(2), 0);
    world_options_init(&o);
    o.n_requests = o.n_requests_max = 300;
    world_open(&w, &o);
    for (uint32_t i = 0; i < 300; i++) {
        w.clock_ns += 700 * rng_below(&rng, 3); /* many arrive in one microsecond */
        assert_true(world_submit(
            &w, &(struct world_ask){ .index = i,
                                     .n_prompt = 5,
                                     .n_new = 2,
                                     .priority = (int16_t)((int32_t)rng_below(&rng, 7) - 3) }));
        if (i % 5 == 4)
            world_cancel(&w, rng_below(&rng, i));
        assert_true(engine_is_sound(w.engine));
    }
    const struct schedule_service *s = &w.engine->services[0];
    const struct request *before = NULL;
    uint32_t n = 0;
    for (uint32_t slot = s->first_waiting; slot != SCHEDULE_NONE; n++) {
        const struct request *r = &w.engine->requests[slot];
        if (before != NULL) {
            assert_true(before->priority <= r->priority);
            if (before->priority == r->priority) {
                assert_true(before->arrived_ns / 1000 <= r->arrived_ns / 1000);
                if (before->arrived_ns / 1000 == r->arrived_ns / 1000)
                    assert_true(before->id < r->id);
            }
        }
        before = r;
        slot = r->next;
    }
    assert_int_equal(n, s->n_waiting);
    world_finish(&w);
    world_close(&w);
}

static const struct request *record_of(const struct world *w, uint64_t id)
{
    uint32_t slot = engine_ids_find(&w->engine->by_id, id);
    assert_true(slot != ENGINE_IDS_NONE);
    return &w->engine->requests[slot];
}

/* A request that comes home says when it was last served, and keeps that time when it is submitted
 * again. A time before its arrival, or in the future, counts as none. */
static void the_time_of_service_goes_along(void **state)
{
    struct world w;
    struct world_options o;
    (void)state;
    world_options_init(&o);
    world_open(&w, &o);
    w.clock_ns += 5000000;
    assert_true(world_submit(
        &w, &(struct world_ask){ .index = 0, .n_prompt = 9, .n_new = 15, .n_lease = 3 }));
    struct world_request *q = &w.requests[0];
    assert_int_equal(record_of(&w, 1)->served_ns, q->request.arrived_ns);
    world_finish(&w);
    assert_int_equal(q->why, SERVICE_LEASE_OVER);
    assert_true(q->served_ns > q->request.arrived_ns && q->served_ns <= w.clock_ns);
    const int64_t given_ns[] = { q->served_ns, 1, w.clock_ns + 1000000000 };
    for (size_t i = 0; i < COUNT_OF(given_ns); i++) {
        w.clock_ns += 1000000;
        q->request.served_ns = given_ns[i];
        assert_true(world_submit_again(&w, 0));
        assert_int_equal(record_of(&w, 1)->served_ns, i == 0 ? given_ns[0] : q->request.arrived_ns);
        world_finish(&w);
        assert_int_equal(q->why, SERVICE_LEASE_OVER);
    }
    assert_true(world_submit_again(&w, 0));
    world_finish(&w);
    world_close(&w);
}

/* Later requests find the prefix of earlier ones, and a preempted one finds its own. */
static void hits_are_found_and_counted(void **state)
{
    struct world w;
    struct world_options o;
    (void)state;
    world_options_init(&o);
    world_open(&w, &o);
    for (uint32_t i = 0; i < 3; i++) {
        assert_true(world_submit(
            &w, &(struct world_ask){
                    .index = i, .n_prompt = 100, .n_new = 5, .n_shared = 90, .prompt_seed = 8 }));
        world_finish(&w);
    }
    assert_int_equal(w.requests[0].n_cached, 0);
    assert_true(w.requests[1].n_cached >= 64 && w.requests[1].n_cached <= 90);
    assert_int_equal(w.requests[2].n_cached, w.requests[1].n_cached);
    assert_true(world_submit(&w, &(struct world_ask){ .index = 3,
                                                      .n_prompt = 100,
                                                      .n_new = 5,
                                                      .n_shared = 90,
                                                      .prompt_seed = 8,
                                                      .flags = REQUEST_NO_PREFIX_HIT }));
    world_finish(&w);
    assert_int_equal(w.requests[3].n_cached, 0);
    world_close(&w);
}

/* Hits that waiting requests hold must not keep the pool from those that run. */
static void waiting_hits_give_way(void **state)
{
    struct world w;
    struct world_options o;
    (void)state;
    world_options_init(&o);
    o.pool_bytes = 5000;
    o.n_seqs_max = 2;
    world_open(&w, &o);
    for (uint32_t i = 0; i < 2; i++) { /* two long prefixes fill the pool with cached blocks */
        assert_true(world_submit(
            &w, &(struct world_ask){
                    .index = i, .n_prompt = 120, .n_new = 2, .n_shared = 120, .prompt_seed = i }));
        world_finish(&w);
    }
    for (uint32_t i = 2; i < 20; i++)
        assert_true(world_submit(
            &w,
            &(struct world_ask){
                .index = i, .n_prompt = 125, .n_new = 60, .n_shared = 120, .prompt_seed = i % 2 }));
    world_finish(&w);
    assert_true(w.n_hits > 0);
    for (uint32_t i = 0; i < 20; i++)
        assert_true(w.requests[i].why == SERVICE_LENGTH);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits_by_priority_arrival_id),
        cmocka_unit_test(the_time_of_service_goes_along),
        cmocka_unit_test(hits_are_found_and_counted),
        cmocka_unit_test(waiting_hits_give_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
