/* One GPU: all that the backend asks of CUDA beside its kernels, in plain C.
 *
 * driver.c implements it over the CUDA driver API, and tests/cuda/emulate for an emulated GPU. A
 * false or NULL means that the GPU refused, out of memory or lost; nothing changed then.
 *
 * A stream runs its operations in the order in which they were enqueued. Streams have no order
 * among each other but that of events. None of the calls waits for the GPU, except cuda_driver_wait
 * and the closing of memory.
 *
 * A device pointer is an address that the host may not touch. Host memory that is copied from or to
 * must be pinned. A copy may read its source and write its target at any time until the stream has
 * passed it. */
#pragma once
#include "base/status.h"
#include <stdint.h>

struct cuda_driver;
struct cuda_stream; /* is a CUstream */
struct cuda_event;
struct cuda_graph;
struct cuda_partition;

struct cuda_driver_info {
    char name[128];
    char bus[32];         /* its address, as NVML has it: "00000000:3B:00.0" */
    int32_t major, minor; /* compute capability */
    int32_t n_processors; /* streaming multiprocessors */
    /* A partition is a whole number of units, each of unit_processors. Left-over processors belong
     * to no partition. 0: the driver can't divide a GPU. */
    int32_t n_units, unit_processors;
    int64_t memory_bytes;
    int64_t context_bytes; /* of memory that the driver holds for good */
    int64_t granule_bytes; /* unit of reserve, map and unmap; a power of 2 */
};

/* Counts the GPUs of this machine. Returns 0, with a sentence, when the driver does not start. */
int32_t cuda_driver_count(struct fault *fault);
/* Sets name, bus, compute capability, processors and memory_bytes of a GPU without opening it.
 * Returns false when there is none of this index. */
bool cuda_driver_look(int32_t index, struct cuda_driver_info *info);
/* STATUS_UNSUPPORTED with a sentence when there is no such GPU or no driver. */
enum status cuda_driver_open(int32_t index, struct cuda_driver **out, struct fault *fault) MUST_USE;
void cuda_driver_close(struct cuda_driver *driver);
const struct cuda_driver_info *cuda_driver_describe(const struct cuda_driver *driver);
/* Makes it this thread's GPU. Each thread calls it ahead of its first launch or other call. */
void cuda_driver_enter(struct cuda_driver *driver);
/* Opens a library of NVIDIA's that computes on this GPU, for dlsym; NULL: it is not installed. */
void *cuda_driver_open_library(struct cuda_driver *driver, const char *name);
/* A fault has ended the GPU's context: nothing works from now on. */
bool cuda_driver_is_lost(struct cuda_driver *driver);

/* ---- Memory. Sizes and addresses are multiples of the granule. ---- */

/* Addresses with nothing behind them. */
unsigned char *cuda_driver_reserve(struct cuda_driver *driver, int64_t n_bytes);
/* Nothing is mapped there. */
void cuda_driver_release(struct cuda_driver *driver, unsigned char *base, int64_t n_bytes);
/* Puts memory, whose bytes are arbitrary, behind a part of a reserved range. */
bool cuda_driver_map(struct cuda_driver *driver, unsigned char *at, int64_t n_bytes);
/* Takes back what one call of map put there. No work that uses it is in flight. */
void cuda_driver_unmap(struct cuda_driver *driver, unsigned char *at, int64_t n_bytes);
/* Pins pages of the host, so that copies reach them. */
bool cuda_driver_pin(struct cuda_driver *driver, void *p, int64_t n_bytes);
void cuda_driver_unpin(struct cuda_driver *driver, void *p);

/* ---- Partitions, streams and events. ---- */

/* Sets n units aside for streams, from the given one on (a green context). All units come from one
 * split of the GPU, which is made at the first call. Open partitions have no unit in common. */
struct cuda_partition *cuda_driver_partition_open(struct cuda_driver *driver, int32_t first_unit,
                                                  int32_t n_units);
/* By then its streams are closed. */
void cuda_driver_partition_close(struct cuda_driver *driver, struct cuda_partition *partition);
/* The stream's kernels run on the partition alone; NULL: on all processors. */
struct cuda_stream *cuda_driver_stream_open(struct cuda_driver *driver,
                                            struct cuda_partition *partition);
void cuda_driver_stream_close(struct cuda_driver *driver, struct cuda_stream *stream);
/* Between pinned or device memory, in any direction. */
bool cuda_driver_copy(struct cuda_driver *driver, struct cuda_stream *stream, void *to,
                      const void *from, int64_t n_bytes);
/* Sets bytes of device memory. */
bool cuda_driver_fill(struct cuda_driver *driver, struct cuda_stream *stream, void *to,
                      unsigned char byte, int64_t n_bytes);

struct cuda_event *cuda_driver_event_open(struct cuda_driver *driver);
void cuda_driver_event_close(struct cuda_driver *driver, struct cuda_event *event);
/* The event is over when the stream has done all that was enqueued so far. */
bool cuda_driver_record(struct cuda_driver *driver, struct cuda_event *event,
                        struct cuda_stream *stream);
/* Operations that are enqueued from now on begin only when the event, as it was last recorded, is
 * over. */
bool cuda_driver_follow(struct cuda_driver *driver, struct cuda_stream *stream,
                        struct cuda_event *event);
/* Waits until the event, as it was last recorded, is over. False: the GPU is lost. */
bool cuda_driver_wait(struct cuda_driver *driver, struct cuda_event *event);

/* ---- Graphs: operations that were recorded from a stream and run again in one call, with the same
 * arguments. Memory that they copy from or to is read and written when they run. ---- */

/* Operations that this thread enqueues on the stream are recorded instead of run. Nothing else may
 * be called on the driver by this thread until the end. */
bool cuda_driver_capture(struct cuda_driver *driver, struct cuda_stream *stream);
struct cuda_graph *cuda_driver_captured(struct cuda_driver *driver, struct cuda_stream *stream);
bool cuda_driver_replay(struct cuda_driver *driver, struct cuda_graph *graph,
                        struct cuda_stream *stream);
void cuda_driver_graph_close(struct cuda_driver *driver, struct cuda_graph *graph);
