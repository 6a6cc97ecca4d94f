/* See handover.h: how KV leaves an engine, and how it arrives. */
#include "engine/handover.h"

#include "base/mem.h"
#include "engine/exchange.h"
#include "engine/copies.h"
#include "engine/stats.h"
#include <string.h>

struct keep {        /* KV in the host tier whose request is over here */
    uint64_t ticket; /* 0: unused */
    int64_t until_ns;
    struct hash128 *tokens; /* (n_blocks_max) */
};
struct arrival {
    uint32_t slot;
    int32_t n, n_blocks, at; /* positions, blocks, those that came */
    uint64_t ticket, session;
    struct hash128 tokens; /* up to the last block that came */
    struct kv_host_view view;
    int64_t late_ns; /* when the next block was first late; 0: it was not */
};
_Static_assert(sizeof(struct exchange_stamp) == 120, "no byte of it is padding");
struct engine_handover {
    struct exchange *exchange;
    uint64_t session;
    int32_t n_blocks_max;
    uint32_t n_keeps, n_keeps_max, n_leaving, n_arriving;
    struct keep keeps[ENGINE_KEEPS_MAX];
    uint32_t leaving[ENGINE_KEEPS_MAX]; /* slots, not in flight or in flight */
    struct arrival arriving[ENGINE_KEEPS_MAX];
    struct hash128 *memory;
};

uint32_t engine_handover_keeps(const struct engine_options *o)
{
    return o->exchange != NULL && o->swap_bytes > 0 && o->exec.host != NULL ? ENGINE_KEEPS_MAX : 0;
}

void engine_handover_open(struct engine *e)
{
    const struct engine_options *o = &e->options;
    if (engine_handover_keeps(o) == 0 || kv_host_bytes(e->kv) == 0)
        return;
    struct engine_handover *h = mem_take(sizeof *h);
    h->exchange = o->exchange;
    h->session = exchange_begin(o->exchange);
    h->n_keeps_max = ENGINE_KEEPS_MAX;
    h->n_blocks_max = o->n_tokens_max / o->kv_bounds.block_tokens_min + 1;
    h->memory = mem_take((size_t)h->n_blocks_max * h->n_keeps_max * sizeof *h->memory);
    for (uint32_t i = 0; i < h->n_keeps_max; i++)
        h->keeps[i].tokens = h->memory + (size_t)h->n_blocks_max * i;
    e->handover = h;
}

void engine_handover_close(struct engine *e)
{
    if (e->handover == NULL)
        return;
    engine_handover_withdraw_all(e);
    mem_give(e->handover->memory);
    mem_give(e->handover);
}

/* ---- What both sides know of a block. ---- */

/* Writes what is the same for all blocks of the request. */
static struct exchange_stamp stamp_of(const struct engine *e, uint32_t slot)
{
    const struct request *r = &e->requests[slot];
    const struct service_spec *spec = &e->specs[r->service];
    const struct kv_layout *layout = kv_layout(e->kv, r->service);
    const struct engine_exec *exec = &e->options.exec;
    return (struct exchange_stamp){
        .id = r->id,
        .service = hash_fast(spec->name, strlen(spec->name), spec->identity).low,
        .arithmetic = exec->arithmetic != NULL ? exec->arithmetic(exec->self, r->service) : 0,
        .bytes_per_token = layout->bytes_per_token,
        .block_bytes = layout->block_bytes,
        .block_tokens = layout->block_tokens,
        .units_per_block = layout->units_per_block,
        .epoch = r->epoch,
        .n_prompt = r->n_prompt,
        .has_row_classes = exec->has_row_classes,
        .kind = kv_kind(e->kv),
    };
}

/* Returns the hash of all tokens up to the end of block i, from that of the block before. */
static struct hash128 hash_tokens(struct hash128 before, const struct request *r,
                                  const int32_t *tokens, int32_t from, int32_t n)
{
    const struct {
        struct hash128 before;
        uint64_t tenant;
        int32_t from, n;
        uint64_t variant;
    } head = { before, r->tenant, from, n, r->variant };
    _Static_assert(sizeof head == 40, "no byte of it is padding");
    return hash_secure(&head, sizeof head, tokens + from, (size_t)n * sizeof *tokens);
}

/* ---- The source. ---- */

static struct keep *free_keep(struct engine_handover *h)
{
    for (uint32_t i = 0; i < h->n_keeps_max; i++)
        if (h->keeps[i].ticket == 0)
            return &h->keeps[i];
    return NULL;
}

static uint32_t row_of(const struct engine *e, const struct keep *keep)
{
    return e->options.n_requests_max + (uint32_t)(keep - e->handover->keeps);
}

/* Keeps what the slot has in the host tier, n positions, and offers it. Its last event says so. */
static void keep_and_offer(struct engine *e, uint32_t slot, int32_t n)
{
    struct engine_handover *h = e->handover;
    const struct request *r = &e->requests[slot];
    struct keep *keep = free_keep(h);
    struct exchange_offer offer = { .stamp = stamp_of(e, slot), .n_positions = n };
    const int32_t *tokens = engine_bodies_at(e->bodies, r->body).tokens;
    struct hash128 before = { 0, 0 };
    int32_t block_tokens = offer.stamp.block_tokens;
    if (keep == NULL || e->is_lost) {
        kv_host_put(e->kv, slot);
        return;
    }
    kv_host_move(e->kv, slot, row_of(e, keep));
    for (int32_t at = 0, i = 0; at < n; at += block_tokens, i++)
        keep->tokens[i] = before =
            hash_tokens(before, r, tokens, at, min_i32(block_tokens, n - at));
    offer.stamp.session = h->session;
    offer.view = kv_host_view(e->kv, r->service, row_of(e, keep));
    offer.base = e->options.exec.host(e->options.exec.self);
    offer.tokens = keep->tokens;
    offer.wake = e->options.wake;
    offer.wake_self = e->options.wake_self;
    keep->ticket = exchange_offer(h->exchange, &offer);
    if (keep->ticket == 0) {
        kv_host_put(e->kv, row_of(e, keep));
        return;
    }
    keep->until_ns = e->view.now_ns + ENGINE_KEEP_NS;
    h->n_keeps++;
    e->stats[r->service].n_kept++;
    e->kept[slot] = (struct engine_kept){ keep->ticket, n };
}

static void forget(struct engine *e, struct keep *keep)
{
    exchange_withdraw(e->handover->exchange, keep->ticket);
    kv_host_put(e->kv, row_of(e, keep));
    keep->ticket = 0;
    e->handover->n_keeps--;
}

void engine_handover_withdraw_all(struct engine *e)
{
    for (uint32_t i = 0; e->handover != NULL && i < e->handover->n_keeps_max; i++)
        if (e->handover->keeps[i].ticket != 0)
            forget(e, &e->handover->keeps[i]);
}

bool engine_handover_leaves(struct engine *e, uint32_t slot, enum service_what what,
                            enum service_why why)
{
    struct engine_handover *h = e->handover;
    struct request *r = &e->requests[slot];
    if (h == NULL || e->is_lost || what != SERVICE_RETURNED || r->kind != REQUEST_GENERATE ||
        (why != SERVICE_LEASE_OVER && why != SERVICE_DRAINING) || h->n_leaving == ENGINE_KEEPS_MAX)
        return false;
    if (r->state == REQUEST_WAITING &&
        r->n_host > 0) { /* it was swapped out, so its KV lies there already */
        int32_t n = r->n_host;
        r->n_host = 0;
        e->n_on_host--;
        keep_and_offer(e, slot, n);
        return false;
    }
    if (r->state != REQUEST_RUNNING || r->n_computed == 0 || free_keep(h) == NULL)
        return false;
    h->leaving[h->n_leaving++] = slot;
    return true;
}

static void strike(struct engine_handover *h, uint32_t slot)
{
    uint32_t i = 0;
    while (h->leaving[i] != slot)
        CHECK(++i < h->n_leaving);
    h->leaving[i] = h->leaving[--h->n_leaving];
}

void engine_handover_give_up(struct engine *e, uint32_t slot)
{
    CHECK(e->requests[slot].state == REQUEST_LEAVING && e->requests[slot].batch == 0);
    strike(e->handover, slot);
    engine_queue_over(e, slot);
}

void engine_handover_came_out(struct engine *e, uint32_t slot, bool is_failed)
{
    struct request *r = &e->requests[slot];
    r->batch = 0;
    if (is_failed)
        kv_host_put(e->kv, slot);
    else
        keep_and_offer(e, slot, r->n_computed);
    engine_handover_give_up(e, slot);
}

bool engine_handover_is_leaving(const struct engine *e, int service)
{
    for (uint32_t i = 0; e->handover != NULL && i < e->handover->n_leaving; i++)
        if (e->requests[e->handover->leaving[i]].service == service)
            return true;
    return false;
}

bool engine_handover_is_arriving(const struct engine *e, int service)
{
    for (uint32_t i = 0; e->handover != NULL && i < e->handover->n_arriving; i++)
        if (e->requests[e->handover->arriving[i].slot].service == service)
            return true;
    return false;
}

/* Begins the copies of one service's requests, if a lane is free. */
static void begin_leaving(struct engine *e)
{
    struct engine_handover *h = e->handover;
    struct engine_flight *flight = NULL;
    int32_t lane = engine_copies_lane(e);
    for (uint32_t i = h->n_leaving; i-- > 0;) {
        uint32_t slot = h->leaving[i];
        struct request *r = &e->requests[slot];
        if (r->batch != 0 || (flight != NULL && flight->batch.service != r->service))
            continue;
        if (e->is_lost) {
            engine_handover_give_up(e, slot);
            continue;
        }
        if (flight == NULL && (lane < 0 || engine_step_free_flight(e) == NULL))
            return;
        if (!kv_host_take(e->kv, r->service, slot, r->n_computed)) {
            engine_handover_give_up(e, slot);
            continue;
        }
        if (flight == NULL) {
            flight = engine_step_free_flight(e);
            engine_copies_start(e, flight, BATCH_COPY_OUT, r->service, (uint16_t)lane);
        }
        flight->batch.items[flight->batch.n_items++] =
            (struct batch_item){ slot, r->n_computed, 0 };
        r->batch = flight->batch.id;
        e->view.n_in_flight++;
    }
    if (flight != NULL)
        engine_copies_begin(e, &flight->batch, 1);
}

/* ---- The receiver. ---- */

bool engine_handover_arrives(struct engine *e, uint32_t slot, uint64_t ticket, int32_t n)
{
    struct engine_handover *h = e->handover;
    struct request *r = &e->requests[slot];
    if (ticket == 0 || n <= 0 || e->options.is_virtual)
        return false;
    if (h == NULL || n >= r->n_tokens || h->n_arriving == ENGINE_KEEPS_MAX ||
        (r->flags & REQUEST_NO_PREFIX_HIT) != 0 || !kv_host_take(e->kv, r->service, slot, n)) {
        e->stats[r->service].n_handed_lost++;
        return false;
    }
    struct kv_host_view view = kv_host_view(e->kv, r->service, slot);
    h->arriving[h->n_arriving++] = (struct arrival){
        .slot = slot, .n = n, .n_blocks = view.n_blocks, .ticket = ticket, .view = view
    };
    r->state = REQUEST_ARRIVING;
    return true;
}

static struct arrival *find_arrival(struct engine_handover *h, uint32_t slot)
{
    uint32_t i = 0;
    while (h->arriving[i].slot != slot)
        CHECK(++i < h->n_arriving);
    return &h->arriving[i];
}

static void end_arrival(struct engine *e, struct arrival *a)
{
    struct engine_handover *h = e->handover;
    exchange_acknowledge(h->exchange, a->ticket);
    *a = h->arriving[--h->n_arriving];
}

void engine_handover_stays_away(struct engine *e, uint32_t slot)
{
    kv_host_put(e->kv, slot);
    end_arrival(e, find_arrival(e->handover, slot));
}

void engine_handover_return_all(struct engine *e, int service, enum service_why why)
{
    struct engine_handover *h = e->handover;
    for (uint32_t i = h != NULL ? h->n_arriving : 0; i-- > 0;)
        if (e->requests[h->arriving[i].slot].service == service)
            engine_queue_end(e, h->arriving[i].slot, SERVICE_RETURNED, why);
}

/* Checks all of a block against what it must be here. Updates the hash of the tokens. */
static bool matches(const struct engine *e, struct arrival *a, const struct exchange_stamp *stamp,
                    const unsigned char *bytes)
{
    const struct request *r = &e->requests[a->slot];
    const int32_t *tokens = engine_bodies_at(e->bodies, r->body).tokens;
    struct exchange_stamp expected = stamp_of(e, a->slot);
    expected.position = a->at * expected.block_tokens;
    expected.n_tokens = min_i32(expected.block_tokens, a->n - expected.position);
    expected.tokens = a->tokens =
        hash_tokens(a->tokens, r, tokens, expected.position, expected.n_tokens);
    expected.checksum = hash_fast(bytes, (size_t)expected.block_bytes, 0);
    expected.session = stamp->session; /* these three are named by the ticket */
    expected.serial = stamp->serial;
    expected.epoch = stamp->epoch;
    return exchange_ticket(stamp) == a->ticket && stamp->epoch < r->epoch &&
           memcmp(stamp, &expected, sizeof expected) == 0;
}

enum arrival_state { ARRIVAL_GOES_ON, ARRIVAL_LATE, ARRIVAL_COMPLETE, ARRIVAL_VOID };

/* Pulls one block. */
static enum arrival_state pull(struct engine *e, struct arrival *a)
{
    struct exchange_stamp stamp;
    struct kv_host_view next = a->view;
    unsigned char *base = e->options.exec.host(e->options.exec.self);
    unsigned char *to = base + kv_host_view_next(&next);
    enum exchange_said said =
        exchange_pull(e->handover->exchange, a->ticket, a->at, &stamp, to, a->view.block_bytes);
    if (said == EXCHANGE_LATER) {
        if (a->late_ns == 0)
            a->late_ns = e->view.now_ns;
        bool is_lost = e->view.now_ns - a->late_ns >= ENGINE_LATER_NS;
        return is_lost ? ARRIVAL_VOID : ARRIVAL_LATE;
    }
    if (said != EXCHANGE_BLOCK || !matches(e, a, &stamp, to))
        return ARRIVAL_VOID;
    a->late_ns = 0;
    a->view = next;
    return ++a->at == a->n_blocks ? ARRIVAL_COMPLETE : ARRIVAL_GOES_ON;
}

/* The request waits from now on, with its KV in host memory or without. */
static void arrive(struct engine *e, struct arrival *a, bool has_kv)
{
    uint32_t slot = a->slot;
    struct request *r = &e->requests[slot];
    if (has_kv) {
        r->n_host = a->n;
        e->n_on_host++;
        e->stats[r->service].n_handed++;
    } else {
        kv_host_put(e->kv, slot);
        e->stats[r->service].n_handed_lost++;
    }
    end_arrival(e, a);
    engine_queue_arrive(e, slot);
}

/* Returns whether more of it can come at once. */
static bool pull_some(struct engine *e, struct arrival *a, int64_t *n_bytes_left)
{
    while (*n_bytes_left > 0) {
        enum arrival_state state = pull(e, a);
        *n_bytes_left -= a->view.block_bytes;
        if (state == ARRIVAL_LATE)
            return false;
        if (state != ARRIVAL_GOES_ON) {
            arrive(e, a, state == ARRIVAL_COMPLETE);
            return false;
        }
    }
    return true;
}

int64_t engine_handover_step(struct engine *e)
{
    struct engine_handover *h = e->handover;
    int64_t wake_ns = TIME_NEVER, n_bytes_left = ENGINE_PULL_BYTES;
    if (h == NULL || h->n_keeps + h->n_leaving + h->n_arriving == 0)
        return TIME_NEVER;
    for (uint32_t i = h->n_arriving; i-- > 0;)
        if (pull_some(e, &h->arriving[i], &n_bytes_left))
            wake_ns = e->view.now_ns;
    if (h->n_arriving > 0) /* late ones, or what did not fit into this step */
        wake_ns = min_i64(wake_ns, e->view.now_ns + TIME_NS_PER_MS);
    for (uint32_t i = 0; i < h->n_keeps_max && h->n_keeps > 0; i++) {
        struct keep *keep = &h->keeps[i];
        if (keep->ticket == 0)
            continue;
        if (keep->until_ns <= e->view.now_ns || exchange_is_taken(h->exchange, keep->ticket))
            forget(e, keep);
        else
            wake_ns = min_i64(wake_ns, keep->until_ns);
    }
    begin_leaving(e);
    return wake_ns;
}

bool engine_handover_is_sound(const struct engine *e, uint32_t *n_away)
{
    const struct engine_handover *h = e->handover;
    uint32_t n_keeps = 0;
    *n_away = h != NULL ? h->n_leaving + h->n_arriving : 0;
    for (uint32_t i = 0; h != NULL && i < h->n_keeps_max; i++)
        n_keeps += h->keeps[i].ticket != 0;
    for (uint32_t i = 0; h != NULL && i < h->n_leaving; i++)
        if (e->requests[h->leaving[i]].state != REQUEST_LEAVING)
            return false;
    for (uint32_t i = 0; h != NULL && i < h->n_arriving; i++)
        if (e->requests[h->arriving[i].slot].state != REQUEST_ARRIVING)
            return false;
    return h == NULL || n_keeps == h->n_keeps;
}

bool engine_handover_is_idle(const struct engine *e)
{
    return e->handover == NULL || e->handover->n_keeps == 0;
}
