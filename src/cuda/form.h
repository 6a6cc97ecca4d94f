/* How packed weights lie in device memory: plain C and C++, for the packer and for the kernels.
 *
 * An integer matrix is up to four parts, each at a multiple of 64 bytes and row by row, so that a
 * warp reads neighbouring blocks of one row as one coalesced load. A block is 32 columns:
 *   part 0, 1   planes: a block's low bits, and its high bits or (Q8_0) its second 16 values
 *   part 2      K types: a block's int8 scales (one per sub-block), then its int8 minimums
 *   part 3      a unit's half d, then its half m (types with minimums); a unit is 32 or 256 columns
 * Word g of a block holds columns 4 g to 4 g + 3, one a byte. It is made of the planes so:
 *   8 bits      word g of plane 0 for g < 4, else word g - 4 of plane 1, signed
 *   4 bits      bits 4 (g / 4) and up of word g % 4
 *   2 bits      bits 2 (g / 2) and up of word g % 2
 *   1 bit       bit g of the only word
 * Stored is value + offset, never negative, except for 8 bits. weight = value * scale + minimum.
 *
 * A float matrix is one part: rows of elements as they were stored, each row filled with zeros to a
 * multiple of 8 elements. A vector (n_rows == 1) is n_columns floats. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/* The numbers of enum dtype (core/dtype.h); pack.c asserts that they are equal. */
enum cuda_type {
    CUDA_F32,
    CUDA_F16,
    CUDA_BF16,
    CUDA_Q8_0,
    CUDA_Q4_0,
    CUDA_Q4_1,
    CUDA_Q5_0,
    CUDA_Q5_1,
    CUDA_Q2_K,
    CUDA_Q3_K,
    CUDA_Q4_K,
    CUDA_Q5_K,
    CUDA_Q6_K,
    CUDA_TYPES,
};

enum { CUDA_PARTS = 4 };

struct cuda_form {
    int32_t n_bits[2]; /* of plane 0, of plane 1 (0: it is absent) */
    int32_t offset;
    int32_t n_sub;  /* columns per scale: 16 or 32 */
    int32_t n_unit; /* columns per half d: 32 or 256; 0: a float type */
    bool has_minimum;
};
static inline struct cuda_form cuda_form_of(int32_t type)
{
    static const struct cuda_form forms[CUDA_TYPES] = {
        { { 0, 0 }, 0, 0, 0, false },     { { 0, 0 }, 0, 0, 0, false },
        { { 0, 0 }, 0, 0, 0, false },     { { 8, 0 }, 0, 32, 32, false },
        { { 4, 0 }, 8, 32, 32, false },   { { 4, 0 }, 0, 32, 32, true },
        { { 4, 1 }, 16, 32, 32, false },  { { 4, 1 }, 0, 32, 32, true },
        { { 2, 0 }, 0, 16, 256, true },   { { 2, 1 }, 4, 16, 256, false },
        { { 4, 0 }, 0, 32, 256, true },   { { 4, 1 }, 0, 32, 256, true },
        { { 4, 2 }, 32, 16, 256, false },
    };
    return forms[type];
}

struct cuda_layout {
    int64_t at[CUDA_PARTS], row_bytes[CUDA_PARTS]; /* row_bytes 0: the part is absent */
    int64_t n_bytes;
};
static inline void cuda_layout_add(struct cuda_layout *layout, int part, int64_t n_rows,
                                   int64_t row_bytes)
{
    layout->at[part] = layout->n_bytes;
    layout->row_bytes[part] = row_bytes;
    layout->n_bytes += (n_rows * row_bytes + 63) / 64 * 64;
}
/* Returns the layout of a matrix or vector. The type's block divides n_columns. */
static inline struct cuda_layout cuda_layout_of(int32_t type, int64_t n_rows, int64_t n_columns)
{
    struct cuda_layout layout = { { 0 }, { 0 }, 0 };
    if (type >= CUDA_TYPES) /* cuda_pack_check refuses it */
        return layout;
    struct cuda_form form = cuda_form_of(type);
    int64_t n_blocks = n_columns / 32;
    if (n_rows == 1) {
        cuda_layout_add(&layout, 0, 1, n_columns * 4);
    } else if (form.n_unit == 0) {
        cuda_layout_add(&layout, 0, n_rows, (n_columns + 7) / 8 * 8 * (type == CUDA_F32 ? 4 : 2));
    } else {
        int64_t second = form.n_bits[0] == 8 ? 4 : form.n_bits[1];
        int64_t n_halves = form.has_minimum ? 2 : 1;
        cuda_layout_add(&layout, 0, n_rows,
                        n_blocks * (form.n_bits[0] == 8 ? 16 : form.n_bits[0] * 4));
        cuda_layout_add(&layout, 1, n_rows, n_blocks * second * 4);
        cuda_layout_add(&layout, 2, n_rows,
                        form.n_unit == 32 ? 0 : n_blocks * (32 / form.n_sub) * n_halves);
        cuda_layout_add(&layout, 3, n_rows, n_columns / form.n_unit * n_halves * 2);
    }
    return layout;
}
