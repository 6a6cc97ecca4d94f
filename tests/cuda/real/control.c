/* The tests' control of the emulated GPU (emulate/control.h), for a real one: device memory that
 * the host may touch too, and faults that are put between the backend and the driver.
 *
 * Memory for tests of kernels is pinned memory of the host, which a GPU reads and writes at the
 * same addresses. A launch is waited for while such memory is held, so results are there when a
 * launch function returns. Orders of threads, blocks and streams are the GPU's own. */
#include "emulate/control.h"

#include "cuda/driver.h"
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PIECES_MAX = 4096, RED_BYTES = 256, RED = 0xFD };
static const size_t arena_bytes = (size_t)1 << 30;

/* ---- Pieces of memory. ---- */

static unsigned char *arena;
static size_t arena_end;
static struct {
    unsigned char *at;
    size_t n_bytes;
} pieces[PIECES_MAX];
static int n_pieces;

static void fail(const char *what)
{
    fprintf(stderr, "the GPU: %s: %s\n", what, cudaGetErrorString(cudaPeekAtLastError()));
    exit(1);
}

static bool is_red(const unsigned char *p)
{
    for (int i = 0; i < RED_BYTES; i++)
        if (p[i] != RED)
            return false;
    return true;
}

/* With SHOAL_TEST_EXACT in the environment each piece is an allocation of its own, so that NVIDIA's
 * sanitizer sees its ends. */
static bool is_exact(void)
{
    return getenv("SHOAL_TEST_EXACT") != NULL;
}

static void *take_exact(size_t n_bytes)
{
    void *p = NULL;
    if (n_pieces == PIECES_MAX ||
        cudaHostAlloc(&p, n_bytes > 0 ? n_bytes : 1, cudaHostAllocMapped | cudaHostAllocPortable) !=
            cudaSuccess)
        fail("no memory that the host and the GPU share");
    memset(p, 0xFF, n_bytes);
    pieces[n_pieces].at = p;
    pieces[n_pieces++].n_bytes = n_bytes;
    return p;
}

void *emulate_take(size_t n_bytes)
{
    if (is_exact())
        return take_exact(n_bytes);
    size_t all = (n_bytes + 2 * RED_BYTES + 255) / 256 * 256;
    if (arena == NULL && cudaHostAlloc((void **)&arena, arena_bytes,
                                       cudaHostAllocMapped | cudaHostAllocPortable) != cudaSuccess)
        fail("no memory that the host and the GPU share");
    if (n_pieces == 0)
        arena_end = 0;
    if (n_pieces == PIECES_MAX || all > arena_bytes - arena_end) {
        fprintf(stderr, "the memory for tests' own pieces is full\n");
        exit(1);
    }
    unsigned char *p = arena + arena_end + RED_BYTES;
    arena_end += all;
    memset(p - RED_BYTES, RED, all);
    memset(p, 0xFF, n_bytes);
    pieces[n_pieces].at = p;
    pieces[n_pieces++].n_bytes = n_bytes;
    return p;
}

void emulate_give(void *p)
{
    for (int i = 0; i < n_pieces; i++) {
        if (pieces[i].at != p)
            continue;
        if (is_exact())
            (void)cudaFreeHost(p);
        else if (!is_red(pieces[i].at - RED_BYTES) || !is_red(pieces[i].at + pieces[i].n_bytes)) {
            fprintf(stderr, "bytes outside of a piece of %zu bytes were written\n",
                    pieces[i].n_bytes);
            exit(1);
        }
        pieces[i] = pieces[--n_pieces];
        return;
    }
}

/* ---- Launches: each ends with a call of cudaGetLastError, which the linker sends here. ---- */

static int64_t n_until_refused = -1, n_until_lost = -1;
static bool is_lost;

/* Counts an operation of a stream. False: the GPU is lost. */
static bool count_op(void)
{
    if (n_until_lost == 0)
        is_lost = true;
    if (n_until_lost > 0)
        n_until_lost--;
    return !is_lost;
}

cudaError_t __real_cudaGetLastError(void);
cudaError_t __wrap_cudaGetLastError(void);
cudaError_t __wrap_cudaGetLastError(void)
{
    cudaError_t error = __real_cudaGetLastError();
    if (error == cudaSuccess && n_pieces > 0)
        error = cudaStreamSynchronize(NULL);
    if (error != cudaSuccess) {
        fprintf(stderr, "the GPU refuses a kernel: %s\n", cudaGetErrorString(error));
        return error;
    }
    if (n_until_refused == 0)
        error = cudaErrorLaunchFailure;
    if (n_until_refused >= 0)
        n_until_refused--;
    return count_op() ? error : cudaErrorLaunchFailure;
}

/* ---- The driver's calls, which the linker sends here too. ---- */

static size_t mapped_bytes, mapped_bytes_max = SIZE_MAX;

#define WRAP(type, name, parameters)                                                               \
    type __real_##name parameters;                                                                 \
    type __wrap_##name parameters;                                                                 \
    type __wrap_##name parameters

WRAP(enum status, cuda_driver_open, (int32_t index, struct cuda_driver **out, struct fault *fault))
{
    /* The runtime keeps the GPU's context from here on, since tests open and close it often. */
    if (cudaSetDevice(0) != cudaSuccess || cudaFree(NULL) != cudaSuccess)
        fail("the CUDA runtime does not start");
    is_lost = false;
    n_until_lost = n_until_refused = -1;
    return __real_cuda_driver_open(index, out, fault);
}
WRAP(bool, cuda_driver_is_lost, (struct cuda_driver * driver))
{
    return is_lost || __real_cuda_driver_is_lost(driver);
}
WRAP(bool, cuda_driver_map, (struct cuda_driver * driver, unsigned char *at, int64_t n_bytes))
{
    if ((size_t)n_bytes > mapped_bytes_max - mapped_bytes ||
        !__real_cuda_driver_map(driver, at, n_bytes))
        return false;
    mapped_bytes += (size_t)n_bytes;
    return true;
}
WRAP(void, cuda_driver_unmap, (struct cuda_driver * driver, unsigned char *at, int64_t n_bytes))
{
    mapped_bytes -= (size_t)n_bytes;
    __real_cuda_driver_unmap(driver, at, n_bytes);
}
WRAP(bool, cuda_driver_copy,
     (struct cuda_driver * driver, struct cuda_stream *stream, void *to, const void *from,
      int64_t n_bytes))
{
    return count_op() && __real_cuda_driver_copy(driver, stream, to, from, n_bytes);
}
WRAP(bool, cuda_driver_record,
     (struct cuda_driver * driver, struct cuda_event *event, struct cuda_stream *stream))
{
    return count_op() && __real_cuda_driver_record(driver, event, stream);
}

static struct emulate_counts counts;

WRAP(struct cuda_graph *, cuda_driver_captured,
     (struct cuda_driver * driver, struct cuda_stream *stream))
{
    counts.n_captures++;
    return __real_cuda_driver_captured(driver, stream);
}
WRAP(bool, cuda_driver_replay,
     (struct cuda_driver * driver, struct cuda_graph *graph, struct cuda_stream *stream))
{
    counts.n_replays++;
    return count_op() && __real_cuda_driver_replay(driver, graph, stream);
}

struct emulate_counts emulate_count(void)
{
    return counts;
}

size_t emulate_mapped_bytes(void)
{
    return mapped_bytes;
}
void emulate_limit_memory(size_t n_bytes)
{
    mapped_bytes_max = n_bytes;
}
void emulate_refuse_launch(int64_t n_launches)
{
    n_until_refused = n_launches;
}
void emulate_lose(int64_t n_ops)
{
    n_until_lost = n_ops;
}
void emulate_library(const char *path)
{
    (void)path; /* the machine's own is used */
}
void emulate_seed(uint64_t seed)
{
    (void)seed;
}
void emulate_seed_streams(uint64_t seed)
{
    (void)seed;
}
