/* The ends of a request: stop ids, lengths, leases, a failing executor. And the state that commit
 * keeps. */
#include "../test.h"
#include "world.h"

static void open_small(struct world *w)
{
    struct world_options o;
    world_options_init(&o);
    o.n_requests = 200;
    o.n_rounds_max = 1;
    world_open(w, &o);
}

/* A fiftieth of all tokens ends a request: many stop, none before its minimum (fake_expect says
 * where, and the world compares). */
static void stops_where_it_should(void **state)
{
    struct world w;
    int n_stopped = 0, n_length = 0;
    (void)state;
    open_small(&w);
    for (uint32_t i = 0; i < 100; i++) {
        assert_true(world_submit(&w, &(struct world_ask){ .index = i,
                                                          .n_prompt = 9,
                                                          .n_new = 40,
                                                          .n_stops = 4,
                                                          .n_tokens_min = (int32_t)(i % 30) }));
        world_finish(&w);
        const struct world_request *q = &w.requests[i];
        int32_t n_generated = q->n_got - 9;
        n_stopped += q->why == SERVICE_STOPPED;
        n_length += q->why == SERVICE_LENGTH;
        assert_true(n_generated > (int32_t)(i % 30));
        assert_true(q->why == SERVICE_STOPPED ? q->got[q->n_got - 1] < 4 : n_generated == 40);
    }
    assert_true(n_stopped > 20 && n_length > 20 && n_stopped + n_length == 100);
    world_close(&w);
}

static void leases_send_it_home(void **state)
{
    struct world w;
    (void)state;
    open_small(&w);
    assert_true(world_submit(
        &w, &(struct world_ask){ .index = 0, .n_prompt = 9, .n_new = 40, .n_lease = 15 }));
    for (int life = 0; life < 3; life++) {
        world_finish(&w);
        if (life < 2) {
            assert_true(w.requests[0].why == SERVICE_LEASE_OVER && !w.requests[0].is_over);
            assert_int_equal(w.requests[0].n_got, 9 + 15 * (life + 1));
            assert_true(world_submit_again(&w, 0));
        }
    }
    assert_true(w.requests[0].why == SERVICE_LENGTH);
    world_close(&w);
}

static void crashes_send_it_home_and_forget_its_blocks(void **state)
{
    struct world w;
    (void)state;
    open_small(&w);
    w.fake.fail_one = 3;
    assert_true(world_submit(&w, &(struct world_ask){ .index = 0, .n_prompt = 60, .n_new = 40 }));
    world_finish(&w);
    assert_true(w.requests[0].why == SERVICE_CRASHED && w.fake.n_failed == 1);
    struct engine_report report;
    engine_report(w.engine, &report, w.clock_ns);
    assert_true(report.services[0].kv_used_bytes == 0);
    assert_true(report.is_healthy); /* idle: only another batch can show what it is now */
    w.fake.fail_one = 0;
    assert_true(world_submit_again(&w, 0));
    world_finish(&w);
    engine_report(w.engine, &report, w.clock_ns);
    assert_true(report.is_healthy && w.requests[0].why == SERVICE_LENGTH);
    world_close(&w);
}

/* The executor will compute nothing any more: all requests that run, wait or come later go home. */
static void a_lost_device_sends_all_home(void **state)
{
    enum { N = 60 };
    struct world w;
    struct engine_report report;
    int n_crashed = 0;
    (void)state;
    open_small(&w);
    w.fake.lose_behind = 5;
    for (uint32_t i = 0; i < N; i++)
        assert_true(world_submit(
            &w, &(struct world_ask){ .index = i, .n_prompt = 30, .n_new = 4 + (int32_t)i }));
    world_finish(&w);
    for (uint32_t i = 0; i < N; i++) {
        assert_true(w.requests[i].what == SERVICE_ENDED || w.requests[i].why == SERVICE_CRASHED);
        n_crashed += w.requests[i].why == SERVICE_CRASHED;
    }
    assert_true(n_crashed > N / 2 && engine_is_idle(w.engine) && engine_is_sound(w.engine));
    engine_report(w.engine, &report, w.clock_ns);
    assert_true(!report.is_healthy && report.is_draining && report.services[0].kv_used_bytes == 0);
    assert_true(world_submit(&w, &(struct world_ask){ .index = N, .n_prompt = 9, .n_new = 4 }));
    assert_true(w.requests[N].what == SERVICE_RETURNED && w.requests[N].why == SERVICE_DRAINING);
    world_close(&w);
}

static void logprobs_go_with_their_tokens(void **state)
{
    struct world w;
    (void)state;
    open_small(&w);
    assert_true(world_submit(
        &w, &(struct world_ask){
                .index = 0, .n_prompt = 9, .n_new = 40, .flags = REQUEST_WANTS_LOGPROBS }));
    world_finish(&w);
    assert_int_equal(w.requests[0].n_logprobs, 40);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stops_where_it_should),
        cmocka_unit_test(leases_send_it_home),
        cmocka_unit_test(crashes_send_it_home_and_forget_its_blocks),
        cmocka_unit_test(a_lost_device_sends_all_home),
        cmocka_unit_test(logprobs_go_with_their_tokens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
