/* A rank's part of a tensor: another place in the same data. */
#include "group/slice.h"

struct group_share group_slice_share(int32_t length, int32_t unit, int32_t index, int32_t n_ranks)
{
    int64_t n_units = div_up_i64(length, unit);
    int64_t from = n_units * index / n_ranks * unit, to = n_units * (index + 1) / n_ranks * unit;
    return (struct group_share){ (int32_t)min_i64(from, length), (int32_t)min_i64(to, length) };
}

/* Returns the bytes from a stored element, or block, to the next one. */
static int64_t step_of(const struct tensor *tensor)
{
    return dtype_info(tensor->dtype)->block_bytes * (tensor->is_alternate ? 2 : 1);
}

static void take_rows(struct tensor *part, struct group_share share)
{
    const unsigned char *data = part->data;
    part->n_rows = share.to - share.from;
    if (part->apart != NULL)
        part->apart_row += share.from * part->apart_step;
    else
        part->data = data + share.from * (part->is_transposed ? step_of(part) : part->row_bytes);
}

static void take_columns(struct tensor *part, struct group_share share)
{
    const unsigned char *data = part->data;
    int64_t n_blocks = share.from / dtype_info(part->dtype)->n_block;
    part->n_columns = share.to - share.from;
    if (part->apart != NULL)
        part->apart_column += share.from;
    else
        part->data =
            data + (part->is_transposed ? share.from * part->row_bytes : n_blocks * step_of(part));
}

bool group_slice_part(const struct tensor *tensor, enum tensor_split_kind kind, int32_t index,
                      int32_t n_ranks, struct tensor *part)
{
    const struct tensor_split *split = &tensor->split;
    bool is_vector = tensor->n_rows == 1;
    *part = *tensor;
    part->split = (struct tensor_split){ .kind = TENSOR_WHOLE };
    if (split->ranks != 0 && (split->ranks >> index & 1) == 0)
        return false;
    if (kind == TENSOR_WHOLE || kind == TENSOR_BOTH)
        return true;
    bool is_by_rows = kind == TENSOR_ROWS && !is_vector;
    int32_t length = is_by_rows ? tensor->n_rows : tensor->n_columns;
    struct group_share share = group_slice_share(length, split->unit, index, n_ranks);
    if (share.from == share.to)
        return false;
    if (is_by_rows)
        take_rows(part, share);
    else
        take_columns(part, share);
    return true;
}
