/* A batch: requests of one service that are computed together on one lane. It is plain data inside
 * a plan. */
#pragma once
#include "core/limits.h"
#include "core/pads.h"

enum batch_kind { BATCH_COMPUTE, BATCH_COPY_OUT, BATCH_COPY_IN };

struct batch_item {
    uint32_t slot;    /* index of the request in the engine's table */
    int32_t n_tokens; /* rows to compute now: 1 for a decode, more to catch up or with drafts */
    int32_t n_draft;  /* drafts to verify among n_tokens, of a decode: n_tokens is 1 + n_draft */
};
struct batch {
    uint32_t id; /* given by the engine when it starts */
    uint16_t service, lane;
    uint8_t kind;
    uint8_t place; /* set by the engine: its position among the batches in flight on a pipeline */
    struct pads pads; /* zero: a plain batch, which computes its items alone */
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
static inline bool batch_is_plain(const struct batch *batch)
{
    return batch->pads.row_tokens == 0;
}
/* Rows that it computes, be they of requests or not. */
static inline int32_t batch_n_rows(const struct batch *batch)
{
    return max_i32(batch->pads.n_rows, batch->n_items);
}
/* Returns the longest item: the columns of a static batch's first round. */
static inline int32_t batch_width(const struct batch *batch)
{
    int32_t width = 0;
    for (int32_t i = 0; i < batch->n_items; i++)
        width = max_i32(width, batch->items[i].n_tokens);
    return width;
}
