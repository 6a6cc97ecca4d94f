/* What routing costs: a decision of each router that decides one by one, over 16 and 1,000 engines;
 * a heartbeat of best-fit; composing 10,000 held requests into batches.
 *
 * A 13B on an A100 (docs/ALGORITHMS.md, appendix A), prompts and answers of chat lengths. A request
 * arrives, is sent, and another one ends: all of saw is counted. Processor time, on one core.
 *
 * usage: bench_route [requests, default 200000] */
#include "base/mem.h"
#include "base/num.h"
#include "base/rng.h"
#include "base/time.h"
#include "route/held.h"
#include <stdio.h>
#include <stdlib.h>

enum { N_SLOTS = 65536, N_POOL = 10000 };

static const struct perf model = { .floor_ps = 20000000000,
                                   .c1_ps = 5000000000,
                                   .k1_ps = 140000000,
                                   .c3_ps = { 20000000000, 20000000000 },
                                   .c2_ps = { 40000000, 120000000 },
                                   .k2_ps = { 600000, 600000 },
                                   .b_switch = 64,
                                   .prefill_scale = 1,
                                   .decode_scale = 1 };

struct bench {
    struct route_engine *engines;
    struct route_service service;
    struct route_request *requests;
    struct tree_node *nodes;
    struct tree tree;
    struct route_held held;
    struct route_choice *choices;
    uint16_t *engine_of;
    uint32_t *free, n_free, *sent, n_sent;
    struct route_view view;
    const struct route_policy *policy;
    void *state, *scratch;
    struct rng rng;
    uint64_t n_ids;
    int64_t plan_ns, saw_ns, n_plans;
};

static void tell(struct bench *b, const struct route_event *event)
{
    b->view.services_held = &b->held.services_held;
    b->view.n_held = b->held.n;
    int64_t before = time_thread_cpu_ns();
    b->policy->saw(b->state, &b->view, event);
    b->saw_ns += time_thread_cpu_ns() - before;
}

static void open_bench(struct bench *b, const char *router, int32_t n_engines,
                       const struct route_config *config)
{
    const struct route_limits limits = { n_engines, N_SLOTS, 1 };
    *b = (struct bench){ .policy = route_find(router) };
    b->engines = mem_take(sizeof *b->engines * (size_t)n_engines);
    b->requests = mem_take(sizeof *b->requests * N_SLOTS);
    b->nodes = mem_take(sizeof *b->nodes * N_SLOTS);
    b->choices = mem_take(sizeof *b->choices * N_SLOTS);
    b->engine_of = mem_take(sizeof *b->engine_of * N_SLOTS);
    b->free = mem_take(sizeof *b->free * N_SLOTS);
    b->sent = mem_take(sizeof *b->sent * N_SLOTS);
    b->state = mem_take(b->policy->state_bytes(&limits));
    b->scratch = mem_take(b->policy->scratch_bytes ? b->policy->scratch_bytes(&limits) : 0);
    b->service = (struct route_service){ .perf = model, .kv_bytes_per_token = 819200 };
    route_held_init(&b->held, b->requests, &b->service, b->nodes, &b->tree, 1);
    rng_init(&b->rng, 1, 0);
    for (uint32_t i = N_SLOTS; i-- > 0;)
        b->free[b->n_free++] = i;
    b->view = (struct route_view){ .now_ns = TIME_NS_PER_S,
                                   .n_engines = n_engines,
                                   .n_services = 1,
                                   .engines = b->engines,
                                   .services = &b->service,
                                   .requests = b->requests };
    b->policy->open(b->state, &limits, config);
    for (int32_t e = 0; e < n_engines; e++) {
        b->engines[e] = (struct route_engine){ .is_open = true,
                                               .services = { { 1 } },
                                               .n_requests_max = 1024,
                                               .kv_bytes = INT64_C(50) << 30 };
        tell(b, &(struct route_event){ .what = ROUTE_ENGINE, .engine = (uint16_t)e });
    }
}

static void close_bench(struct bench *b)
{
    mem_give(b->engines);
    mem_give(b->requests);
    mem_give(b->nodes);
    mem_give(b->choices);
    mem_give(b->engine_of);
    mem_give(b->free);
    mem_give(b->sent);
    mem_give(b->state);
    mem_give(b->scratch);
}

static int32_t length(struct bench *b, double mean_log)
{
    return 1 + (int32_t)min_i64(2000, (int64_t)num_exp(mean_log + 0.8 * rng_normal(&b->rng)));
}

static void arrive(struct bench *b)
{
    uint32_t slot = b->free[--b->n_free];
    int32_t n_prompt = length(b, 5.5);
    b->requests[slot] =
        (struct route_request){ .id = ++b->n_ids,
                                .n_prompt = n_prompt,
                                .n_tokens = n_prompt,
                                .n_tokens_max = 1 << 20,
                                .n_predicted = length(b, 5),
                                .arrived_ns = b->view.now_ns,
                                .deadline_ns = b->view.now_ns + 60 * TIME_NS_PER_S };
    route_held_add(&b->held, slot);
    tell(b, &(struct route_event){ .what = ROUTE_ARRIVED, .slot = slot });
}

static void end_any(struct bench *b)
{
    uint32_t i = rng_below(&b->rng, b->n_sent), slot = b->sent[i];
    b->sent[i] = b->sent[--b->n_sent];
    b->engines[b->engine_of[slot]].n_sent--;
    tell(b, &(struct route_event){ .what = ROUTE_ENDED,
                                   .engine = b->engine_of[slot],
                                   .why = SERVICE_STOPPED,
                                   .slot = slot });
    b->free[b->n_free++] = slot;
}

static int32_t route(struct bench *b)
{
    int32_t n = 0;
    for (;;) {
        struct route_plan plan = { .choices = b->choices,
                                   .n_choices_max = N_SLOTS,
                                   .scratch = b->scratch };
        b->view.services_held = &b->held.services_held;
        b->view.n_held = b->held.n;
        int64_t before = time_thread_cpu_ns();
        b->policy->plan(b->state, &b->view, &plan);
        b->plan_ns += time_thread_cpu_ns() - before;
        b->n_plans++;
        for (int32_t i = 0; i < plan.n_choices; i++) {
            const struct route_choice *c = &b->choices[i];
            route_held_remove(&b->held, c->slot);
            b->engines[c->engine].n_sent++;
            b->engine_of[c->slot] = c->engine;
            b->sent[b->n_sent++] = c->slot;
            b->requests[c->slot].first_ns = b->view.now_ns;
            tell(b, &(struct route_event){
                        .what = ROUTE_SENT, .engine = c->engine, .slot = c->slot, .choice = c });
        }
        n += plan.n_choices;
        if (plan.n_choices == 0 || b->held.n == 0)
            return n;
    }
}

/* Requests come and go with 20 on an engine. */
static void bench_one_by_one(const char *router, int32_t n_engines, int32_t n_requests)
{
    struct bench b;
    struct route_config config;
    route_config_init(&config);
    open_bench(&b, router, n_engines, &config);
    for (int32_t i = 0; i < 20 * n_engines; i++) {
        arrive(&b);
        route(&b);
    }
    b.plan_ns = b.saw_ns = 0;
    int64_t begin_ns = time_thread_cpu_ns();
    for (int32_t i = 0; i < n_requests; i++) {
        b.view.now_ns += 1000;
        arrive(&b);
        route(&b);
        end_any(&b);
    }
    double n = n_requests, all = (double)(time_thread_cpu_ns() - begin_ns);
    printf("%-13s %5d engines: %7.3f us a request (plan %.3f, saw %.3f, clock included)\n", router,
           n_engines, all / n * 1e-3, (double)b.plan_ns / n * 1e-3, (double)b.saw_ns / n * 1e-3);
    close_bench(&b);
}

/* A heartbeat of best-fit: n held, 40 running on every engine. */
static void bench_best_fit(int32_t n_engines, int32_t n_held)
{
    struct bench b;
    struct route_config config;
    route_config_init(&config);
    config.ttft_ns = 100 * TIME_NS_PER_S;
    config.tpot_ns = 50 * TIME_NS_PER_MS;
    open_bench(&b, "best-fit", n_engines, &config);
    for (int32_t i = 0; i < 40 * n_engines; i++)
        arrive(&b);
    while (b.held.n > 0) {
        b.view.now_ns += 50 * TIME_NS_PER_MS;
        if (route(&b) == 0)
            break;
        for (uint32_t i = 0; i < b.n_sent; i++)
            b.requests[b.sent[i]].n_tokens += 10;
    }
    while (b.n_sent > 30 * (uint32_t)n_engines)
        end_any(&b);
    while (b.held.n < (uint32_t)n_held)
        arrive(&b);
    b.view.now_ns += TIME_NS_PER_S;
    b.plan_ns = b.n_plans = 0;
    uint32_t n_running = b.n_sent, n_waiting = b.held.n;
    int32_t n = route(&b);
    printf("best-fit      %5d engines: a heartbeat with %u held, %u running: %.3f ms, %d placed\n",
           n_engines, n_waiting, n_running, (double)b.plan_ns * 1e-6, n);
    close_bench(&b);
}

/* 10,000 held, one plan. */
static void bench_pool(const char *router)
{
    struct bench b;
    struct route_config config;
    double best_ms = 1e9;
    int32_t n = 0;
    route_config_init(&config);
    for (int round = 0; round < 5; round++) {
        open_bench(&b, router, 32, &config);
        for (int32_t i = 0; i < N_POOL; i++)
            arrive(&b);
        b.view.now_ns += 10 * TIME_NS_PER_S;
        struct route_plan plan = { .choices = b.choices,
                                   .n_choices_max = N_SLOTS,
                                   .scratch = b.scratch };
        b.view.services_held = &b.held.services_held;
        b.view.n_held = b.held.n;
        int64_t before = time_thread_cpu_ns();
        b.policy->plan(b.state, &b.view, &plan);
        double ms = (double)(time_thread_cpu_ns() - before) * 1e-6;
        best_ms = ms < best_ms ? ms : best_ms;
        n = plan.n_choices;
        close_bench(&b);
    }
    printf("%-13s    32 engines: %d held composed in %.3f ms, %d sent\n", router, N_POOL, best_ms,
           n);
}

int main(int argc, char **argv)
{
    static const char *const ones[] = { "least",     "rr",     "random",      "p2c",
                                        "token-jsq", "static", "least-finish" };
    static const char *const pools[] = { "pm",      "ab",   "scls",   "fifo", "slo-odbs",
                                         "slo-dbs", "odbs", "slo-dp", "s3" };
    int32_t n = argc > 1 ? atoi(argv[1]) : 200000;
    for (size_t i = 0; i < COUNT_OF(ones); i++) {
        bench_one_by_one(ones[i], 16, n);
        bench_one_by_one(ones[i], 1000, n);
    }
    bench_best_fit(16, 100);
    bench_best_fit(100, 1000);
    bench_best_fit(1000, 1000);
    for (size_t i = 0; i < COUNT_OF(pools); i++)
        bench_pool(pools[i]);
    return 0;
}
