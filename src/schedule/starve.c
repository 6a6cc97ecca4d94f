/* Starvation: the bound on how long a request waits for tokens. See starve.h. */
#include "schedule/starve.h"

static const struct schedule_first none = { INT64_MAX, UINT64_MAX, SCHEDULE_NONE };

size_t schedule_starve_bytes(const struct schedule_limits *limits)
{
    return (size_t)align_up_u64((size_t)limits->n_services_max * sizeof(struct schedule_due), 64);
}

void schedule_starve_open(struct schedule_starve *starve, unsigned char **at,
                          const struct schedule_limits *limits)
{
    size_t n = (size_t)limits->n_services_max;
    starve->dues = schedule_ranks_cut(at, n * sizeof(*starve->dues));
    for (size_t i = 0; i < n; i++)
        starve->dues[i].running = starve->dues[i].waiting = none;
}

int64_t schedule_starve_theta_ns(const struct schedule_config *config,
                                 const struct schedule_service *service)
{
    double factor = config->starve_factor * (double)service->solo_ns;
    return factor >= 1e18 ? (int64_t)1e18 : max_i64(config->starve_ns_min, (int64_t)factor);
}

/* ---- The next to starve. ---- */

static void starves_since(struct schedule_first *due, const struct schedule_first *first,
                          int64_t theta_ns)
{
    struct schedule_first since = *first;
    if (since.slot == SCHEDULE_NONE)
        return;
    since.key += theta_ns;
    if (schedule_first_is_before(&since, due))
        *due = since;
}

static struct schedule_first first_of(const struct schedule_ranks *ranks, const struct tree *tree,
                                      const struct tree_node *nodes)
{
    uint32_t slot = tree_first(tree);
    if (slot == TREE_NONE)
        return none;
    return (struct schedule_first){ nodes[slot].key, ranks->slots[slot].seq, slot };
}

/* A request that can hardly meet its deadline starves since its last time to begin, or since it was
 * last served if that is later. So it does not stay before requests that starve for long. */
static void urgent_since(const struct schedule_view *view, struct schedule_first *due,
                         struct schedule_first *first)
{
    if (first->slot != SCHEDULE_NONE)
        first->key = max_i64(first->key, view->requests[first->slot].served_ns - 1);
    starves_since(due, first, 0);
}

void schedule_starve_note(struct schedule_starve *starve, const struct schedule_ranks *ranks,
                          const struct schedule_view *view, int service)
{
    const struct schedule_ranks_service *own = &ranks->services[service];
    struct schedule_due *due = &starve->dues[service];
    int64_t theta = schedule_starve_theta_ns(&ranks->config, &view->services[service]);
    struct schedule_first unserved = first_of(ranks, &own->unserved, ranks->unserved_nodes);
    struct schedule_first urgent = first_of(ranks, &own->urgent, ranks->urgent_nodes);
    due->running = due->waiting = none;
    struct schedule_first oldest = schedule_ranks_first(own, RANKS_OLDEST);
    struct schedule_first most_urgent = schedule_ranks_first(own, RANKS_URGENT);
    starves_since(&due->running, &oldest, theta);
    urgent_since(view, &due->running, &most_urgent);
    starves_since(&due->waiting, &unserved, theta);
    urgent_since(view, &due->waiting, &urgent);
}

/* ---- Serving it. ---- */

/* Returns whether the request could hold all its known tokens if it were alone. It may not while
 * the pool shrinks for another model, and then others do not wait for it. */
static bool may_fit(const struct schedule_view *view, uint32_t slot)
{
    return schedule_fill_lacks(view, slot) + view->n_table_blocks[slot] <=
           kv_budget_most_blocks(view->kv, view->requests[slot].service);
}

static bool may_starve(const struct schedule_view *view, const struct schedule_first *due)
{
    const struct request *r = &view->requests[due->slot];
    return r->batch == 0 && view->services[r->service].is_open &&
           (r->state != REQUEST_WAITING || may_fit(view, due->slot));
}

static void look_at_due(struct schedule_first *found, const struct schedule_first *due)
{
    if (schedule_first_is_before(due, found))
        *found = *due;
}

/* Returns the request that starves longest, counted from the moment at which it became starved. */
static uint32_t find_starved(const struct schedule_starve *starve, const struct schedule_view *view,
                             unsigned parts)
{
    const struct schedule_first now = { view->now_ns, 0, SCHEDULE_NONE };
    bool waits = (parts & FILL_WAITING) != 0;
    struct schedule_first found = now;
    for (int32_t k = 0; k < schedule_n_busy(view); k++) {
        const struct schedule_due *due = &starve->dues[schedule_busy(view, k)];
        look_at_due(&found, &due->running);
        if (waits)
            look_at_due(&found, &due->waiting);
    }
    if (found.slot == SCHEDULE_NONE || may_starve(view, &found))
        return found.slot;
    found = now; /* the very first is in flight, or can't run now */
    for (int32_t k = 0; k < schedule_n_busy(view); k++) {
        const struct schedule_due *due = &starve->dues[schedule_busy(view, k)];
        if (due->running.slot != SCHEDULE_NONE && may_starve(view, &due->running))
            look_at_due(&found, &due->running);
        if (waits && due->waiting.slot != SCHEDULE_NONE && may_starve(view, &due->waiting))
            look_at_due(&found, &due->waiting);
    }
    return found.slot;
}

int64_t schedule_starve_resides_since(const void *state, const struct schedule_view *view,
                                      uint32_t slot)
{
    const struct schedule_ranks *ranks = state;
    const struct schedule_service *s = &view->services[view->requests[slot].service];
    if (ranks->slots[slot].resides_until == 0)
        return INT64_MAX;
    return ranks->served_ns[slot] + schedule_starve_theta_ns(&ranks->config, s);
}

/* Returns whether it has worked for two usual requests since it started. */
static bool has_had_its_turn(const void *state, const struct schedule_view *view, uint32_t slot)
{
    const struct schedule_ranks *ranks = state;
    const struct schedule_service *s = &view->services[view->requests[slot].service];
    return ranks->slots[slot].spent_ps / 2 >= schedule_work_usual_ps(s);
}

/* Requests that have had their turn come first among those that have spent most, unless there are
 * more than the list holds. */
int schedule_starve_find_who_may(const void *state, const struct schedule_view *view, int service,
                                 schedule_may_go may_go, uint32_t slots[FILL_KNOWN_MAX])
{
    const struct schedule_ranks *ranks = state;
    const struct schedule_firsts *list = &ranks->services[service].first[RANKS_SPENT];
    int n = 0;
    if (may_go != has_had_its_turn)
        return -1;
    while (n < list->n && has_had_its_turn(ranks, view, list->at[n].slot)) {
        slots[n] = list->at[n].slot;
        n++;
    }
    return n < list->n || list->is_all ? n : -1;
}

/* Serves the starved request. If it has to wait for blocks, sets *parts to what may run meanwhile.
 */
static enum schedule_filled serve_starved(struct schedule_fill *fill, uint32_t slot,
                                          unsigned *parts, const struct schedule_starve_ways *ways)
{
    const struct request *r = &fill->view->requests[slot];
    bool is_waiting = r->state == REQUEST_WAITING;
    unsigned own_parts = *parts;
    if (fill->lane > 0)
        own_parts =
            is_waiting || schedule_lacking(r) > 1 ? FILL_WAITING | FILL_CATCHING_UP : FILL_DECODES;
    else if (ways->is_by_phase)
        own_parts = is_waiting ? FILL_WAITING : FILL_RUNNING;
    if (is_waiting) {
        int64_t n_blocks = schedule_fill_lacks(fill->view, slot);
        if (!schedule_fill_fits(fill, slot)) {
            *parts = FILL_RUNNING;
            bool gives_way =
                schedule_fill_preempt(fill, r->service, n_blocks, SCHEDULE_NONE, has_had_its_turn);
            return gives_way ? FILLED_PREEMPTS : FILLED_NOTHING;
        }
    }
    if (ways->seats != NULL)
        fill->n_seqs_most = ways->seats(ways->state, fill->view, r->service);
    enum schedule_filled filled = schedule_fill_serve(fill, r->service, own_parts, slot);
    fill->n_seqs_most = fill->config->n_seqs_max;
    return filled;
}

/* Returns whether one batch holds all live requests, since all are of this request's service. Then
 * none has to go first, and a hold gives what single steps would. */
static bool is_all_alive(const struct schedule_fill *fill, uint32_t slot)
{
    const struct schedule_view *view = fill->view;
    int service = view->requests[slot].service;
    for (int32_t k = 0; k < schedule_n_busy(view); k++) {
        const struct schedule_service *s = &view->services[schedule_busy(view, k)];
        bool is_own = schedule_busy(view, k) == service;
        if ((s->is_open && s->n_waiting > 0) ||
            s->n_running > (is_own ? (uint32_t)fill->config->n_seqs_max : 0))
            return false;
    }
    return true;
}

enum schedule_filled schedule_starve_serve(struct schedule_fill *fill,
                                           const struct schedule_starve *starve, unsigned *parts,
                                           const struct schedule_starve_ways *ways)
{
    enum schedule_filled filled = FILLED_NOTHING;
    uint32_t starved = find_starved(starve, fill->view, *parts);
    if (starved != SCHEDULE_NONE && is_all_alive(fill, starved))
        return FILLED_NOTHING;
    if (starved != SCHEDULE_NONE)
        filled = serve_starved(fill, starved, parts, ways);
    if (filled == FILLED_NOTHING && *parts != FILL_ALL) { /* it waits for blocks */
        starved = find_starved(starve, fill->view, *parts);
        if (starved != SCHEDULE_NONE)
            filled = serve_starved(fill, starved, parts, ways);
    }
    fill->plan->is_forced = filled == FILLED_BATCH;
    return filled;
}
