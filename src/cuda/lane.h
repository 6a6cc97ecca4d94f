/* A lane of the CUDA device: a stream, and two threads.
 *
 *   begin --> queue --[submits]--> flights, at most two on the stream --[ends]--> DONE
 *
 * The first thread enqueues work on the stream, and waits there for masks that come late. The
 * second waits for the GPU, hands results out, and tells the caller. So the next pass is on the
 * stream before the GPU is done with this one. */
#pragma once
#include "cuda/flight.h"

struct cuda_lane_options {
    struct cuda_driver *driver;
    struct cuda_load *load;
    int index;
    int32_t first_unit, n_units; /* its partition; n_units == 0: all processors */
    bool has_graphs, is_strict;
};
enum status cuda_lane_open(struct cuda_lane *lane, const struct cuda_lane_options *options,
                           struct fault *fault) MUST_USE;
void cuda_lane_close(struct cuda_lane *lane);
void cuda_lane_begin(struct cuda_lane *lane, struct compute_work *work);
