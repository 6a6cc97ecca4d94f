/* A loaded model: its weights packed by a device and its forward pass as a program.
 *
 * Loading is the slow part. It runs on a loader's thread, reports its progress and can be cancelled
 * between tensors. */
#pragma once
#include "compute/packed.h"
#include "run/forward.h"
#include "weights/weights.h"
#include <stdatomic.h>

struct run_progress { /* shared between a loader and its observer */
    _Atomic int percent;
    _Atomic bool cancel;
};

struct run_model {
    struct weights *weights;       /* owned: the mapped file */
    struct compute_device *device; /* the device that packed it */
    enum dtype kv_dtype;           /* of its keys and values, in every cache */
    struct compute_program program;
    int64_t weights_bytes; /* packed */
    /* Equal for models with equal tokens. It covers the file, the device's kernels, the types, and
     * the ranks that share sums. */
    uint64_t arithmetic;
    uint64_t file; /* names the files that it was read from: weights_stamp */
    /* private below */
    struct compute_packed packed;
    struct compute_op *ops;
    struct forward_registers *registers;
    float *inverse_frequencies;
};
struct run_model_options {
    struct compute_device *device;
    enum dtype kv_dtype;           /* accepted by model_spec_check_kv */
    struct compute_memory *memory; /* that the packed weights lie in, of run_model_packed_bytes;
                                      lent as long as the model is open. NULL: its own */
    bool is_packed;                /* this file was packed into it before, by such a device */
    struct run_progress *progress; /* may be NULL */
};

/* Packs every tensor of the file for the device. Takes over weights, also when it fails (then it
 * closes them). Returns STATUS_CANCELLED when progress->cancel was set. */
enum status run_model_open(struct run_model *model, struct weights *weights,
                           const struct run_model_options *options, struct fault *fault) MUST_USE;
void run_model_close(struct run_model *model);
/* Keep the packed weights in host memory and give the device's back, and the way back, which reads
 * nothing of the file. Its program and arithmetic stay. No workspace is open and no work in flight.
 * On a fault nothing changed; waking returns STATUS_CANCELLED when progress->cancel was set. */
enum status run_model_sleep(struct run_model *model, struct fault *fault) MUST_USE;
enum status run_model_wake(struct run_model *model, struct run_progress *progress,
                           struct fault *fault) MUST_USE;
/* Returns the bytes of activations for passes of up to these sizes, including logits and the memory
 * for draws. It is the sum over the device's lanes, since they compute side by side. */
int64_t run_model_activation_bytes(const struct run_model *model, int32_t n_rows_max,
                                   int32_t n_logit_rows_max);

/* Return what a load will book, from the header alone: packed weights, and the peak of
 * activations. */
int64_t run_model_packed_bytes(struct weights *weights, struct compute_device *device);
int64_t run_model_peak_bytes(struct weights *weights, struct compute_device *device,
                             int32_t n_rows_max, int32_t n_logit_rows_max);
