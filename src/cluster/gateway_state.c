/* A gateway's entries: one per request, in the list of its state. */
#include "cluster/gateway_state.h"

#include "base/mem.h"
#include "base/time.h"
#include <string.h>

static const int64_t ASIDE_NS = 100 * TIME_NS_PER_MS;
/* A request that no engine served for so long goes first, in order of arrival, whatever its
 * priority is. Otherwise it would wait for ever while requests of a higher one fill the engines. */
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

/* Also those that come back find their place by arrival. */
void gateway_state_hold(struct cluster_gateway *g, uint32_t at)
{
    struct gateway_entry *entry = &g->entries[at];
    bool is_aged = entry->asked.served_ns + AGE_NS <= g->now_ns;
    entry->state = GATEWAY_HELD;
    entry->held_ns = g->now_ns;
    entry->request->priority = is_aged ? INT16_MIN : entry->asked.priority;
    route_held_add(&g->held, at);
    append(g, &g->since[entry->request->service], at);
    watch_deadline(g, at);
    g->is_dirty = true;
}

void gateway_state_unhold(struct cluster_gateway *g, uint32_t at)
{
    struct gateway_entry *entry = &g->entries[at];
    route_held_remove(&g->held, at);
    gateway_state_remove(g, &g->since[entry->request->service], at);
    forget_deadline(g, at);
}

void gateway_state_age_held(struct cluster_gateway *g)
{
    int n = g->options.n_services;
    if (g->now_ns < g->next_age_ns)
        return;
    g->next_age_ns = g->now_ns + AGE_LOOK_NS;
    for (int s = 0; (s = set_next(&g->held.services_held, s, n)) >= 0; s++) {
        uint32_t at = g->since[s].first;
        for (; at != GATEWAY_NONE && g->entries[at].held_ns + AGE_NS <= g->now_ns;
             at = g->entries[at].next) {
            if (g->requests[at].priority == INT16_MIN)
                continue;
            route_held_remove(&g->held, at);
            g->requests[at].priority = INT16_MIN;
            route_held_add(&g->held, at);
            g->is_dirty = true;
        }
    }
}

/* A held entry is held no more, and not sent. */
static void leave_held(struct cluster_gateway *g, uint32_t at, enum service_why why)
{
    gateway_state_unhold(g, at);
    gateway_route_forget(g, at);
    gateway_route_saw(g, ROUTE_GONE, at, (uint8_t)why);
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
        gateway_route_saw(g, ROUTE_ARRIVED, at, 0);
    }
    return TIME_NEVER;
}

uint32_t gateway_state_find(const struct cluster_gateway *g, uint64_t id)
{
    uint32_t handle = map_find(&g->by_id, id);
    return handle == MAP_NONE ? 0 : handle;
}

/* NULL: there is no memory for it. */
static struct gateway_prompt *keep_prompt(struct cluster_gateway *g, uint64_t id,
                                          const int32_t *tokens, int32_t n)
{
    size_t n_bytes = sizeof(int32_t) * (size_t)n;
    uint32_t sibling = gateway_state_find(g, id - 1); /* doors number choices one by one */
    struct gateway_prompt *prompt = sibling ? g->entries[slots_index(sibling)].prompt : NULL;
    if (!prompt || prompt->n != n || memcmp(prompt->tokens, tokens, n_bytes) != 0) {
        prompt = mem_try(sizeof *prompt + n_bytes);
        if (!prompt)
            return NULL;
        prompt->n = n;
        memcpy(prompt->tokens, tokens, n_bytes);
    }
    prompt->n_users++;
    return prompt;
}

bool gateway_state_keep_body(struct cluster_gateway *g, struct gateway_entry *entry,
                             const struct request_body *body)
{
    size_t n_bytes = request_body_bytes(0, body->n_stop_ids, body->n_biases);
    const int32_t *tokens = request_body_tokens(body);
    int32_t n_prompt = min_i32(entry->request->n_prompt, (int32_t)body->n_tokens);
    entry->prompt = keep_prompt(g, entry->request->id, tokens, n_prompt);
    entry->request->n_tokens = n_prompt;
    entry->body = entry->prompt ? mem_try(n_bytes) : NULL;
    int32_t n_more = (int32_t)body->n_tokens - n_prompt;
    if (!entry->body || !gateway_state_add_tokens(entry, tokens + n_prompt, n_more)) {
        gateway_state_free_body(entry);
        return false;
    }
    *entry->body = *body;
    entry->body->n_bytes = (uint32_t)n_bytes;
    entry->body->n_tokens = 0;
    memcpy(entry->body + 1, request_body_stop_ids(body), n_bytes - sizeof *body);
    return true;
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

struct request_body *gateway_state_whole_body(const struct gateway_entry *entry)
{
    const struct request_body *head = entry->body;
    size_t n_prompt = (size_t)entry->prompt->n;
    size_t n_tokens = (size_t)entry->request->n_tokens;
    size_t n_bytes = request_body_bytes((uint32_t)n_tokens, head->n_stop_ids, head->n_biases);
    struct request_body *body = mem_try(n_bytes);
    if (!body)
        return NULL;
    *body = *head;
    body->n_bytes = (uint32_t)n_bytes;
    body->n_tokens = (uint32_t)n_tokens;
    memcpy(request_body_tokens(body), entry->prompt->tokens, sizeof(int32_t) * n_prompt);
    if (n_tokens > n_prompt)
        memcpy(request_body_tokens(body) + n_prompt, entry->generated,
               sizeof(int32_t) * (n_tokens - n_prompt));
    memcpy(request_body_stop_ids(body), head + 1, head->n_bytes - sizeof *head);
    return body;
}

void gateway_state_free_body(struct gateway_entry *entry)
{
    if (entry->prompt && --entry->prompt->n_users == 0)
        mem_give(entry->prompt);
    mem_give(entry->body);
    mem_give(entry->generated);
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
    struct length_query query = query_of(entry);
    int32_t n_output = query.n_generated;
    query.n_generated = 0;
    length_book_observe(&g->lengths, &query, entry->n_first_predicted, n_output);
}
