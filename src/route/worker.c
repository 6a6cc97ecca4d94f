/* Aladdin's constraints on one engine. */
#include "route/worker.h"

#include "base/num.h"
#include "base/time.h"
#include "route/sent.h"
#include <string.h>

enum { PS_PER_NS = 1000 };
#define PART_PS_MAX (INT64_C(1) << 50) /* 19 minutes */

/* Scales a time, and bounds it above any target, so that sums over an engine's requests do not
 * wrap. */
static int64_t scaled(int64_t ps, float scale)
{
    if (scale == 1.0F || scale == 0.0F)
        return min_i64(ps, PART_PS_MAX);
    double product = num_floor((double)ps * (double)scale + 0.5);
    return product < (double)PART_PS_MAX ? (int64_t)product : PART_PS_MAX;
}

static uint64_t *set_of(const struct route_fit *fit, int32_t engine, enum route_worker_set which)
{
    return &fit->sets[(engine * ROUTE_WORKER_SETS + (int32_t)which) * fit->n_words];
}

static void empty(const struct route_fit *fit, int32_t engine, enum route_worker_set which)
{
    memset(set_of(fit, engine, which), 0, (size_t)fit->n_words * sizeof(*fit->sets));
}

void route_worker_clear(const struct route_fit *fit, int32_t engine)
{
    fit->workers[engine] =
        (struct route_worker){ .slack_ns = INT64_MAX, .target_ns = INT64_MAX, .first = ROUTE_NONE };
    for (int which = 0; which < ROUTE_WORKER_SETS; which++)
        empty(fit, engine, (enum route_worker_set)which);
}

int64_t route_worker_ttft_ns(const struct route_fit *fit, int service)
{
    int64_t ns = fit->view->services[service].slo.ttft_ns;
    return ns > 0 ? ns : fit->config->ttft_ns;
}

static int64_t tpot_ns(const struct route_fit *fit, int service)
{
    int64_t ns = fit->view->services[service].slo.tpot_ns;
    return min_i64(ns > 0 ? ns : fit->config->tpot_ns, LIMIT_TPOT_MS * TIME_NS_PER_MS);
}

/* ---- What a request adds. ---- */

struct route_worker_part route_worker_part(const struct route_fit *fit, int32_t engine,
                                           uint32_t slot)
{
    const struct route_config *config = fit->config;
    const struct route_request *r = &fit->view->requests[slot];
    const struct perf *perf = route_sent_perf(fit->view, engine, r->service);
    int32_t n_new = r->n_tokens - r->n_prompt;
    /* An admitted request grows, and a pool that only decodes has saved no time for that. */
    double gamma = config->phase == ROUTE_PHASE_DECODE && config->gamma < 1 ? 1 : config->gamma;
    int32_t n_expected = (int32_t)num_floor(gamma * (double)route_sent_predicted(fit->view, r));
    struct route_worker_part part = { .n_eff = r->n_prompt + max_i32(n_new, n_expected) };
    int64_t eff = (int64_t)num_floor((double)part.n_eff / config->theta);
    for (int regime = 0; regime < 2; regime++)
        part.step_ps[regime] =
            scaled(perf->c2_ps[regime] + perf->k2_ps[regime] * eff, perf->decode_scale);
    if (r->first_ns == 0) {
        double squared = (double)perf->q1_ps * (double)r->n_tokens * (double)r->n_tokens / 1024;
        int64_t squared_ps =
            squared < (double)PART_PS_MAX ? (int64_t)num_floor(squared + 0.5) : PART_PS_MAX;
        part.prefill_ps = scaled(perf->k1_ps * r->n_tokens + squared_ps, perf->prefill_scale);
    } else {
        part.now_ps = scaled(perf->c2_ps[0] + perf->k2_ps[0] * r->n_tokens, perf->decode_scale);
    }
    return part;
}

static struct route_worker_link link_of(const struct route_fit *fit, uint32_t slot)
{
    const struct route_request *r = &fit->view->requests[slot];
    int64_t h = fit->view->services[r->service].kv_bytes_per_token;
    int32_t n_new = r->n_tokens - r->n_prompt;
    return (struct route_worker_link){
        .next = ROUTE_NONE,
        .n_left = max_i32(1, route_sent_predicted(fit->view, r) - n_new),
        .kv_bytes = h * (r->n_tokens + max_i32(fit->config->block_tokens, 1) - 1),
        .step_bytes = h,
    };
}

/* Returns the time of a step, or of a prefill (regime -1), of a service, whatever its requests
 * are. */
static int64_t constant_ps(const struct route_fit *fit, int32_t engine, int service, int regime)
{
    const struct perf *perf = route_sent_perf(fit->view, engine, service);
    return regime < 0 ? scaled(perf->c1_ps, perf->prefill_scale)
                      : scaled(perf->c3_ps[regime], perf->decode_scale);
}

/* The first request of its service there adds the constant time of the service's steps. */
static void join(const struct route_fit *fit, int32_t engine, enum route_worker_set which,
                 int service)
{
    struct route_worker *w = &fit->workers[engine];
    uint64_t *set = set_of(fit, engine, which);
    if (set_words_have(set, service))
        return;
    set_words_add(set, service);
    if (which == ROUTE_WORKER_WAITING) {
        w->base_ps.prefill += constant_ps(fit, engine, service, -1);
    } else if (which == ROUTE_WORKER_DECODING) {
        w->base_ps.now += constant_ps(fit, engine, service, 0);
    } else {
        w->base_ps.step[0] += constant_ps(fit, engine, service, 0);
        w->base_ps.step[1] += constant_ps(fit, engine, service, 1);
        w->target_ns = min_i64(w->target_ns, tpot_ns(fit, service));
    }
}

static int64_t more_ps(const struct route_fit *fit, int32_t engine, enum route_worker_set which,
                       int service, int regime)
{
    return set_words_have(set_of(fit, engine, which), service)
               ? 0
               : constant_ps(fit, engine, service, regime);
}

/* ---- The list for (e). ---- */

static bool is_longer(const struct route_fit *fit, uint32_t a, uint32_t b)
{
    int32_t n_a = fit->links[a].n_left, n_b = fit->links[b].n_left;
    return n_a != n_b ? n_a > n_b : fit->view->requests[a].id < fit->view->requests[b].id;
}

static uint32_t merge(const struct route_fit *fit, uint32_t a, uint32_t b)
{
    uint32_t first = ROUTE_NONE, *last = &first;
    while (a != ROUTE_NONE && b != ROUTE_NONE) {
        uint32_t *shorter = is_longer(fit, a, b) ? &a : &b;
        *last = *shorter;
        last = &fit->links[*shorter].next;
        *shorter = *last;
    }
    *last = a != ROUTE_NONE ? a : b;
    return first;
}

/* Merge sort of a list: runs[i] holds 2^i requests, or none. */
static void sort(const struct route_fit *fit, struct route_worker *worker)
{
    uint32_t runs[32], sorted = ROUTE_NONE;
    for (size_t i = 0; i < COUNT_OF(runs); i++)
        runs[i] = ROUTE_NONE;
    for (uint32_t at = worker->first, next; at != ROUTE_NONE; at = next) {
        size_t i = 0;
        uint32_t run = at;
        next = fit->links[at].next;
        fit->links[at].next = ROUTE_NONE;
        for (; runs[i] != ROUTE_NONE; i++) {
            run = merge(fit, runs[i], run);
            runs[i] = ROUTE_NONE;
        }
        runs[i] = run;
    }
    for (size_t i = 0; i < COUNT_OF(runs); i++)
        sorted = merge(fit, runs[i], sorted);
    worker->first = sorted;
    worker->is_sorted = true;
}

static void insert(const struct route_fit *fit, struct route_worker *worker, uint32_t slot)
{
    uint32_t *at = &worker->first;
    while (worker->is_sorted && *at != ROUTE_NONE && is_longer(fit, *at, slot))
        at = &fit->links[*at].next;
    fit->links[slot].next = *at;
    *at = slot;
}

/* ---- What is left of the target. ---- */

/* Returns how long a step may last so that the request keeps its target per token in the mean, if
 * its next step begins after delay_ns. */
static int64_t step_target_ns(const struct route_fit *fit, int32_t engine,
                              const struct route_request *r, int64_t delay_ns)
{
    const struct perf *perf = route_sent_perf(fit->view, engine, r->service);
    int64_t target_ns = tpot_ns(fit, r->service);
    int32_t n_new = r->n_tokens - r->n_prompt;
    int32_t n_left = max_i32(1, route_sent_predicted(fit->view, r) - n_new);
    if (fit->config->phase != ROUTE_PHASE_DECODE || r->first_ns == 0)
        return target_ns;
    int64_t gone_ns = fit->view->now_ns - r->first_ns + delay_ns;
    int64_t left_ns = (target_ns * (n_new + n_left - 1) - gone_ns) / n_left;
    int64_t alone_ps = perf->c3_ps[0] + perf->c2_ps[0] + perf->k2_ps[0] * r->n_tokens;
    if (left_ns < scaled(alone_ps, perf->decode_scale) / PS_PER_NS)
        return target_ns; /* it is lost */
    return min_i64(target_ns, left_ns);
}

/* ---- Counting. ---- */

void route_worker_add(const struct route_fit *fit, int32_t engine, uint32_t slot)
{
    struct route_worker *w = &fit->workers[engine];
    const struct route_request *r = &fit->view->requests[slot];
    struct route_worker_part part = route_worker_part(fit, engine, slot);
    w->n++;
    w->n_eff += part.n_eff;
    w->step_ps[0] += part.step_ps[0];
    w->step_ps[1] += part.step_ps[1];
    w->now_ps += part.now_ps;
    w->prefill_ps += part.prefill_ps;
    join(fit, engine, ROUTE_WORKER_ALL, r->service);
    w->target_ns = min_i64(w->target_ns, step_target_ns(fit, engine, r, 0));
    if (r->first_ns == 0) {
        join(fit, engine, ROUTE_WORKER_WAITING, r->service);
    } else {
        int64_t saved_ns = tpot_ns(fit, r->service) * (r->n_tokens - r->n_prompt - 1) -
                           (fit->view->now_ns - r->first_ns);
        w->slack_ns = min_i64(w->slack_ns, saved_ns);
        join(fit, engine, ROUTE_WORKER_DECODING, r->service);
    }
    fit->links[slot] = link_of(fit, slot);
    insert(fit, w, slot);
}

static int64_t bounded(double x)
{
    return x < (double)PART_PS_MAX ? (int64_t)num_floor(x + 0.5) : PART_PS_MAX;
}

/* The services of other gateways' requests, which stay when one of ours is taken out. */
static void join_others(const struct route_fit *fit, int32_t engine)
{
    const struct route_others *others = fit->view->engines[engine].others;
    for (int s = 0; others != NULL && s < fit->view->n_services; s++) {
        if (others[s].n > 0)
            join(fit, engine, ROUTE_WORKER_ALL, s);
        if (others[s].n_waiting > 0)
            join(fit, engine, ROUTE_WORKER_WAITING, s);
        if (others[s].n > others[s].n_waiting)
            join(fit, engine, ROUTE_WORKER_DECODING, s);
    }
}

/* Adds the part of those that have begun to answer. */
static void add_decoding(const struct route_fit *fit, int32_t engine, int service, double scale)
{
    struct route_worker *w = &fit->workers[engine];
    const struct route_others *o = &fit->view->engines[engine].others[service];
    const struct perf *perf = route_sent_perf(fit->view, engine, service);
    double n = o->n - o->n_waiting;
    double context = (double)(o->n_prompt + o->n_new - o->n_waiting_tokens);
    double saved = (double)tpot_ns(fit, service) * ((double)o->n_new - n) - (double)o->decoding_ns;
    w->now_ps += bounded(scale * ((double)perf->c2_ps[0] * n + (double)perf->k2_ps[0] * context));
    w->slack_ns = min_i64(w->slack_ns, bounded(saved / n));
}

static void add_others_of(const struct route_fit *fit, int32_t engine, int service)
{
    struct route_worker *w = &fit->workers[engine];
    const struct route_config *config = fit->config;
    const struct route_others *o = &fit->view->engines[engine].others[service];
    const struct perf *perf = route_sent_perf(fit->view, engine, service);
    double prefill = perf->prefill_scale == 0.0F ? 1 : (double)perf->prefill_scale;
    double decode = perf->decode_scale == 0.0F ? 1 : (double)perf->decode_scale;
    double gamma = config->phase == ROUTE_PHASE_DECODE && config->gamma < 1 ? 1 : config->gamma;
    int64_t n_expected = (int64_t)num_floor(gamma * (double)o->n_expected);
    int64_t n_eff = o->n_prompt + max_i64(o->n_new, n_expected);
    double eff = num_floor((double)n_eff / config->theta), waiting = (double)o->n_waiting_tokens;
    w->n += o->n;
    w->n_eff = (int32_t)min_i64(w->n_eff + n_eff, INT32_MAX / 2);
    for (int r = 0; r < 2; r++)
        w->step_ps[r] +=
            bounded(decode * ((double)perf->c2_ps[r] * o->n + (double)perf->k2_ps[r] * eff));
    if (o->n_waiting > 0)
        w->prefill_ps +=
            bounded(prefill * ((double)perf->k1_ps * waiting +
                               (double)perf->q1_ps * waiting * waiting / o->n_waiting / 1024));
    double n_tokens = (double)(o->n_prompt + max_i64(o->n_new, o->n_expected)) +
                      (double)o->n * (max_i32(config->block_tokens, 1) - 1);
    w->others_bytes += bounded((double)fit->view->services[service].kv_bytes_per_token * n_tokens);
    if (o->n > o->n_waiting)
        add_decoding(fit, engine, service, decode);
}

void route_worker_add_others(const struct route_fit *fit, int32_t engine)
{
    const struct route_others *others = fit->view->engines[engine].others;
    join_others(fit, engine);
    for (int s = 0; others != NULL && s < fit->view->n_services; s++)
        if (others[s].n > 0)
            add_others_of(fit, engine, s);
}

void route_worker_remove(const struct route_fit *fit, int32_t engine, uint32_t slot)
{
    struct route_worker *w = &fit->workers[engine];
    struct route_worker_part part = route_worker_part(fit, engine, slot);
    uint32_t *at = &w->first;
    while (*at != slot)
        at = &fit->links[*at].next;
    *at = fit->links[slot].next;
    w->n--;
    w->n_eff -= part.n_eff;
    w->step_ps[0] -= part.step_ps[0];
    w->step_ps[1] -= part.step_ps[1];
    w->prefill_ps -= part.prefill_ps;
    empty(fit, engine, ROUTE_WORKER_ALL);
    empty(fit, engine, ROUTE_WORKER_WAITING);
    w->base_ps.step[0] = w->base_ps.step[1] = w->base_ps.prefill = 0;
    w->target_ns = INT64_MAX;
    join_others(fit, engine);
    for (uint32_t i = w->first; i != ROUTE_NONE; i = fit->links[i].next) {
        const struct route_request *r = &fit->view->requests[i];
        join(fit, engine, ROUTE_WORKER_ALL, r->service);
        w->target_ns = min_i64(w->target_ns, step_target_ns(fit, engine, r, 0));
        if (r->first_ns == 0)
            join(fit, engine, ROUTE_WORKER_WAITING, r->service);
    }
}

/* ---- The constraints. ---- */

/* Returns the time of a step of the requests that decode there now. */
static int64_t flight_ns(const struct route_worker *w)
{
    return (w->base_ps.now + w->now_ps) / PS_PER_NS;
}

static bool keeps_step(const struct route_fit *fit, int32_t engine, const struct route_request *r,
                       const struct route_worker_part *part)
{
    const struct route_worker *w = &fit->workers[engine];
    const struct perf *perf = route_sent_perf(fit->view, engine, r->service);
    int regime = w->n + 1 >= perf->b_switch;
    int64_t target_ns = min_i64(w->target_ns, step_target_ns(fit, engine, r, flight_ns(w)));
    int64_t ps = w->base_ps.step[regime] + w->step_ps[regime] + part->step_ps[regime] +
                 more_ps(fit, engine, ROUTE_WORKER_ALL, r->service, regime);
    double target_ps = (double)target_ns * PS_PER_NS * (1 - fit->config->headroom);
    return (double)ps <= target_ps;
}

/* Returns the time of the waiting prompts, and of this one, computed together: a batch per
 * service. */
static int64_t prefill_ns(const struct route_fit *fit, int32_t engine,
                          const struct route_request *r, const struct route_worker_part *part)
{
    const struct route_worker *w = &fit->workers[engine];
    const struct perf *perf = route_sent_perf(fit->view, engine, r->service);
    int64_t ps = w->base_ps.prefill + w->prefill_ps + part->prefill_ps +
                 more_ps(fit, engine, ROUTE_WORKER_WAITING, r->service, -1);
    return max_i64(ps, scaled(perf->floor_ps, perf->prefill_scale)) / PS_PER_NS;
}

static bool keeps_first(const struct route_fit *fit, int32_t engine, const struct route_request *r,
                        int64_t prefill)
{
    const struct route_worker *w = &fit->workers[engine];
    int64_t waited_ns = fit->view->now_ns - r->arrived_ns;
    return prefill + flight_ns(w) + waited_ns <= route_worker_ttft_ns(fit, r->service);
}

static bool stalls_nobody(const struct route_fit *fit, int32_t engine, int64_t prefill)
{
    const struct route_worker *w = &fit->workers[engine];
    if (w->slack_ns == INT64_MAX)
        return true;
    return (double)prefill <= fit->config->theta * (double)w->slack_ns;
}

/* Between two ends memory only grows, so only the ends must be checked. The walk starts with the
 * request that stays longest. The first k hold their bytes, and have grown by what the k-th has
 * left. */
static bool has_memory(const struct route_fit *fit, int32_t engine, uint32_t slot)
{
    struct route_worker *w = &fit->workers[engine];
    int64_t m = fit->view->engines[engine].kv_bytes;
    int64_t held = w->others_bytes, grows = 0;
    struct route_worker_link own = link_of(fit, slot);
    bool is_counted = false;
    if (m <= 0)
        m = fit->config->kv_bytes;
    if (m <= 0)
        return true;
    if (!w->is_sorted)
        sort(fit, w);
    for (uint32_t at = w->first; at != ROUTE_NONE || !is_counted;) {
        bool is_own = !is_counted && (at == ROUTE_NONE || fit->links[at].n_left <= own.n_left);
        const struct route_worker_link *link = is_own ? &own : &fit->links[at];
        held += link->kv_bytes;
        grows += link->step_bytes;
        if (held + grows * link->n_left > m)
            return false;
        is_counted |= is_own;
        at = is_own ? at : link->next;
    }
    return true;
}

bool route_worker_takes_part(const struct route_fit *fit, int32_t engine, uint32_t slot,
                             const struct route_worker_part *part)
{
    const struct route_request *r = &fit->view->requests[slot];
    enum route_phase phase = fit->config->phase;
    if (phase != ROUTE_PHASE_PREFILL && !keeps_step(fit, engine, r, part))
        return false;
    int64_t prefill = prefill_ns(fit, engine, r, part);
    if (phase != ROUTE_PHASE_DECODE && !keeps_first(fit, engine, r, prefill))
        return false;
    if (phase == ROUTE_PHASE_BOTH && !stalls_nobody(fit, engine, prefill))
        return false;
    return phase == ROUTE_PHASE_PREFILL || has_memory(fit, engine, slot);
}

bool route_worker_takes(const struct route_fit *fit, int32_t engine, uint32_t slot)
{
    const struct route_worker_part part = route_worker_part(fit, engine, slot);
    return route_worker_takes_part(fit, engine, slot, &part);
}

bool route_worker_takes_alone(const struct route_fit *fit, int32_t engine, uint32_t slot)
{
    const struct route_worker kept = fit->workers[engine];
    uint64_t *sets = set_of(fit, engine, ROUTE_WORKER_ALL),
             kept_sets[ROUTE_WORKER_SETS * SET_WORDS];
    size_t n_bytes = (size_t)(ROUTE_WORKER_SETS * fit->n_words) * sizeof(*sets);
    memcpy(kept_sets, sets, n_bytes);
    route_worker_clear(fit, engine);
    bool takes = route_worker_takes(fit, engine, slot);
    fit->workers[engine] = kept;
    memcpy(sets, kept_sets, n_bytes);
    return takes;
}

/* ---- How full. ---- */

double route_worker_norm(const struct route_fit *fit, int32_t engine, int service)
{
    const struct route_worker *w = &fit->workers[engine];
    const struct perf *perf = route_sent_perf(fit->view, engine, service);
    double t = (double)tpot_ns(fit, service) * PS_PER_NS * (1 - fit->config->headroom);
    double free_ps = t - (double)scaled(perf->c3_ps[0], perf->decode_scale);
    double c2 = (double)scaled(perf->c2_ps[0], perf->decode_scale);
    double k2 = (double)scaled(perf->k2_ps[0], perf->decode_scale);
    if (free_ps <= c2) /* no batch keeps the target: count requests */
        return (double)w->n;
    double x = (double)w->n * c2 / free_ps, y = (double)w->n_eff * k2 / (free_ps - c2);
    return x * x + y * y;
}

int64_t route_worker_delta_ps(const struct route_fit *fit, int32_t engine, uint32_t slot)
{
    const struct route_request *r = &fit->view->requests[slot];
    const struct perf *perf = route_sent_perf(fit->view, engine, r->service);
    int64_t n = r->n_prompt + route_sent_predicted(fit->view, r);
    return scaled(perf->k2_ps[0] * n + perf->c2_ps[0], perf->decode_scale);
}
