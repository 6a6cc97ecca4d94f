/* Describes devices. A CPU device is a set of cores. It is written as "cpu:0-1", "cpu:0,2" or "cpu"
 * (all cores). A GPU is written as "cuda:0". A group of CPU devices, its ranks, that compute each
 * model together is written as "group(cpu:0-3,cpu:4-7)": each has a part of every layer. In
 * "group(cpu:0-3=20,cpu:4-7=4)" the first has 20 layers and the second the 4 behind them. The layers
 * of a model that has another number are divided in proportion. */
#pragma once
#include "base/status.h"

enum device_kind { DEVICE_CPU, DEVICE_CUDA };
enum { DEVICE_CORES_MAX = 1024, DEVICE_RANKS_MAX = 8 };

struct device_spec {
    enum device_kind kind;
    int32_t n_cores;                 /* CUDA: 1, or the share of a lane */
    int32_t cores[DEVICE_CORES_MAX]; /* ascending operating system numbers; CUDA: the GPU's; a
                                        group: rank by rank */
    int32_t n_ranks;                 /* of a group; 0: one device */
    int32_t
        rank_cores[DEVICE_RANKS_MAX]; /* (n_ranks) how many each rank has; they sum to n_cores */
    int32_t rank_layers[DEVICE_RANKS_MAX]; /* (n_ranks) of a pipeline; 0: a part of every layer */
    bool is_strict;                        /* all rows are computed in one class */
    int64_t memory_bytes; /* what Shoal may use of its memory; 0 = decide at start */
};
/* Parses the text of a device. n_cores_max is the number of cores of the machine, for "cpu" alone
 * and for checks. */
enum status device_parse(const char *text, int n_cores_max, struct device_spec *out,
                         struct fault *fault) MUST_USE;
/* Makes the device of one rank of a group. */
void device_rank(const struct device_spec *group, int32_t rank, struct device_spec *out);
/* Divides whole cores in proportion to shares, at least one each: by largest remainder, ties to the
 * first. parts: (n_shares), whose sum is n_cores, which is at least n_shares. */
void device_divide(int32_t n_cores, const int32_t *shares, int n_shares, int32_t *parts);
void device_print(const struct device_spec *device, char *text, size_t n_bytes); /* "cpu:0-1" */
