/* Models come and go: the ledger's bytes move between weights and the KV pool.
 *
 *   NONE --engine_make_room--> WANTED --enough units closed--> BOOKED --engine_open_service--> OPEN
 *     ^------engine_close_service----------------------------------|                            |
 *     ^-engine_close_service, none of its requests in flight-- CLOSING <--engine_empty_service--|
 *
 * While a model is WANTED the pool shrinks as requests leave; who holds a closing unit is preempted
 * and computes again elsewhere. The pool grows back by whatever nobody has booked or wants. */
#include "engine/room.h"
#include "engine/steady.h"

static void set_wanted(struct engine *e, int service, int64_t n_bytes)
{
    e->wanted_sum += n_bytes - e->wanted_bytes[service];
    e->wanted_bytes[service] = n_bytes;
}

static void tell_ledger(struct engine *e)
{
    CHECK(ledger_set_pool(&e->ledger, kv_open_bytes(e->kv)));
}

static void grow_pool(struct engine *e)
{
    tell_ledger(e);
    int64_t n_bytes = ledger_free_bytes(&e->ledger) - e->wanted_sum;
    if (n_bytes >= 0)
        (void)kv_grow(e->kv, n_bytes);
    tell_ledger(e);
    e->is_pool_shrunk =
        kv_open_bytes(e->kv) > kv_budget(e->kv)->n_units_open * kv_unit_bytes(e->kv);
}

/* Closes units until the ledger has this many bytes free, or all that can go now are gone. */
static void shrink_pool(struct engine *e, int64_t free_bytes)
{
    e->is_pool_shrunk = true;
    for (;;) {
        tell_ledger(e); /* units may have closed since: as their requests left */
        int64_t missing = free_bytes - ledger_free_bytes(&e->ledger);
        if (missing <= 0) {
            (void)kv_shrink(e->kv, 0); /* their memory goes back before anyone uses the bytes */
            return;
        }
        (void)kv_shrink(e->kv, missing);
        tell_ledger(e);
        uint32_t slot = kv_busy_closing(e->kv);
        if (slot == UINT32_MAX)
            return;
        if (e->own[slot].is_steady)
            engine_steady_pin(e, e->requests[slot].service);
        if (e->requests[slot].batch != 0) {
            engine_step_cut(e, 0);
            return;
        }
        engine_queue_preempt(e, slot);
    }
}

/* Tokens that a request may have in a pool of so many units that is otherwise empty; the last one's
 * keys are never computed. */
static int64_t most_tokens(const struct engine *e, int service, int64_t n_units)
{
    int32_t block_tokens = kv_layout(e->kv, service)->block_tokens;
    return kv_most_blocks(e->kv, service, n_units) * block_tokens + 1;
}

bool engine_room_fits(const struct engine *e, const struct request *request)
{
    int64_t n_units = kv_budget(e->kv)->n_units_open;
    return request->n_tokens_max <= most_tokens(e, request->service, n_units);
}

int64_t engine_room_most_tokens(const struct engine *e, int service)
{
    int64_t bytes = e->ledger.total_bytes - e->ledger.models[service].weights_bytes -
                    e->ledger.models[service].activation_bytes;
    if (e->options.kv_bytes_max > 0)
        bytes = min_i64(bytes, e->options.kv_bytes_max);
    return most_tokens(e, service,
                       max_i64(kv_budget(e->kv)->n_units_open, bytes / kv_unit_bytes(e->kv)));
}

/* Those that the smaller pool can never hold go home: another engine may have room. */
static void return_giants(struct engine *e)
{
    for (uint32_t slot = 0; slot < e->options.n_requests_max; slot++) {
        const struct request *r = &e->requests[slot];
        if ((r->state == REQUEST_WAITING || r->state == REQUEST_RUNNING) && !engine_room_fits(e, r))
            engine_queue_end_soon(e, slot, SERVICE_RETURNED, SERVICE_NO_SPACE);
    }
}

/* Bytes that models not booked yet could have: a pool of nothing serves nobody. */
static int64_t unbooked_bytes(const struct engine *e)
{
    return ledger_free_bytes(&e->ledger) + e->ledger.pool_bytes - kv_unit_bytes(e->kv);
}

/* Bytes of models that are leaving: they come back with the last batch in flight. */
static int64_t closing_bytes(const struct engine *e)
{
    int64_t sum = 0;
    for (int service = 0; service < e->options.n_services; service++) {
        if (e->room_state[service] == ENGINE_ROOM_CLOSING)
            sum += e->ledger.models[service].weights_bytes +
                   e->ledger.models[service].activation_bytes;
    }
    return sum;
}

void engine_room_press(struct engine *e)
{
    int64_t sum = e->wanted_sum;
    if (sum == 0 && !e->is_pool_shrunk)
        return; /* nearly always */
    int64_t wanted = min_i64(sum, unbooked_bytes(e));
    if (wanted > 0)
        shrink_pool(e, wanted);
    else if (e->is_pool_shrunk)
        grow_pool(e);
}

bool engine_room_make(struct engine *e, int service, int64_t weights_bytes,
                      int64_t activation_bytes, struct engine_room *room)
{
    CHECK(service >= 0 && service < e->options.n_services);
    uint8_t *state = &e->room_state[service];
    int64_t need = weights_bytes + activation_bytes;
    CHECK(*state == ENGINE_ROOM_NONE || *state == ENGINE_ROOM_WANTED);
    *room = (struct engine_room){ .need_bytes = need,
                                  .have_bytes = unbooked_bytes(e) + closing_bytes(e),
                                  .most_bytes = e->ledger.total_bytes - kv_unit_bytes(e->kv) };
    room->never = need > room->have_bytes;
    set_wanted(e, service, room->never ? 0 : need);
    *state = room->never ? ENGINE_ROOM_NONE : ENGINE_ROOM_WANTED;
    set_add(&e->listed, service);
    if (room->never) {
        grow_pool(e);
        return false;
    }
    engine_room_press(e);
    if (!ledger_take_model(&e->ledger, service, weights_bytes, activation_bytes))
        return false;
    set_wanted(e, service, 0);
    *state = ENGINE_ROOM_BOOKED;
    grow_pool(e);
    return_giants(e);
    return true;
}

void engine_room_open(struct engine *e, int service, const struct perf *perf)
{
    CHECK(service >= 0 && service < e->options.n_services);
    CHECK(e->room_state[service] == ENGINE_ROOM_BOOKED ||
          e->room_state[service] == ENGINE_ROOM_NONE);
    e->room_state[service] = ENGINE_ROOM_OPEN;
    set_add(&e->listed, service);
    e->services[service].is_open = true;
    e->view.n_changes++;
    e->services[service].weights_bytes = e->ledger.models[service].weights_bytes;
    engine_stats_init(e, service, perf);
}

/* All of its requests go home; those in flight when their batch commits. */
static void return_all(struct engine *e, int service)
{
    struct schedule_service *s = &e->services[service];
    while (s->first_waiting != SCHEDULE_NONE)
        engine_queue_end(e, s->first_waiting, SERVICE_RETURNED, SERVICE_DRAINING);
    for (uint32_t i = s->n_running; i-- > 0;) /* from the end: the array closes up behind */
        engine_queue_end_soon(e, s->running[i], SERVICE_RETURNED, SERVICE_DRAINING);
    engine_step_cut(e, 0);
}

bool engine_room_empty(struct engine *e, int service)
{
    CHECK(service >= 0 && service < e->options.n_services);
    uint8_t *state = &e->room_state[service];
    if (*state == ENGINE_ROOM_OPEN) {
        e->services[service].is_open = false;
        e->view.n_changes++;
        *state = ENGINE_ROOM_CLOSING;
        return_all(e, service);
    }
    return e->services[service].n_running == 0;
}

bool engine_room_close(struct engine *e, int service)
{
    if (!engine_room_empty(e, service))
        return false;
    kv_forget(e->kv, service);
    ledger_put_model(&e->ledger, service);
    set_wanted(e, service, 0);
    e->room_state[service] = ENGINE_ROOM_NONE;
    grow_pool(e);
    return true;
}
