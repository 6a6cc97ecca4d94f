/* How ranks share a program by its layers: a pipeline.
 *
 *   rank 0: the embedding, layers [0, a) --rows of the stream--> rank 1: layers [a, b) --> ...
 *
 * The last rank has what follows the layers, and draws. Every sum is computed by one rank, so the
 * bits are those of one device. Passes that do not need each other's tokens run side by side, each
 * on another rank. */
#pragma once
#include "base/status.h"
#include "compute/compute.h"
#include "group/program.h"

struct group_chain {
    int32_t n_ranks;
    int32_t shares[COMPUTE_GROUP_RANKS_MAX]; /* of the layers, relative to each other */
};
/* Implements compute_device.split. */
enum status group_chain_split(const struct compute_program *program,
                              const struct group_chain *chain, struct tensor *tensors,
                              struct fault *fault) MUST_USE;
/* Makes the program of one rank. Returns what group_chain_split does. */
enum status group_chain_program(struct group_program *out, const struct compute_program *program,
                                const struct compute_rank *rank, const struct group_chain *chain,
                                struct fault *fault) MUST_USE;
