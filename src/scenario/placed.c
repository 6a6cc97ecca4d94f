/* Engines by a planner. */
#include "scenario/placed.h"

#include "base/mem.h"
#include "predict/device.h"
#include <string.h>

/* Opens a desk under the policies of the case, with its seed and rate. */
static enum status open_desk(struct scenario_placed *placed, const struct scenario_placed_ask *ask,
                             const struct sim_options *options, struct fault *fault)
{
    struct scenario_desk *desk = &placed->desk;
    struct scenario *own = mem_take(sizeof(*own));
    *own = *ask->scenario;
    own->seed = (int64_t)ask->world.seed;
    own->rate_scale = ask->world.rate_scale;
    enum status status = scenario_problem_open(&desk->of, own, (struct plan_spans){ 0 }, fault);
    mem_give(own);
    desk->of.after.n = 0; /* that one is what comes */
    desk->of.problem.limits.slo_scale = ask->rule.scale;
    desk->scenario = ask->scenario;
    desk->rule = ask->rule;
    desk->sim = *options;
    desk->sim.take = NULL;
    desk->sim.checks_steps = desk->sim.has_prefix_cache = false;
    desk->sim.until_ns = 0;
    if (status == STATUS_OK)
        scenario_desk_open_judge(desk);
    return status;
}

/* Fills rows by kind and degree, as engines need them. */
static void fill_perfs(struct scenario_placed *placed)
{
    const struct place_problem *p = &placed->desk.of.problem;
    size_t n_rows = (size_t)p->n_kinds * PLACE_DEGREES, n = (size_t)p->n_services;
    placed->perfs = mem_take(n_rows * n * sizeof(*placed->perfs));
    for (size_t row = 0; row < n_rows; row++)
        for (size_t s = 0; s < n; s++)
            placed->perfs[row * n + s] = p->services[s].perfs[row];
}

static enum status plan_first(struct scenario_placed *placed, struct fault *fault)
{
    const struct plan_search search = { .effort = placed->replace.settings.effort };
    const struct place_plan *plan = &placed->plan;
    struct plan_option option;
    scenario_desk_plan(&placed->desk, placed->replace.planner, &search, &option);
    sim_judge_close(placed->desk.judge); /* what it remembers is large */
    placed->desk.judge = NULL;
    placed->plan = option.plan;
    placed->plan_s = option.plan_s;
    placed->replace.foretold =
        (struct replace_score){ option.planned.normalized, option.planned.attainment };
    if (plan->n_refused > 0)
        return fault_set(fault, STATUS_TOO_LARGE, "%.60s is not placed: %.180s",
                         placed->desk.of.problem.services[plan->refused[0].service].name,
                         plan->refused[0].why);
    return STATUS_OK;
}

static void fill_world(struct scenario_placed *placed, struct scenario_world *world)
{
    const struct place_problem *p = &placed->desk.of.problem;
    world->n_engines = sim_replan_n_engines(p);
    world->engines = mem_take((size_t)world->n_engines * sizeof(*world->engines));
    if (placed->replace.settings.is_off)
        placed->parts =
            mem_take((size_t)world->n_engines * (size_t)p->n_services * sizeof(*placed->parts));
    sim_replan_engines(p, &placed->plan, placed->perfs, placed->parts, world->engines);
    for (int32_t e = 0; e < world->n_engines; e++)
        world->engines[e].truths = world->truths;
    for (int32_t s = 0; s < p->n_services; s++) {
        const struct place_service *from = &p->services[s];
        world->services[s].perf = *place_problem_perf(p, s, from->base_kind, from->base_degree);
        world->scores[s].base = placed->desk.of.scores[s].base;
    }
    world->is_placed = true;
    world->n_devices = p->n_devices;
    for (int32_t i = 0; i < p->n_nodes; i++) {
        const struct predict_device *device = placed->desk.of.devices[p->nodes[i].kind];
        world->flops_per_s += device->flops_per_s * (double)p->nodes[i].n_devices;
        world->bytes_per_s += device->bytes_per_s * (double)p->nodes[i].n_devices;
    }
}

static enum status check(const struct scenario *s, struct fault *fault)
{
    if (s->n_groups > 0 || s->n_engines > 0)
        return fault_set(fault, STATUS_BAD_INPUT,
                         "engines or nodes: a planner makes the engines of nodes");
    if (s->has_bus || s->faults.n > 0)
        return fault_set(fault, STATUS_UNSUPPORTED, "--bus has engines of its own: not with nodes");
    return STATUS_OK;
}

enum status scenario_placed_open(struct scenario_placed *placed, struct scenario_world *world,
                                 const struct scenario_placed_ask *ask, struct sim_options *options,
                                 struct fault *fault)
{
    const struct scenario *scenario = ask->scenario;
    struct sim_replan_options *replace = &placed->replace;
    *placed = (struct scenario_placed){ .replace = { .seed = (uint64_t)scenario->seed,
                                                     .rule = ask->rule } };
    pile_init(&placed->desk.pile);
    sim_replan_settings_init(&replace->settings);
    replace->settings.is_off = scenario->replace.n == 0;
    enum status status = check(scenario, fault);
    for (int i = 0; i < scenario->replace.n && status == STATUS_OK; i++)
        status = sim_replan_set(&replace->settings, scenario->replace.at[i], fault);
    replace->planner =
        place_planner_find(scenario->planner != NULL ? scenario->planner : "default");
    if (status == STATUS_OK && replace->planner == NULL)
        status =
            fault_set(fault, STATUS_NOT_FOUND, "--planner is one of %s", place_planner_names());
    if (status == STATUS_OK)
        status = open_desk(placed, ask, options, fault);
    if (status == STATUS_OK)
        status = plan_first(placed, fault);
    if (status != STATUS_OK)
        return status;
    fill_perfs(placed);
    fill_world(placed, world);
    replace->problem = &placed->desk.of.problem;
    replace->plan = &placed->plan;
    replace->services = placed->desk.of.scores;
    replace->n_threads = (int)scenario->n_threads;
    options->engines = world->engines;
    options->n_engines = world->n_engines;
    options->replace = replace;
    return STATUS_OK;
}

void scenario_placed_close(struct scenario_placed *placed)
{
    scenario_desk_close(&placed->desk);
    mem_give(placed->perfs);
    mem_give(placed->parts);
}
