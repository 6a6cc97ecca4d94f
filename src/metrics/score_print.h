/* Scores for users and programs: a table, and JSON with the names of vLLM's benchmark when it has
 * one. */
#pragma once
#include "base/doc.h"
#include "base/hist.h"
#include "base/json_out.h"
#include "metrics/score.h"

struct score_sheet { /* the parts of one printout */
    const struct record_set *set;
    const struct score_options *options;
    const struct score *scores; /* (n_services + 1) */
    const struct hist *gaps;    /* all waits between pieces of answers, ns; NULL = not measured */
};
/* Prints a line per service and one for all, then the figures of the run. */
void metrics_score_print_table(const struct score_sheet *sheet, struct doc *out);
/* Prints members of json's open object: the run's figures, and "services": [...]. */
void metrics_score_print_json(const struct score_sheet *sheet, struct json_out *json);
/* Prints attainment by every rule that these records can answer, at the papers' scales. */
void metrics_score_print_attainment(const struct score_sheet *sheet, struct doc *out);
