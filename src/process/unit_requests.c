/* The requests that an engine's process has, so that none is lost with it. */
#include "process/unit_state.h"

#include "base/mem.h"
#include <string.h>

void process_unit_requests_open(struct process_unit *u, uint32_t n_max)
{
    u->n_requests_max = n_max;
    u->requests = mem_take(sizeof *u->requests * n_max);
    u->free_requests = mem_take(sizeof *u->free_requests * n_max);
    map_init(&u->by_id, n_max);
    for (uint32_t i = n_max; i-- > 0;)
        u->free_requests[u->n_free++] = i;
}

void process_unit_requests_close(struct process_unit *u)
{
    map_free(&u->by_id);
    mem_give(u->requests);
    mem_give(u->free_requests);
}

struct process_unit_request *process_unit_requests_find(const struct process_unit *u, uint64_t id)
{
    uint32_t at = map_find(&u->by_id, id);
    return at == MAP_NONE ? NULL : &u->requests[at];
}

bool process_unit_requests_add(struct process_unit *u, const struct request *request)
{
    if (u->n_free == 0 || map_find(&u->by_id, request->id) != MAP_NONE)
        return false;
    uint32_t at = u->free_requests[--u->n_free];
    CHECK(map_put(&u->by_id, request->id, at));
    u->requests[at] = (struct process_unit_request){
        .id = request->id,
        .epoch = request->epoch,
        .n_tokens = request->n_tokens,
        .n_tokens_max = request->n_tokens_max,
        .n_scored = request_n_scored(request),
        .n_scores = 1,
        .n_vector =
            request->kind == REQUEST_EMBED ? u->flat->services[request->service].spec.n_vector : 0,
        .service = request->service,
        .is_there = true,
        .has_logprobs = (request->flags & REQUEST_WANTS_LOGPROBS) != 0,
    };
    u->services[request->service].n_live++;
    return true;
}

static void remove_request(struct process_unit *u, struct process_unit_request *r)
{
    CHECK(map_remove(&u->by_id, r->id));
    u->services[r->service].n_live--;
    u->n_cancels -= r->wants_cancel;
    r->is_there = r->wants_cancel = false;
    u->free_requests[u->n_free++] = (uint32_t)(r - u->requests);
}

void process_unit_requests_remove(struct process_unit *u, uint64_t id)
{
    remove_request(u, process_unit_requests_find(u, id));
}

/* Are these tokens that the model could have drawn? */
static bool are_tokens(const struct process_unit *u, const struct process_unit_request *r,
                       const struct service_event *event, const void *payload)
{
    const struct process_service *service = &u->flat->services[r->service];
    int32_t n_ids = service->has_model ? service->model.n_vocabulary : LIMIT_VOCABULARY;
    const int32_t *ids = payload;
    size_t n_least = (size_t)event->n_tokens * sizeof *ids;
    size_t n_all = n_least + (size_t)event->n_tokens * sizeof(struct token_logprobs);
    if (event->n_tokens > r->n_tokens_max - r->n_tokens ||
        ((size_t)event->n_bytes != n_least &&
         (!r->has_logprobs || (size_t)event->n_bytes != n_all)))
        return false;
    for (int32_t i = 0; i < event->n_tokens; i++)
        if (ids[i] < 0 || ids[i] >= n_ids)
            return false;
    return true;
}

/* Are these the next scores of its prompt? Then they are counted. */
static bool are_scores(const struct process_unit *u, struct process_unit_request *r,
                       const struct service_event *event, const void *payload)
{
    const struct process_service *service = &u->flat->services[r->service];
    int32_t n_ids = service->has_model ? service->model.n_vocabulary : LIMIT_VOCABULARY;
    size_t n_bytes = (size_t)event->n_tokens * sizeof(struct token_logprobs);
    if (event->position != r->n_scores || event->n_tokens > r->n_scored - r->n_scores ||
        (size_t)event->n_bytes != n_bytes)
        return false;
    for (int32_t i = 0; i < event->n_tokens; i++) {
        struct token_logprobs score;
        memcpy(&score, (const unsigned char *)payload + sizeof score * (size_t)i, sizeof score);
        for (int32_t k = 0; k < score.n_top; k++)
            if (score.top_ids[k] < 0 || score.top_ids[k] >= n_ids)
                return false;
    }
    r->n_scores += event->n_tokens;
    return true;
}

/* Are these the next floats of its embedding? Then they are counted. */
static bool is_vector(struct process_unit_request *r, const struct service_event *event)
{
    if (event->position != r->n_floats || event->n_tokens > r->n_vector - r->n_floats)
        return false;
    r->n_floats += event->n_tokens;
    return true;
}

bool process_unit_requests_take(struct process_unit *u, const struct service_event *event,
                                const void *payload)
{
    struct process_unit_request *r = process_unit_requests_find(u, event->id);
    if (r == NULL || r->epoch != event->epoch)
        return false;
    if (event->what == SERVICE_SCORES)
        return are_scores(u, r, event, payload);
    if (event->what == SERVICE_VECTOR)
        return is_vector(r, event);
    if (event->position != r->n_tokens)
        return false;
    if (event->what == SERVICE_TOKENS) {
        if (!are_tokens(u, r, event, payload))
            return false;
        r->n_tokens += event->n_tokens;
        return true;
    }
    remove_request(u, r);
    return true;
}

bool process_unit_requests_next_lost(struct process_unit *u, struct service_event *event)
{
    for (uint32_t i = 0; i < u->n_requests_max; i++) {
        struct process_unit_request *r = &u->requests[i];
        if (!r->is_there)
            continue;
        *event = (struct service_event){ .id = r->id,
                                         .epoch = r->epoch,
                                         .what = SERVICE_RETURNED,
                                         .why = SERVICE_CRASHED,
                                         .engine = u->id,
                                         .position = r->n_tokens };
        remove_request(u, r);
        return true;
    }
    return false;
}
