/* Memory that no data outlives a call in, so that engines which are stepped in turn share one. */
#pragma once
#include "core/batch.h"
#include "kv/kv.h"

struct engine_scratch {
    struct batch_item *items; /* (n_items) of a plan, as the next three */
    int32_t n_items;
    struct batch batches[LIMIT_BATCHES];
    uint32_t preempts[LIMIT_BATCH_ITEMS];
    bool swaps[LIMIT_BATCH_ITEMS];
    struct kv_need needs[LIMIT_BATCH_ITEMS]; /* of reserve */
    uint32_t starts[LIMIT_BATCH_ITEMS];      /* of reserve: slots that wait as yet */
    struct kv_budget budget;                 /* of reserve */
    int32_t n_new[LIMIT_BATCH_ITEMS];        /* of commit, as all below */
    int32_t n_computed[LIMIT_BATCH_ITEMS];
    uint32_t to_tell[LIMIT_BATCH_ITEMS]; /* slots with events to send */
};
