/* Services are dealt out to lanes by index; a lane gets one batch per service. Without state. */
#include "greedy.h"

#include "base/time.h"

static size_t state_bytes(const struct schedule_limits *limits)
{
    (void)limits;
    return sizeof(struct schedule_config);
}

static void open(void *state, const struct schedule_limits *limits,
                 const struct schedule_config *config)
{
    (void)limits;
    struct schedule_config *own = state;
    *own = *config;
    if (own->chunk_tokens == 0)
        own->chunk_tokens = INT32_MAX;
}

static int64_t blocks_for(const struct schedule_view *v, struct kv_budget *budget, uint32_t slot,
                          int32_t n_computed)
{
    const struct request *r = &v->requests[slot];
    int64_t n = kv_blocks_for(n_computed, budget->services[r->service].block_tokens);
    return max_i64(n - v->n_table_blocks[slot], 0);
}

static void add(struct schedule_plan *plan, struct batch *batch, uint32_t slot, int32_t n_tokens)
{
    batch->items[batch->n_items++] = (struct batch_item){ .slot = slot, .n_tokens = n_tokens };
    plan->n_items++;
}

/* Running requests go on. One that has no room for its next token shows that a request has to give
 * way. */
static bool add_running(const struct schedule_config *config, const struct schedule_view *v,
                        struct kv_budget *budget, struct schedule_plan *plan, struct batch *batch)
{
    const struct schedule_service *s = &v->services[batch->service];
    bool is_short = false;
    for (uint32_t i = 0; i < s->n_running && batch->n_items < config->n_seqs_max; i++) {
        const struct request *r = &v->requests[s->running[i]];
        if (r->batch != 0)
            continue;
        int32_t n = min_i32(r->n_tokens - r->n_computed, config->chunk_tokens);
        int32_t n_draft = v->n_drafts != NULL ? v->n_drafts[s->running[i]] : 0;
        if (n_draft > 0 &&
            kv_budget_take(budget, batch->service,
                           blocks_for(v, budget, s->running[i], r->n_computed + 1 + n_draft))) {
            add(plan, batch, s->running[i], 1 + n_draft);
            batch->items[batch->n_items - 1].n_draft = n_draft;
            continue;
        }
        if (kv_budget_take(budget, batch->service,
                           blocks_for(v, budget, s->running[i], r->n_computed + n)))
            add(plan, batch, s->running[i], n);
        else
            is_short = true;
    }
    return is_short;
}

static void add_waiting(const struct schedule_config *config, const struct schedule_view *v,
                        struct kv_budget *budget, struct schedule_plan *plan, struct batch *batch)
{
    uint32_t slot = v->services[batch->service].first_waiting;
    while (slot != SCHEDULE_NONE && batch->n_items < config->n_seqs_max) {
        const struct request *r = &v->requests[slot];
        int32_t n = min_i32(schedule_lacking(r), config->chunk_tokens);
        if (!kv_budget_take(budget, batch->service,
                            blocks_for(v, budget, slot, max_i32(r->n_computed, r->n_host) + n)))
            return; /* too eager on purpose: the rest may have to compete for blocks */
        add(plan, batch, slot, n);
        slot = r->next;
    }
}

/* As many rounds as every batch has blocks for. */
static int32_t rounds_that_fit(const struct schedule_view *v, const struct schedule_plan *plan)
{
    for (int32_t n_rounds = 64; n_rounds > 1; n_rounds /= 2) {
        struct kv_budget budget;
        kv_budget_copy(&budget, v->kv);
        bool is_enough = true;
        for (int32_t i = 0; i < plan->n_batches; i++) {
            const struct batch *batch = &plan->batches[i];
            int64_t n_blocks = 0;
            for (int32_t k = 0; k < batch->n_items; k++) {
                const struct request *r = &v->requests[batch->items[k].slot];
                n_blocks += blocks_for(v, &budget, batch->items[k].slot,
                                       (int32_t)schedule_positions(r, &batch->items[k], n_rounds));
            }
            is_enough &= kv_budget_take(&budget, batch->service, n_blocks);
        }
        if (is_enough)
            return n_rounds;
    }
    return 1;
}

static void plan(const void *state, const struct schedule_view *v, struct schedule_plan *plan)
{
    const struct schedule_config *config = state;
    struct kv_budget budget;
    kv_budget_copy(&budget, v->kv);
    uint32_t victim = SCHEDULE_NONE;
    uint32_t n_waiting = 0;
    bool is_short = false;
    for (int32_t service = 0; service < v->n_services; service++) {
        const struct schedule_service *s = &v->services[service];
        uint16_t lane = (uint16_t)(service % v->n_lanes);
        n_waiting += s->n_waiting;
        for (uint32_t i = 0; i < s->n_running; i++)
            victim = v->requests[s->running[i]].batch == 0 ? s->running[i] : victim;
        if (v->lane_is_busy[lane] || !s->is_open || plan->n_batches == LIMIT_BATCHES)
            continue;
        struct batch *batch = &plan->batches[plan->n_batches];
        *batch = (struct batch){ .service = (uint16_t)service,
                                 .lane = lane,
                                 .items = plan->items + plan->n_items };
        if (add_running(config, v, &budget, plan, batch))
            is_short = true;
        else
            add_waiting(config, v, &budget, plan, batch);
        plan->n_batches += batch->n_items > 0;
    }
    if (is_short && v->n_in_flight == 0) {
        plan->n_batches = plan->n_items = 0;
        plan->swaps[plan->n_preempts] = victim % 2 == 0; /* the others compute again */
        plan->preempts[plan->n_preempts++] = victim;
        return;
    }
    if (n_waiting == 0 && v->n_in_flight == 0 && v->n_lanes == 1) {
        plan->n_rounds = min_i32(rounds_that_fit(v, plan), config->n_rounds_max);
        plan->until = UNTIL_ARRIVAL | UNTIL_FINISH | UNTIL_SHORTAGE;
    }
}

static void saw(void *state, const struct schedule_view *v, const struct schedule_event *event)
{
    (void)state;
    (void)v;
    (void)event;
}

const struct schedule_policy greedy_policy = {
    .name = "greedy",
    .summary = "the tests' own: first come, first served",
    .state_bytes = state_bytes,
    .open = open,
    .plan = plan,
    .saw = saw,
};
