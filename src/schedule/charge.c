/* Charging of work after a batch. See charge.h. */
#include "schedule/charge.h"
#include "schedule/starve.h"

enum { LEVEL_MAX = 30, FETCH_AHEAD = 8 };

static void double_budget(struct schedule_rank *slot, int64_t fresh_ps)
{
    if (slot->level < LEVEL_MAX)
        slot->level++;
    slot->budget_ps = fresh_ps > WORK_PS_MAX >> slot->level ? WORK_PS_MAX : fresh_ps << slot->level;
}

static void charge(struct schedule_rank *slot, int64_t cost_ps, int64_t fresh_ps)
{
    slot->spent_ps += cost_ps;
    slot->attained_ps += cost_ps;
    slot->budget_ps -= cost_ps;
    while (slot->budget_ps <= 0) /* one long prompt may outrun several budgets */
        double_budget(slot, fresh_ps);
}

static void charge_decodes(struct schedule_rank *slot, const struct perf *perf, int64_t context,
                           int64_t n, int64_t fresh_ps)
{
    int64_t span = perf_decode_span_ps(perf, 1, context, n);
    slot->spent_ps += span;
    slot->attained_ps += span;
    for (; n > 0; span = perf_decode_span_ps(perf, 1, context, n)) {
        if (span < slot->budget_ps) {
            slot->budget_ps -= span;
            return;
        }
        int64_t n_fit = perf_decode_steps_in(perf, 1, context, slot->budget_ps - 1);
        n_fit = min_i64(n_fit, n - 1);
        double_budget(slot, fresh_ps);
        n -= n_fit + 1;
        context += n_fit + 1;
    }
}

/* Returns the time of n rows beside a decode: of drafts that were refused. */
static int64_t rows_ps(const struct perf *perf, int64_t context, int64_t n)
{
    const struct perf_load one = { .n_decodes = 1, .n_decode_context = context };
    const struct perf_load all = { .n_decodes = (int32_t)n + 1,
                                   .n_decode_context = (n + 1) * context };
    return max_i64(perf_step_ps(perf, &all) - perf_step_ps(perf, &one), 0);
}

static void charge_item(struct schedule_ranks *ranks, const struct schedule_view *view,
                        const struct schedule_event *event, int32_t i,
                        const struct schedule_price *price)
{
    const struct request *r = &view->requests[event->batch->items[i].slot];
    const struct schedule_service *service = &view->services[r->service];
    struct schedule_rank *slot = &ranks->slots[event->batch->items[i].slot];
    int64_t fresh_ps = price->usual_ps;
    if (ranks->config.db_counts_wall) {
        charge(slot, event->elapsed_ns * 1000, fresh_ps);
        return;
    }
    int64_t n_before = r->n_computed - event->n_computed[i];
    int64_t n_known = r->n_tokens - event->n_new[i];
    int64_t n_decodes = event->n_new[i];
    if (n_known - n_before > 1 || n_before < r->n_prompt) { /* it was catching up */
        n_decodes = max_i64(n_decodes - 1, 0);
        int64_t n_after = r->n_computed - n_decodes;
        charge(slot,
               max_i64(0, schedule_work_prefill_ps(&service->perf, n_after) -
                              schedule_work_prefill_ps(&service->perf, n_before)),
               fresh_ps);
        n_known++;
    }
    charge_decodes(slot, &service->perf, n_known, n_decodes, fresh_ps);
    int64_t n_refused = event->batch->items[i].n_draft + 1 - event->n_new[i];
    if (event->batch->items[i].n_draft > 0 && event->n_new[i] > 0 && n_refused > 0)
        charge(slot, rows_ps(&service->perf, n_known, n_refused), fresh_ps);
}

void schedule_charge_batch(struct schedule_ranks *ranks, const struct schedule_view *view,
                           const struct schedule_event *event)
{
    const struct batch *batch = event->batch;
    struct schedule_ranks_service *service = &ranks->services[batch->service];
    const struct schedule_price price = schedule_work_price(&view->services[batch->service]);
    const int64_t block_tokens = view->kv->services[batch->service].block_tokens;
    const int64_t ahead_tokens = ranks->config.ahead_blocks * block_tokens;
    service->price = price;
    bool is_plain =
        !ranks->config.db_counts_wall && price.slope_ps >= 0 && price.slope_ps < INT32_MAX;
    int64_t begun_ns = event->now_ns - event->elapsed_ns;
    int64_t theta_ns = schedule_starve_theta_ns(&ranks->config, &view->services[batch->service]);
    for (int32_t i = 0; i < batch->n_items; i++) {
        uint32_t slot = batch->items[i].slot;
        struct schedule_rank *own = &ranks->slots[slot];
        const struct request *r = &view->requests[slot];
        if (i + FETCH_AHEAD < batch->n_items) {
            __builtin_prefetch(&ranks->slots[batch->items[i + FETCH_AHEAD].slot], 1);
            __builtin_prefetch(&view->requests[batch->items[i + FETCH_AHEAD].slot]);
        }
        int64_t step_ps = price.first_ps + price.slope_ps * (r->n_tokens - 1);
        if (is_plain && event->n_new[i] == 1 && event->n_computed[i] == 1 &&
            batch->items[i].n_draft == 0 && r->n_computed > r->n_prompt &&
            step_ps < own->budget_ps) {
            /* Nearly always. */
            own->spent_ps += step_ps;
            own->attained_ps += step_ps;
            own->budget_ps -= step_ps;
        } else {
            charge_item(ranks, view, event, i, &price);
        }
        own->key = schedule_ranks_budget_key(own, r->priority);
        schedule_starve_served(ranks, slot, r, event->n_new[i], begun_ns, theta_ns);
        schedule_booked_note(&service->booked, &own->booked, r, view->n_table_blocks[slot],
                             block_tokens, ahead_tokens);
    }
}
