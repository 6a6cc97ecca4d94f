/* Commits a batch that ended: counters advance, stop rules are tested, and blocks and slots of
 * ended requests become free. */
#include "engine/disk.h"
#include "engine/draft.h"
#include "engine/handover.h"
#include "engine/pads.h"
#include "engine/room.h"
#include "engine/scores.h"
#include "engine/state.h"
#include "engine/stats.h"
#include "engine/swap.h"
#include "engine/vector.h"
#include "engine/waits.h"

#include "base/log.h"
#include "metrics/trace.h"

#include <string.h>

struct engine_flight *engine_commit_flight(const struct engine *e, uint32_t batch)
{
    for (int i = 0; i < LIMIT_BATCHES; i++)
        if (e->flights[i].batch.n_items > 0 && e->flights[i].batch.id == batch)
            return (struct engine_flight *)(uintptr_t)&e->flights[i];
    return NULL;
}

/* Returns how many of n_new drawn tokens count: up to and including the first that ends the
 * request. The body's stop ids are all of them, because the API adds the model's end ids unless the
 * request ignores them. */
static int32_t count_until_stop(const struct engine *e, const struct request *r, int32_t n_new,
                                bool *is_stopped)
{
    *is_stopped = false;
    if (!e->bodies)
        return n_new;
    struct engine_body body = engine_bodies_at(e->bodies, r->body);
    for (int32_t k = 0; k < n_new; k++) {
        int32_t n_generated = r->n_tokens + k + 1 - r->n_prompt;
        if (n_generated > body.head->sampling.n_tokens_min &&
            request_body_stops(body.head, body.tokens[r->n_tokens + k])) {
            *is_stopped = true;
            return k + 1;
        }
    }
    return n_new;
}

/* Marks how the request ends, unless a cancel or deadline has marked it already. A complete answer
 * is not returned, even if its return was requested. */
static void ends(struct engine_own *own, enum service_what what, enum service_why why)
{
    if (own->end_what == 0 || (own->end_what == SERVICE_RETURNED && what == SERVICE_ENDED)) {
        own->end_what = (uint8_t)what;
        own->end_why = (uint8_t)why;
    }
}

static void keep_logprobs(struct engine *e, uint32_t slot, const struct token_logprobs *logprobs,
                          int32_t n_new)
{
    struct engine_own *own = &e->own[slot];
    if (logprobs == NULL || n_new == 0 || e->logprobs == NULL)
        return;
    CHECK(own->n_logprobs == 0 && n_new <= ENGINE_LOGPROBS_MAX);
    memcpy(e->logprobs[slot], logprobs, (size_t)n_new * sizeof(*logprobs));
    own->n_logprobs = (uint8_t)n_new;
}

/* Counts the scores that the executor has written, of the tokens behind all computed ones, and the
 * positions in its vector. */
static void note_scores(struct engine *e, const struct request *r)
{
    struct engine_body body = engine_bodies_at(e->bodies, r->body);
    struct engine_scores *scores = body.scores;
    if (body.vector != NULL)
        body.vector->n_known = max_i32(body.vector->n_known, r->n_computed);
    if (scores != NULL)
        scores->n_known = max_i32(scores->n_known, min_i32(r->n_computed + 1, r->n_prompt));
}

/* Measures drafts by the tokens that have come, and counts those that were verified. */
static void learn(struct engine *e, const struct batch_item *item, int32_t n_new)
{
    const struct request *r = &e->requests[item->slot];
    struct engine_stats *stats = &e->stats[r->service];
    engine_draft_learn(e, item->slot, r->n_tokens - n_new, n_new);
    stats->n_drafts += item->n_draft > 0;
    stats->n_drafted += item->n_draft;
    stats->n_accepted += item->n_draft > 0 ? n_new - 1 : 0;
}

/* Applies the executor's answer for one item, after checks against what the rounds allow. */
static void advance(struct engine *e, const struct engine_flight *flight, int32_t i,
                    const struct engine_exec_done *done)
{
    const struct batch_item *item = &flight->batch.items[i];
    struct request *r = &e->requests[item->slot];
    struct engine_own *own = &e->own[item->slot];
    struct engine_progress progress = engine_exec_progress_of(r, item, done->n_steps);
    bool is_stopped;
    int32_t n_jumped = engine_exec_jumped(r, progress, done->n_new[i]);
    CHECK(r->batch == flight->batch.id && done->n_new[i] >= 0 &&
          done->n_new[i] - n_jumped <= progress.n_new &&
          (done->n_new[i] > 0) == (progress.n_new > 0));
    bool is_broken = done->is_broken != NULL && done->is_broken[i];
    int32_t n_new = count_until_stop(e, r, is_broken ? 0 : done->n_new[i], &is_stopped);
    /* drawn after the end, or not at all */
    int32_t n_unused = progress.n_new - min_i32(n_new, progress.n_new);
    bool was_prompt = r->n_tokens - r->n_computed > 1;
    e->scratch->n_new[i] = n_new;
    e->scratch->n_computed[i] = progress.n_computed - n_unused;
    r->n_computed += progress.n_computed - n_unused;
    int32_t n_generated = r->n_tokens - r->n_prompt;
    r->n_tokens += n_new;
    if (r->n_predicted > 0 && n_generated <= r->n_predicted && n_generated + n_new > r->n_predicted)
        own->has_exceeded = e->has_exceeded = true;
    r->served_ns = e->view.now_ns;
    if (n_new > 0 && r->first_ns == 0)
        r->first_ns = e->view.now_ns;
    if (done->logprobs != NULL && (r->flags & REQUEST_WANTS_LOGPROBS) != 0)
        keep_logprobs(e, flight->batch.items[i].slot, done->logprobs[i], n_new);
    if (e->bodies != NULL)
        note_scores(e, r);
    if (e->drafts != NULL && n_new > 0 && e->specs[r->service].speculation != SPECULATION_OFF)
        learn(e, item, n_new);
    if ((is_stopped && flight->n_rounds > 1) || (item->n_draft > 0 && n_unused > 0))
        kv_trim(e->kv, item->slot, r->n_computed);
    if (was_prompt)
        engine_queue_publish(e, item->slot);
    if (is_broken)
        ends(own, SERVICE_ENDED, SERVICE_FAILED);
    else if (is_stopped)
        ends(own, SERVICE_ENDED, SERVICE_STOPPED);
    else if (r->n_tokens >= r->n_tokens_max ||
             (r->kind != REQUEST_GENERATE && r->n_computed == r->n_tokens))
        ends(own, SERVICE_ENDED, SERVICE_LENGTH);
    else if (r->n_lease > 0 && n_new > 0 && (r->n_lease -= n_new) <= 0)
        ends(own, SERVICE_RETURNED, SERVICE_LEASE_OVER);
}

/* Does the same for an item that decodes in a simulator, where nothing stops it early. Returns
 * whether it has an event to send. */
static bool advance_decode(struct engine *e, struct request *r, uint32_t slot, int32_t n)
{
    int32_t n_before = r->n_tokens, n_after = n_before + n;
    r->n_computed += n;
    r->n_tokens = n_after;
    r->served_ns = e->view.now_ns;
    int32_t n_predicted = r->n_prompt + r->n_predicted;
    if (n_before <= n_predicted && n_after > n_predicted && r->n_predicted > 0)
        e->own[slot].has_exceeded = e->has_exceeded = true;
    if (n_before != r->n_prompt && n_after != r->n_tokens_max && e->options.says_little)
        return false;
    if (r->first_ns == 0)
        r->first_ns = e->view.now_ns;
    if (n_after == r->n_tokens_max)
        ends(&e->own[slot], SERVICE_ENDED, SERVICE_LENGTH);
    return true;
}

static void advance_all(struct engine *e, const struct engine_flight *flight,
                        const struct engine_exec_done *done)
{
    for (int32_t i = 0; i < flight->batch.n_items; i++) {
        uint32_t slot = flight->batch.items[i].slot;
        struct request *r = &e->requests[slot];
        bool tells = true;
        if (e->options.is_virtual && r->n_tokens - r->n_computed == 1 && r->n_lease == 0 &&
            r->kind == REQUEST_GENERATE) {
            int32_t n = min_i32(done->n_steps, r->n_tokens_max - r->n_tokens);
            CHECK(r->batch == flight->batch.id && done->n_new[i] == n);
            e->scratch->n_new[i] = e->scratch->n_computed[i] = n;
            tells = advance_decode(e, r, slot, n);
        } else {
            advance(e, flight, i, done);
        }
        if (tells)
            e->scratch->to_tell[e->n_to_tell++] = slot;
        if (done->n_steps < flight->n_rounds)
            kv_trim(e->kv, slot, r->n_computed);
        r->batch = 0;
    }
}

/* Tells the policy which requests outran their prediction with this batch, before the batch is
 * done. */
static void tell_exceeded(struct engine *e, const struct batch *batch)
{
    for (int32_t i = 0; i < batch->n_items && e->has_exceeded; i++) {
        struct engine_own *own = &e->own[batch->items[i].slot];
        if (!own->has_exceeded)
            continue;
        own->has_exceeded = false;
        e->stats[batch->service].n_exceeded++;
        struct schedule_event event = { .what = SCHEDULE_EXCEEDED,
                                        .now_ns = e->view.now_ns,
                                        .slot = batch->items[i].slot };
        engine_queue_tell(e, &event);
    }
    e->has_exceeded = false;
}

void engine_commit_land(struct engine *e, const struct engine_flight *flight)
{
    struct engine_lane *lane = &e->lanes[batch_place(&flight->batch, e->options.n_deep)];
    if (flight->batch.kind != BATCH_COPY_IN) /* else they are in flight with the batch behind it */
        e->view.n_in_flight -= (uint32_t)flight->batch.n_items;
    e->n_flights--;
    CHECK(lane->n_flights > 0);
    if (--lane->n_flights == 0) {
        lane->until = 0;
        lane->until_ns = TIME_NEVER;
        lane->is_hold = false;
        engine_step_show_lane(e, flight->batch.lane);
    }
}

static void end_or_say(struct engine *e, uint32_t slot)
{
    struct engine_own *own = &e->own[slot];
    if (own->end_what == 0) {
        const struct request *r = &e->requests[slot];
        if (own->n_said < r->n_tokens && (!e->options.says_little || own->n_said == r->n_prompt))
            engine_say(e, slot);
        else if (engine_say_has_scores(e, slot))
            engine_say(e, slot);
        return;
    }
    if (own->end_what == SERVICE_ENDED &&
        (own->end_why == SERVICE_STOPPED || own->end_why == SERVICE_LENGTH))
        engine_stats_finished(e, &e->requests[slot]);
    engine_queue_end(e, slot, own->end_what, own->end_why);
}

/* Corrects the model by how fast the batch was, against its expected time on its lane. */
static void observe(struct engine *e, const struct engine_flight *flight, int64_t ps)
{
    struct schedule_service *service = &e->services[flight->batch.service];
    struct perf before = schedule_lane_perf(service, &e->lane_shares[flight->batch.lane]);
    struct perf after = before;
    perf_observe(&after, &flight->load, ps);
    service->perf.prefill_scale *= after.prefill_scale / before.prefill_scale;
    service->perf.decode_scale *= after.decode_scale / before.decode_scale;
}

static void write_trace(const struct engine *e, const struct engine_flight *flight,
                        const struct engine_exec_done *done, struct pads_sum lost)
{
    const struct batch *batch = &flight->batch;
    bool is_prefill = flight->load.n_new > 0, is_decode = flight->load.n_decodes > 0;
    struct metrics_trace_batch t = {
        .engine = e->options.id,
        .lane = batch->lane,
        .service = e->specs[batch->service].name,
        .kind = is_prefill ? (is_decode ? "mixed" : "prefill") : "decode",
        .n_items = batch->n_items,
        .n_rounds = done->n_steps,
        .lost = lost,
        .begin_ns = done->begin_ns,
        .end_ns = done->end_ns,
    };
    for (int32_t i = 0; i < batch->n_items; i++)
        t.n_tokens += e->scratch->n_computed[i];
    metrics_trace_add(e->options.trace, &t);
}

/* Returns whether one of them was marked while in flight, for example cancelled. */
static bool has_marked(struct engine *e, const struct batch *batch)
{
    uint32_t n_marked = 0;
    for (int32_t i = 0; i < batch->n_items && e->n_marked > 0; i++)
        n_marked += e->own[batch->items[i].slot].end_what != 0;
    e->n_marked -= n_marked;
    return n_marked > 0;
}

static void count(struct engine *e, const struct batch *batch, const struct engine_exec_done *done)
{
    struct engine_stats *stats = &e->stats[batch->service];
    e->is_healthy = !done->is_failed && !e->is_lost;
    if (done->is_failed)
        return;
    stats->n_batches += done->n_steps;
    stats->n_batch_rows += (int64_t)batch_n_rows(batch) * done->n_steps;
    e->n_steps += done->n_steps;
    e->step_ns += done->end_ns - done->begin_ns;
}

static void tell_done(struct engine *e, const struct batch *batch,
                      const struct engine_exec_done *done, const int32_t *n_new,
                      const int32_t *n_computed)
{
    tell_exceeded(e, batch);
    struct schedule_event event = {
        .what = SCHEDULE_DONE,
        .now_ns = e->view.now_ns,
        .batch = batch,
        .n_steps = done->n_steps,
        .n_new = n_new,
        .n_computed = n_computed,
        .elapsed_ns = done->end_ns - done->begin_ns,
    };
    engine_queue_tell(e, &event);
}

/* Counts the batches of each request, if lanes run side by side: see look in queue.c. */
static void count_seen(struct engine *e, const struct batch *batch, int32_t n_steps)
{
    uint32_t n_rows = (uint32_t)(batch_n_rows(batch) * n_steps);
    for (int32_t i = 0; i < batch->n_items && e->seen != NULL && e->n_slots > 1; i++) {
        e->seen[batch->items[i].slot].n_batches += (uint32_t)n_steps;
        e->seen[batch->items[i].slot].n_rows += n_rows;
    }
}

/* Shares the time of a batch between its requests, by the rows that each had computed. */
static void charge(struct engine *e, const struct batch *batch, const struct engine_exec_done *done)
{
    int64_t n_rows = 0;
    if (e->seen == NULL || e->options.is_virtual || done->is_failed)
        return;
    for (int32_t i = 0; i < batch->n_items; i++)
        n_rows += e->scratch->n_computed[i];
    for (int32_t i = 0; i < batch->n_items && n_rows > 0; i++)
        e->seen[batch->items[i].slot].device_ns +=
            (done->end_ns - done->begin_ns) * e->scratch->n_computed[i] / n_rows;
}

/* Returns all requests and takes no new ones, because nothing is computed here until the engine is
 * revived. */
static void lose_executor(struct engine *e)
{
    e->is_lost = true;
    e->is_healthy = false;
    engine_handover_withdraw_all(e);
    engine_disk_drop_all(e);
    for (int i = 0; i < e->options.n_services; i++)
        engine_room_return_all(e, i, SERVICE_CRASHED);
    log_line(LOG_ERROR, "engine", "engine %d: its device is lost; its requests go back",
             e->options.id);
}

void engine_commit(struct engine *e, const struct engine_exec_done *done)
{
    struct engine_flight *flight = engine_commit_flight(e, done->batch);
    CHECK(flight != NULL && done->n_steps >= 1 && done->n_steps <= flight->n_rounds);
    struct batch *batch = &flight->batch;
    e->ended_ns = done->end_ns;
    if (done->is_lost && !e->is_lost)
        lose_executor(e);
    if (batch->kind != BATCH_COMPUTE) {
        engine_swap_commit(e, flight, done);
        return;
    }
    engine_waits_note(e, flight, done);
    bool tells_all = has_marked(e, batch) || done->is_failed;
    e->n_to_tell = 0;
    for (int32_t i = 0; i < batch->n_items && done->is_failed; i++) {
        e->scratch->n_new[i] = e->scratch->n_computed[i] = 0;
        e->requests[batch->items[i].slot].batch = 0;
        struct engine_own *own = &e->own[batch->items[i].slot];
        ends(own, SERVICE_RETURNED, SERVICE_CRASHED);
        if (own->end_what == SERVICE_RETURNED) /* whatever asked first: its KV is not to be used */
            own->end_why = SERVICE_CRASHED;
    }
    if (!done->is_failed)
        advance_all(e, flight, done);
    const int32_t *n_new = e->scratch->n_new, *n_computed = e->scratch->n_computed;
    count(e, batch, done);
    count_seen(e, batch, done->is_failed ? 0 : done->n_steps);
    charge(e, batch, done);
    struct pads_sum lost = engine_pads_count(e, flight, done);
    if (e->options.trace != NULL)
        write_trace(e, flight, done, lost);
    engine_commit_land(e, flight);
    if (!done->is_failed && !e->options.is_virtual) /* a chain's rounds cost about the same */
        observe(e, flight, (done->end_ns - done->begin_ns) * 1000 / done->n_steps);
    tell_done(e, batch, done, n_new, n_computed);
    int32_t n_to_tell = tells_all ? batch->n_items : e->n_to_tell;
    for (int32_t i = 0; i < n_to_tell; i++)
        end_or_say(e, tells_all ? batch->items[i].slot : e->scratch->to_tell[i]);
    batch->n_items = 0;
}
