/* Mail: what is refused and why, what is ignored, cancels and deadlines in every state; and no
 * memory is taken once the engine is open. */
#include "../test.h"
#include "base/time.h"
#include "world.h"

/* Linked instead of mem_take of base/mem.h: see meson.build. */
static int64_t n_taken_inside;
void *__real_mem_take(size_t n_bytes);
void *__wrap_mem_take(size_t n_bytes);
void *__wrap_mem_take(size_t n_bytes)
{
    n_taken_inside += world_is_in_engine;
    return __real_mem_take(n_bytes);
}

static void open_small(struct world *w)
{
    struct world_options o;
    world_options_init(&o);
    world_open(w, &o);
}

static void says_why_it_never_can(void **state)
{
    struct world w;
    struct world_options o;
    (void)state;
    world_options_init(&o);
    o.pool_bytes = 3000; /* about 150 tokens */
    world_open(&w, &o);
    assert_true(world_submit(&w, &(struct world_ask){ .index = 0, .n_prompt = 200, .n_new = 100 }));
    assert_true(w.requests[0].why == SERVICE_TOO_LARGE);
    assert_non_null(strstr(w.requests[0].text, "model-0 allows 256"));
    assert_true(world_submit(&w, &(struct world_ask){ .index = 1, .n_prompt = 200, .n_new = 50 }));
    assert_true(w.requests[1].why == SERVICE_TOO_LARGE);
    assert_non_null(
        strstr(w.requests[1].text, "may have 250 tokens, and the KV that model-0 may have holds "));
    assert_true(world_submit(&w, &(struct world_ask){ .index = 2, .n_prompt = 9, .n_new = 0 }));
    assert_non_null(strstr(w.requests[2].text, "counts disagree"));
    assert_true(world_submit(
        &w, &(struct world_ask){ .index = 3, .service = 1, .n_prompt = 9, .n_new = 3 }));
    assert_non_null(strstr(w.requests[3].text, "no such service"));
    assert_true(world_submit(
        &w,
        &(struct world_ask){ .index = 4, .n_prompt = 9, .n_new = 3, .n_predicted = INT32_MAX }));
    assert_non_null(strstr(w.requests[4].text, "counts disagree"));
    assert_true(engine_is_idle(w.engine));
    world_close(&w);
}

static void full_and_draining_go_home(void **state)
{
    struct world w;
    struct world_options o;
    (void)state;
    world_options_init(&o);
    o.n_requests_max = 2;
    world_open(&w, &o);
    for (uint32_t i = 0; i < 3; i++)
        assert_true(world_submit(&w, &(struct world_ask){ .index = i, .n_prompt = 9, .n_new = 3 }));
    assert_int_equal(w.n_returned[SERVICE_FULL], 1);
    world_step(&w);
    engine_drain(w.engine);
    assert_true(world_submit(&w, &(struct world_ask){ .index = 4, .n_prompt = 9, .n_new = 3 }));
    assert_int_equal(w.n_returned[SERVICE_DRAINING], 1);
    world_finish(&w); /* what runs goes on */
    assert_true(w.requests[0].is_over && w.requests[1].is_over);
    world_close(&w);
}

static void services_that_are_closed_take_nothing(void **state)
{
    struct world w;
    struct world_options o;
    (void)state;
    world_options_init(&o);
    o.stays_closed = true;
    world_open(&w, &o);
    assert_true(world_submit(&w, &(struct world_ask){ .index = 0, .n_prompt = 9, .n_new = 3 }));
    assert_int_equal(w.n_returned[SERVICE_DRAINING], 1);
    world_close(&w);
}

static void the_same_again_is_ignored(void **state)
{
    struct world w;
    (void)state;
    open_small(&w);
    assert_true(world_submit(&w, &(struct world_ask){ .index = 0, .n_prompt = 9, .n_new = 5 }));
    struct world_request *q = &w.requests[0];
    assert_true(engine_submit(w.engine, &q->request, q->body, w.clock_ns));
    world_step(&w);
    assert_true(engine_submit(w.engine, &q->request, q->body, w.clock_ns));
    world_finish(&w);
    assert_true(q->is_over && q->why == SERVICE_LENGTH);
    world_close(&w);
}

static void cancels_in_every_state(void **state)
{
    struct world w;
    (void)state;
    open_small(&w);
    for (uint32_t i = 0; i < 2; i++)
        assert_true(
            world_submit(&w, &(struct world_ask){ .index = i, .n_prompt = 9, .n_new = 50 }));
    world_cancel(&w, 0); /* waiting: gone at once */
    assert_true(w.requests[0].is_over && w.requests[0].why == SERVICE_CANCELLED);
    world_step(&w);
    world_cancel(&w, 1); /* in flight: gone when its batch is */
    world_cancel(&w, 1);
    assert_false(w.requests[1].is_over);
    world_run(&w, w.clock_ns + 1000000);
    assert_true(w.requests[1].is_over && w.requests[1].why == SERVICE_CANCELLED);
    assert_int_equal(w.requests[1].ended_ns, 1000000); /* within one step */
    world_cancel(&w, 1);                               /* over: nothing */
    engine_cancel(w.engine, 999, 0, w.clock_ns);
    world_close(&w);
}

static void deadlines_end_what_waits_and_what_runs(void **state)
{
    struct world w;
    struct world_options o;
    (void)state;
    world_options_init(&o);
    o.n_seqs_max = 1;
    o.n_rounds_max = 1;
    world_open(&w, &o);
    assert_true(world_submit(
        &w,
        &(struct world_ask){ .index = 0, .n_prompt = 9, .n_new = 100, .deadline_ns = 5500000 }));
    assert_true(world_submit(
        &w,
        &(struct world_ask){ .index = 1, .n_prompt = 9, .n_new = 100, .deadline_ns = 2500000 }));
    world_run(&w, 20000000);
    assert_true(w.requests[1].why == SERVICE_DEADLINE && w.requests[1].ended_ns == 2500000);
    /* It was in flight when its deadline passed, so it ends with its step. */
    assert_true(w.requests[0].why == SERVICE_DEADLINE && w.requests[0].ended_ns == 6000000);
    world_close(&w);
}

static void a_deadline_ends_a_hold(void **state)
{
    struct world w;
    (void)state;
    open_small(&w);
    assert_true(world_submit(
        &w,
        &(struct world_ask){ .index = 0, .n_prompt = 9, .n_new = 100, .deadline_ns = 5500000 }));
    world_run(&w, 20000000);
    assert_true(w.requests[0].why == SERVICE_DEADLINE && w.requests[0].ended_ns == 6000000);
    assert_true(w.fake.n_cuts == 1);
    world_close(&w);
}

static void takes_no_memory_once_open(void **state)
{
    struct world w;
    struct world_options o;
    (void)state;
    world_options_init(&o);
    o.pool_bytes = 8000;
    o.n_services = 2;
    world_open(&w, &o);
    w.deaf_one = 5;
    base_verify = false;
    n_taken_inside = 0;
    for (uint32_t i = 0; i < 60; i++) {
        (void)world_submit(&w, &(struct world_ask){ .index = i,
                                                    .service = i % 2,
                                                    .n_prompt = 40,
                                                    .n_new = 40,
                                                    .n_shared = 30,
                                                    .flags = REQUEST_WANTS_LOGPROBS });
        world_run(&w, w.clock_ns + 1500000);
        if (i % 7 == 0)
            world_cancel(&w, i);
    }
    world_finish(&w);
    base_verify = true;
    assert_true(w.n_preempted > 0 && w.n_hits > 0);
    assert_int_equal(n_taken_inside, 0);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(says_why_it_never_can),
        cmocka_unit_test(full_and_draining_go_home),
        cmocka_unit_test(services_that_are_closed_take_nothing),
        cmocka_unit_test(the_same_again_is_ignored),
        cmocka_unit_test(cancels_in_every_state),
        cmocka_unit_test(deadlines_end_what_waits_and_what_runs),
        cmocka_unit_test(a_deadline_ends_a_hold),
        cmocka_unit_test(takes_no_memory_once_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
