/* Drafts of a batch. See drafts.h. */
#include "schedule/drafts.h"

/* Takes the blocks for n drafts behind the request's known tokens. Returns how many of the drafts
 * have blocks: all, or those that fit into the blocks that the batch has for it anyway. */
static int32_t take_blocks(const struct schedule_view *view, struct kv_budget *budget,
                           uint32_t slot, int32_t n)
{
    const struct request *r = &view->requests[slot];
    int32_t block_tokens = budget->services[r->service].block_tokens;
    int64_t n_blocks =
        max_i64(view->n_table_blocks[slot], kv_blocks_for(r->n_tokens, block_tokens));
    int64_t n_more = kv_blocks_for((int64_t)r->n_tokens + n, block_tokens) - n_blocks;
    if (n_more <= 0 || (n_more <= kv_budget_idle_blocks(budget, r->service) &&
                        kv_budget_take(budget, r->service, n_more)))
        return n;
    return (int32_t)(n_blocks * block_tokens - r->n_tokens);
}

void schedule_drafts_add(const struct schedule_view *view, struct kv_budget *budget,
                         struct batch *batch, int32_t n_seats)
{
    for (int32_t i = 0; i < batch->n_items && n_seats > 0; i++) {
        struct batch_item *item = &batch->items[i];
        const struct request *r = &view->requests[item->slot];
        if (r->state != REQUEST_RUNNING || schedule_lacking(r) != 1)
            continue;
        int32_t n = min_i32(view->n_drafts[item->slot], n_seats);
        n = n > 0 ? take_blocks(view, budget, item->slot, n) : 0;
        item->n_draft = n;
        item->n_tokens = 1 + n;
        n_seats -= n;
    }
}
