/* A manager's plans for many nodes: what operators want, nodes that drain, and nodes that went. */
#include "cluster/manager_plan.h"

#include "base/str.h"
#include "base/time.h"
#include "cluster/manager_orders.h"

/* ---- Nodes. ---- */

const struct engine_report *cluster_manager_plan_reports(const struct cluster_manager *m,
                                                         int *n_engines)
{
    *n_engines = m->nodes.n_engines;
    return m->reports;
}

/* Models that are loaded at start come again when the engine does, unless they are still there. */
static void make_due_again(struct cluster_manager *m, int e)
{
    struct manager_engine *engine = &m->of_engines[e];
    for (int s = 0; (s = set_next(&m->roster.there, s, m->options.n_services)) >= 0; s++) {
        if (!m->services[s].is_loaded_at_start || set_has(&m->dismissed, s) ||
            !manager_room_may_serve(m, e, s))
            continue;
        set_add(&engine->due, s);
        m->n_due += !engine->has_due;
        engine->has_due = true;
    }
}

static void lose_engine(struct cluster_manager *m, int e, bool is_gone)
{
    struct manager_engine *engine = &m->of_engines[e];
    make_due_again(m, e);
    engine->has_report = false; /* nothing is loaded here before it has said what it has */
    for (int s = 0; (s = set_next(&engine->known, s, m->options.n_services)) >= 0; s++) {
        struct manager_place *place = manager_room_place(m, e, s);
        place->is_asked_in = place->is_asked_out = false;
        if (is_gone)
            *place = (struct manager_place){ 0 };
    }
    if (!is_gone)
        return;
    for (int s = 0; (s = set_next(&m->reports[e].listed, s, m->options.n_services)) >= 0; s++)
        m->reports[e].services[s] = (struct service_report){ 0 };
    m->reports[e].listed = engine->known = (struct set){ { 0 } };
}

void cluster_manager_plan_lose(struct cluster_manager *m, int node, bool is_gone)
{
    int first = m->nodes.first_engine[node];
    for (int e = first; e < first + m->nodes.of[node].n_engines; e++)
        lose_engine(m, e, is_gone);
}

void cluster_manager_plan_node(struct cluster_manager *m, int node, int n_engines)
{
    int first = m->nodes.first_engine[node];
    for (int e = first; e < first + m->nodes.of[node].n_engines; e++)
        m->of_engines[e].is_unplanned = e >= first + n_engines;
}

bool cluster_manager_plan_knows(const struct cluster_manager *m, int node, int n_engines)
{
    int first = m->nodes.first_engine[node];
    bool is_known = true;
    for (int e = first; e < first + n_engines; e++)
        is_known = is_known && m->of_engines[e].has_report;
    return is_known;
}

void cluster_manager_plan_drain(struct cluster_manager *m, int node, bool is_drained)
{
    if (is_drained)
        set_words_add(m->drained, node);
    else
        set_words_remove(m->drained, node);
}

/* Returns whether the model is loaded on an engine where models may come. */
static bool is_loaded_elsewhere(const struct cluster_manager *m, int service)
{
    for (int e = 0; e < m->nodes.n_engines; e++) {
        const struct manager_place *place = manager_room_place(m, e, service);
        if (!m->of_engines[e].is_unplanned && place->status == SERVICE_LOADED &&
            !place->is_asked_out)
            return true;
    }
    return false;
}

static bool is_coming_elsewhere(const struct cluster_manager *m, int service)
{
    for (int e = 0; e < m->nodes.n_engines; e++)
        if (!m->of_engines[e].is_unplanned && manager_room_is_in(manager_room_place(m, e, service)))
            return true;
    return false;
}

/* The last copy leaves after another one is loaded; its requests go on there. */
static void drain_model(struct cluster_manager *m, int e, int s)
{
    const struct manager_place *place = manager_room_place(m, e, s);
    const struct service_spec *spec = &m->services[s];
    bool is_busy = place->idle_since_ns == TIME_NEVER;
    bool is_needed = is_busy || manager_room_is_kept(m, s) || spec->is_loaded_at_start ||
                     spec->keep_alive_ns < 0 || set_has(&m->wanted, s);
    if (place->status != SERVICE_LOADED || place->is_asked_out)
        return;
    if (is_loaded_elsewhere(m, s))
        manager_orders_out(m, MESSAGE_OUST, e, s, "its node drains");
    else if (!is_needed)
        manager_orders_out(m, MESSAGE_UNLOAD, e, s, "its node drains");
    else if (!is_coming_elsewhere(m, s))
        manager_orders_bring_in(m, s);
}

static void drain(struct cluster_manager *m, int node)
{
    int first = m->nodes.first_engine[node];
    for (int e = first; e < first + m->nodes.of[node].n_engines; e++) {
        const struct set *known = &m->of_engines[e].known;
        for (int s = 0; (s = set_next(known, s, m->options.n_services)) >= 0; s++)
            drain_model(m, e, s);
    }
}

/* ---- Models. ---- */

void cluster_manager_plan_model(struct cluster_manager *m, int service, int n_copies)
{
    if (n_copies < 0) {
        manager_orders_dismiss(m, service);
    } else {
        set_remove(&m->dismissed, service);
        if (m->n_copies[service] < 0 && m->services[service].is_loaded_at_start)
            manager_orders_want(m, service);
    }
    if (n_copies > 0 && !manager_room_is_anywhere(m, service))
        set_add(&m->news, service);
    m->n_copies[service] = n_copies;
}

static int n_copies_of(const struct cluster_manager *m, int service)
{
    int n = 0;
    for (int e = 0; e < m->nodes.n_engines; e++) {
        const struct manager_place *place = manager_room_place(m, e, service);
        n += manager_room_is_in(place) && !place->is_asked_out && !m->of_engines[e].is_unplanned &&
             manager_room_may_serve(m, e, service);
    }
    return n;
}

void cluster_manager_plan_pin(struct cluster_manager *m, int service, int node, int engine)
{
    m->pins[service] = (struct manager_pin){ true, node, engine };
}

void cluster_manager_plan_unpin(struct cluster_manager *m, int service)
{
    m->pins[service] = (struct manager_pin){ 0 };
}

void cluster_manager_plan_pause(struct cluster_manager *m, int service, bool is_paused)
{
    if (is_paused)
        set_add(&m->paused, service);
    else
        set_remove(&m->paused, service);
}

/* Copies outside of the model's place leave when it is loaded there. Their requests go on there. */
static void leave_others(struct cluster_manager *m, int s)
{
    bool is_loaded = false;
    for (int e = 0; e < m->nodes.n_engines && m->pins[s].is_set; e++) {
        const struct manager_place *place = manager_room_place(m, e, s);
        is_loaded = is_loaded || (manager_room_may_serve(m, e, s) && !place->is_asked_out &&
                                  place->status == SERVICE_LOADED);
    }
    for (int e = 0; e < m->nodes.n_engines && is_loaded; e++) {
        const struct manager_place *place = manager_room_place(m, e, s);
        if (!manager_room_may_serve(m, e, s) && !place->is_asked_out &&
            place->status == SERVICE_LOADED)
            manager_orders_out(m, MESSAGE_OUST, e, s, "it is pinned to another engine");
    }
}

/* Returns whether the model lacks a copy that an operator wants. */
static bool lacks_copies(const struct cluster_manager *m, int s)
{
    int n_wanted = max_i32(m->n_copies[s], m->pins[s].is_set);
    return manager_room_is_kept(m, s) && m->wants[s].broken_until_ns <= m->now_ns &&
           n_copies_of(m, s) < n_wanted;
}

int64_t manager_plan_step(struct cluster_manager *m)
{
    int64_t wake_ns = TIME_NEVER;
    for (int i = 0; (i = set_words_next(m->drained, i, m->nodes.n)) >= 0; i++) {
        drain(m, i);
        wake_ns = m->now_ns + MANAGER_RETRY_NS;
    }
    for (int s = 0; s < m->options.n_services; s++) {
        if (!set_has(&m->roster.there, s))
            continue;
        leave_others(m, s);
        if (!lacks_copies(m, s))
            continue;
        manager_orders_bring_in(m, s);
        wake_ns = m->now_ns + MANAGER_RETRY_NS;
    }
    return wake_ns;
}

void cluster_manager_plan_freeze(struct cluster_manager *m, bool is_frozen)
{
    m->is_frozen = is_frozen;
}

bool cluster_manager_plan_is_broken(const struct cluster_manager *m, int service,
                                    enum status *cause, const char **why)
{
    const struct manager_want *want = &m->wants[service];
    *cause = want->cause;
    *why = want->fault.text;
    return want->broken_until_ns > m->now_ns && !manager_room_is_anywhere(m, service);
}

void cluster_manager_plan_print(const struct cluster_manager *m,
                                const char *(*name_of)(const void *self, int node),
                                const void *self, struct str *out)
{
    for (int s = 0; (s = set_next(&m->roster.there, s, m->options.n_services)) >= 0; s++)
        for (int e = 0; e < m->nodes.n_engines; e++) {
            const struct manager_place *place = manager_room_place(m, e, s);
            if (manager_room_is_in(place) && !place->is_asked_out)
                str_printf(out, "%s %d %s\n", name_of(self, m->nodes.of_engine[e]),
                           (int)cluster_nodes_own(&m->nodes, e), m->services[s].name);
        }
}
