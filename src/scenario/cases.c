/* Runs simulations on all cores. Threads share only the counter of started cases, so no result
 * depends on the number of threads. */
#include "scenario/cases.h"

#include "base/bar.h"
#include "base/mem.h"
#include "base/team.h"
#include "base/time.h"
#include "engine/log.h"
#include "metrics/trace.h"
#include "place/workers.h"
#include "scenario/choice.h"
#include "scenario/faults.h"
#include "scenario/placed.h"
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LIVE_MAX = (1 << 20) - 1, THREADS_MAX = 256, PROGRESS_MS = 100, LOGS_MAX = 64 };
#define FILE_BYTES_MAX (INT64_C(4) << 30)

struct crew {
    const struct scenario *scenario;
    struct scenario_case *cases;
    size_t n;
    atomic_size_t next, n_over, n_records, n_each; /* n_each: records of a simulation, 0: unknown */
};
struct listener {
    struct crew *crew;
    struct record_set *set;
};

static void take(void *self, const struct record *record)
{
    struct listener *listener = self;
    metrics_record_add(listener->set, record);
    atomic_fetch_add_explicit(&listener->crew->n_records, 1, memory_order_relaxed);
}

/* The files that a case writes while it runs. */
struct recording {
    struct metrics_trace *trace;
    struct engine_log *logs[LOGS_MAX];
};

static enum status open_recording(const struct scenario_case *c, struct recording *recording,
                                  struct sim_options *options, struct fault *fault)
{
    enum status status = STATUS_OK;
    *recording = (struct recording){ .trace = NULL };
    if (c->log_engine != NULL && options->n_engines > LOGS_MAX)
        return fault_set(fault, STATUS_TOO_LARGE, "--log-engine is for at most %d engines",
                         LOGS_MAX);
    for (int32_t e = 0; e < options->n_engines && c->log_engine != NULL && status == STATUS_OK; e++)
        status =
            engine_log_open_numbered(&recording->logs[e], c->log_engine, e, FILE_BYTES_MAX, fault);
    if (c->log_engine != NULL)
        options->logs = recording->logs;
    if (status == STATUS_OK && c->trace != NULL)
        status = metrics_trace_open(&recording->trace, c->trace, FILE_BYTES_MAX, fault);
    options->trace = recording->trace;
    for (int32_t e = 0; e < options->n_engines && recording->trace != NULL; e++) {
        for (int32_t l = 0; l < max_i32(sim_n_lanes(options, e), 1); l++) {
            char name[32];
            snprintf(name, sizeof(name), "lane %d", (int)l);
            metrics_trace_lane(recording->trace, (uint16_t)e, (uint16_t)l, name);
        }
    }
    return status;
}

static bool close_recording(struct recording *recording)
{
    bool is_written = metrics_trace_close(recording->trace);
    for (int e = 0; e < LOGS_MAX; e++)
        is_written = engine_log_close(recording->logs[e]) && is_written;
    return is_written;
}

static enum status check_bus(const struct scenario *s, int32_t n_engines, struct fault *fault)
{
    if (n_engines > LIMIT_ENGINES)
        return fault_set(fault, STATUS_TOO_LARGE, "--bus has at most %d engines, here are %d",
                         LIMIT_ENGINES, n_engines);
    for (int g = 0; g < s->n_groups; g++)
        if (s->groups[g].scale.n > 0 || s->groups[g].role != NULL)
            return fault_set(fault, STATUS_UNSUPPORTED,
                             "--bus: engines do not come and go (scale), and have no role");
    return STATUS_OK;
}

/* The extra workers that groups may cost (docs/ALGORITHMS.md section 3.7). */
static const double GROUPS_PART = 0.1;
enum { ROUTER_GROUPS_MAX = 4096 };

static enum status read_groups(const struct scenario *s, const struct scenario_world *world,
                               int32_t *n, struct fault *fault)
{
    int64_t given = 0;
    double rate = 0;
    *n = 1;
    if (s->router_groups == NULL)
        return STATUS_OK;
    if (strcmp(s->router_groups, "auto") == 0) {
        for (int i = 0; i < world->workload.n_services; i++)
            rate += world->rates_per_s[i];
        *n = place_workers_n_groups(world->n_engines, rate, s->router_pass_rate, GROUPS_PART);
        return STATUS_OK;
    }
    if (!parse_i64(s->router_groups, &given) || given < 1 || given > ROUTER_GROUPS_MAX)
        return fault_set(fault, STATUS_BAD_INPUT,
                         "--router-groups: \"%.40s\" is neither auto nor a number from 1 to %d",
                         s->router_groups, ROUTER_GROUPS_MAX);
    *n = (int32_t)given;
    return STATUS_OK;
}

/* Every group has to have every service. */
static enum status check_groups(const struct scenario *s, const struct scenario_world *world,
                                int32_t n, struct fault *fault)
{
    bool is_whole = s->n_nodes == 0 && !s->has_bus && s->faults.n == 0;
    for (int32_t e = 0; e < world->n_engines && is_whole; e++)
        is_whole = world->engines[e].role == SIM_MIXED;
    if (!is_whole)
        return fault_set(fault, STATUS_UNSUPPORTED,
                         "--router-groups: not with --bus, nodes or engines that have a role");
    const struct set all = set_of_first(world->workload.n_services);
    for (int32_t k = 0; k < n; k++) {
        struct set services = { { 0 } };
        for (int32_t e = k; e < world->n_engines; e += n)
            set_add_all(&services, &world->engines[e].services);
        if (!set_covers(&services, &all))
            return fault_set(fault, STATUS_BAD_INPUT,
                             "--router-groups: engines are dealt out in turn, and group %d of %d "
                             "has not every service",
                             k + 1, n);
    }
    return STATUS_OK;
}

/* Services join and leave on engines that stay as they are. */
static enum status check_joins(const struct scenario *s, const struct sim_options *o,
                               struct fault *fault)
{
    for (int32_t i = 0; i < o->n_services; i++) {
        const struct sim_service *service = &o->services[i];
        if (service->joins_ns == 0 && service->leaves_ns == 0)
            continue;
        if (service->leaves_ns > 0 && service->leaves_ns <= service->joins_ns)
            return fault_set(fault, STATUS_BAD_INPUT,
                             "service %.100s: it leaves before it joins: leaves must be later",
                             service->name);
        bool is_fixed = s->n_nodes == 0 && !s->has_bus && s->faults.n == 0;
        for (int32_t e = 0; e < o->n_engines && is_fixed; e++)
            is_fixed =
                o->engines == NULL || (o->engines[e].role == SIM_MIXED &&
                                       o->engines[e].scale == NULL && o->engines[e].chain == NULL);
        if (!is_fixed)
            return fault_set(fault, STATUS_UNSUPPORTED,
                             "service %.60s: services join and leave on engines alone, not with "
                             "--bus, faults, nodes, or engines that scale, have a role or a chain",
                             service->name);
    }
    return STATUS_OK;
}

static enum status check_engines(const struct scenario *s, const struct scenario_world *world,
                                 struct sim_options *o, struct fault *fault)
{
    enum status status = read_groups(s, world, &o->n_router_groups, fault);
    if (status == STATUS_OK && o->n_router_groups > 1)
        status = check_groups(s, world, o->n_router_groups, fault);
    return status == STATUS_OK ? check_joins(s, o, fault) : status;
}

static enum status run_one(struct scenario_case *c, struct sim_options *options,
                           struct fault *fault)
{
    struct recording recording;
    c->predictor = options->predictor->name;
    c->kv = options->kv;
    c->unit_bytes = sim_layouts(options, c->layouts);
    enum status status = open_recording(c, &recording, options, fault);
    c->is_run = status == STATUS_OK;
    if (c->is_run)
        sim_run(options, &c->report);
    if (!close_recording(&recording) && c->is_run)
        status = fault_set(fault, STATUS_IO, "the trace or the engines' log ends early");
    return status;
}

static enum status simulate(struct crew *crew, struct scenario_case *c, struct fault *fault)
{
    const struct scenario *s = crew->scenario;
    struct scenario_choice choice;
    struct sim_faults faults;
    struct scenario_placed *placed = NULL;
    struct listener listener = { crew, &c->set };
    struct scenario_world *world = &c->world;
    const struct scenario_world_ask ask = { c->seed, c->rate_scale, c->n_engines,
                                            c->packed_rate_scale };
    enum status status = s->n_nodes > 0 ? scenario_world_open_services(world, s, &ask, fault)
                                        : scenario_world_open(world, s, &ask, fault);
    struct sim_options options = {
        .n_engines = world->n_engines,
        .n_services = world->workload.n_services,
        .services = world->services,
        .engines = world->engines,
        .n_requests_max = (uint32_t)s->n_requests_max,
        .n_live_max =
            world->workload.n_requests < LIVE_MAX ? (uint32_t)world->workload.n_requests : LIVE_MAX,
        .n_tokens_max = (int32_t)s->n_context,
        .block_tokens = (int32_t)s->block_tokens,
        .slo = s->slo,
        .workload = &world->workload,
        .until_ns = s->until_ns,
        .swap_bytes = s->swap_bytes,
        .swap_bytes_per_s = s->swap_bytes_per_s,
        .kv_bytes_per_s = s->kv_bytes_per_s,
        .has_prefix_cache = s->has_prefix_cache,
        .checks_steps = s->checks,
        .has_soft_deadlines = s->has_soft_deadlines,
        .take = take,
        .take_self = &listener,
    };
    if (status == STATUS_OK)
        status = scenario_choice_make(s, c->label, &choice, &options, fault);
    if (status == STATUS_OK)
        status = scenario_faults_parse(&s->faults, &faults, fault);
    if (world->workload.n_requests < UINT64_MAX)
        atomic_store(&crew->n_each, (size_t)world->workload.n_requests);
    if (s->has_bus || s->faults.n > 0)
        options.faults = &faults;
    if (status == STATUS_OK && options.faults != NULL)
        status = check_bus(s, options.n_engines, fault);
    if (status == STATUS_OK)
        status = check_engines(s, world, &options, fault);
    if (status == STATUS_OK && s->n_nodes > 0) {
        placed = mem_take(sizeof(*placed));
        const struct scenario_placed_ask where = { s, ask, c->rule };
        status = scenario_placed_open(placed, world, &where, &options, fault);
    } else if (status == STATUS_OK && (s->replace.n > 0 || s->planner != NULL)) {
        status = fault_set(fault, STATUS_BAD_INPUT,
                           "planner, replace: services are placed, and move, on the `nodes:` of a "
                           "scenario, and here are none");
    }
    for (int32_t i = 0; i < options.n_services && status == STATUS_OK; i++)
        CHECK(metrics_record_service(&c->set, view_text(world->services[i].name)) == i);
    if (status == STATUS_OK)
        status = run_one(c, &options, fault);
    if (placed != NULL)
        scenario_placed_close(placed);
    mem_give(placed);
    if (status != STATUS_OK)
        return status;
    if (c->report.wrong != NULL)
        return fault_set(fault, STATUS_BAD_INPUT, "the simulation is wrong: %.150s",
                         c->report.wrong);
    return STATUS_OK;
}

static void run_case(struct crew *crew, struct scenario_case *c)
{
    c->fault.text[0] = '\0';
    enum status status = simulate(crew, c, &c->fault);
    c->is_refused = !c->is_run && (status == STATUS_BAD_INPUT || status == STATUS_NOT_FOUND ||
                                   status == STATUS_UNSUPPORTED);
    if (status != STATUS_OK)
        return;
    metrics_record_sort(&c->set);
    c->hash = metrics_record_hash(&c->set);
    c->scores = mem_take(((size_t)c->set.n_services + 1) * sizeof(*c->scores));
    metrics_score(&c->set, &(struct score_options){ .services = c->world.scores, .rule = c->rule },
                  c->scores);
}

static void work(void *self)
{
    struct crew *crew = self;
    size_t i;
    while ((i = atomic_fetch_add(&crew->next, 1)) < crew->n) {
        run_case(crew, &crew->cases[i]);
        atomic_fetch_add(&crew->n_over, 1);
    }
}

static void show_progress(struct crew *crew)
{
    struct bar bar = { 0 };
    char more[64];
    size_t n_over;
    while ((n_over = atomic_load(&crew->n_over)) < crew->n) {
        size_t n_records = atomic_load(&crew->n_records), n_each = atomic_load(&crew->n_each);
        double share = n_each > 0 ? (double)n_records / (double)n_each : (double)n_over;
        snprintf(more, sizeof(more), "%zu of %zu runs, %zu requests", n_over, crew->n, n_records);
        bar_draw(&bar, "sim", fmin(share / (double)crew->n, 0.99), more);
        time_sleep_ns(PROGRESS_MS * TIME_NS_PER_MS);
    }
    bar_draw(&bar, "sim", 1, "");
}

bool scenario_cases_run(const struct scenario *scenario, struct scenario_case *cases, size_t n)
{
    struct crew crew = { .scenario = scenario, .cases = cases, .n = n };
    struct thread *threads[THREADS_MAX];
    base_verify |= scenario->checks;
    long n_cores = sysconf(_SC_NPROCESSORS_ONLN);
    int64_t n_threads = scenario->n_threads > 0 ? scenario->n_threads : max_i64(n_cores, 1);
    n_threads = min_i64(min_i64(n_threads, THREADS_MAX), (int64_t)n);
    for (int64_t i = 0; i < n_threads; i++)
        threads[i] = thread_start("sim", work, &crew);
    if (isatty(STDERR_FILENO) != 0 && !scenario->is_json)
        show_progress(&crew);
    for (int64_t i = 0; i < n_threads; i++)
        thread_join(threads[i]);
    for (size_t i = 0; i < n; i++)
        if (cases[i].fault.text[0] != '\0')
            return false;
    return true;
}

void scenario_cases_close(struct scenario_case *cases, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (cases[i].is_run)
            sim_report_free(&cases[i].report);
        metrics_record_set_free(&cases[i].set);
        mem_give(cases[i].scores);
        mem_give(cases[i].csv);
        mem_give(cases[i].series);
        mem_give(cases[i].trace);
        mem_give(cases[i].log_engine);
        scenario_world_close(&cases[i].world);
    }
}
