/* Aladdin's best-fit router (Algorithm 1) over a pool of engines.
 *
 * Every heartbeat, or on arrival when the last one is longer ago, requests are placed in order of
 * arrival. Each goes to the fullest engine that takes it under (b) to (e) (route/worker.h). An
 * empty engine is tried last, which is "open a new worker". When no engine takes a request, it is
 * held while more than force_fraction of the time to its first token is left and waiting may help.
 * Then it is forced onto the engine with the fewest requests. Unsent requests are re-balanced by
 * the errors of past predictions (section 3.5). A request that outran its prediction counts until
 * it ends, and one that ended early counts until its predicted end (D-18).
 *
 * Source: docs/ALGORITHMS.md sections 3.3 to 3.5 and 3.8, D-15 to D-18. */
#include "base/time.h"
#include "route/policies.h"
#include "route/rebalance.h"
#include "route/sent.h"
#include "route/sort.h"

/* A request that ended early: the work that its engine is spared, and until when. */
struct early {
    int64_t until_ns, error_ps;
    uint32_t next;
};
struct best_fit {
    struct route_config config;
    struct route_limits limits;
    int64_t beat_ns; /* the last heartbeat */
    struct route_sent sent;
    int32_t *n_predicted;  /* by slot, when it was sent */
    uint32_t *first_early; /* by engine */
    struct early *early;   /* (n_requests) */
    uint32_t first_free;   /* of the early ones */
};
struct beat { /* in the plan's scratch */
    struct route_fit fit;
    int32_t *order;  /* (n_engines) by norm of order_service, fullest first */
    double *norms;   /* (n_engines) */
    int32_t *n_room; /* (n_engines) */
    int order_service;
};

static size_t state_bytes(const struct route_limits *limits)
{
    size_t n = (size_t)limits->n_requests_max;
    return align_up_u64(sizeof(struct best_fit), 8) + align_up_u64(route_sent_bytes(limits), 8) +
           sizeof(struct early) * n + sizeof(int32_t) * n +
           sizeof(uint32_t) * (size_t)limits->n_engines_max;
}

static size_t scratch_bytes(const struct route_limits *limits)
{
    size_t n = (size_t)limits->n_engines_max;
    size_t n_words = ROUTE_WORKER_SETS * (size_t)set_n_words(limits->n_services_max);
    return n * (sizeof(struct route_worker) + n_words * sizeof(uint64_t)) +
           n * (sizeof(double) + 2 * sizeof(int32_t)) +
           sizeof(struct route_worker_link) * (size_t)limits->n_requests_max;
}

static void open(void *state, const struct route_limits *limits, const struct route_config *config)
{
    struct best_fit *b = state;
    unsigned char *at = (unsigned char *)state + align_up_u64(sizeof *b, 8);
    *b = (struct best_fit){ .config = *config, .limits = *limits, .beat_ns = INT64_MIN / 2 };
    route_sent_init(&b->sent, limits, at);
    b->early = (void *)(at + align_up_u64(route_sent_bytes(limits), 8));
    b->n_predicted = (void *)(b->early + limits->n_requests_max);
    b->first_early = (void *)(b->n_predicted + limits->n_requests_max);
    b->first_free = ROUTE_NONE;
    for (uint32_t i = (uint32_t)limits->n_requests_max; i-- > 0;) {
        b->early[i].next = b->first_free;
        b->first_free = i;
    }
    for (int32_t e = 0; e < limits->n_engines_max; e++)
        b->first_early[e] = ROUTE_NONE;
}

/* ---- A heartbeat. ---- */

/* Returns the errors of predictions on an engine, from requests that outran theirs and those that
 * ended early. */
static int64_t error_of(const struct best_fit *b, const struct route_fit *fit, int32_t e)
{
    int64_t ps = 0;
    for (uint32_t at = b->sent.first[e]; at != ROUTE_NONE; at = b->sent.links[at].next) {
        const struct route_request *r = &fit->view->requests[at];
        const struct perf *perf = route_sent_perf(fit->view, e, r->service);
        if (r->n_tokens - r->n_prompt >= b->n_predicted[at])
            ps += perf->k2_ps[0] * route_sent_predicted(fit->view, r) + perf->c2_ps[0];
    }
    for (uint32_t at = b->first_early[e]; at != ROUTE_NONE; at = b->early[at].next)
        ps += b->early[at].until_ns > fit->view->now_ns ? b->early[at].error_ps : 0;
    return ps;
}

static struct beat begin(const struct best_fit *b, const struct route_view *view,
                         struct route_plan *plan)
{
    struct beat beat = { .order_service = -1 };
    int32_t n = b->limits.n_engines_max;
    int32_t n_words = set_n_words(b->limits.n_services_max);
    beat.fit = (struct route_fit){
        .config = &b->config, .view = view, .workers = plan->scratch, .n_words = n_words
    };
    beat.fit.sets = (void *)(beat.fit.workers + n);
    beat.fit.links = (void *)(beat.fit.sets + (ptrdiff_t)n * ROUTE_WORKER_SETS * n_words);
    beat.norms = (void *)(beat.fit.links + b->limits.n_requests_max);
    beat.order = (void *)(beat.norms + n);
    beat.n_room = beat.order + n;
    for (int32_t e = 0; e < view->n_engines; e++) {
        const struct route_engine *engine = &view->engines[e];
        route_worker_clear(&beat.fit, e);
        for (uint32_t at = b->sent.first[e]; at != ROUTE_NONE; at = b->sent.links[at].next)
            route_worker_add(&beat.fit, e, at);
        route_worker_add_others(&beat.fit, e);
        beat.fit.workers[e].error_ps = b->config.has_rebalance ? error_of(b, &beat.fit, e) : 0;
        int32_t n_there = engine->n_sent + engine->n_others;
        beat.n_room[e] = engine->is_open ? route_sent_limit(&b->config, engine) - n_there : 0;
    }
    return beat;
}

static bool is_fuller(const void *self, int32_t a, int32_t b)
{
    const struct beat *beat = self;
    return beat->norms[a] != beat->norms[b] ? beat->norms[a] > beat->norms[b] : a < b;
}

/* Moves order[i] towards the front to where it belongs. */
static void rise(struct beat *beat, int32_t i)
{
    int32_t e = beat->order[i];
    for (; i > 0 && is_fuller(beat, e, beat->order[i - 1]); i--)
        beat->order[i] = beat->order[i - 1];
    beat->order[i] = e;
}

/* Sorts engines by how full they are for a service. */
static void order_by(struct beat *beat, int service)
{
    int32_t n = beat->fit.view->n_engines;
    beat->order_service = service;
    for (int32_t e = 0; e < n; e++) {
        beat->order[e] = e;
        beat->norms[e] = route_worker_norm(&beat->fit, e, service);
    }
    route_sort(beat->order, n, is_fuller, beat);
}

static bool serves(const struct beat *beat, int32_t e, int service)
{
    return beat->n_room[e] > 0 && set_has(&beat->fit.view->engines[e].services, service);
}

static void place(struct beat *beat, struct route_plan *plan, uint32_t slot, int32_t e,
                  bool is_forced)
{
    route_worker_add(&beat->fit, e, slot);
    beat->n_room[e]--;
    plan->choices[plan->n_choices++] =
        (struct route_choice){ .slot = slot, .engine = (uint16_t)e, .is_forced = is_forced };
}

/* Places it on the fullest engine that takes it. Returns true when there is one. */
static bool place_best(struct beat *beat, struct route_plan *plan, uint32_t slot)
{
    int service = beat->fit.view->requests[slot].service;
    if (beat->order_service != service)
        order_by(beat, service);
    const struct perf *perf = NULL;
    struct route_worker_part part;
    for (int32_t i = 0; i < beat->fit.view->n_engines; i++) {
        int32_t e = beat->order[i];
        const struct perf *own = route_sent_perf(beat->fit.view, e, service);
        if (!serves(beat, e, service))
            continue;
        if (own != perf)
            part = route_worker_part(&beat->fit, e, slot);
        perf = own;
        if (!route_worker_takes_part(&beat->fit, e, slot, &part))
            continue;
        place(beat, plan, slot, e, false);
        beat->norms[e] = route_worker_norm(&beat->fit, e, service);
        rise(beat, i);
        return true;
    }
    return false;
}

/* Handles a request that no engine takes: it is held, or forced onto the engine with the fewest
 * requests. */
static void force(struct beat *beat, struct route_plan *plan, uint32_t slot)
{
    const struct route_request *r = &beat->fit.view->requests[slot];
    int64_t ttft_ns = route_worker_ttft_ns(&beat->fit, r->service);
    int64_t left_ns = ttft_ns - (beat->fit.view->now_ns - r->arrived_ns);
    int32_t best = -1;
    for (int32_t e = 0; e < beat->fit.view->n_engines; e++) {
        if (serves(beat, e, r->service) &&
            (best < 0 || beat->fit.workers[e].n < beat->fit.workers[best].n))
            best = e;
    }
    /* In a pool that only decodes it loses more by waiting. */
    bool is_urgent = beat->fit.config->phase == ROUTE_PHASE_DECODE ||
                     (double)left_ns < beat->fit.config->force_fraction * (double)ttft_ns;
    if (best < 0 || (!is_urgent && route_worker_takes_alone(&beat->fit, best, slot)))
        return;
    place(beat, plan, slot, best, true);
    beat->order_service = -1;
}

/* The first of all services' lists, moved on. */
static uint32_t take_first(const struct route_view *view, uint32_t *heads)
{
    uint32_t best = ROUTE_NONE;
    for (int s = 0; (s = set_next(view->services_held, s, view->n_services)) >= 0; s++) {
        uint32_t slot = heads[s];
        if (slot != ROUTE_NONE &&
            (best == ROUTE_NONE ||
             route_sent_is_before(&view->requests[slot], &view->requests[best])))
            best = slot;
    }
    if (best != ROUTE_NONE)
        heads[view->requests[best].service] = view->requests[best].next;
    return best;
}

static int32_t n_used(const struct beat *beat, bool is_short)
{
    int32_t n = is_short; /* a request found no place, so one more */
    for (int32_t e = 0; e < beat->fit.view->n_engines; e++)
        n += beat->fit.workers[e].n > 0;
    return n;
}

static void plan(const void *state, const struct route_view *view, struct route_plan *plan)
{
    const struct best_fit *b = state;
    uint32_t heads[LIMIT_SERVICES], slot;
    plan->n_choices = plan->n_engines_wanted = 0;
    plan->wake_ns = b->beat_ns + b->config.heartbeat_ns;
    /* An answer that has begun loses time at each moment that it waits, so it waits for no beat. */
    if (view->now_ns < plan->wake_ns && b->config.phase != ROUTE_PHASE_DECODE)
        return;
    plan->wake_ns = view->now_ns + b->config.heartbeat_ns;
    struct beat beat = begin(b, view, plan);
    bool is_short = false;
    for (int s = 0; s < view->n_services; s++)
        heads[s] = view->services[s].n_held > 0 ? view->services[s].first_held : ROUTE_NONE;
    while (plan->n_choices < plan->n_choices_max &&
           (slot = take_first(view, heads)) != ROUTE_NONE) {
        if (place_best(&beat, plan, slot))
            continue;
        is_short = true;
        force(&beat, plan, slot);
    }
    if (b->config.has_rebalance)
        route_rebalance(&beat.fit, plan, beat.n_room);
    if (b->config.is_autoscaled)
        plan->n_engines_wanted = n_used(&beat, is_short);
}

/* ---- What happens. ---- */

static void drop_expired(struct best_fit *b, int32_t engine, int64_t now_ns)
{
    for (uint32_t *at = &b->first_early[engine]; *at != ROUTE_NONE;) {
        uint32_t early = *at;
        if (b->early[early].until_ns > now_ns) {
            at = &b->early[early].next;
            continue;
        }
        *at = b->early[early].next;
        b->early[early].next = b->first_free;
        b->first_free = early;
    }
}

/* Notes a request that ended with fewer tokens than predicted, so that its engine is spared the
 * rest. */
static void note_early(struct best_fit *b, const struct route_view *view,
                       const struct route_event *event)
{
    const struct route_request *r = &view->requests[event->slot];
    const struct perf *perf = route_sent_perf(view, event->engine, r->service);
    int32_t n_missing = b->n_predicted[event->slot] - (r->n_tokens - r->n_prompt);
    drop_expired(b, event->engine, view->now_ns);
    if (n_missing <= 0 || b->first_free == ROUTE_NONE)
        return;
    uint32_t at = b->first_free;
    int64_t step_ps =
        perf_decode_span_ps(perf, max_i32(1, view->engines[event->engine].n_sent), r->n_tokens, 1);
    b->first_free = b->early[at].next;
    b->early[at] = (struct early){
        .until_ns = view->now_ns + n_missing * (step_ps / 1000),
        .error_ps = -(perf->k2_ps[0] * n_missing + perf->c2_ps[0]),
        .next = b->first_early[event->engine],
    };
    b->first_early[event->engine] = at;
}

static void saw(void *state, const struct route_view *view, const struct route_event *event)
{
    struct best_fit *b = state;
    switch (event->what) {
    case ROUTE_SENT:
        b->beat_ns = view->now_ns;
        b->n_predicted[event->slot] = route_sent_predicted(view, &view->requests[event->slot]);
        route_sent_add(&b->sent, event->engine, event->slot);
        return;
    case ROUTE_ENDED:
        if (b->config.has_rebalance && event->why != SERVICE_LEASE_OVER) /* else it goes on */
            note_early(b, view, event);
        route_sent_remove(&b->sent, event->engine, event->slot);
        return;
    case ROUTE_RETURNED:
        route_sent_remove(&b->sent, event->engine, event->slot);
        return;
    case ROUTE_ASKED:
        if (view->now_ns >= b->beat_ns + b->config.heartbeat_ns)
            b->beat_ns = view->now_ns;
        return;
    default:
        return;
    }
}

const struct route_policy route_best_fit = {
    .name = "best-fit",
    .summary = "the fullest engine that keeps the targets of all (Aladdin)",
    .does = "the fullest engine that keeps the targets under (b) to (e), every `heartbeat_ns`; a "
            "request is held, then forced with less than `force_fraction` of its time left. Unsent "
            "requests are re-balanced by the errors of past predictions. `phase` splits prefill "
            "from decode",
    .source = "Aladdin (3.3 to 3.9, D-15 to D-18)",
    .when = "pools that grow and shrink: `is_autoscaled` says how many engines it wants",
    .thresholds = "n_inflight_max heartbeat_ns gamma theta headroom force_fraction ttft_ns tpot_ns "
                  "has_rebalance is_autoscaled phase block_tokens kv_bytes",
    .sees_tokens = true,
    .state_bytes = state_bytes,
    .scratch_bytes = scratch_bytes,
    .open = open,
    .plan = plan,
    .saw = saw,
    .fits = route_sent_fits,
};
