/* The loops that a device's vectors run to draw a token: over a row of logits, and over candidates.
 *
 * Weights are integers, and the exponential consists of plain float sums and products, each rounded
 * once. So every table gives the same bits. Candidates stay in order of id. */
#pragma once
#include "base/base.h"

enum { COMPUTE_DRAW_BLOCK = 16 }; /* room behind the last element of a list */

#define COMPUTE_DRAW_ONE 0x1p30 /* the weight of the best */

/* A logit this far below the best, divided by the temperature, weighs less than 1.3e-9 of it. */
#define COMPUTE_DRAW_NEGLIGIBLE 20.5F

struct compute_draw_list {
    int32_t n;
    int32_t *ids;     /* used by weigh alone */
    int32_t *weights; /* NULL: each is 1 */
    float *values;    /* the logits */
};

struct compute_draw_limit {
    float best, inverse; /* 1 / temperature */
    float distance;      /* the lowest (logit - best) / temperature, >= -NEGLIGIBLE */
    float logit;         /* and the lowest logit */
    const float *next;   /* the same core's next row of this size, prefetched meanwhile */
};

struct compute_draw {
    /* Returns the largest of n, -infinity when all are NaN. */
    float (*highest)(const float *x, int32_t n);
    /* Writes 16 maxima, of 16 each, for every whole 256 logits; -infinity when all are NaN. */
    void (*tops)(const float *x, int32_t n, float *tops);
    /* Fills the list with the logits within the limit (never NaN) and returns the sum of their
     * weights: exp((logit - best) / temperature) in units of 2^-30, rounded. */
    int64_t (*weigh)(const float *logits, int32_t n, const struct compute_draw_limit *limit,
                     struct compute_draw_list *out);
    int64_t (*sum)(const int32_t *weights, int32_t n);
    /* Fills out, another list, with those of low <= value <= high. Returns the weight of those
     * above. */
    int64_t (*split)(const struct compute_draw_list *list, float low, float high,
                     struct compute_draw_list *out);
};

/* For any processor. */
extern const struct compute_draw compute_draw_plain;
