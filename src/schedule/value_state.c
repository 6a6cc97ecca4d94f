/* Keeps the state of the policy `value`. See value_state.h. */
#include "schedule/value_state.h"
#include "schedule/charge.h"
#include <string.h>

enum { FETCH_AHEAD = 8 };

static size_t aligned(size_t n)
{
    return (size_t)align_up_u64(n, 64);
}

size_t schedule_value_state_bytes(const struct schedule_limits *limits)
{
    size_t n_services = (size_t)limits->n_services_max, n = (size_t)limits->n_requests_max;
    return aligned(sizeof(struct value_state)) + schedule_ranks_bytes(limits) +
           schedule_starve_bytes(limits) + aligned(n_services * sizeof(struct value_service)) +
           aligned(n * sizeof(struct tree_node)) + aligned(n * sizeof(bool)) +
           aligned(n_services * sizeof(struct value_flight)) +
           aligned(n_services * sizeof(double)) + aligned(n_services * sizeof(uint16_t)) + 64;
}

void schedule_value_state_open(void *block, const struct schedule_limits *limits,
                               const struct schedule_config *config)
{
    struct value_state *state = block;
    size_t n_services = (size_t)limits->n_services_max, n = (size_t)limits->n_requests_max;
    unsigned orders = 1U << RANKS_LAST | 1U << RANKS_OLDEST | 1U << RANKS_SPENT;
    orders |= config->promotes_slack ? 1U << RANKS_URGENT : 0;
    orders |= config->guards_tpot ? 1U << RANKS_TIGHTEST : 0;
    unsigned char *at = block;
    (void)schedule_ranks_cut(&at, sizeof(*state));
    *state = (struct value_state){ .next_late_ns = INT64_MAX };
    schedule_ranks_open(&state->ranks, &at, limits, config, orders);
    schedule_starve_open(&state->starve, &at, limits);
    state->services = schedule_ranks_cut(&at, n_services * sizeof(*state->services));
    state->in_time_nodes = schedule_ranks_cut(&at, n * sizeof(*state->in_time_nodes));
    state->is_late = schedule_ranks_cut(&at, n * sizeof(*state->is_late));
    state->flights.services = schedule_ranks_cut(&at, n_services * sizeof(struct value_flight));
    state->weights.of = schedule_ranks_cut(&at, n_services * sizeof(*state->weights.of));
    state->weights.asked = schedule_ranks_cut(&at, n_services * sizeof(*state->weights.asked));
    for (size_t i = 0; i < n_services; i++) {
        tree_init(&state->services[i].in_time);
        state->services[i].waiting_ns_sum = 0;
        schedule_value_open(&state->services[i].running, config);
        state->flights.services[i] = (struct value_flight){ .is_decoding = false };
    }
}

/* ---- Those that wait. ---- */

static int64_t remaining_ns(const struct value_state *state, const struct schedule_view *view,
                            uint32_t slot)
{
    const struct request *r = &view->requests[slot];
    return schedule_work_remaining_ps(&state->ranks.services[r->service].price, view, r) / 1000;
}

/* The request with the least remaining work goes first. A late request goes after all that are not
 * late. */
static int64_t key_of(const struct value_state *state, const struct schedule_view *view,
                      uint32_t slot)
{
    int64_t rest_ns = min_i64(remaining_ns(state, view, slot), RANKS_KEY_MAX / 2);
    return schedule_ranks_key(rest_ns + (state->is_late[slot] ? RANKS_KEY_MAX / 2 : 0),
                              view->requests[slot].priority);
}

static bool knows_late(const struct value_state *state)
{
    return state->ranks.config.late_factor > 0;
}

static int64_t late_from_ns(const struct value_state *state, const struct schedule_view *view,
                            uint32_t slot)
{
    double ns = state->ranks.config.late_factor * (double)remaining_ns(state, view, slot);
    return view->requests[slot].arrived_ns + (int64_t)(ns < 1e18 ? ns : 1e18);
}

static void wait(struct value_state *state, const struct schedule_view *view, uint32_t slot)
{
    const struct schedule_rank *rank = &state->ranks.slots[slot];
    struct value_service *own = &state->services[view->requests[slot].service];
    schedule_ranks_wait(&state->ranks, view, slot, key_of(state, view, slot), true);
    if (knows_late(state) && !state->is_late[slot]) {
        int64_t late_ns = late_from_ns(state, view, slot);
        tree_insert(&own->in_time, state->in_time_nodes, slot, late_ns, rank->seq);
        state->next_late_ns = min_i64(state->next_late_ns, late_ns);
    }
    own->waiting_ns_sum += (uint64_t)rank->arrived_ns;
}

/* Takes a request that waits no longer out of the data of its service. The ranks get a separate
 * call. */
static void forget_waiting(struct value_state *state, const struct schedule_view *view,
                           uint32_t slot)
{
    struct value_service *own = &state->services[view->requests[slot].service];
    if (knows_late(state) && !state->is_late[slot])
        tree_remove(&own->in_time, state->in_time_nodes, slot);
    own->waiting_ns_sum -= (uint64_t)state->ranks.slots[slot].arrived_ns;
}

/* Moves waiting requests that have become late behind those that have not. */
static void find_late(struct value_state *state, const struct schedule_view *view, int64_t now_ns)
{
    if (now_ns <= state->next_late_ns)
        return;
    state->next_late_ns = INT64_MAX;
    for (int32_t k = 0; k < schedule_n_busy(view); k++) {
        struct tree *in_time = &state->services[schedule_busy(view, k)].in_time;
        uint32_t slot;
        while ((slot = tree_first(in_time)) != TREE_NONE &&
               state->in_time_nodes[slot].key < now_ns) {
            tree_remove(in_time, state->in_time_nodes, slot);
            state->is_late[slot] = true;
            schedule_ranks_rekey(&state->ranks, view, slot, key_of(state, view, slot));
        }
        if (slot != TREE_NONE)
            state->next_late_ns = min_i64(state->next_late_ns, state->in_time_nodes[slot].key);
    }
}

/* ---- What running requests are worth. ---- */

static void add(struct schedule_value *sums, const struct schedule_rank *rank, int n)
{
    schedule_value_add(sums, rank->attained_ps, rank->arrived_ns, n);
}

static void add_members(struct value_state *state, const struct batch *batch, int n)
{
    struct schedule_value *sums = &state->services[batch->service].running;
    for (int32_t i = 0; i < batch->n_items; i++)
        add(sums, &state->ranks.slots[batch->items[i].slot], n);
}

static void sum_anew(struct value_state *state, const struct schedule_view *view, int service)
{
    const struct schedule_service *s = &view->services[service];
    const struct schedule_rank *slots = state->ranks.slots;
    struct schedule_value sums = state->services[service].running;
    schedule_value_look(&sums, &state->ranks.config, s, view->now_ns);
    for (uint32_t i = 0; i < s->n_running; i++) {
        if (i + FETCH_AHEAD < s->n_running)
            __builtin_prefetch(&slots[s->running[i + FETCH_AHEAD]]);
        add(&sums, &slots[s->running[i]], 1);
    }
    state->services[service].running = sums;
}

static void look_if_none_runs(struct value_state *state, const struct schedule_view *view,
                              int service)
{
    struct schedule_value *sums = &state->services[service].running;
    if (sums->n == 0)
        schedule_value_look(sums, &state->ranks.config, &view->services[service], view->now_ns);
}

/* Removes a request that is about to leave the running ones. */
static void leave(struct value_state *state, const struct schedule_view *view, uint32_t slot)
{
    add(&state->services[view->requests[slot].service].running, &state->ranks.slots[slot], -1);
    schedule_ranks_leave(&state->ranks, view, slot);
}

/* ---- What is in flight. ---- */

static void note_begin(struct value_state *state, const struct schedule_view *view,
                       const struct batch *batch)
{
    struct value_flights *flights = &state->flights;
    bool has_prompts = false;
    for (int32_t i = 0; i < batch->n_items && !has_prompts; i++) {
        const struct request *r = &view->requests[batch->items[i].slot];
        has_prompts = r->n_computed < r->n_prompt || schedule_lacking(r) > 1;
    }
    flights->services[batch->service].begun_ns[has_prompts] = view->now_ns;
    if (has_prompts)
        flights->of_prompts |= 1U << batch_place(batch, view->n_deep);
    else
        flights->services[batch->service].is_decoding = true;
}

static void note_end(struct value_state *state, const struct schedule_view *view,
                     const struct batch *batch)
{
    struct value_flights *flights = &state->flights;
    uint32_t bit = 1U << batch_place(batch, view->n_deep);
    if ((flights->of_prompts & bit) == 0)
        flights->services[batch->service].is_decoding = false;
    flights->of_prompts &= ~bit;
}

/* ---- Whether lanes pay. ---- */

/* Returns the service that decides it, the first open one; -1: none is open. */
static int32_t find_open(const struct schedule_view *view)
{
    int32_t i = 0;
    while (i < view->n_services && !view->services[i].is_open)
        i++;
    return i < view->n_services ? i : -1;
}

static bool look_whether_lanes_pay(const struct schedule_view *view)
{
    int32_t open = view->n_lanes > 1 ? find_open(view) : -1;
    if (open < 0)
        return false;
    const struct schedule_service *s = &view->services[open];
    struct perf perf = schedule_lane_perf(s, &view->lanes[1]);
    int64_t whole_ps = perf_decode_span_ps(&s->perf, 1, 256, 1);
    int64_t part_ps = perf_decode_span_ps(&perf, 1, 256, 1);
    return (double)part_ps * (double)view->lanes[1].share * 1.05 < (double)whole_ps;
}

/* Notes whether lanes pay, since an event of the service may have changed its times. */
static void note_pay(struct value_state *state, const struct schedule_view *view, int service)
{
    struct value_pay *pay = &state->pay;
    bool is_known = pay->n_changes == view->n_changes;
    if (is_known && (service != pay->service ||
                     memcmp(&view->services[service].perf, &pay->perf, sizeof(pay->perf)) == 0))
        return;
    pay->n_changes = view->n_changes;
    pay->service = find_open(view);
    if (pay->service >= 0)
        pay->perf = view->services[pay->service].perf;
    pay->is_worth_it = look_whether_lanes_pay(view);
}

bool schedule_value_state_lanes_pay(const struct value_state *state,
                                    const struct schedule_view *view)
{
    bool is_known = view->n_changes > 0 && state->pay.n_changes == view->n_changes;
    VERIFY(!is_known || state->pay.is_worth_it == look_whether_lanes_pay(view));
    return is_known ? state->pay.is_worth_it : look_whether_lanes_pay(view);
}

/* ---- What happens. ---- */

void schedule_value_state_arrived(struct value_state *state, const struct schedule_view *view,
                                  uint32_t slot)
{
    int service = view->requests[slot].service;
    schedule_ranks_arrive(&state->ranks, view, slot);
    state->is_late[slot] = false;
    look_if_none_runs(state, view, service);
    state->ranks.slots[slot].budget_ps = schedule_work_usual_ps(&view->services[service]);
    wait(state, view, slot);
}

void schedule_value_state_started(struct value_state *state, const struct schedule_view *view,
                                  const struct batch *batch)
{
    const struct schedule_ranks_service *service = &state->ranks.services[batch->service];
    struct schedule_value *sums = &state->services[batch->service].running;
    uint32_t n_running = view->services[batch->service].n_running;
    for (int32_t i = 0; i < batch->n_items && service->n_running < n_running; i++) {
        uint32_t slot = batch->items[i].slot;
        struct schedule_rank *rank = &state->ranks.slots[slot];
        if (!rank->is_waiting)
            continue;
        forget_waiting(state, view, slot);
        rank->spent_ps = 0;
        schedule_ranks_start(&state->ranks, view, slot,
                             schedule_ranks_budget_key(rank, view->requests[slot].priority));
        look_if_none_runs(state, view, batch->service);
        schedule_value_rebase(sums, view->now_ns);
        add(sums, rank, 1);
    }
    if (view->n_lanes > 1)
        note_begin(state, view, batch);
}

/* Only the worth of its members changes. When there are many, all are summed anew, so that rounding
 * errors do not add up. */
void schedule_value_state_done(struct value_state *state, const struct schedule_view *view,
                               const struct schedule_event *event)
{
    const struct batch *batch = event->batch;
    bool is_few = (uint32_t)batch->n_items < view->services[batch->service].n_running / 2;
    if (is_few) {
        schedule_value_rebase(&state->services[batch->service].running, view->now_ns);
        add_members(state, batch, -1);
    }
    schedule_charge_batch(&state->ranks, view, event);
    if (is_few)
        add_members(state, batch, 1);
    else
        sum_anew(state, view, batch->service);
    schedule_ranks_first_ran(&state->ranks, view, batch);
    VERIFY(schedule_ranks_first_is_sound(&state->ranks, view, batch->service));
    find_late(state, view, event->now_ns);
    if (view->n_lanes > 1)
        note_end(state, view, batch);
}

void schedule_value_state_preempted(struct value_state *state, const struct schedule_view *view,
                                    uint32_t slot)
{
    leave(state, view, slot);
    wait(state, view, slot);
}

void schedule_value_state_gone(struct value_state *state, const struct schedule_view *view,
                               uint32_t slot, int64_t now_ns)
{
    const struct request *r = &view->requests[slot];
    if (r->n_tokens > r->n_prompt)
        schedule_value_ended(&state->services[r->service].running, &state->ranks.config,
                             state->ranks.slots[slot].attained_ps);
    if (state->ranks.slots[slot].is_waiting) {
        forget_waiting(state, view, slot);
        schedule_ranks_stop_waiting(&state->ranks, view, slot);
    } else {
        leave(state, view, slot);
    }
    if (view->services[r->service].n_running <= 1)
        state->flights.services[r->service].begun_ns[0] = now_ns;
}

void schedule_value_state_note(struct value_state *state, const struct schedule_view *view,
                               int service)
{
    schedule_starve_note(&state->starve, &state->ranks, view, service);
    schedule_value_weigh(&state->weights, view, service);
    if (view->n_lanes > 1)
        note_pay(state, view, service);
}
