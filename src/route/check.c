/* Checks that a plan is legal: the rules that every router must keep, for tests and the
 * simulator. */
#include "route/policy.h"

static const char *check_choice(const struct route_view *view, const struct route_choice *c,
                                const uint8_t *marks, int32_t n_requests_max)
{
    if (c->slot >= (uint32_t)n_requests_max)
        return "a choice of no slot";
    if (marks[c->slot])
        return "a request chosen twice";
    if (c->engine >= view->n_engines)
        return "a choice of no engine";
    const struct route_request *r = &view->requests[c->slot];
    const struct route_engine *engine = &view->engines[c->engine];
    if (r->service >= view->n_services || !set_has(&engine->services, r->service))
        return "an engine that does not serve the request";
    if (!engine->is_open)
        return "an engine that is not open";
    return c->n_lease < 0 ? "a lease of less than nothing" : NULL;
}

/* A request is held if its neighbours in the service's list point to it. */
static bool is_held(const struct route_view *view, uint32_t slot)
{
    const struct route_request *r = &view->requests[slot];
    const struct route_service *service = &view->services[r->service];
    if (service->n_held == 0)
        return false;
    bool has_prev =
        r->prev == ROUTE_NONE ? service->first_held == slot : view->requests[r->prev].next == slot;
    bool has_next =
        r->next == ROUTE_NONE ? service->last_held == slot : view->requests[r->next].prev == slot;
    return has_prev && has_next;
}

/* The cohort that begins at choice i. */
static const char *check_cohort(const struct route_view *view, const struct route_plan *plan,
                                int32_t i)
{
    const struct route_choice *first = &plan->choices[i];
    if (first->n_cohort == 0 || i + first->n_cohort > plan->n_choices)
        return "a cohort that is not whole";
    for (int32_t k = i; k < i + first->n_cohort; k++) {
        const struct route_choice *c = &plan->choices[k];
        if (c->cohort != first->cohort || c->n_cohort != first->n_cohort)
            return "a cohort that is not whole";
        if (c->engine != first->engine)
            return "a cohort on two engines";
        if (view->requests[c->slot].service != view->requests[first->slot].service)
            return "a cohort of two services";
    }
    return NULL;
}

/* Checks room: counts the choices of each engine by walking only the choices of the same engine. */
static const char *check_rooms(const struct route_view *view, const struct route_plan *plan)
{
    for (int32_t i = 0; i < plan->n_choices; i++) {
        const struct route_engine *engine = &view->engines[plan->choices[i].engine];
        int32_t n = engine->n_sent + 1;
        if (engine->n_requests_max - engine->n_sent >= plan->n_choices)
            continue;
        for (int32_t k = 0; k < i; k++)
            n += plan->choices[k].engine == plan->choices[i].engine;
        if (n > engine->n_requests_max)
            return "more requests than an engine takes";
    }
    return NULL;
}

const char *route_check(const struct route_view *view, const struct route_plan *plan,
                        uint8_t *marks, int32_t n_requests_max)
{
    const char *wrong = NULL;
    int32_t n_marked = 0, next_cohort = 0;
    if (plan->n_choices < 0 || plan->n_choices > plan->n_choices_max)
        return "more choices than there is space for";
    for (int32_t i = 0; i < plan->n_choices && !wrong; i++) {
        const struct route_choice *c = &plan->choices[i];
        wrong = check_choice(view, c, marks, n_requests_max);
        if (!wrong && !is_held(view, c->slot))
            wrong = "a request that is not held";
        if (!wrong && i >= next_cohort && c->cohort != 0) {
            wrong = check_cohort(view, plan, i);
            next_cohort = i + c->n_cohort;
        }
        if (!wrong) {
            marks[c->slot] = 1;
            n_marked++;
        }
    }
    for (int32_t i = 0; i < n_marked; i++)
        marks[plan->choices[i].slot] = 0;
    return wrong ? wrong : check_rooms(view, plan);
}
