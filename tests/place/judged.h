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

/* ---- All placements of up to 4 services on one node of up to 4 devices. ---- */

struct brute {
    struct judged *judged;
    struct place_plan plan;
    struct place_score best;
    int32_t n_members_max;
    int64_t n_plans;
};
static inline void brute_members(struct brute *brute, int32_t g)
{
    const struct place_problem *problem = &brute->judged->small->problem;
    if (g == brute->plan.n_groups) {
        struct place_score score = judged_score(brute->judged, &brute->plan);
        if (brute->n_plans++ == 0 || place_judge_compare(&score, &brute->best) > 0)
            brute->best = score;
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
        if (at % n != 0)
            continue;
        int32_t n_groups = brute->plan.n_groups;
        (void)place_plan_add_group(&brute->plan, problem, at, n);
        brute_cut(brute, at + n);
        brute->plan.n_groups = n_groups;
    }
}

static inline void brute_solve(struct brute *brute, struct judged *judged, int32_t n_members_max)
{
    *brute = (struct brute){ .judged = judged, .n_members_max = n_members_max };
    place_plan_init(&brute->plan, &judged->small->problem, &judged->small->pile);
    brute_cut(brute, 0);
}
