/* Services that join and leave; see joins.h. */
#include "sim/joins.h"

#include "base/mem.h"

enum state { AWAY, JOINING, THERE, LEAVING };
/* The kinds of an event, whose `what` is service * N_WHATS + kind. */
enum { JOINS, LEAVES, IS_UNUSED, N_WHATS };

struct sim_joins {
    uint8_t *states;   /* (n_services) enum state */
    int64_t *n_live;   /* (n_services) live requests */
    int32_t *lacking;  /* (n_services) engines that have not loaded it yet */
    struct set *there; /* (n_engines) services that the router may send there */
    int32_t n_joining;
};

static void add_event(struct sim *sim, int64_t time_ns, int32_t service, int what)
{
    uint64_t code = (uint64_t)service * N_WHATS + (uint64_t)what;
    sim_events_add(&sim->events,
                   &(struct sim_event){
                       .time_ns = time_ns, .sequence = code, .what = code, .kind = SIM_JOINS });
}

static int own_number(const struct sim *sim, int32_t engine, int32_t service)
{
    return sim_engine_own(&sim->engines[engine], sim->options->n_services, service);
}

struct sim_joins *sim_joins_open(struct sim *sim)
{
    const struct sim_options *o = sim->options;
    bool is_needed = false;
    for (int32_t s = 0; s < o->n_services; s++)
        is_needed |= o->services[s].joins_ns > 0 || o->services[s].leaves_ns > 0;
    if (!is_needed)
        return NULL;
    CHECK(o->replace == NULL && o->faults == NULL); /* these move models by other rules */
    struct sim_joins *j = mem_take(sizeof(*j));
    j->states = mem_take((size_t)o->n_services);
    j->n_live = mem_take((size_t)o->n_services * sizeof(*j->n_live));
    j->lacking = mem_take((size_t)o->n_services * sizeof(*j->lacking));
    j->there = mem_take((size_t)o->n_engines * sizeof(*j->there));
    for (int32_t s = 0; s < o->n_services; s++) {
        const struct sim_service *service = &o->services[s];
        j->states[s] = service->joins_ns > 0 ? AWAY : THERE;
        if (service->joins_ns > 0)
            add_event(sim, service->joins_ns, s, JOINS);
        if (service->leaves_ns > 0)
            add_event(sim, service->leaves_ns, s, LEAVES);
        for (int32_t e = 0; e < o->n_engines; e++) {
            if (!set_has(&sim->engines[e].services, s))
                continue;
            if (service->joins_ns > 0)
                CHECK(engine_remove_service(sim->engines[e].engine, own_number(sim, e, s), 0));
            else
                set_add(&j->there[e], s);
        }
    }
    return j;
}

void sim_joins_close(struct sim_joins *j)
{
    if (j == NULL)
        return;
    mem_give(j->states);
    mem_give(j->n_live);
    mem_give(j->lacking);
    mem_give(j->there);
    mem_give(j);
}

void sim_joins_show(struct sim *sim)
{
    for (int32_t e = 0; e < sim->options->n_engines && sim->joins != NULL; e++)
        sim_engines_show(sim, e, &sim->joins->there[e]);
}

bool sim_joins_is_first(const struct sim_joins *j, int32_t service)
{
    return j == NULL || j->states[service] == THERE;
}

bool sim_joins_takes(const struct sim_joins *j, int32_t service)
{
    return j == NULL || j->states[service] == JOINING || j->states[service] == THERE;
}

/* ---- Joining. ---- */

static void try_load(struct sim *sim, int32_t engine, int32_t service)
{
    struct sim_joins *j = sim->joins;
    if (!sim_engines_load(sim, engine, service))
        return; /* its memory is not free yet */
    set_add(&j->there[engine], service);
    sim_engines_show(sim, engine, &j->there[engine]);
    sim_wakes_set(&sim->wakes, (uint32_t)engine, sim->clock_ns);
    if (--j->lacking[service] == 0) {
        j->states[service] = THERE;
        j->n_joining--;
    }
}

static void join(struct sim *sim, int32_t service)
{
    struct sim_joins *j = sim->joins;
    j->states[service] = JOINING;
    j->n_joining++;
    for (int32_t e = 0; e < sim->options->n_engines; e++)
        j->lacking[service] += set_has(&sim->engines[e].services, service);
    for (int32_t e = 0; e < sim->options->n_engines; e++) {
        if (!set_has(&sim->engines[e].services, service))
            continue;
        sim_engines_add(sim, e, service);
        try_load(sim, e, service);
    }
}

void sim_joins_stepped(struct sim *sim, int32_t engine)
{
    const struct sim_joins *j = sim->joins;
    for (int32_t s = 0; s < sim->options->n_services && j->n_joining > 0; s++)
        if (j->states[s] == JOINING && set_has(&sim->engines[engine].services, s) &&
            !set_has(&j->there[engine], s))
            try_load(sim, engine, s);
}

/* ---- Leaving. ---- */

static void remove_unused(struct sim *sim, int32_t service)
{
    struct sim_joins *j = sim->joins;
    j->states[service] = AWAY;
    for (int32_t e = 0; e < sim->options->n_engines; e++) {
        if (!set_has(&sim->engines[e].services, service))
            continue;
        int own = own_number(sim, e, service);
        struct engine *engine = sim->engines[e].engine;
        sim_engines_count_service(sim, e, service); /* its counters leave with it */
        set_remove(&j->there[e], service);
        CHECK(engine_close_service(engine, own, sim->clock_ns));
        CHECK(engine_remove_service(engine, own, sim->clock_ns));
        sim_engines_show(sim, e, &j->there[e]);
        sim_wakes_set(&sim->wakes, (uint32_t)e, sim->clock_ns);
    }
}

void sim_joins_count(struct sim *sim, int32_t service, int n)
{
    struct sim_joins *j = sim->joins;
    j->n_live[service] += n;
    if (j->states[service] == LEAVING && j->n_live[service] == 0) /* an engine is in a step now */
        add_event(sim, sim->clock_ns, service, IS_UNUSED);
}

void sim_joins_tick(struct sim *sim, uint64_t what)
{
    struct sim_joins *j = sim->joins;
    int32_t service = (int32_t)(what / N_WHATS);
    if (what % N_WHATS == JOINS)
        join(sim, service);
    else if (what % N_WHATS == IS_UNUSED)
        remove_unused(sim, service);
    else {
        j->n_joining -= j->states[service] == JOINING;
        j->states[service] = LEAVING;
        if (j->n_live[service] == 0)
            remove_unused(sim, service);
    }
}
