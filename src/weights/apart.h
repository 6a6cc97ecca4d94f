/* Finds the parts of quantized matrices of safetensors. core/tensor.h describes the layouts. */
#pragma once
#include "weights/catalog.h"
#include "weights/hf_quantized.h"

/* GPTQ's writers give each module a bias of zeros, which counts as none. */
void weights_apart_begin(struct weights_catalog *catalog);
/* Returns whether the file has a matrix of this name ("....weight") in quantized parts. */
bool weights_apart_has(const struct weights_catalog *catalog, const char *name);
/* Sets *whole to such a matrix of (n_rows, n_columns). All parts are checked: types, shapes, scales
 * (finite, and halves unless the values are F8_E4M3), zero points and the order of columns. They
 * are marked as used. */
enum status weights_apart_find(struct weights_catalog *catalog, const char *name,
                               const int64_t size[2], struct tensor *whole,
                               struct fault *fault) MUST_USE;
/* Returns a matrix of F8_E4M3 as floats, each rounded once. They are in the pile. */
struct tensor weights_apart_floats(const struct tensor *whole, struct pile *pile);
/* Sets *whole to `n` matrices of (n_rows, n_columns) in MXFP4, all experts of a layer: blocks is
 * "..._blocks", of (n, rows, columns / 32, 16) bytes, and "..._scales" has a byte for each 16. */
enum status weights_apart_mxfp4(struct weights_catalog *catalog, struct weights_entry *blocks,
                                int32_t n, const int64_t size[2], struct tensor *whole,
                                struct fault *fault) MUST_USE;
/* Refuses a set that names a quantization although no matrix was found in its parts. */
enum status weights_apart_check(const struct weights_catalog *catalog,
                                struct fault *fault) MUST_USE;
/* The bytes of a tensor's parts, for giving back their pages. */
struct weights_apart_piece {
    const void *at;
    size_t n_bytes;
};
/* Sets at most 2 pieces and returns how many. A tensor of GPTQ or AWQ shares its pages with the
 * other rows of the whole matrix. */
int weights_apart_pieces(const struct tensor *tensor, struct weights_apart_piece pieces[2]);
