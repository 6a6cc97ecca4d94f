/* A pass on the GPU: the workspace that it runs in, and the kernels that its program becomes. */
#pragma once
#include "cuda/flight.h"
#include "cuda/workspace.h"

#define CUDA_PASS_RESULT_BYTES_MAX ((int64_t)1 << 30)

/* Enqueues the pass up to its logits. False: something was refused; what was enqueued still runs.
 */
bool cuda_pass_submit(struct cuda_lane *lane, struct cuda_flight *flight,
                      const struct compute_pass *pass);
/* Enqueues what its asks want of the logits. */
bool cuda_pass_draw(struct cuda_lane *lane, struct cuda_flight *flight,
                    const struct compute_pass *pass);
/* Enqueues the copies of what the pass gives back. */
bool cuda_pass_collect(struct cuda_lane *lane, struct cuda_flight *flight,
                       const struct compute_pass *pass);
/* The GPU is done: fills in what the pass gives back. */
void cuda_pass_end(struct cuda_flight *flight, const struct compute_pass *pass);
