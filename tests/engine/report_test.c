/* The report shows the state as it is, and the self-check finds broken state. */
#include "../test.h"
#include "engine/state.h"
#include "schedule/quota.h"
#include "world.h"

static void open_busy(struct world *w)
{
    struct world_options o;
    world_options_init(&o);
    o.n_seqs_max = 3;
    world_open(w, &o);
    for (uint32_t i = 0; i < 6; i++)
        assert_true(
            world_submit(w, &(struct world_ask){ .index = i, .n_prompt = 50, .n_new = 20 }));
    world_run(w, 4500000);
}

static void says_what_is(void **state)
{
    static struct engine_report r;
    struct world w;
    (void)state;
    open_busy(&w);
    engine_report(w.engine, &r, w.clock_ns);
    assert_true(r.is_healthy && !r.is_draining && r.n_services == 1 && r.now_ns == w.clock_ns);
    assert_true(r.n_requests == 6 && r.n_requests_max == 64 && r.n_steps > 0 && r.step_ns > 0);
    assert_int_equal(r.services[0].n_waiting + r.services[0].n_running, 6);
    assert_int_equal(r.services[0].status, SERVICE_LOADED);
    assert_true(r.services[0].kv_used_bytes >= 3 * 50 * 16);
    assert_true(r.services[0].kv_bytes_per_token >= 16 && r.services[0].remaining_ns > 0);
    assert_true(r.kv_free_bytes < r.kv_pool_bytes && r.kv_pool_bytes <= r.memory_bytes);
    world_finish(&w);
    engine_report(w.engine, &r, w.clock_ns);
    assert_true(r.n_requests == 0 && r.services[0].kv_used_bytes == 0);
    world_close(&w);
}

/* Shares of the pool, and R: each share over the part that is due by rate, mean length and bytes a
 * token. */
static void says_whose_the_pool_is(void **state)
{
    static struct engine_report r;
    struct world_options o;
    struct world w;
    (void)state;
    world_options_init(&o);
    o.n_services = 2;
    o.policy = schedule_find("adbs");
    world_open(&w, &o);
    for (uint32_t i = 0; i < 4; i++)
        assert_true(world_submit(
            &w,
            &(struct world_ask){ .index = i, .service = i == 3, .n_prompt = 50, .n_new = 200 }));
    world_run(&w, 9000000);
    engine_report(w.engine, &r, w.clock_ns);
    double sum = 0, dues[LIMIT_SERVICES];
    int64_t n_held = 0, n_quota = 0;
    schedule_quota_shares(&w.engine->view, dues);
    for (int i = 0; i < 2; i++) {
        const struct service_report *s = &r.services[i];
        assert_true(s->kv_held_bytes >= s->kv_used_bytes && s->kv_used_bytes > 0);
        assert_true(s->kv_r * dues[i] > s->kv_share - 1e-9 &&
                    s->kv_r * dues[i] < s->kv_share + 1e-9);
        sum += s->kv_share;
        n_held += s->kv_held_bytes;
        n_quota += s->kv_quota_bytes;
    }
    assert_true(sum > 1 - 1e-9 && sum < 1 + 1e-9);
    assert_int_equal(n_held, r.kv_pool_bytes - r.kv_free_bytes);
    assert_int_equal(n_quota, r.kv_pool_bytes);
    assert_true(r.services[0].kv_share > 0.6 && r.services[0].kv_share < 0.9);
    assert_true(r.kv_table_bytes >= 4 * 4 * 50 / 32);
    world_finish(&w);
    engine_report(w.engine, &r, w.clock_ns);
    assert_true(r.services[0].kv_share == 0 && r.services[0].kv_r == 0 && r.kv_table_bytes == 0);
    world_close(&w);
}

static void sees_what_is_broken(void **state)
{
    struct world w;
    (void)state;
    open_busy(&w);
    struct engine *e = w.engine;
    uint32_t running = e->services[0].running[0], waiting = e->services[0].first_waiting;
    int32_t n_computed = e->requests[running].n_computed;
    assert_true(engine_is_sound(e) && waiting != SCHEDULE_NONE);
    e->requests[running].n_computed = 1000;
    assert_false(engine_is_sound(e));
    e->requests[running].n_computed = n_computed;
    assert_true(engine_is_sound(e));
    e->services[0].n_waiting++;
    assert_false(engine_is_sound(e));
    e->services[0].n_waiting--;
    e->requests[waiting].state = REQUEST_RUNNING;
    assert_false(engine_is_sound(e));
    e->requests[waiting].state = REQUEST_WAITING;
    int32_t *sizes = (int32_t *)(uintptr_t)e->n_table_blocks;
    sizes[running]++;
    assert_false(engine_is_sound(e));
    sizes[running]--;
    e->view.n_in_flight++;
    assert_false(engine_is_sound(e));
    e->view.n_in_flight--;
    e->n_free_slots--;
    assert_false(engine_is_sound(e));
    e->n_free_slots++;
    assert_true(engine_is_sound(e));
    world_finish(&w);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(says_what_is),
        cmocka_unit_test(says_whose_the_pool_is),
        cmocka_unit_test(sees_what_is_broken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
