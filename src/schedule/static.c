/* Static batches: a batch runs from its prompts to its end, padded, and nobody joins
 * (docs/ALGORITHMS.md 4.3, 6.6).
 *
 *   sls     composes them itself: the service with the earliest request, its first requests in
 *           order of arrival, at most static_n_seqs_max, without waiting for more (if a router
 *           composed batches, those of one of these)
 *   cohort  runs the batches that a router composed (request.cohort, n_cohort): one starts when all
 *           its members are here, or cohort_ns_wait after the first came; requests of no cohort are
 *           batched as sls does
 *
 * One batch at a time, on the whole device. Its rows are padded to the longest prompt, and a member
 * that has ended keeps its seat until the batch is over: these invalid tokens cost what valid ones
 * cost. The batch is one plan of as many rounds as its longest member or its lease
 * (request.n_lease, the slice S) has left, so its members come back together; prompts too many for
 * one round are computed in columns before. All blocks are reserved when it starts; members that do
 * not fit stay behind for the next batch.
 *
 * A router's batch of more than n_seqs_max runs in parts.
 *
 * Starvation: batches start in the order in which their first member came; once a batch is complete
 * only those before it and the one in flight run before it. A member that gives way when the pool
 * shrinks keeps its place. Inside a model sls takes the requests of the highest priority first, so
 * beside those no bound is claimed. */
#include "base/time.h"
#include "base/tree.h"
#include "schedule/fill.h"
#include "schedule/policies.h"
#include <string.h>

enum { STATIC_ROUNDS_MAX = 1024 }; /* of one plan: then the same batch goes on */

struct seat { /* of a request */
    uint64_t seq;
    int64_t seen_ns;
    bool is_waiting, is_member;
};
struct batcher {
    struct schedule_config config;
    bool has_cohorts;
    uint64_t seq;
    struct tree waiting; /* of cohorts, by cohort: members stand together */
    /* The batch that runs. */
    uint16_t service;
    int32_t n_seats, n_alive, n_long; /* n_long: tokens of a row so far, pads included */
    uint32_t *members;                /* (n_alive) slots */
    struct seat *seats;               /* (n_requests_max) */
    struct tree_node *nodes;          /* (n_requests_max) */
};

static size_t aligned(size_t n)
{
    return (size_t)align_up_u64(n, 64);
}

static size_t state_bytes(const struct schedule_limits *limits)
{
    size_t n = (size_t)limits->n_requests_max;
    return aligned(sizeof(struct batcher)) + aligned(LIMIT_BATCH_ITEMS * sizeof(uint32_t)) +
           aligned(n * sizeof(struct seat)) + aligned(n * sizeof(struct tree_node)) + 64;
}

static void open_sls(void *state, const struct schedule_limits *limits,
                     const struct schedule_config *config)
{
    struct batcher *b = state;
    unsigned char *at = state;
    *b = (struct batcher){ .config = *config };
    tree_init(&b->waiting);
    at += aligned(sizeof(*b));
    b->members = (void *)at;
    at += aligned(LIMIT_BATCH_ITEMS * sizeof(uint32_t));
    b->seats = (void *)at;
    at += aligned((size_t)limits->n_requests_max * sizeof(struct seat));
    b->nodes = (void *)at;
}

static void open_cohort(void *state, const struct schedule_limits *limits,
                        const struct schedule_config *config)
{
    open_sls(state, limits, config);
    ((struct batcher *)state)->has_cohorts = true;
}

/* ---- Who is next. ---- */

struct choice { /* members, in order; seq of whoever came first */
    int32_t n;
    uint16_t service;
    uint64_t seq;
    uint32_t *slots; /* (LIMIT_BATCH_ITEMS) scratch: the plan's preempts */
};

static int32_t seats_most(const struct batcher *b)
{
    return min_i32(max_i32(b->config.static_n_seqs_max, 1), LIMIT_BATCH_ITEMS);
}

/* Could it run in a pool that is empty? One that is too large for a pool that shrinks for another
 * model is passed over: it goes home or has its turn when that is done. */
static bool may_run(const struct schedule_view *view, uint32_t slot)
{
    const struct request *r = &view->requests[slot];
    const struct batch_item whole = { slot, schedule_lacking(r), 0 };
    int64_t n_positions = schedule_positions(r, &whole, 1);
    int32_t block_tokens = view->kv->services[r->service].block_tokens;
    return kv_blocks_for(n_positions, block_tokens) <= kv_budget_most_blocks(view->kv, r->service);
}

static bool is_routed(const struct batcher *b, const struct schedule_view *view, uint32_t slot)
{
    return b->has_cohorts && view->requests[slot].cohort != 0;
}

/* The first of each service that belong to no router's batch; the service that owns the earliest.
 */
static void choose_first_come(const struct batcher *b, const struct schedule_view *view,
                              struct choice *choice)
{
    int best = -1;
    for (int32_t k = 0; k < schedule_n_busy(view); k++) {
        int i = schedule_busy(view, k);
        const struct schedule_service *s = &view->services[i];
        uint32_t slot = s->is_open ? s->first_waiting : SCHEDULE_NONE;
        while (slot != SCHEDULE_NONE && (is_routed(b, view, slot) || !may_run(view, slot)))
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
        if (view->requests[slot].cohort == cohort && may_run(view, slot))
            choice->slots[choice->n++] = slot;
}

/* The cohort that begins with this slot in the tree. Returns the slot after its last member. */
static uint32_t look_at_cohort(const struct batcher *b, const struct schedule_view *view,
                               uint32_t slot, struct choice *choice, int64_t *until_ns)
{
    const struct request *first = &view->requests[slot];
    uint64_t seq = UINT64_MAX;
    int64_t seen_ns = INT64_MAX;
    int32_t n = 0;
    bool may_any = false;
    uint32_t at = slot;
    for (; at != TREE_NONE && view->requests[at].cohort == first->cohort;
         at = tree_next(&b->waiting, b->nodes, at)) {
        may_any = may_any || may_run(view, at);
        seq = b->seats[at].seq < seq ? b->seats[at].seq : seq;
        seen_ns = min_i64(seen_ns, b->seats[at].seen_ns);
        n++;
    }
    int64_t ripe_ns = seen_ns + b->config.cohort_ns_wait;
    if (!view->services[first->service].is_open || !may_any || (choice->n > 0 && seq > choice->seq))
        return at;
    if (n < first->n_cohort && ripe_ns > view->now_ns) {
        *until_ns = min_i64(*until_ns, ripe_ns);
        return at;
    }
    *choice = (struct choice){ 0, first->service, seq, choice->slots };
    int32_t n_most = min_i32(b->config.n_seqs_max, LIMIT_BATCH_ITEMS); /* the others go next */
    for (uint32_t k = slot; k != at && choice->n < n_most; k = tree_next(&b->waiting, b->nodes, k))
        if (may_run(view, k))
            choice->slots[choice->n++] = k;
    return at;
}

static void choose(const struct batcher *b, const struct schedule_view *view, struct choice *choice,
                   int64_t *until_ns)
{
    choose_first_come(b, view, choice);
    if (!b->has_cohorts)
        return;
    for (uint32_t slot = tree_first(&b->waiting); slot != TREE_NONE;)
        slot = look_at_cohort(b, view, slot, choice, until_ns);
}

/* ---- The plan. ---- */

static int32_t rounds_left(const struct request *r)
{
    int32_t n = r->n_tokens_max - r->n_tokens;
    if (r->kind != REQUEST_GENERATE)
        n = 1;
    return max_i32(r->n_lease > 0 ? min_i32(n, r->n_lease) : n, 1);
}

/* The batch's items: whole rows when the prompts fit into one round, else the next columns, where a
 * short row has at least one token so that it has its seat. True when it is whole. */
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
    batch->n_seats = n_seats;
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

/* Plans these members, of whom n_seats sat down, with rows that are n_long tokens long now. */
static bool plan_members(const struct schedule_view *view, struct schedule_plan *plan,
                         const struct choice *choice, int32_t n_seats, int32_t n_long)
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
    batch->pad_to = max_i32(n_after, n_long + 1);
    plan->n_batches = 1;
    plan->n_items = batch->n_items;
    plan->n_rounds = is_whole ? n_rounds : 1;
    return true;
}

/* Members that do not fit together with all their rounds stay behind. */
static void leave_behind(const struct schedule_view *view, struct choice *choice, int32_t n_most)
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

/* The batch goes on but lacks blocks for its next round: the pool shrank. The last member goes. */
static void give_up_last(const struct schedule_view *view, struct schedule_plan *plan,
                         const struct choice *choice)
{
    for (int32_t i = choice->n - 1; i >= 0 && plan->n_preempts == 0; i--) {
        if (view->n_table_blocks[choice->slots[i]] == 0 || view->n_in_flight > 0)
            continue;
        plan->swaps[0] = schedule_swap_pays(view, choice->slots[i]);
        plan->preempts[0] = choice->slots[i];
        plan->n_preempts = 1;
    }
}

static void plan(const void *state, const struct schedule_view *view, struct schedule_plan *plan)
{
    const struct batcher *b = state;
    struct schedule_fill fill;
    schedule_fill_begin(&fill, view, &b->config, NULL, plan);
    if (!schedule_lane_is_free(view, 0) || view->n_in_flight > 0)
        return;
    if (b->n_alive > 0 && !view->services[b->service].is_open)
        return; /* its model leaves, and so do they */
    if (b->n_alive > 0) {
        struct choice rest = { b->n_alive, b->service, 0, b->members };
        if (!plan_members(view, plan, &rest, b->n_seats, b->n_long))
            give_up_last(view, plan, &rest);
        return;
    }
    int64_t until_ns = TIME_NEVER;
    struct choice choice = { .slots = plan->preempts };
    choose(b, view, &choice, &until_ns);
    if (choice.n > 0 && !is_anybody_running(view)) {
        leave_behind(view, &choice, plan->n_items_max);
        (void)plan_members(view, plan, &choice, choice.n, 0);
    }
    if (plan->n_batches == 0 && until_ns != TIME_NEVER) {
        plan->until = UNTIL_TIME;
        plan->until_ns = until_ns;
    }
}

/* ---- What it sees. ---- */

static void stop_waiting(struct batcher *b, uint32_t slot, const struct request *r)
{
    if (b->seats[slot].is_waiting && r->cohort != 0)
        tree_remove(&b->waiting, b->nodes, slot);
    b->seats[slot].is_waiting = false;
}

static void wait(struct batcher *b, uint32_t slot, const struct request *r)
{
    b->seats[slot].is_waiting = true;
    if (r->cohort != 0)
        tree_insert(&b->waiting, b->nodes, slot, r->cohort, b->seats[slot].seq);
}

static void leave(struct batcher *b, uint32_t slot)
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

static void saw_started(struct batcher *b, const struct schedule_view *view,
                        const struct batch *batch)
{
    if (b->n_alive == 0) {
        b->service = batch->service;
        b->n_seats = batch->n_seats;
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

static void saw(void *state, const struct schedule_view *view, const struct schedule_event *event)
{
    struct batcher *b = state;
    const struct request *r = &view->requests[event->slot];
    switch (event->what) {
    case SCHEDULE_ARRIVED:
        b->seats[event->slot] = (struct seat){ .seq = ++b->seq, .seen_ns = event->now_ns };
        wait(b, event->slot, r);
        break;
    case SCHEDULE_STARTED:
        saw_started(b, view, event->batch);
        break;
    case SCHEDULE_DONE:
        b->n_long = event->batch->pad_to + event->n_steps - 1;
        break;
    case SCHEDULE_GONE:
        stop_waiting(b, event->slot, r);
        leave(b, event->slot);
        break;
    case SCHEDULE_PREEMPTED: /* it keeps its place: those that came later start after it */
        leave(b, event->slot);
        wait(b, event->slot, r);
        break;
    case SCHEDULE_REFUSED:
    case SCHEDULE_EXCEEDED:
        break;
    }
}

const struct schedule_policy schedule_static_sls = {
    .name = "sls",
    .summary = "static padded batches in order of arrival, each until its last member has ended",
    .pads_batches = true,
    .state_bytes = state_bytes,
    .open = open_sls,
    .plan = plan,
    .saw = saw,
};
const struct schedule_policy schedule_static_cohort = {
    .name = "cohort",
    .summary = "static padded batches that a router composed, for a slice of tokens (SCLS, UELLM)",
    .pads_batches = true,
    .state_bytes = state_bytes,
    .open = open_cohort,
    .plan = plan,
    .saw = saw,
};
