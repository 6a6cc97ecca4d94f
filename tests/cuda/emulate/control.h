/* The interface of tests to the emulated GPU. It is plain C.
 *
 * A kernel or a call that breaks a rule of CUDA ends the process with a sentence, unless the test
 * expects it (emulate_expect_faults). */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

/* The order of blocks, and of threads between two barriers, follows from the seed. */
void emulate_seed(uint64_t seed);
/* So does the order of streams. */
void emulate_seed_streams(uint64_t seed);
/* Loses the GPU after this many further operations of its streams; negative: never. */
void emulate_lose(int64_t n_ops);
/* The path of the library that stands for NVIDIA's libraries; NULL: none is installed. */
void emulate_library(const char *path);
/* Refuses one launch, after this many further ones; negative: none. */
void emulate_refuse_launch(int64_t n_launches);
/* Device memory that can be mapped in all, and what is mapped now. */
void emulate_limit_memory(size_t n_bytes);
size_t emulate_mapped_bytes(void);

/* From now on a fault is kept for emulate_fault, and ends its launch alone. */
void emulate_expect_faults(bool is_expected);
/* The first fault since the last call as text, "" when there was none. Clears it. The text is valid
 * until the next launch. */
const char *emulate_fault(void);

/* Device memory for tests of kernels, full of NaN, which the host may touch too. Its ends are
 * guarded by red zones. Never NULL. */
void *emulate_take(size_t n_bytes);
void emulate_give(void *p);

struct emulate_counts {
    uint64_t n_launches, n_blocks, n_threads, n_switches, n_warp_ops;
    uint64_t n_captures, n_replays; /* of graphs */
    uint64_t n_maps, n_pins;        /* of device and host memory */
    uint64_t n_opens;               /* of streams and events */
    uint64_t n_waits;               /* of the host for the GPU */
};
struct emulate_counts emulate_count(void);

/* Whether this program was built with the race check (race.cpp and instrumented kernels). */
bool emulate_finds_races(void);
#ifdef __cplusplus
}
#endif
