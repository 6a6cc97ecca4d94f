/* Steady requests: running ones of a simulated engine that do nothing but decode.
 *
 * See schedule/steady.h. A service's set is whole or it is nothing: a request joins when the batch
 * that ended its prompt commits, and leaves when it ends or gives way. A batch that holds the whole
 * set at its beginning commits in one go; whatever the set was not made for (a cancel in flight, a
 * batch of some of them) settles it and takes the ordinary way, after which it is built again.
 *
 * In a pool that names its blocks the tables are always right; in one that counts they are late as
 * the records are, while the pool's own counts are not. */
#include "engine/steady.h"
#include "engine/waits.h"

#include "base/mem.h"
#include "kv/kv.h"
#include <string.h>

enum { STEADY_ROUNDS_MAX = 1 << 30 };

/* Nobody looks at single steps of such an engine: no tokens, log, trace or other lanes. */
static bool is_possible(const struct engine *e)
{
    const struct engine_options *o = &e->options;
    bool is_simple = o->is_virtual && o->says_little && o->trace == NULL && o->log == NULL &&
                     o->planned == NULL && e->n_slots == 1 && e->bodies == NULL &&
                     o->swap_bytes == 0 && !o->policy->pads_batches;
    for (int i = 0; i < o->n_services; i++)
        is_simple &= kv_layout(e->kv, i)->block_tokens <= STEADY_BLOCK_TOKENS_MAX;
    return is_simple;
}

static void settle(void *self, int service)
{
    engine_steady_settle(self, service);
}

void engine_steady_open(struct engine *e)
{
    uint32_t n_max = e->options.n_requests_max;
    e->n_steady_max = n_max < LIMIT_BATCH_ITEMS ? (int32_t)n_max : LIMIT_BATCH_ITEMS;
    e->view.settle = settle;
    e->view.settle_self = e;
    if (!is_possible(e))
        return;
    e->steady = mem_take((size_t)e->options.n_services_max * sizeof(*e->steady));
    for (int i = 0; i < e->options.n_services; i++)
        engine_steady_add(e, i);
}

bool engine_steady_may_add(const struct engine *e, const struct kv_layout *layout)
{
    return e->steady == NULL || layout->block_tokens <= STEADY_BLOCK_TOKENS_MAX;
}

void engine_steady_add(struct engine *e, int service)
{
    size_t n = (size_t)e->n_steady_max;
    if (e->steady == NULL)
        return;
    struct schedule_steady *s = &e->steady[service];
    *s = (struct schedule_steady){ .is_whole = true,
                                   .block_tokens = kv_layout(e->kv, service)->block_tokens };
    s->first_end = s->first_exceed = INT32_MAX;
    s->most_known = INT32_MIN;
    s->items = mem_take(n * sizeof(*s->items));
    s->known = mem_take(n * sizeof(*s->known));
    s->ends = mem_take(n * sizeof(*s->ends));
    s->exceeds = mem_take(n * sizeof(*s->exceeds));
    if (e->options.tells_waits)
        s->gaps = mem_take(n * sizeof(*s->gaps));
    e->services[service].steady = s;
}

void engine_steady_remove(struct engine *e, int service)
{
    if (e->steady == NULL)
        return;
    struct schedule_steady *s = &e->steady[service];
    mem_give(s->items);
    mem_give(s->known);
    mem_give(s->ends);
    mem_give(s->exceeds);
    mem_give(s->gaps);
    *s = (struct schedule_steady){ .n = 0 };
}

void engine_steady_close(struct engine *e)
{
    for (int i = 0; i < e->options.n_services; i++)
        engine_steady_remove(e, i);
    mem_give(e->steady);
}

/* ---- The records. ---- */

/* Brings what its submitter is told up to date. The new ones have had no token here. */
static void tell_gap(struct engine *e, const struct schedule_steady *s, int32_t i)
{
    struct engine_waits *waits = &e->seen[s->items[i].slot].waits;
    waits->gap_ns_max = max_i64(s->gaps[i], i < s->n_old ? s->gap_ns : 0);
    if (i < s->n_old)
        waits->last_ns = s->last_ns;
}

static void settle_one(struct engine *e, const struct schedule_steady *s, int service, int32_t i)
{
    uint32_t slot = s->items[i].slot;
    struct request *r = &e->requests[slot];
    r->n_tokens = s->known[i] + s->n_rounds;
    r->n_computed = r->n_tokens - 1;
    r->served_ns = max_i64(r->served_ns, s->served_ns);
    if (s->gaps != NULL)
        tell_gap(e, s, i);
    if (kv_is_counted(e->kv))
        kv_name(e->kv, service, slot, kv_blocks_for(r->n_computed + s->n_ahead, s->block_tokens));
}

void engine_steady_settle(struct engine *e, int service)
{
    struct schedule_steady *s = e->steady != NULL ? &e->steady[service] : NULL;
    if (s == NULL || !s->is_late)
        return;
    for (int32_t i = 0; i < s->n; i++)
        settle_one(e, s, service, i);
    s->is_late = false;
}

void engine_steady_settle_all(struct engine *e)
{
    for (int32_t i = 0; i < e->view.n_busy && e->steady != NULL; i++)
        engine_steady_settle(e, e->busy[i]);
}

void engine_steady_show(struct engine *e)
{
    for (int i = 0; i < e->options.n_services && e->steady != NULL; i++)
        e->steady[i].is_late = true; /* tables may be late by the blocks of what is in flight */
    engine_steady_settle_all(e);
}

/* The round's phase in which the member needs its next block. */
static int32_t crossing_of(const struct schedule_steady *s, int32_t i)
{
    int32_t bt = s->block_tokens, before = (s->known[i] + s->n_rounds - 1) % bt;
    return (s->phase + (before == 0 ? 0 : bt - before)) % bt;
}

static int32_t least(const int32_t *values, int32_t n)
{
    int32_t first = INT32_MAX;
    for (int32_t i = 0; i < n; i++)
        first = values[i] < first ? values[i] : first;
    return first;
}

static int32_t most(const int32_t *values, int32_t n)
{
    int32_t last = INT32_MIN;
    for (int32_t i = 0; i < n; i++)
        last = values[i] > last ? values[i] : last;
    return last;
}

static void forget(struct engine *e, struct schedule_steady *s)
{
    for (int32_t i = 0; i < s->n; i++)
        e->own[s->items[i].slot].is_steady = false;
    memset(s->n_crossing, 0, sizeof(s->n_crossing));
    s->n = s->n_rounds = s->phase = s->n_ahead = s->n_old = 0;
    s->gap_ns = 0;
    s->n_tokens = 0;
    s->first_end = s->first_exceed = INT32_MAX;
    s->most_known = INT32_MIN;
    s->is_whole = s->is_late = false;
}

static void dissolve(struct engine *e, int service)
{
    engine_steady_settle(e, service);
    forget(e, &e->steady[service]);
}

/* ---- Coming and going. ---- */

/* A token a round until it ends, and blocks for no more than it computed. */
static bool is_steady(const struct engine *e, uint32_t slot)
{
    const struct request *r = &e->requests[slot];
    int32_t block_tokens = kv_layout(e->kv, r->service)->block_tokens;
    return r->state == REQUEST_RUNNING && r->n_tokens - r->n_computed == 1 && r->n_lease == 0 &&
           r->kind == REQUEST_GENERATE && r->n_tokens > r->n_prompt && r->n_host == 0 &&
           r->n_tokens < r->n_tokens_max && r->batch == 0 && e->own[slot].end_what == 0 &&
           e->n_table_blocks[slot] == kv_blocks_for(r->n_computed, block_tokens);
}

/* Where in the set it belongs: behind those that stand before it in `running`. */
static int32_t place_of(const struct engine *e, const struct schedule_steady *s, uint32_t slot)
{
    const struct schedule_service *service = &e->services[e->requests[slot].service];
    int32_t at = s->n;
    for (uint32_t i = service->n_running; at > 0 && service->running[i - 1] != slot; i--)
        at -= e->own[service->running[i - 1]].is_steady;
    return at;
}

static void open_gap(int32_t *values, int32_t at, int32_t n)
{
    if (at < n) /* most come last */
        memmove(values + at + 1, values + at, (size_t)(n - at) * sizeof(*values));
}

/* What the old ones have waited together since the last time is written down for each. */
static void note_gaps(struct schedule_steady *s)
{
    for (int32_t i = 0; i < s->n_old && s->gap_ns > 0; i++)
        s->gaps[i] = max_i64(s->gaps[i], s->gap_ns);
    s->gap_ns = 0;
}

/* All of them have tokens of n_steps rounds. Who came since the last time has not waited since
 * then. */
static void add_gaps(struct engine *e, struct schedule_steady *s, uint16_t lane, int32_t n_steps)
{
    struct engine_rounds rounds = engine_waits_rounds(e, lane, n_steps, 1);
    s->gap_ns = s->n_old > 0 ? max_i64(s->gap_ns, rounds.first_ns - s->last_ns) : 0;
    if (s->n_old < s->n)
        note_gaps(s);
    for (int32_t i = s->n_old; i < s->n; i++) {
        struct engine_waits *waits = &e->seen[s->items[i].slot].waits;
        if (waits->first_ns == 0)
            waits->first_ns = waits->last_ns = rounds.first_ns;
        s->gaps[i] = max_i64(s->gaps[i], rounds.first_ns - waits->last_ns);
    }
    s->n_old = s->n;
    s->gap_ns = max_i64(s->gap_ns, rounds.gap_ns);
    s->last_ns = e->ended_ns;
}

static void insert(struct engine *e, struct schedule_steady *s, uint32_t slot, int32_t at)
{
    const struct request *r = &e->requests[slot];
    int32_t n_beyond = r->n_prompt + r->n_predicted - r->n_tokens;
    bool exceeds = r->n_predicted > 0 && n_beyond >= 0;
    open_gap(s->known, at, s->n);
    open_gap(s->ends, at, s->n);
    open_gap(s->exceeds, at, s->n);
    if (s->gaps != NULL) {
        note_gaps(s);
        for (int32_t i = at; i < s->n_old; i++)
            tell_gap(e, s, i);
        memmove(s->gaps + at + 1, s->gaps + at, (size_t)(s->n - at) * sizeof(*s->gaps));
        s->gaps[at] = e->seen[slot].waits.gap_ns_max;
        s->n_old = min_i32(s->n_old, at);
    }
    if (at < s->n)
        memmove(s->items + at + 1, s->items + at, (size_t)(s->n - at) * sizeof(*s->items));
    s->items[at] = (struct batch_item){ slot, 1, 0 };
    s->known[at] = r->n_tokens - s->n_rounds;
    s->ends[at] = s->n_rounds + r->n_tokens_max - r->n_tokens;
    s->exceeds[at] = exceeds ? s->n_rounds + n_beyond + 1 : INT32_MAX;
    s->most_known = max_i32(s->most_known, s->known[at]);
    s->first_end = min_i32(s->first_end, s->ends[at]);
    s->first_exceed = min_i32(s->first_exceed, s->exceeds[at]);
    s->n_crossing[crossing_of(s, at)]++;
    s->n_tokens += r->n_tokens;
    s->n++;
    e->own[slot].is_steady = true;
}

void engine_steady_join(struct engine *e, uint32_t slot)
{
    const struct request *r = &e->requests[slot];
    struct schedule_steady *s = e->steady != NULL ? &e->steady[r->service] : NULL;
    if (s == NULL || !s->is_whole || e->own[slot].is_steady || r->state != REQUEST_RUNNING ||
        r->n_tokens - r->n_computed != 1 || e->own[slot].end_what != 0)
        return;
    if (s->n_ahead > 0)
        engine_steady_pin(e, r->service);
    else if (!is_steady(e, slot) || s->n == e->n_steady_max)
        dissolve(e, r->service);
    else
        insert(e, s, slot, place_of(e, s, slot));
}

static void close_gap(int32_t *values, int32_t at, int32_t n)
{
    if (at + 1 < n)
        memmove(values + at, values + at + 1, (size_t)(n - at - 1) * sizeof(*values));
}

void engine_steady_leave(struct engine *e, uint32_t slot)
{
    int service = e->requests[slot].service;
    if (!e->own[slot].is_steady)
        return;
    struct schedule_steady *s = &e->steady[service];
    int32_t at = 0;
    while (s->items[at].slot != slot)
        CHECK(++at < s->n);
    settle_one(e, s, service, at);
    s->n_crossing[crossing_of(s, at)]--;
    s->n_tokens -= s->known[at] + s->n_rounds;
    bool was_most = s->known[at] == s->most_known;
    bool was_end = s->ends[at] == s->first_end;
    bool was_exceed = s->exceeds[at] != INT32_MAX && s->exceeds[at] == s->first_exceed;
    close_gap(s->known, at, s->n);
    close_gap(s->ends, at, s->n);
    close_gap(s->exceeds, at, s->n);
    if (s->gaps != NULL) {
        memmove(s->gaps + at, s->gaps + at + 1, (size_t)(s->n - at - 1) * sizeof(*s->gaps));
        s->n_old -= at < s->n_old;
    }
    if (at + 1 < s->n)
        memmove(s->items + at, s->items + at + 1, (size_t)(s->n - at - 1) * sizeof(*s->items));
    s->n--;
    if (was_most)
        s->most_known = most(s->known, s->n);
    if (was_end)
        s->first_end = least(s->ends, s->n);
    if (was_exceed)
        s->first_exceed = least(s->exceeds, s->n);
    e->own[slot].is_steady = false;
}

/* All decodes of the service, if each is steady. */
void engine_steady_build(struct engine *e, int service)
{
    struct schedule_steady *s = e->steady != NULL ? &e->steady[service] : NULL;
    const struct schedule_service *shown = &e->services[service];
    if (s == NULL || s->is_whole)
        return;
    forget(e, s);
    for (uint32_t i = 0; i < shown->n_running; i++) {
        const struct request *r = &e->requests[shown->running[i]];
        if (r->n_tokens - r->n_computed != 1)
            continue;
        if (!is_steady(e, shown->running[i]) || s->n == e->n_steady_max) {
            forget(e, s);
            return;
        }
        insert(e, s, shown->running[i], s->n);
    }
    s->is_whole = true;
}

/* ---- In flight. ---- */

int32_t engine_steady_part(struct engine *e, const struct batch *batch, int n_rounds)
{
    struct schedule_steady *s = e->steady != NULL ? &e->steady[batch->service] : NULL;
    if (s == NULL || s->n == 0)
        return 0;
    if (batch->n_steady > 0) {
        CHECK(batch->n_steady == s->n && batch->n_items >= s->n);
        VERIFY(memcmp(batch->items, s->items, (size_t)s->n * sizeof(*s->items)) == 0);
        if (n_rounds <= schedule_steady_left(s))
            return s->n;
        dissolve(e, batch->service);
        return 0;
    }
    for (int32_t i = 0; i < batch->n_items; i++)
        if (e->own[batch->items[i].slot].is_steady) {
            dissolve(e, batch->service);
            return 0;
        }
    return 0;
}

void engine_steady_take_off(struct engine *e, const struct engine_flight *flight)
{
    int service = flight->batch.service;
    e->steady[service].n_ahead = flight->n_rounds;
}

/* Rounds that the plan's one batch, all of the steady requests, may hold; 0: look at it closer. */
static int rounds_of(const struct engine *e, const struct schedule_steady *s,
                     const struct schedule_plan *plan, int64_t *n_blocks)
{
    int service = plan->batches[0].service, left = schedule_steady_left(s);
    bool is_hold = plan->n_rounds > 1, ends_so = (plan->until & UNTIL_FINISH) != 0;
    int n_rounds = is_hold && ends_so ? min_i32(plan->n_rounds, left) : plan->n_rounds;
    *n_blocks = schedule_steady_blocks(s, n_rounds);
    bool is_short = n_rounds > 1 && (plan->until & UNTIL_SHORTAGE) != 0 &&
                    *n_blocks > kv_budget_idle_blocks(kv_budget(e->kv), service);
    return n_rounds > left || is_short ? 0 : n_rounds;
}

bool engine_steady_begin(struct engine *e, const struct schedule_plan *plan)
{
    const struct batch *planned = plan->batches;
    if (e->steady == NULL || plan->n_batches != 1 || planned->n_steady == 0 ||
        planned->n_steady != planned->n_items || e->n_flights > 0 || !kv_is_counted(e->kv))
        return false;
    struct schedule_steady *s = &e->steady[planned->service];
    int64_t n_blocks;
    int n_rounds = planned->n_steady == s->n ? rounds_of(e, s, plan, &n_blocks) : 0;
    if (n_rounds == 0 ||
        (n_blocks > 0 && !kv_reserve_beside(e->kv, planned->service, NULL, 0, n_blocks)))
        return false;
    struct engine_flight *flight = &e->flights[0];
    struct batch *batch = &flight->batch;
    CHECK(batch->n_items == 0);
    *batch = *planned;
    batch->id = e->next_batch;
    batch->items = s->items;
    batch->n_steady_context = batch->n_decode_context = s->n_tokens;
    batch->n_steady_most = s->most_known + s->n_rounds;
    flight->n_steady = s->n;
    flight->n_rounds = n_rounds;
    flight->n_quiet = 0; /* asked of those alone that are not steady */
    e->next_batch = e->next_batch == UINT32_MAX ? 1 : e->next_batch + 1;
    e->n_flights++;
    e->view.n_in_flight += (uint32_t)s->n;
    engine_steady_take_off(e, flight);
    struct schedule_event event = { .what = SCHEDULE_STARTED,
                                    .now_ns = e->view.now_ns,
                                    .batch = batch };
    engine_queue_tell(e, &event);
    bool is_hold = n_rounds > 1;
    e->lanes[0] = (struct engine_lane){
        .n_flights = 1,
        .until = is_hold ? plan->until : 0,
        .until_ns = is_hold && (plan->until & UNTIL_TIME) != 0 ? plan->until_ns : TIME_NEVER,
        .is_hold = is_hold,
    };
    e->lane_is_busy[0] = true;
    e->options.exec.begin(e->options.exec.self, batch, 1, n_rounds);
    return true;
}

/* Who needs blocks for n_rounds rounds, in a pool that names them. */
void engine_steady_need(struct engine *e, int service, int n_rounds)
{
    const struct schedule_steady *s = &e->steady[service];
    for (int32_t i = 0; i < s->n; i++) {
        int32_t n_computed = s->known[i] + s->n_rounds - 1;
        int32_t n_beyond = n_computed % s->block_tokens;
        if (n_beyond == 0 || n_beyond + n_rounds > s->block_tokens)
            e->scratch->needs[e->n_needs++] =
                (struct kv_need){ s->items[i].slot, n_computed + n_rounds,
                                  n_rounds > 1 ? n_computed + 1 : 0 };
    }
}

void engine_steady_pin(struct engine *e, int service)
{
    struct schedule_steady *s = e->steady != NULL ? &e->steady[service] : NULL;
    for (int k = 0; k < LIMIT_BATCHES && s != NULL && s->n > 0; k++) {
        struct engine_flight *flight = &e->flights[k];
        struct batch *batch = &flight->batch;
        if (batch->n_items == 0 || batch->service != service || flight->n_steady == 0)
            continue;
        memcpy(flight->items, s->items, (size_t)s->n * sizeof(*s->items));
        batch->items = flight->items;
        for (int32_t i = 0; i < s->n; i++) {
            settle_one(e, s, service, i);
            e->requests[s->items[i].slot].batch = batch->id;
        }
        flight->n_steady = batch->n_steady = flight->n_quiet = 0;
        forget(e, s);
        return;
    }
}

/* Numbers that grow for ever are set back before they are too large. */
static void set_back(struct schedule_steady *s)
{
    int32_t n = s->n_rounds;
    for (int32_t i = 0; i < s->n; i++) {
        s->known[i] += n;
        s->ends[i] -= n;
        s->exceeds[i] -= s->exceeds[i] == INT32_MAX ? 0 : n;
    }
    s->most_known = most(s->known, s->n);
    s->first_end = least(s->ends, s->n);
    s->first_exceed = least(s->exceeds, s->n);
    s->n_rounds = 0;
}

/* Gives back the blocks of rounds that were not done. */
static void trim(struct engine *e, int service, int32_t n_rounds, int32_t n_steps)
{
    struct schedule_steady *s = &e->steady[service];
    if (kv_is_counted(e->kv))
        kv_put_unnamed(e->kv, service,
                       schedule_steady_blocks(s, n_rounds) - schedule_steady_blocks(s, n_steps));
    for (int32_t i = 0; i < s->n && !kv_is_counted(e->kv); i++)
        kv_trim(e->kv, s->items[i].slot, s->known[i] + s->n_rounds - 1 + n_steps);
}

void engine_steady_advance(struct engine *e, const struct engine_flight *flight, int32_t n_steps)
{
    int service = flight->batch.service;
    struct schedule_steady *s = &e->steady[service];
    CHECK(s->n == flight->n_steady && n_steps <= schedule_steady_left(s));
    s->n_ahead = 0;
    if (s->gaps != NULL)
        add_gaps(e, s, flight->batch.lane, n_steps);
    if (n_steps < flight->n_rounds)
        trim(e, service, flight->n_rounds, n_steps);
    s->n_rounds += n_steps;
    s->phase = (s->phase + n_steps) % s->block_tokens;
    s->n_tokens += (int64_t)n_steps * s->n;
    s->served_ns = e->view.now_ns;
    s->is_late = true;
    if (s->n_rounds >= min_i32(s->first_end, s->first_exceed)) {
        for (int32_t i = 0; i < s->n; i++) {
            struct engine_own *own = &e->own[s->items[i].slot];
            if (s->exceeds[i] <= s->n_rounds) {
                own->has_exceeded = e->has_exceeded = true;
                s->exceeds[i] = INT32_MAX;
            }
            if (s->ends[i] > s->n_rounds)
                continue;
            settle_one(e, s, service, i);
            engine_ids_fetch(&e->by_id, e->requests[s->items[i].slot].id);
            if (own->end_what == 0) {
                own->end_what = SERVICE_ENDED;
                own->end_why = SERVICE_LENGTH;
            }
            e->scratch->to_tell[e->n_to_tell++] = s->items[i].slot;
        }
        if (s->n_rounds >= s->first_exceed)
            s->first_exceed = least(s->exceeds, s->n);
    }
    if (s->n_rounds > STEADY_ROUNDS_MAX)
        set_back(s);
}
