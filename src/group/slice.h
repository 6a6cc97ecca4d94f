/* A rank's part of a tensor. */
#pragma once
#include "core/tensor.h"

struct group_share { /* rows, columns or elements [from, to) of a tensor */
    int32_t from, to;
};
/* Returns the share of rank `index` of n_ranks, of a length that is split in units. The last unit
 * may be shorter. */
struct group_share group_slice_share(int32_t length, int32_t unit, int32_t index, int32_t n_ranks);

/* Returns one rank's part of a tensor, which lies in the same data: its rows or columns, by its
 * split. kind is the split's, except that TENSOR_BOTH stands for whole. Returns false when the rank
 * has no part of it. */
bool group_slice_part(const struct tensor *tensor, enum tensor_split_kind kind, int32_t index,
                      int32_t n_ranks, struct tensor *part);
