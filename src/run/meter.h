/* Times a loaded model's forward pass over a cache of its own, to make profiles. */
#pragma once
#include "predict/perf.h"
#include "run/model.h"

struct run_meter_options {
    int32_t n_rows_max;      /* tokens of a pass */
    int32_t n_sequences_max; /* requests of a pass */
    int32_t n_tokens_max;    /* of the cache: all contexts of a pass together */
    int lane;                /* of the model's device: 0 is all of it */
    int32_t block_tokens;    /* of the cache's blocks; 0: 32 */
    bool is_shuffled;        /* a sequence's blocks lie in no order */
};
struct run_meter;
/* Returns the bytes that it takes: its cache, logits and scratch. */
int64_t run_meter_bytes(const struct run_model *model, const struct run_meter_options *options);
struct run_meter *run_meter_open(const struct run_model *model,
                                 const struct run_meter_options *options);
void run_meter_close(struct run_meter *meter);
struct run_meter_pass { /* each of n_sequences computes n_new tokens behind n_before */
    int32_t n_sequences, n_new, n_before;
};
/* Returns false when the pass does not fit the meter or the model's positions. */
bool run_meter_fits(const struct run_meter *meter, const struct run_meter_pass *pass);
/* Runs it n_runs times: at least once, and no more after the deadline (TIME_NEVER: none). Returns
 * the best in picoseconds, since the first may find cold caches. */
struct perf_sample run_meter_step(struct run_meter *meter, const struct run_meter_pass *pass,
                                  int n_runs, int64_t deadline_ns);
