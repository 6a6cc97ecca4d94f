/* Writes the output of `shoal plan`: text with a drawing of the nodes, JSON, a page with the plan
 * as SVG, and a scenario for `shoal sim`. */
#pragma once
#include "base/str.h"
#include "cmd/plan_problem.h"
#include "place/judge.h"

struct plan_option {   /* a plan that was weighed */
    const char *label; /* its planner */
    struct place_plan plan;
    struct place_score planned, after; /* with lent services: (n_services) */
    double plan_s;                     /* wall time that planning took */
};
struct plan_change { /* what another cluster would give */
    bool is_known;
    const char *what; /* "one a800 less" */
    struct place_score score;
};
struct plan_report {
    const struct plan_problem *of;
    const struct plan_option *options; /* (n), the chosen plan first, the others by score */
    int n;
    struct plan_change changes[2];
    const char *preset; /* policies that it was judged under */
};
void plan_report_text(const struct plan_report *report, struct str *out);
/* Compares planners: on the window that they planned on and on the one after. */
void plan_report_compare(const struct plan_report *report, struct str *out);
/* Writes "; lanes 1:1:1", or nothing if the policy divides the engine. */
void plan_report_lanes(const struct place_group *group, struct str *out);
void plan_report_json(const struct plan_report *report, struct str *out);
/* Writes one self-contained page: the plan as a drawing, then the text. */
void plan_page(const struct plan_report *report, const char *text, struct str *out);
/* Writes the engines of a plan as a scenario: the cluster's own settings, then `engines:`. */
enum status plan_scenario(const struct plan_problem *of, const struct scenario *scenario,
                          const struct place_plan *plan, struct str *out,
                          struct fault *fault) MUST_USE;
