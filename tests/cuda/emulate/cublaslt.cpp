/* Stands for cuBLASLt in tests: products of BF16 matrices on the emulated GPU.
 *
 * Built twice: an honest one, and one (FAKE_DEPENDS_ON_ROWS) whose sums run downwards when a pass
 * has many rows, as a library does that chooses its kernel by the number of rows. */
#include "emulate.h"

extern "C" {
#include "cuda/cublaslt.h"
}

namespace
{
struct sizes {
    int n, k;
    long d_stride;
    float beta;
    bool is_downwards;
};
} // namespace

static float of_bf16(uint16_t bits)
{
    return emulate::of_bits<float>((uint64_t)bits << 16);
}

/* A block is a row of the product, a thread one output. */
static void multiply_kernel(const uint16_t *w, const uint16_t *x, float *d, sizes s)
{
    const int row = (int)blockIdx.x;
    for (int out = (int)threadIdx.x; out < s.n; out += (int)blockDim.x) {
        float sum = 0;
        for (int i = 0; i < s.k; i++) {
            const int c = s.is_downwards ? s.k - 1 - i : i;
            sum = __builtin_fmaf(of_bf16(w[(long)out * s.k + c]), of_bf16(x[(long)row * s.k + c]),
                                 sum);
        }
        float *to = d + row * s.d_stride + out;
        *to = s.beta != 0 ? *to + sum : sum;
    }
}

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT int cublasLtCreate(void **handle)
{
    static int one;
    *handle = &one;
    return CUBLASLT_SUCCESS;
}
EXPORT int cublasLtDestroy(void *)
{
    return CUBLASLT_SUCCESS;
}
EXPORT size_t cublasLtGetVersion(void)
{
#ifdef FAKE_DEPENDS_ON_ROWS
    return 2;
#else
    return 1;
#endif
}
EXPORT int cublasLtMatmulDescInit_internal(cublaslt_desc *desc, size_t n, int compute, int scale)
{
    *desc = {};
    return n != sizeof *desc || compute != CUBLASLT_COMPUTE_32F || scale != CUBLASLT_R_32F;
}
EXPORT int cublasLtMatmulDescSetAttribute(cublaslt_desc *desc, int which, const void *value, size_t)
{
    desc->data[0] = which == CUBLASLT_DESC_TRANSA ? *(const uint32_t *)value : 0;
    return CUBLASLT_SUCCESS;
}
EXPORT int cublasLtMatrixLayoutInit_internal(cublaslt_layout *layout, size_t n, int type,
                                             uint64_t n_rows, uint64_t n_columns, int64_t ld)
{
    *layout = { { (uint64_t)type, n_rows, n_columns, (uint64_t)ld, 0, 0, 0, 0 } };
    return n != sizeof *layout || ld < (int64_t)n_rows;
}
EXPORT int cublasLtMatmulPreferenceInit_internal(cublaslt_preference *preference, size_t n)
{
    *preference = {};
    return n != sizeof *preference;
}
EXPORT int cublasLtMatmulPreferenceSetAttribute(cublaslt_preference *, int, const void *, size_t)
{
    return CUBLASLT_SUCCESS;
}
/* The first proposal splits sums, so it must not be taken; the second does not. */
EXPORT int cublasLtMatmulAlgoGetHeuristic(void *, cublaslt_desc *, cublaslt_layout *,
                                          cublaslt_layout *, cublaslt_layout *, cublaslt_layout *,
                                          cublaslt_preference *, int n_wanted,
                                          cublaslt_result *results, int *n_found)
{
    *n_found = n_wanted < 2 ? n_wanted : 2;
    for (int i = 0; i < *n_found; i++)
        results[i] = { { { (uint64_t)(i == 0 ? 4 : 1), 0, 0, 0, 0, 0, 0, 0 } }, 0, 0, 1.0f, {} };
    return CUBLASLT_SUCCESS;
}
EXPORT int cublasLtMatmulAlgoConfigGetAttribute(const cublaslt_algo *algo, int which, void *value,
                                                size_t n_bytes, size_t *n_written)
{
    const uint32_t number = which == CUBLASLT_CONFIG_SPLIT_K     ? (uint32_t)algo->data[0]
                            : which == CUBLASLT_CONFIG_REDUCTION ? algo->data[0] > 1
                                                                 : 7;
    *n_written = sizeof number;
    if (n_bytes != sizeof number)
        return 1;
    memcpy(value, &number, sizeof number);
    return CUBLASLT_SUCCESS;
}
EXPORT int cublasLtMatmul(void *, cublaslt_desc *desc, const void *alpha, const void *a,
                          cublaslt_layout *a_layout, const void *b, cublaslt_layout *b_layout,
                          const void *beta, const void *, cublaslt_layout *, void *d,
                          cublaslt_layout *d_layout, const cublaslt_algo *algo, void *, size_t,
                          void *stream)
{
    const bool is_ours =
        desc->data[0] == CUBLASLT_OP_T && *(const float *)alpha == 1.0f && algo->data[0] == 1 &&
        a_layout->data[0] == CUBLASLT_R_16BF && b_layout->data[0] == CUBLASLT_R_16BF &&
        a_layout->data[3] == a_layout->data[1] && b_layout->data[3] == a_layout->data[1];
    if (!is_ours)
        return 1;
    sizes s = { (int)a_layout->data[2], (int)a_layout->data[1], (long)d_layout->data[3],
                *(const float *)beta, false };
    const unsigned n_rows = (unsigned)b_layout->data[2];
#ifdef FAKE_DEPENDS_ON_ROWS
    s.is_downwards = n_rows > 100;
#endif
    return !LAUNCH(multiply_kernel, n_rows, 32, 0, (cuda_stream *)stream, (const uint16_t *)a,
                   (const uint16_t *)b, (float *)d, s);
}
