/* Ranks of waiting and running requests. See ranks.h. */
#include "schedule/ranks.h"

static size_t aligned(size_t n)
{
    return (size_t)align_up_u64(n, 64);
}

size_t schedule_ranks_bytes(const struct schedule_limits *limits)
{
    size_t n = (size_t)limits->n_requests_max;
    return aligned((size_t)limits->n_services_max * sizeof(struct schedule_ranks_service)) +
           aligned(n * sizeof(struct schedule_rank)) + 2 * aligned(n * sizeof(int64_t)) +
           3 * aligned(n * sizeof(struct tree_node));
}

void schedule_ranks_open(struct schedule_ranks *ranks, unsigned char **at,
                         const struct schedule_limits *limits, const struct schedule_config *config,
                         unsigned orders)
{
    size_t n = (size_t)limits->n_requests_max;
    *ranks = (struct schedule_ranks){ .config = *config, .orders = orders };
    ranks->services =
        schedule_ranks_cut(at, (size_t)limits->n_services_max * sizeof(*ranks->services));
    ranks->slots = schedule_ranks_cut(at, n * sizeof(*ranks->slots));
    ranks->key_nodes = schedule_ranks_cut(at, n * sizeof(struct tree_node));
    ranks->unserved_nodes = schedule_ranks_cut(at, n * sizeof(struct tree_node));
    ranks->urgent_nodes = schedule_ranks_cut(at, n * sizeof(struct tree_node));
    ranks->first_ns = schedule_ranks_cut(at, n * sizeof(*ranks->first_ns));
    ranks->served_ns = schedule_ranks_cut(at, n * sizeof(*ranks->served_ns));
    for (int32_t i = 0; i < limits->n_services_max; i++) {
        struct schedule_ranks_service *own = &ranks->services[i];
        *own = (struct schedule_ranks_service){ .price.is_plain = false };
        tree_init(&own->waiting);
        tree_init(&own->unserved);
        tree_init(&own->urgent);
        for (int k = 0; k < RANKS_ORDERS; k++)
            own->first[k].is_all = true;
    }
}

/* ---- What happens to a request. ---- */

void schedule_ranks_arrive(struct schedule_ranks *ranks, const struct schedule_view *view,
                           uint32_t slot)
{
    const struct request *r = &view->requests[slot];
    ranks->first_ns[slot] = 0;
    ranks->served_ns[slot] = r->served_ns;
    ranks->slots[slot] = (struct schedule_rank){
        .seq = ++ranks->seq,
        .arrived_ns = r->arrived_ns,
        .has_deadline = (ranks->orders >> RANKS_URGENT & 1) != 0 && r->deadline_ns > 0 &&
                        r->deadline_ns != TIME_NEVER,
    };
}

void schedule_ranks_wait(struct schedule_ranks *ranks, const struct schedule_view *view,
                         uint32_t slot, int64_t key, bool is_unserved)
{
    struct schedule_ranks_service *service = &ranks->services[view->requests[slot].service];
    struct schedule_rank *own = &ranks->slots[slot];
    tree_insert(&service->waiting, ranks->key_nodes, slot, key, own->seq);
    if (is_unserved)
        tree_insert(&service->unserved, ranks->unserved_nodes, slot, ranks->served_ns[slot],
                    own->seq);
    if (own->has_deadline)
        tree_insert(&service->urgent, ranks->urgent_nodes, slot,
                    schedule_work_begin_by_ns(&service->price, view, &view->requests[slot]),
                    own->seq);
    own->is_waiting = true;
    own->is_unserved = is_unserved;
}

void schedule_ranks_stop_waiting(struct schedule_ranks *ranks, const struct schedule_view *view,
                                 uint32_t slot)
{
    struct schedule_ranks_service *service = &ranks->services[view->requests[slot].service];
    struct schedule_rank *own = &ranks->slots[slot];
    tree_remove(&service->waiting, ranks->key_nodes, slot);
    if (own->is_unserved)
        tree_remove(&service->unserved, ranks->unserved_nodes, slot);
    if (own->has_deadline)
        tree_remove(&service->urgent, ranks->urgent_nodes, slot);
    own->is_waiting = own->is_unserved = false;
}

void schedule_ranks_rekey(struct schedule_ranks *ranks, const struct schedule_view *view,
                          uint32_t slot, int64_t key)
{
    struct tree *waiting = &ranks->services[view->requests[slot].service].waiting;
    tree_remove(waiting, ranks->key_nodes, slot);
    tree_insert(waiting, ranks->key_nodes, slot, key, ranks->slots[slot].seq);
}

void schedule_ranks_start(struct schedule_ranks *ranks, const struct schedule_view *view,
                          uint32_t slot, int64_t key)
{
    schedule_ranks_stop_waiting(ranks, view, slot);
    ranks->services[view->requests[slot].service].n_running++;
    ranks->slots[slot].key = key;
    schedule_ranks_first_start(ranks, view, slot);
}

void schedule_ranks_leave(struct schedule_ranks *ranks, const struct schedule_view *view,
                          uint32_t slot)
{
    struct schedule_ranks_service *service = &ranks->services[view->requests[slot].service];
    service->n_running--;
    schedule_booked_forget(&service->booked, &ranks->slots[slot].booked);
    schedule_ranks_first_leave(ranks, view, slot);
}

/* ---- Queries of policies. ---- */

int64_t schedule_ranks_stall_ps_most(const struct schedule_ranks *ranks,
                                     const struct schedule_view *view)
{
    int64_t due_ns = INT64_MAX;
    for (int32_t k = 0; k < schedule_n_busy(view); k++) {
        const struct schedule_ranks_service *own = &ranks->services[schedule_busy(view, k)];
        due_ns = min_i64(due_ns, schedule_ranks_first(own, RANKS_TIGHTEST).key);
    }
    if (due_ns == INT64_MAX)
        return INT64_MAX;
    return max_i64(min_i64(due_ns - view->now_ns, INT64_MAX / 2000), 0) * 1000;
}

uint32_t schedule_ranks_first_waiting(const void *state, const struct schedule_view *view,
                                      int service)
{
    const struct schedule_ranks *ranks = state;
    (void)view;
    return tree_first(&ranks->services[service].waiting);
}

uint32_t schedule_ranks_next_waiting(const void *state, const struct schedule_view *view,
                                     uint32_t slot)
{
    const struct schedule_ranks *ranks = state;
    return tree_next(&ranks->services[view->requests[slot].service].waiting, ranks->key_nodes,
                     slot);
}

uint32_t schedule_ranks_nth_last(const void *state, const struct schedule_view *view, int service,
                                 uint32_t n)
{
    const struct schedule_ranks *ranks = state;
    const struct schedule_firsts *list = &ranks->services[service].first[RANKS_LAST];
    (void)view;
    return n < (uint32_t)list->n ? list->at[n].slot : SCHEDULE_NONE;
}

const struct schedule_booked *schedule_ranks_booked(const void *state,
                                                    const struct schedule_view *view, int service)
{
    const struct schedule_ranks *ranks = state;
    const struct schedule_booked *known = &ranks->services[service].booked;
    if (view->n_in_flight > 0)
        return NULL;
    VERIFY(known->n_blocks == schedule_booked_count(view, &ranks->config, service));
    return known;
}

/* The product of two doubles is the same on every machine. */
bool schedule_ranks_is_before(const void *state, const struct schedule_view *view, uint32_t a,
                              uint32_t b)
{
    const struct schedule_ranks *ranks = state;
    const struct request *x = &view->requests[a], *y = &view->requests[b];
    if (x->priority != y->priority)
        return x->priority < y->priority;
    double length_x = (double)max_i64(view->services[x->service].solo_ns, 1);
    double length_y = (double)max_i64(view->services[y->service].solo_ns, 1);
    double o_x = (double)ranks->slots[a].budget_ps * length_x;
    double o_y = (double)ranks->slots[b].budget_ps * length_y;
    if (o_x < o_y || o_x > o_y)
        return o_x < o_y;
    return ranks->slots[a].seq < ranks->slots[b].seq;
}
