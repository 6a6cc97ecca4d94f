/* Keeps held requests in order: a tree finds the place, and other code reads the list. */
#include "route/held.h"

enum { NS_PER_US = 1000 };

void route_held_init(struct route_held *held, struct route_request *requests,
                     struct route_service *services, struct tree_node *nodes, struct tree *trees,
                     int n_services)
{
    *held = (struct route_held){
        .requests = requests, .services = services, .nodes = nodes, .trees = trees
    };
    held->alone = ROUTE_NONE;
    for (int s = 0; s < n_services; s++)
        tree_init(&held->trees[s]);
}

/* Makes (priority, arrival, id) the tree's two numbers. The first has 16 bits of priority above 47
 * of microseconds (four years). The second has the remaining nanoseconds above 54 bits of the
 * id. */
static int64_t key_of(const struct route_request *r)
{
    return r->priority * (INT64_C(1) << 47) + r->arrived_ns / NS_PER_US;
}

static uint64_t tie_of(const struct route_request *r)
{
    return (uint64_t)(r->arrived_ns % NS_PER_US) << 54 | (r->id & ((UINT64_C(1) << 54) - 1));
}

static void insert(struct route_held *held, uint32_t slot)
{
    const struct route_request *r = &held->requests[slot];
    tree_insert(&held->trees[r->service], held->nodes, slot, key_of(r), tie_of(r));
}

/* Most arriving requests are sent at once, so a single one needs no tree. */
static void add_alone(struct route_held *held, uint32_t slot)
{
    struct route_request *r = &held->requests[slot];
    struct route_service *service = &held->services[r->service];
    r->next = r->prev = ROUTE_NONE;
    service->first_held = service->last_held = held->alone = slot;
    service->n_held = held->n = 1;
    set_add(&held->services_held, r->service);
}

void route_held_add(struct route_held *held, uint32_t slot)
{
    struct route_request *r = &held->requests[slot];
    struct route_service *service = &held->services[r->service];
    struct tree *tree = &held->trees[r->service];
    if (held->n == 0) {
        add_alone(held, slot);
        return;
    }
    if (held->alone != ROUTE_NONE)
        insert(held, held->alone);
    held->alone = ROUTE_NONE;
    insert(held, slot);
    uint32_t next = tree_next(tree, held->nodes, slot);
    uint32_t prev = next != TREE_NONE ? held->requests[next].prev
                    : tree->n > 1     ? service->last_held
                                      : ROUTE_NONE;
    r->next = next;
    r->prev = prev;
    if (next != TREE_NONE)
        held->requests[next].prev = slot;
    else
        service->last_held = slot;
    if (prev != ROUTE_NONE)
        held->requests[prev].next = slot;
    else
        service->first_held = slot;
    service->n_held = tree->n;
    set_add(&held->services_held, r->service);
    held->n++;
}

void route_held_remove(struct route_held *held, uint32_t slot)
{
    struct route_request *r = &held->requests[slot];
    struct route_service *service = &held->services[r->service];
    struct tree *tree = &held->trees[r->service];
    if (held->alone == slot)
        held->alone = ROUTE_NONE;
    else
        tree_remove(tree, held->nodes, slot);
    if (r->next != ROUTE_NONE)
        held->requests[r->next].prev = r->prev;
    else
        service->last_held = r->prev;
    if (r->prev != ROUTE_NONE)
        held->requests[r->prev].next = r->next;
    else
        service->first_held = r->next;
    service->n_held = tree->n;
    if (tree->n == 0)
        set_remove(&held->services_held, r->service);
    held->n--;
}
