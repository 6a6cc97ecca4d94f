/* The mechanism of static batches (static.h): members, seats, pads and rounds. */
#include "schedule/static.h"

#include "base/time.h"
#include "schedule/fill.h"
#include <string.h>

enum { STATIC_ROUNDS_MAX = 1024 }; /* of one plan; then the same batch goes on */

static size_t aligned(size_t n)
{
    return (size_t)align_up_u64(n, 64);
}

size_t schedule_static_state_bytes(const struct schedule_limits *limits)
{
    size_t n = (size_t)limits->n_requests_max;
    return aligned(sizeof(struct schedule_static)) + aligned(LIMIT_BATCH_ITEMS * sizeof(uint32_t)) +
           aligned(n * sizeof(struct schedule_static_seat)) +
           aligned(n * sizeof(struct tree_node)) + 64;
}

void schedule_static_open(void *state, const struct schedule_limits *limits,
                          const struct schedule_config *config, schedule_static_choose *choose)
{
    struct schedule_static *b = state;
    unsigned char *at = state;
    *b = (struct schedule_static){ .config = *config, .choose = choose };
    tree_init(&b->waiting);
    at += aligned(sizeof(*b));
    b->members = (void *)at;
    at += aligned(LIMIT_BATCH_ITEMS * sizeof(uint32_t));
    b->seats = (void *)at;
    at += aligned((size_t)limits->n_requests_max * sizeof(struct schedule_static_seat));
    b->nodes = (void *)at;
}

/* ---- The next batch. ---- */

static int32_t seats_most(const struct schedule_static *b)
{
    return min_i32(max_i32(b->config.static_n_seqs_max, 1), LIMIT_BATCH_ITEMS);
}

bool schedule_static_may_run(const struct schedule_view *view, uint32_t slot)
{
    const struct request *r = &view->requests[slot];
    const struct batch_item whole = { slot, schedule_lacking(r), 0 };
    int64_t n_positions = schedule_positions(r, &whole, 1);
    int32_t block_tokens = view->kv->services[r->service].block_tokens;
    return kv_blocks_for(n_positions, block_tokens) <= kv_budget_most_blocks(view->kv, r->service);
}

void schedule_static_choose_first(const struct schedule_static *b, const struct schedule_view *view,
                                  bool leaves_cohorts, struct schedule_static_choice *choice)
{
    int best = -1;
    for (int32_t k = 0; k < schedule_n_busy(view); k++) {
        int i = schedule_busy(view, k);
        const struct schedule_service *s = &view->services[i];
        uint32_t slot = s->is_open ? s->first_waiting : SCHEDULE_NONE;
        while (slot != SCHEDULE_NONE && ((leaves_cohorts && view->requests[slot].cohort != 0) ||
                                         !schedule_static_may_run(view, slot)))
            slot = view->requests[slot].next;
        if (slot == SCHEDULE_NONE || (best >= 0 && b->seats[slot].seq > choice->seq))
            continue;
        best = i;
        choice->slots[0] = slot;
        choice->seq = b->seats[slot].seq;
    }
    choice->n = 0;
    if (best < 0)
        return;
    choice->service = (uint16_t)best;
    uint32_t cohort = view->requests[choice->slots[0]].cohort;
    for (uint32_t slot = choice->slots[0]; slot != SCHEDULE_NONE && choice->n < seats_most(b);
         slot = view->requests[slot].next)
        if (view->requests[slot].cohort == cohort && schedule_static_may_run(view, slot))
            choice->slots[choice->n++] = slot;
}

/* ---- The plan. ---- */

static int32_t rounds_left(const struct request *r)
{
    int32_t n = r->n_tokens_max - r->n_tokens;
    if (r->kind != REQUEST_GENERATE)
        n = 1;
    return max_i32(r->n_lease > 0 ? min_i32(n, r->n_lease) : n, 1);
}

/* Lays out the batch's items: whole rows when the prompts fit into one round, else the next
 * columns. In columns a short row has at least one token, so that it has its seat. Returns true
 * when the batch is whole. */
static bool lay_out(const struct schedule_view *view, struct batch *batch, const uint32_t *slots,
                    int32_t n, int32_t n_seats)
{
    int32_t width = 0, most = max_i32(LIMIT_BATCH_TOKENS / n_seats, 1);
    for (int32_t i = 0; i < n; i++)
        width = max_i32(width, schedule_lacking(&view->requests[slots[i]]));
    int32_t n_later = max_i32(width - most, 0); /* columns of later rounds */
    batch->n_items = 0;
    for (int32_t i = 0; i < n; i++) {
        int32_t n_now = schedule_lacking(&view->requests[slots[i]]) - n_later;
        batch->items[batch->n_items++] = (struct batch_item){ slots[i], max_i32(n_now, 1), 0 };
    }
    batch->pads.n_rows = n_seats;
    return n_later == 0;
}

static int64_t blocks_of(const struct schedule_view *view, uint32_t slot, int32_t n_rounds)
{
    const struct request *r = &view->requests[slot];
    struct batch_item whole = { slot, schedule_lacking(r), 0 };
    int32_t block_tokens = view->kv->services[r->service].block_tokens;
    int64_t n = kv_blocks_for(schedule_positions(r, &whole, n_rounds), block_tokens);
    return max_i64(n - view->n_table_blocks[slot], 0);
}

static bool fits(const struct schedule_view *view, const uint32_t *slots, int32_t n,
                 int32_t n_rounds)
{
    int service = view->requests[slots[0]].service;
    struct kv_budget budget;
    int64_t n_blocks = 0;
    memcpy(&budget, view->kv, offsetof(struct kv_budget, services));
    budget.services[service] = view->kv->services[service];
    for (int32_t i = 0; i < n; i++)
        n_blocks += blocks_of(view, slots[i], n_rounds);
    return kv_budget_take(&budget, service, n_blocks);
}

static int32_t rounds_of(const struct schedule_view *view, const uint32_t *slots, int32_t n)
{
    int32_t n_rounds = 1;
    for (int32_t i = 0; i < n; i++)
        n_rounds = max_i32(n_rounds, rounds_left(&view->requests[slots[i]]));
    return min_i32(n_rounds, STATIC_ROUNDS_MAX);
}

/* Plans these members of originally n_seats, with rows that are n_long tokens long now. */
static bool plan_members(const struct schedule_view *view, struct schedule_plan *plan,
                         const struct schedule_static_choice *choice, int32_t n_seats,
                         int32_t n_long)
{
    struct batch *batch = &plan->batches[0];
    const uint32_t *slots = choice->slots;
    int32_t n_rounds = rounds_of(view, slots, choice->n);
    while (n_rounds > 1 && !fits(view, slots, choice->n, n_rounds))
        n_rounds /= 2;
    if (!fits(view, slots, choice->n, n_rounds))
        return false;
    *batch = (struct batch){ .service = choice->service, .items = plan->items };
    bool is_whole = lay_out(view, batch, slots, choice->n, n_seats);
    int32_t n_after = 0; /* the longest row after this round */
    for (int32_t i = 0; i < batch->n_items; i++) {
        const struct request *r = &view->requests[batch->items[i].slot];
        n_after = max_i32(n_after, r->n_tokens - schedule_lacking(r) + batch->items[i].n_tokens);
    }
    batch->pads.row_tokens = max_i32(n_after, n_long + 1);
    plan->n_batches = 1;
    plan->n_items = batch->n_items;
    plan->n_rounds = is_whole ? n_rounds : 1;
    return true;
}

/* Leaves behind members that do not fit together with all their rounds. */
static void leave_behind(const struct schedule_view *view, struct schedule_static_choice *choice,
                         int32_t n_most)
{
    int32_t low = 1, high = min_i32(choice->n, n_most);
    while (low < high) {
        int32_t middle = low + (high - low + 1) / 2;
        if (fits(view, choice->slots, middle, rounds_of(view, choice->slots, middle)))
            low = middle;
        else
            high = middle - 1;
    }
    choice->n = low;
}

static bool is_anybody_running(const struct schedule_view *view)
{
    for (int32_t k = 0; k < schedule_n_busy(view); k++)
        if (view->services[schedule_busy(view, k)].n_running > 0)
            return true;
    return false;
}

/* Gives up the last member, because the batch goes on but lacks blocks for its next round: the pool
 * shrank. */
static void give_up_last(const struct schedule_view *view, struct schedule_plan *plan,
                         const struct schedule_static_choice *choice)
{
    for (int32_t i = choice->n - 1; i >= 0 && plan->n_preempts == 0; i--) {
        if (view->n_table_blocks[choice->slots[i]] == 0 || view->n_in_flight > 0)
            continue;
        plan->swaps[0] = schedule_swap_pays(view, choice->slots[i]);
        plan->preempts[0] = choice->slots[i];
        plan->n_preempts = 1;
    }
}

void schedule_static_plan(const void *state, const struct schedule_view *view,
                          struct schedule_plan *plan)
{
    const struct schedule_static *b = state;
    struct schedule_fill fill;
    schedule_fill_begin(&fill, view, &b->config, NULL, plan);
    if (!schedule_lane_is_free(view, 0) || view->n_in_flight > 0)
        return;
    if (b->n_alive > 0 && !view->services[b->service].is_open)
        return; /* its model leaves, and so do they */
    if (b->n_alive > 0) {
        struct schedule_static_choice rest = { b->n_alive, b->service, 0, b->members };
        if (!plan_members(view, plan, &rest, b->n_seats, b->n_long))
            give_up_last(view, plan, &rest);
        return;
    }
    int64_t until_ns = TIME_NEVER;
    struct schedule_static_choice choice = { .slots = plan->preempts };
    b->choose(b, view, &choice, &until_ns);
    if (choice.n > 0 && !is_anybody_running(view)) {
        leave_behind(view, &choice, plan->n_items_max);
        (void)plan_members(view, plan, &choice, choice.n, 0);
    }
    if (plan->n_batches == 0 && until_ns != TIME_NEVER) {
        plan->until = UNTIL_TIME;
        plan->until_ns = until_ns;
    }
}

const char *schedule_static_check(const struct schedule_view *view, const struct batch *batch)
{
    if (batch->pads.row_tokens < 0 || batch->pads.n_rows < 0)
        return "a negative padding";
    if (batch_is_plain(batch))
        return NULL;
    if (batch->pads.n_rows < batch->n_items || batch->pads.n_rows > LIMIT_BATCH_ITEMS)
        return "a padded batch of fewer rows than members";
    for (int32_t i = 0; i < batch->n_items; i++) {
        const struct request *r = &view->requests[batch->items[i].slot];
        int32_t n_before = r->n_tokens - schedule_lacking(r);
        if (n_before + batch->items[i].n_tokens > batch->pads.row_tokens)
            return "a row longer than the batch's padding";
        if (r->cohort != view->requests[batch->items[0].slot].cohort)
            return "two cohorts in a padded batch";
    }
    return NULL;
}

/* ---- What it sees. ---- */

static void stop_waiting(struct schedule_static *b, uint32_t slot, const struct request *r)
{
    if (b->seats[slot].is_waiting && r->cohort != 0)
        tree_remove(&b->waiting, b->nodes, slot);
    b->seats[slot].is_waiting = false;
}

static void wait(struct schedule_static *b, uint32_t slot, const struct request *r)
{
    b->seats[slot].is_waiting = true;
    if (r->cohort != 0)
        tree_insert(&b->waiting, b->nodes, slot, r->cohort, b->seats[slot].seq);
}

static void leave(struct schedule_static *b, uint32_t slot)
{
    int32_t i = 0;
    if (!b->seats[slot].is_member)
        return;
    while (b->members[i] != slot)
        CHECK(++i < b->n_alive);
    for (b->n_alive--; i < b->n_alive; i++)
        b->members[i] = b->members[i + 1];
    b->seats[slot].is_member = false;
}

static void saw_started(struct schedule_static *b, const struct schedule_view *view,
                        const struct batch *batch)
{
    if (b->n_alive == 0) {
        b->service = batch->service;
        b->n_seats = batch->pads.n_rows;
        b->n_long = 0;
    }
    for (int32_t i = 0; i < batch->n_items; i++) {
        uint32_t slot = batch->items[i].slot;
        stop_waiting(b, slot, &view->requests[slot]);
        if (b->seats[slot].is_member || b->n_alive == LIMIT_BATCH_ITEMS)
            continue;
        b->seats[slot].is_member = true;
        b->members[b->n_alive++] = slot;
    }
}

void schedule_static_saw(void *state, const struct schedule_view *view,
                         const struct schedule_event *event)
{
    struct schedule_static *b = state;
    const struct request *r = &view->requests[event->slot];
    switch (event->what) {
    case SCHEDULE_ARRIVED:
        b->seats[event->slot] =
            (struct schedule_static_seat){ .seq = ++b->seq, .seen_ns = event->now_ns };
        wait(b, event->slot, r);
        break;
    case SCHEDULE_STARTED:
        saw_started(b, view, event->batch);
        break;
    case SCHEDULE_DONE:
        b->n_long = event->batch->pads.row_tokens + event->n_steps - 1;
        break;
    case SCHEDULE_GONE:
        stop_waiting(b, event->slot, r);
        leave(b, event->slot);
        break;
    case SCHEDULE_PREEMPTED: /* it keeps its place, so those that came later start after it */
        leave(b, event->slot);
        wait(b, event->slot, r);
        break;
    case SCHEDULE_REFUSED:
    case SCHEDULE_EXCEEDED:
        break;
    }
}
