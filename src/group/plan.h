/* How ranks share a program, and the program of each rank.
 *
 * There are four kinds of registers. Every rank has the stream whole, some heads of the queries,
 * some heads of the keys and values, and some columns of the inner activations of feed-forwards.
 * The kind follows from the operations that use a register. A matrix from the stream to the others
 * is split by rows. A matrix back to the stream is split by columns, so each rank computes a part
 * of each sum, and a SUM follows. Matrices within the stream, norms and embeddings are whole on
 * every rank. LOGITS is split by rows, each rank writing its columns of the logits. Source: Shoeybi
 * et al., "Megatron-LM", 2019, section 3. */
#pragma once
#include "base/status.h"
#include "compute/compute.h"

/* Implements compute_device.split. */
enum status group_plan_split(const struct compute_program *program, int32_t n_ranks,
                             struct tensor *tensors, struct fault *fault) MUST_USE;
