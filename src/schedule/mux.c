/* The mechanism of MuxServe's schedulers (mux.h): lanes, turns, and jobs under way. */
#include "schedule/mux.h"

#include "base/time.h"
#include "schedule/fcfs.h"
#include "schedule/hold.h"
#include "schedule/newest.h"
#include "schedule/picks.h"
#include "schedule/quota.h"
#include <string.h>

struct mux {
    struct schedule_config config;
    const struct schedule_mux_rules *rules;
    struct schedule_quota quota;
    int32_t last_prefill, last_decode;
    int32_t n_prefills; /* in flight */
    int32_t n_jobs;
    struct mux_lane {
        bool is_busy, is_prefill;
        uint16_t service;
    } lanes[LIMIT_BATCHES];         /* of a pipeline each place */
    bool *is_decoding;              /* (n_services_max) into this same block, as what follows */
    struct schedule_newest *newest; /* (n_services_max) */
    struct schedule_newest *oldest; /* (n_services_max), mux-fcfs alone */
    int64_t memory[];
};

size_t schedule_mux_state_bytes(const struct schedule_limits *limits)
{
    return sizeof(struct mux) +
           (size_t)limits->n_services_max *
               (2 * sizeof(int64_t) + 2 * sizeof(struct schedule_newest) + sizeof(bool));
}

void schedule_mux_open(void *state, const struct schedule_limits *limits,
                       const struct schedule_config *config, const struct schedule_mux_rules *rules)
{
    struct mux *mux = state;
    int32_t n = limits->n_services_max;
    *mux = (struct mux){ .config = *config, .rules = rules };
    schedule_quota_init(&mux->quota, mux->memory, n);
    mux->newest = (void *)(mux->memory + 2 * n);
    mux->oldest = mux->newest + n;
    mux->is_decoding = (void *)(mux->oldest + n);
    memset(mux->is_decoding, 0, (size_t)n * sizeof(*mux->is_decoding));
    schedule_newest_open(mux->newest, n, false);
    schedule_newest_open(mux->oldest, n, true);
    mux->config.chunk_tokens = 0; /* prompts and decodes are jobs of their own */
    mux->last_prefill = mux->last_decode = -1;
}

/* ---- The order. ---- */

static bool is_over(const struct mux *mux, const struct schedule_view *view, uint32_t slot)
{
    int service = view->requests[slot].service;
    return mux->rules->has_quotas &&
           view->kv->services[service].n_units > mux->quota.n_units[service];
}

/* Models above their quota are preempted first, then the request that arrived last. */
static bool is_before(const void *state, const struct schedule_view *view, uint32_t a, uint32_t b)
{
    const struct mux *mux = state;
    bool a_is_over = is_over(mux, view, a), b_is_over = is_over(mux, view, b);
    if (a_is_over != b_is_over)
        return b_is_over;
    return schedule_fcfs_is_before(NULL, view, a, b);
}

static uint32_t nth_last(const void *state, const struct schedule_view *view, int service,
                         uint32_t n)
{
    const struct mux *mux = state;
    (void)view;
    return schedule_newest_nth(&mux->newest[service], n);
}

/* ---- Lanes. ---- */

static bool is_available(const struct mux *mux, const struct schedule_plan *plan,
                         const struct schedule_view *view, int32_t lane)
{
    if (!schedule_lane_is_free(view, lane))
        return false;
    for (int32_t i = 0; i < view->n_deep; i++) /* a lane has one job, even on a pipeline */
        if (mux->lanes[lane * view->n_deep + i].is_busy)
            return false;
    if (view->n_lanes == 1)
        return plan->n_batches == 0;
    float sum = view->lanes[lane].share;
    for (int32_t i = 0; i < plan->n_batches; i++) {
        if (plan->batches[i].lane == lane ||
            (view->lanes[lane].conflicts >> plan->batches[i].lane & 1) != 0)
            return false;
        sum += view->lanes[plan->batches[i].lane].share;
    }
    for (int32_t i = 0; i < view->n_lanes; i++)
        sum += view->lane_is_busy[i] ? view->lanes[i].share : 0;
    return sum <= SCHEDULE_SHARES_MAX;
}

/* Returns the lane that prompts have to themselves beside lanes of shares; -1: there is none. */
static int32_t lane_of_prompts(const struct schedule_view *view)
{
    for (int32_t i = 1; i < view->n_lanes; i++)
        if (view->lanes[i].is_for_prompts)
            return i;
    return -1;
}

/* Returns whether a job on `lane` leaves enough of the device for one on `kept`, beside the jobs in
 * flight and in the plan. */
static bool leaves(const struct schedule_plan *plan, const struct schedule_view *view, int32_t lane,
                   int32_t kept)
{
    float sum = view->lanes[lane].share + view->lanes[kept].share;
    for (int32_t i = 0; i < plan->n_batches; i++)
        sum += view->lanes[plan->batches[i].lane].share;
    for (int32_t i = 0; i < view->n_lanes; i++)
        sum += view->lane_is_busy[i] ? view->lanes[i].share : 0;
    return lane != kept && sum <= SCHEDULE_SHARES_MAX;
}

/* Returns the lane for decodes of a service with a share: the smallest free one of at least that
 * share, or of at least the largest if none is that large. -1: none is free. */
static int32_t lane_of_share(const struct mux *mux, const struct schedule_plan *plan,
                             const struct schedule_view *view, float wanted)
{
    float most = 0;
    int32_t best = -1;
    for (int32_t i = 1; i < view->n_lanes; i++)
        if (!view->lanes[i].is_for_prompts && view->lanes[i].share > most)
            most = view->lanes[i].share;
    wanted = wanted < most ? wanted : most;
    for (int32_t i = 1; i < view->n_lanes; i++)
        if (!view->lanes[i].is_for_prompts && view->lanes[i].share >= wanted - 0.001F &&
            is_available(mux, plan, view, i) &&
            (best < 0 || view->lanes[i].share < view->lanes[best].share))
            best = i;
    return best;
}

/* Returns the largest free part of the device for prompts, the smallest for decodes, or all of it
 * when there is no other work. -1: none is free. */
static int32_t find_lane(const struct mux *mux, const struct schedule_plan *plan,
                         const struct schedule_view *view, bool is_prefill, bool is_alone)
{
    int32_t best = -1;
    if (is_available(mux, plan, view, 0) && (is_alone || view->n_lanes == 1))
        return 0;
    for (int32_t i = 1; i < view->n_lanes; i++) {
        float share = view->lanes[i].share;
        if ((is_prefill || !view->lanes[i].is_for_prompts) && is_available(mux, plan, view, i) &&
            (best < 0 ||
             (is_prefill ? share > view->lanes[best].share : share < view->lanes[best].share)))
            best = i;
    }
    return best;
}

/* ---- The plan. ---- */

/* The services to try, each with its request of mux-fcfs. */
struct asked {
    int32_t turn; /* the next turn, if services take turns */
    int n;
    struct schedule_pick services[KV_SERVICES_MAX]; /* mux-fcfs: a heap with the earliest on top */
};

static void list_services(const struct mux *mux, const struct schedule_view *view, bool prompts,
                          struct asked *asked)
{
    asked->turn = schedule_turn_after(view, prompts ? mux->last_prefill : mux->last_decode);
    asked->n = 0;
    for (int32_t k = 0; k < schedule_n_busy(view) && mux->rules->is_by_arrival; k++) {
        int i = schedule_busy(view, k);
        uint32_t slot =
            prompts ? view->services[i].first_waiting : schedule_newest_nth(&mux->oldest[i], 0);
        if (slot == SCHEDULE_NONE || !view->services[i].is_open)
            continue;
        const struct request *r = &view->requests[slot];
        asked->services[asked->n++] = (struct schedule_pick){
            .key = r->arrived_ns, .tie = r->id, .service = (uint16_t)i, .priority = r->priority
        };
    }
    schedule_picks_order(asked->services, asked->n);
}

/* Returns the i-th service to try: in turn, or the one with the earliest request that was not tried
 * yet; -1 = none. */
static int next_service(const struct mux *mux, const struct schedule_view *view, int i,
                        struct asked *asked)
{
    if (!mux->rules->is_by_arrival)
        return schedule_in_turn(view, asked->turn, i);
    if (asked->n == 0)
        return -1;
    int service = asked->services[0].service;
    schedule_picks_drop(asked->services, asked->n--);
    return service;
}

static enum schedule_filled launch(struct schedule_fill *fill, const struct mux *mux, int service,
                                   unsigned parts, int32_t lane)
{
    fill->lane = (uint16_t)lane;
    fill->n_units_most = INT64_MAX;
    fill->n_units_kept = 0;
    if (mux->rules->has_quotas)
        fill->n_units_most = schedule_quota_most(&mux->quota, fill->view, &mux->config, service,
                                                 &fill->n_units_kept);
    return schedule_fill_serve(fill, service, parts, SCHEDULE_NONE);
}

static bool has_prompts(const struct schedule_view *view)
{
    for (int32_t k = 0; k < schedule_n_busy(view); k++) {
        const struct schedule_service *s = &view->services[schedule_busy(view, k)];
        if (s->is_open && s->n_waiting > 0)
            return true;
    }
    return false;
}

static int32_t count_decodes(const struct mux *mux, const struct schedule_view *view)
{
    int32_t n = 0;
    for (int32_t k = 0; k < schedule_n_busy(view); k++) {
        int i = schedule_busy(view, k);
        n += view->services[i].is_open && view->services[i].n_running > 0 && !mux->is_decoding[i];
    }
    return n;
}

/* One prefill batch or none. Sets *kept to the prompts' own lane while prompts wait for it, because
 * decodes occupy its part of the device. */
static enum schedule_filled plan_prefill(struct schedule_fill *fill, const struct mux *mux,
                                         bool is_alone, int32_t *kept)
{
    const struct schedule_view *view = fill->view;
    int32_t own = lane_of_prompts(view), lane = find_lane(mux, fill->plan, view, true, is_alone);
    if (own >= 0 && lane != 0) {
        lane = is_available(mux, fill->plan, view, own) ? own : -1;
        *kept = lane < 0 && has_prompts(view) ? own : -1;
    }
    struct asked asked;
    list_services(mux, view, true, &asked);
    for (int i = 0; i < schedule_n_busy(view) && lane >= 0; i++) {
        int service = next_service(mux, view, i, &asked);
        if (service < 0)
            break;
        const struct schedule_service *s = &view->services[service];
        if (s->n_waiting + s->n_running == 0)
            continue;
        enum schedule_filled filled =
            launch(fill, mux, service, FILL_WAITING | FILL_CATCHING_UP, lane);
        if (filled != FILLED_NOTHING)
            return filled;
    }
    return FILLED_NOTHING;
}

/* kept: a lane that decodes leave free, or -1. */
static enum schedule_filled plan_decodes(struct schedule_fill *fill, const struct mux *mux,
                                         bool is_alone, int32_t kept)
{
    const struct schedule_view *view = fill->view;
    struct asked asked;
    list_services(mux, view, false, &asked);
    for (int i = 0; i < schedule_n_busy(view); i++) {
        int32_t lane = find_lane(mux, fill->plan, view, false, is_alone);
        int service = lane < 0 ? -1 : next_service(mux, view, i, &asked);
        if (service < 0)
            break;
        if (view->services[service].n_running == 0 || mux->is_decoding[service])
            continue;
        float share = view->services[service].share;
        if (share > 0 && lane > 0)
            lane = lane_of_share(mux, fill->plan, view, share);
        if (lane < 0 || (kept >= 0 && !leaves(fill->plan, view, lane, kept)))
            continue;
        unsigned parts =
            mux->n_prefills == 0 && fill->plan->n_batches == 0 ? FILL_RUNNING : FILL_DECODES;
        if (launch(fill, mux, service, parts, lane) == FILLED_PREEMPTS)
            return FILLED_PREEMPTS;
    }
    return FILLED_NOTHING;
}

void schedule_mux_plan(const void *state, const struct schedule_view *view,
                       struct schedule_plan *plan)
{
    const struct mux *mux = state;
    struct schedule_order order = { .state = mux,
                                    .first = schedule_fcfs_first,
                                    .next = schedule_fcfs_next,
                                    .is_before = is_before,
                                    .nth_last = nth_last };
    struct schedule_fill fill;
    schedule_fill_begin(&fill, view, &mux->config, &order, plan);
    fill.n_deep = 1; /* one job per model, even on a pipeline */
    bool wants_prefill = mux->n_prefills == 0 && has_prompts(view);
    bool is_alone = mux->n_jobs == 0 && !mux->config.has_fixed_parts &&
                    wants_prefill + count_decodes(mux, view) <= 1;
    int32_t kept = -1;
    if (mux->n_prefills == 0 && plan_prefill(&fill, mux, is_alone, &kept) == FILLED_PREEMPTS)
        return;
    if (plan_decodes(&fill, mux, is_alone, kept) == FILLED_PREEMPTS)
        return;
    if (plan->n_batches == 1 && mux->n_jobs == 0) { /* it is alone after all */
        if (!mux->config.has_fixed_parts)
            plan->batches[0].lane = 0;
        int64_t until_ns = TIME_NEVER;
        if (mux->rules->has_quotas)
            until_ns = min_i64(mux->quota.next_sample_ns, mux->quota.next_ns);
        fill.batch = &plan->batches[0];
        if (until_ns > view->now_ns)
            schedule_hold(&fill, until_ns);
    }
}

/* ---- What it sees. ---- */

static bool is_prefill(const struct schedule_view *view, const struct batch *batch)
{
    for (int32_t i = 0; i < batch->n_items; i++) {
        const struct request *r = &view->requests[batch->items[i].slot];
        if (r->n_computed < r->n_prompt || schedule_lacking(r) > 1)
            return true;
    }
    return false;
}

static struct mux_lane *lane_of(struct mux *mux, const struct schedule_view *view,
                                const struct batch *batch)
{
    return &mux->lanes[batch_place(batch, view->n_deep)];
}

static void saw_started(struct mux *mux, const struct schedule_view *view,
                        const struct batch *batch)
{
    struct mux_lane *lane = lane_of(mux, view, batch);
    *lane = (struct mux_lane){ true, is_prefill(view, batch), batch->service };
    mux->n_jobs++;
    if (lane->is_prefill) {
        mux->n_prefills++;
        mux->last_prefill = batch->service;
    } else {
        mux->is_decoding[batch->service] = true;
        mux->last_decode = batch->service;
    }
}

static void saw_done(struct mux *mux, const struct schedule_view *view, const struct batch *batch)
{
    struct mux_lane *lane = lane_of(mux, view, batch);
    if (!lane->is_busy)
        return;
    lane->is_busy = false;
    mux->n_jobs--;
    if (lane->is_prefill)
        mux->n_prefills--;
    else
        mux->is_decoding[batch->service] = false;
}

void schedule_mux_saw(void *state, const struct schedule_view *view,
                      const struct schedule_event *event)
{
    struct mux *mux = state;
    if (event->what == SCHEDULE_STARTED)
        saw_started(mux, view, event->batch);
    if (event->what == SCHEDULE_DONE)
        saw_done(mux, view, event->batch);
    schedule_newest_saw(mux->newest, view, event);
    if (mux->rules->is_by_arrival)
        schedule_newest_saw(mux->oldest, view, event);
    if (mux->rules->has_quotas)
        schedule_quota_saw(&mux->quota, view, &mux->config, event);
}

void schedule_mux_report(const void *state, const struct schedule_view *view,
                         struct schedule_report *report)
{
    const struct mux *mux = state;
    if (mux->rules->has_quotas)
        schedule_quota_report(&mux->quota, view, report);
}
