/* A loaded model: its weights packed by a backend and its forward pass as a program.
 *
 * Loading is the slow part: it runs on a loader's thread, tells how far it is and can be cancelled
 * between tensors. */
#pragma once
#include "run/device.h"
#include "weights/weights.h"
#include <stdatomic.h>

struct run_progress { /* shared between a loader and whoever watches */
    _Atomic int percent;
    _Atomic bool cancel;
};

struct run_model {
    struct weights *weights;   /* owned: the mapped file */
    struct run_device *device; /* that packed it */
    enum dtype kv_dtype;       /* of its keys and values, wherever they are cached */
    struct compute_program program;
    int64_t weights_bytes; /* packed */
    /* private below */
    struct compute_weight **packed;
    int n_packed;
    struct compute_op *ops;
    int32_t *widths;
    bool *is_logit_rows;
    float *inverse_frequencies;
};

/* Packs every tensor of the file for the device. Takes over weights, also when it fails (then it
 * closes them). kv_dtype: one that model_spec_check_kv let pass. progress may be NULL.
 * STATUS_CANCELLED when progress->cancel was set. */
enum status run_model_open(struct run_model *model, struct weights *weights,
                           struct run_device *device, enum dtype kv_dtype,
                           struct run_progress *progress, struct fault *fault) MUST_USE;
void run_model_close(struct run_model *model);
/* How many members of a lane's team draw tokens: no more than there are rows to draw from. */
static inline int run_model_n_samplers(const struct compute_backend *lane, int32_t n_logit_rows_max)
{
    return min_i32(lane->n_members, n_logit_rows_max);
}
/* Bytes of activations for passes of up to these sizes, logits and what tokens are drawn with
 * included, summed over the device's lanes: they compute side by side (struct run_lane_scratch). */
int64_t run_model_activation_bytes(const struct run_model *model, int32_t n_rows_max,
                                   int32_t n_logit_rows_max);

/* What a load will book, known from the header alone: packed weights, and the peak of activations.
 */
int64_t run_model_packed_bytes(const struct weights *weights, const struct run_device *device);
int64_t run_model_peak_bytes(struct weights *weights, struct run_device *device, int32_t n_rows_max,
                             int32_t n_logit_rows_max);
