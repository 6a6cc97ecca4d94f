/* Drawing's loops for any processor. */
#include "compute/draw_loops.h"

const struct compute_draw compute_draw_plain = {
    .highest = draw_highest,
    .tops = draw_tops,
    .weigh = draw_weigh,
    .sum = draw_sum,
    .split = draw_split,
};
