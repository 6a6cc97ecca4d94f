/* Makes a problem for planners from a cluster and a workload. Nodes come from a scenario's `nodes:`
 * or a text, and services have their models as in `shoal sim`. There are two windows of requests:
 * one to plan on, and the one after it. */
#pragma once
#include "place/problem.h"
#include "scenario/world.h"

enum { PLAN_WORLDS_MAX = FLAGS_TEXTS_MAX, PLAN_WINDOW_USUAL = 5000 };
struct scenario_problem {
    struct place_problem problem;
    struct place_kind kinds[PLACE_KINDS_MAX];
    const struct predict_device *devices[PLACE_KINDS_MAX];
    struct place_node *nodes;       /* (n_nodes) */
    struct place_service *services; /* (n_services) */
    struct score_service *scores;   /* (n_services) targets and MuxServe's reference times */
    const char **models;            /* (n_services) names; NULL: numbers */
    struct perf *perfs;             /* (n_services, n_kinds, PLACE_DEGREES) */
    struct place_request *requests; /* of both windows */
    struct place_window after;      /* n = 0: the workload ended before */
    bool is_whole;                  /* the workload ended within the two windows */
    struct scenario_world *worlds[PLAN_WORLDS_MAX];
    int n_worlds;
};
/* The lengths of the windows to plan on and after that. Zeros: 5,000 requests each, or the halves
 * of a workload that ends before. */
struct plan_spans {
    int64_t window_ns, after_ns;
};
/* To be closed also after a fault. */
enum status scenario_problem_open(struct scenario_problem *plan, const struct scenario *scenario,
                                  struct plan_spans spans, struct fault *fault) MUST_USE;
void scenario_problem_close(struct scenario_problem *plan);
/* Puts the cluster alone into a zeroed problem: kinds, nodes, numbers of devices. */
enum status scenario_problem_nodes(struct scenario_problem *plan, const struct scenario *scenario,
                                   struct fault *fault) MUST_USE;
/* Reads "4x8xa800", "2x8xh100+1x4xl40s": nodes, devices of each, kind. They become the scenario's
 * nodes, and the scenario keeps copies. */
enum status scenario_problem_cluster(struct scenario *scenario, const char *text,
                                     struct fault *fault) MUST_USE;
