/* Who waits how long: the bound that each scheduler states (docs/POLICIES.md), on simulated engines
 * under workloads made to break it: a flood of short requests of another model, of the same model,
 * storms of preemptions, prompts as large as the pool.
 *
 * The test stands between engine and policy and looks at every plan. What starves, and what a plan
 * should hold, is reckoned here anew, from the view alone. Where a policy has no bound, the flood
 * is made longer and the wait grows with it. */
#include "../residence.h"
#include "../test.h"
#include "base/time.h"
#include "sim/sim.h"
#include "models.h"

enum claim {
    STARVED_FIRST,   /* once starved, only requests starved earlier and the batch in flight */
    EARLIEST_FIRST,  /* nobody starts before the earliest prompt */
    IN_TURN,         /* a batch of every model that can run before the next of one */
    PROMPTS_IN_TURN, /* the same for prompts that fit */
    NOTHING,
};
enum wait {
    BY_ORDER, /* those who starve earlier go first, and there are more the longer it lasts */
    SHORT,
    GROWS
};
static const struct row {
    const char *policy;
    enum claim claim;
    bool is_fifo;    /* of one model's requests nobody starts before an earlier one */
    enum wait waits; /* of a request that runs, while a flood of prompts of another model lasts */
} rows[] = {
    { "db-literal", STARVED_FIRST, false, BY_ORDER },
    { "db-turn", STARVED_FIRST, false, BY_ORDER },
    { "db-share", STARVED_FIRST, false, BY_ORDER },
    { "db-exact", STARVED_FIRST, false, BY_ORDER },
    { "value", STARVED_FIRST, false, BY_ORDER },
    { "fcfs", EARLIEST_FIRST, true, GROWS },
    { "temporal", EARLIEST_FIRST, true, GROWS },
    { "sls", EARLIEST_FIRST, true, SHORT },
    { "cohort", EARLIEST_FIRST, true, SHORT },
    { "rr", IN_TURN, true, SHORT },
    { "scls-cb", IN_TURN, true, SHORT },
    { "ils-reserve", IN_TURN, true, SHORT },
    { "adbs", NOTHING, true, GROWS },
    { "mux-rr", PROMPTS_IN_TURN, true, GROWS },
    { "mux-fcfs", NOTHING, true, GROWS },
    { "ils-fastgen", NOTHING, true, SHORT },
    { "mlfq", NOTHING, false, GROWS },
};

enum { N_SLOTS_MOST = 8192 };

/* One at a time: the functions below stand in the policy's place and know no more than its state.
 */
static struct watch {
    const struct schedule_policy *policy;
    const struct row *row;
    const struct schedule_config *config;
    int last, last_prompts; /* the services of the last batch, and of prompts, that started */
    int64_t n_plans, n_checked, n_blocked;
    int64_t n_preempted_max; /* how often one request had to give way */
    int64_t gap_ns_max[3];   /* the longest that a request of a service was not served */
    struct residence of[N_SLOTS_MOST];
} watch;

static void check(bool holds, const char *what, const struct schedule_view *view)
{
    if (!holds)
        fail_msg("%s: %s, at %.6f s", watch.row->policy, what, (double)view->now_ns * 1e-9);
}

static bool is_planned(const struct schedule_plan *plan, uint32_t slot)
{
    for (int32_t b = 0; b < plan->n_batches; b++)
        for (int32_t i = 0; i < plan->batches[b].n_items; i++)
            if (plan->batches[b].items[i].slot == slot)
                return true;
    return false;
}

static bool starts_somebody(const struct schedule_view *view, const struct schedule_plan *plan)
{
    for (int32_t b = 0; b < plan->n_batches; b++)
        for (int32_t i = 0; i < plan->batches[b].n_items; i++)
            if (view->requests[plan->batches[b].items[i].slot].state == REQUEST_WAITING)
                return true;
    return false;
}

/* Calls look for everybody who is here and not in flight. */
static void for_all(const struct schedule_view *view,
                    void (*look)(const struct schedule_view *view, uint32_t slot, void *self),
                    void *self)
{
    for (int i = 0; i < view->n_services; i++) {
        const struct schedule_service *s = &view->services[i];
        for (uint32_t slot = s->first_waiting; slot != SCHEDULE_NONE;
             slot = view->requests[slot].next)
            look(view, slot, self);
        for (uint32_t k = 0; k < s->n_running; k++)
            if (view->requests[s->running[k]].batch == 0)
                look(view, s->running[k], self);
    }
}

/* ---- Starved first. ---- */

struct starved {
    uint32_t slot;
    int64_t since_ns;
};

static int64_t theta_of(const struct schedule_view *view, int service)
{
    double theta = watch.config->starve_factor * (double)view->services[service].solo_ns;
    return max_i64(watch.config->starve_ns_min, (int64_t)theta);
}

/* Of those who starve since the same instant, by one batch, the one that arrived first. */
static void find_starved(const struct schedule_view *view, uint32_t slot, void *self)
{
    struct starved *first = self;
    const struct request *r = &view->requests[slot];
    int64_t since = watch.of[slot].served_ns + theta_of(view, r->service);
    if (since >= view->now_ns || since > first->since_ns)
        return;
    if (since < first->since_ns || r->id < view->requests[first->slot].id)
        *first = (struct starved){ slot, since };
}

/* Could it start although all that run get what they lack and two blocks, or a lease, more? */
static bool fits_with_ease(const struct schedule_view *view, uint32_t slot)
{
    const struct request *r = &view->requests[slot];
    struct kv_budget budget;
    kv_budget_copy(&budget, view->kv);
    int64_t n_ahead = watch.config->has_leases ? watch.config->lease_tokens : 0;
    for (int i = 0; i < view->n_services; i++) {
        const struct schedule_service *s = &view->services[i];
        int64_t n_blocks = 0;
        for (uint32_t k = 0; k < s->n_running; k++)
            n_blocks += 2 + kv_blocks_for(view->requests[s->running[k]].n_tokens + n_ahead,
                                          budget.services[i].block_tokens);
        if (n_blocks > 0 && !kv_budget_take(&budget, i, n_blocks))
            return false;
    }
    int64_t n_blocks =
        kv_blocks_for(r->n_tokens + n_ahead, budget.services[r->service].block_tokens);
    double kept = watch.config->watermark * (double)budget.n_units_open;
    return kv_budget_take(&budget, r->service, n_blocks) && budget.n_units_free > (int64_t)kept + 1;
}

static void check_starved(const struct schedule_view *view, const struct schedule_plan *plan)
{
    struct starved first = { SCHEDULE_NONE, INT64_MAX };
    for_all(view, find_starved, &first);
    if (first.slot == SCHEDULE_NONE)
        return;
    watch.n_checked++;
    if (is_planned(plan, first.slot))
        return;
    watch.n_blocked++;
    check(view->requests[first.slot].state == REQUEST_WAITING,
          "one that runs and starves longest is not in the batch", view);
    check(!starts_somebody(view, plan), "somebody starts before the one that starves longest",
          view);
    check(!fits_with_ease(view, first.slot),
          "the one that starves longest waits although there are blocks", view);
}

/* ---- In order of arrival. ---- */

static bool is_earlier(const struct request *a, const struct request *b)
{
    if (a->priority != b->priority)
        return a->priority < b->priority;
    return a->arrived_ns < b->arrived_ns || (a->arrived_ns == b->arrived_ns && a->id < b->id);
}

static void find_earliest(const struct schedule_view *view, uint32_t slot, void *self)
{
    uint32_t *first = self;
    const struct request *r = &view->requests[slot];
    if ((r->state == REQUEST_WAITING || schedule_lacking(r) > 1) &&
        (*first == SCHEDULE_NONE || is_earlier(r, &view->requests[*first])))
        *first = slot;
}

static void check_earliest(const struct schedule_view *view, const struct schedule_plan *plan)
{
    uint32_t first = SCHEDULE_NONE;
    if (!starts_somebody(view, plan))
        return;
    for_all(view, find_earliest, &first);
    watch.n_checked++;
    check(is_planned(plan, first), "somebody starts before the earliest prompt", view);
}

static void check_fifo(const struct schedule_view *view, const struct schedule_plan *plan)
{
    for (int i = 0; i < view->n_services; i++) {
        bool is_out = false;
        for (uint32_t slot = view->services[i].first_waiting; slot != SCHEDULE_NONE;
             slot = view->requests[slot].next) {
            bool starts = is_planned(plan, slot);
            check(!starts || !is_out, "a later request of the same model starts first", view);
            is_out |= !starts;
        }
    }
}

/* ---- In turn. ---- */

static void check_turn(const struct schedule_view *view, const struct schedule_plan *plan)
{
    int chosen = plan->batches[0].service;
    for (int i = 1; i < view->n_services; i++) {
        int service = (watch.last + i) % view->n_services;
        if (service == chosen)
            break;
        check(view->services[service].n_running == 0, "a model that runs is passed over", view);
        watch.n_checked++;
    }
}

static void check_prompts_turn(const struct schedule_view *view, const struct schedule_plan *plan)
{
    int chosen = plan->batches[0].service;
    if (!starts_somebody(view, plan))
        return;
    for (int i = 1; i < view->n_services; i++) {
        int service = (watch.last_prompts + i) % view->n_services;
        uint32_t first = view->services[service].first_waiting;
        if (service == chosen)
            break;
        check(first == SCHEDULE_NONE || !fits_with_ease(view, first) ||
                  view->services[service].n_running >= (uint32_t)watch.config->n_seqs_max,
              "a model with prompts that fit is passed over", view);
        watch.n_checked++;
    }
}

/* ---- In the policy's place. ---- */

static void watched_plan(const void *state, const struct schedule_view *view,
                         struct schedule_plan *plan)
{
    watch.policy->plan(state, view, plan);
    watch.n_plans++;
    if (plan->n_batches == 0)
        return;
    if (watch.row->claim == STARVED_FIRST)
        check_starved(view, plan);
    else if (watch.row->claim == EARLIEST_FIRST)
        check_earliest(view, plan);
    else if (watch.row->claim == IN_TURN)
        check_turn(view, plan);
    else if (watch.row->claim == PROMPTS_IN_TURN)
        check_prompts_turn(view, plan);
    if (watch.row->is_fifo)
        check_fifo(view, plan);
}

static void watched_saw(void *state, const struct schedule_view *view,
                        const struct schedule_event *event)
{
    if (event->what == SCHEDULE_STARTED) {
        watch.last = event->batch->service;
        for (int32_t i = 0; i < event->batch->n_items; i++) {
            const struct request *r = &view->requests[event->batch->items[i].slot];
            if (r->n_computed < r->n_prompt)
                watch.last_prompts = event->batch->service;
            int64_t *gap_ns = &watch.gap_ns_max[r->service];
            *gap_ns = max_i64(*gap_ns, view->now_ns - r->served_ns);
        }
    }
    if (event->what == SCHEDULE_ARRIVED)
        residence_begin(&watch.of[event->slot], &view->requests[event->slot]);
    for (int32_t i = 0; event->what == SCHEDULE_DONE && i < event->batch->n_items; i++) {
        uint32_t slot = event->batch->items[i].slot;
        residence_serve(&watch.of[slot], &view->requests[slot], event->n_new[i],
                        view->now_ns - event->elapsed_ns, theta_of(view, event->batch->service),
                        watch.config->starve_tokens);
    }
    if (event->what == SCHEDULE_PREEMPTED)
        watch.n_preempted_max =
            max_i64(watch.n_preempted_max, view->requests[event->slot].n_preempted);
    watch.policy->saw(state, view, event);
}

/* ---- The workloads. ---- */

enum attack { FLOOD_OF_ANOTHER, FLOOD_OF_THE_SAME, STORM, GIANT, N_ATTACKS };
struct world {
    struct sim_service services[3];
    struct workload workload;
    struct schedule_config config;
    struct sim_options options;
    struct schedule_policy policy;
};

static void draw_traffic(struct world *w, enum attack attack, struct rng *rng)
{
    struct workload_traffic *t = w->workload.services;
    double rate = 1 + 3 * rng_unit(rng);
    t[0] = (struct workload_traffic){ 10 * rate, { 3, 0.5, 1, 100 }, { 2, 0.5, 1, 40 } };
    t[1] = (struct workload_traffic){ rate, { 4.5, 0.8, 1, 600 }, { 4, 0.9, 1, 300 } };
    t[2] = (struct workload_traffic){ rate / 4, { 5, 0.5, 1, 600 }, { 3, 0.9, 1, 300 } };
    if (attack == FLOOD_OF_ANOTHER)
        t[0].rate_per_s = 60 + 60 * rng_unit(rng);
    if (attack == FLOOD_OF_THE_SAME)
        t[1] = (struct workload_traffic){ 20 * rate, { 3, 1.5, 1, 600 }, { 2.5, 1.8, 1, 300 } };
    if (attack == STORM)
        t[0].output = t[1].output = (struct workload_lengths){ 5, 0.4, 1, 300 };
    if (attack == GIANT)
        t[2] = (struct workload_traffic){ rate / 8, { 6.7, 0, 800, 820 }, { 2, 0.5, 1, 40 } };
}

static void make_world(struct world *w, const struct row *row, uint64_t seed, enum attack attack)
{
    struct rng rng;
    rng_init(&rng, seed, (uint64_t)attack);
    memset(w, 0, sizeof(*w));
    schedule_config_init(&w->config);
    w->config.chunk_tokens = rng_below(&rng, 2) == 0 ? 0 : 64 + (int32_t)rng_below(&rng, 200);
    w->config.n_seqs_max = 4 + (int32_t)rng_below(&rng, 40);
    w->config.starve_ns_min = (int64_t)(50 + rng_below(&rng, 2000)) * TIME_NS_PER_MS;
    w->config.starve_factor = 3 * rng_unit(&rng);
    w->config.has_leases = rng_below(&rng, 3) == 0;
    w->config.has_soft_quotas = rng_below(&rng, 3) == 0;
    w->config.guards_tpot = rng_below(&rng, 2) == 0;
    w->config.n_rounds_max = rng_below(&rng, 2) == 0 ? 1 : 4096;
    for (int32_t i = 0; i < 3; i++)
        w->services[i] = (struct sim_service){ .name = "model",
                                               .perf = i == 1 ? large_model : small_model,
                                               .bytes_per_token = i == 1 ? 5000 : 2000 };
    w->workload = (struct workload){
        .seed = seed, .n_requests = 250, .n_services = 3, .prediction_noise = 0.3
    };
    draw_traffic(w, attack, &rng);
    int64_t n_tokens = attack == STORM ? 700 : 1100 + (int64_t)rng_below(&rng, 4000);
    if (attack < STORM && rng_below(&rng, 2) == 0)
        n_tokens = 40000; /* blocks enough for all */
    w->policy = *schedule_find(row->policy);
    watch = (struct watch){
        .policy = schedule_find(row->policy), .row = row, .last = -1, .last_prompts = -1
    };
    watch.config = &w->config;
    w->policy.plan = watched_plan;
    w->policy.saw = watched_saw;
    w->options = (struct sim_options){ .n_engines = 1,
                                       .n_lanes = 1,
                                       .n_services = 3,
                                       .services = w->services,
                                       .memory_bytes = 5000 * n_tokens,
                                       .n_requests_max = 400,
                                       .n_tokens_max = 1000,
                                       .policy = &w->policy,
                                       .config = &w->config,
                                       .workload = &w->workload };
}

static void run(struct world *w)
{
    struct sim_report report;
    sim_run(&w->options, &report);
    if (report.wrong != NULL)
        fail_msg("%s: %s", watch.row->policy, report.wrong);
    sim_report_free(&report);
}

static void bounds_hold_under_attack(void **state)
{
    uint64_t seed = test_seed(1);
    (void)state;
    for (size_t p = 0; p < COUNT_OF(rows); p++) {
        int64_t n_checked = 0, n_blocked = 0, gap_ns = 0;
        int64_t n_preempted = 0;
        for (uint64_t i = 0; i < 24; i++)
            for (int attack = 0; attack < N_ATTACKS; attack++) {
                struct world w;
                make_world(&w, &rows[p], seed + i, (enum attack)attack);
                run(&w);
                n_checked += watch.n_checked;
                n_blocked += watch.n_blocked;
                n_preempted = max_i64(n_preempted, watch.n_preempted_max);
                for (int k = 0; k < 3; k++)
                    gap_ns = max_i64(gap_ns, watch.gap_ns_max[k]);
            }
        printf("%-11s %7lld checks, %6lld of one that starves and lacks blocks; the longest wait "
               "%.1f s; one gave way %lld times\n",
               rows[p].policy, (long long)n_checked, (long long)n_blocked, (double)gap_ns * 1e-9,
               (long long)n_preempted);
        assert_true(rows[p].claim == NOTHING || n_checked > 500);
        /* FastGen's flushes are why it has no bound: nobody gets on while they go on. */
        assert_true(strcmp(rows[p].policy, "ils-fastgen") != 0 || n_preempted > 10);
    }
}

/* ---- No bound. ---- */

static const double theta_s = 2;

/* The longest time that one request of the slow model is not served while a flood of n prompts of
 * the fast one lasts, which are more than the device can compute. */
static double wait_s(const struct row *row, uint64_t n)
{
    struct world w;
    make_world(&w, row, 3, FLOOD_OF_ANOTHER);
    schedule_config_init(&w.config);
    w.config.n_rounds_max = 1;
    w.config.starve_ns_min = (int64_t)(theta_s * 1e9);
    w.config.starve_factor = 0;
    w.workload.services[0] = (struct workload_traffic){ .rate_per_s = 1500,
                                                        .prompt = { 4.5, 0, 1, 100 },
                                                        .output = { 0, 0, 1, 1 } };
    w.workload.services[1] = (struct workload_traffic){
        .rate_per_s = 5, .prompt = { 3, 0, 1, 100 }, .output = { 4, 0, 1, 60 }, .n_requests = 1
    };
    w.workload.services[2] = (struct workload_traffic){ .rate_per_s = 0 };
    w.workload.n_requests = n;
    w.options.memory_bytes = 500000000;
    w.options.n_requests_max = 8192;
    run(&w);
    return (double)watch.gap_ns_max[1] * 1e-9;
}

static void without_a_bound_the_wait_grows_with_the_flood(void **state)
{
    (void)state;
    for (size_t p = 0; p < COUNT_OF(rows); p++) {
        double short_s = wait_s(&rows[p], 2000), long_s = wait_s(&rows[p], 8000);
        printf("%-11s beside 2000 prompts %.2f s unserved, beside 8000 %.2f s\n", rows[p].policy,
               short_s, long_s);
        if (rows[p].waits == BY_ORDER)
            assert_true(long_s > theta_s && watch.n_checked > 10);
        else if (rows[p].waits == SHORT)
            assert_true(long_s < 0.5);
        else
            assert_true(long_s > 3 * short_s && long_s > 3 * theta_s);
    }
}

int main(void)
{
    base_verify = true;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bounds_hold_under_attack),
        cmocka_unit_test(without_a_bound_the_wait_grows_with_the_flood),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
