/* The rate of tokens that a request gets at least (docs/POLICIES.md), on simulated engines: beside
 * a flood of another model that keeps the KV pool full, at equal priority or a higher one, with
 * lanes, swapping and head-wise pools; and where requests come home after every slice.
 *
 * The test stands between engine and policy and notes when tokens come. */
#include "../progress.h"
#include "../test.h"
#include "base/time.h"
#include "sim/sim.h"
#include "models.h"

enum { N_SLOTS = 24, N_WATCHED = 3, N_OUTPUT = 240, N_SLICE = 40 };
static const int64_t theta_ns = TIME_NS_PER_S;
/* Two theta, twice what a usual request takes alone (1.2 s of the large model), and as much again
 * for those that starved before. */
static const int64_t bound_ns = 7 * TIME_NS_PER_S;

static const struct row {
    const char *policy;
    int32_t n_lanes;
} rows[] = { { "value", 1 },   { "value", 3 },    { "db-literal", 1 },
             { "db-turn", 1 }, { "db-share", 1 }, { "db-exact", 1 } };
static const struct schedule_lane halves[] = { { .share = 1, .conflicts = 6, .n_gpus = 1 },
                                               { .share = 0.5F, .conflicts = 1, .n_gpus = 1 },
                                               { .share = 0.5F, .conflicts = 1, .n_gpus = 1 } };

static struct watch {
    const struct schedule_policy *policy;
    struct progress of[N_SLOTS]; /* by number */
    int64_t n_preempted, n_ended, n_returned;
} watch;

/* The first to come have the lowest numbers. NULL: it is not watched. */
static struct progress *progress_of(const struct request *r)
{
    uint64_t number = r->id >> 20;
    return r->n_tokens_max - r->n_prompt >= N_OUTPUT && number < N_SLOTS ? &watch.of[number] : NULL;
}

static void saw_done(const struct schedule_view *view, const struct schedule_event *event)
{
    for (int32_t i = 0; i < event->batch->n_items; i++) {
        const struct request *r = &view->requests[event->batch->items[i].slot];
        struct progress *p = progress_of(r);
        if (p == NULL)
            continue;
        progress_look(p, view->now_ns);
        for (int32_t k = 0; k < event->n_new[i]; k++)
            progress_note(p, view->now_ns);
        watch.n_ended += r->n_tokens >= r->n_tokens_max;
    }
}

static void watched_saw(void *state, const struct schedule_view *view,
                        const struct schedule_event *event)
{
    watch.policy->saw(state, view, event);
    if (event->what == SCHEDULE_DONE)
        saw_done(view, event);
    if (event->what != SCHEDULE_ARRIVED && event->what != SCHEDULE_PREEMPTED)
        return;
    const struct request *r = &view->requests[event->slot];
    struct progress *p = progress_of(r);
    if (p == NULL)
        return;
    watch.n_preempted += event->what == SCHEDULE_PREEMPTED;
    watch.n_returned += event->what == SCHEDULE_ARRIVED && p->n > 0;
    if (p->n == 0)
        progress_note(p, r->arrived_ns);
}

struct world {
    struct sim_service services[2];
    int64_t times_ns[N_SLOTS];
    struct workload_traffic watched[2];
    struct workload workload;
    struct schedule_config config;
    struct route_config router;
    struct schedule_policy policy;
    struct sim_options options;
};

static void make_world(struct world *w, const struct row *row, int64_t n_pool_tokens,
                       int64_t until_ns)
{
    memset(w, 0, sizeof(*w));
    schedule_config_init(&w->config);
    w->config.starve_ns_min = theta_ns;
    w->config.starve_factor = 0;
    w->config.starve_tokens = PROGRESS_TOKENS;
    route_config_init(&w->router);
    for (int32_t i = 0; i < 2; i++)
        w->services[i] = (struct sim_service){ .name = "model",
                                               .perf = i == 0 ? small_model : large_model,
                                               .bytes_per_token = i == 0 ? 2000 : 5000 };
    for (int32_t i = 0; i < 2; i++)
        w->watched[i] = (struct workload_traffic){ .times_ns = w->times_ns,
                                                   .n_times = i == 0 ? 0 : N_WATCHED,
                                                   .rate_per_s = 1,
                                                   .prompt = { 4, 0, 40, 40 },
                                                   .output = { 5, 0, N_OUTPUT, N_OUTPUT },
                                                   .service = (uint16_t)i };
    w->workload = (struct workload){ .seed = 1,
                                     .n_requests = UINT64_MAX,
                                     .until_ns = until_ns,
                                     .n_services = 2,
                                     .more = w->watched,
                                     .n_more = 2 };
    watch = (struct watch){ .policy = schedule_find(row->policy) };
    w->policy = *watch.policy;
    w->policy.saw = watched_saw;
    w->options = (struct sim_options){ .n_engines = 1,
                                       .n_lanes = row->n_lanes,
                                       .lanes = row->n_lanes > 1 ? halves : NULL,
                                       .n_services = 2,
                                       .services = w->services,
                                       .memory_bytes = 5000 * n_pool_tokens,
                                       .n_requests_max = N_SLOTS,
                                       .n_tokens_max = 4000,
                                       .policy = &w->policy,
                                       .config = &w->config,
                                       .router_config = &w->router,
                                       .workload = &w->workload,
                                       .until_ns = until_ns };
}

/* Runs, and returns the longest time that PROGRESS_TOKENS tokens, or all that were left, took. */
static int64_t run(struct world *w, const struct row *row)
{
    struct sim_report report;
    int64_t longest_ns = 0;
    sim_run(&w->options, &report);
    if (report.wrong != NULL)
        fail_msg("%s: %s", row->policy, report.wrong);
    for (int i = 0; i < N_SLOTS; i++) {
        if (watch.of[i].n <= N_OUTPUT)
            progress_look(&watch.of[i], w->options.until_ns);
        longest_ns = max_i64(longest_ns, watch.of[i].longest_ns);
    }
    sim_report_free(&report);
    return longest_ns;
}

/* Three requests of the large model beside a flood of the small one, which can be served (8 or 12 a
 * second) or not (16); of twice as many where lanes serve them side by side. */
static void tokens_come_beside_a_flood(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        int64_t n_preempted = 0;
        printf("%-11s %d lanes", rows[i].policy, rows[i].n_lanes);
        for (int k = 0; k < 12; k++) {
            struct world w;
            make_world(&w, &rows[i], 700, 120 * TIME_NS_PER_S);
            bool has_priorities = (k & 1) != 0;
            w.watched[1].priority = has_priorities ? INT16_MAX : 0;
            w.workload.services[0] =
                (struct workload_traffic){ .rate_per_s =
                                               (8 + 4 * (k / 4)) * (rows[i].n_lanes > 1 ? 2 : 1),
                                           .prompt = { 3, 0.5, 1, 60 },
                                           .output = { 4.5, 0.4, 40, 200 },
                                           .priority = has_priorities ? INT16_MIN : 0 };
            w.config.chunk_tokens = 64;
            w.config.has_leases = k == 0 || k == 3;
            w.options.swap_bytes = (k & 2) != 0 ? 3000000 : 0;
            w.options.kv = k % 4 == 3 ? KV_HEADS : KV_MERGED;
            int64_t ns = run(&w, &rows[i]);
            printf(" %.1f", (double)ns * 1e-9);
            n_preempted += watch.n_preempted;
            /* Leases leave room for half as many. */
            int64_t most_ns = w.config.has_leases ? 2 * bound_ns : bound_ns;
            if (watch.n_ended < N_WATCHED || ns > most_ns)
                fail_msg("%s: %.1f s in mix %d", rows[i].policy, (double)ns * 1e-9, k);
        }
        printf(" s, %lld preempted\n", (long long)n_preempted);
        assert_true(n_preempted > 10);
    }
}

/* As many requests of each model as there are places for in all. The router wants each back after a
 * slice, and sends it again: it neither loses its age so, nor is it older than those that wait. */
static void tokens_come_in_slices(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        printf("%-11s %d lanes", rows[i].policy, rows[i].n_lanes);
        for (int k = 0; k < 4; k++) {
            struct world w;
            make_world(&w, &rows[i], 4000, 60 * TIME_NS_PER_S);
            for (int s = 0; s < 2; s++) {
                w.watched[s].n_times = N_SLOTS / 2;
                w.watched[s].output = (struct workload_lengths){ 8, 0, 3000, 3000 };
                w.watched[s].priority = (k & 1) != 0 ? (int16_t)(s - 1) : 0;
            }
            w.config.chunk_tokens = (k & 2) != 0 ? 64 : 0;
            w.options.router = route_find("so");
            w.router.n_slice = N_SLICE;
            int64_t ns = run(&w, &rows[i]);
            printf(" %.1f", (double)ns * 1e-9);
            assert_true(watch.n_returned > 500);
            if (ns > 2 * bound_ns)
                fail_msg("%s: %.1f s in mix %d", rows[i].policy, (double)ns * 1e-9, k);
        }
        printf(" s\n");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens_come_beside_a_flood),
        cmocka_unit_test(tokens_come_in_slices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
