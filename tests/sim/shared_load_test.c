/* Several gateways of one cluster, each with a part of the traffic, place nearly as a single one
 * does, because nodes tell each gateway what the others have on their engines.
 *
 * The cluster is simulated (world.h), with the real gateways, nodes and messages. The same traffic
 * goes through 1, 2 and 4 gateways, with and without that part of the reports. */
#include "../test.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/time.h"
#include "world.h"
#include <stdlib.h>
#include <string.h>

static const int64_t WARM_NS = 20 * TIME_NS_PER_S, RUN_NS = 120 * TIME_NS_PER_S,
                     REST_NS = 60 * TIME_NS_PER_S;

struct setting {
    const char *name, *router, *policy;
    const char *thresholds[8];
    struct service_slo slo;
    int64_t row_ps;
    double rate_per_s; /* of all gateways */
};
static const struct setting scls = {
    .name = "scls",
    .router = "scls",
    .policy = "cohort",
    .thresholds = { "n_slice=16", "interval_ns_min=500", "memory=padded", NULL },
    .rate_per_s = 30,
};
static const struct setting best_fit = {
    .name = "best-fit",
    .router = "best-fit",
    .policy = "fcfs",
    .slo = { .ttft_ns = 1000 * TIME_NS_PER_MS, .tpot_ns = 80 * TIME_NS_PER_MS },
    .row_ps = 3000000000, /* so that 9 requests at once keep the target of 80 ms per token */
    .rate_per_s = 40,
};
struct result {
    int n;
    double latency_s, worst_s, in_time; /* mean; the slowest of 100; part within the targets */
};

static int is_less(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static struct result measure(const struct world *w, const struct setting *setting)
{
    struct result result = { 0 };
    double *all = mem_take(sizeof *all * w->n_requests);
    for (uint32_t i = 0; i < w->n_requests; i++) {
        const struct world_request *r = &w->requests[i];
        if (r->arrived_ns < w->began_ns + WARM_NS)
            continue;
        assert_true(r->ended_ns > 0);
        int32_t n = r->n_tokens - r->n_prompt;
        double latency_s = (double)(r->ended_ns - r->arrived_ns) * 1e-9;
        int64_t tpot_ns = n > 1 ? (r->ended_ns - r->first_ns) / (n - 1) : 0;
        result.latency_s += latency_s;
        result.in_time +=
            r->first_ns - r->arrived_ns <= setting->slo.ttft_ns && tpot_ns <= setting->slo.tpot_ns;
        all[result.n++] = latency_s;
    }
    qsort(all, (size_t)result.n, sizeof *all, is_less);
    result.worst_s = all[result.n * 99 / 100];
    result.latency_s /= result.n;
    result.in_time /= result.n;
    mem_give(all);
    return result;
}

static struct result run(const struct setting *setting, int n_gateways, bool hides_others)
{
    struct world_options options = { .seed = 7,
                                     .n_managers = 1,
                                     .n_gateways = n_gateways,
                                     .n_nodes = 4,
                                     .n_engines = 2,
                                     .report_ns = 100 * TIME_NS_PER_MS,
                                     .delay_ns = TIME_NS_PER_MS,
                                     .rate_per_s = setting->rate_per_s / n_gateways,
                                     .is_still = true,
                                     .router = setting->router,
                                     .policy = setting->policy,
                                     .slo = setting->slo,
                                     .n_requests_max = 64,
                                     .row_ps = setting->row_ps,
                                     .has_one_model = true,
                                     .hides_others = hides_others };
    memcpy(options.thresholds, setting->thresholds, sizeof options.thresholds);
    struct world *w = world_open(&options);
    world_run(w, w->began_ns + WARM_NS + RUN_NS);
    w->asks_nothing = true;
    world_run(w, w->now_ns + REST_NS);
    assert_string_equal(w->wrong, "");
    struct result result = measure(w, setting);
    world_close(w);
    printf(
        "%-8s %d gateways%s: %d requests, %.3f s on average, %.2f s the slowest of 100, %.1f%% in "
        "time\n",
        setting->name, n_gateways, hides_others ? ", alone" : "", result.n, result.latency_s,
        result.worst_s, 100 * result.in_time);
    return result;
}

static void test_scls(void **state)
{
    (void)state;
    const struct result one = run(&scls, 1, false);
    for (int n = 2; n <= 4; n *= 2) {
        const struct result shared = run(&scls, n, false), alone = run(&scls, n, true);
        assert_true(shared.latency_s <= 1.35 * one.latency_s);
        assert_true(alone.latency_s >= 1.25 * shared.latency_s);
    }
}

static void test_best_fit(void **state)
{
    (void)state;
    const struct result one = run(&best_fit, 1, false);
    for (int n = 2; n <= 4; n *= 2) {
        const struct result shared = run(&best_fit, n, false), alone = run(&best_fit, n, true);
        assert_true(shared.in_time >= one.in_time - 0.015);
        assert_true(alone.in_time <= one.in_time - 0.05);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scls),
        cmocka_unit_test(test_best_fit),
    };
    log_set(LOG_ERROR + 1, false);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
