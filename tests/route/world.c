/* A small host: it does what the gateway and the simulator do, and checks every plan. */
#include "world.h"

#include "../test.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/time.h"

struct world *world_new(int n_engines, int n_services, int32_t n_requests_max)
{
    struct world *w = mem_take(sizeof *w);
    for (int e = 0; e < n_engines; e++)
        w->engines[e] = (struct route_engine){ .is_open = true,
                                               .services = set_of_first(n_services),
                                               .n_requests_max = n_requests_max };
    route_config_init(&w->config);
    w->view = (struct route_view){ .now_ns = TIME_NS_PER_S,
                                   .n_engines = n_engines,
                                   .n_services = n_services,
                                   .engines = w->engines,
                                   .services = w->services,
                                   .requests = w->requests };
    return w;
}

static void tell(struct world *w, const struct route_event *event)
{
    w->view.services_held = &w->held.services_held;
    w->view.n_held = w->held.n;
    w->policy->saw(w->state, &w->view, event);
}

void world_open(struct world *w, const char *router)
{
    w->policy = route_find(router);
    assert_non_null(w->policy);
    w->limits = (struct route_limits){ WORLD_ENGINES, WORLD_REQUESTS, WORLD_SERVICES };
    w->state = mem_take(w->policy->state_bytes(&w->limits));
    w->scratch = mem_take(w->policy->scratch_bytes ? w->policy->scratch_bytes(&w->limits) : 0);
    route_held_init(&w->held, w->requests, w->services, w->nodes, w->trees, w->view.n_services);
    w->policy->open(w->state, &w->limits, &w->config);
    for (int e = 0; e < w->view.n_engines; e++)
        world_engine(w, e);
}

void world_close(struct world *w)
{
    mem_give(w->state);
    mem_give(w->scratch);
    mem_give(w);
}

void world_engine(struct world *w, int engine)
{
    tell(w, &(struct route_event){ .what = ROUTE_ENGINE, .engine = (uint16_t)engine });
}

uint32_t world_arrive(struct world *w, int service, int32_t n_prompt, int32_t n_predicted)
{
    assert_true(w->n_requests < WORLD_REQUESTS);
    uint32_t slot = w->n_requests++;
    w->requests[slot] = (struct route_request){ .id = slot + 1,
                                                .service = (uint16_t)service,
                                                .n_prompt = n_prompt,
                                                .n_tokens = n_prompt,
                                                .n_tokens_max = n_prompt + 4096,
                                                .n_predicted = n_predicted,
                                                .arrived_ns = w->view.now_ns,
                                                .deadline_ns = TIME_NEVER };
    route_held_add(&w->held, slot);
    tell(w, &(struct route_event){ .what = ROUTE_ARRIVED, .slot = slot });
    return slot;
}

void world_plan(struct world *w)
{
    w->view.services_held = &w->held.services_held;
    w->view.n_held = w->held.n;
    w->plan = (struct route_plan){ .choices = w->choices,
                                   .n_choices_max = WORLD_REQUESTS,
                                   .scratch = w->scratch };
    w->policy->plan(w->state, &w->view, &w->plan);
    const char *wrong = route_check(&w->view, &w->plan, w->marks, WORLD_REQUESTS);
    if (wrong)
        fail_msg("%s: %s", w->policy->name, wrong);
    size_t n_bytes = sizeof w->choices[0] * (size_t)w->plan.n_choices;
    struct route_plan first = w->plan;
    uint64_t hash = hash_fast(w->choices, n_bytes, 0).low;
    w->policy->plan(w->state, &w->view, &w->plan);
    assert_int_equal(w->plan.n_choices, first.n_choices);
    assert_int_equal(w->plan.wake_ns, first.wake_ns);
    assert_int_equal(w->plan.n_engines_wanted, first.n_engines_wanted);
    assert_true(hash_fast(w->choices, n_bytes, 0).low == hash);
}

void world_sent(struct world *w, const struct route_choice *c)
{
    route_held_remove(&w->held, c->slot);
    w->engines[c->engine].n_sent++;
    w->engine_of[c->slot] = c->engine;
    w->is_sent[c->slot] = 1;
    w->sent[c->slot] = *c;
    tell(w, &(struct route_event){
                .what = ROUTE_SENT, .engine = c->engine, .slot = c->slot, .choice = c });
}

int32_t world_send(struct world *w)
{
    int32_t n_sent = 0;
    for (;;) {
        world_plan(w);
        if (w->plan.n_choices == 0) {
            if (w->held.n > 0)
                tell(w, &(struct route_event){ .what = ROUTE_ASKED });
            return n_sent;
        }
        for (int32_t i = 0; i < w->plan.n_choices; i++)
            world_sent(w, &w->choices[i]);
        n_sent += w->plan.n_choices;
    }
}

static void leave(struct world *w, uint32_t slot)
{
    assert_true(w->is_sent[slot]);
    w->is_sent[slot] = 0;
    w->engines[w->engine_of[slot]].n_sent--;
}

void world_end(struct world *w, uint32_t slot)
{
    leave(w, slot);
    tell(w, &(struct route_event){ .what = ROUTE_ENDED,
                                   .engine = w->engine_of[slot],
                                   .why = SERVICE_LENGTH,
                                   .slot = slot });
}

void world_return(struct world *w, uint32_t slot, uint8_t why)
{
    leave(w, slot);
    w->requests[slot].epoch++;
    route_held_add(&w->held, slot);
    tell(w, &(struct route_event){
                .what = ROUTE_RETURNED, .engine = w->engine_of[slot], .why = why, .slot = slot });
}

void world_gone(struct world *w, uint32_t slot)
{
    route_held_remove(&w->held, slot);
    tell(w, &(struct route_event){ .what = ROUTE_GONE, .why = SERVICE_CANCELLED, .slot = slot });
}
