/* One lane of the real executor: it lays a batch out as rows, runs the forward pass, draws tokens.
 *
 * Everything here belongs to the lane's own thread once it runs. A batch of more rows than a pass
 * may have is computed in several: a row's result depends on neither its neighbours nor its pass. A
 * padded batch (batch.pad_to) computes what a static server computes: every row as long as the
 * longest, pads and the rows of members that ended being sequences of their own over blocks that
 * nobody else reads (kv_pads), so that they cost what they cost and change nothing. Attention of a
 * shorter row over its pads alone is left out: a mask would throw it away. */
#pragma once
#include "engine/exec.h"
#include "run/model.h"
#include "run/sampler.h"

struct run_lane_options {
    struct run_device *device;
    int32_t n_rows_max;       /* rows of one pass */
    int32_t n_logit_rows_max; /* requests of one batch */
    uint16_t id;              /* of its engine, for the threads' names */
};
struct run_lane_result {
    struct engine_exec_done done;
    int32_t n_new[LIMIT_BATCH_ITEMS];
    const struct token_logprobs *logprobs[LIMIT_BATCH_ITEMS];
    struct token_logprobs *store; /* (n_logit_rows_max) */
};
struct run_lane {
    struct run_lane_options options;
    const struct engine_exec_view *view;
    int index;
    int32_t *ids, *positions, *logit_rows, *item_of_logit;
    struct compute_sequence *sequences;
    uint32_t *pad_table; /* block tables of this pass's pads, one behind the other */
    size_t n_pad_table_max;
    int64_t n_pad_rows; /* computed ever: pads, and rows of members that ended */
};
/* What a lane computes one model's batches in: run_model_activation_bytes counts it. It comes and
 * goes with the model, so the bytes that were booked for the two are free together. */
struct run_lane_scratch {
    void *workspace;
    float *logits; /* (n_logit_rows_max, n_vocabulary) */
    int n_samplers;
    struct run_sampler *samplers; /* one per member of the lane's team that draws */
};
void run_lane_scratch_open(struct run_lane_scratch *scratch, const struct run_lane_options *options,
                           int lane, const struct run_model *model);
void run_lane_scratch_close(struct run_lane_scratch *scratch);

void run_lane_open(struct run_lane *lane, const struct run_lane_options *options, int index,
                   const struct engine_exec_view *view);
void run_lane_close(struct run_lane *lane);
/* Computes one round of the batch. model NULL: it failed. */
void run_lane_run(struct run_lane *lane, const struct run_model *model,
                  const struct run_lane_scratch *scratch, const struct batch *batch,
                  struct run_lane_result *result);
