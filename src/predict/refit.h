/* Refits a performance model to the batches that an engine measures (Aladdin, section 4: its
 * coefficients are learned while it serves).
 *
 * perf_observe scales all coefficients of a phase alike, within some ten batches. A line that was
 * wrong in shape stays wrong: say a constant that is too large beside a slope that is too small. So
 * the sums of the normal equations of past batches are kept, each batch with the weight 1 / time^2,
 * and the older the less. When the model is off by more than PERF_REFIT_OFF, the coefficients are
 * fitted again. The distance from the previous ones counts a little too, so a coefficient that the
 * batches do not determine (contexts of one length only) stays as it was.
 *
 * Mixed batches correct the scales alone, as do prompts that cost the launch floor. */
#pragma once
#include "predict/perf.h"

enum {
    PERF_REFIT_EVERY = 64,  /* batches of a line between two fits */
    PERF_REFIT_MEMORY = 512 /* a batch's weight falls to 1 / e after as many others */
};
#define PERF_REFIT_OFF 0.03 /* mean of |measured / predicted - 1| */

struct perf_refit_line {    /* time = x . coefficients, x = (1, requests or new tokens, context) */
    double xx[3][3], xy[3]; /* sums of x x^T / time^2, and of x / time */
    double off;             /* sum of |measured / predicted - 1| since the last look */
    int32_t n;              /* batches since then */
};
struct perf_refit { /* zeros at first */
    struct perf_refit_line prefill, decode[2];
};
/* Corrects the model by one measured batch, as perf_observe does, and refits it where it is due.
 * Nothing happens when a time is not positive. */
void perf_refit_observe(struct perf_refit *refit, struct perf *perf, const struct perf_load *load,
                        int64_t measured_ps);
