/* Swaps requests to the host pool and back.
 *
 * Out: a separate batch on a free lane copies the blocks, which become free when it commits. Only
 * then does the request wait again, with n_host positions in host memory. Back: when a plan starts
 * the request, its table is reserved whole. A batch of copies precedes the one that computes, on
 * the same lane. Batches of a lane run in turn, so the positions are there when they are read.
 * Blocks that the host pool has no room for are dropped and recomputed. */
#include "engine/swap.h"

#include "engine/copies.h"
#include "engine/disk.h"
#include "engine/handover.h"
#include "engine/stats.h"
#include "kv/host.h"

#include "metrics/trace.h"

#define SWAP_BYTES_PER_S (INT64_C(4) << 30) /* until the first copy was measured */

void engine_swap_open(struct engine *e)
{
    const struct engine_options *o = &e->options;
    e->view.swap_bytes_per_s = o->swap_bytes_per_s > 0 ? o->swap_bytes_per_s : SWAP_BYTES_PER_S;
    e->view.swap_bytes_free = kv_host_free_bytes(e->kv);
}

int engine_swap_out(struct engine *e, const struct schedule_plan *plan)
{
    struct engine_flight *flights[KV_SERVICES_MAX];
    struct batch begun[LIMIT_BATCHES];
    int32_t lane = engine_copies_lane(e);
    uint8_t place = lane < 0 ? 0 : engine_step_place(e, lane);
    int n_begun = 0;
    for (int32_t i = 0; i < e->view.n_busy; i++)
        flights[e->busy[i]] = NULL;
    for (int32_t i = 0; i < plan->n_preempts; i++) {
        uint32_t slot = plan->preempts[i];
        struct request *r = &e->requests[slot];
        struct engine_flight *flight = flights[r->service];
        if (flight == NULL)
            flight = engine_step_free_flight(e);
        if (!plan->swaps[i] || lane < 0 || flight == NULL || r->state != REQUEST_RUNNING ||
            r->n_computed == 0 || flight->batch.n_items == LIMIT_BATCH_ITEMS ||
            !kv_host_take(e->kv, r->service, slot, r->n_computed)) {
            engine_queue_preempt(e, slot);
            continue;
        }
        if (flights[r->service] == NULL)
            engine_copies_start_at(e, flight, BATCH_COPY_OUT, r->service, (uint16_t)lane, place);
        flights[r->service] = flight;
        flight->batch.items[flight->batch.n_items++] =
            (struct batch_item){ slot, r->n_computed, 0 };
        r->batch = flight->batch.id;
        e->view.n_in_flight++;
    }
    for (int32_t i = 0; i < e->view.n_busy; i++)
        if (flights[e->busy[i]] != NULL)
            begun[n_begun++] = flights[e->busy[i]]->batch;
    if (n_begun > 0)
        engine_copies_begin(e, begun, n_begun);
    return n_begun;
}

bool engine_swap_wants_in(struct engine *e, const struct batch *batch)
{
    bool wants = false;
    for (int32_t i = 0; i < batch->n_items && e->n_on_host > 0; i++) {
        uint32_t slot = batch->items[i].slot;
        struct request *r = &e->requests[slot];
        if (r->n_host == 0)
            continue;
        CHECK(r->state == REQUEST_WAITING && e->n_table_blocks[slot] == 0);
        r->n_computed = r->n_host; /* as if they were here, since they will be before the batch */
        wants = true;
    }
    return wants;
}

void engine_swap_stay_out(struct engine *e, const struct batch *batch)
{
    for (int32_t i = 0; i < batch->n_items && e->n_on_host > 0; i++) {
        struct request *r = &e->requests[batch->items[i].slot];
        if (r->n_host > 0 && r->state == REQUEST_WAITING)
            r->n_computed = 0;
    }
}

struct batch engine_swap_in(struct engine *e, const struct batch *batch)
{
    struct engine_flight *flight = engine_step_free_flight(e);
    CHECK(flight != NULL);
    engine_copies_start_at(e, flight, BATCH_COPY_IN, batch->service, batch->lane, batch->place);
    for (int32_t i = 0; i < batch->n_items; i++) {
        uint32_t slot = batch->items[i].slot;
        if (e->requests[slot].n_host > 0)
            flight->batch.items[flight->batch.n_items++] =
                (struct batch_item){ slot, e->requests[slot].n_host, 0 };
    }
    return flight->batch;
}

void engine_swap_arrives(struct engine *e, uint32_t slot, int32_t n)
{
    struct request *r = &e->requests[slot];
    CHECK(e->options.is_virtual && n < r->n_tokens && r->state != REQUEST_RUNNING);
    if (!kv_host_take(e->kv, r->service, slot, n))
        return;
    r->n_host = n;
    e->n_on_host++;
}

void engine_swap_forget(struct engine *e, uint32_t slot)
{
    struct request *r = &e->requests[slot];
    if (r->n_host == 0)
        return;
    kv_host_put(e->kv, slot);
    r->n_host = 0;
    e->n_on_host--;
}

/* ---- Commit. ---- */

static void came_out(struct engine *e, uint32_t slot, bool is_failed)
{
    struct request *r = &e->requests[slot];
    struct engine_own *own = &e->own[slot];
    if (r->state == REQUEST_LEAVING) {
        if (!engine_disk_came_out(e, slot, is_failed))
            engine_handover_came_out(e, slot, is_failed);
        return;
    }
    r->batch = 0;
    if (own->end_what != 0 || is_failed) {
        kv_host_put(e->kv, slot);
    } else {
        r->n_host = r->n_computed;
        e->n_on_host++;
        e->stats[r->service].n_swapped++;
        if (e->seen != NULL)
            e->seen[slot].n_swapped++;
    }
    if (own->end_what != 0)
        engine_queue_end(e, slot, own->end_what, own->end_why);
    else
        engine_queue_preempt(e, slot);
}

static void look_at_clock(struct engine *e, const struct batch *batch, int64_t ns)
{
    int64_t n_bytes = 0;
    for (int32_t i = 0; i < batch->n_items; i++)
        n_bytes += batch->items[i].n_tokens * kv_layout(e->kv, batch->service)->bytes_per_token;
    int64_t measured = (int64_t)((double)n_bytes * 1e9 / (double)max_i64(ns, 1));
    if (!e->options.is_virtual)
        e->view.swap_bytes_per_s += (measured - e->view.swap_bytes_per_s) / 8;
    e->view.swap_bytes_per_s = max_i64(e->view.swap_bytes_per_s, 1);
}

void engine_swap_commit(struct engine *e, struct engine_flight *flight,
                        const struct engine_exec_done *done)
{
    struct batch *batch = &flight->batch;
    bool is_out = batch->kind == BATCH_COPY_OUT;
    int64_t n_tokens = 0;
    for (int32_t i = 0; i < batch->n_items; i++)
        n_tokens += batch->items[i].n_tokens;
    look_at_clock(e, batch, done->end_ns - done->begin_ns);
    if (e->options.trace != NULL)
        metrics_trace_add(e->options.trace,
                          &(struct metrics_trace_batch){ .engine = e->options.id,
                                                         .lane = batch->lane,
                                                         .service = e->specs[batch->service].name,
                                                         .kind = is_out ? "copy out" : "copy in",
                                                         .n_items = batch->n_items,
                                                         .n_tokens = n_tokens,
                                                         .n_rounds = 1,
                                                         .begin_ns = done->begin_ns,
                                                         .end_ns = done->end_ns });
    engine_commit_land(e, flight);
    for (int32_t i = 0; i < batch->n_items; i++) {
        if (is_out)
            came_out(e, batch->items[i].slot, done->is_failed);
        else
            engine_swap_forget(e, batch->items[i].slot);
    }
    batch->n_items = 0;
}
