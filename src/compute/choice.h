/* What a row of logits weighs under a temperature, and the best of it: the candidates of one draw.
 *
 * A weight is exp((logit - best) / temperature) in units of 2^-30, rounded once to an integer: sums
 * are exact, so neither their order nor how the best are found changes a bit. */
#pragma once
#include "compute/draw.h"

/* Where the highest end: what is above the value, and the first n_at of those equal to it. */
struct compute_choice_end {
    float value;
    int32_t n_at;
    int64_t over; /* what all weigh beyond what was wanted */
};

struct compute_choice { /* memory taken once */
    const struct compute_draw *loops;
    int32_t n_max;
    struct compute_draw_list list;     /* all that were weighed, in order of id */
    struct compute_choice_end end;     /* candidates are those up to it */
    int64_t total, all;                /* what the candidates weigh, and the list */
    struct compute_draw_list parts[2]; /* scratch */
};
void compute_choice_init(struct compute_choice *choice, const struct compute_draw *loops,
                         int32_t n_max);
/* What it takes for a vocabulary. */
size_t compute_choice_bytes(int32_t n_max);
void compute_choice_free(struct compute_choice *choice);

/* The first of the highest logits. NaN loses against everything, so a broken row still yields one.
 * n > 0. */
int32_t compute_choice_best(const struct compute_choice *choice, const float *logits, int32_t n);

/* Every logit that weighs more than 1.3e-9 and at least min_p of the best becomes a candidate, or
 * the top_k > 0 highest of these alone, of equals those with the lower ids. NaN never is one; none
 * may be left when best is infinite or the temperature is next to nothing. n <= n_max. */
struct compute_choice_how {
    float temperature, min_p; /* > 0; 0 = off */
    int32_t top_k;            /* 0 = off */
    const float *next;        /* the row to be weighed next, which is fetched meanwhile; NULL */
};
void compute_choice_weigh(struct compute_choice *choice, const float *logits, int32_t n, float best,
                          struct compute_choice_how how);
/* Ends them behind the fewest of the highest that weigh top_p of all, at least one. */
void compute_choice_keep_share(struct compute_choice *choice, float top_p);
/* The candidate at `unit` in [0, 1) of all their weight. There must be one. */
int32_t compute_choice_pick(const struct compute_choice *choice, double unit);
