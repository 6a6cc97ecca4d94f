/* Chooses the requests to preempt when running requests lack blocks: schedule_fill_preempt of
 * fill.h. */
#include "schedule/fill.h"

enum {
    WORST_MAX = 16,   /* victims that one pass over the running requests finds */
    FETCH_AHEAD = 12, /* running requests lie apart in memory, so their lines are prefetched */
};

struct search {
    uint32_t keep;
    int service;
    bool others_help; /* units that others give back can be taken */
    schedule_may_go may_go;
    bool takes_residents; /* only requests in their residence, else only others */
    uint32_t before;      /* only requests ranked before this one, since the others are planned */
    int n_worst;
    uint32_t worst[WORST_MAX]; /* the last in order first */
};

static int64_t resides_since(const struct schedule_fill *fill, uint32_t slot)
{
    const struct schedule_order *order = fill->order;
    return order->resides_since == NULL ? INT64_MAX
                                        : order->resides_since(order->state, fill->view, slot);
}

/* The policy's order; with spares_service, among requests of one priority the service's own stand
 * before all others. */
static bool is_before(const struct schedule_fill *fill, const struct search *search, uint32_t a,
                      uint32_t b)
{
    if (search->takes_residents) {
        int64_t a_since = resides_since(fill, a), b_since = resides_since(fill, b);
        if (a_since != b_since)
            return a_since < b_since;
    }
    if (fill->order->spares_service) {
        const struct request *x = &fill->view->requests[a], *y = &fill->view->requests[b];
        if (x->priority != y->priority)
            return x->priority < y->priority;
        bool x_is_own = x->service == search->service, y_is_own = y->service == search->service;
        if (x_is_own != y_is_own)
            return x_is_own;
    }
    return fill->order->is_before(fill->order->state, fill->view, a, b);
}

/* Inserts it into the worst found so far, if it is one. */
static void keep_worst(const struct schedule_fill *fill, struct search *search, uint32_t slot)
{
    int i = search->n_worst;
    if (i == WORST_MAX && is_before(fill, search, slot, search->worst[i - 1]))
        return;
    if (search->n_worst < WORST_MAX)
        search->n_worst++;
    else
        i--;
    for (; i > 0 && is_before(fill, search, search->worst[i - 1], slot); i--)
        search->worst[i] = search->worst[i - 1];
    search->worst[i] = slot;
}

static bool may_look_in(const struct schedule_fill *fill, const struct search *search, int service)
{
    const struct kv_budget_service *b = &fill->view->kv->services[service];
    return service == search->service || (search->others_help && b->n_units > b->n_units_min);
}

static bool is_victim(const struct schedule_fill *fill, const struct search *search, uint32_t slot)
{
    return fill->view->requests[slot].batch == 0 && fill->view->n_table_blocks[slot] != 0 &&
           slot != search->keep &&
           (resides_since(fill, slot) != INT64_MAX) == search->takes_residents &&
           (search->may_go == NULL || search->may_go(fill->order->state, fill->view, slot));
}

static void look_in(const struct schedule_fill *fill, int service, struct search *search)
{
    const struct schedule_service *s = &fill->view->services[service];
    for (uint32_t i = 0; i < s->n_running; i++) {
        uint32_t slot = s->running[i];
        if (i + FETCH_AHEAD < s->n_running)
            __builtin_prefetch(&fill->view->requests[s->running[i + FETCH_AHEAD]]);
        if (is_victim(fill, search, slot) &&
            (search->before == SCHEDULE_NONE || is_before(fill, search, slot, search->before)))
            keep_worst(fill, search, slot);
    }
}

/* Finds the next few victims, worst first. Returns false when there are none. */
static bool find_worst(const struct schedule_fill *fill, struct search *search)
{
    search->n_worst = 0;
    for (int32_t k = 0; k < schedule_n_busy(fill->view); k++) {
        int i = schedule_busy(fill->view, k);
        if (fill->view->services[i].n_running > 0 && may_look_in(fill, search, i))
            look_in(fill, i, search);
    }
    if (search->n_worst > 0)
        search->before = search->worst[search->n_worst - 1];
    return search->n_worst > 0;
}

static void give_way(struct schedule_plan *plan, const struct schedule_view *view, uint32_t slot)
{
    plan->swaps[plan->n_preempts] = schedule_swap_pays(view, slot);
    plan->preempts[plan->n_preempts++] = slot;
}

/* Returns how many blocks of the service this victim's blocks are worth, after all earlier victims
 * of its service. */
static int64_t worth(const struct schedule_fill *fill, int service, uint32_t slot, int64_t *n_given)
{
    int victim = fill->view->requests[slot].service;
    int64_t n = fill->view->n_table_blocks[slot];
    if (victim == service)
        return n;
    const struct kv_budget_service *his = &fill->view->kv->services[victim];
    const struct kv_budget_service *own = &fill->view->kv->services[service];
    int64_t before = kv_blocks_in(own, kv_units_in(his, n_given[victim])); /* whole units only */
    n_given[victim] += n;
    return kv_blocks_in(own, kv_units_in(his, n_given[victim])) - before;
}

enum { LOOKS_MAX = 32 }; /* at all running requests of one service */
enum { NEXT_MAX = 8 };   /* victims that such a look finds */

struct cursor {    /* of a service */
    uint32_t n;    /* how many of the last ones that the order knows were visited */
    uint32_t last; /* the next victim; SCHEDULE_NONE: not searched yet, or no more */
    bool is_over, is_unknown;
    int n_may; /* number that may go, when known; -1 */
    uint32_t may[FILL_KNOWN_MAX];
    int n_next, n_taken; /* a look finds several, worst first */
    uint32_t next[NEXT_MAX];
};

static void open_cursor(const struct schedule_fill *fill, const struct search *search, int service,
                        struct cursor *cursor)
{
    const struct schedule_order *order = fill->order;
    cursor->n = 0;
    cursor->last = SCHEDULE_NONE;
    cursor->n_may = -1;
    cursor->n_next = cursor->n_taken = 0;
    if (order->find_who_may != NULL && search->may_go != NULL)
        cursor->n_may =
            order->find_who_may(order->state, fill->view, service, search->may_go, cursor->may);
    cursor->is_over = cursor->n_may == 0;
    cursor->is_unknown = cursor->n_may >= 0;
}

/* Inserts it into the next few, if the slot is one. */
static void keep_next(const struct schedule_fill *fill, const struct search *search,
                      struct cursor *cursor, uint32_t slot)
{
    int i = cursor->n_next;
    if (i == NEXT_MAX && is_before(fill, search, slot, cursor->next[--i]))
        return;
    cursor->n_next = i + 1;
    for (; i > 0 && is_before(fill, search, cursor->next[i - 1], slot); i--)
        cursor->next[i] = cursor->next[i - 1];
    cursor->next[i] = slot;
}

/* Searches all that may go, after the one named last. */
static void look_for_next(const struct schedule_fill *fill, const struct search *search,
                          int service, struct cursor *cursor, uint32_t before)
{
    const struct schedule_service *s = &fill->view->services[service];
    const uint32_t *slots = cursor->n_may >= 0 ? cursor->may : s->running;
    uint32_t n = cursor->n_may >= 0 ? (uint32_t)cursor->n_may : s->n_running;
    cursor->n_next = cursor->n_taken = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (i + FETCH_AHEAD < n)
            __builtin_prefetch(&fill->view->requests[slots[i + FETCH_AHEAD]]);
        if (is_victim(fill, search, slots[i]) &&
            (before == SCHEDULE_NONE || is_before(fill, search, slots[i], before)))
            keep_next(fill, search, cursor, slots[i]);
    }
}

/* Finds the next victim of the service: one that the order knows, else by a search of all that may
 * go. */
static void find_next(const struct schedule_fill *fill, const struct search *search, int service,
                      struct cursor *cursor, int *n_looks)
{
    const struct schedule_order *order = fill->order;
    uint32_t slot = SCHEDULE_NONE, before = cursor->last;
    while (!cursor->is_unknown && cursor->n < fill->view->services[service].n_running) {
        slot = order->nth_last(order->state, fill->view, service, cursor->n++);
        cursor->is_unknown = slot == SCHEDULE_NONE;
        if (slot != SCHEDULE_NONE && is_victim(fill, search, slot))
            break;
        slot = SCHEDULE_NONE;
    }
    if (cursor->is_unknown && cursor->n_taken == cursor->n_next) {
        look_for_next(fill, search, service, cursor, before);
        *n_looks += cursor->n_may < 0;
    }
    if (cursor->is_unknown && cursor->n_taken < cursor->n_next)
        slot = cursor->next[cursor->n_taken++];
    cursor->last = slot;
    cursor->is_over = slot == SCHEDULE_NONE;
}

/* Finds the same victims as a search of all would, when the order knows the last few of each
 * service. Returns false when there are too many. */
static bool preempt_known(struct schedule_fill *fill, struct search search, int64_t n_blocks)
{
    int64_t n_given[KV_SERVICES_MAX], n_freed = 0;
    int32_t n_busy = schedule_n_busy(fill->view);
    struct cursor cursors[KV_SERVICES_MAX];
    struct schedule_plan *plan = fill->plan;
    int n_looks = 0;
    for (int32_t k = 0; k < n_busy; k++) {
        int i = schedule_busy(fill->view, k);
        n_given[i] = 0;
        if (fill->view->services[i].n_running > 0)
            open_cursor(fill, &search, i, &cursors[i]);
    }
    while (n_freed < n_blocks && plan->n_preempts < LIMIT_BATCH_ITEMS) {
        int best = -1;
        for (int32_t k = 0; k < n_busy; k++) {
            int i = schedule_busy(fill->view, k);
            struct cursor *cursor = &cursors[i];
            if (fill->view->services[i].n_running == 0 || !may_look_in(fill, &search, i))
                continue;
            if (cursor->last == SCHEDULE_NONE && !cursor->is_over)
                find_next(fill, &search, i, cursor, &n_looks);
            if (!cursor->is_over &&
                (best < 0 || is_before(fill, &search, cursors[best].last, cursor->last)))
                best = i;
        }
        if (best < 0)
            return true;
        give_way(plan, fill->view, cursors[best].last);
        n_freed += worth(fill, search.service, cursors[best].last, n_given);
        find_next(fill, &search, best, &cursors[best], &n_looks);
        if (n_looks > LOOKS_MAX)
            return false;
    }
    return true;
}

/* Does the same by a search of all running requests. */
static void preempt_by_look(struct schedule_fill *fill, struct search search, int64_t n_blocks)
{
    struct schedule_plan *plan = fill->plan;
    int64_t n_given[KV_SERVICES_MAX]; /* blocks of all victims of a service */
    int64_t n_freed = 0; /* an estimate, since units and blocks are shared; the next plan knows */
    plan->n_preempts = 0;
    for (int32_t k = 0; k < schedule_n_busy(fill->view); k++)
        n_given[schedule_busy(fill->view, k)] = 0;
    while (n_freed < n_blocks && find_worst(fill, &search)) {
        for (int i = 0; i < search.n_worst && n_freed < n_blocks; i++) {
            uint32_t slot = search.worst[i];
            if (plan->n_preempts == LIMIT_BATCH_ITEMS)
                return;
            give_way(plan, fill->view, slot);
            n_freed += worth(fill, search.service, slot, n_given);
        }
    }
}

bool schedule_fill_preempt(struct schedule_fill *fill, int service, int64_t n_blocks, uint32_t keep,
                           schedule_may_go may_go)
{
    const struct kv_budget_service *own = &fill->view->kv->services[service];
    int64_t n_units = own->n_units + kv_units_for(own, n_blocks);
    struct search search = { .keep = keep,
                             .service = service,
                             .others_help = n_units <= own->n_units_max,
                             .may_go = may_go,
                             .before = SCHEDULE_NONE };
    struct schedule_plan *plan = fill->plan;
    plan->n_batches = plan->n_items = plan->n_preempts = 0;
    if (fill->order->nth_last == NULL || !preempt_known(fill, search, n_blocks))
        preempt_by_look(fill, search, n_blocks);
    if (plan->n_preempts == 0 && may_go == NULL && fill->order->resides_since != NULL) {
        search.takes_residents = true;
        preempt_by_look(fill, search, n_blocks);
    }
    return plan->n_preempts > 0;
}
