/* Plans a live cluster. */
#include "live/plan.h"

#include "base/mem.h"
#include "base/num.h"
#include "base/pile.h"
#include "base/rng.h"
#include "base/team.h"
#include "base/time.h"
#include "config/lanes.h"
#include "place/align.h"
#include "place/check.h"
#include "place/planner.h"
#include "schedule/policy.h"
#include "sim/judge.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

/* Engines whose memory differs by less than this are of one kind, with the least of it. */
static const double KIND_PART = 0.05;
static const double SOLO_SCALE = 5;       /* in time without targets, as the monitor counts it */
static const double RECOMPUTE_PART = 0.5; /* of its solo time that an interrupted request has run */

struct desk {
    struct live_job *job;
    struct pile pile;
    struct place_problem problem;
    struct place_kind kinds[PLACE_KINDS_MAX];
    struct place_node nodes[LIVE_ENGINES_MAX];
    struct place_service services[LIMIT_MODELS];
    struct perf perfs[LIMIT_MODELS][PLACE_KINDS_MAX * PLACE_DEGREES];
    struct score_service targets[LIMIT_MODELS];
    struct schedule_lane lanes[LIMIT_LANES];
    struct score_rule rule;
    struct sim_options sim;
    struct sim_judge *judge;
    struct place_plan kept, next;
};

/* ---- The problem. ---- */

static int by_memory(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static enum status open_nodes(struct desk *d, struct fault *fault)
{
    const struct live_job *job = d->job;
    struct place_problem *p = &d->problem;
    int64_t sizes[LIVE_ENGINES_MAX];
    for (int32_t e = 0; e < job->n_engines; e++)
        sizes[e] = job->engines[e].memory_bytes;
    qsort(sizes, (size_t)job->n_engines, sizeof *sizes, by_memory);
    for (int32_t i = 0; i < job->n_engines; i++) {
        const struct place_kind *last = p->n_kinds > 0 ? &d->kinds[p->n_kinds - 1] : NULL;
        if (last != NULL && (double)sizes[i] <= (double)last->memory_bytes * (1 + KIND_PART))
            continue;
        if (p->n_kinds == PLACE_KINDS_MAX)
            return fault_set(fault, STATUS_TOO_LARGE,
                             "engines have more than %d sizes of memory, and a plan has at most as "
                             "many kinds of devices",
                             PLACE_KINDS_MAX);
        d->kinds[p->n_kinds++] =
            (struct place_kind){ .name = "engine", .memory_bytes = sizes[i], .bytes_per_s = 1e11 };
    }
    for (int32_t e = 0; e < job->n_engines; e++) {
        int32_t kind = p->n_kinds - 1;
        while (kind > 0 && d->kinds[kind].memory_bytes > job->engines[e].memory_bytes)
            kind--;
        d->nodes[e] = (struct place_node){ kind, e, 1 };
    }
    p->n_nodes = p->n_devices = job->n_engines;
    p->nodes = d->nodes;
    p->kinds = d->kinds;
    return STATUS_OK;
}

static void open_services(struct desk *d)
{
    struct place_problem *p = &d->problem;
    bool have_targets = true;
    p->n_services = d->job->n_services;
    p->services = d->services;
    for (int32_t s = 0; s < p->n_services; s++) {
        const struct live_service *from = &d->job->services[s];
        const struct service_slo *slo = &from->slo;
        for (int32_t i = 0; i < p->n_kinds * PLACE_DEGREES; i++)
            d->perfs[s][i] = from->perf;
        d->services[s] = (struct place_service){
            .name = from->name, .size = from->size, .slo = *slo, .perfs = d->perfs[s]
        };
        d->targets[s].slo = *slo;
        have_targets = have_targets && slo->ttft_ns + slo->tpot_ns + slo->e2e_ns > 0;
    }
    d->rule = (struct score_rule){ .kind = have_targets ? SCORE_SERVICE : SCORE_SEALLM_SOLO,
                                   .scale = SOLO_SCALE };
}

/* Draws a length with this mean and deviation: log-normal, at least 1. */
static int32_t length_of(const struct monitor_mean *mean, struct rng *rng)
{
    double m = mean->n > 0 && mean->mean >= 1 ? mean->mean : 256;
    double part = mean->n > 0 ? mean->deviation / m : 0;
    double variance = num_log(1 + part * part);
    double tokens = num_exp(num_log(m) - variance / 2 + num_sqrt(variance) * rng_normal(rng));
    return tokens < 1 ? 1 : tokens > LIMIT_CONTEXT / 4 ? LIMIT_CONTEXT / 4 : (int32_t)tokens;
}

static int by_arrival(const void *a, const void *b)
{
    const struct place_request *x = a, *y = b;
    if (x->arrived_ns != y->arrived_ns)
        return x->arrived_ns < y->arrived_ns ? -1 : 1;
    return (x->service > y->service) - (x->service < y->service);
}

/* Returns the first bin of the newest ones that have at most LIVE_REQUESTS_MAX requests. */
static int32_t first_bin(const struct live_job *job)
{
    int64_t n = 0;
    for (int32_t bin = job->n_bins - 1; bin >= 0; bin--) {
        for (int32_t s = 0; s < job->n_services; s++)
            n += job->services[s].n_arrived[bin];
        if (n > LIVE_REQUESTS_MAX)
            return min_i32(bin + 1, job->n_bins - 1);
    }
    return 0;
}

static int64_t count(const struct live_job *job, int32_t first)
{
    int64_t n = 0;
    for (int32_t s = 0; s < job->n_services; s++)
        for (int32_t bin = first; bin < job->n_bins; bin++)
            n += job->services[s].n_arrived[bin];
    return n;
}

/* A window with too many requests becomes a shorter one with the same rates. */
static void draw_window(struct desk *d)
{
    const struct live_job *job = d->job;
    struct place_request *requests = pile_take(&d->pile, LIVE_REQUESTS_MAX * sizeof *requests);
    struct rng rng;
    int32_t n = 0, first = first_bin(job);
    int64_t n_all = max_i64(count(job, first), 1), n_kept = min_i64(n_all, LIVE_REQUESTS_MAX);
    int64_t bin_ns = (int64_t)((double)job->bin_ns * (double)n_kept / (double)n_all);
    for (int32_t s = 0; s < job->n_services; s++) {
        const struct live_service *service = &job->services[s];
        rng_init(&rng, job->settings.seed, (uint64_t)s);
        for (int32_t bin = first; bin < job->n_bins; bin++)
            for (int64_t i = 0; i < service->n_arrived[bin] * n_kept / n_all; i++) {
                double at = (bin - first + rng_unit(&rng)) * (double)bin_ns;
                int32_t n_prompt = length_of(&service->prompt, &rng);
                requests[n++] = (struct place_request){ (int64_t)at, s, n_prompt,
                                                        length_of(&service->output, &rng) };
            }
    }
    qsort(requests, (size_t)n, sizeof *requests, by_arrival);
    d->problem.window = (struct place_window){ requests, n, (job->n_bins - first) * bin_ns };
    d->job->result.n_requests = n;
}

static enum status open_judge(struct desk *d, struct fault *fault)
{
    const struct live_settings *settings = &d->job->settings;
    int n_usual;
    d->sim = (struct sim_options){ .n_lanes = 1,
                                   .lanes = d->lanes,
                                   .n_requests_max = settings->n_requests_max,
                                   .n_tokens_max = LIMIT_CONTEXT,
                                   .kv = (enum kv_kind)settings->kv_kind,
                                   .policy = schedule_find(settings->policy),
                                   .config = &settings->schedule,
                                   .router = route_find(settings->router),
                                   .router_config = &settings->route };
    if (d->sim.policy == NULL || d->sim.router == NULL)
        return fault_set(fault, STATUS_BAD_INPUT, "there is no policy %.40s or router %.40s",
                         settings->policy, settings->router);
    const char *const *usual = config_lanes_usual(d->sim.policy, true, &n_usual);
    enum status status = config_lanes_of_shares(usual, n_usual, d->lanes, &d->sim.n_lanes, fault);
    if (status == STATUS_OK)
        d->judge = sim_judge_open(&(struct sim_judge_options){ .problem = &d->problem,
                                                               .sim = &d->sim,
                                                               .rule = d->rule,
                                                               .services = d->targets,
                                                               .n_threads = 1 });
    return status;
}

/* ---- Plans. ---- */

static void set_kept(struct desk *d)
{
    place_plan_init(&d->kept, &d->problem, &d->pile);
    for (int32_t e = 0; e < d->job->n_engines; e++) {
        const struct set *there = &d->job->engines[e].there;
        if (set_is_empty(there))
            continue;
        struct place_group *group = place_plan_add_group(&d->kept, &d->problem, e, 1);
        for (int s = 0; (s = set_next(there, s, d->job->n_services)) >= 0; s++)
            place_group_add(group, s);
    }
    place_plan_finish(&d->kept, &d->problem);
}

/* The present placement keeps no floor of KV for itself, so the floors come down to what it keeps;
 * else no plan could be compared with it. */
static enum status fit_limits(struct desk *d, struct fault *fault)
{
    struct place_limits *limits = &d->problem.limits;
    struct fault why;
    for (int32_t e = 0; e < d->job->n_engines; e++) {
        int n = 0;
        for (int s = 0; (s = set_next(&d->job->engines[e].there, s, d->job->n_services)) >= 0; s++)
            n++;
        if (n > PLACE_MEMBERS_MAX)
            return fault_set(fault, STATUS_UNSUPPORTED,
                             "an engine has %d models with traffic, and a plan at most %d on one",
                             n, PLACE_MEMBERS_MAX);
    }
    set_kept(d);
    if (place_check(&d->problem, &d->kept, PLACE_MEMBERS_MAX, &why) == STATUS_OK)
        return STATUS_OK;
    limits->kv_floor = 0;
    limits->n_floor = 1;
    if (place_check(&d->problem, &d->kept, PLACE_MEMBERS_MAX, &why) == STATUS_OK)
        return STATUS_OK;
    return fault_set(fault, STATUS_UNSUPPORTED, "the present placement can't be simulated: %.180s",
                     why.text);
}

static void score(struct desk *d, const struct place_plan *plan, struct live_score *out)
{
    struct place_judge judge = sim_judge_face(d->judge);
    struct place_score score = { .services = NULL };
    judge.score(judge.self, &plan, 1, &d->problem.window, &score);
    *out = (struct live_score){ .normalized_latency = score.normalized,
                                .attainment = score.attainment,
                                .latency_s = score.latency_s,
                                .n_placed = score.n_placed };
}

static void plan_anew(struct desk *d, const struct place_planner *planner)
{
    struct place_judge judge = sim_judge_face(d->judge);
    const struct place_desk place = { .problem = &d->problem,
                                      .judge = &judge,
                                      .pile = &d->pile,
                                      .seed = d->job->settings.seed,
                                      .effort = d->job->settings.effort };
    place_planner_plan(planner, &place, &d->next);
    place_align(&d->problem, &d->kept, &d->next, &d->pile);
}

/* ---- The decision. ---- */

static int64_t recompute_ns(const struct live_service *service)
{
    int64_t n_prompt = (int64_t)service->prompt.mean + 1, n_output = (int64_t)service->output.mean;
    return (int64_t)(RECOMPUTE_PART *
                     (double)perf_solo_ps(&service->perf, n_prompt, max_i64(n_output, 1)) * 1e-3);
}

/* moves: (n_engines). Returns how many engines change. */
static int32_t list_moves(const struct desk *d, struct replace_move *moves)
{
    const struct live_job *job = d->job;
    int32_t n = 0;
    for (int32_t e = 0; e < job->n_engines; e++) {
        const struct set *was = &job->engines[e].there, *is = &job->result.next[e];
        const struct set going = set_without(was, is), coming = set_without(is, was);
        if (set_equals(was, is))
            continue;
        struct replace_move *move = &moves[n++];
        *move = (struct replace_move){ .is_prefetched = false };
        for (int s = 0; (s = set_next(&coming, s, job->n_services)) >= 0; s++)
            move->weights_bytes += job->services[s].size.weights_bytes;
        for (int s = 0; (s = set_next(&going, s, job->n_services)) >= 0; s++) {
            move->n_there += job->engines[e].n_running[s];
            move->recompute_ns = max_i64(move->recompute_ns, recompute_ns(&job->services[s]));
        }
    }
    return n;
}

static void read_next(struct desk *d)
{
    for (int32_t g = 0; g < d->next.n_groups; g++) {
        const struct place_group *group = &d->next.groups[g];
        CHECK(group->n_devices == 1);
        for (int32_t m = 0; m < group->n_members; m++)
            set_add(&d->job->result.next[group->first_device], group->members[m].service);
    }
}

static void say_why(struct live_result *r)
{
    const struct live_score *a = &r->kept, *b = &r->planned;
    static const char *const ends[] = {
        [REPLACE_INSTALL] = "it gains more than the move costs until the next plan",
        [REPLACE_SAME] = "the present placement is the best that was found",
        [REPLACE_NO_GAIN] = "it is not better than noise",
        [REPLACE_NOT_WORTH] = "the move costs more than it gains until the next plan",
    };
    snprintf(r->why, sizeof r->why,
             "on %d requests normalized latency %.2f against %.2f now, attainment %.1f%% against "
             "%.1f%%; %d engines change: %s",
             r->n_requests, b->normalized_latency, a->normalized_latency, 100 * b->attainment,
             100 * a->attainment, r->n_changed, ends[r->verdict]);
}

static enum status decide(struct desk *d, struct fault *fault)
{
    const struct live_settings *settings = &d->job->settings;
    struct live_result *r = &d->job->result;
    struct replace_move *moves = pile_take(&d->pile, (size_t)d->job->n_engines * sizeof *moves);
    if (d->next.n_refused > 0) /* a model that needs more than one device, or has no room */
        (void)fault_set(fault, STATUS_OK,
                        "%.60s has no place, since live plans use groups of one device: %.150s",
                        d->services[d->next.refused[0].service].name, d->next.refused[0].why);
    read_next(d);
    score(d, &d->kept, &r->kept);
    score(d, &d->next, &r->planned);
    r->n_changed = list_moves(d, moves);
    const struct replace_case c = {
        .kept = { r->kept.normalized_latency, r->kept.attainment },
        .planned = { r->planned.normalized_latency, r->planned.attainment },
        .rate = (double)r->n_requests / ((double)d->problem.window.span_ns * 1e-9),
        .latency_s = r->kept.latency_s,
        .interval_ns = settings->interval_ns,
        .moves = moves,
        .n_moves = r->n_changed,
        .links = settings->links,
    };
    r->verdict = (int32_t)replace_decide(&settings->replace, &c);
    if (r->planned.n_placed < r->kept.n_placed) /* a model that is served stays so */
        r->verdict = REPLACE_NO_GAIN;
    say_why(r);
    return STATUS_OK;
}

static enum status plan_all(struct desk *d, struct fault *fault)
{
    const struct place_planner *planner = place_planner_find(d->job->settings.planner);
    if (planner == NULL)
        return fault_set(fault, STATUS_NOT_FOUND, "there is no planner \"%.40s\"",
                         d->job->settings.planner);
    place_problem_limits(&d->problem.limits);
    d->problem.limits.n_members_max = PLACE_MEMBERS_MAX;
    d->problem.limits.slo_scale = SOLO_SCALE;
    enum status status = open_nodes(d, fault);
    if (status != STATUS_OK)
        return status;
    open_services(d);
    draw_window(d);
    if (d->problem.window.n == 0)
        return fault_set(fault, STATUS_NOT_FOUND, "no request came in the window");
    place_problem_measure(&d->problem);
    status = fit_limits(d, fault);
    if (status == STATUS_OK)
        status = open_judge(d, fault);
    if (status != STATUS_OK)
        return status;
    plan_anew(d, planner);
    return decide(d, fault);
}

void live_plan(struct live_job *job)
{
    struct fault fault = { "" };
    struct desk *d = mem_take(sizeof *d);
    CHECK(job->n_services > 0 && job->n_engines > 0);
    d->job = job;
    job->result = (struct live_result){ .verdict = REPLACE_SAME };
    pile_init(&d->pile);
    job->result.status = (int32_t)plan_all(d, &fault);
    job->result.fault = fault;
    if (d->judge != NULL)
        sim_judge_close(d->judge);
    pile_free(&d->pile);
    mem_give(d);
}

int live_plan_run(int fd)
{
    struct live_job *job = mmap(NULL, sizeof *job, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (job == MAP_FAILED)
        return 2;
    thread_give_way(); /* requests take precedence over plans */
    live_plan(job);
    return 0;
}

/* ---- For the parent. ---- */

static bool is_score(const struct live_score *score)
{
    return isfinite(score->normalized_latency) && isfinite(score->attainment) &&
           isfinite(score->latency_s);
}

bool live_plan_is_sane(const struct live_job *job, const struct live_result *r)
{
    struct set all = { { 0 } };
    bool is_sane = r->status >= STATUS_OK && r->status <= STATUS_IO && fault_is_text(&r->fault) &&
                   r->verdict >= REPLACE_INSTALL && r->verdict <= REPLACE_NOT_WORTH &&
                   memchr(r->why, '\0', sizeof r->why) != NULL && is_score(&r->kept) &&
                   is_score(&r->planned);
    for (int32_t s = 0; s < job->n_services; s++)
        set_add(&all, s);
    for (int32_t e = 0; e < job->n_engines && is_sane; e++) {
        const struct set beyond = set_without(&r->next[e], &all);
        is_sane = set_is_empty(&beyond);
    }
    return is_sane;
}

const char *live_plan_verdict_name(int32_t verdict)
{
    static const char *const names[] = { [REPLACE_INSTALL] = "install",
                                         [REPLACE_SAME] = "same",
                                         [REPLACE_NO_GAIN] = "no_gain",
                                         [REPLACE_NOT_WORTH] = "not_worth" };
    return names[verdict];
}
