/* Divides plans into parts, simulates the parts, and makes scores of the records. */
#include "sim/judge.h"

#include "base/hash.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/team.h"
#include "base/time.h"
#include "schedule/lanes.h"
#include "sim/judge_parts.h"
#include "workload/trace.h"
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PARTS_MAX = 1 << 16, THREADS_MAX = 256, TOKENS_USUAL = 16384, VIEWS_MAX = 8 };
#define LATENCIES_MAX (INT64_C(1) << 26) /* of all parts that are remembered */

/* A thread's inputs of its simulations, kept from part to part. It has room for all services that
 * may ever exist, and clearing that for a part of two would take longer than simulating it. */
struct traffic {
    struct workload workload;
    struct workload_trace trace;
};

struct judge_view { /* of a window: requests of each service, by their position in it */
    struct hash128 hash;
    const struct place_window *window;
    int32_t *lists, *list_at; /* (n), (n_services + 1) */
    int64_t looked;           /* the look that was the last */
};
struct sim_judge {
    struct sim_judge_options options;
    struct traffic *traffic[THREADS_MAX]; /* by rank; NULL until it works */
    struct sim_judge_work work;
    struct map known; /* hash of a part: where it is */
    struct judge_part **parts;
    uint32_t n_parts;
    int64_t n_latencies, search, n_looks;
    struct judge_view views[VIEWS_MAX];
};

struct sim_judge *sim_judge_open(const struct sim_judge_options *options)
{
    struct sim_judge *judge = mem_take(sizeof(*judge));
    judge->options = *options;
    judge->parts = mem_take(PARTS_MAX * sizeof(struct judge_part *));
    map_init(&judge->known, PARTS_MAX);
    return judge;
}

static void forget(struct sim_judge *judge)
{
    for (uint32_t i = 0; i < judge->n_parts; i++)
        judge_parts_close(judge->parts[i]);
    judge->n_parts = 0;
    judge->n_latencies = 0;
    map_free(&judge->known);
    map_init(&judge->known, PARTS_MAX);
}

void sim_judge_close(struct sim_judge *judge)
{
    for (int i = 0; i < THREADS_MAX && judge->traffic[i] != NULL; i++) {
        workload_trace_free(&judge->traffic[i]->trace);
        mem_give(judge->traffic[i]);
    }
    forget(judge);
    map_free(&judge->known);
    mem_give(judge->parts);
    for (int i = 0; i < VIEWS_MAX; i++) {
        mem_give(judge->views[i].lists);
        mem_give(judge->views[i].list_at);
    }
    mem_give(judge);
}

struct sim_judge_work sim_judge_work_of(const struct sim_judge *judge)
{
    return judge->work;
}

/* ---- The window. ---- */

static bool is_of(const struct judge_view *view, const struct hash128 *hash)
{
    return view->lists != NULL && hash->low == view->hash.low && hash->high == view->hash.high;
}

/* Stays until VIEWS_MAX others were looked at. */
static const struct judge_view *look_at(struct sim_judge *judge, const struct place_window *window)
{
    int32_t n_services = judge->options.problem->n_services;
    struct hash128 hash = hash_fast(window->requests, (size_t)window->n * sizeof(*window->requests),
                                    (uint64_t)window->span_ns);
    struct judge_view *view = &judge->views[0];
    for (int i = 1; i < VIEWS_MAX && !is_of(view, &hash); i++)
        if (is_of(&judge->views[i], &hash) || judge->views[i].looked < view->looked)
            view = &judge->views[i];
    view->window = window;
    view->looked = ++judge->n_looks;
    if (is_of(view, &hash))
        return view;
    view->hash = hash;
    mem_give(view->lists);
    mem_give(view->list_at);
    view->lists = mem_take((size_t)max_i32(window->n, 1) * sizeof(*view->lists));
    view->list_at = mem_take(((size_t)n_services + 2) * sizeof(*view->list_at));
    for (int32_t i = 0; i < window->n; i++)
        view->list_at[window->requests[i].service + 2]++;
    for (int32_t s = 0; s < n_services; s++)
        view->list_at[s + 2] += view->list_at[s + 1];
    for (int32_t i = 0; i < window->n; i++)
        view->lists[view->list_at[window->requests[i].service + 1]++] = i;
    return view;
}

/* ---- One part. ---- */

struct job {
    struct sim_judge *judge;
    const struct judge_view *view;
    struct judge_part *part;
    int32_t *asks;     /* (part's n_requests) places in the window, ascending */
    int32_t n, n_most; /* number of asks; of the services' requests in the window */
};

static void take(void *self, const struct record *record)
{
    struct job *job = self;
    const struct sim_judge *judge = job->judge;
    const struct place_problem *problem = judge->options.problem;
    const struct place_request *r = &job->view->window->requests[job->asks[record->id]];
    struct place_service_score *score = &job->part->scores[record->service];
    const struct score_service *of =
        judge->options.services != NULL ? &judge->options.services[r->service] : NULL;
    struct record own = *record;
    double solo_s = problem->services[r->service].solo_s;
    own.solo_ns = place_problem_solo_ns(problem, r);
    double latency_s = metrics_score_latency_s(&own, job->view->window->span_ns);
    bool is_done = record_is_done(&own);
    score->n++;
    score->n_done += is_done;
    score->n_met +=
        metrics_score_is_met(&own, &judge->options.rule, of, solo_s,
                             &(struct score_run){ .end_ns = job->view->window->span_ns });
    score->normalized += solo_s > 0 ? latency_s / solo_s : 0;
    score->latency_s += is_done ? latency_s : 0;
    job->part->latencies[job->part->n_latencies++] = (float)latency_s;
}

static int by_place(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

static struct job job_of(struct sim_judge *judge, const struct judge_view *view,
                         struct judge_part *part)
{
    struct job job = { .judge = judge, .view = view, .part = part };
    for (int32_t i = 0; i < part->n_services; i++)
        job.n_most +=
            view->list_at[part->deals[i].service + 1] - view->list_at[part->deals[i].service];
    return job;
}

/* Collects the part's requests. A service that is also in other parts gives this part its share in
 * turn. */
static void gather(struct job *job)
{
    const struct judge_part *part = job->part;
    job->asks = mem_take((size_t)job->n_most * sizeof(*job->asks));
    job->n = 0;
    for (int32_t i = 0; i < part->n_services; i++) {
        const struct judge_deal *deal = &part->deals[i];
        const int32_t *list = job->view->lists + job->view->list_at[deal->service];
        int32_t n_list = job->view->list_at[deal->service + 1] - job->view->list_at[deal->service];
        for (int32_t k = 0; k < n_list; k++)
            if (k % deal->n_all >= deal->before && k % deal->n_all < deal->before + deal->n_own)
                job->asks[job->n++] = list[k];
    }
    qsort(job->asks, (size_t)job->n, sizeof(*job->asks), by_place);
}

static void fill_trace(const struct job *job, struct workload_trace *trace)
{
    const struct sim_judge *judge = job->judge;
    const struct judge_part *part = job->part;
    uint16_t *local = mem_take((size_t)judge->options.problem->n_services * sizeof(*local));
    trace->n_rows = 0;
    trace->has_times = true;
    trace->n_models = (uint32_t)part->n_services;
    for (int32_t i = 0; i < part->n_services; i++)
        local[part->deals[i].service] = (uint16_t)i;
    for (int32_t i = 0; i < job->n; i++) {
        const struct place_request *r = &job->view->window->requests[job->asks[i]];
        workload_trace_add(trace, &(struct workload_trace_row){ .arrived_ns = r->arrived_ns,
                                                                .deadline_ns = TIME_NEVER,
                                                                .cancel_ns = TIME_NEVER,
                                                                .n_prompt = r->n_prompt,
                                                                .n_output = r->n_output,
                                                                .model = local[r->service] });
    }
    mem_give(local);
}

static void fill_services(const struct job *job, struct sim_service *services)
{
    const struct place_problem *problem = job->judge->options.problem;
    for (int32_t i = 0; i < job->part->n_services; i++) {
        const struct place_service *s = &problem->services[job->part->deals[i].service];
        services[i] = (struct sim_service){ .name = s->name, .size = s->size };
    }
}

/* perfs, parts: (n_engines, n_services) */
static void fill_engines(const struct job *job, struct sim_engine_spec *engines, struct perf *perfs,
                         struct sim_engine_part *parts)
{
    const struct sim_judge *judge = job->judge;
    const struct place_problem *problem = judge->options.problem;
    const struct judge_part *part = job->part;
    for (int32_t g = 0; g < part->n_groups; g++) {
        const struct judge_shape *shape = &part->shapes[g];
        const struct place_kind *kind = &problem->kinds[shape->kind];
        struct perf *own = perfs + (size_t)g * (size_t)part->n_services;
        struct sim_engine_part *own_parts = parts + (size_t)g * (size_t)part->n_services;
        engines[g] =
            (struct sim_engine_spec){ .memory_bytes = kind->memory_bytes * shape->n_devices,
                                      .n_devices = shape->n_devices,
                                      .n_requests_max = 1,
                                      .bytes_per_s = kind->bytes_per_s * (double)shape->n_devices,
                                      .perfs = own,
                                      .parts = own_parts };
        const struct place_division *division = place_division_of(shape->division);
        if (division->n > 0)
            engines[g].n_lanes =
                schedule_lanes_of_parts(division->parts, division->n, engines[g].lanes);
        for (int32_t i = 0; i < part->n_services; i++) {
            int32_t service = part->deals[i].service;
            own[i] = *place_problem_perf(problem, service, shape->kind, shape->n_devices);
            for (int32_t m = 0; m < shape->n_members; m++) {
                if (shape->services[m] != service)
                    continue;
                set_add(&engines[g].services, i);
                engines[g].n_requests_max +=
                    (uint32_t)(job->view->list_at[service + 1] - job->view->list_at[service]);
                own_parts[i] = (struct sim_engine_part){
                    .share_percent = shape->shares[m],
                    .kv_bytes = ((int64_t)shape->quotas[m][0] << 31) + shape->quotas[m][1],
                };
            }
        }
    }
}

static void simulate(struct job *job, struct traffic *traffic)
{
    struct judge_part *part = job->part;
    size_t n_services = (size_t)part->n_services, n_groups = (size_t)part->n_groups;
    struct sim_service *services = mem_take(n_services * sizeof(*services));
    struct sim_engine_spec *engines = mem_take(n_groups * sizeof(*engines));
    struct perf *perfs = mem_take(n_groups * n_services * sizeof(*perfs));
    struct sim_engine_part *parts = mem_take(n_groups * n_services * sizeof(*parts));
    struct workload *workload = &traffic->workload;
    struct sim_report report;
    gather(job);
    part->latencies = mem_take((size_t)max_i32(job->n, 1) * sizeof(*part->latencies));
    if (job->n > 0) {
        fill_trace(job, &traffic->trace);
        fill_services(job, services);
        fill_engines(job, engines, perfs, parts);
        for (int32_t i = 0; i < part->n_services; i++)
            services[i].perf = perfs[i];
        workload->n_services = part->n_services;
        for (int32_t i = 0; i < part->n_services; i++)
            workload->replays[0].service_of[i] = (uint16_t)i;
        struct sim_options options = *job->judge->options.sim;
        options.n_engines = part->n_groups;
        options.n_services = part->n_services;
        options.services = services;
        options.engines = engines;
        options.workload = workload;
        options.n_live_max = (uint32_t)job->n;
        options.take = take;
        options.take_self = job;
        options.takes_ends = true;
        sim_run(&options, &report);
        CHECK(report.wrong == NULL);
        part->n_steps = report.n_steps;
        sim_report_free(&report);
    }
    mem_give(job->asks);
    mem_give(parts);
    mem_give(perfs);
    mem_give(engines);
    mem_give(services);
}

/* ---- Many parts. ---- */

struct crew {
    struct sim_judge *judge;
    struct job *jobs;
    int32_t n;
    atomic_int next, n_members;
};

static struct traffic *traffic_of(struct sim_judge *judge, int rank)
{
    struct traffic *traffic = judge->traffic[rank];
    if (traffic != NULL)
        return traffic;
    traffic = judge->traffic[rank] = mem_take(sizeof(*traffic));
    workload_trace_init(&traffic->trace);
    workload_init(&traffic->workload);
    traffic->workload.replays[0].trace = &traffic->trace;
    traffic->workload.n_replays = 1;
    return traffic;
}

static void work(void *self)
{
    struct crew *crew = self;
    struct traffic *traffic = traffic_of(crew->judge, atomic_fetch_add(&crew->n_members, 1));
    for (int i = atomic_fetch_add(&crew->next, 1); i < crew->n;
         i = atomic_fetch_add(&crew->next, 1))
        simulate(&crew->jobs[i], traffic);
}

static int n_threads_of(const struct sim_judge *judge)
{
    int n = judge->options.n_threads;
    return n > 0 ? n : (int)sysconf(_SC_NPROCESSORS_ONLN);
}

static int by_size(const void *a, const void *b)
{
    const struct job *x = a, *y = b;
    return (x->n_most < y->n_most) - (x->n_most > y->n_most);
}

/* Runs the largest jobs first, so that no core is left with one of them when the others are
 * done. */
static void run_jobs(struct sim_judge *judge, struct job *jobs, int32_t n)
{
    struct crew crew = { .judge = judge, .jobs = jobs, .n = n };
    struct thread *threads[THREADS_MAX];
    int n_threads = max_i32(min_i32(min_i32(n_threads_of(judge), n), THREADS_MAX), 1);
    qsort(jobs, (size_t)n, sizeof(*jobs), by_size);
    for (int i = 1; i < n_threads; i++)
        threads[i] = thread_start("judge", work, &crew);
    work(&crew);
    for (int i = 1; i < n_threads; i++)
        thread_join(threads[i]);
}

/* Returns the remembered part that is equal, or this one, which is remembered from now on. */
static struct judge_part *remember(struct sim_judge *judge, struct judge_part *part, bool *is_known)
{
    uint32_t at = map_find(&judge->known, part->hash.low);
    *is_known = at != MAP_NONE && judge->parts[at]->hash.high == part->hash.high;
    if (*is_known) {
        judge_parts_close(part);
        return judge->parts[at];
    }
    CHECK(map_put(&judge->known, part->hash.low, judge->n_parts));
    judge->parts[judge->n_parts++] = part;
    return part;
}

/* ---- Scores. ---- */

/* Returns the neighbour below the q-quantile, by Hoare's selection. The array is reordered. */
static float select_nth(float *values, int64_t n, int64_t nth)
{
    int64_t low = 0, high = n - 1;
    while (low < high) {
        float pivot = values[(low + high) / 2];
        int64_t i = low - 1, j = high + 1;
        for (;;) {
            do
                i++;
            while (values[i] < pivot);
            do
                j--;
            while (values[j] > pivot);
            if (i >= j)
                break;
            float kept = values[i];
            values[i] = values[j];
            values[j] = kept;
        }
        if (nth <= j)
            high = j;
        else
            low = j + 1;
    }
    return values[low];
}

struct sum { /* of one plan */
    struct place_service_score *services;
    float *latencies;
    int64_t n_latencies;
};

static void add_part(struct sum *sum, const struct judge_part *part)
{
    for (int32_t i = 0; i < part->n_services; i++) {
        struct place_service_score *to = &sum->services[part->deals[i].service];
        const struct place_service_score *from = &part->scores[i];
        to->n += from->n;
        to->n_done += from->n_done;
        to->n_met += from->n_met;
        to->normalized += from->normalized;
        to->latency_s += from->latency_s;
    }
    memcpy(sum->latencies + sum->n_latencies, part->latencies,
           (size_t)part->n_latencies * sizeof(*part->latencies));
    sum->n_latencies += part->n_latencies;
}

/* Adds requests of a service without a group, which wait until the window's end. */
static void add_unplaced(const struct sim_judge *judge, const struct judge_view *view,
                         struct sum *sum, int32_t service)
{
    const struct place_problem *problem = judge->options.problem;
    double solo_s = problem->services[service].solo_s;
    for (int32_t k = view->list_at[service]; k < view->list_at[service + 1]; k++) {
        const struct place_request *r = &view->window->requests[view->lists[k]];
        double latency_s = (double)(view->window->span_ns - r->arrived_ns) * 1e-9;
        sum->services[service].n++;
        sum->services[service].normalized += solo_s > 0 ? latency_s / solo_s : 0;
        sum->latencies[sum->n_latencies++] = (float)latency_s;
    }
}

static void sum_up(const struct sim_judge *judge, const struct judge_view *view,
                   const struct place_plan *plan, struct sum *sum, struct place_score *score)
{
    const struct place_problem *problem = judge->options.problem;
    struct place_service_score *services = score->services;
    int64_t n = 0, n_met = 0;
    double normalized = 0, latency_s = 0;
    *score = (struct place_score){ .services = services,
                                   .n_devices = place_plan_devices(plan),
                                   .cost_per_hour = place_plan_cost(plan, problem) };
    for (int32_t s = 0; s < problem->n_services; s++) {
        if (place_plan_copies(plan, s) > 0)
            score->n_placed++;
        else
            add_unplaced(judge, view, sum, s);
        const struct place_service_score *own = &sum->services[s];
        n += own->n;
        n_met += own->n_met;
        normalized += own->normalized;
        score->n_met += (double)own->n_met >= problem->limits.attainment * (double)own->n;
    }
    for (int64_t i = 0; i < sum->n_latencies; i++)
        latency_s += (double)sum->latencies[i];
    score->reached =
        place_judge_reached(sum->services, problem->n_services, problem->limits.attainment);
    score->attainment = n > 0 ? (double)n_met / (double)n : 1;
    score->normalized = n > 0 ? normalized / (double)n : 0;
    score->latency_s = n > 0 ? latency_s / (double)n : 0;
    if (sum->n_latencies > 0)
        score->p99_s =
            (double)select_nth(sum->latencies, sum->n_latencies, (sum->n_latencies - 1) * 99 / 100);
    if (services != NULL)
        memcpy(services, sum->services, (size_t)problem->n_services * sizeof(*services));
}

struct asked {                 /* plans in a window */
    struct judge_part **parts; /* of all plans, one after the other */
    int32_t n_parts;
    struct job *jobs; /* to simulate: parts that were never scored before */
    int32_t n_jobs, n_jobs_max;
};

/* Puts the parts of all plans into one list, and new ones into jobs. n_parts: (n) of each plan, or
 * NULL. */
static void find_parts(struct sim_judge *judge, const struct judge_view *view,
                       const struct place_plan *const *plans, int n, struct asked *asked,
                       int32_t *n_parts)
{
    int32_t n_max = 0;
    for (int i = 0; i < n; i++)
        n_max += plans[i]->n_groups;
    asked->parts = mem_take((size_t)max_i32(n_max, 1) * sizeof(struct judge_part *));
    asked->n_parts = 0;
    asked->jobs = mem_grow(asked->jobs, (size_t)asked->n_jobs_max * sizeof(*asked->jobs),
                           (size_t)(asked->n_jobs + n_max + 1) * sizeof(*asked->jobs));
    asked->n_jobs_max = asked->n_jobs + n_max + 1;
    for (int i = 0; i < n; i++) {
        struct judge_part **own = asked->parts + asked->n_parts;
        int32_t n_own = judge_parts_of(judge->options.problem, plans[i], view->hash, own);
        for (int32_t k = 0; k < n_own; k++) {
            bool is_known;
            own[k] = remember(judge, own[k], &is_known);
            if (is_known)
                continue;
            own[k]->search = -1; /* not yet work of any search */
            asked->jobs[asked->n_jobs++] = job_of(judge, view, own[k]);
        }
        asked->n_parts += n_own;
        if (n_parts != NULL)
            n_parts[i] = n_own;
    }
}

static void do_jobs(struct sim_judge *judge, const struct asked *asked)
{
    run_jobs(judge, asked->jobs, asked->n_jobs);
    for (int32_t i = 0; i < asked->n_jobs; i++) {
        judge->work.n_requests += asked->jobs[i].n;
        judge->n_latencies += asked->jobs[i].n;
    }
}

static bool has_room(const struct sim_judge *judge, const struct place_plan *const *plans, int n,
                     int n_windows)
{
    int64_t n_new = 0;
    for (int i = 0; i < n; i++)
        n_new += (int64_t)plans[i]->n_groups * n_windows;
    CHECK(n_windows > 1 || n_new < PARTS_MAX);
    return judge->n_parts + n_new <= PARTS_MAX && judge->n_latencies <= LATENCIES_MAX;
}

static void expect(void *self, const struct place_plan *const *plans, int n,
                   const struct place_window *const *windows, int n_windows)
{
    struct sim_judge *judge = self;
    struct asked asked = { .n_jobs = 0 };
    if (n_windows > VIEWS_MAX || n_threads_of(judge) == 1 || !has_room(judge, plans, n, n_windows))
        return;
    for (int i = 0; i < n_windows; i++) {
        find_parts(judge, look_at(judge, windows[i]), plans, n, &asked, NULL);
        mem_give(asked.parts);
    }
    do_jobs(judge, &asked);
    mem_give(asked.jobs);
}

/* Counts a part that is used, as work at most once per search. */
static void count_part(struct sim_judge *judge, struct judge_part *part)
{
    if (part->search != judge->search)
        judge->work.n_steps += part->n_steps;
    part->search = judge->search;
}

static void score(void *self, const struct place_plan *const *plans, int n,
                  const struct place_window *window, struct place_score *scores)
{
    struct sim_judge *judge = self;
    size_t n_services = (size_t)judge->options.problem->n_services;
    struct asked asked = { .n_jobs = 0 };
    if (!has_room(judge, plans, n, 1))
        forget(judge);
    const struct judge_view *view = look_at(judge, window);
    int32_t *n_parts = mem_take((size_t)n * sizeof(*n_parts));
    find_parts(judge, view, plans, n, &asked, n_parts);
    do_jobs(judge, &asked);
    judge->work.n_parts += asked.n_parts;
    judge->work.n_known += asked.n_parts - asked.n_jobs;
    struct sum sum = { .services = mem_take(n_services * sizeof(*sum.services)),
                       .latencies = mem_take((size_t)max_i32(window->n, 1) * sizeof(float)) };
    for (int32_t i = 0, at = 0; i < n; i++) {
        memset(sum.services, 0, n_services * sizeof(*sum.services));
        sum.n_latencies = 0;
        for (int32_t k = 0; k < n_parts[i]; k++, at++) {
            count_part(judge, asked.parts[at]);
            add_part(&sum, asked.parts[at]);
        }
        sum_up(judge, view, plans[i], &sum, &scores[i]);
        judge->work.n_plans++;
    }
    mem_give(sum.services);
    mem_give(sum.latencies);
    mem_give(asked.parts);
    mem_give(asked.jobs);
    mem_give(n_parts);
}

static int64_t work_so_far(const void *self)
{
    const struct sim_judge *judge = self;
    return judge->work.n_steps;
}

static void begin(void *self)
{
    struct sim_judge *judge = self;
    judge->search++;
}

struct place_judge sim_judge_face(struct sim_judge *judge)
{
    return (struct place_judge){ judge, score, work_so_far, expect, begin };
}
