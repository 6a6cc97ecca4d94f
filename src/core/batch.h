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
    int32_t pad_to; /* static batching: every sequence is padded to this length; 0 = no padding */
    int32_t n_items;
    struct batch_item *items;
};
