/* Parts of tensors. A part is a view of the whole, unless a pile is given: then it is a copy there.
 */
#pragma once
#include "base/pile.h"
#include "core/model_spec.h"
#include "core/tensor.h"

/* Cuts out the part of n_rows outputs that begins at output `first`. */
struct tensor weights_cut(const struct tensor *whole, bool is_vector, int64_t first, int64_t n);
float weights_cut_element(const struct tensor *vector, int32_t i);
/* Returns w for a vector that is stored as w - 1. The result is in the pile. */
struct tensor weights_cut_plus_one(const struct tensor *stored, struct pile *pile);
/* Returns a vector times a factor. The result is in the pile. */
struct tensor weights_cut_scaled(const struct tensor *stored, float factor, struct pile *pile);
/* Copies n heads' rows, which begin at head `first` of each group of the whole and are
 * head_dim rows (of a vector: elements) each. The copy is in the pile. */
struct tensor weights_cut_heads(const struct tensor *whole, const struct model_spec *spec,
                                bool is_vector, int32_t first, int32_t n, struct pile *pile);
/* Returns the sums of each row of a and each row of b: a part of a's rows for each of b's. Both are
 * of floats. The result is in the pile. */
struct tensor weights_cut_sums(const struct tensor *a, const struct tensor *b, struct pile *pile);
/* Returns the part of a fused vector that has each second element from `first` on. The result is in
 * the pile. */
struct tensor weights_cut_each_second(const struct tensor *whole, int32_t first, struct pile *pile);
/* Returns one of two matrices whose rows take turns. */
struct tensor weights_cut_alternate(const struct tensor *whole, int part);
