/* What static batching adds to a batch and to the account of a request. Policies that set
 * schedule_policy.pads_batches ask for it (schedule/static.c); for all others it is zero.
 *
 * A static server computes every row of a batch as long as the longest, until the last member has
 * ended. So it computes positions for nothing: pads before a shorter prompt, and the rows of
 * members that ended. */
#pragma once
#include <stdint.h>

struct pads { /* of a batch */
    /* After the batch's first round every row has this length, pads included, and grows by one in
     * each later round; 0 = the batch computes its items alone. In the first round the width is the
     * longest item's n_tokens, and shorter items are padded on the left. */
    int32_t row_tokens;
    int32_t n_rows; /* those of members that ended too; >= n_items */
};
struct pads_lost {            /* positions that were computed for nothing in a request's row */
    int32_t n_pad, n_invalid; /* before its prompt, and after its end */
};
struct pads_sum { /* of many rows */
    int64_t n_pad, n_invalid;
};
static inline void pads_add(struct pads_sum *sum, struct pads_lost lost)
{
    sum->n_pad += lost.n_pad;
    sum->n_invalid += lost.n_invalid;
}
