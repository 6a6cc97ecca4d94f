/* Kernels for AVX-512 (F, BW, VL, DQ, VBMI) with VNNI: rows. avx512_matmul.c and avx512_float.c
 * have the matrices; what is in none of them is AVX2's. */
#include "cpu/lanes.h"

const struct cpu_kernels cpu_avx512 = {
    .name = "cpu-avx512",
    .norm = lanes_norm,
    .rotate_halves = lanes_rotate_halves,
    .rotate_pairs = lanes_rotate_pairs,
    .act = lanes_act,
    .multiply = lanes_multiply,
    .add = lanes_add,
    .softmax = lanes_softmax,
    .merge = lanes_merge,
};
