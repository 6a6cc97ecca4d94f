/* Models come and go while others run. Every byte is in one place, and tokens stay the same. */
#include "../test.h"
#include "engine/state.h"
#include "late.h"
#include "world.h"

static const struct perf perf = {
    .c1_ps = 1000, .c3_ps = { 1000 }, .b_switch = INT32_MAX, .prefill_scale = 1, .decode_scale = 1
};

static void open_closed(struct world *w, int64_t pool_bytes)
{
    struct world_options o;
    world_options_init(&o);
    o.n_services = 3;
    o.stays_closed = true;
    o.pool_bytes = pool_bytes;
    world_open(w, &o);
}

static void pool_is_what_is_left(void **state)
{
    struct world w;
    struct engine_room room;
    (void)state;
    open_closed(&w, 100000);
    int64_t whole = kv_open_bytes(w.engine->kv);
    assert_true(engine_make_room(w.engine, 0, 30000, 2000, 0, &room));
    assert_true(kv_open_bytes(w.engine->kv) <= 68000);
    engine_open_service(w.engine, 0, &perf, 0);
    assert_true(engine_make_room(w.engine, 1, 20000, 1000, 0, &room));
    assert_false(engine_make_room(w.engine, 2, 60000, 0, 0, &room));
    assert_true(room.never && room.need_bytes == 60000 && room.have_bytes < 47000);
    assert_true(engine_close_service(w.engine, 1, 0)); /* booked, never opened */
    assert_true(engine_close_service(w.engine, 0, 0));
    assert_int_equal(kv_open_bytes(w.engine->kv), whole);
    assert_true(engine_close_service(w.engine, 2, 0)); /* was not there */
    world_close(&w);
}

/* A model wants in while requests hold the pool: they give way as far as needed, and go on. */
static void room_is_made_under_load(void **state)
{
    struct world w;
    struct engine_room room;
    int n_asks = 0;
    (void)state;
    open_closed(&w, 20000);
    assert_true(engine_make_room(w.engine, 0, 1000, 0, 0, &room));
    engine_open_service(w.engine, 0, &perf, 0);
    for (uint32_t i = 0; i < 12; i++)
        assert_true(
            world_submit(&w, &(struct world_ask){ .index = i, .n_prompt = 60, .n_new = 60 }));
    world_run(&w, 10000000);
    while (!engine_make_room(w.engine, 1, 10000, 500, w.clock_ns, &room)) {
        assert_true(!room.never && n_asks++ < 5);
        assert_true(engine_is_sound(w.engine));
        w.wake_ns = w.clock_ns; /* as a host does after mail */
        world_run(&w, w.clock_ns + 1000000);
    }
    assert_true(n_asks > 0); /* some requests were in flight */
    engine_open_service(w.engine, 1, &perf, w.clock_ns);
    for (uint32_t i = 12; i < 18; i++)
        assert_true(world_submit(
            &w, &(struct world_ask){ .index = i, .service = 1, .n_prompt = 60, .n_new = 20 }));
    world_finish(&w);
    for (uint32_t i = 0; i < 18; i++)
        assert_true(w.requests[i].why == SERVICE_LENGTH);
    assert_true(w.n_preempted > 0);
    world_close(&w);
}

static void who_never_fits_any_more_goes_home(void **state)
{
    struct world w;
    struct engine_room room;
    (void)state;
    open_closed(&w, 40000);
    engine_open_service(w.engine, 0, &perf, 0);
    assert_true(world_submit(&w, &(struct world_ask){ .index = 0, .n_prompt = 100, .n_new = 150 }));
    assert_true(world_submit(&w, &(struct world_ask){ .index = 1, .n_prompt = 10, .n_new = 15 }));
    world_run(&w, 1500000); /* its prompt is on its way */
    while (!engine_make_room(w.engine, 1, 36000, 0, w.clock_ns, &room)) {
        assert_false(room.never);
        w.wake_ns = w.clock_ns;
        world_run(&w, w.clock_ns + 1000000);
    }
    w.wake_ns = w.clock_ns;
    world_run(&w, w.clock_ns + 20000000);
    assert_true(w.requests[0].why == SERVICE_NO_SPACE && !w.requests[0].is_over);
    assert_true(
        world_submit_again(&w, 0)); /* still too small: it goes home again and does not end */
    assert_true(w.requests[0].why == SERVICE_NO_SPACE && !w.requests[0].is_over);
    assert_true(
        engine_close_service(w.engine, 1, w.clock_ns)); /* the room comes back: now it runs */
    w.wake_ns = w.clock_ns;
    world_run(&w, w.clock_ns + 20000000);
    assert_true(world_submit_again(&w, 0));
    world_finish(&w);
    assert_true(w.requests[0].why == SERVICE_LENGTH);
    assert_true(w.requests[1].why == SERVICE_LENGTH);
    world_close(&w);
}

/* A model waits for an answer that has begun and would not fit beside it, also between the slices
 * of that answer. Meanwhile no request begins that would prolong the wait. */
static void a_model_waits_for_what_has_begun(void **state)
{
    (void)state;
    for (int is_sliced = 0; is_sliced < 2; is_sliced++) {
        struct world w;
        struct engine_room room;
        int64_t n_asks = 0;
        open_closed(&w, 40000);
        engine_open_service(w.engine, 0, &perf, 0);
        const struct world_ask giant = {
            .index = 0, .n_prompt = 100, .n_new = 150, .n_lease = is_sliced ? 20 : 0
        };
        const struct world_ask late = { .index = 1, .n_prompt = 100, .n_new = 150 };
        const struct world_ask small = { .index = 2, .n_prompt = 10, .n_new = 5 };
        assert_true(world_submit(&w, &giant));
        while (w.requests[0].n_got < 103)
            world_run(&w, w.clock_ns + 1000000);
        assert_true(!is_sliced || world_submit_again(&w, 0));
        while (!engine_make_room(w.engine, 1, 36000, 0, w.clock_ns, &room)) {
            assert_false(room.never);
            if (n_asks++ == 0)
                assert_true(world_submit(&w, &late) && world_submit(&w, &small));
            w.wake_ns = w.clock_ns;
            world_run(&w, w.clock_ns + 1000000);
            if (w.requests[0].what == SERVICE_RETURNED && !w.requests[0].is_submitted) {
                assert_int_equal(w.requests[0].why, SERVICE_LEASE_OVER);
                assert_true(world_submit_again(&w, 0));
            }
        }
        assert_true(n_asks > 20 && w.requests[0].is_over && w.requests[2].is_over);
        assert_int_equal(w.requests[0].why, SERVICE_LENGTH);
        assert_int_equal(w.requests[1].why, SERVICE_NO_SPACE);
        assert_int_equal(w.n_returned[SERVICE_NO_SPACE], 1);
        assert_true(engine_close_service(w.engine, 1, w.clock_ns));
        w.wake_ns = w.clock_ns;
        assert_true(world_submit_again(&w, 1));
        world_finish(&w);
        world_close(&w);
    }
}

static void closing_returns_all(void **state)
{
    struct world w;
    (void)state;
    open_closed(&w, 20000);
    engine_open_service(w.engine, 0, &perf, 0);
    engine_open_service(w.engine, 1, &perf, 0);
    for (uint32_t i = 0; i < 8; i++)
        assert_true(world_submit(
            &w, &(struct world_ask){ .index = i, .service = i % 2, .n_prompt = 20, .n_new = 30 }));
    world_run(&w, 5500000);
    assert_false(engine_close_service(w.engine, 0, w.clock_ns));
    assert_true(engine_is_service_busy(w.engine, 0)); /* the rest is in flight */
    w.wake_ns = w.clock_ns;
    world_run(&w, w.clock_ns + 2000000);
    assert_true(engine_close_service(w.engine, 0, w.clock_ns));
    assert_int_equal(w.n_returned[SERVICE_DRAINING], 4);
    struct kv_stats stats;
    kv_stats(w.engine->kv, 0, &stats);
    assert_true(stats.n_blocks_used == 0 && stats.n_blocks_cached == 0);
    engine_open_service(w.engine, 0, &perf, w.clock_ns); /* and back: they go on where they were */
    for (uint32_t i = 0; i < 8; i += 2)
        assert_true(world_submit_again(&w, i));
    world_finish(&w);
    for (uint32_t i = 0; i < 8; i++)
        assert_true(w.requests[i].why == SERVICE_LENGTH);
    world_close(&w);
}

/* Its last token was in flight when its model left: the answer is whole, and ends. */
static void what_is_whole_does_not_return(void **state)
{
    int n_ended = 0, n_returned = 0;
    (void)state;
    for (int64_t k = 0; k < 8; k++) {
        struct world w;
        open_closed(&w, 20000);
        engine_open_service(w.engine, 0, &perf, 0);
        assert_true(world_submit(&w, &(struct world_ask){ .n_prompt = 20, .n_new = 4 }));
        world_run(&w, 500000 + k * 1000000);
        (void)engine_close_service(w.engine, 0, w.clock_ns);
        w.wake_ns = w.clock_ns;
        world_run(&w, w.clock_ns + 3000000);
        const struct world_request *r = &w.requests[0];
        assert_true(r->is_over == (r->n_got == r->n_expected));
        assert_int_equal(r->why, r->is_over ? SERVICE_LENGTH : SERVICE_DRAINING);
        n_ended += r->is_over;
        n_returned += !r->is_over;
        assert_true(engine_close_service(w.engine, 0, w.clock_ns));
        engine_open_service(w.engine, 0, &perf, w.clock_ns);
        assert_true(r->is_over || world_submit_again(&w, 0));
        world_finish(&w);
        assert_int_equal(r->why, SERVICE_LENGTH);
        world_close(&w);
    }
    assert_true(n_ended > 0 && n_returned > 1);
}

/* The blocks that a leaving model still holds will come back, so that a request that needs them
 * waits instead of hearing "never". */
static void leaving_models_count_as_room(void **state)
{
    struct world w;
    struct engine_room room;
    (void)state;
    open_closed(&w, 20000);
    assert_true(engine_make_room(w.engine, 0, 12000, 0, 0, &room));
    engine_open_service(w.engine, 0, &perf, 0);
    assert_true(world_submit(&w, &(struct world_ask){ .index = 0, .n_prompt = 20, .n_new = 30 }));
    world_run(&w, 5500000);
    assert_false(engine_make_room(w.engine, 1, 12000, 0, w.clock_ns, &room));
    assert_true(room.never && room.need_bytes <= room.most_bytes); /* while that one stays */
    assert_false(engine_close_service(w.engine, 0, w.clock_ns));
    assert_false(engine_make_room(w.engine, 1, 12000, 0, w.clock_ns, &room));
    assert_false(room.never);
    w.wake_ns = w.clock_ns;
    world_run(&w, w.clock_ns + 2000000);
    assert_true(engine_empty_service(w.engine, 0, w.clock_ns));
    assert_int_equal(w.n_returned[SERVICE_DRAINING], 1);
    assert_false(
        engine_make_room(w.engine, 1, 12000, 0, w.clock_ns, &room)); /* its memory lies there */
    assert_false(room.never);
    assert_true(engine_close_service(w.engine, 0, w.clock_ns));
    assert_true(engine_make_room(w.engine, 1, 12000, 0, w.clock_ns, &room));
    world_close(&w);
}

/* Requests hold the whole pool, and a model that wants in makes some of them give way. */
static void fill_pool(struct world *w, uint32_t n)
{
    struct engine_room room;
    assert_true(engine_make_room(w->engine, 0, 1000, 0, 0, &room));
    engine_open_service(w->engine, 0, &perf, 0);
    for (uint32_t i = 0; i < n; i++)
        assert_true(
            world_submit(w, &(struct world_ask){ .index = i, .n_prompt = 150, .n_new = 60 }));
    world_run(w, 30000000);
}

/* Bytes of units that their requests left last are as free as any others: a model soon lies
 * there. */
static void memory_of_closed_units_goes_back(void **state)
{
    struct world w;
    struct engine_room room;
    (void)state;
    open_closed(&w, 80000);
    int64_t whole = kv_open_bytes(w.engine->kv);
    fill_pool(&w, 12);
    while (!engine_make_room(w.engine, 1, 50000, 0, w.clock_ns, &room)) {
        assert_false(room.never);
        w.wake_ns = w.clock_ns;
        world_run(&w, w.clock_ns + 1000000);
    }
    struct compute_device *device = w.fake.device;
    const unsigned char *base = late_private(device, w.fake.pool);
    int64_t n_touched = 0;
    assert_true(device->memory_back(device->self, w.fake.pool, 0, whole)); /* to look at it */
    for (int64_t at = div_up_i64(kv_open_bytes(w.engine->kv), 4096) * 4096;
         at < (whole & ~INT64_C(4095)); at++)
        n_touched += base[at] != 0;
    assert_int_equal(n_touched, 0);
    world_finish(&w);
    assert_true(w.n_preempted > 0);
    world_close(&w);
}

/* A load that is given up while requests still hold its units leaves the pool whole. */
static void given_up_room_is_pool_again(void **state)
{
    struct world w;
    struct engine_room room;
    (void)state;
    open_closed(&w, 80000);
    fill_pool(&w, 12);
    int64_t before = kv_budget(w.engine->kv)->n_units_open;
    assert_false(engine_make_room(w.engine, 1, 50000, 0, w.clock_ns, &room));
    assert_true(!room.never && kv_budget(w.engine->kv)->n_units_open < before);
    assert_true(engine_close_service(w.engine, 1, w.clock_ns));
    w.wake_ns = w.clock_ns;
    world_finish(&w);
    assert_int_equal(kv_budget(w.engine->kv)->n_units_open, before);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pool_is_what_is_left),
        cmocka_unit_test(room_is_made_under_load),
        cmocka_unit_test(who_never_fits_any_more_goes_home),
        cmocka_unit_test(a_model_waits_for_what_has_begun),
        cmocka_unit_test(closing_returns_all),
        cmocka_unit_test(what_is_whole_does_not_return),
        cmocka_unit_test(leaving_models_count_as_room),
        cmocka_unit_test(memory_of_closed_units_goes_back),
        cmocka_unit_test(given_up_room_is_pool_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
