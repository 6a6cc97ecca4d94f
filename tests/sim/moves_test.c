/* One model moves from a slow device to a fast one, by hand: the time that it is away, the returned
 * requests, and the bytes that are loaded. */
#include "sim/moves.h"

#include "../place/small.h"
#include "sim/replan.h"
#include "sim/sim.h"

#define S INT64_C(1000000000)

static void test_slots(void **state)
{
    struct small small;
    struct sim_slot slots[16];
    (void)state;
    small_open(&small, 2, 6);
    assert_int_equal(sim_moves_n_slots(&small.problem), 2 * (1 + 3 + 6));
    small.problem.n_nodes = 1;
    assert_int_equal(sim_moves_n_slots(&small.problem), 10);
    sim_moves_slots(&small.problem, slots);
    assert_true(slots[0].n_devices == 4 && slots[0].first_device == 0);
    assert_true(slots[3].n_devices == 2 && slots[3].first_device == 4);
    assert_true(slots[9].n_devices == 1 && slots[9].first_device == 5);
    small_close(&small);
}

/* Wants service 0 on device 1. */
static void plan_fast(const struct place_desk *desk, struct place_plan *plan)
{
    place_group_add(place_plan_add_group(plan, desk->problem, 1, 1), 0);
    place_plan_finish(plan, desk->problem);
}
static const struct place_planner fast = { .name = "fast", .plan = plan_fast };

struct heard {
    int64_t end_ns, longest_ns;
    int n;
};
static void take(void *self, const struct record *record)
{
    struct heard *heard = self;
    heard->n++;
    heard->end_ns = record->end_ns;
    heard->longest_ns = max_i64(heard->longest_ns, record->end_ns - record->arrived_ns);
    assert_int_equal(record->n_output, record->n_wanted);
}

/* One model of 12 GiB on device 0, which is half as fast as device 1. */
struct world {
    struct small small;
    struct place_plan plan;
    struct sim_replan_options replace;
    struct perf perfs[2 * PLACE_DEGREES];
    struct sim_engine_spec engines[2];
};
static void open_world(struct world *world)
{
    struct small *small = &world->small;
    small_open(small, 2, 1);
    small->nodes[0].kind = 1;
    small_add(small, 12, 60);
    small_measure(small);
    place_plan_init(&world->plan, &small->problem, &small->pile);
    place_group_add(place_plan_add_group(&world->plan, &small->problem, 0, 1), 0);
    place_plan_finish(&world->plan, &small->problem);
    memcpy(world->perfs, small->perfs[0], sizeof(world->perfs));
    world->replace = (struct sim_replan_options){ .planner = &fast,
                                                  .rule = { .scale = 5 },
                                                  .problem = &small->problem,
                                                  .plan = &world->plan,
                                                  .n_threads = 1 };
    sim_replan_settings_init(&world->replace.settings);
    assert_int_equal(sim_replan_n_engines(&small->problem), 2);
    sim_replan_engines(&small->problem, &world->plan, world->perfs, NULL, world->engines);
    assert_true(set_has(&world->engines[0].services, 0) &&
                set_is_empty(&world->engines[1].services));
    assert_true(world->engines[0].perfs[0].c3_ps[0] == 2 * world->engines[1].perfs[0].c3_ps[0]);
}

/* Simulates a request a second of 100 tokens in and 50 out. */
static void simulate(struct world *world, struct heard *heard, struct sim_report *report)
{
    struct schedule_config config;
    schedule_config_init(&config);
    const struct sim_service service = { .name = "one",
                                         .perf = world->perfs[0],
                                         .size.kv_bytes_per_token = 1 << 18,
                                         .size.weights_bytes = 12 * SMALL_GIB,
                                         .size.activation_bytes = SMALL_GIB / 2 };
    struct workload workload = { .seed = 1, .n_requests = 800, .n_services = 1 };
    workload.services[0] = (struct workload_traffic){ .rate_per_s = 1,
                                                      .arrivals = WORKLOAD_CONSTANT,
                                                      .prompt = { 4.6052, 0, 1, 200 },
                                                      .output = { 3.912, 0, 1, 100 } };
    const struct sim_options options = { .n_engines = 2,
                                         .n_lanes = 1,
                                         .n_services = 1,
                                         .services = &service,
                                         .engines = world->engines,
                                         .n_requests_max = 64,
                                         .n_tokens_max = 512,
                                         .block_tokens = 16,
                                         .policy = schedule_find("fcfs"),
                                         .config = &config,
                                         .workload = &workload,
                                         .checks_steps = true,
                                         .take = take,
                                         .take_self = heard,
                                         .replace = &world->replace };
    sim_run(&options, report);
    assert_null(report->wrong);
}

/* The first plan is made after 600 s. It is known 3 s later, and the weights are fetched: 12 GiB at
 * 3 GB/s, 4.29 s. Then the model is away for 2 s and 12 GiB at 24 GB/s, 0.537 s, after the running
 * step (24 ms at most). */
static void test_by_hand(void **state)
{
    struct world world;
    struct sim_report report;
    struct heard heard = { .n = 0 };
    (void)state;
    open_world(&world);
    simulate(&world, &heard, &report);
    const struct sim_replan_report *m = &report.replace;
    int64_t load_ns = (int64_t)(12.0 * (double)SMALL_GIB / 24);
    printf("away %.4f s, nowhere %.4f s, %lld returned, slowest %.3f s\n",
           (double)m->away_ns * 1e-9, (double)m->unavailable_ns * 1e-9, (long long)m->n_returned,
           (double)heard.longest_ns * 1e-9);
    assert_int_equal(heard.n, 800);
    assert_int_equal(m->n_moves, 1);
    assert_true(m->n_plans >= 1 && m->n_plans == m->n_moves + m->n_verdicts[REPLACE_SAME]);
    assert_true(m->loaded_bytes == 12 * SMALL_GIB && m->fetched_bytes == 12 * SMALL_GIB);
    assert_true(m->unavailable_ns >= 2 * S + load_ns &&
                m->unavailable_ns <= 2 * S + load_ns + 30000000);
    assert_true(m->away_ns == m->unavailable_ns); /* one device */
    assert_true(m->n_returned >= 1 && m->n_returned <= 2);
    /* A returned request waited for all of it, and had taken at most its own 1.25 s before. */
    assert_true(heard.longest_ns > m->unavailable_ns &&
                heard.longest_ns < m->unavailable_ns + 3 * S);
    /* One device is used all the time, with another during the 600th second. */
    assert_int_equal(report.device_ns, report.end_ns);
    sim_report_free(&report);
    small_close(&world.small);
}

/* The plan becomes known after the next one was due, so the next one waits. */
static void test_a_move_may_outlast_the_interval(void **state)
{
    struct world world;
    struct sim_report report;
    struct heard heard = { .n = 0 };
    (void)state;
    open_world(&world);
    world.replace.settings.plan_ns = 150 * S;
    world.replace.settings.config.first_ns = world.replace.settings.config.most_ns = 100 * S;
    simulate(&world, &heard, &report);
    assert_true(heard.n == 800 && report.replace.n_moves == 1 && report.replace.n_plans > 3);
    sim_report_free(&report);
    small_close(&world.small);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slots),
        cmocka_unit_test(test_by_hand),
        cmocka_unit_test(test_a_move_may_outlast_the_interval),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
