/* Kernels for AVX2 with FMA and F16C. */
#include "cpu/lanes.h"

const struct cpu_kernels cpu_avx2 = {
    .name = "cpu-avx2",
    .norm = lanes_norm,
    .rotate_halves = lanes_rotate_halves,
    .rotate_pairs = lanes_rotate_pairs,
    .act = lanes_act,
    .multiply = lanes_multiply,
    .add = lanes_add,
    .softmax = lanes_softmax,
    .merge = lanes_merge,
};
