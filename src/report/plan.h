/* Writes the output of `shoal plan`: text with a drawing of the nodes, JSON, and a page with the
 * plan as SVG. */
#pragma once
#include "base/doc.h"
#include "scenario/desk.h"

struct report_plan_change { /* what another cluster would give */
    bool is_known;
    const char *what; /* "one a800 less" */
    struct place_score score;
};
struct report_plan {
    const struct scenario_problem *of;
    const struct plan_option *options; /* (n), the chosen plan first, the others by score */
    int n;
    struct report_plan_change changes[2];
    const char *preset; /* policies that it was judged under */
};
void report_plan_print(const struct report_plan *report, struct doc *out);
/* Compares planners: on the window that they planned on and on the one after. */
void report_plan_compare(const struct report_plan *report, struct doc *out);
/* Returns the letter that names an engine. */
char report_plan_letter(int32_t group);

/* Writes "; lanes 1:1:1", or nothing if the policy divides the engine. */
void report_plan_lanes(const struct place_group *group, struct str *out);
void report_plan_json(const struct report_plan *report, struct str *out);
/* Draws the plan as SVG: a row of devices per node, a box per engine, with its models. */
void report_plan_draw(const struct report_plan *report, struct str *html);
