/* Packing tensors into the form of form.h, part by part and row by row, so that a large matrix can
 * pass through a small staging buffer. */
#pragma once
#include "base/status.h"
#include "core/tensor.h"
#include "cuda/form.h"

/* STATUS_BAD_INPUT with one sentence when the tensor is empty or its columns are not a multiple of
 * its type's block. */
enum status cuda_pack_check(const struct tensor *tensor, struct fault *fault) MUST_USE;
/* Writes row_bytes[part] of the tensor's layout: the part of one row, exactly. The tensor passed
 * cuda_pack_check and `row` lies in it. */
void cuda_pack_row(const struct tensor *tensor, int part, int32_t row, unsigned char *to);
/* Writes the whole tensor to host memory of the layout's n_bytes; bytes between parts become 0. */
void cuda_pack_all(const struct tensor *tensor, unsigned char *to);
