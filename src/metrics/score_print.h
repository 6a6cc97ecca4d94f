/* Scores as people and programs read them: a table, and JSON with the names of vLLM's benchmark
 * where it has one. */
#pragma once
#include "base/hist.h"
#include "base/json_out.h"
#include "metrics/score.h"

struct score_sheet { /* what is printed together */
    const struct record_set *set;
    const struct score_options *options;
    const struct score *scores; /* (n_services + 1) */
    const struct hist *gaps;    /* all waits between pieces of answers, ns; NULL = not measured */
};
/* A line per service and one for all, then what holds for the run. */
void metrics_score_print_table(const struct score_sheet *sheet, struct str *out);
/* Members of the object that json stands in: the run's figures, and "services": [...]. */
void metrics_score_print_json(const struct score_sheet *sheet, struct json_out *json);
/* Attainment by every rule that can be told from these records, at the papers' scales. */
void metrics_score_print_attainment(const struct score_sheet *sheet, struct str *out);
