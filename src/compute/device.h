/* The device contract: the functions of a backend, and all that the rest of the program knows of a
 * device.
 *
 *   device: OPEN --a fault that no later work survives--> LOST --close--> gone
 *
 * A device computes on lanes: shares of it (cores, a stream, a partition of its processors) that
 * the backend sets up when it is opened. Lane 0 is all of the device. A lane runs its work in order
 * (compute/work.h). Lanes that share processors take turns, and the others run side by side, with
 * the same bits. Memory objects and packed weights belong to the device, so that all lanes can read
 * them. A program's workspace belongs to one lane.
 *
 * Threads: any thread may call begin, poll and masks at any time; they never wait for work. Any
 * thread may open and close memory, weights and workspaces while work runs that does not use them.
 * None of these calls waits for a lane, so a load stops no pass. */
#pragma once
#include "compute/draw.h"
#include "compute/pass.h"
#include "core/limits.h"

struct compute_lane { /* each device puts it at the start of its own record */
    int n_members;    /* cores, or processors */
    int depth; /* This much work in flight keeps it busy, and one caller should not begin more: the
                  next pass is prepared while one runs. */
};
struct compute_sizes { /* of the largest pass */
    int32_t n_rows, n_logit_rows;
};
/* The memory in which a lane runs one program: registers, logits, memory to draw with, and the ids
 * that the previous pass drew. Each device puts it at the start of its own record. */
struct compute_workspace {
    struct compute_memory *memory; /* for registers and the like; the content does not matter */
    struct compute_sizes sizes;
};

struct compute_device {
    void *self;
    const char *name;      /* "reference", "cpu-avx2", ... */
    uint32_t arithmetic;   /* version of kernels and arithmetic: equal numbers promise equal bits */
    int32_t n_ranks;       /* processors that share each sum, which changes bits. 1: none */
    bool has_row_classes;  /* generated rows have other bits than prompt rows */
    bool has_experts;      /* it runs programs with experts, sinks, caps, clamped gates, latents */
    bool has_vectors;      /* it runs VECTORS, and attention that sees all */
    int64_t context_bytes; /* of device memory that the driver and its libraries always hold */
    int n_lanes;
    struct compute_lane *lanes[LIMIT_LANES];

    /* Opens a memory object. Returns STATUS_TOO_LARGE when there is no memory, STATUS_IO when fd
     * can't be mapped. */
    enum status (*memory_open)(void *self, const struct compute_memory_options *options,
                               struct compute_memory **out, struct fault *fault);
    void (*memory_close)(void *self, struct compute_memory *memory);
    /* Puts memory behind the parts of [from, to) that have none. Returns false when there is too
     * little; then nothing changed. */
    bool (*memory_back)(void *self, struct compute_memory *memory, int64_t from, int64_t to);
    /* Frees the memory behind the pages that are wholly inside [from, to). */
    void (*memory_drop)(void *self, struct compute_memory *memory, int64_t from, int64_t to);

    /* Copies bytes between two objects, at the same offset in both, and waits. It stops no lane, so
     * it is for a loader's thread. Returns false when the device is lost. NULL: the device's memory
     * is the host's. */
    bool (*memory_copy)(void *self, struct compute_memory *to, struct compute_memory *from,
                        int64_t at, int64_t n_bytes);
    /* Bytes a second of a plain copy from pinned host memory, measured at its opening; 0: unknown.
     */
    int64_t copy_bytes_per_s;

    /* Sets how the ranks share each of the program's tensors (n_weights), which is to be done
     * before these are packed. Returns STATUS_UNSUPPORTED when they can't compute the program
     * together. NULL: the device has one rank. */
    enum status (*split)(void *self, const struct compute_program *program, struct tensor *tensors,
                         struct fault *fault);
    /* Returns the bytes that pack writes for a matrix, or for a vector (n_rows == 1). */
    int64_t (*packed_bytes)(void *self, const struct tensor *tensor);
    /* Packs the tensor, exactly, at `at` (a multiple of 64). One form serves products and look-ups
     * by row. The bytes do not depend on their place, so an object that was packed by one process
     * can be mapped and bound by others. The call may take long. The tensor's memory is not needed
     * afterwards. */
    enum status (*pack)(void *self, const struct tensor *tensor, struct compute_memory *memory,
                        int64_t at, struct fault *fault);
    /* Makes a weight of bytes that pack wrote for a tensor of this type and size. */
    enum status (*bind)(void *self, const struct tensor *tensor, struct compute_memory *memory,
                        int64_t at, struct compute_weight **out, struct fault *fault);
    void (*unbind)(void *self, struct compute_weight *weight);

    /* Returns all device memory that a workspace takes: registers, logits, draws, graphs, the
     * workspaces of libraries. It is booked before the workspace is opened. With program->weights
     * NULL (not packed yet) it assumes the most. */
    int64_t (*workspace_bytes)(void *self, const struct compute_lane *lane,
                               const struct compute_program *program, struct compute_sizes sizes);
    /* Opens a workspace. The program outlives it. Returns STATUS_UNSUPPORTED when the program has a
     * shape that the device lacks. */
    enum status (*workspace_open)(void *self, struct compute_lane *lane,
                                  const struct compute_program *program, struct compute_sizes sizes,
                                  struct compute_workspace **out, struct fault *fault);
    void (*workspace_close)(void *self, struct compute_workspace *workspace);

    void (*begin)(void *self, struct compute_lane *lane, struct compute_work *work);
    /* Returns the state of the work. Work may advance only in this call, so a waiting caller polls
     * whenever it is notified. */
    enum compute_state (*poll)(void *self, struct compute_work *work);
    /* Tells the device that the late masks of a pass are now in its asks. */
    void (*masks)(void *self, struct compute_pass *pass);
    void (*close)(void *self); /* by now nothing is in flight */
};

/* Begins the work and waits until it has ended. Not for an engine's thread. */
enum compute_state compute_device_wait(struct compute_device *device, struct compute_lane *lane,
                                       struct compute_work *work);

/* Opens the naive device, which is obviously correct: one thread (the caller of poll), plain loops,
 * an arithmetic of compute.h step by step. */
struct compute_device *compute_reference_open(uint32_t arithmetic);
