/* Services join and leave an engine while requests of others run. The tokens are the same, the log
 * replays equal, and nothing of a service is left behind. */
#include "test.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/rng.h"
#include "engine/replay.h"
#include "engine/state.h"
#include "world.h"
#include <malloc.h>
#include <unistd.h>

static const struct perf perf = { .c1_ps = 400000000,
                                  .k1_ps = 1000000,
                                  .c3_ps = { 900000000 },
                                  .c2_ps = { 1000000 },
                                  .k2_ps = { 1000 },
                                  .b_switch = INT32_MAX,
                                  .prefill_scale = 1,
                                  .decode_scale = 1 };

static const int64_t bytes_per_token[] = { 40, 16, 24, 8 };

static void open_world(struct world *w, struct engine_log *log,
                       const struct schedule_policy *policy)
{
    struct world_options o;
    world_options_init(&o);
    o.policy = policy;
    o.n_services = 1;
    o.n_services_max = WORLD_SERVICES_MAX;
    o.bytes_per_token[0] = bytes_per_token[0];
    o.n_requests = 400;
    o.n_requests_max = 32;
    o.has_prefix_cache = true;
    o.log = log;
    world_open(w, &o);
}

static struct kv_layout layout_of(const struct world *w, int kind)
{
    const struct kv_shape shape = { bytes_per_token[kind], 1 };
    struct kv_layout layout;
    double waste;
    assert_true(kv_cut_service(KV_MERGED, &shape, kv_unit_bytes(w->engine->kv), &layout, &waste));
    return layout;
}

static void join(struct world *w, int number, int kind, uint16_t life)
{
    struct engine_room room;
    struct service_spec spec = { .life = life };
    snprintf(spec.name, sizeof spec.name, "joined-%d", (int)life);
    const struct kv_layout layout = layout_of(w, kind);
    assert_null(engine_add_service(w->engine, number, &spec, &layout, w->clock_ns));
    assert_true(engine_has_service(w->engine, number));
    assert_true(engine_make_room(w->engine, number, 1000, 100, w->clock_ns, &room));
    engine_open_service(w->engine, number, &perf, w->clock_ns);
}

/* Waits until its requests are over and its last event is told. */
static void leave(struct world *w, int number)
{
    assert_false(engine_remove_service(w->engine, number, w->clock_ns)); /* its model is there */
    while (!engine_close_service(w->engine, number, w->clock_ns))
        world_run(w, w->clock_ns + 1000000);
    while (!engine_remove_service(w->engine, number, w->clock_ns))
        world_run(w, w->clock_ns + 1000000);
    assert_false(engine_has_service(w->engine, number));
    assert_true(engine_is_sound(w->engine));
}

static void ask(struct world *w, uint32_t index, int number)
{
    assert_true(world_submit(w, &(struct world_ask){ .index = index,
                                                     .service = (uint16_t)number,
                                                     .n_prompt = 5 + (int32_t)(index % 40),
                                                     .n_new = 3 + (int32_t)(index % 30) }));
}

/* One service stays with its requests; the others' numbers change hands under it. The world checks
 * each token against what the request draws alone. */
static void tokens_stay_the_same(void **state)
{
    static const char *const policies[] = { "rr", "fcfs", "db-exact", "adbs", "mlfq", "value" };
    (void)state;
    for (size_t p = 0; p < COUNT_OF(policies); p++) {
        struct world w;
        open_world(&w, NULL, schedule_find(policies[p]));
        uint32_t index = 0;
        for (int round = 0; round < 40; round++) {
            int number = 1 + round % 3;
            ask(&w, index++, 0);
            join(&w, number, round % 4, (uint16_t)round);
            ask(&w, index++, number);
            ask(&w, index++, number);
            ask(&w, index++, 0);
            world_run(&w, w.clock_ns + 2000000);
            if (round % 2 == 0)
                world_finish(&w);
            for (uint32_t i = 0; i < index; i++) /* what came home ends here: its service leaves */
                if (!w.requests[i].is_over && w.requests[i].request.service == number)
                    world_cancel(&w, i);
            world_run(&w, w.clock_ns + 50000000);
            leave(&w, number);
        }
        world_finish(&w);
        world_close(&w);
    }
}

/* A service that leaves with requests returns them, and refuses none for good. */
static void requests_come_home(void **state)
{
    struct world w;
    (void)state;
    open_world(&w, NULL, schedule_find("rr"));
    join(&w, 2, 1, 1);
    for (uint32_t i = 0; i < 8; i++)
        ask(&w, i, 2);
    world_run(&w, w.clock_ns + 3000000);
    while (!engine_close_service(w.engine, 2, w.clock_ns))
        world_run(&w, w.clock_ns + 1000000);
    world_run(&w, w.clock_ns + 1000000);
    assert_true(engine_remove_service(w.engine, 2, w.clock_ns));
    uint32_t n_home = 0;
    for (uint32_t i = 0; i < 8; i++) {
        bool is_home = w.requests[i].what == SERVICE_RETURNED;
        assert_true(is_home || w.requests[i].is_over);
        if (is_home)
            assert_int_equal(w.requests[i].why, SERVICE_DRAINING);
        n_home += is_home;
        if (is_home) /* too late: there is no such service, which is not its end */
            assert_true(world_submit_again(&w, i));
    }
    assert_true(n_home > 0);
    world_run(&w, w.clock_ns + 1000000);
    for (uint32_t i = 0; i < 8; i++)
        assert_true(w.requests[i].is_over || w.requests[i].what == SERVICE_RETURNED);
    join(&w, 2, 3, 2); /* they go on under another cut */
    for (uint32_t i = 0; i < 8; i++)
        if (!w.requests[i].is_over)
            assert_true(world_submit_again(&w, i));
    world_finish(&w);
    leave(&w, 2);
    world_close(&w);
}

static void what_can_not_join_is_refused(void **state)
{
    struct world w;
    (void)state;
    open_world(&w, NULL, schedule_find("rr"));
    const struct service_spec spec = { .name = "wide" };
    struct kv_layout layout = layout_of(&w, 0);
    layout.block_bytes = INT64_C(1) << 40;
    layout.bytes_per_token = layout.block_bytes / layout.block_tokens;
    assert_non_null(engine_add_service(w.engine, 1, &spec, &layout, 0));
    assert_false(engine_has_service(w.engine, 1));
    assert_false(engine_remove_service(w.engine, 1, 0));
    world_close(&w);
}

static int64_t heap_bytes(void)
{
    struct mallinfo2 info = mallinfo2();
    return (int64_t)(info.uordblks + info.hblkhd);
}

/* A thousand services come and go, each with a request: the memory is that of one. */
static void a_thousand_leave_nothing(void **state)
{
    struct world w;
    int64_t before = 0;
    (void)state;
    open_world(&w, NULL, schedule_find("rr"));
    int64_t pool_bytes = kv_open_bytes(w.engine->kv);
    for (int round = 0; round < 1000; round++) {
        int number = 1 + round % 3;
        if (round == 10)
            before = heap_bytes();
        join(&w, number, round % 4, (uint16_t)round);
        if (round % 3 == 0) {
            ask(&w, (uint32_t)round / 3, number);
            world_finish(&w);
            mem_give(w.requests[round / 3].body);
            mem_give(w.requests[round / 3].expected);
            mem_give(w.requests[round / 3].got);
            w.requests[round / 3].body = NULL;
            w.requests[round / 3].expected = w.requests[round / 3].got = NULL;
        }
        leave(&w, number);
        assert_int_equal(kv_open_bytes(w.engine->kv), pool_bytes);
    }
    if (before > 0)                                     /* a sanitizer's heap does not tell */
        assert_true(heap_bytes() <= before + 8 * 1000); /* less than any leak takes */
    world_close(&w);
}

static void a_log_replays_equal(void **state)
{
    struct engine_log *log;
    struct fault fault;
    struct world w;
    char path[] = "/tmp/shoal-join-XXXXXX", *bytes;
    size_t n;
    (void)state;
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    (void)close(fd);
    assert_int_equal(engine_log_open(&log, path, 1 << 26, &fault), STATUS_OK);
    open_world(&w, log, schedule_find("db-exact"));
    uint32_t index = 0;
    for (int round = 0; round < 20; round++) {
        int number = 1 + round % 3;
        join(&w, number, round % 4, (uint16_t)round);
        ask(&w, index++, 0);
        ask(&w, index++, number);
        world_finish(&w);
        leave(&w, number);
    }
    int64_t n_steps = w.n_steps;
    world_close(&w);
    assert_true(engine_log_close(log));
    assert_int_equal(file_read(path, 1 << 26, &bytes, &n, &fault), STATUS_OK);
    (void)unlink(path);
    const struct engine_replay_options options = { .policy = NULL };
    struct engine_replay r;
    assert_int_equal(engine_replay_run((const void *)bytes, n, &options, &r, &fault), STATUS_OK);
    assert_false(r.differs);
    assert_int_equal(r.n_steps, n_steps);
    assert_int_equal(r.n_services, 4);
    mem_give(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens_stay_the_same),         cmocka_unit_test(requests_come_home),
        cmocka_unit_test(what_can_not_join_is_refused), cmocka_unit_test(a_thousand_leave_nothing),
        cmocka_unit_test(a_log_replays_equal),
    };
    return cmocka_run_group_tests_name("join", tests, NULL, NULL);
}
