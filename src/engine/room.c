/* Models enter and leave: the ledger's bytes move between weights and the KV pool.
 *
 *   NONE --engine_make_room--> WANTED --enough units closed--> BOOKED --engine_open_service--> OPEN
 *     ^------engine_close_service----------------------------------|                            |
 *     ^-engine_close_service, none of its requests in flight-- CLOSING <--engine_empty_service--|
 *
 * While a model is WANTED the pool shrinks as requests leave. A request that holds a closing unit
 * is preempted, and is recomputed elsewhere. A request that can't run in what will be left is
 * returned, except when its answer has begun: the model waits for its end. The pool grows back by
 * the bytes that no model has booked or wants. */
#include "engine/room.h"

#include "engine/disk.h"
#include "engine/handover.h"
#include "engine/stats.h"

#include "base/time.h"
#include <string.h>

/* A request that was returned at the end of a slice is back by then. */
static const int64_t AWAY_NS = 5 * TIME_NS_PER_S;

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

static void give_up(struct engine *e, uint32_t slot)
{
    if (!engine_disk_gives_up(e, slot))
        engine_handover_give_up(e, slot);
}

/* Closes units until the ledger has this many bytes free, or all that can go now are gone. */
static void shrink_pool(struct engine *e, int64_t free_bytes)
{
    e->is_pool_shrunk = true;
    for (;;) {
        tell_ledger(e); /* units may have closed since, as their requests left */
        int64_t missing = free_bytes - ledger_free_bytes(&e->ledger);
        if (missing <= 0) {
            (void)kv_shrink(e->kv, 0); /* their memory is given back before the bytes are used */
            return;
        }
        (void)kv_shrink(e->kv, missing);
        tell_ledger(e);
        uint32_t slot = kv_busy_closing(e->kv);
        if (slot == UINT32_MAX)
            return;
        if (e->requests[slot].batch != 0) {
            engine_step_cut(e, 0);
            return;
        }
        if (e->requests[slot].state == REQUEST_LEAVING)
            give_up(e, slot);
        else
            engine_queue_preempt(e, slot);
    }
}

/* Returns the tokens that a request may have in an otherwise empty pool of n_units. The last
 * token's keys are never computed. */
static int64_t most_tokens(const struct engine *e, int service, int64_t n_units)
{
    int32_t block_tokens = kv_layout(e->kv, service)->block_tokens;
    return kv_most_blocks(e->kv, service, n_units) * block_tokens + 1;
}

static bool has_begun(const struct request *r)
{
    return r->n_tokens > r->n_prompt;
}

/* Returns the bytes of models that are leaving. They become free with the last batch in flight. */
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

/* Returns the units that are left when models that want room have their bytes; at least one, since
 * an empty pool serves no request. */
static int64_t units_left(const struct engine *e)
{
    int64_t n_bytes =
        ledger_free_bytes(&e->ledger) + e->ledger.pool_bytes + closing_bytes(e) - e->wanted_sum;
    return max_i64(1, n_bytes / kv_unit_bytes(e->kv));
}

bool engine_room_fits(const struct engine *e, const struct request *request)
{
    int64_t n_units = kv_budget(e->kv)->n_units_open;
    if (e->wanted_sum > 0 && !has_begun(request))
        n_units = min_i64(n_units, units_left(e));
    return request->n_tokens_max <= most_tokens(e, request->service, n_units);
}

/* Returns whether its answer has begun, so that a model that wants room has to wait for it. */
static bool is_waited_for(const struct engine *e, const struct request *r)
{
    return e->wanted_sum > 0 && has_begun(r) &&
           r->n_tokens_max > most_tokens(e, r->service, units_left(e));
}

void engine_room_sliced(struct engine *e, const struct request *r)
{
    struct engine_away *away = &e->away[r->service];
    if (!is_waited_for(e, r))
        return;
    if (e->away_until_ns <= e->view.now_ns)
        memset(e->away, 0, sizeof *e->away * (size_t)e->options.n_services);
    away->n++;
    away->n_tokens_max = max_i32(away->n_tokens_max, r->n_tokens_max);
    e->away_until_ns = e->view.now_ns + AWAY_NS;
}

void engine_room_back(struct engine *e, const struct request *r)
{
    struct engine_away *away = &e->away[r->service];
    if (away->n > 0 && is_waited_for(e, r) && --away->n == 0)
        away->n_tokens_max = 0;
}

int64_t engine_room_wake_ns(const struct engine *e)
{
    bool is_kept = e->wanted_sum > 0 && e->away_until_ns > e->view.now_ns;
    return is_kept ? e->away_until_ns : TIME_NEVER;
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

static bool is_here(const struct request *r)
{
    return r->state == REQUEST_WAITING || r->state == REQUEST_RUNNING ||
           r->state == REQUEST_ARRIVING;
}

/* Returns requests that the smaller pool can never hold, since another engine may have room. */
static void return_giants(struct engine *e)
{
    for (uint32_t slot = 0; slot < e->options.n_requests_max; slot++) {
        const struct request *r = &e->requests[slot];
        if (is_here(r) && !engine_room_fits(e, r))
            engine_queue_end_soon(e, slot, SERVICE_RETURNED, SERVICE_NO_SPACE);
    }
}

/* Returns the smallest pool that holds n_tokens of the service; the present one, if it does not. */
static int64_t units_for(const struct engine *e, int service, int32_t n_tokens)
{
    int64_t low = 1, high = kv_budget(e->kv)->n_units_open;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (n_tokens <= most_tokens(e, service, middle))
            high = middle;
        else
            low = middle + 1;
    }
    return high;
}

/* Returns the bytes of the pool that begun answers need, one at a time: those here, and those that
 * wait for their next slice. */
static int64_t begun_bytes(const struct engine *e)
{
    int32_t n_tokens[LIMIT_SERVICES] = { 0 };
    int64_t n_units = 1;
    for (int service = 0; service < e->options.n_services; service++)
        if (e->away_until_ns > e->view.now_ns)
            n_tokens[service] = e->away[service].n_tokens_max;
    for (uint32_t slot = 0; slot < e->options.n_requests_max; slot++) {
        const struct request *r = &e->requests[slot];
        if (is_here(r) && has_begun(r) && engine_room_fits(e, r))
            n_tokens[r->service] = max_i32(n_tokens[r->service], r->n_tokens_max);
    }
    for (int service = 0; service < e->options.n_services; service++)
        if (n_tokens[service] > 0)
            n_units = max_i64(n_units, units_for(e, service, n_tokens[service]));
    return n_units * kv_unit_bytes(e->kv);
}

/* Returns the bytes that models not booked yet could have beside a pool of pool_bytes. */
static int64_t unbooked_bytes(const struct engine *e, int64_t pool_bytes)
{
    return ledger_free_bytes(&e->ledger) + e->ledger.pool_bytes - pool_bytes;
}

void engine_room_press(struct engine *e)
{
    int64_t sum = e->wanted_sum;
    if (sum == 0 && !e->is_pool_shrunk)
        return; /* nearly always */
    int64_t wanted = sum == 0 ? 0 : min_i64(sum, unbooked_bytes(e, begun_bytes(e)));
    if (sum > 0)
        return_giants(e);
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
                                  .have_bytes =
                                      unbooked_bytes(e, kv_unit_bytes(e->kv)) + closing_bytes(e),
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

void engine_room_return_all(struct engine *e, int service, enum service_why why)
{
    struct schedule_service *s = &e->services[service];
    while (s->first_waiting != SCHEDULE_NONE)
        engine_queue_end(e, s->first_waiting, SERVICE_RETURNED, why);
    for (uint32_t i = s->n_running; i-- > 0;) /* from the end, since the array closes up behind */
        engine_queue_end_soon(e, s->running[i], SERVICE_RETURNED, why);
    engine_handover_return_all(e, service, why);
    engine_disk_return_all(e, service, why);
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
        engine_room_return_all(e, service, SERVICE_DRAINING);
    }
    return e->services[service].n_running == 0 && !engine_handover_is_leaving(e, service) &&
           !engine_disk_is_leaving(e, service);
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
