/* Products of many rows with integer weights (CUDA_CLASS_MANY): tensor cores multiply bytes,
 * exactly.
 *
 * Each sum of a block of 32 (or a sub-block of 16) is an int32, which is scaled and added to the
 * output's only accumulator, blocks upwards. These are the CPU's operations in the CPU's order, so
 * the bits are the CPU's, and the size of a tile changes none of them.
 *
 * A thread block computes 64 rows by 128 outputs with 2 x 4 warps of 32 x 32. A step is 64 columns:
 * activations arrive by asynchronous copies, weights through registers, where they are unpacked. */
#include "cuda/product.cuh"

enum { WARPS = 8, THREADS = WARPS * 32, ROWS = 64, OUTPUTS = 128, STEP = 64, BLOCKS = STEP / 32 };

template <class Form> struct Stage { /* of one step, in shared memory */
    unsigned char x[ROWS * STEP], w[OUTPUTS * STEP];
    float x_scales[BLOCKS][ROWS], x_sums[BLOCKS][Form::n_subs][ROWS]; /* sums: times the scale */
    float w_scales[BLOCKS][Form::n_subs][OUTPUTS];
    float w_minimums[BLOCKS][Form::n_subs][Form::has_minimum ? OUTPUTS : 4];
};

struct Carried { /* what a thread holds of the next step */
    BlockRaw raw;
    uint2 info;
    bool has_weight;
};

/* Starts the copies of one step: a chunk of 16 activations for each thread. */
template <class Form>
__device__ __forceinline__ void copy_activations(const ProductView &p, Stage<Form> *stage, int step)
{
    int row = threadIdx.x / 4, chunk = threadIdx.x % 4, column = step * STEP + chunk * 16;
    int i = blockIdx.x * ROWS + row;
    bool is_in = i < p.n_rows && column < p.weight.n_columns;
    const unsigned char *from = p.prepared;
    if (is_in)
        from += static_cast<int64_t>(product_row(p, i)) * p.weight.n_columns + column;
    ptx_copy16(stage->x + product_chunk(row, chunk), from, is_in ? 16 : 0);
    ptx_copy_commit();
}

/* A thread's weights: block threadIdx.x % 2 of an output; and, of half of the threads, a block of
 * activations' scale and sums. */
template <class Form> __device__ __forceinline__ Carried load_step(const ProductView &p, int step)
{
    int n_blocks = p.weight.n_columns / 32, block = step * BLOCKS + threadIdx.x % BLOCKS;
    int output = blockIdx.y * OUTPUTS + threadIdx.x / BLOCKS;
    int row = blockIdx.x * ROWS + threadIdx.x / BLOCKS;
    Carried carried = {};
    carried.has_weight = output < p.weight.n_rows && block < n_blocks;
    if (carried.has_weight)
        carried.raw = block_load<Form>(p.weight, output, block);
    if (threadIdx.x < ROWS * BLOCKS && row < p.n_rows && block < n_blocks)
        carried.info = __ldg(reinterpret_cast<const uint2 *>(
            p.blocks + static_cast<int64_t>(product_row(p, row)) * n_blocks + block));
    return carried;
}

template <class Form>
__device__ __forceinline__ void store_step(const Carried &carried, Stage<Form> *stage)
{
    int row = threadIdx.x / BLOCKS, b = threadIdx.x % BLOCKS;
#pragma unroll
    for (int half_block = 0; half_block < 2; half_block++) {
        uint32_t words[4];
#pragma unroll
        for (int g = 0; g < 4; g++)
            words[g] = block_signed<Form>(carried.raw, 4 * half_block + g);
        *reinterpret_cast<uint4 *>(stage->w + product_chunk(row, 2 * b + half_block)) =
            make_uint4(words[0], words[1], words[2], words[3]);
    }
#pragma unroll
    for (int s = 0; s < Form::n_subs; s++) {
        stage->w_scales[b][s][row] =
            carried.has_weight ? math_finite(block_scale<Form>(carried.raw, s)) : 0.0f;
        if (Form::has_minimum)
            stage->w_minimums[b][s][row] =
                carried.has_weight ? block_minimum<Form>(carried.raw, s) : 0.0f;
    }
    if (threadIdx.x >= ROWS * BLOCKS)
        return;
    float scale = math_bits<float>(carried.info.x);
    int first = static_cast<int16_t>(carried.info.y);
    int second = static_cast<int16_t>(carried.info.y >> 16);
    stage->x_scales[b][row] = scale;
    if (Form::n_subs == 1) {
        stage->x_sums[b][0][row] = scale * static_cast<float>(first + second);
        return;
    }
    stage->x_sums[b][0][row] = scale * static_cast<float>(first);
    stage->x_sums[b][Form::n_subs - 1][row] = scale * static_cast<float>(second);
}

struct Fragments {    /* of one block of 32 columns */
    uint32_t a[2][4]; /* two times 16 rows */
    uint32_t b[4][2]; /* four times 8 outputs */
};

/* row, output: the warp's first. */
__device__ __forceinline__ void load_fragments(Fragments &f, const unsigned char *x,
                                               const unsigned char *w, int row, int output,
                                               int block)
{
    int lane = threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < 2; i++)
        ptx_load_matrices(f.a[i],
                          x + product_chunk(row + i * 16 + lane % 16, 2 * block + lane / 16));
#pragma unroll
    for (int j = 0; j < 2; j++) {
        uint32_t four[4];
        ptx_load_matrices(four, w + product_chunk(output + j * 16 + lane % 8 + lane / 16 * 8,
                                                  2 * block + lane / 8 % 2));
        f.b[2 * j][0] = four[0];
        f.b[2 * j][1] = four[1];
        f.b[2 * j + 1][0] = four[2];
        f.b[2 * j + 1][1] = four[3];
    }
}

/* Adds a (sub-)block's products of 16 rows and 8 outputs: the pointers lead to what belongs to the
 * thread's first row and output. */
template <class Form>
__device__ __forceinline__ void add_scaled(float (&sums)[4], const int (&d)[4],
                                           const float *w_scales, const float *w_minimums,
                                           const float (&x_scales)[2], const float *x_sums)
{
#pragma unroll
    for (int e = 0; e < 4; e++) {
        sums[e] = fmaf(static_cast<float>(d[e]) * w_scales[e % 2], x_scales[e / 2], sums[e]);
        if (Form::has_minimum)
            sums[e] = fmaf(w_minimums[e % 2], x_sums[e / 2 * 8], sums[e]);
    }
}

/* Adds one block of 32 columns to the warp's sums. */
template <class Form>
__device__ __forceinline__ void add_block(float (&sums)[2][4][4], const Stage<Form> *stage, int row,
                                          int output, int block)
{
    Fragments f;
    int group = threadIdx.x % 32 / 4, pair = threadIdx.x % 4 * 2;
    load_fragments(f, stage->x, stage->w, row, output, block);
    float x_scales[2][2];
#pragma unroll
    for (int i = 0; i < 4; i++)
        x_scales[i / 2][i % 2] = stage->x_scales[block][row + i * 8 + group];
#pragma unroll
    for (int s = 0; s < Form::n_subs; s++)
#pragma unroll
        for (int j = 0; j < 4; j++) {
            int at = output + j * 8 + pair;
            const float *minimums = &stage->w_minimums[block][s][Form::has_minimum ? at : 0];
#pragma unroll
            for (int i = 0; i < 2; i++) {
                int d[4] = { 0, 0, 0, 0 };
                uint32_t a[4] = { f.a[i][0], f.a[i][1], f.a[i][2], f.a[i][3] };
                if (Form::n_subs == 2)
                    a[2 - 2 * s] = a[3 - 2 * s] = 0; /* the other 16 columns */
                ptx_mma_s8(d, a, f.b[j]);
                add_scaled<Form>(sums[i][j], d, &stage->w_scales[block][s][at], minimums,
                                 x_scales[i], &stage->x_sums[block][s][row + i * 16 + group]);
            }
        }
}

template <class Form> __global__ void __launch_bounds__(THREADS) tile_blocks_kernel(ProductView p)
{
    SHARED_DYN(shared);
    Stage<Form> *stages = reinterpret_cast<Stage<Form> *>(shared);
    int warp = threadIdx.x / 32, row = warp % 2 * 32, output = warp / 2 * 32;
    int n_blocks = p.weight.n_columns / 32, n_steps = (n_blocks + BLOCKS - 1) / BLOCKS;
    float sums[2][4][4] = {};
    copy_activations(p, stages, 0);
    Carried carried = load_step<Form>(p, 0);
    for (int step = 0; step < n_steps; step++) {
        Stage<Form> *stage = stages + step % 2;
        store_step(carried, stage);
        ptx_copy_wait<0>();
        __syncthreads(); /* the other stage's readers are done as well */
        if (step + 1 < n_steps) {
            copy_activations(p, stages + (step + 1) % 2, step + 1);
            carried = load_step<Form>(p, step + 1);
        }
        for (int b = 0; b < BLOCKS && step * BLOCKS + b < n_blocks; b++)
            add_block(sums, stage, row, output, b);
    }
    int group = threadIdx.x % 32 / 4, pair = threadIdx.x % 4 * 2;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        int at = blockIdx.x * ROWS + row + i * 8 + group;
        if (at >= p.n_rows)
            continue;
        int to = product_row(p, at);
#pragma unroll
        for (int j = 0; j < 8; j++) {
            int out = blockIdx.y * OUTPUTS + output + j / 2 * 8 + pair + j % 2;
            if (out < p.weight.n_rows)
                product_store(p, to, out, sums[i / 2][j / 2][i % 2 * 2 + j % 2]);
        }
    }
}

bool cuda_tile_blocks(struct cuda_stream *stream, int type, const ProductView &p)
{
    dim3 grid((p.n_rows + ROWS - 1) / ROWS, (p.weight.n_rows + OUTPUTS - 1) / OUTPUTS);
    return block_dispatch(type, [&](auto form) {
        using Form = decltype(form);
        return LAUNCH((tile_blocks_kernel<Form>), grid, THREADS, 2 * sizeof(Stage<Form>), stream,
                      p);
    });
}
