/* Checks that a plan is legal. Debug builds, tests and the simulator check every plan. */
#include "schedule/static.h"

/* Only a running decode has drafts, as the view shows; each is a row more. */
static bool has_drafts(const struct schedule_view *view, const struct batch_item *item)
{
    const struct request *r = &view->requests[item->slot];
    return view->n_drafts != NULL && r->state == REQUEST_RUNNING && schedule_lacking(r) == 1 &&
           item->n_draft > 0 && item->n_draft <= view->n_drafts[item->slot] &&
           item->n_tokens == 1 + item->n_draft;
}

static const char *check_item(const struct schedule_view *view, const struct schedule_plan *plan,
                              const struct batch *batch, int32_t i)
{
    const struct batch_item *item = &batch->items[i];
    const struct request *r = &view->requests[item->slot];
    if (r->state != REQUEST_WAITING && r->state != REQUEST_RUNNING)
        return "a request that is neither waiting nor running";
    if (r->batch != 0)
        return "a request in flight";
    if (r->service != batch->service)
        return "a request of another service";
    if (item->n_draft != 0 && !has_drafts(view, item))
        return "drafts that the request does not have";
    if (item->n_tokens < 1 || item->n_tokens - item->n_draft > schedule_lacking(r))
        return "tokens that the request does not lack";
    for (int32_t k = 0; k < plan->n_preempts; k++)
        if (plan->preempts[k] == item->slot)
            return "a request both run and preempted";
    for (int32_t k = 0; k < i; k++)
        if (batch->items[k].slot == item->slot)
            return "a request twice in a batch";
    for (const struct batch *b = plan->batches; b < batch; b++)
        for (int32_t k = 0; k < b->n_items; k++)
            if (b->items[k].slot == item->slot)
                return "a request in two batches";
    return NULL;
}

/* Batches of one lane run in turn; those of lanes in conflict must not run side by side. */
static const char *check_lane(const struct schedule_view *view, const struct schedule_plan *plan,
                              const struct batch *batch)
{
    if (batch->lane >= view->n_lanes || !schedule_lane_is_free(view, batch->lane))
        return "a batch on a lane that is busy, in conflict or not there";
    for (const struct batch *b = plan->batches; b < batch; b++)
        if (b->lane != batch->lane && b->lane < view->n_lanes &&
            ((view->lanes[batch->lane].conflicts >> b->lane & 1) != 0 ||
             (view->lanes[b->lane].conflicts >> batch->lane & 1) != 0))
            return "batches on lanes in conflict";
    return NULL;
}

static const char *check_batch(const struct schedule_view *view, const struct schedule_plan *plan,
                               const struct batch *batch, struct kv_budget *budget)
{
    int64_t n_tokens = 0, n_blocks = 0;
    if (batch->service >= view->n_services || !view->services[batch->service].is_open)
        return "a batch of a service that is not open";
    const char *bad_lane = check_lane(view, plan, batch);
    if (bad_lane != NULL)
        return bad_lane;
    if (batch->n_items < 1 || batch->n_items > LIMIT_BATCH_ITEMS)
        return "a batch with no or too many items";
    if (batch->items < plan->items || batch->items + batch->n_items > plan->items + plan->n_items)
        return "a batch whose items are not in the plan's";
    for (int32_t i = 0; i < batch->n_items; i++) {
        const char *wrong = check_item(view, plan, batch, i);
        if (wrong != NULL)
            return wrong;
        const struct batch_item *item = &batch->items[i];
        const struct request *r = &view->requests[item->slot];
        int32_t block_tokens = budget->services[batch->service].block_tokens;
        int64_t n = kv_blocks_for(schedule_positions(r, item, plan->n_rounds), block_tokens);
        n_blocks += max_i64(0, n - view->n_table_blocks[item->slot]);
        n_tokens += item->n_tokens;
    }
    if (n_tokens > LIMIT_BATCH_TOKENS)
        return "a batch of too many tokens";
    const char *bad_pads = schedule_static_check(view, batch);
    if (bad_pads != NULL)
        return bad_pads;
    if (plan->n_preempts == 0 && !kv_budget_take(budget, batch->service, n_blocks))
        return "a batch whose blocks the pool does not have";
    return NULL;
}

static const char *check_preempts(const struct schedule_view *view,
                                  const struct schedule_plan *plan)
{
    for (int32_t i = 0; i < plan->n_preempts; i++) {
        const struct request *r = &view->requests[plan->preempts[i]];
        if (r->state != REQUEST_RUNNING && r->state != REQUEST_WAITING)
            return "preempts a request that is not there";
        if (r->batch != 0)
            return "preempts a request in flight";
        if (view->n_table_blocks[plan->preempts[i]] == 0)
            return "preempts a request that holds nothing";
        for (int32_t k = 0; k < i; k++)
            if (plan->preempts[k] == plan->preempts[i])
                return "preempts a request twice";
    }
    return NULL;
}

/* If the pool is empty, nothing will change by itself. Returns whether a request waits that fits
 * it. */
static bool waits_for_nothing(const struct schedule_view *view)
{
    if (view->kv->n_units_free < view->kv->n_units_open)
        return false;
    for (int i = 0; i < view->n_services; i++) {
        const struct schedule_service *s = &view->services[i];
        if (!s->is_open || s->n_waiting == 0)
            continue;
        const struct request *r = &view->requests[s->first_waiting];
        int32_t block_tokens = view->kv->services[i].block_tokens;
        if (kv_blocks_for(r->n_tokens_max, block_tokens) <= kv_budget_most_blocks(view->kv, i))
            return true;
    }
    return false;
}

/* Work that nothing in flight will advance must be planned, or a request must be preempted. */
static const char *check_progress(const struct schedule_view *view,
                                  const struct schedule_plan *plan)
{
    if (plan->n_batches > 0 || plan->n_preempts > 0 || view->n_in_flight > 0 ||
        view->lane_is_busy[0])
        return NULL;
    for (int i = 0; i < view->n_services; i++)
        if (view->services[i].is_open && view->services[i].n_running > 0)
            return "an empty plan although requests run and none is in flight";
    if ((plan->until & UNTIL_TIME) == 0 && waits_for_nothing(view))
        return "an empty plan, for good, although no request runs and one that fits waits";
    return NULL;
}

const char *schedule_check(const struct schedule_view *view, const struct schedule_plan *plan)
{
    struct kv_budget budget;
    kv_budget_copy(&budget, view->kv);
    if (plan->n_batches < 0 || plan->n_batches > LIMIT_BATCHES || plan->n_items < 0 ||
        plan->n_items > plan->n_items_max || plan->n_preempts < 0 ||
        plan->n_preempts > LIMIT_BATCH_ITEMS)
        return "counts out of range";
    if (plan->n_rounds < 1)
        return "no round";
    if ((plan->until & UNTIL_TIME) != 0 && plan->until_ns <= view->now_ns)
        return "a hold until a time that has passed";
    const char *wrong = check_preempts(view, plan);
    for (int32_t i = 0; i < plan->n_batches && wrong == NULL; i++)
        wrong = check_batch(view, plan, &plan->batches[i], &budget);
    return wrong != NULL ? wrong : check_progress(view, plan);
}
