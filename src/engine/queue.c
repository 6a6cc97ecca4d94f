/* Moves requests through an engine: slots, waiting lists, running arrays. See state.h. */
#include "engine/disk.h"
#include "engine/draft.h"
#include "engine/handover.h"
#include "engine/room.h"
#include "engine/state.h"
#include "engine/stats.h"
#include "engine/swap.h"

#include <string.h>

enum { QUEUE_LOOKS_MAX = 8 }; /* for a request's place in a list, before there is a tree */

void engine_queue_tell(struct engine *e, const struct schedule_event *event)
{
    e->options.policy->saw(e->policy_state, &e->view, event);
}

static void tell_policy(struct engine *e, enum schedule_what what, uint32_t slot)
{
    struct schedule_event event = { .what = what, .now_ns = e->view.now_ns, .slot = slot };
    engine_queue_tell(e, &event);
}

uint32_t engine_queue_take_slot(struct engine *e)
{
    if (e->n_free_slots == 0)
        return SCHEDULE_NONE;
    e->n_free_slots--;
    if (e->first_free == SCHEDULE_NONE)
        return e->n_used++;
    uint32_t slot = e->first_free;
    e->first_free = e->requests[slot].next;
    return slot;
}

void engine_queue_put_slot(struct engine *e, uint32_t slot)
{
    struct request *r = &e->requests[slot];
    CHECK(r->batch == 0 && e->n_table_blocks[slot] == 0);
    engine_ids_remove(&e->by_id, slot);
    if (e->bodies)
        engine_bodies_put(e->bodies, r->body);
    r->state = REQUEST_FREE;
    r->next = e->first_free;
    e->first_free = slot;
    e->n_free_slots++;
}

/* The order of waiting: priority, then arrival in microseconds, then id. 47 bits of microseconds
 * last four years. */
static int64_t waiting_key(const struct request *r)
{
    int64_t arrived_us = max_i64(r->arrived_ns, 0) / 1000;
    return r->priority * (INT64_C(1) << 47) + min_i64(arrived_us, (INT64_C(1) << 47) - 1);
}

bool engine_queue_is_before(const struct engine *e, uint32_t a, uint32_t b)
{
    const struct request *x = &e->requests[a], *y = &e->requests[b];
    int64_t x_key = waiting_key(x), y_key = waiting_key(y);
    return x_key != y_key ? x_key < y_key : x->id < y->id;
}

static void insert(struct engine *e, struct engine_queue *queue, uint32_t slot)
{
    const struct request *r = &e->requests[slot];
    tree_insert(&queue->tree, e->waiting_nodes, slot, waiting_key(r), r->id);
}

/* Returns the request behind the slot when it waits; SCHEDULE_NONE: none. Most new requests are
 * last, and most returning ones are among the first. A tree finds the places of the others. */
static uint32_t find_next(struct engine *e, struct engine_queue *queue, uint32_t first,
                          uint32_t slot)
{
    uint32_t at = first;
    if (queue->tree.n == 0) {
        if (queue->last == SCHEDULE_NONE || engine_queue_is_before(e, queue->last, slot))
            return SCHEDULE_NONE;
        for (int i = 0; i < QUEUE_LOOKS_MAX; i++, at = e->requests[at].next)
            if (engine_queue_is_before(e, slot, at))
                return at;
        for (at = first; at != SCHEDULE_NONE; at = e->requests[at].next)
            insert(e, queue, at);
    }
    insert(e, queue, slot);
    return tree_next(&queue->tree, e->waiting_nodes, slot);
}

/* Updates the ordered list of busy services after the service got its first request, or lost its
 * last. */
static void note_busy(struct engine *e, uint16_t service)
{
    const struct schedule_service *s = &e->services[service];
    uint32_t n = (uint32_t)e->view.n_busy, i = 0;
    bool is_busy = s->n_waiting + s->n_running > 0;
    while (i < n && e->busy[i] < service)
        i++;
    bool is_listed = i < n && e->busy[i] == service;
    if (is_busy && !is_listed) {
        memmove(&e->busy[i + 1], &e->busy[i], (n - i) * sizeof(*e->busy));
        e->busy[i] = service;
        e->view.n_busy++;
    } else if (!is_busy && is_listed) {
        memmove(&e->busy[i], &e->busy[i + 1], (n - i - 1) * sizeof(*e->busy));
        e->view.n_busy--;
    }
}

void engine_queue_wait(struct engine *e, uint32_t slot)
{
    struct request *r = &e->requests[slot];
    struct engine_queue *queue = &e->queues[r->service];
    struct schedule_service *service = &e->services[r->service];
    r->state = REQUEST_WAITING;
    r->next = find_next(e, queue, service->first_waiting, slot);
    r->prev = r->next != SCHEDULE_NONE ? e->requests[r->next].prev : queue->last;
    if (r->next != SCHEDULE_NONE)
        e->requests[r->next].prev = slot;
    else
        queue->last = slot;
    if (r->prev != SCHEDULE_NONE)
        e->requests[r->prev].next = slot;
    else
        service->first_waiting = slot;
    if (service->n_waiting++ + service->n_running == 0)
        note_busy(e, r->service);
    e->own[slot].is_matched = false;
}

/* It does not wait any more, or gives the blocks of its prefix hit back. */
static void forget_hit(struct engine *e, uint32_t slot)
{
    e->n_waiting_matched -= e->own[slot].holds_hit;
    e->own[slot].holds_hit = false;
}

static void leave_waiting(struct engine *e, uint32_t slot)
{
    struct request *r = &e->requests[slot];
    struct engine_queue *queue = &e->queues[r->service];
    struct schedule_service *service = &e->services[r->service];
    if (queue->tree.n > 0)
        tree_remove(&queue->tree, e->waiting_nodes, slot);
    if (r->prev != SCHEDULE_NONE)
        e->requests[r->prev].next = r->next;
    else
        service->first_waiting = r->next;
    if (r->next != SCHEDULE_NONE)
        e->requests[r->next].prev = r->prev;
    else
        queue->last = r->prev;
    r->next = r->prev = SCHEDULE_NONE;
    if (--service->n_waiting + service->n_running == 0)
        note_busy(e, r->service);
    forget_hit(e, slot);
}

/* Notes its service's counts when it begins, and adds the difference when it stops. With several
 * lanes others of its service may run beside it: engine_commit counts its own batches. */
static void look(struct engine *e, uint32_t slot, bool begins)
{
    if (e->seen == NULL || e->n_slots > 1)
        return;
    struct engine_seen *seen = &e->seen[slot];
    const struct engine_stats *stats = &e->stats[e->requests[slot].service];
    uint32_t n_batches = (uint32_t)stats->n_batches, n_rows = (uint32_t)stats->n_batch_rows;
    if (!begins) {
        seen->n_batches += n_batches - seen->batches_from;
        seen->n_rows += n_rows - seen->rows_from;
    }
    seen->batches_from = n_batches;
    seen->rows_from = n_rows;
}

static uint32_t *running_of(struct engine *e, uint16_t service)
{
    return e->running + (size_t)service * e->options.n_requests_max;
}

static void leave_running(struct engine *e, uint32_t slot)
{
    struct schedule_service *service = &e->services[e->requests[slot].service];
    uint32_t *running = running_of(e, e->requests[slot].service);
    uint32_t i = 0;
    look(e, slot, false);
    while (running[i] != slot)
        CHECK(++i < service->n_running);
    service->n_running--;
    memmove(&running[i], &running[i + 1], (service->n_running - i) * sizeof(*running));
    if (service->n_waiting + service->n_running == 0)
        note_busy(e, e->requests[slot].service);
}

void engine_queue_start(struct engine *e, uint32_t slot)
{
    struct request *r = &e->requests[slot];
    if (r->state == REQUEST_RUNNING)
        return;
    CHECK(r->state == REQUEST_WAITING);
    running_of(e, r->service)[e->services[r->service].n_running++] = slot;
    leave_waiting(e, slot);
    engine_draft_forget(e, slot);
    if (r->n_preempted == 0 && r->n_host == 0) /* what has come from elsewhere is no hit */
        r->n_cached = min_i32(r->n_computed, r->n_prompt);
    if (r->queue_us == 0)
        r->queue_us =
            (uint32_t)min_i64(max_i64((e->view.now_ns - r->arrived_ns) / 1000, 1), UINT32_MAX);
    r->state = REQUEST_RUNNING;
    look(e, slot, true);
}

void engine_queue_publish(struct engine *e, uint32_t slot)
{
    const struct request *r = &e->requests[slot];
    if (e->options.has_prefix_cache && e->bodies && r->n_computed > 0)
        kv_publish(e->kv, r, slot, engine_bodies_at(e->bodies, r->body).tokens, r->n_computed);
}

void engine_queue_release(struct engine *e, uint32_t slot)
{
    struct request *r = &e->requests[slot];
    CHECK(r->batch == 0);
    forget_hit(e, slot);
    if (e->n_table_blocks[slot] > 0)
        kv_release(e->kv, slot);
    r->n_computed = 0;
}

void engine_queue_preempt(struct engine *e, uint32_t slot)
{
    struct request *r = &e->requests[slot];
    CHECK(slot < e->options.n_requests_max && r->batch == 0);
    CHECK(r->state == REQUEST_WAITING || r->state == REQUEST_RUNNING);
    bool was_running = r->state == REQUEST_RUNNING;
    if (was_running) {
        leave_running(e, slot);
        engine_queue_publish(e, slot); /* so that it finds its own blocks, if they last */
    }
    engine_queue_release(e, slot);
    if (!was_running)
        return; /* it gave back a prefix hit, no work */
    if (r->n_preempted < UINT16_MAX)
        r->n_preempted++;
    e->stats[r->service].n_preempted++;
    engine_queue_wait(e, slot);
    tell_policy(e, SCHEDULE_PREEMPTED, slot);
}

void engine_queue_match(struct engine *e, uint32_t slot)
{
    struct request *r = &e->requests[slot];
    if (!e->options.has_prefix_cache || !e->bodies || r->n_computed > 0 || r->n_host > 0 ||
        (r->flags & REQUEST_NO_PREFIX_HIT) != 0)
        return;
    CHECK(r->state == REQUEST_WAITING && e->n_table_blocks[slot] == 0);
    const int32_t *tokens = engine_bodies_at(e->bodies, r->body).tokens;
    r->n_computed = kv_match(e->kv, r, slot, tokens, r->n_tokens);
    CHECK(r->n_computed < r->n_tokens);
    e->own[slot].is_matched = true;
    e->own[slot].holds_hit = e->n_table_blocks[slot] > 0;
    e->n_waiting_matched += e->own[slot].holds_hit;
}

bool engine_queue_release_waiting(struct engine *e)
{
    if (e->n_waiting_matched == 0)
        return false;
    for (int service = 0; service < e->options.n_services; service++)
        for (uint32_t slot = e->services[service].first_waiting; slot != SCHEDULE_NONE;
             slot = e->requests[slot].next)
            engine_queue_release(e, slot);
    CHECK(e->n_waiting_matched == 0);
    return true;
}

/* Returns whether it leaves with its KV. */
static bool leave_lists(struct engine *e, uint32_t slot, enum service_what what,
                        enum service_why why)
{
    struct request *r = &e->requests[slot];
    if (r->state == REQUEST_ARRIVING) {
        if (!engine_disk_stays_away(e, slot))
            engine_handover_stays_away(e, slot);
        return false;
    }
    bool leaves = engine_handover_leaves(e, slot, what, why) || engine_disk_leaves(e, slot, why);
    tell_policy(e, SCHEDULE_GONE, slot);
    if (why == SERVICE_LEASE_OVER)
        engine_room_sliced(e, r);
    if (r->state == REQUEST_RUNNING && why != SERVICE_CRASHED)
        engine_queue_publish(e, slot);
    if (r->state == REQUEST_WAITING)
        leave_waiting(e, slot);
    else
        leave_running(e, slot);
    return leaves;
}

void engine_queue_end(struct engine *e, uint32_t slot, enum service_what what, enum service_why why)
{
    struct request *r = &e->requests[slot];
    struct engine_own *own = &e->own[slot];
    CHECK(r->batch == 0);
    bool leaves = leave_lists(e, slot, what, why);
    own->end_what = (uint8_t)what;
    own->end_why = (uint8_t)why;
    if (!leaves) {
        engine_queue_over(e, slot);
        return;
    }
    r->state = REQUEST_LEAVING;
    engine_say(e, slot); /* its last tokens do not wait for the copy */
}

void engine_queue_over(struct engine *e, uint32_t slot)
{
    struct engine_own *own = &e->own[slot];
    e->requests[slot].state = REQUEST_ENDED;
    engine_queue_release(e, slot);
    engine_swap_forget(e, slot);
    if (own->has_deadline)
        tree_remove(&e->deadlines, e->deadline_nodes, slot);
    own->has_deadline = false;
    engine_say(e, slot);
}

void engine_queue_arrive(struct engine *e, uint32_t slot)
{
    engine_queue_wait(e, slot);
    engine_stats_arrived(e, &e->requests[slot]);
    tell_policy(e, SCHEDULE_ARRIVED, slot);
    engine_step_cut(e, UNTIL_ARRIVAL);
}

void engine_queue_end_soon(struct engine *e, uint32_t slot, enum service_what what,
                           enum service_why why)
{
    struct engine_own *own = &e->own[slot];
    if (e->requests[slot].state == REQUEST_ENDED || own->end_what != 0)
        return;
    if (e->requests[slot].batch == 0) {
        engine_queue_end(e, slot, what, why);
        return;
    }
    own->end_what = (uint8_t)what;
    own->end_why = (uint8_t)why;
    e->n_marked++;
}
