/* Keeps the first of a service's running requests by several orders, updated by each change.
 *
 * For each order the first RANKS_FIRST_MAX are listed, so that when some leave the next are known.
 * A batch changes only the keys of its members. Therefore the other listed requests still precede
 * all unlisted ones, and members are inserted as far as the list reached. All running requests are
 * searched again only when a list runs out. */
#include "schedule/ranks.h"
#include <string.h>

static const struct schedule_first before_all = { INT64_MIN, 0, SCHEDULE_NONE };
static const struct schedule_first beyond_all = { INT64_MAX, UINT64_MAX, SCHEDULE_NONE };

/* Each order has its own loops, because they visit all running requests after each batch. */
#define INLINED static inline __attribute__((always_inline))

/* Computes the key of a running request by this order. Returns false when it has no key. */
INLINED bool key_by(struct schedule_ranks *ranks, const struct schedule_view *view,
                    enum schedule_ranks_order order, uint32_t slot, struct schedule_first *first)
{
    const struct request *r = &view->requests[slot];
    struct schedule_rank *own = &ranks->slots[slot];
    *first = (struct schedule_first){ 0, own->seq, slot };
    switch (order) {
    case RANKS_BEST:
        first->key = own->key;
        return true;
    case RANKS_LAST:
        first->key = -own->key;
        first->seq = ~own->seq;
        return true;
    case RANKS_OLDEST:
        first->key = ranks->served_ns[slot];
        return true;
    case RANKS_SPENT:
        first->key = -own->spent_ps;
        return true;
    case RANKS_URGENT:
        first->key = own->has_deadline
                         ? schedule_work_begin_by_ns(&ranks->services[r->service].price, view, r)
                         : 0;
        return own->has_deadline;
    default:
        break;
    }
    int64_t n_generated = r->n_tokens - r->n_prompt;
    int64_t tpot_ns = view->services[r->service].tpot_ns;
    if (tpot_ns <= 0 || n_generated < 1)
        return false;
    if (ranks->first_ns[slot] == 0)
        ranks->first_ns[slot] = r->first_ns;
    first->key = ranks->first_ns[slot] + tpot_ns * (n_generated - 1);
    return ranks->first_ns[slot] != 0;
}

/* ---- One list. ---- */

/* Inserts it in its place. The last one of a full list drops out. */
static inline void insert(struct schedule_firsts *list, const struct schedule_first *first)
{
    int32_t i = list->n;
    if (i == RANKS_FIRST_MAX) {
        list->is_all = false;
        if (!schedule_first_is_before(first, &list->at[--i]))
            return;
    } else {
        list->n++;
    }
    for (; i > 0 && schedule_first_is_before(first, &list->at[i - 1]); i--)
        list->at[i] = list->at[i - 1];
    list->at[i] = *first;
}

/* If it is one of the first. */
static inline void take(struct schedule_firsts *list, const struct schedule_first *first)
{
    if (list->is_all || (list->n > 0 && schedule_first_is_before(first, &list->at[list->n - 1])))
        insert(list, first);
}

static bool take_out(struct schedule_firsts *list, uint32_t slot)
{
    int32_t i = 0;
    while (i < list->n && list->at[i].slot != slot)
        i++;
    if (i == list->n)
        return false;
    list->n--;
    memmove(&list->at[i], &list->at[i + 1], (size_t)(list->n - i) * sizeof(list->at[0]));
    return true;
}

static bool is_spent(const struct schedule_firsts *list)
{
    return list->n == 0 && !list->is_all;
}

enum { FETCH_AHEAD = 8 };
/* Prefetches its record too, if a target or a deadline needs it. */
static inline void fetch_ahead(const struct schedule_ranks *ranks, const struct schedule_view *view,
                               const struct schedule_service *s, uint32_t i, bool reads_request)
{
    if (i + FETCH_AHEAD >= s->n_running)
        return;
    uint32_t slot = s->running[i + FETCH_AHEAD];
    __builtin_prefetch(&ranks->slots[slot]);
    if (!reads_request)
        return;
    __builtin_prefetch(&view->requests[slot]);
    __builtin_prefetch(&view->requests[slot].deadline_ns);
}

/* Lists all running requests of the service except `gone`, by one order. */
INLINED void look_by(struct schedule_ranks *ranks, const struct schedule_view *view, int service,
                     enum schedule_ranks_order order, uint32_t gone)
{
    const struct schedule_service *s = &view->services[service];
    struct schedule_firsts list = { .n = 0, .is_all = true };
    struct schedule_first first;
    for (uint32_t i = 0; i < s->n_running; i++) {
        fetch_ahead(ranks, view, s, i, order == RANKS_URGENT || order == RANKS_TIGHTEST);
        if (s->running[i] != gone && key_by(ranks, view, order, s->running[i], &first))
            take(&list, &first);
    }
    ranks->services[service].first[order] = list;
}

/* Does what look_by does, but skips nearly all by their key alone. */
static void look_for_oldest(struct schedule_ranks *ranks, const struct schedule_view *view,
                            int service, uint32_t gone)
{
    const struct schedule_service *s = &view->services[service];
    struct schedule_firsts list = { .n = 0, .is_all = true };
    int64_t most = INT64_MAX; /* a larger key does not get into the full list */
    for (uint32_t i = 0; i < s->n_running; i++) {
        uint32_t slot = s->running[i];
        int64_t key = ranks->served_ns[slot];
        if (slot == gone)
            continue;
        if (key > most) {
            list.is_all = false;
            continue;
        }
        struct schedule_first first = { key, ranks->slots[slot].seq, slot };
        take(&list, &first);
        most = list.n == RANKS_FIRST_MAX ? list.at[RANKS_FIRST_MAX - 1].key : INT64_MAX;
    }
    ranks->services[service].first[RANKS_OLDEST] = list;
}

/* Returns the end: no request beyond it gets into a full list. */
static inline struct schedule_first end_of(const struct schedule_firsts *list)
{
    return list->n == RANKS_FIRST_MAX ? list->at[RANKS_FIRST_MAX - 1] : beyond_all;
}

/* Inserts a request that is before the end, if the list lacks it. Returns the new end. */
static struct schedule_first offer(struct schedule_firsts *list, const struct schedule_first *first,
                                   const struct schedule_first *end)
{
    for (int32_t i = 0; i < list->n; i++)
        if (list->at[i].slot == first->slot)
            return *end;
    insert(list, first);
    return list->n == RANKS_FIRST_MAX ? list->at[RANKS_FIRST_MAX - 1] : *end;
}

/* Returns false when it has no key. */
INLINED bool offer_by(struct schedule_ranks *ranks, const struct schedule_view *view,
                      enum schedule_ranks_order order, struct schedule_firsts *lists,
                      struct schedule_first *ends, uint32_t slot)
{
    struct schedule_first first;
    if (!key_by(ranks, view, order, slot, &first))
        return false;
    if (schedule_first_is_before(&first, &ends[order]))
        ends[order] = offer(&lists[order], &first, &ends[order]);
    else
        lists[order].is_all = false; /* the list was whole, and has filled up */
    return true;
}

/* Offers one request to the orders by what each batch changes. Nearly all requests are behind all
 * ends. */
INLINED void offer_all(struct schedule_ranks *ranks, const struct schedule_view *view,
                       struct schedule_firsts *lists, struct schedule_first *ends, uint32_t slot)
{
    const struct schedule_rank *own = &ranks->slots[slot];
    if (own->key > ends[RANKS_BEST].key && -own->key > ends[RANKS_LAST].key &&
        ranks->served_ns[slot] > ends[RANKS_OLDEST].key && -own->spent_ps > ends[RANKS_SPENT].key) {
        lists[RANKS_BEST].is_all = lists[RANKS_LAST].is_all = false;
        lists[RANKS_OLDEST].is_all = lists[RANKS_SPENT].is_all = false;
        return;
    }
    (void)offer_by(ranks, view, RANKS_BEST, lists, ends, slot);
    (void)offer_by(ranks, view, RANKS_LAST, lists, ends, slot);
    (void)offer_by(ranks, view, RANKS_OLDEST, lists, ends, slot);
    (void)offer_by(ranks, view, RANKS_SPENT, lists, ends, slot);
}

/* Puts the list in order by the new keys of its members. They are likely the first, so that few
 * others get in. */
INLINED void sort(struct schedule_ranks *ranks, const struct schedule_view *view,
                  enum schedule_ranks_order order, struct schedule_firsts *list)
{
    struct schedule_first first;
    int32_t n = list->n;
    list->n = 0;
    for (int32_t i = 0; i < n; i++) /* what is read was not written yet */
        if (key_by(ranks, view, order, list->at[i].slot, &first))
            insert(list, &first);
}

/* Returns whether a running request of the service can have a key. If not, its list is empty, and
 * complete. */
static bool has_keys(const struct schedule_ranks *ranks, const struct schedule_view *view,
                     int service, enum schedule_ranks_order order)
{
    if ((ranks->orders >> order & 1) == 0)
        return false;
    return order == RANKS_URGENT ? ranks->services[service].n_deadlines > 0
                                 : view->services[service].tpot_ns > 0;
}

/* Returns whether each list whose order gives every request a key has all running requests. */
static bool are_listed(const struct schedule_ranks *ranks, const struct schedule_firsts *lists,
                       uint32_t n_running)
{
    for (int k = 0; k < RANKS_URGENT; k++)
        if ((ranks->orders >> k & 1) != 0 && (uint32_t)lists[k].n < n_running)
            return false;
    return true;
}

/* Most keys have changed, so it makes one pass over all, unless all are in the lists already. */
static void look_at_all(struct schedule_ranks *ranks, const struct schedule_view *view, int service)
{
    const struct schedule_service *s = &view->services[service];
    struct schedule_firsts *lists = ranks->services[service].first;
    struct schedule_first ends[RANKS_ORDERS];
    bool has_urgent = has_keys(ranks, view, service, RANKS_URGENT);
    bool has_tightest = has_keys(ranks, view, service, RANKS_TIGHTEST);
    uint32_t n_urgent = 0, n_tightest = 0;
    sort(ranks, view, RANKS_BEST, &lists[RANKS_BEST]);
    sort(ranks, view, RANKS_LAST, &lists[RANKS_LAST]);
    sort(ranks, view, RANKS_OLDEST, &lists[RANKS_OLDEST]);
    sort(ranks, view, RANKS_SPENT, &lists[RANKS_SPENT]);
    sort(ranks, view, RANKS_URGENT, &lists[RANKS_URGENT]);
    sort(ranks, view, RANKS_TIGHTEST, &lists[RANKS_TIGHTEST]);
    for (int k = 0; k < RANKS_ORDERS; k++)
        ends[k] = (ranks->orders >> k & 1) != 0 ? end_of(&lists[k]) : before_all;
    bool are_missing = has_urgent || has_tightest || !are_listed(ranks, lists, s->n_running);
    for (uint32_t i = 0; i < s->n_running && are_missing; i++) {
        uint32_t slot = s->running[i];
        fetch_ahead(ranks, view, s, i, has_urgent || has_tightest);
        offer_all(ranks, view, lists, ends, slot);
        if (has_urgent)
            n_urgent += offer_by(ranks, view, RANKS_URGENT, lists, ends, slot);
        if (has_tightest)
            n_tightest += offer_by(ranks, view, RANKS_TIGHTEST, lists, ends, slot);
    }
    for (int k = 0; k < RANKS_ORDERS; k++)
        lists[k].is_all = s->n_running <= RANKS_FIRST_MAX;
    lists[RANKS_URGENT].is_all = n_urgent <= RANKS_FIRST_MAX;
    lists[RANKS_TIGHTEST].is_all = n_tightest <= RANKS_FIRST_MAX;
}

static void look(struct schedule_ranks *ranks, const struct schedule_view *view, int service,
                 unsigned orders, uint32_t gone)
{
    if ((orders & 1U << RANKS_BEST) != 0)
        look_by(ranks, view, service, RANKS_BEST, gone);
    if ((orders & 1U << RANKS_LAST) != 0)
        look_by(ranks, view, service, RANKS_LAST, gone);
    if ((orders & 1U << RANKS_OLDEST) != 0)
        look_for_oldest(ranks, view, service, gone);
    if ((orders & 1U << RANKS_SPENT) != 0)
        look_by(ranks, view, service, RANKS_SPENT, gone);
    if ((orders & 1U << RANKS_URGENT) != 0)
        look_by(ranks, view, service, RANKS_URGENT, gone);
    if ((orders & 1U << RANKS_TIGHTEST) != 0)
        look_by(ranks, view, service, RANKS_TIGHTEST, gone);
}

/* ---- What changes. ---- */

void schedule_ranks_first_look(struct schedule_ranks *ranks, const struct schedule_view *view,
                               int service)
{
    look(ranks, view, service, ranks->orders, SCHEDULE_NONE);
}

void schedule_ranks_first_start(struct schedule_ranks *ranks, const struct schedule_view *view,
                                uint32_t slot)
{
    struct schedule_firsts *lists = ranks->services[view->requests[slot].service].first;
    struct schedule_first first;
    ranks->services[view->requests[slot].service].n_deadlines += ranks->slots[slot].has_deadline;
    for (int k = 0; k < RANKS_ORDERS; k++)
        if ((ranks->orders >> k & 1) != 0 &&
            key_by(ranks, view, (enum schedule_ranks_order)k, slot, &first))
            take(&lists[k], &first);
}

void schedule_ranks_first_leave(struct schedule_ranks *ranks, const struct schedule_view *view,
                                uint32_t slot)
{
    int service = view->requests[slot].service;
    struct schedule_firsts *lists = ranks->services[service].first;
    unsigned orders = 0;
    ranks->services[service].n_deadlines -= ranks->slots[slot].has_deadline;
    for (int k = 0; k < RANKS_ORDERS; k++)
        if (take_out(&lists[k], slot) && is_spent(&lists[k]))
            orders |= 1U << k;
    look(ranks, view, service, orders, slot);
}

/* Takes the batch's members out of the list. Returns the end of what it knew: no other request
 * outside it is before that. */
static struct schedule_first take_members(const struct schedule_ranks *ranks,
                                          struct schedule_firsts *list)
{
    struct schedule_first end = list->is_all  ? beyond_all
                                : list->n > 0 ? list->at[list->n - 1]
                                              : before_all;
    int32_t n = 0;
    for (int32_t i = 0; i < list->n; i++)
        if (ranks->slots[list->at[i].slot].ran_in != ranks->n_batches)
            list->at[n++] = list->at[i];
    list->n = n;
    return end;
}

void schedule_ranks_first_ran(struct schedule_ranks *ranks, const struct schedule_view *view,
                              const struct batch *batch)
{
    const struct schedule_service *s = &view->services[batch->service];
    struct schedule_firsts *lists = ranks->services[batch->service].first;
    struct schedule_first ends[RANKS_ORDERS];
    unsigned orders = 0;
    if ((uint32_t)batch->n_items > s->n_running / 2) {
        look_at_all(ranks, view, batch->service);
        return;
    }
    ranks->n_batches++;
    for (int32_t i = 0; i < batch->n_items; i++)
        ranks->slots[batch->items[i].slot].ran_in = ranks->n_batches;
    for (int k = 0; k < RANKS_ORDERS; k++)
        ends[k] = (ranks->orders >> k & 1) != 0 ? take_members(ranks, &lists[k]) : before_all;
    for (int32_t i = 0; i < batch->n_items; i++) {
        uint32_t slot = batch->items[i].slot;
        offer_all(ranks, view, lists, ends, slot);
        if ((ranks->orders >> RANKS_URGENT & 1) != 0)
            (void)offer_by(ranks, view, RANKS_URGENT, lists, ends, slot);
        if ((ranks->orders >> RANKS_TIGHTEST & 1) != 0)
            (void)offer_by(ranks, view, RANKS_TIGHTEST, lists, ends, slot);
    }
    for (int k = 0; k < RANKS_ORDERS; k++) {
        struct schedule_firsts *list = &lists[k];
        list->is_all &= list->n < RANKS_FIRST_MAX || s->n_running <= RANKS_FIRST_MAX;
        orders |= (ranks->orders >> k & 1) != 0 && is_spent(list) ? 1U << k : 0;
    }
    look(ranks, view, batch->service, orders, SCHEDULE_NONE);
}

/* ---- Self-check. ---- */

static bool is_listed(const struct schedule_firsts *list, uint32_t slot)
{
    for (int32_t i = 0; i < list->n; i++)
        if (list->at[i].slot == slot)
            return true;
    return false;
}

static bool is_list_sound(struct schedule_ranks *ranks, const struct schedule_view *view,
                          int service, enum schedule_ranks_order order)
{
    const struct schedule_service *s = &view->services[service];
    const struct schedule_firsts *list = &ranks->services[service].first[order];
    bool has_key = order != RANKS_URGENT; /* else the key is from its last computation */
    int32_t n = 0, n_listed = 0;
    struct schedule_first first;
    for (int32_t i = 1; i < list->n; i++)
        if (!schedule_first_is_before(&list->at[i - 1], &list->at[i]))
            return false;
    for (uint32_t i = 0; i < s->n_running; i++) {
        if (!key_by(ranks, view, order, s->running[i], &first))
            continue;
        n++;
        if (is_listed(list, s->running[i]))
            n_listed++;
        else if (list->is_all || (has_key && list->n > 0 &&
                                  schedule_first_is_before(&first, &list->at[list->n - 1])))
            return false;
    }
    return n_listed == list->n && (n == 0 || list->n > 0);
}

bool schedule_ranks_first_is_sound(struct schedule_ranks *ranks, const struct schedule_view *view,
                                   int service)
{
    for (int k = 0; k < RANKS_ORDERS; k++)
        if ((ranks->orders >> k & 1) != 0 &&
            !is_list_sound(ranks, view, service, (enum schedule_ranks_order)k))
            return false;
    return true;
}
