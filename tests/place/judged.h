/* A small problem with the simulator as its judge. */
#pragma once
#include "sim/judge.h"
#include "small.h"

struct judged {
    struct small *small;
    struct schedule_config config;
    struct sim_options sim;
    struct sim_judge *judge;
    struct place_judge face;
};
static inline void judged_open(struct judged *judged, struct small *small)
{
    judged->small = small;
    schedule_config_init(&judged->config);
    judged->sim = (struct sim_options){ .n_lanes = 1,
                                        .n_requests_max = 64,
                                        .n_tokens_max = 2048,
                                        .block_tokens = 16,
                                        .config = &judged->config,
                                        .policy = schedule_find("fcfs") };
    judged->judge = sim_judge_open(&(struct sim_judge_options){
        .problem = &small->problem, .sim = &judged->sim, .rule = { .scale = 5 } });
    judged->face = sim_judge_face(judged->judge);
}

static inline struct place_score judged_score(struct judged *judged, const struct place_plan *plan)
{
    struct place_score score = { 0 };
    judged->face.score(judged->face.self, &plan, 1, &judged->small->problem.window, &score);
    return score;
}

static inline void judged_close(struct judged *judged)
{
    sim_judge_close(judged->judge);
}

/* ---- All placements of up to 4 services on up to 4 devices. ---- */

struct brute {
    struct judged *judged;
    struct place_plan plan; /* the placement that is visited; some groups may be empty */
    int32_t n_members_max;
    void (*see)(struct brute *brute, void *self); /* called with each of them */
    void *self;
    struct place_score best; /* of brute_solve */
    int64_t n_plans;
};
static inline void brute_see_best(struct brute *brute, void *self)
{
    (void)self;
    struct place_score score = judged_score(brute->judged, &brute->plan);
    if (brute->n_plans == 0 || place_judge_compare(&score, &brute->best) > 0)
        brute->best = score;
}

static inline void brute_members(struct brute *brute, int32_t g)
{
    const struct place_problem *problem = &brute->judged->small->problem;
    if (g == brute->plan.n_groups) {
        brute->see(brute, brute->self);
        brute->n_plans++;
        return;
    }
    for (uint32_t set = 0; set < 1u << problem->n_services; set++) {
        struct place_group *group = &brute->plan.groups[g];
        bool is_fine = true;
        group->n_members = 0;
        for (int32_t s = 0; s < problem->n_services && is_fine; s++) {
            if ((set >> s & 1) == 0)
                continue;
            is_fine = place_group_takes(problem, group, s, brute->n_members_max);
            if (is_fine)
                place_group_add(group, s);
        }
        if (is_fine)
            brute_members(brute, g + 1);
    }
    brute->plan.groups[g].n_members = 0;
}

static inline void brute_cut(struct brute *brute, int32_t at)
{
    const struct place_problem *problem = &brute->judged->small->problem;
    if (at == problem->n_devices) {
        brute_members(brute, 0);
        return;
    }
    for (int32_t n = 1; n <= problem->n_devices - at; n *= 2) {
        int32_t node = place_problem_node_of(problem, at);
        if ((at - problem->nodes[node].first_device) % n != 0 ||
            place_problem_node_of(problem, at + n - 1) != node)
            continue;
        int32_t n_groups = brute->plan.n_groups;
        (void)place_plan_add_group(&brute->plan, problem, at, n);
        brute_cut(brute, at + n);
        brute->plan.n_groups = n_groups;
    }
}

static inline void brute_walk(struct brute *brute, struct judged *judged)
{
    brute->judged = judged;
    brute->n_plans = 0;
    place_plan_init(&brute->plan, &judged->small->problem, &judged->small->pile);
    brute_cut(brute, 0);
}

/* The best of all by the judge's order. */
static inline void brute_solve(struct brute *brute, struct judged *judged, int32_t n_members_max)
{
    *brute = (struct brute){ .see = brute_see_best, .n_members_max = n_members_max };
    brute_walk(brute, judged);
}
