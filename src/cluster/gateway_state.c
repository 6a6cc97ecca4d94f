/* A gateway's entries: one per request, in the list of its state. */
#include "cluster/gateway_state.h"

#include "base/mem.h"
#include "base/time.h"

static const int64_t ASIDE_NS = 100 * TIME_NS_PER_MS;

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
    entry->state = GATEWAY_HELD;
    entry->held_ns = g->now_ns;
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

void gateway_state_drop(struct cluster_gateway *g, uint32_t handle)
{
    struct gateway_entry *entry = &g->entries[slots_index(handle)];
    map_remove(&g->by_id, entry->request->id);
    mem_give(entry->body);
    mem_give(entry->tokens);
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
                                  .tokens = entry->tokens,
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
