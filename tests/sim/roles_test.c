/* Engines that only compute prompts, and engines that only decode: one request by hand, and under
 * load nothing is lost, whatever the routers. */
#include "../test.h"
#include "sim/sim.h"

#define S INT64_C(1000000000)

/* A prompt of n tokens takes 1 ms + 20 us a token, and a step of b decodes 20 ms + b ms. */
static const struct perf model = { .c1_ps = 1000000000,
                                   .k1_ps = 20000000,
                                   .c3_ps = { 20000000000, 20000000000 },
                                   .c2_ps = { 1000000000, 1000000000 },
                                   .b_switch = 64,
                                   .prefill_scale = 1,
                                   .decode_scale = 1 };
struct world {
    struct workload workload;
    struct sim_service services[2];
    struct sim_engine_spec engines[8];
    struct schedule_config config;
    struct sim_options options;
    struct record last;
    int n_records;
};

static void take(void *self, const struct record *record)
{
    struct world *world = self;
    world->last = *record;
    world->n_records++;
}

static void open_world(struct world *world, int32_t n_prefill, int32_t n_decode, int32_t n_mixed)
{
    int32_t n = n_prefill + n_decode + n_mixed;
    memset(world, 0, sizeof(*world));
    world->workload = (struct workload){ .seed = 5, .n_requests = 1, .n_services = 2 };
    for (int s = 0; s < 2; s++) {
        world->services[s] = (struct sim_service){ .name = s == 0 ? "day" : "night",
                                                   .perf = model,
                                                   .size.kv_bytes_per_token = 1000000,
                                                   .size.weights_bytes = 1000000,
                                                   .size.activation_bytes = 100000 };
        world->workload.services[s] = (struct workload_traffic){ .rate_per_s = s == 0 ? 1 : 0,
                                                                 .prompt = { 4.6052, 0, 1, 400 },
                                                                 .output = { 3.912, 0, 1, 200 } };
    }
    for (int32_t e = 0; e < n; e++)
        world->engines[e] = (struct sim_engine_spec){
            .services = { { 3 } },
            .memory_bytes = INT64_C(20000000000),
            .n_devices = 1,
            .role = (uint8_t)(e < n_prefill              ? SIM_PREFILL
                              : e < n_prefill + n_decode ? SIM_DECODE
                                                         : SIM_MIXED),
        };
    schedule_config_init(&world->config);
    world->options = (struct sim_options){ .n_engines = n,
                                           .n_lanes = 1,
                                           .n_services = 2,
                                           .services = world->services,
                                           .engines = world->engines,
                                           .n_requests_max = 64,
                                           .n_tokens_max = 1000,
                                           .block_tokens = 16,
                                           .policy = schedule_find("fcfs"),
                                           .config = &world->config,
                                           .router = route_find("least"),
                                           .kv_bytes_per_s = INT64_C(1000000000),
                                           .workload = &world->workload,
                                           .checks_steps = true,
                                           .take = take,
                                           .take_self = world };
}

/* 100 tokens in, 50 out: a prompt of 3 ms with the first token, then 100 MB at 1 GB/s in 100 ms,
 * and 49 steps of 21 ms. */
static void test_one_request_by_hand(void **state)
{
    struct world world;
    struct sim_report report;
    (void)state;
    open_world(&world, 1, 1, 0);
    sim_run(&world.options, &report);
    assert_null(report.wrong);
    assert_true(world.last.n_prompt == 100 && world.last.n_output == 50);
    assert_int_equal(world.last.first_ns - world.last.arrived_ns, 3000000);
    int64_t rest_ns = world.last.end_ns - world.last.first_ns; /* a nanosecond to take it in */
    assert_in_range(rest_ns, 100000000 + 49 * 21000000, 100000001 + 49 * 21000000);
    assert_true(world.last.engine == 1 && world.last.n_cached == 0);
    assert_true(report.n_handed == 1 && report.handed_bytes == 100000000);
    sim_report_free(&report);
    world.workload.services[0].output =
        (struct workload_lengths){ 0, 0, 1, 1 }; /* no second token */
    sim_run(&world.options, &report);
    assert_null(report.wrong);
    assert_int_equal(world.last.end_ns - world.last.arrived_ns, 3000000);
    assert_true(report.n_handed == 0 && world.last.engine == 0);
    sim_report_free(&report);
}

struct result {
    uint64_t hash;
    int64_t n_handed;
    double tpot_s, ttft_s;
};
static struct result run(struct world *world)
{
    struct sim_report report;
    world->n_records = 0;
    sim_run(&world->options, &report);
    if (report.wrong != NULL)
        fail_msg("%s", report.wrong);
    assert_int_equal(report.n_requests, world->workload.n_requests);
    assert_int_equal(world->n_records, world->workload.n_requests);
    for (int s = 0; s < 2; s++)
        assert_int_equal(report.services[s].n_ended[SERVICE_FAILED] +
                             report.services[s].n_ended[SERVICE_TOO_LARGE],
                         0);
    struct result result = { report.hash, report.n_handed,
                             report.services[0].tpot_s / (double)report.services[0].n_requests,
                             report.services[0].ttft_s / (double)report.services[0].n_requests };
    sim_report_free(&report);
    return result;
}

static void load(struct world *world)
{
    world->workload.n_requests = 3000;
    for (int s = 0; s < 2; s++) {
        world->workload.services[s].rate_per_s = 6;
        world->workload.services[s].prompt = (struct workload_lengths){ 5, 1, 1, 600 };
        world->workload.services[s].output = (struct workload_lengths){ 3, 1, 1, 300 };
    }
}

/* Prompts wait for no decodes, so first tokens come sooner. */
static void test_first_tokens_come_sooner(void **state)
{
    struct world world;
    (void)state;
    open_world(&world, 2, 4, 0);
    load(&world);
    world.options.kv_bytes_per_s = 0; /* 25 GB/s: 10 ms in the mean */
    struct result split = run(&world);
    open_world(&world, 0, 0, 6);
    load(&world);
    struct result mixed = run(&world);
    printf("a token %.4f s and %.4f s, the first %.4f s and %.4f s\n", split.tpot_s, mixed.tpot_s,
           split.ttft_s, mixed.ttft_s);
    assert_int_equal(mixed.n_handed, 0);
    assert_true(split.n_handed > 2000);
    assert_true(split.ttft_s < 0.5 * mixed.ttft_s);
}

/* 13B on an A100 (docs/ALGORITHMS.md, appendix A), 10 conversations a second. */
static const struct perf model_13b = { .c1_ps = 7800000000,
                                       .k1_ps = 131400000,
                                       .floor_ps = 20900000000,
                                       .c3_ps = { 20090000000, 16320000000 },
                                       .c2_ps = { 54000000, 121100000 },
                                       .k2_ps = { 583000, 573000 },
                                       .b_switch = 64,
                                       .prefill_scale = 1,
                                       .decode_scale = 1 };

static int32_t n_met;

static void take_met(void *self, const struct record *record)
{
    int64_t rest_ns = record->end_ns - record->first_ns;
    (void)self;
    n_met += record->first_ns - record->arrived_ns <= S * 6 / 10 &&
             rest_ns <= INT64_C(30000000) * (record->n_output - 1);
}

/* Returns the part of the requests that keep 600 ms and 30 ms a token. */
static double attained(const char *router, int32_t n_decode)
{
    struct world world;
    struct sim_report report;
    struct route_config route;
    open_world(&world, 2, n_decode, 0);
    route_config_init(&route);
    world.services[0].perf = world.services[1].perf = model_13b;
    for (int s = 0; s < 2; s++)
        world.services[s].size = (struct service_size){ .kv_bytes_per_token = 819200,
                                                        .weights_bytes = INT64_C(13) << 30,
                                                        .activation_bytes = 1 << 30 };
    for (int e = 0; e < 2 + n_decode; e++)
        world.engines[e].memory_bytes = INT64_C(72) << 30;
    world.workload.n_requests = 600;
    world.workload.services[0].rate_per_s = 10;
    world.workload.services[0].prompt = (struct workload_lengths){ 4.6, 0.95, 4, 1024 };
    world.workload.services[0].output = (struct workload_lengths){ 5.4, 0.9, 4, 1024 };
    world.options.n_tokens_max = 2048;
    world.options.n_requests_max = 256;
    world.options.slo = (struct service_slo){ .ttft_ns = S * 6 / 10, .tpot_ns = 30000000 };
    world.options.router = route_find(router);
    world.options.router_config = &route;
    world.options.kv_bytes_per_s = 0; /* 25 GB/s */
    world.options.take = take_met;
    n_met = 0;
    sim_run(&world.options, &report);
    assert_null(report.wrong);
    sim_report_free(&report);
    return (double)n_met / 600;
}

/* A request comes to its decode engine late, by the hand-over and the wait at the router. Best fit
 * fills an engine until a step lasts as long as the target allows, so it has to count that. */
static void test_best_fit_counts_the_hand_over(void **state)
{
    (void)state;
    for (int32_t n_decode = 4; n_decode <= 6; n_decode += 2) {
        double best = attained("best-fit", n_decode), jsq = attained("jsq", n_decode);
        printf("%d decode engines: best fit %.1f%%, JSQ %.1f%%\n", n_decode, 100 * best, 100 * jsq);
        assert_true(best >= 0.99 && best >= jsq - 0.01);
    }
}

static void test_no_router_loses_anything(void **state)
{
    int n;
    const struct route_policy *const *all = route_all(&n);
    (void)state;
    for (int i = 0; i < n; i++) {
        struct world world;
        open_world(&world, 2, 3, i % 2);
        load(&world);
        world.options.router = all[i];
        world.options.decode_router = i % 3 == 0 ? route_find("least") : NULL;
        world.workload.cancelled = 0.05;
        world.workload.cancel_ns_mean = S / 4;
        world.workload.with_deadline = 0.05;
        world.workload.deadline_ns = 2 * S;
        for (int e = 0; e < 5; e++) /* so little that decodes are preempted */
            world.engines[e].memory_bytes = 2000000000;
        struct result result = run(&world);
        assert_true(result.n_handed > 500);
    }
}

static void test_holds_change_nothing(void **state)
{
    static const char *const routers[] = { "least", "best-fit", "rr" };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(routers); i++) {
        struct world world;
        open_world(&world, 2, 3, 1);
        load(&world);
        world.options.router = route_find(routers[i]);
        struct result a = run(&world), again = run(&world);
        world.config.n_rounds_max = 1;
        struct result b = run(&world);
        assert_true(a.hash == again.hash && a.hash == b.hash && a.n_handed == b.n_handed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_request_by_hand),
        cmocka_unit_test(test_first_tokens_come_sooner),
        cmocka_unit_test(test_best_fit_counts_the_hand_over),
        cmocka_unit_test(test_no_router_loses_anything),
        cmocka_unit_test(test_holds_change_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
