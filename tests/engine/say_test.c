/* Events that find no room are kept in order, and nothing new begins until they are told. */
#include "../test.h"
#include "world.h"

static void nothing_is_lost_on_deaf_ears(void **state)
{
    struct world w;
    struct world_options o;
    (void)state;
    world_options_init(&o);
    o.n_rounds_max = 1;
    world_open(&w, &o);
    for (uint32_t i = 0; i < 5; i++)
        assert_true(world_submit(
            &w, &(struct world_ask){
                    .index = i, .n_prompt = 9, .n_new = 6, .flags = REQUEST_WANTS_LOGPROBS }));
    world_step(&w);
    w.is_deaf = true;
    world_run(&w, 20000000);
    assert_int_equal(w.fake.n_begun, 1); /* one batch was on its way, none began since */
    assert_int_equal(w.requests[0].n_got, 9);
    world_cancel(&w, 2); /* its tokens come first, then its end */
    w.is_deaf = false;
    world_step(&w);
    assert_int_equal(w.requests[0].n_got, 10);
    assert_true(w.requests[2].n_got == 10 && w.requests[2].why == SERVICE_CANCELLED);
    world_finish(&w);
    for (uint32_t i = 0; i < 5; i++)
        assert_int_equal(w.requests[i].n_logprobs, i == 2 ? 1 : 6);
    world_close(&w);
}

static void a_refusal_that_cannot_be_said_is_not_taken(void **state)
{
    struct world w;
    struct world_options o;
    (void)state;
    world_options_init(&o);
    world_open(&w, &o);
    w.is_deaf = true;
    assert_false(world_submit(&w, &(struct world_ask){ .index = 0, .n_prompt = 300, .n_new = 6 }));
    w.is_deaf = false;
    struct world_request *q = &w.requests[0];
    assert_true(engine_submit(w.engine, &q->request, q->body, w.clock_ns));
    assert_true(q->why == SERVICE_TOO_LARGE);
    world_close(&w);
}

/* An earlier life whose end is not told yet keeps the next life out. */
static void lives_do_not_mix(void **state)
{
    struct world w;
    struct world_options o;
    (void)state;
    world_options_init(&o);
    o.n_rounds_max = 1;
    world_open(&w, &o);
    assert_true(world_submit(
        &w, &(struct world_ask){ .index = 0, .n_prompt = 9, .n_new = 6, .n_lease = 3 }));
    w.is_deaf = true;
    world_run(&w, 20000000);
    struct world_request *q = &w.requests[0];
    q->request.epoch++;
    assert_true(engine_submit(w.engine, &q->request, q->body, w.clock_ns) == false);
    q->request.epoch--;
    w.is_deaf = false;
    world_step(&w);
    world_finish(&w);
    assert_true(q->why == SERVICE_LEASE_OVER);
    assert_true(world_submit_again(&w, 0));
    world_finish(&w);
    assert_true(q->is_over && q->why == SERVICE_LENGTH);
    world_close(&w);
}

/* Requests tell how many batches they were in and how many shared them, whether all of a service's
 * come one after the other or lanes run side by side. */
static void batches_are_told_with_lanes_too(void **state)
{
    int32_t told[2][4][2];
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct world w;
        struct world_options o;
        world_options_init(&o);
        o.n_services = 2;
        o.n_rounds_max = 1;
        o.n_lanes = 1 + i;
        world_open(&w, &o);
        for (uint32_t k = 0; k < 4; k++)
            assert_true(world_submit(&w, &(struct world_ask){ .index = k,
                                                              .service = (uint16_t)(k % 2),
                                                              .n_prompt = 9,
                                                              .n_new = 6 + (int32_t)k }));
        world_finish(&w);
        for (uint32_t k = 0; k < 4; k++) {
            told[i][k][0] = w.requests[k].n_batches;
            told[i][k][1] = w.requests[k].n_batch_rows;
        }
        world_close(&w);
    }
    for (uint32_t k = 0; k < 4; k++) { /* a prompt and its decodes, two of a service together */
        assert_int_equal(told[0][k][0], 6 + k);
        assert_int_equal(told[1][k][0], 6 + k);
        assert_int_equal(told[1][k][1], k < 2 ? 2 * (6 + k) : 2 * (4 + k) + 2);
        assert_int_equal(told[1][k][1], told[0][k][1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_lost_on_deaf_ears),
        cmocka_unit_test(a_refusal_that_cannot_be_said_is_not_taken),
        cmocka_unit_test(lives_do_not_mix),
        cmocka_unit_test(batches_are_told_with_lanes_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
