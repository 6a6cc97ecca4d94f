/* The clients of a simulated cluster. Each request ends exactly once, and each token comes once, in
 * order, and is a function of the request and its position. */
#include "world.h"

#include "base/mem.h"
#include "base/time.h"
#include <string.h>

int32_t world_token(uint64_t seed, int32_t position)
{
    return (int32_t)(rng_at(seed, 77, (uint64_t)position) % 50000);
}

static uint32_t new_place(struct world *w)
{
    if (w->n_requests == w->n_requests_room) {
        uint32_t room = w->n_requests_room > 0 ? 2 * w->n_requests_room : 256;
        w->requests = mem_grow(w->requests, w->n_requests_room * sizeof *w->requests,
                               room * sizeof *w->requests);
        w->n_requests_room = room;
    }
    return w->n_requests++;
}

static void draw(struct world_process *p, struct world_request *r)
{
    struct world *w = p->world;
    int64_t now_ns = w->now_ns;
    uint64_t gateway = w->options.same_ids ? 0 : (uint64_t)p->index << 48 | p->n_lives << 32;
    *r = (struct world_request){ .is_open = true,
                                 .id = gateway | ++p->n_asked,
                                 .seed = rng_u64(&w->rng),
                                 .n_prompt = 1 + (int32_t)rng_below(&w->rng, 40),
                                 .arrived_ns = now_ns,
                                 .deadline_ns = TIME_NEVER,
                                 .cancel_ns = TIME_NEVER };
    r->n_tokens = r->n_prompt;
    r->n_tokens_max = r->n_prompt + 1 + (int32_t)rng_below(&w->rng, 40);
    if (w->options.has_one_model)
        return;
    if (rng_below(&w->rng, 10) == 0)
        r->deadline_ns = now_ns + (int64_t)rng_below(&w->rng, 8000) * TIME_NS_PER_MS;
    if (rng_below(&w->rng, 8) == 0)
        r->cancel_ns = now_ns + (int64_t)rng_below(&w->rng, 3000) * TIME_NS_PER_MS;
}

static void ask(struct world_process *p)
{
    struct world *w = p->world;
    uint32_t at = new_place(w);
    struct world_request *r = &w->requests[at];
    draw(p, r);
    uint64_t service = w->options.has_one_model ? 0 : rng_below(&w->rng, WORLD_SERVICES);
    int64_t local_ns = w->now_ns + p->offset_ns;
    const struct request request = { .id = r->id,
                                     .n_prompt = r->n_prompt,
                                     .n_tokens = r->n_prompt,
                                     .n_tokens_max = r->n_tokens_max,
                                     .service = (uint16_t)service,
                                     .arrived_ns = local_ns,
                                     .served_ns = local_ns,
                                     .deadline_ns = r->deadline_ns == TIME_NEVER
                                                        ? TIME_NEVER
                                                        : r->deadline_ns + p->offset_ns };
    size_t n_bytes = request_body_bytes((uint32_t)r->n_prompt, 0, 0);
    *w->body = (struct request_body){
        .n_bytes = (uint32_t)n_bytes,
        .n_tokens = (uint32_t)r->n_prompt,
        .seed = r->seed,
        .sampling = { .repetition_penalty = 1.0F, .top_p = 1.0F, .n_top_logprobs = -1 }
    };
    for (int32_t i = 0; i < r->n_prompt; i++)
        request_body_tokens(w->body)[i] = world_token(r->seed, i);
    if (!p->door.submit(p->door.self, &request, w->body)) {
        w->n_requests--; /* it was not accepted */
        return;
    }
    CHECK(map_put(&p->open, r->id, at));
    w->count.n_asked++;
    wires_make_runnable(w->wires, p->index);
}

static void cancel_some(struct world_process *p)
{
    struct world *w = p->world;
    for (uint32_t i = 0; i < w->n_requests; i++) {
        struct world_request *r = &w->requests[i];
        if (!r->is_open || r->is_cancelled || r->cancel_ns > w->now_ns ||
            map_find(&p->open, r->id) != i)
            continue;
        r->is_cancelled = true;
        p->door.cancel(p->door.self, r->id, 0);
        wires_make_runnable(w->wires, p->index);
    }
}

void world_clients_ask(struct world_process *p)
{
    struct world *w = p->world;
    if (w->options.rate_per_s > 0)
        ask(p);
    if (!w->options.is_still)
        cancel_some(p);
    p->next_ask_ns = TIME_NEVER;
    if (w->options.rate_per_s > 0)
        p->next_ask_ns =
            w->now_ns + 1 + (int64_t)(rng_exponential(&w->rng) * 1e9 / w->options.rate_per_s);
}

/* ---- Answers. ---- */

static void end(struct world_process *p, struct world_request *r, const struct service_event *event)
{
    struct world *w = p->world;
    r->is_open = false;
    r->ended_ns = w->now_ns;
    map_remove(&p->open, r->id);
    if (event->what != SERVICE_ENDED) {
        world_wrong(w, "request %llx: its client is told %d instead of an end",
                    (unsigned long long)r->id, event->what);
    } else if (event->why == SERVICE_LENGTH) {
        w->count.n_answered++;
        if (r->n_tokens != r->n_tokens_max)
            world_wrong(w, "request %llx ends after %d of %d tokens", (unsigned long long)r->id,
                        r->n_tokens, r->n_tokens_max);
    } else if (event->why == SERVICE_CANCELLED) {
        w->count.n_cancelled++;
        if (!r->is_cancelled)
            world_wrong(w, "request %llx ends by a cancel that its client did not send",
                        (unsigned long long)r->id);
    } else if (event->why == SERVICE_DEADLINE) {
        w->count.n_late++;
        if (r->deadline_ns > w->now_ns)
            world_wrong(w, "request %llx ends %lld ns before its deadline",
                        (unsigned long long)r->id, (long long)(r->deadline_ns - w->now_ns));
    } else if (event->why == SERVICE_NOT_READY) {
        w->count.n_refused++;
    } else {
        world_wrong(w, "request %llx ends by reason %d", (unsigned long long)r->id, event->why);
    }
}

static void take_tokens(struct world *w, struct world_request *r, const struct service_event *event,
                        const int32_t *tokens)
{
    if (event->n_tokens <= 0 || r->n_tokens + event->n_tokens > r->n_tokens_max) {
        world_wrong(w, "request %llx gets %d tokens behind %d of %d", (unsigned long long)r->id,
                    event->n_tokens, r->n_tokens, r->n_tokens_max);
        return;
    }
    for (int32_t i = 0; i < event->n_tokens; i++) {
        int32_t token = tokens[i];
        if (w->options.plant == PLANT_TOKEN_OTHER && w->count.n_tokens > 100 && !w->is_planted) {
            w->is_planted = true;
            token++;
        }
        if (token != world_token(r->seed, r->n_tokens + i))
            world_wrong(w, "request %llx gets another token at position %d",
                        (unsigned long long)r->id, r->n_tokens + i);
    }
    if (r->first_ns == 0)
        r->first_ns = w->now_ns;
    r->n_tokens += event->n_tokens;
    w->count.n_tokens += event->n_tokens;
}

static void hear(struct world_process *p, const struct service_event *event, const void *payload)
{
    struct world *w = p->world;
    uint32_t at = map_find(&p->open, event->id);
    if (at == MAP_NONE) {
        world_wrong(w, "request %llx gets event %d after its end", (unsigned long long)event->id,
                    event->what);
        return;
    }
    struct world_request *r = &w->requests[at];
    if (event->position != r->n_tokens)
        world_wrong(w, "request %llx gets position %d after %d tokens", (unsigned long long)r->id,
                    event->position, r->n_tokens);
    else if (event->what == SERVICE_TOKENS)
        take_tokens(w, r, event, payload);
    else
        end(p, r, event);
}

void world_clients_hear(struct world_process *p)
{
    struct world *w = p->world;
    struct service_event event;
    const void *payload;
    while (w->wrong[0] == '\0' && p->door.next(p->door.self, &event, &payload)) {
        bool is_due = !w->is_planted && w->count.n_answered > 3;
        bool is_lost = is_due && event.what == SERVICE_TOKENS;
        bool is_twice = is_due && event.what == SERVICE_ENDED;
        if (w->options.plant == PLANT_TOKEN_LOST && is_lost) {
            w->is_planted = true;
            continue;
        }
        hear(p, &event, payload);
        if (w->options.plant == PLANT_ENDED_TWICE && is_twice) {
            w->is_planted = true;
            hear(p, &event, payload);
        }
    }
}

void world_clients_lose(struct world_process *p)
{
    struct world *w = p->world;
    for (uint32_t i = 0; i < w->n_requests; i++) {
        struct world_request *r = &w->requests[i];
        if (!r->is_open || map_find(&p->open, r->id) != i)
            continue;
        r->is_open = false;
        w->count.n_gone++;
    }
}
