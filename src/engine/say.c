/* Sends the engine's events through emit, and keeps those that have to wait for room.
 *
 * Nothing is copied while it waits. A request's unsent events are the tokens from own.n_said on,
 * and its last event. So the backlog is a queue of slots, each in it at most once, and the table of
 * requests bounds it.
 *
 * While it is not empty no batch begins, so a request has at most one batch's tokens (and logprobs)
 * unsaid. */
#include "engine/log.h"
#include "engine/pads.h"
#include "engine/scores.h"
#include "engine/state.h"
#include "engine/vector.h"

#include <string.h>

static struct service_event event_of(const struct engine *e, const struct request *r)
{
    return (struct service_event){
        .id = r->id,
        .epoch = r->epoch,
        .engine = e->options.id,
        .position = r->n_tokens,
        .n_cached = r->n_cached,
        .n_preempted = (int32_t)r->n_preempted,
        .queue_us = r->queue_us,
        .served_ns = r->served_ns,
    };
}

/* Begins an event of a request that is here. */
static struct service_event event_at(const struct engine *e, uint32_t slot)
{
    struct service_event event = event_of(e, &e->requests[slot]);
    event.device_ns = e->seen != NULL ? e->seen[slot].device_ns : 0;
    return event;
}

static bool emit(struct engine *e, const struct service_event *event, const void *payload)
{
    uint64_t number = e->n_emits++;
    if (e->options.emit(e->options.emit_self, event, payload))
        return true;
    engine_log_word(e, ENGINE_LOG_REFUSED, &(struct engine_log_word){ .id = number });
    return false;
}

/* Ids, then logprobs, in the scratch. */
static const void *payload_of(struct engine *e, uint32_t slot, const int32_t *tokens,
                              struct service_event *event)
{
    const struct engine_own *own = &e->own[slot];
    event->n_bytes = event->n_tokens * (int32_t)sizeof(*tokens);
    if (own->n_logprobs == 0)
        return tokens;
    CHECK(own->n_logprobs == event->n_tokens);
    size_t n_logprob_bytes = own->n_logprobs * sizeof(e->logprobs[slot][0]);
    memcpy(e->payload, tokens, (size_t)event->n_bytes);
    memcpy(e->payload + event->n_bytes, e->logprobs[slot], n_logprob_bytes);
    event->n_bytes += (int32_t)n_logprob_bytes;
    return e->payload;
}

static void tell_seen(const struct engine *e, uint32_t slot, struct service_event *event)
{
    const struct engine_seen *seen = &e->seen[slot];
    event->n_batches = (int32_t)min_i64(seen->n_batches, INT32_MAX);
    event->n_batch_rows = (int32_t)min_i64(seen->n_rows, INT32_MAX);
    event->n_swapped = seen->n_swapped;
    event->n_early = seen->n_early;
}

/* Returns the scores of the request's prompt; NULL: it has none. */
static struct engine_scores *scores_of(const struct engine *e, const struct request *r)
{
    return e->bodies != NULL ? engine_bodies_at(e->bodies, r->body).scores : NULL;
}

bool engine_say_has_scores(const struct engine *e, uint32_t slot)
{
    const struct engine_scores *scores = scores_of(e, &e->requests[slot]);
    return scores != NULL && scores->n_said < scores->n_known;
}

/* Sends the known scores of its prompt. Returns false when the next event has no room. */
static bool say_scores(struct engine *e, uint32_t slot)
{
    struct engine_scores *scores = scores_of(e, &e->requests[slot]);
    _Static_assert((int)ENGINE_SCORES_SAID_MAX >= (int)ENGINE_LOGPROBS_MAX, "both use the scratch");
    while (scores != NULL && scores->n_said < scores->n_known) {
        struct service_event event = event_at(e, slot);
        event.what = SERVICE_SCORES;
        event.position = scores->n_said;
        event.n_tokens = min_i32(scores->n_known - scores->n_said, ENGINE_SCORES_SAID_MAX);
        event.n_bytes = event.n_tokens * (int32_t)sizeof(struct token_logprobs);
        struct token_logprobs *said = (void *)e->payload;
        for (int32_t i = 0; i < event.n_tokens; i++)
            engine_scores_read(scores, event.position + i, &said[i]);
        if (!emit(e, &event, said))
            return false;
        scores->n_said += event.n_tokens;
    }
    return true;
}

/* Sends the vector of a text that is done. Returns false when the next event has no room. */
static bool say_vector(struct engine *e, uint32_t slot)
{
    const struct request *r = &e->requests[slot];
    bool is_done = r->state == REQUEST_ENDED && e->own[slot].end_what == SERVICE_ENDED &&
                   e->own[slot].end_why == SERVICE_LENGTH;
    if (!is_done || e->bodies == NULL || r->kind != REQUEST_EMBED)
        return true;
    struct engine_vector *vector = engine_bodies_at(e->bodies, r->body).vector;
    float divisor = e->specs[r->service].pools_mean ? (float)r->n_prompt : 1.0f;
    float *said = (void *)e->payload;
    while (vector != NULL && vector->n_said < vector->n) {
        struct service_event event = event_at(e, slot);
        event.what = SERVICE_VECTOR;
        event.position = vector->n_said;
        event.n_tokens = min_i32(vector->n - vector->n_said, ENGINE_VECTOR_SAID_MAX);
        event.n_bytes = event.n_tokens * (int32_t)sizeof(float);
        for (int32_t i = 0; i < event.n_tokens; i++)
            said[i] = vector->sum[event.position + i] / divisor;
        if (!emit(e, &event, said))
            return false;
        vector->n_said += event.n_tokens;
    }
    return true;
}

/* Returns false when the next of its events has no room. */
static bool say_all(struct engine *e, uint32_t slot)
{
    const struct request *r = &e->requests[slot];
    struct engine_own *own = &e->own[slot];
    const void *payload = e->options.tells_waits ? &e->seen[slot].waits : NULL;
    int32_t n_bytes = payload != NULL ? (int32_t)sizeof(struct engine_waits) : 0;
    _Static_assert(ENGINE_VECTOR_SAID_MAX * sizeof(float) <=
                       ENGINE_SCORES_SAID_MAX * sizeof(struct token_logprobs),
                   "the scratch holds them");
    if (!say_scores(e, slot) || !say_vector(e, slot))
        return false;
    if (own->n_said < r->n_tokens) {
        struct service_event event = event_at(e, slot);
        event.n_bytes = n_bytes;
        event.what = SERVICE_TOKENS;
        event.position = own->n_said;
        event.n_tokens = r->n_tokens - own->n_said;
        if (e->bodies && payload == NULL)
            payload = payload_of(e, slot, engine_bodies_at(e->bodies, r->body).tokens + own->n_said,
                                 &event);
        if (!emit(e, &event, payload))
            return false;
        own->n_said = r->n_tokens;
        own->n_logprobs = 0;
    }
    if (r->state != REQUEST_ENDED)
        return true;
    struct service_event event = event_at(e, slot);
    event.lost = engine_pads_lost(e->pads, slot);
    if (e->seen != NULL)
        tell_seen(e, slot, &event);
    if (e->kept != NULL) {
        event.ticket = e->kept[slot].ticket;
        event.n_kept = e->kept[slot].n;
    }
    event.what = own->end_what;
    event.why = own->end_why;
    event.n_bytes = n_bytes;
    if (!emit(e, &event, n_bytes > 0 ? payload : NULL))
        return false;
    engine_queue_put_slot(e, slot);
    return true;
}

void engine_say(struct engine *e, uint32_t slot)
{
    if (e->own[slot].is_unsaid || (e->n_backlog == 0 && say_all(e, slot)))
        return;
    if (e->n_backlog++ == 0)
        e->first_unsaid = slot;
    else
        e->requests[e->last_unsaid].next_unsaid = slot;
    e->last_unsaid = slot;
    e->own[slot].is_unsaid = true;
}

void engine_say_backlog(struct engine *e)
{
    while (e->n_backlog > 0) {
        uint32_t slot = e->first_unsaid;
        if (!say_all(e, slot))
            return;
        e->own[slot].is_unsaid = false;
        e->first_unsaid = e->requests[slot].next_unsaid;
        e->n_backlog--;
    }
}

bool engine_say_refusal(struct engine *e, const struct request *request, enum service_what what,
                        enum service_why why, const char *text)
{
    struct service_event event = event_of(e, request);
    event.what = (uint8_t)what;
    event.why = (uint8_t)why;
    if (e->options.tells_waits)
        text = NULL;
    event.n_bytes = text != NULL ? (int32_t)strlen(text) : 0;
    return emit(e, &event, text);
}
