/* A pass while it is laid out: the common part of the rows of items (rows.c) and of pads
 * (pads.c). */
#pragma once
#include "run/lane_state.h"

struct run_filling {
    struct run_lane *lane;
    struct run_lane_slot *slot;
    const struct batch *batch;
    const struct run_model *model;
    struct run_lane_result *result;
    int32_t block_tokens;
    uint32_t n_heads; /* rows of a table: of all heads of all layers, or 1 */
    struct {
        int32_t width;             /* of the batch's first round */
        uint32_t first, n, n_used; /* blocks for pads; the first is only read */
        size_t n_table;            /* the used part of the slot's pad_table */
    } pads;                        /* of a batch that is not plain */
};
struct run_table { /* see struct compute_sequence */
    const uint32_t *blocks;
    uint32_t stride;
};
/* Adds a sequence of rows behind n_before others. Rows without ids are pads. */
void run_filling_add(struct run_filling *filling, int32_t n_before, int32_t n_rows,
                     struct run_table table, const int32_t *ids);
