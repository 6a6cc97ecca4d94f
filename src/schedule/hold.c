/* Holds. See hold.h. */
#include "schedule/hold.h"
#include "base/time.h"

/* Returns whether the batch has all live requests of the open services, every one of them
 * decoding without drafts. */
static bool is_alone(const struct schedule_fill *fill)
{
    const struct batch *batch = fill->batch;
    for (int32_t k = 0; k < schedule_n_busy(fill->view); k++) {
        int i = schedule_busy(fill->view, k);
        const struct schedule_service *s = &fill->view->services[i];
        uint32_t n_running = i == batch->service ? (uint32_t)batch->n_items : 0;
        if (s->n_running != n_running || (s->is_open && s->n_waiting > 0))
            return false;
    }
    for (int32_t i = 0; i < batch->n_items; i++) {
        const struct request *r = &fill->view->requests[batch->items[i].slot];
        if (batch->items[i].n_draft > 0 || schedule_lacking(r) != 1 ||
            r->state != REQUEST_RUNNING || r->kind != REQUEST_GENERATE)
            return false;
    }
    return fill->view->n_in_flight == 0;
}

static int64_t blocks_of_rounds(const struct schedule_fill *fill, int32_t n_rounds)
{
    int64_t n = 0;
    for (int32_t i = 0; i < fill->batch->n_items; i++) {
        const struct batch_item *item = &fill->batch->items[i];
        const struct request *r = &fill->view->requests[item->slot];
        n += schedule_booked_beyond(schedule_positions(r, item, n_rounds),
                                    fill->view->n_table_blocks[item->slot],
                                    fill->budget.services[r->service].block_tokens);
    }
    return n;
}

void schedule_hold(struct schedule_fill *fill, int64_t until_ns)
{
    struct schedule_plan *plan = fill->plan;
    const struct schedule_order *order = fill->order;
    int32_t n_rounds = min_i32(fill->config->n_rounds_max, fill->n_rounds_most);
    if (n_rounds <= 1 || plan->n_batches != 1 || !is_alone(fill))
        return;
    for (int32_t i = 0; i < fill->batch->n_items; i++) {
        const struct request *r = &fill->view->requests[fill->batch->items[i].slot];
        n_rounds = min_i32(n_rounds, r->n_tokens_max - r->n_tokens);
        if (r->n_lease > 0)
            n_rounds = min_i32(n_rounds, r->n_lease);
        if (order->books != NULL)
            n_rounds = (int32_t)min_i64(
                n_rounds,
                order->books(order->state, fill->view, fill->batch->items[i].slot) - r->n_tokens);
    }
    int64_t idle = kv_budget_idle_blocks(fill->view->kv, fill->batch->service);
    int32_t low = 1, high = max_i32(n_rounds, 1); /* the most rounds with idle blocks */
    if (blocks_of_rounds(fill, high) <= idle)
        low = high;
    while (low < high) {
        int32_t middle = low + (high - low + 1) / 2;
        if (blocks_of_rounds(fill, middle) <= idle)
            low = middle;
        else
            high = middle - 1;
    }
    plan->n_rounds = low;
    if (low == 1)
        return;
    plan->until = UNTIL_ARRIVAL | UNTIL_FINISH | UNTIL_SHORTAGE;
    plan->until_ns = until_ns;
    if (until_ns != TIME_NEVER)
        plan->until |= UNTIL_TIME;
}

void schedule_hold_turn(struct schedule_fill *fill, int32_t last)
{
    const struct schedule_view *view = fill->view;
    enum schedule_filled filled = FILLED_NOTHING;
    int32_t turn = schedule_turn_after(view, last);
    for (int32_t i = 0; i < schedule_n_busy(view) && filled == FILLED_NOTHING; i++) {
        int service = schedule_in_turn(view, turn, i);
        const struct schedule_service *s = &view->services[service];
        if (s->n_waiting + s->n_running > 0)
            filled = schedule_fill_serve(fill, service, FILL_ALL, SCHEDULE_NONE);
    }
    if (filled == FILLED_BATCH)
        schedule_hold(fill, TIME_NEVER);
}
