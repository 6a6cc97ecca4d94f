/* The device contract: what a backend implements, and all that the rest knows of a device.
 *
 *   device:  OPEN --a fault that no later work survives--> LOST --close--> gone
 *
 * A device computes on lanes: shares of it (cores, a stream, a partition of its processors) that
 * the backend sets up when it is opened. Lane 0 is all of the device. A lane runs its work in order
 * (compute/work.h); lanes that share processors take turns, and the others run side by side, with
 * the same bits. Memory objects and packed weights belong to the device, so that all lanes read
 * them. A program's workspace belongs to one lane.
 *
 * Threads: begin, poll and masks may be called by any thread at any time, and never wait for work.
 * Memory, weights and workspaces may be opened and closed by any thread while work runs that does
 * not use them. None of these calls waits for a lane: a load stops no pass. */
#pragma once
#include "compute/draw.h"
#include "compute/pass.h"
#include "core/limits.h"

struct compute_lane { /* each device puts it at the start of its own record */
    int n_members;    /* cores, or processors */
    int depth;        /* so much work at once keeps it busy, and no more should be begun by one
                         caller: the next pass is prepared while one runs */
};
struct compute_sizes { /* of the largest pass */
    int32_t n_rows, n_logit_rows;
};
/* What a lane runs one program in: registers, logits, memory to draw with, and the ids that the
 * pass before drew. Each device puts it at the start of its own record. */
struct compute_workspace {
    struct compute_memory *memory; /* of registers and the like; what it holds does not matter */
    struct compute_sizes sizes;
};

struct compute_device {
    void *self;
    const char *name;      /* "reference", "cpu-avx2", ... */
    uint32_t arithmetic;   /* version of kernels and arithmetic: equal numbers promise equal bits */
    int32_t n_ranks;       /* processors that each sum is split over: it changes bits. 1: none */
    int64_t context_bytes; /* of device memory that the driver and its libraries hold for good */
    int n_lanes;
    struct compute_lane *lanes[LIMIT_LANES];

    /* STATUS_TOO_LARGE when there is no memory, STATUS_IO when fd can't be mapped. */
    enum status (*memory_open)(void *self, const struct compute_memory_options *options,
                               struct compute_memory **out, struct fault *fault);
    void (*memory_close)(void *self, struct compute_memory *memory);
    /* Puts memory behind [from, to) where there is none. False: there is too little, and nothing
     * changed. */
    bool (*memory_back)(void *self, struct compute_memory *memory, int64_t from, int64_t to);
    /* Gives back what lies behind the pages wholly inside [from, to). */
    void (*memory_drop)(void *self, struct compute_memory *memory, int64_t from, int64_t to);

    /* Bytes that pack writes for a matrix, or for a vector (n_rows == 1). */
    int64_t (*packed_bytes)(void *self, const struct tensor *tensor);
    /* Packs the tensor, exactly, at `at` (a multiple of 64): one form serves products and look-up
     * by row. The bytes do not depend on where they lie, so an object that was packed by one
     * process can be mapped and bound by others. May take long; the tensor's memory is not needed
     * afterwards. */
    enum status (*pack)(void *self, const struct tensor *tensor, struct compute_memory *memory,
                        int64_t at, struct fault *fault);
    /* A weight over bytes that pack wrote for a tensor of this type and size. */
    enum status (*bind)(void *self, const struct tensor *tensor, struct compute_memory *memory,
                        int64_t at, struct compute_weight **out, struct fault *fault);
    void (*unbind)(void *self, struct compute_weight *weight);

    /* All device memory that a workspace takes: registers, logits, draws, graphs, the workspaces of
     * libraries. Booked before it is opened. With program->weights NULL (they are not packed yet)
     * the most is assumed. */
    int64_t (*workspace_bytes)(void *self, const struct compute_lane *lane,
                               const struct compute_program *program, struct compute_sizes sizes);
    /* The program outlives it. STATUS_UNSUPPORTED when it has a shape that the device lacks. */
    enum status (*workspace_open)(void *self, struct compute_lane *lane,
                                  const struct compute_program *program, struct compute_sizes sizes,
                                  struct compute_workspace **out, struct fault *fault);
    void (*workspace_close)(void *self, struct compute_workspace *workspace);

    void (*begin)(void *self, struct compute_lane *lane, struct compute_work *work);
    /* Says how far the work is. Work may move on only in this call, so a waiting caller polls
     * whenever it is notified. */
    enum compute_state (*poll)(void *self, struct compute_work *work);
    /* The masks of a pass with late ones stand in its asks now. */
    void (*masks)(void *self, struct compute_pass *pass);
    void (*close)(void *self); /* nothing is in flight */
};

/* Begins the work and waits until it ended. Not for an engine's thread. */
enum compute_state compute_device_wait(struct compute_device *device, struct compute_lane *lane,
                                       struct compute_work *work);

/* The naive device that is obviously right: one thread (the caller of poll), plain loops, an
 * arithmetic of compute.h step by step. */
struct compute_device *compute_reference_open(uint32_t arithmetic);
