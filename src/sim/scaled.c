/* Pools of workers in a simulation. */
#include "sim/scaled.h"

#include "sim/state.h"

#include "base/mem.h"
#include "base/time.h"

static int32_t n_devices_of(const struct sim *sim, int32_t e)
{
    return max_i32(1, sim->options->engines[e].n_devices);
}

/* ---- One engine. ---- */

static void set_open(struct sim *sim, int32_t e, bool is_open)
{
    sim_door_of(sim, (uint32_t)e)->engines[e].is_open = is_open;
    sim_door_changed(sim, (uint16_t)e);
}

/* Turns a worker off. Its time counts from the order that started it. */
static void turn_off(struct sim *sim, int32_t e)
{
    struct sim_scaled *s = &sim->scaled;
    s->n_starting -= s->states[e] == SIM_SCALED_STARTING;
    s->n_leaving -= s->states[e] == SIM_SCALED_LEAVING;
    s->states[e] = SIM_SCALED_OFF;
    sim->report->device_ns += (sim->clock_ns - s->since_ns[e]) * n_devices_of(sim, e);
}

static void start(struct sim *sim, const struct sim_scaled_pool *pool, int32_t e)
{
    struct sim_scaled *s = &sim->scaled;
    s->states[e] = SIM_SCALED_STARTING;
    s->n_starting++;
    s->since_ns[e] = sim->clock_ns;
    s->ready_ns[e] = sim->clock_ns + pool->config->cold_start_ns;
    sim->report->n_started++;
}

static void turn_on(struct sim *sim, int32_t e)
{
    struct sim_scaled *s = &sim->scaled;
    s->n_starting -= s->states[e] == SIM_SCALED_STARTING;
    s->n_leaving -= s->states[e] == SIM_SCALED_LEAVING;
    s->states[e] = SIM_SCALED_ON;
    set_open(sim, e, true);
}

static void leave(struct sim *sim, int32_t e)
{
    struct sim_scaled *s = &sim->scaled;
    set_open(sim, e, false);
    s->states[e] = SIM_SCALED_LEAVING;
    s->n_leaving++;
    if (sim_door_of(sim, (uint32_t)e)->engines[e].n_sent == 0)
        turn_off(sim, e);
}

/* ---- One pool. ---- */

static int32_t count(const struct sim *sim, const struct sim_scaled_pool *pool,
                     enum sim_scaled_state state)
{
    int32_t n = 0;
    for (int32_t e = pool->first; e < pool->first + pool->n; e++)
        n += sim->scaled.states[e] == state;
    return n;
}

/* Returns the first of the pool in this state; -1: none is. */
static int32_t first_of(const struct sim *sim, const struct sim_scaled_pool *pool,
                        enum sim_scaled_state state)
{
    for (int32_t e = pool->first; e < pool->first + pool->n; e++)
        if (sim->scaled.states[e] == state)
            return e;
    return -1;
}

static int32_t n_sent(struct sim *sim, int32_t e)
{
    return sim_door_of(sim, (uint32_t)e)->engines[e].n_sent;
}

static int32_t emptiest(struct sim *sim, const struct sim_scaled_pool *pool)
{
    int32_t best = -1;
    for (int32_t e = pool->first; e < pool->first + pool->n; e++)
        if (sim->scaled.states[e] == SIM_SCALED_ON &&
            (best < 0 || n_sent(sim, e) <= n_sent(sim, best)))
            best = e;
    return best;
}

static void size(struct sim *sim, const struct sim_scaled_pool *pool, int32_t n_wanted)
{
    int32_t n = count(sim, pool, SIM_SCALED_ON) + count(sim, pool, SIM_SCALED_STARTING);
    for (; n < n_wanted; n++) {
        int32_t back = first_of(sim, pool, SIM_SCALED_LEAVING);
        int32_t off = back >= 0 ? -1 : first_of(sim, pool, SIM_SCALED_OFF);
        if (back >= 0)
            turn_on(sim, back);
        else if (off >= 0)
            start(sim, pool, off);
        else
            return;
    }
    for (; n > n_wanted; n--) {
        int32_t early = first_of(sim, pool, SIM_SCALED_STARTING);
        int32_t e = early >= 0 ? early : emptiest(sim, pool);
        if (early >= 0)
            turn_off(sim, e);
        else
            leave(sim, e);
        sim->report->n_stopped++;
    }
}

static void tick_pool(struct sim *sim, struct sim_scaled_pool *pool)
{
    for (int32_t e = pool->first; e < pool->first + pool->n && sim->scaled.n_starting > 0; e++)
        if (sim->scaled.states[e] == SIM_SCALED_STARTING &&
            sim->scaled.ready_ns[e] <= sim->clock_ns)
            turn_on(sim, e);
    if (pool->wake_ns > sim->clock_ns)
        return;
    int32_t n = count(sim, pool, SIM_SCALED_ON) + count(sim, pool, SIM_SCALED_STARTING);
    struct scale_order order = scale_tick(&pool->scale, pool->config, sim->clock_ns, n);
    pool->wake_ns = order.wake_ns;
    size(sim, pool, min_i32(order.n_wanted, pool->n));
}

/* ---- All pools. ---- */

static void set_wake(struct sim *sim)
{
    struct sim_scaled *s = &sim->scaled;
    s->wake_ns = TIME_NEVER;
    for (int32_t p = 0; p < s->n_pools; p++) {
        const struct sim_scaled_pool *pool = &s->pools[p];
        s->wake_ns = min_i64(s->wake_ns, pool->wake_ns);
        for (int32_t e = pool->first; e < pool->first + pool->n && s->n_starting > 0; e++)
            if (s->states[e] == SIM_SCALED_STARTING)
                s->wake_ns = min_i64(s->wake_ns, s->ready_ns[e]);
    }
}

void sim_scaled_open(struct sim *sim)
{
    const struct sim_options *o = sim->options;
    struct sim_scaled *s = &sim->scaled;
    size_t n = (size_t)o->n_engines;
    *s = (struct sim_scaled){ .wake_ns = TIME_NEVER };
    for (int32_t e = 0; o->engines != NULL && e < o->n_engines; e++)
        s->n_pools += o->engines[e].scale != NULL &&
                      (e == 0 || o->engines[e].scale != o->engines[e - 1].scale);
    if (s->n_pools == 0)
        return;
    s->pools = mem_take((size_t)s->n_pools * sizeof(*s->pools));
    s->states = mem_take(n * sizeof(*s->states));
    s->since_ns = mem_take(n * sizeof(*s->since_ns));
    s->ready_ns = mem_take(n * sizeof(*s->ready_ns));
    int32_t p = -1;
    for (int32_t e = 0; e < o->n_engines; e++) {
        const struct sim_engine_spec *spec = &o->engines[e];
        if (spec->scale == NULL)
            continue;
        if (e == 0 || spec->scale != o->engines[e - 1].scale) {
            s->pools[++p] = (struct sim_scaled_pool){ .config = spec->scale,
                                                      .services = spec->services,
                                                      .first = e };
            scale_init(&s->pools[p].scale);
        }
        s->pools[p].n++;
    }
    set_wake(sim);
}

void sim_scaled_close(struct sim *sim)
{
    mem_give(sim->scaled.pools);
    mem_give(sim->scaled.states);
    mem_give(sim->scaled.since_ns);
    mem_give(sim->scaled.ready_ns);
}

void sim_scaled_arrived(struct sim *sim, int32_t service)
{
    struct sim_scaled *s = &sim->scaled;
    for (int32_t p = 0; p < s->n_pools; p++)
        if (set_has(&s->pools[p].services, service))
            scale_arrived(&s->pools[p].scale, 1);
}

void sim_scaled_left(struct sim *sim, uint16_t engine)
{
    struct sim_scaled *s = &sim->scaled;
    if (s->n_leaving > 0 && s->states[engine] == SIM_SCALED_LEAVING &&
        sim_door_of(sim, engine)->engines[engine].n_sent == 0)
        turn_off(sim, engine);
}

void sim_scaled_tick(struct sim *sim)
{
    struct sim_scaled *s = &sim->scaled;
    for (int32_t p = 0; p < s->n_pools; p++)
        tick_pool(sim, &s->pools[p]);
    set_wake(sim);
    sim_door_send(sim);
}

void sim_scaled_end(struct sim *sim)
{
    struct sim_scaled *s = &sim->scaled;
    const struct sim_options *o = sim->options;
    for (int32_t e = 0; e < o->n_engines && sim->replacing == NULL; e++) {
        if (s->n_pools == 0 || o->engines[e].scale == NULL)
            sim->report->device_ns +=
                sim->clock_ns * (o->engines != NULL ? n_devices_of(sim, e) : 1);
        else if (s->states[e] != SIM_SCALED_OFF)
            turn_off(sim, e);
    }
}
