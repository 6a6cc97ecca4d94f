/* Models that move in a simulation, when that pays and when it does not. Nothing is lost. */
#include "../place/small.h"
#include "sim/judge.h"
#include "sim/replan.h"
#include "sim/sim.h"

#define S INT64_C(1000000000)

/* Two models of 10 GiB, three devices. A step of four decodes takes 10.4 ms, so a device gives 385
 * tokens/s: 3.8 requests of 100 tokens. For 20 minutes service 0 gets 6 requests a second (two
 * devices) and service 1 gets 0.6 (one). Then they change places, and so on. */
struct swap {
    struct small small;
    struct place_plan plan;
    struct workload_profile profiles[2];
    struct perf perfs[2 * PLACE_DEGREES * 2];
    struct sim_engine_spec engines[8];
    struct workload workload;
    struct sim_service services[2];
    struct schedule_config config;
    struct sim_replan_options replace;
    struct sim_options options;
};
static const float more[] = { 1.5f, 0.5f }, less[] = { 0.5f, 1.5f };
static const float often[] = { 20.0f / 11, 2.0f / 11 }, seldom[] = { 2.0f / 11, 20.0f / 11 };

static void set_services(struct swap *swap)
{
    for (int s = 0; s < 2; s++) {
        const struct place_service *from = &swap->small.services[s];
        swap->services[s] =
            (struct sim_service){ .name = from->name,
                                  .perf = swap->small.perfs[s][0][0],
                                  .size.kv_bytes_per_token = from->size.kv_bytes_per_token,
                                  .size.weights_bytes = from->size.weights_bytes,
                                  .size.activation_bytes = from->size.activation_bytes };
        swap->workload.services[s] = (struct workload_traffic){ .rate_per_s = 3.3,
                                                                .prompt = { 4.6, 0, 1, 400 },
                                                                .output = { 4.6, 0, 1, 200 },
                                                                .profile = &swap->profiles[s] };
        for (int row = 0; row < 2 * PLACE_DEGREES; row++)
            swap->perfs[row * 2 + s] = (&swap->small.perfs[s][0][0])[row];
    }
}

static void open_swap(struct swap *swap, int32_t n_cycles, double step_s)
{
    struct place_group *group;
    memset(swap, 0, sizeof(*swap));
    small_open(&swap->small, 1, 3);
    for (int s = 0; s < 2; s++) {
        small_add(&swap->small, 10, 20);
        for (int d = 1; d < PLACE_DEGREES; d++) /* larger groups are no faster */
            swap->small.perfs[s][0][d] = swap->small.perfs[s][0][0];
    }
    swap->small.problem.limits.n_members_max = 1;
    small_measure(&swap->small);
    place_plan_init(&swap->plan, &swap->small.problem, &swap->small.pile);
    for (int32_t d = 0; d < 3; d++) {
        group = place_plan_add_group(&swap->plan, &swap->small.problem, d, 1);
        place_group_add(group, d == 2);
    }
    place_plan_finish(&swap->plan, &swap->small.problem);
    swap->workload = (struct workload){ .seed = 3,
                                        .n_requests = UINT64_MAX,
                                        .until_ns = (int64_t)(n_cycles * step_s) * 2 * S,
                                        .n_services = 2 };
    swap->profiles[0] = (struct workload_profile){ step_s, 2, often };
    swap->profiles[1] = (struct workload_profile){ step_s, 2, seldom };
    set_services(swap);
    sim_replan_settings_init(&swap->replace.settings);
    swap->replace.settings.effort = 0.1;
    swap->replace.problem = &swap->small.problem;
    swap->replace.plan = &swap->plan;
    swap->replace.foretold = (struct replace_score){ 1.2, 1 };
    swap->replace.planner = &place_default;
    swap->replace.rule = (struct score_rule){ .scale = 5 };
    swap->replace.n_threads = 1;
    schedule_config_init(&swap->config);
    swap->config.n_seqs_max = 4;
    assert_int_equal(sim_replan_n_engines(&swap->small.problem), 4); /* 0-1, 0, 1, 2 */
    sim_replan_engines(&swap->small.problem, &swap->plan, swap->perfs, NULL, swap->engines);
    swap->options = (struct sim_options){ .n_engines = 4,
                                          .n_lanes = 1,
                                          .n_services = 2,
                                          .services = swap->services,
                                          .engines = swap->engines,
                                          .n_requests_max = 64,
                                          .n_tokens_max = 1024,
                                          .block_tokens = 16,
                                          .policy = schedule_find("fcfs"),
                                          .config = &swap->config,
                                          .router = route_find("least"),
                                          .workload = &swap->workload,
                                          .checks_steps = true,
                                          .replace = &swap->replace };
}

struct result {
    uint64_t hash, n_requests;
    double e2e_s;
    struct sim_replan_report moves;
};
static struct result run(struct swap *swap)
{
    struct sim_report report;
    struct result result = { .e2e_s = 0 };
    sim_run(&swap->options, &report);
    if (report.wrong != NULL)
        fail_msg("%s", report.wrong);
    for (int s = 0; s < 2; s++) {
        assert_int_equal(report.services[s].n_ended[SERVICE_LENGTH],
                         report.services[s].n_requests); /* no request failed */
        result.e2e_s += report.services[s].e2e_s / (double)report.n_requests;
    }
    result.hash = report.hash;
    result.n_requests = report.n_requests;
    result.moves = report.replace;
    sim_report_free(&report);
    return result;
}

static void test_popularity_changes_and_moving_pays(void **state)
{
    struct swap swap;
    (void)state;
    open_swap(&swap, 2, 1200);
    struct result moved = run(&swap);
    swap.replace.settings.is_off = true;
    struct result stayed = run(&swap);
    const struct sim_replan_report *m = &moved.moves;
    printf("end to end %.2f s and %.2f s; %lld plans, %lld moves, %lld returned, %.1f s away, "
           "promised %.2f, got %.2f\n",
           moved.e2e_s, stayed.e2e_s, (long long)m->n_plans, (long long)m->n_moves,
           (long long)m->n_returned, (double)m->away_ns * 1e-9, m->promised_latency,
           m->got_latency);
    assert_int_equal(stayed.moves.n_plans, 0);
    assert_true(moved.n_requests == stayed.n_requests && moved.n_requests > 30000 / 4);
    assert_int_equal(m->n_moves, 3); /* the popular one has changed three times */
    assert_int_equal(m->n_judged, 3);
    /* One engine changes each time: 10 GiB, 2 s of settling and 10 GiB at 24 GB/s. */
    assert_int_equal(m->loaded_bytes, 3 * 10 * SMALL_GIB);
    assert_true(m->away_ns > 3 * (2 * S + 447000000) && m->away_ns < 3 * (2 * S + 480000000));
    assert_int_equal(m->fetched_bytes, 0);  /* both models are on the single node from the start */
    assert_int_equal(m->unavailable_ns, 0); /* each is somewhere all the time */
    assert_true(m->promised_latency > 1.5 && m->got_latency > 1.5);
    assert_true(moved.e2e_s < 0.5 * stayed.e2e_s);
    small_close(&swap.small);
}

static void test_a_move_that_costs_more_than_it_gains(void **state)
{
    struct swap swap;
    (void)state;
    open_swap(&swap, 1, 1200);
    swap.replace.settings.links.host_bytes_per_s = 5e6; /* 10 GiB: 36 minutes */
    struct result moved = run(&swap);
    swap.replace.settings.is_off = true;
    struct result stayed = run(&swap);
    assert_true(moved.moves.n_plans > 1);
    assert_int_equal(moved.moves.n_moves, 0);
    assert_true(moved.moves.n_verdicts[REPLACE_NOT_WORTH] > 0);
    assert_true(moved.hash == stayed.hash); /* to look changes nothing */
    small_close(&swap.small);
}

static void test_where_there_is_nothing_to_gain(void **state)
{
    struct swap swap;
    (void)state;
    open_swap(&swap, 1, 1200);
    swap.workload.services[0].rate_per_s = swap.workload.services[1].rate_per_s = 0.15;
    struct result moved = run(&swap);
    assert_true(moved.moves.n_plans > 1);
    assert_int_equal(moved.moves.n_moves, 0);
    assert_int_equal(moved.moves.n_verdicts[REPLACE_SAME] + moved.moves.n_verdicts[REPLACE_NO_GAIN],
                     moved.moves.n_plans);
    small_close(&swap.small);
}

/* The queue's KV outgrows the pools long before the interval is over. */
static void test_kv_asks_for_a_plan(void **state)
{
    struct swap swap;
    (void)state;
    open_swap(&swap, 1, 1200);
    for (int s = 0; s < 2; s++) /* a request takes 1.8 GB, three devices leave 200 */
        swap.services[s].size.kv_bytes_per_token = swap.small.services[s].size.kv_bytes_per_token =
            9000000;
    swap.replace.settings.config.first_ns = 2000 * S; /* the interval ends 800 s after the swap */
    struct result late = run(&swap);
    swap.replace.settings.watches_kv = true;
    struct result watched = run(&swap);
    printf("end to end %.2f s, watched %.2f s: %lld plans of %lld asked for by KV\n", late.e2e_s,
           watched.e2e_s, (long long)watched.moves.n_alarms, (long long)watched.moves.n_plans);
    assert_int_equal(late.moves.n_alarms, 0);
    assert_true(watched.moves.n_alarms > 0 && watched.moves.n_moves > 0);
    assert_true(watched.e2e_s < late.e2e_s);
    small_close(&swap.small);
}

static void test_the_same_twice_and_without_holds(void **state)
{
    struct swap swap;
    (void)state;
    open_swap(&swap, 1, 1200);
    struct result a = run(&swap), b = run(&swap);
    swap.replace.n_threads = 3;
    struct result threads = run(&swap);
    swap.config.n_rounds_max = 1;
    struct result steps = run(&swap);
    assert_true(a.hash == b.hash && a.hash == threads.hash && a.hash == steps.hash);
    assert_true(a.moves.n_moves > 0 && a.moves.n_moves == steps.moves.n_moves);
    assert_int_equal(a.moves.n_returned, steps.moves.n_returned);
    assert_int_equal(a.moves.away_ns, steps.moves.away_ns);
    small_close(&swap.small);
}

static void test_no_router_loses_anything(void **state)
{
    int n;
    int64_t n_moves = 0, n_returned = 0;
    const struct route_policy *const *all = route_all(&n);
    (void)state;
    for (int i = 0; i < n; i++) {
        struct swap swap;
        open_swap(&swap, 1, 200);
        swap.options.router = all[i];
        swap.profiles[0].factors = more;
        swap.profiles[1].factors = less;
        swap.replace.settings.config.first_ns = 100 * S;
        swap.workload.with_deadline = 0.01; /* some end otherwise */
        swap.workload.deadline_ns = 5 * S;
        swap.workload.cancelled = 0.01;
        swap.workload.cancel_ns_mean = S;
        struct sim_report report;
        sim_run(&swap.options, &report);
        if (report.wrong != NULL)
            fail_msg("%s: %s", all[i]->name, report.wrong);
        for (int s = 0; s < 2; s++)
            assert_int_equal(report.services[s].n_ended[SERVICE_FAILED], 0);
        n_moves += report.replace.n_moves;
        n_returned += report.replace.n_returned;
        sim_report_free(&report);
        small_close(&swap.small);
    }
    printf("%d routers: %lld moves, %lld requests returned\n", n, (long long)n_moves,
           (long long)n_returned);
    assert_true(n_moves >= n / 2 && n_returned > 0);
}

static void test_settings(void **state)
{
    struct sim_replan_settings settings;
    struct fault fault;
    (void)state;
    sim_replan_settings_init(&settings);
    assert_true(!settings.is_off && settings.config.first_ns == 600 * S);
    assert_int_equal(sim_replan_set(&settings, "off", &fault), STATUS_OK);
    assert_true(settings.is_off);
    assert_int_equal(sim_replan_set(&settings, "on", &fault), STATUS_OK);
    assert_false(settings.is_off);
    assert_int_equal(sim_replan_set(&settings, "least_ns=30000", &fault), STATUS_OK);
    assert_int_equal(settings.config.least_ns, 30 * S);
    assert_int_equal(sim_replan_set(&settings, "host_bytes_per_s=12e9", &fault), STATUS_OK);
    assert_true(settings.links.host_bytes_per_s == 12e9);
    assert_int_equal(sim_replan_set(&settings, "beta=2", &fault), STATUS_BAD_INPUT);
    assert_int_equal(sim_replan_set(&settings, "speed=2", &fault), STATUS_BAD_INPUT);
    assert_non_null(strstr(fault.text, "first_ns"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_popularity_changes_and_moving_pays),
        cmocka_unit_test(test_a_move_that_costs_more_than_it_gains),
        cmocka_unit_test(test_where_there_is_nothing_to_gain),
        cmocka_unit_test(test_kv_asks_for_a_plan),
        cmocka_unit_test(test_the_same_twice_and_without_holds),
        cmocka_unit_test(test_no_router_loses_anything),
        cmocka_unit_test(test_settings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
