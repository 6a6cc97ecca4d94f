/* The part of cuBLASLt's interface that blas.c uses. It is declared here because headers of CUDA
 * stay in driver.c and the kernels, and the library is opened at run time.
 *
 * Source: the headers of cuBLASLt in CUDA 13.0 (libcublasLt.so.13). */
#pragma once
#include <stddef.h>
#include <stdint.h>

#define CUBLASLT_NAME "libcublasLt.so.13"

enum { CUBLASLT_SUCCESS = 0 };
enum { CUBLASLT_R_32F = 0, CUBLASLT_R_16BF = 14 }; /* cudaDataType */
enum { CUBLASLT_COMPUTE_32F = 68, CUBLASLT_OP_T = 1 };
enum { CUBLASLT_DESC_TRANSA = 3 }; /* cublasLtMatmulDescAttributes_t */
enum {                             /* cublasLtMatmulPreferenceAttributes_t */
       CUBLASLT_PREF_WORKSPACE_BYTES = 1,
       CUBLASLT_PREF_REDUCTION_SCHEMES = 3,
       CUBLASLT_PREF_ALIGNMENT_A = 5, /* and B, C, D behind it */
};
enum { /* cublasLtMatmulAlgoConfigAttributes_t */
       CUBLASLT_CONFIG_ID = 0,
       CUBLASLT_CONFIG_TILE = 1,
       CUBLASLT_CONFIG_SPLIT_K = 2,
       CUBLASLT_CONFIG_REDUCTION = 3,
       CUBLASLT_CONFIG_STAGES = 6,
};

struct cublaslt_desc {
    uint64_t data[32];
};
struct cublaslt_layout { /* columns one behind the other, ld elements apart */
    uint64_t data[8];
};
struct cublaslt_preference {
    uint64_t data[8];
};
struct cublaslt_algo {
    uint64_t data[8];
};
struct cublaslt_result {
    struct cublaslt_algo algo;
    size_t workspace_bytes;
    int status;
    float n_waves;
    int reserved[4];
};

/* The members have the names of the functions without "cublasLt". */
struct cublaslt {
    int (*Create)(void **handle);
    int (*Destroy)(void *handle);
    size_t (*GetVersion)(void);
    int (*MatmulDescInit_internal)(struct cublaslt_desc *desc, size_t n_bytes, int compute_type,
                                   int scale_type);
    int (*MatmulDescSetAttribute)(struct cublaslt_desc *desc, int attribute, const void *value,
                                  size_t n_bytes);
    int (*MatrixLayoutInit_internal)(struct cublaslt_layout *layout, size_t n_bytes, int type,
                                     uint64_t n_rows, uint64_t n_columns, int64_t ld);
    int (*MatmulPreferenceInit_internal)(struct cublaslt_preference *preference, size_t n_bytes);
    int (*MatmulPreferenceSetAttribute)(struct cublaslt_preference *preference, int attribute,
                                        const void *value, size_t n_bytes);
    int (*MatmulAlgoGetHeuristic)(void *handle, struct cublaslt_desc *desc,
                                  struct cublaslt_layout *a, struct cublaslt_layout *b,
                                  struct cublaslt_layout *c, struct cublaslt_layout *d,
                                  struct cublaslt_preference *preference, int n_wanted,
                                  struct cublaslt_result *results, int *n_found);
    int (*MatmulAlgoConfigGetAttribute)(const struct cublaslt_algo *algo, int attribute,
                                        void *value, size_t n_bytes, size_t *n_written);
    int (*Matmul)(void *handle, struct cublaslt_desc *desc, const void *alpha, const void *a,
                  struct cublaslt_layout *a_layout, const void *b, struct cublaslt_layout *b_layout,
                  const void *beta, const void *c, struct cublaslt_layout *c_layout, void *d,
                  struct cublaslt_layout *d_layout, const struct cublaslt_algo *algo,
                  void *workspace, size_t workspace_bytes, void *stream);
};
