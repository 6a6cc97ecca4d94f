/* The weights of a row of logits under a temperature, and the highest of them: the candidates of
 * one draw.
 *
 * A weight is exp((logit - best) / temperature) in units of 2^-30, rounded once to an integer. Sums
 * are exact, so neither their order nor the way of the search changes a bit. */
#pragma once
#include "compute/draw.h"

/* The end of the highest: those above the value, and the first n_at of those equal to it. */
struct compute_choice_end {
    float value;
    int32_t n_at;
    int64_t over; /* the weight of all beyond the wanted one */
};

struct compute_choice { /* memory taken once */
    const struct compute_draw *loops;
    int32_t n_max;
    struct compute_draw_list list;     /* all weighed ones, in order of id */
    struct compute_choice_end end;     /* candidates are those up to it */
    int64_t total, all;                /* weight of the candidates, and of the list */
    struct compute_draw_list parts[2]; /* scratch */
};
void compute_choice_init(struct compute_choice *choice, const struct compute_draw *loops,
                         int32_t n_max);
/* Returns the bytes that it takes for a vocabulary. */
size_t compute_choice_bytes(int32_t n_max);
void compute_choice_free(struct compute_choice *choice);

/* Returns the first of the highest logits. NaN is below everything, so even a broken row yields
 * one. n > 0. */
int32_t compute_choice_best(const struct compute_choice *choice, const float *logits, int32_t n);

/* Makes candidates of all logits with a weight above 1.3e-9 and at least min_p of the best, or only
 * of the top_k > 0 highest of these (of equal ones those with the lower ids). NaN never is one. No
 * candidate may be left when best is infinite or the temperature is nearly 0. n <= n_max. */
struct compute_choice_how {
    float temperature, min_p; /* > 0; 0 = off */
    int32_t top_k;            /* 0 = off */
    const float *next;        /* the next row to be weighed, prefetched meanwhile; NULL */
};
void compute_choice_weigh(struct compute_choice *choice, const float *logits, int32_t n, float best,
                          struct compute_choice_how how);
/* Reduces the candidates to the fewest of the highest that weigh top_p of all, at least one. */
void compute_choice_keep_share(struct compute_choice *choice, float top_p);
/* Returns the candidate at `unit` in [0, 1) of their total weight. There must be one. */
int32_t compute_choice_pick(const struct compute_choice *choice, double unit);
