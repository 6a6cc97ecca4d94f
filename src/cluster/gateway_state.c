/* Keeps a gateway's entries: one per request, in the list of its state. */
#include "cluster/gateway_state.h"

#include "base/mem.h"
#include "base/time.h"
#include <string.h>

static const int64_t ASIDE_NS = 100 * TIME_NS_PER_MS;
/* A request that no engine served for this long goes first, in order of arrival, whatever its
 * priority is. Otherwise it would wait without end while requests of a higher priority fill the
 * engines. */
static const int64_t AGE_NS = 20 * TIME_NS_PER_S;
static const int64_t AGE_LOOK_NS = TIME_NS_PER_S;

static void append(struct cluster_gateway *g, struct gateway_list *list, uint32_t at)
{
    struct gateway_entry *entry = &g->entries[at];
    entry->next = GATEWAY_NONE;
    entry->prev = list->last;
    if (list->last == GATEWAY_NONE)
        list->first = at;
    else
        g->entries[list->last].next = at;
    list->last = at;
    list->n++;
}

void gateway_state_remove(struct cluster_gateway *g, struct gateway_list *list, uint32_t at)
{
    struct gateway_entry *entry = &g->entries[at];
    if (entry->prev == GATEWAY_NONE)
        list->first = entry->next;
    else
        g->entries[entry->prev].next = entry->next;
    if (entry->next == GATEWAY_NONE)
        list->last = entry->prev;
    else
        g->entries[entry->next].prev = entry->prev;
    list->n--;
}

static void watch_deadline(struct cluster_gateway *g, uint32_t at)
{
    const struct route_request *r = g->entries[at].request;
    if (r->deadline_ns != TIME_NEVER)
        tree_insert(&g->deadlines, g->deadline_nodes, at, r->deadline_ns, r->id);
}

static void forget_deadline(struct cluster_gateway *g, uint32_t at)
{
    if (g->entries[at].request->deadline_ns != TIME_NEVER)
        tree_remove(&g->deadlines, g->deadline_nodes, at);
}

/* Returning requests find their place by arrival too. */
void gateway_state_hold(struct cluster_gateway *g, uint32_t at)
{
    struct gateway_entry *entry = &g->entries[at];
    bool is_aged = entry->asked.served_ns + AGE_NS <= g->now_ns;
    entry->state = GATEWAY_HELD;
    entry->held_ns = g->now_ns;
    entry->request->priority = is_aged ? INT16_MIN : entry->asked.priority;
    append(g, &g->since[entry->request->service], at);
    watch_deadline(g, at);
}

void gateway_state_unhold(struct cluster_gateway *g, uint32_t at)
{
    struct gateway_entry *entry = &g->entries[at];
    gateway_state_remove(g, &g->since[entry->request->service], at);
    forget_deadline(g, at);
}

void gateway_state_age_held(struct cluster_gateway *g)
{
    int n = g->options.n_services;
    if (g->now_ns < g->next_age_ns)
        return;
    g->next_age_ns = g->now_ns + AGE_LOOK_NS;
    for (int s = 0; s < n; s++) {
        uint32_t at = g->since[s].first;
        for (; at != GATEWAY_NONE && g->entries[at].held_ns + AGE_NS <= g->now_ns;
             at = g->entries[at].next) {
            if (g->requests[at].priority != INT16_MIN)
                route_core_set_priority(gateway_state_core(g, &g->entries[at]), at, INT16_MIN);
        }
    }
}

/* Removes a held entry that is not sent. */
static void leave_held(struct cluster_gateway *g, uint32_t at, enum service_why why)
{
    gateway_state_unhold(g, at);
    route_core_gone(gateway_state_core(g, &g->entries[at]), at, why);
}

void gateway_state_set_aside(struct cluster_gateway *g, uint32_t at)
{
    struct gateway_entry *entry = &g->entries[at];
    leave_held(g, at, SERVICE_NO_SPACE);
    entry->state = GATEWAY_ASIDE;
    entry->back_ns = g->now_ns + ASIDE_NS;
    append(g, &g->aside, at);
    watch_deadline(g, at);
}

static void leave_aside(struct cluster_gateway *g, uint32_t at)
{
    gateway_state_remove(g, &g->aside, at);
    forget_deadline(g, at);
}

int64_t gateway_state_end_asides(struct cluster_gateway *g)
{
    while (g->aside.n > 0) {
        uint32_t at = g->aside.first;
        if (g->entries[at].back_ns > g->now_ns)
            return g->entries[at].back_ns;
        leave_aside(g, at);
        gateway_state_hold(g, at);
        gateway_route_arrived(g, at);
    }
    return TIME_NEVER;
}

uint32_t gateway_state_find(const struct cluster_gateway *g, uint64_t id)
{
    uint32_t handle = map_find(&g->by_id, id);
    return handle == MAP_NONE ? 0 : handle;
}

/* Returns whether the sibling's prompt has these tokens and this rest. The entry has no other
 * tokens yet. */
static bool is_prompt(const struct gateway_prompt *prompt, const struct gateway_entry *entry,
                      const int32_t *tokens, const void *rest)
{
    size_t n_tokens = sizeof(int32_t) * (size_t)prompt->n;
    size_t n_rest = gateway_state_rest_bytes(entry);
    return prompt->n == entry->request->n_tokens && prompt->n_bytes == n_tokens + n_rest &&
           memcmp(prompt->tokens, tokens, n_tokens) == 0 &&
           memcmp(prompt->tokens + prompt->n, rest, n_rest) == 0;
}

/* NULL: there is no memory for it. */
static struct gateway_prompt *keep_prompt(struct cluster_gateway *g,
                                          const struct gateway_entry *entry, const int32_t *tokens,
                                          const void *rest)
{
    uint32_t sibling = gateway_state_find(g, entry->request->id - 1); /* doors number choices */
    struct gateway_prompt *prompt = sibling ? g->entries[slots_index(sibling)].prompt : NULL;
    if (!prompt || !is_prompt(prompt, entry, tokens, rest)) {
        size_t n_rest = gateway_state_rest_bytes(entry);
        int32_t n = entry->request->n_tokens;
        size_t n_bytes = sizeof(int32_t) * (size_t)n + n_rest;
        prompt = mem_try(sizeof *prompt + n_bytes);
        if (!prompt)
            return NULL;
        prompt->n = n;
        prompt->n_bytes = n_bytes;
        memcpy(prompt->tokens, tokens, n_bytes - n_rest);
        memcpy(prompt->tokens + n, rest, n_rest);
    }
    prompt->n_users++;
    return prompt;
}

bool gateway_state_keep_body(struct cluster_gateway *g, struct gateway_entry *entry,
                             const struct request_body *body)
{
    const int32_t *tokens = request_body_tokens(body);
    struct route_request *r = entry->request;
    r->n_tokens = min_i32(r->n_prompt, (int32_t)body->n_tokens); /* of the prompt alone */
    entry->head = *body;
    entry->prompt = keep_prompt(g, entry, tokens, request_body_stop_ids(body));
    int32_t n_more = (int32_t)body->n_tokens - r->n_tokens;
    if (entry->prompt && gateway_state_add_tokens(entry, tokens + r->n_tokens, n_more))
        return true;
    gateway_state_free_body(entry);
    return false;
}

bool gateway_state_add_tokens(struct gateway_entry *entry, const int32_t *tokens, int32_t n)
{
    int32_t n_old = entry->request->n_tokens - entry->prompt->n;
    if (n_old + n > entry->n_generated_room) {
        int32_t room = max_i32(n_old + n, max_i32(64, 2 * entry->n_generated_room));
        int32_t *grown =
            mem_try_grow(entry->generated, sizeof(int32_t) * (size_t)entry->n_generated_room,
                         sizeof(int32_t) * (size_t)room);
        if (!grown)
            return false;
        entry->generated = grown;
        entry->n_generated_room = room;
    }
    if (n > 0)
        memcpy(entry->generated + n_old, tokens, sizeof(int32_t) * (size_t)n);
    entry->request->n_tokens += n;
    return true;
}

bool gateway_state_open_body(const struct gateway_entry *entry, struct gateway_body *body)
{
    const struct gateway_prompt *prompt = entry->prompt;
    size_t n_prompt = sizeof(int32_t) * (size_t)prompt->n, n_rest = prompt->n_bytes - n_prompt;
    size_t n_generated = sizeof(int32_t) * (size_t)(entry->request->n_tokens - prompt->n);
    *body = (struct gateway_body){ .head = entry->head,
                                   .n_bytes = prompt->n_bytes + n_generated,
                                   .at = prompt->tokens };
    body->head.n_tokens = (uint32_t)entry->request->n_tokens;
    body->head.n_bytes = (uint32_t)(sizeof body->head + body->n_bytes);
    if (n_generated == 0)
        return true;
    unsigned char *made = mem_try(body->n_bytes);
    body->at = body->made = made;
    if (!made)
        return false;
    memcpy(made, prompt->tokens, n_prompt);
    memcpy(made + n_prompt, entry->generated, n_generated);
    memcpy(made + n_prompt + n_generated, prompt->tokens + prompt->n, n_rest);
    return true;
}

void gateway_state_close_body(struct gateway_body *body)
{
    mem_give(body->made);
}

void gateway_state_free_body(struct gateway_entry *entry)
{
    if (entry->prompt && --entry->prompt->n_users == 0)
        mem_give(entry->prompt);
    mem_give(entry->generated);
}

enum service_why gateway_state_end_of(const struct gateway_entry *entry)
{
    const struct route_request *r = entry->request;
    const int32_t *stop_ids = entry->prompt->tokens + entry->prompt->n;
    int32_t n_generated = r->n_tokens - entry->prompt->n;
    if (n_generated <= 0)
        return SERVICE_WHY_NONE;
    for (uint32_t i = 0; i < entry->head.n_stop_ids; i++)
        if (n_generated > entry->head.sampling.n_tokens_min &&
            entry->generated[n_generated - 1] == stop_ids[i])
            return SERVICE_STOPPED;
    return r->n_tokens >= r->n_tokens_max ? SERVICE_LENGTH : SERVICE_WHY_NONE;
}

void gateway_state_drop(struct cluster_gateway *g, uint32_t handle)
{
    struct gateway_entry *entry = &g->entries[slots_index(handle)];
    map_remove(&g->by_id, entry->request->id);
    g->n_entries[entry->request->service]--;
    gateway_state_free_body(entry);
    mem_give(entry->sentence);
    *entry = (struct gateway_entry){ .request = entry->request };
    slots_put(&g->slots, handle);
}

void gateway_state_finish(struct cluster_gateway *g, uint32_t at, enum service_why why,
                          const char *sentence)
{
    struct gateway_entry *entry = &g->entries[at];
    CHECK(entry->state == GATEWAY_HELD || entry->state == GATEWAY_ASIDE);
    if (entry->state == GATEWAY_HELD)
        leave_held(g, at, why);
    else
        leave_aside(g, at);
    entry->state = GATEWAY_OVER;
    entry->why = (uint8_t)why;
    entry->sentence = sentence ? mem_copy_text(sentence) : NULL;
    append(g, &g->over, at);
}

static struct length_query query_of(const struct gateway_entry *entry)
{
    const struct route_request *r = entry->request;
    return (struct length_query){ .id = r->id,
                                  .service = r->service,
                                  .n_prompt = r->n_prompt,
                                  .tokens = entry->prompt->tokens,
                                  .n_generated = r->n_tokens - r->n_prompt };
}

int32_t gateway_state_predict(const struct cluster_gateway *g, const struct gateway_entry *entry)
{
    const struct length_query query = query_of(entry);
    return length_book_predict(&g->lengths, &query,
                               entry->request->n_tokens_max - entry->request->n_prompt);
}

void gateway_state_predict_again(const struct cluster_gateway *g, struct gateway_entry *entry)
{
    struct route_request *r = entry->request;
    if (r->n_predicted > 0 && r->n_tokens - r->n_prompt > r->n_predicted)
        r->n_predicted = gateway_state_predict(g, entry);
}

void gateway_state_observe(struct cluster_gateway *g, const struct gateway_entry *entry)
{
    if (entry->asked.kind != REQUEST_GENERATE) /* its length says nothing of others */
        return;
    struct length_query query = query_of(entry);
    int32_t n_output = query.n_generated;
    query.n_generated = 0;
    length_book_observe(&g->lengths, &query, entry->n_first_predicted, n_output);
}
