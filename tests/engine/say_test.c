/* Events that find no room are kept, in order, and nothing new begins until they are said. */
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

/* An earlier life that has not said its end yet keeps the next one out. */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_lost_on_deaf_ears),
        cmocka_unit_test(a_refusal_that_cannot_be_said_is_not_taken),
        cmocka_unit_test(lives_do_not_mix),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
