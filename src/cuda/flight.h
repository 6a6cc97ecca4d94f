/* The record of a lane and of the work in flight on it, for lane.c and pass.c. */
#pragma once
#include "base/team.h"
#include "base/wake.h"
#include "compute/device.h"
#include "cuda/inputs.h"
#include "cuda/load.h"

enum { CUDA_LANE_FLIGHTS = 2 };

struct cuda_flight { /* work on the stream, and its buffers in pinned memory */
    struct compute_work *work;
    struct cuda_event *event; /* the GPU is done with it */
    struct cuda_inputs inputs;
    const void *asks;               /* in GPU memory; NULL: not sent yet */
    struct compute_memory *results; /* grows */
    enum compute_state state;       /* how it ends unless the GPU is lost */
};
struct cuda_lane {
    struct compute_lane face;
    struct cuda_driver *driver;
    struct cuda_load *load;
    struct cuda_partition *partition; /* NULL: all processors */
    struct cuda_stream *stream;
    struct compute_memory *inputs; /* the GPU's side, of all flights */
    struct cuda_flight flights[CUDA_LANE_FLIGHTS];
    _Atomic int64_t n_begun, n_ended; /* flights */
    struct lock *lock;                /* of the queue */
    struct compute_work *first, *last;
    struct wake has_work, has_flight; /* or the lane closes; has_work: masks came, too */
    struct thread *submits, *ends;
    _Atomic bool is_closing;
    bool is_strict;  /* one class of rows */
    bool has_graphs; /* decode steps are recorded and replayed */
    int64_t last_end_ns;
};
