/* The CUDA graphs of a workspace: the kernels of a decode step for a number of rows and a length of
 * context, recorded once and launched in one call.
 *
 *   slot: absent --find--> new --a plain run--> warm --capture--> ready --replay--> ready
 *                                                       `--refused--> plain runs for good
 *
 * A graph has the addresses and sizes of the step in which it was recorded. A step that reuses it
 * writes its data to the same addresses, with rows that nothing reads up to the slot's number. */
#pragma once
#include "cuda/driver.h"
#include "cuda/kernels.h"

enum { CUDA_GRAPHS_MAX = 24 }; /* of a workspace; the least recently used one makes room */

struct cuda_graph_key {
    int32_t n_rows;          /* cuda_graphs_rows */
    int32_t n_positions_max; /* cuda_graphs_positions */
    struct cuda_cache cache;
};
struct cuda_graph_slot {
    struct cuda_graph_key key;
    struct cuda_graph *graph; /* NULL: not recorded */
    uint64_t used;            /* the last use's number; 0: the slot is free */
    bool is_warm;             /* ran once, so that kernels are loaded and buffers have grown */
    bool is_refused;          /* the GPU did not record it */
};
struct cuda_graphs {
    struct cuda_driver *driver;
    struct cuda_graph_slot slots[CUDA_GRAPHS_MAX];
    uint64_t n_uses;
};

/* Returns the number of rows that a graph has for n_rows, but no more than n_rows_max; 0 if it is
 * too many. */
int32_t cuda_graphs_rows(int32_t n_rows, int32_t n_rows_max);
/* Returns the length of context that a graph has for n_positions. */
int32_t cuda_graphs_positions(int32_t n_positions);
/* Returns the slot of the key. A new one closes the graph of the least recently used one. */
struct cuda_graph_slot *cuda_graphs_find(struct cuda_graphs *graphs,
                                         const struct cuda_graph_key *key);
/* Returns the GPU memory that is booked for the graphs of a program of n_ops operations. */
int64_t cuda_graphs_bytes(int32_t n_ops);
void cuda_graphs_close(struct cuda_graphs *graphs);
