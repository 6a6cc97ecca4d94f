/* Moves of unsent requests.
 *
 * A move of j from x to y takes delta_j from epsilon_x and gives it to epsilon_y
 * (docs/ALGORITHMS.md section 3.5); it gains only where epsilon_x > 0 > epsilon_y. Greedy: the
 * engine with the greatest error gives to the one with the least. */
#include "route/rebalance.h"

static int64_t magnitude(int64_t x)
{
    return x < 0 ? -x : x;
}

/* The engine with the greatest positive error below `below` (ties: number above `after`). */
static int32_t greatest(const struct route_fit *fit, int64_t sign, int64_t below, int32_t after)
{
    int32_t best = -1;
    int64_t best_error = 0;
    for (int32_t e = 0; e < fit->view->n_engines; e++) {
        int64_t error = sign * fit->workers[e].error_ps;
        bool is_next = error < below || (error == below && e > after);
        if (error > best_error && is_next) {
            best = e;
            best_error = error;
        }
    }
    return best;
}

static bool may_move(const struct route_fit *fit, const struct route_choice *c, int32_t y,
                     int32_t n_room)
{
    const struct route_engine *engine = &fit->view->engines[y];
    int service = fit->view->requests[c->slot].service;
    return !c->is_forced && n_room > 0 && engine->is_open && set_has(&engine->services, service) &&
           route_worker_takes(fit, y, c->slot);
}

/* The choice on x that gains most when it goes to y; -1 = none gains. */
static int32_t best_move(const struct route_fit *fit, const struct route_plan *plan, int32_t x,
                         int32_t y, int32_t n_room)
{
    int64_t error_x = fit->workers[x].error_ps, error_y = fit->workers[y].error_ps, best_gain = 0;
    int32_t best = -1;
    for (int32_t i = 0; i < plan->n_choices; i++) {
        const struct route_choice *c = &plan->choices[i];
        if (c->engine != x)
            continue;
        int64_t delta_x = route_worker_delta_ps(fit, x, c->slot);
        int64_t delta_y = route_worker_delta_ps(fit, y, c->slot);
        int64_t gain = magnitude(error_x) + magnitude(error_y) - magnitude(error_x - delta_x) -
                       magnitude(error_y + delta_y);
        if (gain <= best_gain || !may_move(fit, c, y, n_room))
            continue;
        best = i;
        best_gain = gain;
    }
    return best;
}

/* One move away from x, to the first engine in order that one can gain by. */
static bool move_from(const struct route_fit *fit, struct route_plan *plan, int32_t x,
                      int32_t *n_room)
{
    int64_t below = INT64_MAX;
    for (int32_t y = -1; (y = greatest(fit, -1, below, y)) >= 0;
         below = -fit->workers[y].error_ps) {
        int32_t i = best_move(fit, plan, x, y, n_room[y]);
        if (i < 0)
            continue;
        struct route_choice *c = &plan->choices[i];
        fit->workers[x].error_ps -= route_worker_delta_ps(fit, x, c->slot);
        fit->workers[y].error_ps += route_worker_delta_ps(fit, y, c->slot);
        route_worker_remove(fit, x, c->slot);
        route_worker_add(fit, y, c->slot);
        n_room[x]++;
        n_room[y]--;
        c->engine = (uint16_t)y;
        return true;
    }
    return false;
}

int32_t route_rebalance(const struct route_fit *fit, struct route_plan *plan, int32_t *n_room)
{
    int64_t below = INT64_MAX;
    int32_t n_moves = 0;
    for (int32_t x = -1; (x = greatest(fit, 1, below, x)) >= 0;) {
        bool has_moved = move_from(fit, plan, x, n_room);
        n_moves += has_moved;
        below = has_moved ? INT64_MAX : fit->workers[x].error_ps;
        x = has_moved ? -1 : x;
    }
    return n_moves;
}
