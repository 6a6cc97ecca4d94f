/* An engine that only pretends. */
#include "fake_engine.h"

#include "base/time.h"
#include <string.h>

void fake_engine_init(struct fake_engine *engine, uint16_t id, int n_services, uint64_t seed)
{
    memset(engine, 0, sizeof *engine);
    engine->id = id;
    engine->n_services = n_services;
    engine->n_requests_max = 24;
    engine->p_return = 0.02;
    rng_init(&engine->rng, seed, id);
}

int32_t fake_engine_token(uint64_t seed, int32_t position)
{
    return (int32_t)(rng_at(seed, 77, (uint64_t)position) % 1000);
}

static void say(struct fake_engine *engine, const struct service_event *event, const int32_t *ids,
                const char *text)
{
    CHECK(engine->n_put - engine->n_got < FAKE_EVENTS_MAX);
    struct service_event *out = &engine->events[engine->n_put % FAKE_EVENTS_MAX].event;
    *out = *event;
    if (ids) {
        memcpy(engine->events[engine->n_put % FAKE_EVENTS_MAX].payload, ids,
               sizeof(int32_t) * (size_t)event->n_tokens);
        out->n_bytes = event->n_tokens * (int32_t)sizeof(int32_t);
    } else if (text) {
        strcpy(engine->events[engine->n_put % FAKE_EVENTS_MAX].text, text);
    }
    engine->n_put++;
}

static bool has_space(const struct fake_engine *engine, const struct request *request)
{
    bool is_alone = true;
    for (int s = 0; s < engine->n_services; s++)
        is_alone = is_alone && (s == request->service || engine->status[s] == SERVICE_UNLOADED);
    return is_alone || engine->n_tokens_beside == 0 ||
           request->n_tokens_max <= engine->n_tokens_beside;
}

static uint64_t ticket_of(uint64_t id, int32_t n_tokens)
{
    return id << 20 | (uint64_t)n_tokens;
}

static bool submit(void *self, const struct request *request, const struct request_body *body)
{
    struct fake_engine *engine = self;
    int32_t n_live = 0;
    struct fake_request *place = NULL;
    for (int i = 0; i < FAKE_REQUESTS_MAX; i++) {
        n_live += engine->requests[i].is_live;
        if (!engine->requests[i].is_live && !place)
            place = &engine->requests[i];
        CHECK(!engine->requests[i].is_live || engine->requests[i].request.id != request->id);
    }
    if (n_live >= engine->n_requests_max)
        return false;
    CHECK(body->n_tokens == (uint32_t)request->n_tokens);
    bool is_here = engine->status[request->service] == SERVICE_LOADED;
    if (!is_here || !has_space(engine, request)) {
        const struct service_event back = { .id = request->id,
                                            .epoch = request->epoch,
                                            .what = SERVICE_RETURNED,
                                            .why = is_here ? SERVICE_NO_SPACE : SERVICE_DRAINING,
                                            .position = request->n_tokens };
        say(engine, &back, NULL, NULL);
        return true;
    }
    bool has_begun = request->n_tokens > request->n_prompt;
    engine->n_arrived[request->service]++;
    engine->n_begun += has_begun;
    engine->n_fresh += !has_begun;
    if (request->n_host > 0) { /* what an engine kept at the end of a lease */
        CHECK(request->n_host < request->n_tokens);
        CHECK(request->ticket == ticket_of(request->id, request->n_host + 1));
        engine->n_tickets++;
    }
    *place = (struct fake_request){ .is_live = true, .request = *request, .seed = body->seed };
    memcpy(place->tokens, request_body_tokens(body), sizeof(int32_t) * body->n_tokens);
    for (int32_t i = request->n_prompt; i < request->n_tokens;
         i++) /* what it brings is what was drawn before */
        CHECK(place->tokens[i] == fake_engine_token(place->seed, i));
    return true;
}

static void cancel(void *self, uint64_t id, uint32_t epoch)
{
    struct fake_engine *engine = self;
    for (int i = 0; i < FAKE_REQUESTS_MAX; i++) {
        if (engine->requests[i].is_live && engine->requests[i].request.id == id &&
            engine->requests[i].request.epoch == epoch)
            engine->requests[i].is_cancelled = true;
    }
}

static bool next(void *self, struct service_event *event, const void **payload)
{
    struct fake_engine *engine = self;
    if (engine->n_got == engine->n_put)
        return false;
    *event = engine->events[engine->n_got % FAKE_EVENTS_MAX].event;
    *payload = engine->events[engine->n_got % FAKE_EVENTS_MAX].payload;
    engine->n_got++;
    return true;
}

static int wait_fd(void *self)
{
    (void)self;
    return -1;
}

static void tell(struct fake_engine *engine, int service, enum service_status status,
                 enum status cause)
{
    engine->status[service] = status == SERVICE_BROKEN ? SERVICE_UNLOADED : (uint8_t)status;
    if (engine->next_change == engine->n_changes)
        engine->next_change = engine->n_changes = 0;
    struct service_change *change = &engine->changes[engine->n_changes++];
    *change = (struct service_change){ .service = (uint16_t)service,
                                       .life = engine->lives[service],
                                       .status = (uint8_t)status,
                                       .cause = (uint8_t)cause };
    if (cause != STATUS_OK)
        strcpy(change->fault.text, "the file is broken");
}

static void load(void *self, int service)
{
    struct fake_engine *engine = self;
    if (engine->status[service] == SERVICE_UNLOADED) {
        tell(engine, service, SERVICE_LOADING, STATUS_OK);
        engine->ready_ns[service] = engine->now_ns + 30 * TIME_NS_PER_MS;
    }
}

static void unload(void *self, int service, bool even_busy)
{
    (void)even_busy;
    struct fake_engine *engine = self;
    for (int i = 0; i < FAKE_REQUESTS_MAX; i++) {
        struct fake_request *r = &engine->requests[i];
        if (!r->is_live || r->request.service != service)
            continue;
        const struct service_event back = { .id = r->request.id,
                                            .epoch = r->request.epoch,
                                            .what = SERVICE_RETURNED,
                                            .why = SERVICE_DRAINING,
                                            .position = r->request.n_tokens };
        say(engine, &back, NULL, NULL);
        r->is_live = false;
    }
    tell(engine, service, SERVICE_UNLOADED, STATUS_OK);
}

static void drain(void *self)
{
    ((struct fake_engine *)self)->report.is_draining = true;
}

/* One step of one request: ends, returns, or says one or two tokens; now and then the same ones
 * twice. */
static void step_request(struct fake_engine *engine, struct fake_request *r)
{
    struct request *q = &r->request;
    struct service_event event = {
        .id = q->id, .epoch = q->epoch, .engine = engine->id, .position = q->n_tokens
    };
    if (r->is_cancelled || q->n_tokens == q->n_tokens_max) {
        event.what = SERVICE_ENDED;
        event.why = r->is_cancelled ? SERVICE_CANCELLED : SERVICE_LENGTH;
        r->is_live = false;
        say(engine, &event, NULL, NULL);
    } else if (q->n_lease < 0) {
        event.what = SERVICE_RETURNED;
        event.why = SERVICE_LEASE_OVER;
        event.ticket = ticket_of(q->id, q->n_tokens);
        event.n_kept = q->n_tokens - 1;
        r->is_live = false;
        say(engine, &event, NULL, NULL);
    } else if (rng_unit(&engine->rng) < engine->p_return) {
        event.what = SERVICE_RETURNED;
        event.why = rng_below(&engine->rng, 4) > 0 ? SERVICE_CRASHED : SERVICE_NO_SPACE;
        r->is_live = false;
        engine->n_returned++;
        say(engine, &event, NULL, NULL);
    } else {
        event.what = SERVICE_TOKENS;
        event.n_tokens =
            min_i32(1 + (int32_t)rng_below(&engine->rng, 2), q->n_tokens_max - q->n_tokens);
        if (q->n_lease > 0) {
            event.n_tokens = min_i32(event.n_tokens, q->n_lease);
            q->n_lease -= event.n_tokens;
            q->n_lease -= q->n_lease == 0; /* it is over */
        }
        for (int32_t i = 0; i < event.n_tokens; i++)
            r->tokens[q->n_tokens + i] = fake_engine_token(r->seed, q->n_tokens + i);
        if (engine->hole_every > 0 && rng_below(&engine->rng, (uint32_t)engine->hole_every) == 0)
            engine->n_holes++;
        else
            say(engine, &event, r->tokens + q->n_tokens, NULL);
        if (rng_below(&engine->rng, 20) == 0) {
            say(engine, &event, r->tokens + q->n_tokens, NULL);
            engine->n_duplicated++;
        }
        q->n_tokens += event.n_tokens;
    }
}

static int64_t step(void *self, int64_t now_ns)
{
    struct fake_engine *engine = self;
    engine->now_ns = now_ns;
    for (int s = 0; s < engine->n_services; s++) {
        if (engine->status[s] == SERVICE_LOADING && engine->ready_ns[s] <= now_ns)
            tell(engine, s, engine->fails_load[s] ? SERVICE_BROKEN : SERVICE_LOADED,
                 engine->fails_load[s] ? STATUS_BAD_INPUT : STATUS_OK);
    }
    for (int i = 0; i < FAKE_REQUESTS_MAX; i++) {
        if (engine->requests[i].is_live && engine->n_put - engine->n_got < FAKE_EVENTS_MAX / 2)
            step_request(engine, &engine->requests[i]);
    }
    return now_ns + TIME_NS_PER_MS;
}

static bool next_change(void *self, struct service_change *change)
{
    struct fake_engine *engine = self;
    if (engine->next_change == engine->n_changes)
        return false;
    *change = engine->changes[engine->next_change++];
    return true;
}

static const struct engine_report *report(void *self)
{
    struct fake_engine *engine = self;
    struct engine_report *r = &engine->report;
    r->engine = engine->id;
    r->role = engine->role;
    r->is_healthy = true;
    r->now_ns = engine->now_ns;
    r->memory_bytes = 1000;
    r->n_requests_max = 32;
    r->n_requests = 0;
    r->n_services = engine->n_services;
    const struct set all = set_of_first(engine->n_services);
    r->listed = set_without(&all, &engine->gone);
    for (int s = 0; s < engine->n_services; s++) {
        r->services[s] = (struct service_report){ .status = engine->status[s],
                                                  .life = engine->lives[s],
                                                  .n_arrived = engine->n_arrived[s] };
        if (engine->status[s] == SERVICE_LOADED)
            r->services[s].weights_bytes = 400;
        r->services[s].kv_bytes_per_token = engine->kv_bytes_per_token;
    }
    for (int i = 0; i < FAKE_REQUESTS_MAX; i++) {
        if (engine->requests[i].is_live) {
            r->services[engine->requests[i].request.service].n_running++;
            r->n_requests++;
        }
    }
    return r;
}

struct cluster_engine fake_engine_face(struct fake_engine *engine)
{
    return (struct cluster_engine){ engine,      { engine, submit, cancel, next, wait_fd },
                                    load,        unload,
                                    drain,       step,
                                    next_change, report };
}
