/* The layout of a static batch (core/pads.h): every row is as long as the longest. Pads, and the
 * rows of ended members, are sequences of their own over blocks that no request reads (kv_aside),
 * so that they cost their time and change nothing. Attention of a shorter row over its pads is left
 * out, since a mask would drop it. */
#pragma once
#include "run/filling.h"

struct run_part {             /* a run of rows of a batch */
    int32_t item;             /* -1: they are pads */
    int32_t n_before, n_rows; /* n_before: of pads */
};
/* Part 2 i is the rows that item i computes, and part 2 i + 1 its pads. Behind them each empty row
 * is a part of pads. width: of the batch's first round. */
int32_t run_pads_parts(const struct batch *batch);
struct run_part run_pads_part(const struct batch *batch, int32_t width, int32_t part);
/* Before the first rows of a pass. */
void run_pads_begin(struct run_filling *filling);
/* At most n pads from position n_before on; returns how many, 0: the pass has no more blocks. */
int32_t run_pads_add(struct run_filling *filling, int32_t n_before, int32_t n);
