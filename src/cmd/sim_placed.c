/* Engines by a planner. */
#include "cmd/sim_placed.h"

#include "base/mem.h"
#include "base/time.h"
#include "predict/device.h"
#include "sim/judge.h"
#include <string.h>

static enum status open_problem(struct sim_placed *placed, const struct sim_placed_ask *ask,
                                struct fault *fault)
{
    struct scenario *own = mem_take(sizeof(*own));
    *own = *ask->scenario;
    own->seed = (int64_t)ask->world.seed;
    own->rate_scale = ask->world.rate_scale;
    enum status status = plan_problem_open(&placed->of, own, 0, fault);
    mem_give(own);
    placed->of.problem.limits.slo_scale = ask->rule.scale;
    return status;
}

/* Rows by kind and degree, as engines want them. */
static void fill_perfs(struct sim_placed *placed)
{
    const struct place_problem *p = &placed->of.problem;
    size_t n_rows = (size_t)p->n_kinds * PLACE_DEGREES, n = (size_t)p->n_services;
    placed->perfs = mem_take(n_rows * n * sizeof(*placed->perfs));
    for (size_t row = 0; row < n_rows; row++)
        for (size_t s = 0; s < n; s++)
            placed->perfs[row * n + s] = p->services[s].perfs[row];
}

static struct sim_judge *open_judge(const struct sim_placed *placed,
                                    const struct sim_placed_ask *ask,
                                    const struct sim_options *options, struct sim_options *sim)
{
    *sim = *options;
    sim->take = NULL;
    sim->checks_steps = sim->has_prefix_cache = false;
    sim->until_ns = 0;
    return sim_judge_open(
        &(struct sim_judge_options){ .problem = &placed->of.problem,
                                     .sim = sim,
                                     .rule = ask->rule,
                                     .services = placed->of.scores,
                                     .n_threads = (int)ask->scenario->n_threads });
}

static enum status plan_first(struct sim_placed *placed, const struct sim_placed_ask *ask,
                              const struct sim_options *options, struct fault *fault)
{
    const struct place_problem *problem = &placed->of.problem;
    const struct place_plan *plan = &placed->plan;
    struct sim_options sim;
    struct place_score score = { .services = NULL };
    struct sim_judge *judge = open_judge(placed, ask, options, &sim);
    struct place_judge face = sim_judge_face(judge);
    const struct place_desk desk = { .problem = problem,
                                     .judge = &face,
                                     .pile = &placed->pile,
                                     .seed = (uint64_t)ask->scenario->seed,
                                     .effort = placed->replace.settings.effort };
    int64_t begin_ns = time_now_ns();
    place_planner_plan(placed->replace.planner, &desk, &placed->plan);
    placed->plan_s = (double)(time_now_ns() - begin_ns) * 1e-9;
    if (plan->n_refused == 0)
        face.score(face.self, &plan, 1, &problem->window, &score);
    sim_judge_close(judge);
    placed->replace.foretold = (struct replace_score){ score.normalized, score.attainment };
    if (plan->n_refused > 0)
        return fault_set(fault, STATUS_TOO_LARGE, "%.60s is not placed: %.180s",
                         problem->services[plan->refused[0].service].name, plan->refused[0].why);
    return STATUS_OK;
}

static void fill_world(struct sim_placed *placed, struct sim_world *world)
{
    const struct place_problem *p = &placed->of.problem;
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
        world->scores[s].base = placed->of.scores[s].base;
    }
    world->is_placed = true;
    world->n_devices = p->n_devices;
    for (int32_t i = 0; i < p->n_nodes; i++) {
        const struct predict_device *device = placed->of.devices[p->nodes[i].kind];
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
        return fault_set(fault, STATUS_UNSUPPORTED,
                         "--bus is one machine with engines of its own: not with nodes");
    return STATUS_OK;
}

enum status sim_placed_open(struct sim_placed *placed, struct sim_world *world,
                            const struct sim_placed_ask *ask, struct sim_options *options,
                            struct fault *fault)
{
    const struct scenario *scenario = ask->scenario;
    struct sim_replan_options *replace = &placed->replace;
    *placed =
        (struct sim_placed){ .replace = { .seed = (uint64_t)scenario->seed, .rule = ask->rule } };
    pile_init(&placed->pile);
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
        status = open_problem(placed, ask, fault);
    if (status == STATUS_OK)
        status = plan_first(placed, ask, options, fault);
    if (status != STATUS_OK)
        return status;
    fill_perfs(placed);
    fill_world(placed, world);
    replace->problem = &placed->of.problem;
    replace->plan = &placed->plan;
    replace->services = placed->of.scores;
    replace->n_threads = (int)scenario->n_threads;
    options->engines = world->engines;
    options->n_engines = world->n_engines;
    options->replace = replace;
    return STATUS_OK;
}

void sim_placed_close(struct sim_placed *placed)
{
    plan_problem_close(&placed->of);
    pile_free(&placed->pile);
    mem_give(placed->perfs);
    mem_give(placed->parts);
}
