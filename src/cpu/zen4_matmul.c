/* Few rows of integers with AVX-512 on AMD's processors from Zen 4 on.
 *
 * These have four units for vectors. Products and multiplications use two of them, and so do
 * transformations of bits (vgf2p8affineqb). Shifts, logic, additions and conversions run on the
 * other two. So bits of weights are extracted by shifts, beside the products, and wide panels gain
 * nothing until a tile is full of rows. Also, the processor's own prefetching serves its
 * first-level cache, so a second request for each line costs more than it gains. (On Intel's
 * processors two units do all of this.) */
#include "cpu/avx512_packed.h"

enum { FAR = 4096, LONE = 1024 };

#define MATMUL(type, form)                                                                         \
    static void matmul_##type(const struct cpu_tile *tile)                                         \
    {                                                                                              \
        matmul_packed(tile, form, (struct walk){ true, FAR, LONE, 0 });                            \
    }
MATMUL(q8_0, CPU_FORM_Q8_0)
MATMUL(q4_0, CPU_FORM_Q4_0)
MATMUL(q4_1, CPU_FORM_Q4_1)
MATMUL(q5_0, CPU_FORM_Q5_0)
MATMUL(q5_1, CPU_FORM_Q5_1)
MATMUL(q2_k, CPU_FORM_Q2_K)
MATMUL(q3_k, CPU_FORM_Q3_K)
MATMUL(q4_k, CPU_FORM_Q4_K)
MATMUL(q5_k, CPU_FORM_Q5_K)
MATMUL(q6_k, CPU_FORM_Q6_K)
MATMUL(iq4_nl, CPU_FORM_IQ4_NL)
MATMUL(iq4_xs, CPU_FORM_IQ4_XS)
MATMUL(mxfp4, CPU_FORM_MXFP4)
MATMUL(ternary, CPU_FORM_TQ)

/* Packed panels of AVX-512's table, for more rows. */
const struct cpu_kernels cpu_zen4_matmul = {
    .name = "cpu-zen4",
    .walks_whole = true,
    .matmul = {
        [DTYPE_Q8_0] = matmul_q8_0, [DTYPE_Q4_0] = matmul_q4_0, [DTYPE_Q4_1] = matmul_q4_1,
        [DTYPE_Q5_0] = matmul_q5_0, [DTYPE_Q5_1] = matmul_q5_1, [DTYPE_Q2_K] = matmul_q2_k,
        [DTYPE_Q3_K] = matmul_q3_k, [DTYPE_Q4_K] = matmul_q4_k, [DTYPE_Q5_K] = matmul_q5_k,
        [DTYPE_Q6_K] = matmul_q6_k, [DTYPE_IQ4_NL] = matmul_iq4_nl,
        [DTYPE_IQ4_XS] = matmul_iq4_xs, [DTYPE_MXFP4] = matmul_mxfp4,
        [DTYPE_TQ1_0] = matmul_ternary, [DTYPE_TQ2_0] = matmul_ternary,
    },
};
