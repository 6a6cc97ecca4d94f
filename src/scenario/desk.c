/* Makes and weighs plans on a desk. */
#include "scenario/desk.h"

#include "base/bar.h"
#include "base/log.h"
#include "base/time.h"
#include "place/check.h"
#include <string.h>

/* Returns whether plans may divide engines into lanes. They may with a policy that uses lanes,
 * models that stay, and no lanes by hand or by services' shares. Nothing may be of cores either,
 * since their lanes have whole cores. */
static bool may_divide(const struct scenario_desk *desk)
{
    const struct scenario *s = desk->scenario;
    const struct place_problem *p = &desk->of.problem;
    const struct schedule_policy *policy = desk->sim.policy;
    bool has_cores = scenario_has_profile(s);
    for (int32_t k = 0; k < p->n_kinds; k++)
        has_cores = has_cores || strncmp(p->kinds[k].name, "cpu", 3) == 0;
    return policy->n_lanes_wanted > 0 && !policy->uses_shares && s->lanes.n == 0 &&
           s->replace.n == 0 && !has_cores;
}

void scenario_desk_open_judge(struct scenario_desk *desk)
{
    desk->of.problem.limits.may_divide = may_divide(desk);
    desk->judge =
        sim_judge_open(&(struct sim_judge_options){ .problem = &desk->of.problem,
                                                    .sim = &desk->sim,
                                                    .rule = desk->rule,
                                                    .services = desk->of.scores,
                                                    .n_threads = (int)desk->scenario->n_threads });
}

enum status scenario_desk_open(struct scenario_desk *desk, const struct scenario *scenario,
                               struct plan_spans spans, struct fault *fault)
{
    const struct scenario *s = scenario;
    memset(desk, 0, sizeof(*desk));
    desk->scenario = s;
    pile_init(&desk->pile);
    enum status status = scenario_problem_open(&desk->of, s, spans, fault);
    if (status == STATUS_OK)
        status = scenario_choice_rule(s, &desk->rule, fault);
    desk->of.problem.limits.slo_scale = desk->rule.scale;
    desk->sim = (struct sim_options){
        .n_lanes = 1,
        .n_requests_max = (uint32_t)s->n_requests_max,
        .n_tokens_max = (int32_t)s->n_context,
        .block_tokens = (int32_t)s->block_tokens,
        .slo = s->slo,
        .has_soft_deadlines = s->has_soft_deadlines,
    };
    if (status == STATUS_OK)
        status = scenario_choice_make(s, s->policy != NULL ? s->policy : s->preset, &desk->choice,
                                      &desk->sim, fault);
    if (status == STATUS_OK)
        scenario_desk_open_judge(desk);
    return status;
}

void scenario_desk_fork(struct scenario_desk *desk, const struct scenario_desk *from,
                        const struct place_problem *problem)
{
    *desk = *from;
    desk->is_fork = true;
    desk->of.problem = *problem;
    desk->of.after.n = 0;
    pile_init(&desk->pile);
    scenario_desk_open_judge(desk);
}

void scenario_desk_close(struct scenario_desk *desk)
{
    if (desk->judge != NULL)
        sim_judge_close(desk->judge);
    if (!desk->is_fork)
        scenario_problem_close(&desk->of);
    pile_free(&desk->pile);
}

static void show(void *self, const char *planner, int64_t n_done, int64_t n)
{
    bar_draw(self, planner, n_done < n ? (double)n_done / (double)n : 1, "");
}

static struct place_score room_for_score(struct scenario_desk *desk)
{
    size_t n = (size_t)desk->of.problem.n_services;
    return (struct place_score){ .services = pile_take(&desk->pile,
                                                       n * sizeof(struct place_service_score)) };
}

/* A score that does not add up is a bug, so it is logged and the program ends. */
static void score_on(struct scenario_desk *desk, const char *label, const struct place_plan *plan,
                     const struct place_window *window, struct place_score *score)
{
    struct place_judge judge = sim_judge_face(desk->judge);
    struct fault fault;
    judge.score(judge.self, &plan, 1, window, score);
    if (place_check_score(&desk->of.problem, plan, window->n, score, &fault) == STATUS_OK)
        return;
    log_line(LOG_ERROR, "place", "the score of %s is wrong: %s", label, fault.text);
    CHECK(false);
}

void scenario_desk_score(struct scenario_desk *desk, const char *label,
                         const struct place_plan *plan, struct plan_option *option)
{
    *option = (struct plan_option){ .label = label,
                                    .plan = *plan,
                                    .planned = room_for_score(desk),
                                    .after = room_for_score(desk) };
    score_on(desk, label, plan, &desk->of.problem.window, &option->planned);
    if (desk->of.after.n > 0)
        score_on(desk, label, plan, &desk->of.after, &option->after);
}

void scenario_desk_plan(struct scenario_desk *desk, const struct place_planner *planner,
                        const struct plan_search *search, struct plan_option *option)
{
    struct place_judge judge = sim_judge_face(desk->judge);
    struct bar bar = { 0 };
    const struct place_desk place = { .problem = &desk->of.problem,
                                      .judge = &judge,
                                      .pile = &desk->pile,
                                      .effort = search->effort,
                                      .seed = (uint64_t)desk->scenario->seed,
                                      .second = search->second,
                                      .progress = search->is_seen ? show : NULL,
                                      .progress_self = &bar };
    struct place_plan plan;
    int64_t begin_ns = time_now_ns();
    place_planner_plan(planner, &place, &plan);
    double plan_s = (double)(time_now_ns() - begin_ns) * 1e-9;
    scenario_desk_score(desk, planner->name, &plan, option);
    option->plan_s = plan_s;
}
