/* A pool of more services than a word has bits, on more engines than one machine has: behind the
 * door with every kind of router, and behind the bus. */
#include "../test.h"
#include "base/mem.h"
#include "base/time.h"
#include "sim/sim.h"
#include "models.h"

enum { SERVICES = 130, ENGINES = 40, COPIES = 3 };

static void take(void *self, const struct record *record)
{
    metrics_record_add(self, record);
}

/* Service s lies on COPIES engines, s, s + 11, ... Returns the hash of the records. */
static uint64_t run(const char *router, const struct sim_faults *faults, struct sim_report *report)
{
    static struct sim_service services[SERVICES];
    static struct sim_engine_spec engines[ENGINES];
    static struct workload workload;
    struct record_set set = { 0 };
    memset(engines, 0, sizeof(engines));
    workload = (struct workload){ .seed = 3, .n_requests = 1500, .n_services = SERVICES };
    for (int s = 0; s < SERVICES; s++) {
        services[s] = (struct sim_service){ .name = "small",
                                            .perf = small_model,
                                            .bytes_per_token = 2000,
                                            .weights_bytes = 1000000,
                                            .activation_bytes = 100000 };
        workload.services[s] = (struct workload_traffic){ .rate_per_s = 0.3,
                                                          .prompt = { 4, 1, 1, 400 },
                                                          .output = { 3, 1, 1, 200 } };
        for (int copy = 0; copy < COPIES; copy++)
            set_add(&engines[(s + 11 * copy) % ENGINES].services, s);
    }
    for (int e = 0; e < ENGINES; e++)
        engines[e].memory_bytes = 30000000;
    const struct sim_options options = { .n_engines = ENGINES,
                                         .n_lanes = 1,
                                         .n_services = SERVICES,
                                         .services = services,
                                         .engines = engines,
                                         .n_requests_max = 24,
                                         .n_live_max = 2048,
                                         .n_tokens_max = 600,
                                         .block_tokens = 16,
                                         .policy = schedule_find("value"),
                                         .router = route_find(router),
                                         .workload = &workload,
                                         .faults = faults,
                                         .checks_steps = faults == NULL,
                                         .take = take,
                                         .take_self = &set };
    sim_run(&options, report);
    if (report->wrong != NULL)
        fail_msg("%s: %s", router, report->wrong);
    metrics_record_sort(&set);
    assert_int_equal(set.n, workload.n_requests);
    bool was_asked[SERVICES] = { false };
    for (size_t i = 0; i < set.n; i++) {
        const struct record *r = &set.at[i];
        assert_true(r->n_output == r->n_wanted);
        assert_true(set_has(&engines[r->engine].services, r->service));
        was_asked[r->service] = true;
    }
    for (int s = 0; s < SERVICES; s++)
        assert_true(was_asked[s]);
    uint64_t hash = metrics_record_hash(&set);
    metrics_record_set_free(&set);
    return hash;
}

static void every_router_sends_it_where_its_model_is(void **state)
{
    int n;
    (void)state;
    const struct route_policy *const *all = route_all(&n);
    for (int i = 0; i < n; i++) {
        struct sim_report report;
        (void)run(all[i]->name, NULL, &report);
        sim_report_free(&report);
    }
}

static void the_bus_is_the_door(void **state)
{
    static const struct sim_faults none = { 0 };
    static const struct sim_faults bad = {
        .latency_ns = TIME_NS_PER_MS, .lost = 0.01, .twice = 0.01, .crash_ns = 20 * TIME_NS_PER_S
    };
    struct sim_report report;
    (void)state;
    uint64_t expected = run("rr", NULL, &report);
    sim_report_free(&report);
    assert_int_equal(run("rr", &none, &report), expected);
    sim_report_free(&report);
    (void)run("least", &bad, &report);
    assert_true(report.bus.n_crashes > 0);
    sim_report_free(&report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_router_sends_it_where_its_model_is),
        cmocka_unit_test(the_bus_is_the_door),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
