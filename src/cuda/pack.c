/* Packing tensors into the form that the kernels read: see form.h. */
#include "cuda/pack.h"

#include "compute/quant.h"
#include <string.h>

_Static_assert((int)CUDA_F32 == (int)DTYPE_F32 && (int)CUDA_F16 == (int)DTYPE_F16 &&
                   (int)CUDA_BF16 == (int)DTYPE_BF16 && (int)CUDA_Q8_0 == (int)DTYPE_Q8_0 &&
                   (int)CUDA_Q4_0 == (int)DTYPE_Q4_0 && (int)CUDA_Q4_1 == (int)DTYPE_Q4_1 &&
                   (int)CUDA_Q5_0 == (int)DTYPE_Q5_0 && (int)CUDA_Q5_1 == (int)DTYPE_Q5_1 &&
                   (int)CUDA_Q2_K == (int)DTYPE_Q2_K && (int)CUDA_Q3_K == (int)DTYPE_Q3_K &&
                   (int)CUDA_Q4_K == (int)DTYPE_Q4_K && (int)CUDA_Q5_K == (int)DTYPE_Q5_K &&
                   (int)CUDA_Q6_K == (int)DTYPE_Q6_K && (int)CUDA_TYPES == (int)DTYPE_IQ4_NL,
               "enum cuda_type has the numbers of the first of enum dtype");

enum status cuda_pack_check(const struct tensor *tensor, struct fault *fault)
{
    const struct dtype_info *info = dtype_info(tensor->dtype);
    if ((int)tensor->dtype >= (int)CUDA_TYPES || tensor->is_alternate)
        return fault_set(fault, STATUS_UNSUPPORTED,
                         "the device cuda does not compute with matrices of %s", info->name);
    if (tensor->n_rows < 1 || tensor->n_columns < 1 || tensor->n_columns % info->n_block != 0)
        return fault_set(fault, STATUS_BAD_INPUT,
                         "a row of %d elements is not a multiple of %s's blocks of %d",
                         tensor->n_columns, info->name, info->n_block);
    return STATUS_OK;
}

/* The low `bits` bits of 32 stored values as words: see form.h. */
static void put_plane(const unsigned char stored[32], int shift, int bits, unsigned char *to)
{
    memset(to, 0, (size_t)bits * 4);
    for (int k = 0; k < 32; k++) {
        int g = k / 4, value = stored[k] >> shift & ((1 << bits) - 1);
        to[4 * (g % bits) + k % 4] |= (unsigned char)(value << (g / bits * bits));
    }
}

static void put_planes(struct cuda_form form, const int8_t values[32], int part, unsigned char *to)
{
    unsigned char stored[32];
    if (form.n_bits[0] == 8) {
        memcpy(to, values + 16 * part, 16);
        return;
    }
    for (int k = 0; k < 32; k++)
        stored[k] = (unsigned char)(values[k] + form.offset);
    put_plane(stored, part == 0 ? 0 : form.n_bits[0], form.n_bits[part], to);
}

/* The scales and minimums of the 32 columns from `first` on. */
static unsigned char *put_scales(struct cuda_form form, const struct quant_block *block,
                                 int32_t first, unsigned char *to)
{
    int32_t n = 32 / form.n_sub, sub = first / form.n_sub;
    memcpy(to, block->scales + sub, (size_t)n);
    if (form.has_minimum)
        memcpy(to + n, block->minimums + sub, (size_t)n);
    return to + (form.has_minimum ? 2 * n : n);
}

static unsigned char *put_block(struct cuda_form form, const struct quant_block *block, int part,
                                unsigned char *to)
{
    if (part == 3) {
        uint16_t halves[2] = { block->d, block->m };
        size_t n_bytes = form.has_minimum ? 4 : 2;
        memcpy(to, halves, n_bytes);
        return to + n_bytes;
    }
    for (int32_t first = 0; first < block->n; first += 32) {
        if (part == 2) {
            to = put_scales(form, block, first, to);
            continue;
        }
        put_planes(form, block->values + first, part, to);
        to += form.n_bits[0] == 8 ? 16 : 4 * form.n_bits[part];
    }
    return to;
}

static void put_floats(const struct tensor *tensor, int32_t row, unsigned char *to)
{
    size_t n_bytes = (size_t)dtype_info(tensor->dtype)->block_bytes;
    size_t n = (size_t)tensor->n_columns,
           step = tensor->is_transposed ? (size_t)tensor->row_bytes : n_bytes;
    const unsigned char *from = tensor->data;
    from += tensor->is_transposed ? (int64_t)row * (int64_t)n_bytes : row * tensor->row_bytes;
    memset(to + n * n_bytes, 0, ((n + 7) / 8 * 8 - n) * n_bytes);
    for (size_t k = 0; k < n; k++)
        memcpy(to + k * n_bytes, from + k * step, n_bytes);
}

void cuda_pack_row(const struct tensor *tensor, int part, int32_t row, unsigned char *to)
{
    const struct dtype_info *info = dtype_info(tensor->dtype);
    CHECK(row >= 0 && row < tensor->n_rows && part >= 0 && part < CUDA_PARTS);
    if (tensor->n_rows == 1) {
        quant_row_to_float(tensor, 0, (float *)(void *)to);
        return;
    }
    if (!info->is_integer) {
        put_floats(tensor, row, to);
        return;
    }
    struct cuda_form form = cuda_form_of((int32_t)tensor->dtype);
    for (int32_t i = 0; i < tensor->n_columns / info->n_block; i++) {
        struct quant_block block;
        unsigned char made[QUANT_MADE_BYTES];
        quant_block_decode(tensor->dtype, quant_block_at(tensor, row, i, made), &block);
        to = put_block(form, &block, part, to);
    }
}

void cuda_pack_all(const struct tensor *tensor, unsigned char *to)
{
    struct cuda_layout layout =
        cuda_layout_of((int32_t)tensor->dtype, tensor->n_rows, tensor->n_columns);
    memset(to, 0, (size_t)layout.n_bytes);
    for (int part = 0; part < CUDA_PARTS; part++)
        for (int32_t row = 0; row < tensor->n_rows && layout.row_bytes[part] > 0; row++)
            cuda_pack_row(tensor, part, row, to + layout.at[part] + row * layout.row_bytes[part]);
}
