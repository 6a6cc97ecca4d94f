/* Moves models to where a plan has them. */
#include "cluster/manager_move.h"

#include "base/log.h"
#include "base/mem.h"
#include "cluster/manager_orders.h"
#include "cluster/message.h"
#include <stdio.h>

struct manager_move {
    enum cluster_manager_move_state state;
    struct set services; /* that it is about */
    struct cluster_manager_target *targets;
    struct set *ordered; /* (n) loads that it ordered */
    int32_t n, n_left;
    int64_t progress_ns, stall_ns;
    char why[200];
};

static void free_targets(struct manager_move *move)
{
    mem_give(move->targets);
    mem_give(move->ordered);
    move->targets = NULL;
    move->ordered = NULL;
    move->n = 0;
}

void manager_move_free(struct cluster_manager *m)
{
    if (m->move == NULL)
        return;
    free_targets(m->move);
    mem_give(m->move);
    m->move = NULL;
}

static void end(struct cluster_manager *m, enum cluster_manager_move_state state, const char *why)
{
    struct manager_move *move = m->move;
    move->state = state;
    snprintf(move->why, sizeof move->why, "%s", why);
    free_targets(move);
    log_line(state == CLUSTER_MOVE_DONE ? LOG_INFO : LOG_WARN, "manager", "the move %s: %s",
             state == CLUSTER_MOVE_DONE ? "is done" : "is abandoned", why);
}

void cluster_manager_move_begin(struct cluster_manager *m,
                                const struct cluster_manager_target *targets, int32_t n,
                                const struct set *services, int64_t stall_ns)
{
    manager_move_free(m);
    struct manager_move *move = m->move = mem_take(sizeof *move);
    *move = (struct manager_move){ .state = CLUSTER_MOVE_MOVING,
                                   .services = *services,
                                   .n = n,
                                   .n_left = INT32_MAX,
                                   .progress_ns = m->now_ns,
                                   .stall_ns = stall_ns };
    move->targets = mem_take(sizeof *move->targets * (size_t)max_i32(n, 1));
    move->ordered = mem_take(sizeof *move->ordered * (size_t)max_i32(n, 1));
    for (int32_t i = 0; i < n; i++)
        move->targets[i] = targets[i];
    log_line(LOG_INFO, "manager", "a move begins: %d engines are planned", n);
}

void cluster_manager_move_abandon(struct cluster_manager *m, const char *why)
{
    if (m->move != NULL && m->move->state == CLUSTER_MOVE_MOVING)
        end(m, CLUSTER_MOVE_ABANDONED, why);
}

enum cluster_manager_move_state cluster_manager_move_state(const struct cluster_manager *m,
                                                           const char **why)
{
    *why = m->move != NULL ? m->move->why : "";
    return m->move != NULL ? m->move->state : CLUSTER_MOVE_NONE;
}

/* ---- What is there. ---- */

static bool is_there(const struct cluster_manager *m, int32_t engine, int service)
{
    const struct manager_place *place = manager_room_place(m, engine, service);
    return manager_room_is_in(place) && !place->is_asked_out;
}

static bool is_loaded(const struct cluster_manager *m, int32_t engine, int service)
{
    const struct manager_place *place = manager_room_place(m, engine, service);
    return place->status == SERVICE_LOADED && !place->is_asked_out &&
           !m->of_engines[engine].is_unplanned && m->of_engines[engine].has_report;
}

/* Counts the planned copies of a model, and those that are loaded. */
static int32_t count_planned(const struct cluster_manager *m, int service, int32_t *n_loaded)
{
    const struct manager_move *move = m->move;
    int32_t n = 0;
    *n_loaded = 0;
    for (int32_t i = 0; i < move->n; i++) {
        if (!set_has(&move->targets[i].services, service))
            continue;
        n++;
        *n_loaded += is_loaded(m, move->targets[i].engine, service);
    }
    return n;
}

static int32_t count_copies(const struct cluster_manager *m, int service)
{
    int32_t n = 0;
    for (int32_t e = 0; e < m->nodes.n_engines; e++)
        n += is_loaded(m, e, service);
    return n;
}

/* ---- Loads and unloads. ---- */

/* Loads the planned copy when there is room for it, also by what idle models have that no plan is
 * for. Returns false when it has to wait for room. */
static bool bring_in(struct cluster_manager *m, int32_t i, int service)
{
    struct manager_move *move = m->move;
    struct residency_model residents[LIMIT_SERVICES];
    struct residency_eviction eviction;
    int64_t free_bytes;
    int32_t e = move->targets[i].engine;
    int32_t n = manager_room_list(m, e, residents, &free_bytes);
    for (int32_t k = 0; k < n; k++)
        if (set_has(&move->services, residents[k].service))
            residents[k].keep_alive_ns = -1; /* the plan says when it leaves */
    residency_evict(residents, n, m->need_bytes[service], free_bytes, manager_room_bytes(m, e),
                    &eviction);
    if (eviction.never || eviction.must_wait || m->of_engines[e].awaited_until_ns > m->now_ns)
        return false;
    for (int32_t k = 0; k < eviction.n_victims; k++)
        manager_orders_out(m, MESSAGE_UNLOAD, e, eviction.victims[k],
                           "a planned model needs its memory");
    manager_orders_in(m, e, service);
    set_add(&move->ordered[i], service);
    log_line(LOG_INFO, "manager", "loading %s on engine %d: it is planned there",
             m->services[service].name, e);
    return true;
}

static void send_out(struct cluster_manager *m, int32_t i, int service, bool needs_room)
{
    int32_t n_loaded, e = m->move->targets[i].engine;
    int32_t n_planned = count_planned(m, service, &n_loaded);
    bool has_others = n_loaded > 0 && (n_loaded == n_planned || needs_room);
    if (!has_others || count_copies(m, service) <= max_i32(m->n_copies[service], 1))
        return;
    manager_orders_out(m, MESSAGE_OUST, e, service, "it is planned elsewhere");
}

/* Returns how many changes of the engine are left, or -1 when a load failed. */
static int32_t step_engine(struct cluster_manager *m, int32_t i)
{
    struct manager_move *move = m->move;
    const struct cluster_manager_target *target = &move->targets[i];
    int32_t e = target->engine, n_left = 0;
    bool needs_room = false;
    for (int s = 0; (s = set_next(&target->services, s, m->options.n_services)) >= 0; s++) {
        const struct manager_place *place = manager_room_place(m, e, s);
        if (is_loaded(m, e, s))
            continue;
        n_left++;
        if (is_there(m, e, s))
            continue; /* on its way */
        if (set_has(&move->ordered[i], s) || cluster_manager_move_is_fixed(m, s) ||
            m->of_engines[e].is_unplanned)
            return -1;
        if (place->is_asked_out || place->status == SERVICE_DRAINING_OUT ||
            !m->of_engines[e].has_report)
            continue; /* how that ends is heard first */
        needs_room = !bring_in(m, i, s) || needs_room;
    }
    const struct set going = set_without(&move->services, &target->services);
    for (int s = 0; (s = set_next(&going, s, m->options.n_services)) >= 0; s++) {
        int32_t n_loaded;
        if (manager_room_place(m, e, s)->status != SERVICE_LOADED ||
            count_planned(m, s, &n_loaded) == 0 || cluster_manager_move_is_fixed(m, s))
            continue; /* a model without a planned place stays, and so does a pinned one */
        if (!is_there(m, e, s)) {
            n_left++;
            continue;
        }
        if (count_planned(m, s, &n_loaded) >= m->n_copies[s]) {
            n_left++;
            send_out(m, i, s, needs_room);
        }
    }
    return n_left;
}

int64_t manager_move_step(struct cluster_manager *m)
{
    struct manager_move *move = m->move;
    int32_t n_left = 0;
    if (move == NULL || move->state != CLUSTER_MOVE_MOVING)
        return TIME_NEVER;
    for (int32_t i = 0; i < move->n; i++) {
        int32_t n = step_engine(m, i);
        if (n < 0) {
            end(m, CLUSTER_MOVE_ABANDONED,
                "a planned load failed, its node or its model went, or it was pinned");
            return TIME_NEVER;
        }
        n_left += n;
    }
    if (n_left == 0) {
        end(m, CLUSTER_MOVE_DONE, "every copy is where the plan has it");
        return TIME_NEVER;
    }
    if (n_left != move->n_left)
        move->progress_ns = m->now_ns;
    move->n_left = n_left;
    if (move->progress_ns + move->stall_ns <= m->now_ns) {
        end(m, CLUSTER_MOVE_ABANDONED, "nothing changed for too long");
        return TIME_NEVER;
    }
    return m->now_ns + MANAGER_RETRY_NS;
}

/* ---- For planners. ---- */

void cluster_manager_move_planned(struct cluster_manager *m, const struct set *services)
{
    m->news = set_without(&m->news, services);
}

void cluster_manager_move_see(const struct cluster_manager *m, int32_t e,
                              struct cluster_manager_engine *out)
{
    const struct manager_engine *engine = &m->of_engines[e];
    *out =
        (struct cluster_manager_engine){ .is_planned = engine->has_report && !engine->is_unplanned,
                                         .memory_bytes = manager_room_bytes(m, e) };
    for (int s = 0; (s = set_next(&engine->known, s, m->options.n_services)) >= 0; s++) {
        const struct manager_place *place = manager_room_place(m, e, s);
        if (!is_there(m, e, s))
            continue;
        set_add(&out->there, s);
        double s_taken = (double)(place->loaded_ns - place->ordered_ns) * 1e-9;
        if (place->ordered_ns <= 0 || s_taken <= 0)
            continue;
        double speed = (double)m->need_bytes[s] / s_taken;
        if (out->load_bytes_per_s <= 0 || speed < out->load_bytes_per_s)
            out->load_bytes_per_s = speed;
    }
}

bool cluster_manager_move_may_leave(const struct cluster_manager *m, int32_t service)
{
    return !manager_room_is_kept(m, service) && m->services[service].keep_alive_ns >= 0;
}

bool cluster_manager_move_is_fixed(const struct cluster_manager *m, int32_t service)
{
    return set_has(&m->dismissed, service) || m->pins[service].is_set;
}
