/* The routing core. See core.h. */
#include "route/core.h"

#include "base/mem.h"
#include "base/time.h"

/* ---- Opening. ---- */

static void open_shared(struct route_core *core, const struct route_core_options *options)
{
    const struct route_core *other = options->shares;
    core->is_sharing = other != NULL;
    core->nodes = other != NULL ? other->nodes : mem_take(sizeof(*core->nodes) * core->n_slots);
    core->choices =
        other != NULL ? other->choices : mem_take(sizeof(*core->choices) * core->n_slots);
    if (options->checks)
        core->marks = other != NULL ? other->marks : mem_take(core->n_slots);
}

void route_core_open(struct route_core *core, const struct route_core_options *options)
{
    const struct route_policy *router = options->router;
    const struct route_limits limits = { options->n_engines, (int32_t)options->n_slots,
                                         options->n_services };
    struct route_config config;
    route_config_init(&config);
    *core = (struct route_core){ .router = router,
                                 .clock_ns = options->clock_ns,
                                 .n_engines = options->n_engines,
                                 .n_services = options->n_services,
                                 .n_slots = options->n_slots,
                                 .wake_ns = TIME_NEVER };
    open_shared(core, options);
    core->engines = mem_take(sizeof(*core->engines) * (size_t)core->n_engines);
    core->services = mem_take(sizeof(*core->services) * (size_t)core->n_services);
    core->trees = mem_take(sizeof(*core->trees) * (size_t)core->n_services);
    route_held_init(&core->held, options->requests, core->services, core->nodes, core->trees,
                    core->n_services);
    core->state = mem_take(router->state_bytes(&limits));
    core->scratch = mem_take(router->scratch_bytes != NULL ? router->scratch_bytes(&limits) : 0);
    router->open(core->state, &limits, options->config != NULL ? options->config : &config);
}

void route_core_close(struct route_core *core)
{
    void *const shared[] = { core->nodes, core->choices, core->marks };
    for (size_t i = 0; i < COUNT_OF(shared) && !core->is_sharing; i++)
        mem_give(shared[i]);
    mem_give(core->engines);
    mem_give(core->services);
    mem_give(core->trees);
    mem_give(core->state);
    mem_give(core->scratch);
}

/* ---- Events. ---- */

static struct route_view view_of(const struct route_core *core)
{
    return (struct route_view){ .now_ns = *core->clock_ns,
                                .n_engines = core->n_engines,
                                .n_services = core->n_services,
                                .engines = core->engines,
                                .services = core->services,
                                .requests = core->held.requests,
                                .services_held = &core->held.services_held,
                                .n_held = core->held.n };
}

static void tell(struct route_core *core, const struct route_event *event)
{
    const struct route_view view = view_of(core);
    core->router->saw(core->state, &view, event);
}

void route_core_arrived(struct route_core *core, uint32_t slot)
{
    route_held_add(&core->held, slot);
    core->is_dirty = true;
    tell(core, &(struct route_event){ .what = ROUTE_ARRIVED, .slot = slot });
}

void route_core_gone(struct route_core *core, uint32_t slot, enum service_why why)
{
    route_held_remove(&core->held, slot);
    for (int32_t i = core->n_taken; i < core->n_choices; i++)
        if (core->choices[i].slot == slot)
            core->choices[i].slot = ROUTE_NONE;
    tell(core, &(struct route_event){ .what = ROUTE_GONE, .why = (uint8_t)why, .slot = slot });
}

static void count_less(struct route_core *core, uint16_t engine)
{
    CHECK(core->engines[engine].n_sent > 0);
    core->engines[engine].n_sent--;
    core->is_dirty = true;
}

void route_core_returned(struct route_core *core, uint32_t slot, uint16_t engine,
                         enum service_why why)
{
    count_less(core, engine);
    route_held_add(&core->held, slot);
    tell(core, &(struct route_event){
                   .what = ROUTE_RETURNED, .engine = engine, .why = (uint8_t)why, .slot = slot });
}

/* The first answer replaces a mean that is only a guess. */
static void learn(struct route_service *service, const struct route_request *r)
{
    double rate = service->n_output_mean <= 0 ? 1 : 0.05;
    service->n_output_mean += rate * ((double)(r->n_tokens - r->n_prompt) - service->n_output_mean);
    service->n_prompt_mean += rate * ((double)r->n_prompt - service->n_prompt_mean);
}

void route_core_ended(struct route_core *core, uint32_t slot, uint16_t engine, enum service_why why)
{
    const struct route_request *r = &core->held.requests[slot];
    if (why != SERVICE_LEASE_OVER)
        learn(&core->services[r->service], r);
    count_less(core, engine);
    tell(core, &(struct route_event){
                   .what = ROUTE_ENDED, .engine = engine, .why = (uint8_t)why, .slot = slot });
}

void route_core_changed(struct route_core *core, uint16_t engine)
{
    tell(core, &(struct route_event){ .what = ROUTE_ENGINE, .engine = engine });
}

void route_core_set_priority(struct route_core *core, uint32_t slot, int16_t priority)
{
    route_held_remove(&core->held, slot);
    core->held.requests[slot].priority = priority;
    route_held_add(&core->held, slot);
    core->is_dirty = true;
}

/* ---- Asking. ---- */

static void plan(struct route_core *core)
{
    const struct route_view view = view_of(core);
    struct route_plan plan = { .choices = core->choices,
                               .n_choices_max = (int32_t)core->n_slots,
                               .scratch = core->scratch };
    core->router->plan(core->state, &view, &plan);
    if (core->marks != NULL && core->wrong == NULL)
        core->wrong = route_check(&view, &plan, core->marks, (int32_t)core->n_slots);
    core->n_taken = 0;
    core->n_choices = plan.n_choices;
    if (plan.n_engines_wanted > 0)
        core->n_engines_wanted = plan.n_engines_wanted;
    if (plan.n_choices > 0)
        return;
    core->wake_ns = plan.wake_ns;
    tell(core, &(struct route_event){ .what = ROUTE_ASKED });
}

const struct route_choice *route_core_next(struct route_core *core)
{
    if (!core->is_asking && !core->is_dirty && core->wake_ns > *core->clock_ns)
        return NULL;
    if (!core->is_asking) {
        core->is_asking = true;
        core->is_dirty = false;
        core->wake_ns = TIME_NEVER;
    }
    do {
        for (; core->n_taken < core->n_choices; core->n_taken++)
            if (core->choices[core->n_taken].slot != ROUTE_NONE)
                return &core->choices[core->n_taken];
        if (core->held.n > 0)
            plan(core);
    } while (core->n_taken < core->n_choices);
    core->is_asking = false;
    return NULL;
}

void route_core_sent(struct route_core *core)
{
    const struct route_choice *choice = &core->choices[core->n_taken++];
    route_held_remove(&core->held, choice->slot);
    core->engines[choice->engine].n_sent++;
    core->n_forced += choice->is_forced;
    tell(core, &(struct route_event){ .what = ROUTE_SENT,
                                      .engine = choice->engine,
                                      .slot = choice->slot,
                                      .choice = choice });
}

void route_core_wait(struct route_core *core, int64_t until_ns)
{
    CHECK(core->is_asking && !core->is_sharing);
    core->is_asking = false;
    core->wake_ns = until_ns;
}
