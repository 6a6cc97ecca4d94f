/* Blocks of 32 integer weights in registers: see form.h. */
#pragma once
extern "C" {
#include "cuda/kernels.h"
}
#include "cuda/math.cuh"

/* A form as a type, so that a kernel's loops are unrolled for it. */
template <int Low, int High, int Offset, int Sub, int Unit, bool Minimum> struct BlockForm {
    static constexpr int low = Low, high = High, offset = Offset, sub = Sub, unit = Unit;
    static constexpr bool has_minimum = Minimum;
    static constexpr int n_subs = 32 / Sub;
    static constexpr int bytes0 = Low == 8 ? 16 : 4 * Low, bytes1 = Low == 8 ? 16 : 4 * High;
    static constexpr int n_scale_bytes = Unit == 32 ? 0 : n_subs * (Minimum ? 2 : 1);
};
using FormQ8_0 = BlockForm<8, 0, 0, 32, 32, false>;
using FormQ4_0 = BlockForm<4, 0, 8, 32, 32, false>;
using FormQ4_1 = BlockForm<4, 0, 0, 32, 32, true>;
using FormQ5_0 = BlockForm<4, 1, 16, 32, 32, false>;
using FormQ5_1 = BlockForm<4, 1, 0, 32, 32, true>;
using FormQ2_K = BlockForm<2, 0, 0, 16, 256, true>;
using FormQ3_K = BlockForm<2, 1, 4, 16, 256, false>;
using FormQ4_K = BlockForm<4, 0, 0, 32, 256, true>;
using FormQ5_K = BlockForm<4, 1, 0, 32, 256, true>;
using FormQ6_K = BlockForm<4, 2, 32, 16, 256, false>;

struct BlockParts { /* the parts of a packed matrix, and its columns */
    const unsigned char *part[CUDA_PARTS];
    int n_rows, n_columns;
};

struct BlockRaw { /* as it was loaded */
    uint32_t low[4], high[4], scales, halves;
};

template <int Bytes>
__device__ __forceinline__ void block_load_plane(uint32_t (&to)[4], const unsigned char *from)
{
    if (Bytes == 16) {
        uint4 v = __ldg(reinterpret_cast<const uint4 *>(from));
        to[0] = v.x, to[1] = v.y, to[2] = v.z, to[3] = v.w;
    } else if (Bytes == 8) {
        uint2 v = __ldg(reinterpret_cast<const uint2 *>(from));
        to[0] = v.x, to[1] = v.y;
    } else if (Bytes == 4) {
        to[0] = __ldg(reinterpret_cast<const unsigned *>(from));
    }
}

/* The scales and halves of block `block` of row `row`. */
template <class Form>
__device__ __forceinline__ void block_load_scales(BlockRaw &raw, const BlockParts &w, int row,
                                                  int block)
{
    int64_t at = static_cast<int64_t>(row) * (w.n_columns / 32) + block;
    int64_t unit =
        static_cast<int64_t>(row) * (w.n_columns / Form::unit) + block / (Form::unit / 32);
    if (Form::n_scale_bytes == 4)
        raw.scales = __ldg(reinterpret_cast<const unsigned *>(w.part[2]) + at);
    else if (Form::n_scale_bytes == 2)
        raw.scales = __ldg(reinterpret_cast<const unsigned short *>(w.part[2]) + at);
    if (Form::has_minimum)
        raw.halves = __ldg(reinterpret_cast<const unsigned *>(w.part[3]) + unit);
    else
        raw.halves = __ldg(reinterpret_cast<const unsigned short *>(w.part[3]) + unit);
}

/* Block `block` of row `row`. */
template <class Form>
__device__ __forceinline__ BlockRaw block_load(const BlockParts &w, int row, int block)
{
    BlockRaw raw = {};
    int64_t at = static_cast<int64_t>(row) * (w.n_columns / 32) + block;
    block_load_plane<Form::bytes0>(raw.low, w.part[0] + at * Form::bytes0);
    block_load_plane<Form::bytes1>(raw.high, w.part[1] + at * Form::bytes1);
    block_load_scales<Form>(raw, w, row, block);
    return raw;
}

/* Columns 4 g to 4 g + 3, one a byte, as they are stored. */
template <class Form> __device__ __forceinline__ uint32_t block_word(const BlockRaw &raw, int g)
{
    if (Form::low == 8)
        return g < 4 ? raw.low[g & 3] : raw.high[g & 3];
    uint32_t word;
    if (Form::low == 4)
        word = (raw.low[g & 3] >> (4 * (g >> 2))) & 0x0F0F0F0Fu;
    else
        word = (raw.low[g & 1] >> (2 * (g >> 1))) & 0x03030303u;
    if (Form::high == 2)
        word |= ((raw.high[g & 1] >> (2 * (g >> 1))) & 0x03030303u) << Form::low;
    if (Form::high == 1)
        word |= ((raw.high[0] >> g) & 0x01010101u) << Form::low;
    return word;
}
/* Four stored values as signed ones. */
template <class Form> __device__ __forceinline__ uint32_t block_offset(uint32_t word)
{
    if (Form::offset == 0)
        return word;
    /* No byte borrows from its neighbour, because bit 7 of each is set meanwhile. */
    return ((word | 0x80808080u) - 0x01010101u * Form::offset) ^ 0x80808080u;
}
template <class Form> __device__ __forceinline__ uint32_t block_signed(const BlockRaw &raw, int g)
{
    return block_offset<Form>(block_word<Form>(raw, g));
}

__device__ __forceinline__ float block_byte(uint32_t word, int i)
{
    return static_cast<float>(static_cast<int8_t>(word >> (8 * i)));
}
template <class Form> __device__ __forceinline__ float block_scale(const BlockRaw &raw, int sub)
{
    float d = math_of_half(static_cast<uint16_t>(raw.halves));
    return Form::unit == 32 ? d : d * block_byte(raw.scales, sub);
}
template <class Form> __device__ __forceinline__ float block_minimum(const BlockRaw &raw, int sub)
{
    float m = math_of_half(static_cast<uint16_t>(raw.halves >> 16));
    return Form::unit == 32 ? m : -(m * block_byte(raw.scales, Form::n_subs + sub));
}

inline BlockParts block_parts(const struct cuda_matrix &matrix)
{
    struct cuda_layout layout = cuda_layout_of(matrix.type, matrix.n_rows, matrix.n_columns);
    BlockParts parts = { {}, matrix.n_rows, matrix.n_columns };
    for (int i = 0; i < CUDA_PARTS; i++)
        parts.part[i] = matrix.packed + layout.at[i];
    return parts;
}

/* Calls `each` with an object of the form of an integer type. */
template <class Each> bool block_dispatch(int type, Each each)
{
    switch (type) {
    case CUDA_Q8_0:
        return each(FormQ8_0());
    case CUDA_Q4_0:
        return each(FormQ4_0());
    case CUDA_Q4_1:
        return each(FormQ4_1());
    case CUDA_Q5_0:
        return each(FormQ5_0());
    case CUDA_Q5_1:
        return each(FormQ5_1());
    case CUDA_Q2_K:
        return each(FormQ2_K());
    case CUDA_Q3_K:
        return each(FormQ3_K());
    case CUDA_Q4_K:
        return each(FormQ4_K());
    case CUDA_Q5_K:
        return each(FormQ5_K());
    case CUDA_Q6_K:
        return each(FormQ6_K());
    default:
        return false;
    }
}
