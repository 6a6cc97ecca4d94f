/* A batch: requests of one service that are computed together on one lane. Plain data inside a
 * plan. */
#pragma once
#include "core/limits.h"

enum batch_kind { BATCH_COMPUTE, BATCH_COPY_OUT, BATCH_COPY_IN };

struct batch_item {
    uint32_t slot;    /* index of the request in the engine's table */
    int32_t n_tokens; /* tokens to compute now: 1 for a decode, more to catch up */
    int32_t n_draft;  /* of them guesses to verify; 0 for now */
};
struct batch {
    uint32_t id; /* given by the engine when it starts */
    uint16_t service, lane;
    uint8_t kind;
    uint8_t place; /* set by the engine: which of those that are under way on a pipeline */
    /* Static batching: every row is as long as this after the batch's first round (pads count), one
     * longer after each further; 0 = no padding. The longest item's n_tokens is the width of the
     * first round: shorter items are padded on the left. */
    int32_t pad_to;
    int32_t n_seats; /* static batching: rows, those of members that ended too; >= n_items */
    int32_t n_items;
    struct batch_item *items;
    /* Set by the engine when it starts a batch in which every item is one step of a decode: the sum
     * of their contexts, that step counted. 0 = not such a batch. */
    int64_t n_decode_context;
};
/* The number of its place among all lanes', each of which has n_deep of them: what an executor of
 * pipelines calls a lane. */
static inline int32_t batch_place(const struct batch *batch, int32_t n_deep)
{
    return batch->lane * max_i32(n_deep, 1) + batch->place;
}
