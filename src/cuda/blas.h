/* Products of prompt rows with BF16 matrices by NVIDIA's cuBLASLt, where it is installed and a
 * row's bits depend on nothing but the row.
 *
 * Each shape of a matrix has one configuration for every number of rows: the first that the library
 * proposes for 2,048 rows without splitting a sum. It is never chosen by timing, which would
 * change bits from one start to the next. Before a shape's first use, rows are computed in passes
 * of several sizes and compared bit for bit. A shape that fails is left to our kernel for good, and
 * a line of the log says so. */
#pragma once
#include "cuda/load.h"
#include "cuda/matrix.h"

/* Memory that the library works in. Each workspace of a lane has its own, since streams may not
 * share it. */
enum { CUDA_BLAS_BYTES = 32 << 20 };

struct cuda_blas;
/* NULL: the library is not installed, or lacks a function (which the log names). */
struct cuda_blas *cuda_blas_open(struct cuda_driver *driver);
void cuda_blas_close(struct cuda_blas *blas);
/* Returns the number of an arithmetic in which this library has a part: the version of the library,
 * the chip's architecture and the rule for configurations change it. blas NULL: `arithmetic`. */
uint32_t cuda_blas_arithmetic(const struct cuda_blas *blas, uint32_t arithmetic);
/* Chooses the configuration of a matrix's shape and checks it, unless it is known. `space` has
 * CUDA_BLAS_BYTES. Returns false when the GPU lacks the memory that this takes for a moment. */
bool cuda_blas_check(struct cuda_blas *blas, struct cuda_load *load,
                     const struct cuda_matrix *weight, void *space);
/* Returns whether the library computes this product. The answer depends on the matrix and on what
 * follows the sum, so it is one for all rows of a model. */
bool cuda_blas_takes(struct cuda_blas *blas, const struct cuda_product *product);
/* Computes the product, which it takes. `rows` are the product's rows in host memory, upwards;
 * NULL: all of src. */
bool cuda_blas_product(struct cuda_blas *blas, struct cuda_stream *stream,
                       const struct cuda_product *product, const int32_t *rows, void *space);
