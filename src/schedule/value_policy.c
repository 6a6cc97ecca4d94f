/* The policy `value`, the default's scheduler. The model whose requests are worth most is served
 * next. If lanes pay, prompts run beside decodes. Its state is value_state.h.
 *
 * The worth of a turn, on one lane. A decode step costs nearly the same for ten requests as for
 * one, so a model's turn is worth the sum over its requests of
 *     h (1 + slowness),  h = 1 / sqrt(x),  slow = age / (L-hat x),
 * where x = max(attained / L-hat, young). attained is the work done so far, as if alone, and young
 * is what nearly all requests of the model take (a fifth take less: value_young), learned from
 * those that ended. h falls as a request goes on, because lengths have a heavy tail: a request that
 * ran long will run long. slow is how many times longer the request is here than its work took. Let
 * u be the mean of slow^2 / value_slow^2; then slowness adds to the sum of h that sum times
 *     value_cap^2 u^2 / (1 + u^2):
 * nearly nothing while it is small, half of the most at value_slow. Most targets are met by up to 5
 * times the time alone. Below that latency alone counts; near it a turn saves requests. A request
 * so late that it could hardly be later does not take the device from those that can still be in
 * time. (Without a bound the backlog of a heavy model outweighs all that a light one has.)
 *
 * The sum is divided by L-hat^(3/2) and by rate^value_rate. This lies between two rules. One is the
 * greedy rule for rare requests (1 / L-hat^2). The other is Kleinrock's square root for models that
 * are always busy. There the parts of the device that give the least normalized latency go by
 * sqrt(rate) and not by L-hat. With n requests here the rule is value_few / n of the way to the
 * greedy rule; with fewer than value_few it is the greedy rule.
 *
 * When batches do not pay. A GPU computes 16 requests in hardly more time than one, whereas a core
 * takes 3 to 16 times as long. As far as batches do not pay, the rule turns to the greedy rule for
 * single requests: L-hat^2, and the same h for all, since a request that goes on is nearer to its
 * end. The sum is divided by how much longer a step takes for all than for one. The rule is wholly
 * that one where a step of 16 takes three times as long as one of one, or more, once 8 requests
 * have ended. Before that it is not, because a rule that serves the short first never learns that a
 * model is short if its first request was long. Slowness counts by one less the square of how much
 * longer a step of 16 takes than one of one. From twice as long on it does not count at all,
 * because serving the late beside the others then costs these more than it saves.
 *
 * How many run together. Let a step of k requests take a + b k. Batches of k of n like requests,
 * one after the other, end on average after (a + b k) (n / k + 1) / 2 steps. This is least at
 * k = sqrt(n a / b), so at most that times value_batch run together. On a GPU a is hundreds of b,
 * and all start; on a core a few do, end early, and the last of all ends a little later. Under the
 * greedy rule one more starts, since others come meanwhile and k is least for those that are here.
 *
 * Lanes. If half of the device does more than half of its work, prompts and decodes are separate
 * jobs. One lane computes prompts, the others decode, and a job that is alone has the whole device.
 * No job is then kept from computing for long, and the size of batches counts. A job is worth its
 * requests times the time since its last batch began, over L-hat. This worth is the normalized
 * latency that they gathered since. On pipelines several batches of each may be under way, and
 * prompts that are too many for their lane go through the whole device.
 *
 * Inside a model the waiting request starts first that has the least work left. One that waits and
 * can no longer end within 1 + late_factor times its expected time goes behind those that can.
 *
 * Room for the light. A model may be heavier: its requests hold more than 1.5 times the bytes times
 * time of some other's. It starts a request only if what the light ones need stays free, at most
 * value_kept of the pool (trunk reservation). The light need what those hold that are here at once
 * by Little's law, each value_slow times as long as alone, and twice the deviation.
 *
 * Starvation: the rule, the residences and the bound of starve.h. When blocks are short the running
 * request with the largest Q L-hat is preempted first, Q being its doubling budget (charge.h). */
#include "schedule/value_state.h"
#include "base/time.h"
#include "schedule/lanes.h"
#include "schedule/picks.h"
#include "schedule/hold.h"
#include "schedule/policies.h"

enum { PROMPTS = FILL_WAITING | FILL_CATCHING_UP };
#define BACKLOG_MOST 0.3
#define NEARLY_ALL   0.75

/* ---- Which model to serve. ---- */

/* Returns the worth of a model's turn on one lane. */
static double worth_of(const struct value_state *state, const struct schedule_view *view,
                       int service, bool may_start, struct schedule_value_here *here)
{
    const struct value_service *own = &state->services[service];
    uint64_t now_sum = (uint64_t)view->services[service].n_waiting * (uint64_t)view->now_ns;
    int64_t waited_ns = may_start ? (int64_t)(now_sum - own->waiting_ns_sum) : -1;
    return schedule_value_index(&state->ranks.config, view, service, &own->running, waited_ns,
                                here);
}

static double how_few(const struct value_state *state, const struct schedule_view *view)
{
    double n = 0, little = 0;
    for (int32_t k = 0; k < schedule_n_busy(view); k++) {
        int i = schedule_busy(view, k);
        n += (double)view->services[i].n_running + (double)view->services[i].n_waiting;
        little += state->services[i].running.little;
    }
    return schedule_value_few(&state->ranks.config, n, little / max_i32(schedule_n_busy(view), 1));
}

/* Returns the most requests of the service that run together. An engine's only model starts all of
 * them if a quarter or less would be held back. Holding these back gains at most 2% of the mean,
 * and costs a whole turn for those that wait. (Beside other models, what is held back makes room
 * for them.) */
static int32_t seats(const void *self, const struct schedule_view *view, int service)
{
    const struct value_state *state = self;
    const struct schedule_service *s = &view->services[service];
    double n = (double)s->n_running + (double)s->n_waiting;
    int32_t most =
        schedule_value_seqs_most(&state->ranks.config, &state->services[service].running, n);
    bool takes_all = view->n_services == 1 && most >= NEARLY_ALL * n;
    return takes_all ? state->ranks.config.n_seqs_max : most;
}

static enum schedule_filled serve_starved(struct schedule_fill *fill,
                                          const struct value_state *state, unsigned *parts)
{
    const struct schedule_starve_ways ways = { .seats = seats, .state = state };
    return schedule_starve_serve(fill, &state->starve, parts, &ways);
}

/* Returns the worth of a job on one of several lanes. */
static double gathered(const struct value_state *state, const struct schedule_view *view,
                       int service, bool decodes)
{
    const struct schedule_service *s = &view->services[service];
    bool starts = !decodes && s->n_waiting > 0;
    return schedule_value_gathered(view, service, starts ? s->n_waiting : s->n_running,
                                   state->flights.services[service].begun_ns[!decodes]);
}

/* Returns whether the plan has a batch of this service and these parts already. */
static bool is_planned(const struct schedule_fill *fill, int service, bool decodes)
{
    for (int32_t i = 0; i < fill->plan->n_batches; i++) {
        const struct batch *batch = &fill->plan->batches[i];
        const struct request *first = &fill->view->requests[batch->items[0].slot];
        bool goes_on = first->state == REQUEST_RUNNING && schedule_lacking(first) == 1;
        if (batch->service == service && goes_on == decodes)
            return true;
    }
    return false;
}

/* Finds the services that have work among these parts. Each is a job. The one with the most value
 * is on top; among equals, the lowest number. Returns how many. */
static int find_jobs(const struct schedule_fill *fill, const struct value_state *state,
                     unsigned parts, struct schedule_value_here *here, struct schedule_pick *jobs)
{
    const struct schedule_view *view = fill->view;
    bool decodes = parts == FILL_DECODES, may_start = (parts & FILL_WAITING) != 0;
    int n = 0;
    for (int32_t k = 0; k < schedule_n_busy(view); k++) {
        int i = schedule_busy(view, k);
        const struct schedule_service *s = &view->services[i];
        bool waits = may_start && s->n_waiting > 0;
        bool runs = s->n_running > 0 && (!decodes || !state->flights.services[i].is_decoding);
        if (!s->is_open || (!waits && !runs) || is_planned(fill, i, decodes))
            continue;
        double value = fill->lane > 0 ? gathered(state, view, i, decodes)
                                      : worth_of(state, view, i, may_start, here);
        jobs[n++] = (struct schedule_pick){ .key = schedule_pick_key(-value),
                                            .tie = (uint64_t)i,
                                            .service = (uint16_t)i };
    }
    schedule_picks_order(jobs, n);
    return n;
}

static enum schedule_filled serve_most_valued(struct schedule_fill *fill,
                                              const struct value_state *state, unsigned parts)
{
    struct schedule_pick jobs[KV_SERVICES_MAX];
    struct schedule_value_here here = {
        .few = fill->lane > 0 ? 1 : how_few(state, fill->view), /* lanes are ranked without it */
        .lightest = schedule_value_lightest(&state->weights, fill->view),
        .weights = &state->weights,
    };
    for (int n = find_jobs(fill, state, parts, &here, jobs); n > 0; n--) {
        int service = jobs[0].service;
        int64_t n_kept = schedule_value_kept(&state->ranks.config, fill->view, service, &here);
        fill->n_units_most = n_kept > 0 ? 0 : INT64_MAX;
        fill->n_units_kept = n_kept;
        fill->n_seqs_most = seats(state, fill->view, service);
        enum schedule_filled filled = schedule_fill_serve(fill, service, parts, SCHEDULE_NONE);
        if (filled != FILLED_NOTHING)
            return filled;
        schedule_picks_drop(jobs, n);
    }
    return FILLED_NOTHING;
}

/* ---- Lanes. ---- */

/* Returns a bit per lane that computes, or will by the plan. */
static uint32_t taken_lanes(const struct schedule_plan *plan, const struct schedule_view *view)
{
    uint32_t taken = schedule_busy_lanes(view);
    for (int32_t i = 0; i < plan->n_batches; i++)
        taken |= 1U << plan->batches[i].lane;
    return taken;
}

static bool is_available(const struct schedule_plan *plan, const struct schedule_view *view,
                         int32_t lane)
{
    return schedule_lane_is_free_of(view, lane, taken_lanes(plan, view));
}

/* Returns the largest free part for prompts, the smallest for decodes; -1: none is free. */
static int32_t find_lane(const struct schedule_plan *plan, const struct schedule_view *view,
                         bool is_for_prompts)
{
    int32_t best = -1;
    uint32_t taken = taken_lanes(plan, view);
    for (int32_t i = 1; i < view->n_lanes; i++) {
        float share = view->lanes[i].share;
        if (schedule_lane_is_free_of(view, i, taken) &&
            (best < 0 ||
             (is_for_prompts ? share > view->lanes[best].share : share < view->lanes[best].share)))
            best = i;
    }
    return best;
}

static enum schedule_filled fill_lane(struct schedule_fill *fill, const struct value_state *state,
                                      unsigned parts)
{
    int32_t lane = find_lane(fill->plan, fill->view, parts == PROMPTS);
    if (lane < 0)
        return FILLED_NOTHING;
    fill->lane = (uint16_t)lane;
    return serve_most_valued(fill, state, parts);
}

static void plan_lanes(struct schedule_fill *fill, const struct value_state *state,
                       int64_t stall_ps)
{
    const struct schedule_view *view = fill->view;
    struct schedule_plan *plan = fill->plan;
    unsigned parts = FILL_ALL;
    bool is_prefilling = state->flights.of_prompts != 0;
    int32_t lane = find_lane(plan, view, true);
    if (lane < 0)
        return;
    fill->lane = (uint16_t)lane;
    enum schedule_filled filled = serve_starved(fill, state, &parts);
    fill->prefill_ps_most = stall_ps;
    if (filled == FILLED_BATCH)
        is_prefilling |= fill->n_prompts > 0;
    if (filled != FILLED_PREEMPTS && !is_prefilling) {
        filled = fill_lane(fill, state, PROMPTS & parts);
        is_prefilling = filled == FILLED_BATCH;
    }
    while (filled != FILLED_PREEMPTS && find_lane(plan, view, false) >= 0) {
        filled = fill_lane(fill, state, FILL_DECODES);
        if (filled == FILLED_NOTHING && is_prefilling)
            filled = fill_lane(fill, state, PROMPTS & parts);
        if (filled == FILLED_NOTHING)
            break;
    }
}

/* ---- One lane. ---- */

/* A starved request is not held back by what others can absorb. */
static void plan_one_lane(struct schedule_fill *fill, const struct value_state *state,
                          int64_t stall_ps)
{
    unsigned parts = FILL_ALL;
    if (!schedule_lane_is_free(fill->view, 0) ||
        serve_starved(fill, state, &parts) != FILLED_NOTHING)
        return;
    fill->prefill_ps_most = stall_ps;
    (void)serve_most_valued(fill, state, parts);
}

/* ---- Lanes that are pipelines. ---- */

/* Returns whether there are prompts, and a separate part of the device would compute the waiting
 * ones within BACKLOG_MOST of a mean request's time. */
static bool part_keeps_up(const struct value_state *state, const struct schedule_view *view,
                          int32_t lane)
{
    double backlog = 0;
    bool has_prompts = state->flights.of_prompts != 0;
    for (int32_t k = 0; k < schedule_n_busy(view); k++) {
        int i = schedule_busy(view, k);
        const struct schedule_service *s = &view->services[i];
        struct perf perf = schedule_lane_perf(s, &view->lanes[lane]);
        int64_t n = max_i64((int64_t)s->n_prompt_mean, 1);
        struct perf_load load = { .n_new = (int32_t)n, .n_new_squared = n * n };
        double each_s = (double)perf_step_ps(&perf, &load) * 1e-12 * view->deep_part;
        backlog += (double)s->n_waiting * each_s / schedule_value_length_s(s);
        has_prompts |= s->n_waiting > 0 || state->ranks.services[i].booked.n_catching_up > 0;
    }
    return has_prompts && backlog < BACKLOG_MOST;
}

/* Prompts follow one another on the largest part, decodes on the smallest of the others. Without
 * prompts, or with too many for a part, all go through the whole device, prompts in chunks beside
 * decodes (fill.c). Then batches of both kinds may be in flight at once, and wait for each other in
 * the order in which they began. */
static void plan_pipelines(struct schedule_fill *fill, const struct value_state *state,
                           int64_t stall_ps)
{
    const struct schedule_view *view = fill->view;
    unsigned parts = FILL_ALL;
    int32_t of_prompts = 1, of_decodes = -1;
    enum schedule_filled filled = FILLED_NOTHING;
    for (int32_t i = 2; i < view->n_lanes; i++)
        of_prompts = view->lanes[i].share > view->lanes[of_prompts].share ? i : of_prompts;
    for (int32_t i = 1; i < view->n_lanes; i++)
        if (i != of_prompts &&
            (of_decodes < 0 || view->lanes[i].share < view->lanes[of_decodes].share))
            of_decodes = i;
    if (of_decodes < 0 || !part_keeps_up(state, view, of_prompts)) {
        plan_one_lane(fill, state, stall_ps);
        return;
    }
    fill->lane = (uint16_t)of_prompts;
    if (is_available(fill->plan, view, of_prompts))
        filled = serve_starved(fill, state, &parts);
    fill->prefill_ps_most = stall_ps;
    if (filled == FILLED_NOTHING && is_available(fill->plan, view, of_prompts))
        filled = serve_most_valued(fill, state, PROMPTS & parts);
    fill->lane = (uint16_t)of_decodes;
    if (filled != FILLED_PREEMPTS && is_available(fill->plan, view, of_decodes))
        (void)serve_most_valued(fill, state, FILL_DECODES);
}

/* ---- The plan. ---- */

static void plan(const void *self, const struct schedule_view *view, struct schedule_plan *plan)
{
    const struct value_state *state = self;
    const struct schedule_order order = {
        .state = &state->ranks,
        .first = schedule_ranks_first_waiting,
        .next = schedule_ranks_next_waiting,
        .is_before = schedule_ranks_is_before,
        .nth_last = schedule_ranks_nth_last,
        .find_who_may = schedule_starve_find_who_may,
        .booked = schedule_ranks_booked,
        .resides_since = schedule_starve_resides_since,
        .spares_service = true,
    };
    struct schedule_fill fill;
    void (*plan_batches)(struct schedule_fill *, const struct value_state *, int64_t) =
        plan_one_lane;
    schedule_fill_begin(&fill, view, &state->ranks.config, &order, plan);
    if (schedule_value_state_lanes_pay(state, view))
        plan_batches = view->n_deep > 1 ? plan_pipelines : plan_lanes;
    int64_t stall_ps = state->ranks.config.guards_tpot
                           ? schedule_ranks_stall_ps_most(&state->ranks, view)
                           : INT64_MAX;
    plan_batches(&fill, state, stall_ps);
    if (plan->n_batches + plan->n_preempts == 0 && stall_ps != INT64_MAX && view->n_in_flight == 0)
        plan_batches(&fill, state, INT64_MAX); /* no request can decode, so none can stall */
    if (plan->n_batches != 1 || view->n_in_flight > 0)
        return;
    plan->batches[0].lane = 0; /* it is alone */
    fill.batch = &plan->batches[0];
    schedule_hold(&fill, TIME_NEVER);
}

/* ---- What happens. ---- */

static void saw(void *self, const struct schedule_view *view, const struct schedule_event *event)
{
    struct value_state *state = self;
    uint32_t slot = event->slot;
    switch (event->what) {
    case SCHEDULE_ARRIVED:
        schedule_value_state_arrived(state, view, slot);
        break;
    case SCHEDULE_STARTED:
        schedule_value_state_started(state, view, event->batch);
        break;
    case SCHEDULE_DONE:
        schedule_value_state_done(state, view, event);
        break;
    case SCHEDULE_PREEMPTED:
        schedule_value_state_preempted(state, view, slot);
        break;
    case SCHEDULE_GONE:
        schedule_value_state_gone(state, view, slot, event->now_ns);
        break;
    case SCHEDULE_REFUSED:
    case SCHEDULE_EXCEEDED:
        break;
    }
    schedule_value_state_note(
        state, view, event->batch != NULL ? event->batch->service : view->requests[slot].service);
}

const struct schedule_policy schedule_value_policy = {
    .name = "value",
    .summary = "the model whose requests are worth most; prompts beside decodes on lanes that pay",
    .chooses = "the model whose requests are worth most; with several lanes, the model that has "
               "gathered most",
    .batches = "prompts beside decodes with `default`",
    .memory = "on demand; heavy models leave room for others",
    .starvation = "bounded",
    .thresholds = SCHEDULE_CONFIG_FILL SCHEDULE_CONFIG_STARVE
    " db_counts_wall value_age value_young value_slow "
    "value_cap value_rate value_few value_kept value_batch late_factor promotes_slack "
    "guards_tpot",
    .n_lanes_wanted = 2,
    .wants_no_cores = true,
    .state_bytes = schedule_value_state_bytes,
    .open = schedule_value_state_open,
    .plan = plan,
    .saw = saw,
};
