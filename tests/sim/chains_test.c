/* Chains of unlike devices in a simulation: what a step takes, which map is chosen, and that
 * nothing is lost while devices leave and join. */
#include "../test.h"
#include "sim/sim.h"
#include <string.h>

#define S         INT64_C(1000000000)
#define MIB       (INT64_C(1) << 20)
#define PS_PER_MS INT64_C(1000000000)
enum { DEVICES = 4, LAYERS = 8 };

/* A model of 8 layers of 100 MiB, with 800 KV bytes a token and layer. On device d it takes, alone,
 * 8 (d + 1) ms a decode step, so a layer takes d + 1 ms; a prompt the same, whatever its length. */
struct small_chain {
    struct sim_chain_device devices[DEVICES];
    struct links_link at[DEVICES * DEVICES];
    struct links links;
    struct sim_chain_event events[8];
    struct sim_chain chain;
    struct sim_service service;
    struct sim_workload workload;
    struct sim_engine_spec engine;
    struct schedule_config config;
    struct sim_options options;
};

static void open_small(struct small_chain *c)
{
    memset(c, 0, sizeof(*c));
    for (int d = 0; d < DEVICES; d++) {
        int64_t ps = 8 * (d + 1) * PS_PER_MS;
        c->devices[d] = (struct sim_chain_device){ .perf = { .floor_ps = ps,
                                                             .c1_ps = ps,
                                                             .c3_ps = { ps, ps },
                                                             .b_switch = 64,
                                                             .prefill_scale = 1,
                                                             .decode_scale = 1 },
                                                   .memory_bytes = 450 * MIB };
    }
    for (int i = 0; i < DEVICES * DEVICES; i++) /* 10 us and 1 GB/s; the way back 5 us more */
        c->at[i] = (struct links_link){ i / DEVICES < i % DEVICES ? 10000 : 15000, 1e9 };
    c->links = (struct links){ DEVICES, c->at };
    c->chain = (struct sim_chain){ .n_devices = DEVICES,
                                   .n_layers = LAYERS,
                                   .devices = c->devices,
                                   .links = &c->links,
                                   .layer_bytes = 100 * MIB,
                                   .kv_bytes_per_token = LAYERS * 800,
                                   .weights_bytes = LAYERS * 100 * MIB,
                                   .handed_bytes_per_token = 1000,
                                   .n_batch = 4,
                                   .n_context = 1000,
                                   .aim = LAYERS_HELR,
                                   .events = c->events,
                                   .host_bytes_per_s = 100e6,
                                   .settle_ns = S };
    c->service = (struct sim_service){ .name = "a",
                                       .perf = c->devices[0].perf,
                                       .bytes_per_token = LAYERS * 800,
                                       .weights_bytes = LAYERS * 100 * MIB };
    c->workload = (struct sim_workload){ .seed = 3, .n_requests = 300, .n_services = 1 };
    c->workload.services[0] = (struct sim_traffic){ .rate_per_s = 2,
                                                    .prompt = { 4.6, 0, 1, 400 },
                                                    .output = { 4.0, 0.3, 1, 200 } };
    c->engine = (struct sim_engine_spec){ .services = 1, .n_devices = DEVICES, .chain = &c->chain };
    schedule_config_init(&c->config);
    c->options = (struct sim_options){ .n_engines = 1,
                                       .n_lanes = 1,
                                       .n_services = 1,
                                       .services = &c->service,
                                       .engines = &c->engine,
                                       .n_requests_max = 256,
                                       .n_tokens_max = 1024,
                                       .block_tokens = 16,
                                       .policy = schedule_find("fcfs"),
                                       .config = &c->config,
                                       .router = route_find("least"),
                                       .workload = &c->workload,
                                       .checks_steps = true };
}

static void add_event(struct small_chain *c, int64_t at_s, int32_t device, bool joins)
{
    c->events[c->chain.n_events++] = (struct sim_chain_event){ at_s * S, device, joins };
}

static struct sim_report run(const struct small_chain *c)
{
    struct sim_report report;
    sim_run(&c->options, &report);
    if (report.wrong != NULL)
        fail_msg("%s", report.wrong);
    return report;
}

/* ---- One step. ---- */

static void test_a_step_by_hand(void **state)
{
    struct small_chain c;
    (void)state;
    open_small(&c);
    const struct layers_plan plan = { .n_parts = 2, .parts = { { 1, 3 }, { 3, 5 } } };
    const struct perf_load decodes = { .n_decodes = 4, .n_decode_context = 4000 };
    const struct perf_load prompt = { .n_new = 500, .n_new_squared = 250000 };
    /* 3 layers of 2 ms, 5 of 4 ms; 10 us and 15 us of latency, twice 4,000 bytes at 1 GB/s. */
    assert_int_equal(sim_chain_step_ps(&c.chain, &plan, &decodes), 26033 * INT64_C(1000000));
    assert_int_equal(sim_chain_step_ps(&c.chain, &plan, &prompt), 27025 * INT64_C(1000000));
    /* Device 1 has 150 MiB beside its layers, but device 3 none: 5 layers take 500 of 450. */
    assert_true(sim_chain_tokens(&c.chain, &plan) < 0);
    const struct layers_plan fits = { .n_parts = 2, .parts = { { 1, 4 }, { 3, 4 } } };
    assert_int_equal(sim_chain_tokens(&c.chain, &fits), 50 * MIB / (4 * 800));
    const struct layers_plan one = { .n_parts = 1, .parts = { { 2, 8 } } };
    assert_int_equal(sim_chain_step_ps(&c.chain, &one, &decodes), 24 * PS_PER_MS); /* no link */
}

/* ---- The map. ---- */

/* Who is here, as the problem that HELR solves: written out again from the devices. */
static struct layers_plan solve_apart(const struct small_chain *c, const bool *is_here)
{
    struct layers_device devices[DEVICES];
    int64_t links[DEVICES * DEVICES];
    struct layers_plan plan;
    for (int d = 0; d < DEVICES; d++) /* who is away holds nothing, so it is not chosen */
        devices[d] = (struct layers_device){
            (d + 1) * PS_PER_MS, is_here[d] ? (int32_t)(450 * MIB / (100 * MIB + 800 * 4000)) : 0
        };
    for (int i = 0; i < DEVICES * DEVICES; i++)
        links[i] = i / DEVICES == i % DEVICES  ? 0
                   : i / DEVICES < i % DEVICES ? 14 * INT64_C(1000000)
                                               : 19 * INT64_C(1000000);
    const struct layers_problem problem = { DEVICES, LAYERS, devices, links, true };
    assert_int_equal(layers_solve(&problem, c->chain.aim, NULL, &plan, NULL), STATUS_OK);
    return plan;
}

static void test_the_map_is_the_exact_planners(void **state)
{
    struct small_chain c;
    (void)state;
    open_small(&c);
    const struct perf_load planned = { .n_decodes = 4, .n_decode_context = 4000 };
    for (unsigned mask = 0; mask < 1u << DEVICES; mask++) {
        bool is_here[DEVICES];
        struct layers_plan plan;
        int n = 0;
        for (int d = 0; d < DEVICES; d++)
            n += is_here[d] = (mask >> d & 1) != 0;
        if (n == 0)
            continue;
        enum status status = sim_chain_plan(&c.chain, is_here, 4000, &plan, NULL);
        if (n < 2) { /* four layers each */
            assert_int_equal(status, STATUS_TOO_LARGE);
            continue;
        }
        const struct layers_plan wanted = solve_apart(&c, is_here);
        assert_int_equal(status, STATUS_OK);
        assert_int_equal(plan.n_parts, wanted.n_parts);
        assert_memory_equal(plan.parts, wanted.parts, (size_t)plan.n_parts * sizeof(plan.parts[0]));
        assert_int_equal(plan.step_ps, wanted.step_ps);
        assert_int_equal(sim_chain_step_ps(&c.chain, &plan, &planned), plan.step_ps);
    }
}

/* ---- Devices that leave and join. ---- */

static void test_who_is_there_at_first(void **state)
{
    struct small_chain c;
    bool is_here[DEVICES];
    (void)state;
    open_small(&c);
    add_event(&c, 1, 1, true);
    add_event(&c, 2, 2, false);
    add_event(&c, 3, 1, false);
    add_event(&c, 4, 2, true);
    sim_chain_first(&c.chain, is_here);
    assert_true(is_here[0] && !is_here[1] && is_here[2] && is_here[3]);
}

static void test_nothing_is_lost(void **state)
{
    struct small_chain c;
    (void)state;
    open_small(&c);
    add_event(&c, 20, 0, false); /* in the map: 0 and 1 become 1 and 2 */
    add_event(&c, 40, 3, false); /* not in it */
    add_event(&c, 60, 0, true);
    add_event(&c, 61, 1, false); /* while the map with it loads */
    add_event(&c, 90, 2, false); /* one device is too small for all layers: down */
    add_event(&c, 100, 1, true);
    struct sim_report report = run(&c);
    const struct sim_chains_report *r = &report.chains;
    printf("%lld maps, %lld returned, %.1f s away, %lld MiB loaded, end %.1f s\n",
           (long long)r->n_maps, (long long)r->n_returned, (double)r->away_ns * 1e-9,
           (long long)(r->loaded_bytes / MIB), (double)report.end_ns * 1e-9);
    assert_int_equal(report.services[0].n_ended[SERVICE_LENGTH], 300);
    assert_int_equal(r->n_reruns[WATCH_LEFT], 4);
    assert_int_equal(r->n_reruns[WATCH_JOINED], 2);
    assert_int_equal(r->n_same, 1);
    assert_int_equal(r->n_none, 1);
    assert_int_equal(r->n_maps, 4);
    assert_true(r->n_returned > 0);
    /* Four layers at 100 MB/s and settling, 5.2 s: of 1 and 2; of 0 and 1, begun at 60 s and again
     * of 0 and 2 at 61 s; none from 90 s, and of 0 and 1 at 100 s. Steps that run end first. */
    int64_t load_ns = S + (int64_t)(400.0 * (double)MIB / 100e6 * 1e9);
    int64_t least_ns = load_ns + (S + load_ns) + (10 * S + load_ns);
    assert_true(r->away_ns >= least_ns && r->away_ns < least_ns + S / 2);
    sim_report_free(&report);
}

static void test_the_same_with_and_without_holds_and_threads(void **state)
{
    struct small_chain c;
    (void)state;
    open_small(&c);
    add_event(&c, 20, 0, false);
    add_event(&c, 60, 0, true);
    struct sim_report held = run(&c);
    c.options.n_threads = 4;
    struct sim_report threads = run(&c);
    c.config.n_rounds_max = 1;
    struct sim_report stepped = run(&c);
    assert_int_equal(held.chains.n_maps, 2);
    assert_true(held.hash == threads.hash && held.hash == stepped.hash);
    assert_true(held.n_steps < stepped.n_steps);
    assert_memory_equal(&held.chains, &threads.chains, sizeof(held.chains));
    assert_memory_equal(&held.chains, &stepped.chains, sizeof(held.chains));
    sim_report_free(&held);
    sim_report_free(&threads);
    sim_report_free(&stepped);
}

static void test_a_chain_that_stays_waits(void **state)
{
    struct small_chain c;
    (void)state;
    open_small(&c);
    add_event(&c, 20, 0, false);
    add_event(&c, 100, 0, true);
    struct sim_report anew = run(&c);
    c.chain.stays = true;
    struct sim_report stayed = run(&c);
    assert_int_equal(stayed.services[0].n_ended[SERVICE_LENGTH], 300);
    assert_int_equal(stayed.chains.n_maps, 1); /* the same, when the device is back */
    assert_true(stayed.chains.away_ns > 80 * S && anew.chains.away_ns < 12 * S);
    assert_true(stayed.services[0].e2e_s > 2 * anew.services[0].e2e_s);
    sim_report_free(&anew);
    sim_report_free(&stayed);
}

static void test_a_chain_that_never_comes_back(void **state)
{
    struct small_chain c;
    (void)state;
    open_small(&c);
    for (int d = 0; d < 3; d++)
        add_event(&c, 30, d, false);
    struct sim_report report = run(&c);
    int64_t n = report.services[0].n_ended[SERVICE_LENGTH];
    assert_true(n > 0 && n < 300); /* the others are told of as unfinished, not lost */
    assert_int_equal(report.chains.n_none, 1);
    sim_report_free(&report);
}

static void test_kv_asks_for_another_map(void **state)
{
    struct small_chain c;
    (void)state;
    open_small(&c);
    c.chain.aim = LAYERS_HE;
    for (int d = 0; d < DEVICES; d++) /* 2 devices have room for 4,000 tokens, 3 for more */
        c.devices[d].memory_bytes = 400 * MIB + 4 * 800 * 4100;
    c.workload.services[0].rate_per_s = 30;
    c.workload.n_requests = 3000;
    struct sim_report report = run(&c);
    assert_true(report.chains.n_reruns[WATCH_KV] > 0);
    assert_true(report.chains.n_maps > 0);
    assert_int_equal(report.services[0].n_ended[SERVICE_LENGTH], 3000);
    sim_report_free(&report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_step_by_hand),
        cmocka_unit_test(test_the_map_is_the_exact_planners),
        cmocka_unit_test(test_who_is_there_at_first),
        cmocka_unit_test(test_nothing_is_lost),
        cmocka_unit_test(test_the_same_with_and_without_holds_and_threads),
        cmocka_unit_test(test_a_chain_that_stays_waits),
        cmocka_unit_test(test_a_chain_that_never_comes_back),
        cmocka_unit_test(test_kv_asks_for_another_map),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
