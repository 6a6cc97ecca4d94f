/* What a row of logits weighs under a temperature, and the best of it: the candidates of one draw.
 *
 * A weight is exp((logit - best) / temperature) in units of 2^-30, rounded once to an integer: sums
 * are exact, so neither their order nor how the best are found changes a bit. */
#pragma once
#include "compute/draw.h"

struct run_choice { /* memory taken once */
    const struct compute_draw *loops;
    int32_t n_max;
    int64_t total;                 /* of the candidates' weights */
    struct compute_draw_list list; /* the candidates, in order of id */
    struct compute_draw_list part; /* scratch */
};
void run_choice_init(struct run_choice *choice, const struct compute_draw *loops, int32_t n_max);
void run_choice_free(struct run_choice *choice);

/* The first of the highest logits. NaN loses against everything, so a broken row still yields one.
 * n > 0. */
int32_t run_choice_best(const struct run_choice *choice, const float *logits, int32_t n);

/* Every logit that weighs more than 1.3e-9 and at least min_p of the best becomes a candidate, or
 * the top_k > 0 highest of these alone, of equals those with the lower ids. NaN never is one; none
 * may be left when best is infinite or the temperature is next to nothing. n <= n_max. */
struct run_choice_how {
    float temperature, min_p; /* > 0; 0 = off */
    int32_t top_k;            /* 0 = off */
};
void run_choice_weigh(struct run_choice *choice, const float *logits, int32_t n, float best,
                      struct run_choice_how how);
/* Keeps the fewest of the highest that weigh top_p of all, at least one. */
void run_choice_keep_share(struct run_choice *choice, float top_p);
/* The candidate at `unit` in [0, 1) of all their weight. There must be one. */
int32_t run_choice_pick(const struct run_choice *choice, double unit);
