/* Fills a batch within its limits and the pool's budget. See fill.h. */
#include "schedule/fill.h"
#include "base/time.h"
#include "schedule/drafts.h"
#include "schedule/pipeline.h"
#include <string.h>

enum { FETCH_AHEAD = 12 }; /* requests that run lie apart */

int64_t schedule_positions(const struct request *request, const struct batch_item *item,
                           int32_t n_rounds)
{
    int64_t left = max_i32(request->n_tokens_max - request->n_tokens, 0);
    if (request->n_lease > 0)
        left = min_i64(left, request->n_lease);
    int64_t lacking = schedule_lacking(request);
    if (item->n_draft > 0)
        return request->n_tokens + item->n_draft;
    if (lacking == 1)
        return request->n_tokens + max_i64(min_i64(n_rounds, left), 1) - 1;
    int64_t computed = min_i64((int64_t)item->n_tokens * n_rounds, lacking);
    if (computed < lacking)
        return request->n_tokens - lacking + computed;
    int64_t n_catch_up = div_up_i64(lacking, max_i32(item->n_tokens, 1));
    int64_t n_new = min_i64(n_rounds - n_catch_up + 1, left);
    return request->n_tokens + max_i64(n_new, 1) - 1;
}

/* Copies the rows of services that have requests, because others are not used. */
static void copy_budget(struct kv_budget *to, const struct schedule_view *view)
{
    memcpy(to, view->kv, offsetof(struct kv_budget, services));
    for (int32_t i = 0; i < schedule_n_busy(view); i++)
        to->services[schedule_busy(view, i)] = view->kv->services[schedule_busy(view, i)];
}

void schedule_fill_begin(struct schedule_fill *fill, const struct schedule_view *view,
                         const struct schedule_config *config, const struct schedule_order *order,
                         struct schedule_plan *plan)
{
    plan->n_batches = plan->n_items = plan->n_preempts = 0;
    plan->n_rounds = 1;
    plan->until = 0;
    plan->until_ns = TIME_NEVER;
    plan->is_forced = false;
    fill->view = view;
    fill->config = config;
    fill->order = order;
    fill->plan = plan;
    copy_budget(&fill->budget, view);
    fill->batch = NULL;
    fill->room_state = ROOM_UNKNOWN;
    fill->lane = 0;
    fill->is_patient = fill->counts_decodes = fill->names_nobody = false;
    fill->n_units_most = INT64_MAX;
    fill->n_units_kept = 0;
    fill->n_seqs_most = config->n_seqs_max;
    fill->n_rounds_most = INT32_MAX;
    fill->n_deep = max_i32(view->n_deep, 1);
    fill->prefill_ps_most = INT64_MAX;
}

static int64_t blocks_for(const struct schedule_fill *fill, uint32_t slot, int64_t n_tokens)
{
    const struct request *r = &fill->view->requests[slot];
    return schedule_booked_beyond(n_tokens, fill->view->n_table_blocks[slot],
                                  fill->budget.services[r->service].block_tokens);
}

int64_t schedule_fill_lacks(const struct schedule_view *view, uint32_t slot)
{
    const struct request *r = &view->requests[slot];
    int32_t block_tokens = view->kv->services[r->service].block_tokens;
    return max_i64(0, kv_blocks_for(r->n_tokens, block_tokens) - view->n_table_blocks[slot]);
}

static int32_t seats_left(const struct schedule_fill *fill)
{
    int32_t n_tokens = fill->batch->n_items - fill->n_prompts + fill->n_new;
    int32_t most = min_i32(fill->config->n_seqs_max, LIMIT_BATCH_ITEMS);
    most = min_i32(most, fill->plan->n_items_max - fill->plan->n_items);
    return min_i32(max_i32(most, 1) - fill->batch->n_items, LIMIT_BATCH_TOKENS - n_tokens);
}

/* ---- A batch's limits. ---- */

/* Returns the prompt tokens of one request in one batch; 0 = all. */
static int32_t chunk_of(const struct schedule_fill *fill, int service)
{
    bool is_whole = fill->config->chunk_tokens == 0 || fill->n_deep <= 1 || fill->lane > 0;
    return is_whole ? fill->config->chunk_tokens
                    : schedule_pipeline_chunk(fill->view, fill->config, service);
}

static void add(struct schedule_fill *fill, uint32_t slot, int32_t n_tokens)
{
    fill->batch->items[fill->batch->n_items++] = (struct batch_item){ slot, n_tokens, 0 };
    if (schedule_lacking(&fill->view->requests[slot]) > 1) {
        fill->n_prompts++;
        fill->n_new += n_tokens;
    }
}

/* Returns the prompt tokens that still fit into the batch; beside decodes, a chunk in all. */
static int32_t prompt_room(const struct schedule_fill *fill, int32_t chunk_tokens)
{
    int32_t n_decodes = fill->batch->n_items - fill->n_prompts;
    int32_t most = min_i32(fill->config->n_batch_tokens_max, LIMIT_BATCH_TOKENS - n_decodes);
    if (chunk_tokens > 0 && (n_decodes > 0 || fill->n_deep > 1))
        most = min_i32(most, chunk_tokens);
    if (fill->counts_decodes)
        most = min_i32(most, fill->config->n_batch_tokens_max - n_decodes);
    return max_i32(most, 1) - fill->n_new;
}

static bool takes_too_long(const struct schedule_fill *fill, const struct request *r, int32_t n)
{
    int64_t n_new = (int64_t)fill->n_new + n;
    struct perf_load load = { .n_new = (int32_t)n_new, .n_new_squared = (int64_t)n * n };
    return fill->prefill_ps_most != INT64_MAX &&
           perf_step_ps(&fill->view->services[r->service].perf, &load) > fill->prefill_ps_most;
}

/* Returns how much of what the request lacks the batch takes now; 0 = nothing. A whole prompt that
 * is longer than the limit of a batch of prompts runs alone. */
static int32_t share_of_prompt(const struct schedule_fill *fill, const struct request *r)
{
    int32_t chunk_tokens = chunk_of(fill, r->service);
    int32_t want = schedule_lacking(r), room = prompt_room(fill, chunk_tokens);
    if (chunk_tokens == 0) {
        bool fits = fill->batch->n_items == 0 || want <= room;
        int32_t whole = min_i32(want, LIMIT_BATCH_TOKENS);
        return fits && !takes_too_long(fill, r, whole) ? whole : 0;
    }
    int32_t n = min_i32(min_i32(want, chunk_tokens), room);
    while (n >= SCHEDULE_PIPELINE_CHUNK_MIN && takes_too_long(fill, r, n))
        n /= 2;
    if (n > 0 && takes_too_long(fill, r, n))
        return 0;
    if (n == want || n >= SCHEDULE_PIPELINE_CHUNK_MIN || fill->n_prompts == 0)
        return max_i32(n, 0);
    return 0;
}

/* ---- Running requests. ---- */

static void add_running(struct schedule_fill *fill, uint32_t slot)
{
    const struct request *r = &fill->view->requests[slot];
    bool is_decode = schedule_lacking(r) == 1;
    int32_t n = is_decode ? 1 : share_of_prompt(fill, r);
    if (n == 0)
        return;
    int64_t n_blocks = blocks_for(fill, slot, r->n_tokens - schedule_lacking(r) + n);
    if (n_blocks == 0 || kv_budget_take(&fill->budget, r->service, n_blocks))
        add(fill, slot, n);
    else
        fill->n_blocks_short += n_blocks;
}

/* Takes the decodes of the service that are not planned or in flight. Every step visits all of
 * them, so this loop does only what it must. Returns true when no other request runs. */
static bool fill_decodes(struct schedule_fill *fill, int service, uint32_t must,
                         int32_t n_seats_kept)
{
    const struct schedule_service *s = &fill->view->services[service];
    const struct request *requests = fill->view->requests;
    const uint32_t *running = s->running;
    const int32_t *n_table_blocks = fill->view->n_table_blocks;
    int64_t block_tokens = fill->budget.services[service].block_tokens;
    struct batch_item *items = fill->batch->items + fill->batch->n_items;
    int32_t n_seats = seats_left(fill) - n_seats_kept, n = 0;
    int64_t n_refused = INT64_MAX; /* as many are refused to others too: the rest only shrinks */
    bool is_all = true;
    n_seats =
        min_i32(n_seats, schedule_pipeline_decodes(fill->view, fill->n_deep, service, fill->lane));
    for (uint32_t i = 0; i < s->n_running && n < n_seats; i++) {
        uint32_t slot = running[i];
        const struct request *r = &requests[slot];
        if (i + FETCH_AHEAD < s->n_running)
            __builtin_prefetch(&requests[running[i + FETCH_AHEAD]]);
        if (r->batch != 0 || slot == must)
            continue;
        if (schedule_lacking(r) != 1) {
            is_all = false;
            continue;
        }
        if (r->n_tokens > n_table_blocks[slot] * block_tokens) {
            int64_t n_blocks = blocks_for(fill, slot, r->n_tokens);
            if (n_blocks >= n_refused || !kv_budget_take(&fill->budget, service, n_blocks)) {
                fill->n_blocks_short += n_blocks;
                n_refused = min_i64(n_refused, n_blocks);
                continue;
            }
        }
        items[n++] = (struct batch_item){ slot, 1, 0 };
    }
    fill->batch->n_items += n;
    fill->nobody_catches_up = is_all && n < n_seats;
    return fill->nobody_catches_up;
}

/* Known without a look, or NULL. */
static const struct schedule_booked *booked_of(const struct schedule_fill *fill, int service)
{
    const struct schedule_order *order = fill->order;
    return order->booked != NULL ? order->booked(order->state, fill->view, service) : NULL;
}

/* Takes one part of the service's running requests: the decodes, or those that catch up. */
static void fill_running(struct schedule_fill *fill, int service, bool decodes, uint32_t must,
                         int32_t n_seats_kept)
{
    const struct schedule_service *s = &fill->view->services[service];
    if (decodes) {
        (void)fill_decodes(fill, service, must, n_seats_kept);
        return;
    }
    const struct schedule_booked *booked = booked_of(fill, service);
    if (booked != NULL && booked->n_catching_up == 0)
        return; /* no request catches up */
    for (uint32_t i = 0; i < s->n_running && !fill->nobody_catches_up; i++) {
        const struct request *r = &fill->view->requests[s->running[i]];
        if (schedule_lacking(r) <= 1 || r->batch != 0 || s->running[i] == must)
            continue;
        if (seats_left(fill) <= n_seats_kept)
            return;
        add_running(fill, s->running[i]);
    }
}

/* ---- Waiting requests. ---- */

static int64_t books(const struct schedule_fill *fill, uint32_t slot)
{
    const struct schedule_order *order = fill->order;
    const struct request *r = &fill->view->requests[slot];
    if (order->books != NULL)
        return order->books(order->state, fill->view, slot);
    if (r->state != REQUEST_RUNNING)
        return r->n_tokens;
    int64_t block_tokens = fill->view->kv->services[r->service].block_tokens;
    bool is_over = r->batch != 0 && fill->view->n_deep <= 1;
    return is_over ? 0 : r->n_tokens + fill->config->ahead_blocks * block_tokens;
}

/* Counts the blocks that all running requests of the service have booked but not got. */
static int64_t count_booked(const struct schedule_fill *fill, int service)
{
    const struct schedule_view *view = fill->view;
    const struct schedule_service *s = &view->services[service];
    const struct schedule_order *order = fill->order;
    int64_t n_blocks = 0;
    const struct schedule_booked *booked = booked_of(fill, service);
    if (booked != NULL)
        return booked->n_blocks;
    if (order->books == NULL)
        return schedule_booked_count(view, fill->config, service);
    for (uint32_t i = 0; i < s->n_running; i++) {
        if (i + FETCH_AHEAD < s->n_running)
            __builtin_prefetch(&view->requests[s->running[i + FETCH_AHEAD]]);
        n_blocks += blocks_for(fill, s->running[i], books(fill, s->running[i]));
    }
    return n_blocks;
}

/* Finds the room of new requests: the budget less what all running requests lack to compute their
 * known tokens and a block more each (ahead_blocks). Without the first part, a prompt could start
 * with the blocks of a request that was just preempted for another one's next token. It would be
 * preempted in turn, and so on without end. Without the second part the same would happen every few
 * steps. */
static bool find_room(struct schedule_fill *fill)
{
    if (fill->room_state != ROOM_UNKNOWN)
        return fill->room_state == ROOM_KNOWN;
    const struct schedule_view *view = fill->view;
    copy_budget(&fill->room, view); /* without what running requests take for this batch */
    fill->room_state = ROOM_NONE;
    for (int32_t k = 0; k < schedule_n_busy(view); k++) {
        int i = schedule_busy(view, k);
        if (view->services[i].n_running > 0 &&
            !kv_budget_take(&fill->room, i, count_booked(fill, i)))
            return false;
    }
    fill->room_state = ROOM_KNOWN;
    return true;
}

static bool is_anybody_running(const struct schedule_fill *fill)
{
    for (int32_t i = 0; i < schedule_n_busy(fill->view); i++)
        if (fill->view->services[schedule_busy(fill->view, i)].n_running > 0)
            return true;
    return fill->batch != NULL && fill->batch->n_items > 0;
}

/* Returns whether the blocks of a starting request fit into the room, above the watermark and what
 * is kept for others. A request starts only when all its known tokens fit, so that it can go on. If
 * no request runs nothing is kept: any request that fits the pool starts, since it would otherwise
 * wait without end. */
static bool take_room(struct schedule_fill *fill, uint32_t slot, bool only_asks)
{
    if (!find_room(fill))
        return false;
    struct kv_budget *room = &fill->room;
    int service = fill->view->requests[slot].service;
    struct kv_budget_service before = room->services[service];
    int64_t n_free = room->n_units_free, n_cached = room->n_units_cached;
    int64_t n_owed = room->n_units_owed;
    int64_t n_floor = (int64_t)(fill->config->watermark * (double)room->n_units_open);
    int64_t n_blocks = blocks_for(fill, slot, books(fill, slot));
    if (fill->order->books != NULL)
        n_blocks = min_i64(n_blocks, kv_budget_most_blocks(fill->view->kv, service) -
                                         fill->view->n_table_blocks[slot]);
    n_blocks = max_i64(n_blocks, schedule_fill_lacks(fill->view, slot));
    if (!kv_budget_take(room, service, n_blocks))
        return false;
    bool is_kept = room->services[service].n_units <= fill->n_units_most ||
                   room->n_units_free >= fill->n_units_kept;
    bool fits = (room->n_units_free >= n_floor && is_kept) || !is_anybody_running(fill);
    if (fits && !only_asks)
        return true;
    room->services[service] = before;
    room->n_units_free = n_free;
    room->n_units_cached = n_cached;
    room->n_units_owed = n_owed;
    return fits;
}

bool schedule_fill_has_room(struct schedule_fill *fill)
{
    return find_room(fill);
}

bool schedule_fill_fits(struct schedule_fill *fill, uint32_t slot)
{
    return take_room(fill, slot, true);
}

static bool add_waiting(struct schedule_fill *fill, uint32_t slot)
{
    const struct request *r = &fill->view->requests[slot];
    int32_t n = schedule_lacking(r) == 1 ? 1 : share_of_prompt(fill, r);
    if (n == 0 || !take_room(fill, slot, false) ||
        !kv_budget_take(&fill->budget, r->service,
                        blocks_for(fill, slot, r->n_tokens - schedule_lacking(r) + n)))
        return false;
    add(fill, slot, n);
    return true;
}

static void fill_waiting(struct schedule_fill *fill, int service, uint32_t must)
{
    const struct schedule_service *s = &fill->view->services[service];
    const struct schedule_order *order = fill->order;
    int64_t n_running = s->n_running;
    int32_t n_left = schedule_pipeline_starts(fill->n_deep, s);
    uint32_t slot = order->first(order->state, fill->view, service);
    while (slot != SCHEDULE_NONE && seats_left(fill) > 0 && n_running < fill->n_seqs_most &&
           n_left > 0) {
        if (slot != must) {
            if (!add_waiting(fill, slot))
                return; /* in order: no request overtakes one that does not fit */
            n_running++;
            n_left--;
        }
        slot = order->next(order->state, fill->view, slot);
    }
}

/* ---- A batch. ---- */

static void begin_batch(struct schedule_fill *fill, int service)
{
    struct schedule_plan *plan = fill->plan;
    fill->batch = &plan->batches[plan->n_batches];
    *fill->batch = (struct batch){ .service = (uint16_t)service,
                                   .lane = fill->lane,
                                   .kind = BATCH_COMPUTE,
                                   .items = plan->items + plan->n_items };
    fill->n_prompts = fill->n_new = 0;
    fill->n_blocks_short = 0;
    fill->nobody_catches_up = false;
    fill->before =
        (struct schedule_fill_before){ fill->budget.services[service], fill->budget.n_units_free,
                                       fill->budget.n_units_cached, fill->budget.n_units_owed };
}

/* Frees what the batch took. */
static void give_back(struct schedule_fill *fill, int service)
{
    fill->budget.services[service] = fill->before.service;
    fill->budget.n_units_free = fill->before.n_units_free;
    fill->budget.n_units_cached = fill->before.n_units_cached;
    fill->budget.n_units_owed = fill->before.n_units_owed;
}

/* Takes only the decodes, in one pass, when no request waits and none catches up. Returns false,
 * with nothing taken, when one does. */
static bool fill_only_decodes(struct schedule_fill *fill, int service, unsigned parts,
                              uint32_t must)
{
    const struct schedule_service *s = &fill->view->services[service];
    if ((parts & FILL_DECODES) == 0 || must != SCHEDULE_NONE ||
        ((parts & FILL_WAITING) != 0 && s->n_waiting > 0))
        return false;
    if (fill_decodes(fill, service, must, 0))
        return true;
    give_back(fill, service);
    fill->batch->n_items = 0;
    fill->n_blocks_short = 0;
    return false;
}

static void fill_parts(struct schedule_fill *fill, int service, unsigned parts, uint32_t must)
{
    if (fill_only_decodes(fill, service, parts, must))
        return;
    const struct request *m = must == SCHEDULE_NONE ? NULL : &fill->view->requests[must];
    bool mixes = fill->config->chunk_tokens > 0;
    bool must_starts = m != NULL && m->state == REQUEST_WAITING;
    bool must_decodes = m != NULL && !must_starts && schedule_lacking(m) == 1;
    bool takes_prompts = mixes || !must_decodes;
    if (m != NULL && !must_starts)
        add_running(fill, must);
    if (mixes && (parts & FILL_DECODES) != 0)
        fill_running(fill, service, true, must, must_starts);
    if (must_starts)
        (void)add_waiting(fill, must);
    if ((parts & FILL_CATCHING_UP) != 0 && takes_prompts)
        fill_running(fill, service, false, must, 0);
    if ((parts & FILL_WAITING) != 0 && takes_prompts && fill->n_blocks_short == 0)
        fill_waiting(fill, service, must);
    if (!mixes && (parts & FILL_DECODES) != 0 && (fill->batch->n_items == 0 || must_decodes))
        fill_running(fill, service, true, must, 0);
}

/* Each draft is a row, and takes a seat that is left. */
static void add_drafts(struct schedule_fill *fill)
{
    int32_t n_seats = seats_left(fill);
    int32_t n_rows = fill->batch->n_items - fill->n_prompts + fill->n_new;
    if (fill->counts_decodes)
        n_seats = min_i32(n_seats, fill->config->n_batch_tokens_max - n_rows);
    schedule_drafts_add(fill->view, &fill->budget, fill->batch, n_seats);
}

enum schedule_filled schedule_fill_serve(struct schedule_fill *fill, int service, unsigned parts,
                                         uint32_t must)
{
    struct schedule_plan *plan = fill->plan;
    if (!fill->view->services[service].is_open || plan->n_batches == LIMIT_BATCHES)
        return FILLED_NOTHING;
    begin_batch(fill, service);
    fill_parts(fill, service, parts, must);
    bool goes_on = plan->n_batches > 0 || (fill->is_patient && fill->batch->n_items > 0);
    bool is_short = fill->n_blocks_short > 0 && fill->view->n_in_flight == 0 && !goes_on;
    if (is_short && fill->names_nobody)
        return FILLED_PREEMPTS;
    if (is_short && schedule_fill_preempt(fill, service, fill->n_blocks_short, must, NULL))
        return FILLED_PREEMPTS;
    if (fill->batch->n_items == 0) {
        if (plan->n_batches == 0)
            give_back(fill, service);
        return FILLED_NOTHING;
    }
    if (fill->view->n_drafts != NULL)
        add_drafts(fill);
    plan->n_batches++;
    plan->n_items += fill->batch->n_items;
    plan->n_preempts = 0;
    return FILLED_BATCH;
}
