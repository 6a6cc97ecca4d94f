/* A manager's view of engines: their models, and the possible ones. */
#include "cluster/manager_room.h"

#include <string.h>

/* A model that busy ones keep out has waited for as long as they may surely stay, */
static const int64_t TURN_NS = 30 * TIME_NS_PER_S;
/* which is long beside their coming. */
enum { TURN_COMINGS = 4 };

int64_t manager_room_bytes(const struct cluster_manager *m, int engine)
{
    return max_i64(0, m->reports[engine].memory_bytes - m->options.kept_bytes);
}

bool manager_room_is_anywhere(const struct cluster_manager *m, int service)
{
    for (int e = 0; e < m->nodes.n_engines; e++) {
        if (manager_room_is_in(manager_room_place(m, e, service)) &&
            !manager_room_place(m, e, service)->is_asked_out)
            return true;
    }
    return false;
}

static bool is_idle(const struct cluster_manager *m, const struct manager_place *place)
{
    /* A request that just returned from it may be on its way to it again; a gateway reports that by
     * then. */
    int64_t heard_ns = m->now_ns - MANAGER_RETRY_NS;
    return place->status == SERVICE_LOADED && place->fresh_until_ns <= m->now_ns &&
           place->held_until_ns <= m->now_ns && place->idle_since_ns <= heard_ns;
}

/* Returns whether the copy on this engine is one of the number that operators want. */
static bool is_copy(const struct cluster_manager *m, int engine, int service)
{
    const struct manager_place *place = manager_room_place(m, engine, service);
    return place->status == SERVICE_LOADED && !place->is_asked_out &&
           !m->of_engines[engine].is_unplanned;
}

static int32_t count_copies(const struct cluster_manager *m, int service)
{
    int32_t n = 0;
    for (int e = 0; e < m->nodes.n_engines; e++)
        n += is_copy(m, e, service);
    return n;
}

void manager_room_count(struct cluster_manager *m)
{
    memset(m->n_there, 0, sizeof *m->n_there * (size_t)m->options.n_services);
    for (int e = 0; e < m->nodes.n_engines; e++)
        for (int s = 0; (s = set_next(&m->of_engines[e].known, s, m->options.n_services)) >= 0; s++)
            m->n_there[s] += is_copy(m, e, s);
    m->is_counted = true;
}

bool manager_room_is_sound(const struct cluster_manager *m)
{
    bool is_sound = true;
    for (int s = 0; s < m->options.n_services; s++)
        is_sound = is_sound && m->n_there[s] == count_copies(m, s);
    return is_sound;
}

void manager_room_ask_out(struct cluster_manager *m, int engine, int service)
{
    m->n_there[service] -= is_copy(m, engine, service);
    manager_room_place(m, engine, service)->is_asked_out = true;
}

/* Returns whether the copy on this engine is one of those that operators want. A model that has
 * more loaded copies than that can give one of them. */
static bool is_kept_here(const struct cluster_manager *m, int engine, int service)
{
    if (!manager_room_is_kept(m, service))
        return false;
    if (m->pins[service].is_set)
        return true;
    int32_t n_there = m->is_counted ? m->n_there[service] : count_copies(m, service);
    return n_there - is_copy(m, engine, service) < m->n_copies[service];
}

int32_t manager_room_list(const struct cluster_manager *m, int engine, struct residency_model *out,
                          int64_t *free_bytes)
{
    int32_t n = 0;
    *free_bytes = manager_room_bytes(m, engine);
    const struct set *known = &m->of_engines[engine].known;
    for (int s = 0; (s = set_next(known, s, m->options.n_services)) >= 0; s++) {
        const struct manager_place *place = manager_room_place(m, engine, s);
        const struct service_report *report = &m->reports[engine].services[s];
        if (!manager_room_is_in(place) && place->status != SERVICE_DRAINING_OUT)
            continue;
        int64_t n_bytes = report->weights_bytes + report->activation_bytes;
        n_bytes = n_bytes > 0 ? n_bytes : m->need_bytes[s];
        if (place->is_asked_out)
            continue; /* its bytes become free, and the loader waits for them */
        *free_bytes -= n_bytes;
        out[n++] = (struct residency_model){
            .service = (uint16_t)s,
            .n_bytes = n_bytes,
            /* Copies that operators want stay, as pinned models do. */
            .keep_alive_ns = is_kept_here(m, engine, s) ? -1 : m->services[s].keep_alive_ns,
            .idle_since_ns = is_idle(m, place) ? place->idle_since_ns : TIME_NEVER
        };
    }
    return n;
}

void manager_room_open(const struct cluster_manager *m, int engine,
                       struct residency_model *residents, int32_t n)
{
    for (int32_t i = 0; i < n; i++) {
        struct residency_model *r = &residents[i];
        if (manager_room_place(m, engine, r->service)->status != SERVICE_LOADED)
            continue;
        r->keep_alive_ns = max_i64(r->keep_alive_ns, 0);
        r->idle_since_ns = min_i64(r->idle_since_ns, m->now_ns);
    }
}

/* Returns since when the model is waited for; TIME_NEVER: it is not. */
static int64_t waits_since(const struct cluster_manager *m, int service)
{
    const struct manager_want *want = &m->wants[service];
    bool is_said = set_has(&m->wanted, service) && want->said_ns + MANAGER_WANT_NS > m->now_ns;
    int64_t since_ns = is_said ? want->since_ns : TIME_NEVER;
    for (int i = 0; i < m->n_asks; i++) {
        const struct manager_ask *ask = &m->asks[i];
        if (ask->service == service && ask->kind == CONTROL_LOAD && !ask->is_answered)
            since_ns = min_i64(since_ns, ask->asked_ns);
    }
    return since_ns;
}

static bool share_an_engine(const struct cluster_manager *m, int service, int other)
{
    bool do_share = false;
    for (int e = 0; e < m->nodes.n_engines; e++)
        do_share = do_share ||
                   (manager_room_may_serve(m, e, service) && manager_room_may_serve(m, e, other));
    return do_share;
}

/* Returns whether it has waited for so long that busy models make room, and no other model
 * longer. */
static bool is_its_turn(const struct cluster_manager *m, int service)
{
    int64_t since_ns = waits_since(m, service);
    if (since_ns > m->now_ns - TURN_NS)
        return false;
    for (int s = 0; (s = set_next(&m->wanted, s, m->options.n_services)) >= 0; s++) {
        if (s != service && waits_since(m, s) < since_ns && !manager_room_is_anywhere(m, s) &&
            share_an_engine(m, s, service))
            return false;
    }
    return true;
}

/* Lets models leave that are busy, not pinned, and had their turn, after all idle ones. The one
 * that has been there longest comes first. */
static void open_to_turn(const struct cluster_manager *m, int engine,
                         struct residency_model *residents, int32_t n)
{
    for (int32_t i = 0; i < n; i++) {
        struct residency_model *r = &residents[i];
        const struct manager_place *place = manager_room_place(m, engine, r->service);
        int64_t coming_ns = place->loaded_ns - place->ordered_ns;
        int64_t turn_ns = max_i64(TURN_NS, TURN_COMINGS * coming_ns);
        if (r->idle_since_ns != TIME_NEVER)
            r->idle_since_ns -= m->now_ns; /* before all that follow */
        else if (place->status == SERVICE_LOADED && place->loaded_ns + turn_ns <= m->now_ns)
            r->idle_since_ns = place->loaded_ns;
    }
}

/* Counts the models that would lose their engine for themselves: a new model beside others, or
 * others that are new beside this one. */
static int32_t n_disturbed(const struct cluster_manager *m, int engine, int service)
{
    const struct set *known = &m->of_engines[engine].known;
    bool is_new = set_has(&m->news, service);
    int32_t n = 0;
    for (int s = 0; (s = set_next(known, s, m->options.n_services)) >= 0; s++) {
        const struct manager_place *place = manager_room_place(m, engine, s);
        bool is_there = s != service && manager_room_is_in(place) && !place->is_asked_out;
        n += is_there && (is_new || set_has(&m->news, s));
    }
    return n;
}

/* Fewer evictions are better, then a new model for itself, then an engine where the model sleeps,
 * then more free bytes. */
static bool is_better(const struct cluster_manager *m, int service, int engine,
                      const struct residency_eviction *eviction, const struct manager_choice *best)
{
    if (best->engine < 0 || eviction->n_victims != best->eviction.n_victims)
        return best->engine < 0 || eviction->n_victims < best->eviction.n_victims;
    int32_t n = n_disturbed(m, engine, service), n_best = n_disturbed(m, best->engine, service);
    if (n != n_best)
        return n < n_best;
    bool is_asleep = manager_room_place(m, engine, service)->is_asleep;
    return is_asleep != manager_room_place(m, best->engine, service)->is_asleep
               ? is_asleep
               : eviction->free_bytes > best->eviction.free_bytes;
}

static struct manager_choice choose(const struct cluster_manager *m, int service, bool is_turn)
{
    struct manager_choice best = { .engine = -1, .never = true, .is_turn = is_turn };
    bool is_any = false; /* an engine could be looked at */
    for (int e = 0; e < m->nodes.n_engines; e++) {
        struct residency_model residents[LIMIT_SERVICES];
        struct residency_eviction out;
        int64_t free_bytes;
        const struct manager_place *place = manager_room_place(m, e, service);
        if (!manager_room_may_serve(m, e, service) || !m->of_engines[e].has_report ||
            m->of_engines[e].is_unplanned || (manager_room_is_in(place) && !place->is_asked_out))
            continue;
        is_any = true;
        /* How that ends is heard first. */
        if (place->is_asked_out || place->avoid_until_ns > m->now_ns ||
            m->of_engines[e].awaited_until_ns > m->now_ns) {
            best.never = false;
            continue;
        }
        int32_t n = manager_room_list(m, e, residents, &free_bytes);
        if (is_turn)
            open_to_turn(m, e, residents, n);
        residency_evict(residents, n, m->need_bytes[service], free_bytes, manager_room_bytes(m, e),
                        &out);
        best.never = best.never && out.never;
        if (out.never || out.must_wait)
            continue;
        if (is_better(m, service, e, &out, &best)) {
            best.engine = e;
            best.eviction = out;
        }
    }
    best.never = best.never && is_any;
    return best;
}

struct manager_choice manager_room_choose(const struct cluster_manager *m, int service)
{
    struct manager_choice choice = choose(m, service, false);
    return choice.engine >= 0 || choice.never || !is_its_turn(m, service)
               ? choice
               : choose(m, service, true);
}

bool manager_room_has_hope(const struct cluster_manager *m, int service)
{
    for (int e = 0; e < m->nodes.n_engines; e++) {
        bool is_open = manager_room_may_serve(m, e, service) && m->of_engines[e].has_report &&
                       !m->of_engines[e].is_unplanned &&
                       manager_room_place(m, e, service)->avoid_until_ns <= m->now_ns;
        if (is_open &&
            m->need_bytes[service] <= manager_room_bytes(m, e) - manager_room_pinned_bytes(m, e))
            return true;
    }
    return false;
}

int64_t manager_room_pinned_bytes(const struct cluster_manager *m, int engine)
{
    struct residency_model residents[LIMIT_SERVICES];
    int64_t free_bytes, sum = 0;
    int32_t n = manager_room_list(m, engine, residents, &free_bytes);
    for (int32_t i = 0; i < n; i++)
        sum += residents[i].keep_alive_ns < 0 ? residents[i].n_bytes : 0;
    return sum;
}
