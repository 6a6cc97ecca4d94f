/* A batch: requests of one service that are computed together on one lane. It is plain data inside
 * a plan. */
#pragma once
#include "core/limits.h"

enum batch_kind { BATCH_COMPUTE, BATCH_COPY_OUT, BATCH_COPY_IN };

struct batch_item {
    uint32_t slot;    /* index of the request in the engine's table */
    int32_t n_tokens; /* tokens to compute now: 1 for a decode, more to catch up */
    int32_t n_draft;  /* guesses to verify among n_tokens; 0 for now */
};
struct batch {
    uint32_t id; /* given by the engine when it starts */
    uint16_t service, lane;
    uint8_t kind;
    uint8_t place; /* set by the engine: its position among the batches in flight on a pipeline */
    /* Static batching: after the batch's first round every row has this length, pads included, and
     * grows by one in each later round; 0 = no padding. In the first round the width is the longest
     * item's n_tokens, and shorter items are padded on the left. */
    int32_t pad_to;
    int32_t n_seats; /* static batching: rows, those of members that ended too; >= n_items */
    int32_t n_items;
    struct batch_item *items;
    /* The engine sets this when it starts a batch in which every item is one step of a decode. It
     * is the sum of their contexts, this step included. 0 = not such a batch. */
    int64_t n_decode_context;
};
/* Returns the number of the batch's place among the places of all lanes; each lane has n_deep
 * places. An executor of pipelines calls such a place a lane. */
static inline int32_t batch_place(const struct batch *batch, int32_t n_deep)
{
    return batch->lane * max_i32(n_deep, 1) + batch->place;
}
