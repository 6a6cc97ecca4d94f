/* Products of many rows with F16 and BF16 weights (CUDA_CLASS_MANY) by tensor cores.
 *
 * A thread block computes 128 rows by 128 outputs with 2 x 4 warps of 64 x 32. A step is 32 columns
 * and three steps are in shared memory: two arrive by asynchronous copies while one is multiplied.
 * K is not split, so an output's accumulator sees 16 columns at a time, upwards, for any number of
 * rows. */
#include "cuda/product.cuh"

enum { WARPS = 8, THREADS = WARPS * 32, ROWS = 128, OUTPUTS = 128, STEP = 32, STAGES = 3 };
enum { TILE_BYTES = 128 * STEP * 2, STAGE_BYTES = 2 * TILE_BYTES };

/* Starts the copies of a step of 128 rows of n_columns elements; rows and columns that are not
 * there become 0. */
__device__ __forceinline__ void copy_tile(unsigned char *tile, const unsigned char *from,
                                          int64_t row_bytes, int row, bool is_in, int step)
{
#pragma unroll
    for (int i = 0; i < 2; i++) {
        int chunk = threadIdx.x % 2 * 2 + i;
        int64_t at = step * (STEP * 2) + chunk * 16;
        bool is_there = is_in && at < row_bytes;
        ptx_copy16(tile + product_chunk(row, chunk), is_there ? from + at : from,
                   is_there ? 16 : 0);
    }
}

template <int Type>
__device__ __forceinline__ void multiply(float (&d)[4], const uint32_t (&a)[4],
                                         const uint32_t (&b)[2])
{
    if (Type == CUDA_F16)
        ptx_mma_f16(d, a, b);
    else
        ptx_mma_bf16(d, a, b);
}

/* Adds 16 columns (half `part` of a step) to the warp's 64 x 32 sums. */
template <int Type>
__device__ __forceinline__ void add_columns(float (&sums)[4][4][4], const unsigned char *stage,
                                            int row, int output, int part)
{
    const unsigned char *x = stage, *w = stage + TILE_BYTES;
    int lane = threadIdx.x % 32;
    uint32_t b[4][2];
#pragma unroll
    for (int j = 0; j < 2; j++) {
        uint32_t four[4];
        ptx_load_matrices(four, w + product_chunk(output + j * 16 + lane % 8 + lane / 16 * 8,
                                                  2 * part + lane / 8 % 2));
        b[2 * j][0] = four[0];
        b[2 * j][1] = four[1];
        b[2 * j + 1][0] = four[2];
        b[2 * j + 1][1] = four[3];
    }
#pragma unroll
    for (int i = 0; i < 4; i++) {
        uint32_t a[4];
        ptx_load_matrices(a, x + product_chunk(row + i * 16 + lane % 16, 2 * part + lane / 16));
#pragma unroll
        for (int j = 0; j < 4; j++)
            multiply<Type>(sums[i][j], a, b[j]);
    }
}

template <int Type> __global__ void __launch_bounds__(THREADS) tile_halves_kernel(ProductView p)
{
    SHARED_DYN(shared);
    int warp = threadIdx.x / 32, row = warp % 2 * 64, output = warp / 2 * 32;
    int64_t row_bytes = (p.weight.n_columns + 7) / 8 * 16;
    int n_steps = static_cast<int>((row_bytes + STEP * 2 - 1) / (STEP * 2));
    int own = threadIdx.x / 2; /* the row of a tile that this thread copies a half of */
    int x_row = blockIdx.x * ROWS + own, w_row = blockIdx.y * OUTPUTS + own;
    bool has_x = x_row < p.n_rows, has_w = w_row < p.weight.n_rows;
    const unsigned char *x = p.prepared, *w = p.weight.part[0];
    x += has_x ? product_row(p, x_row) * row_bytes : 0;
    w += has_w ? w_row * row_bytes : 0;
    float sums[4][4][4] = {};
    for (int step = 0; step < STAGES - 1; step++) {
        copy_tile(shared + step * STAGE_BYTES, x, row_bytes, own, has_x, step);
        copy_tile(shared + step * STAGE_BYTES + TILE_BYTES, w, row_bytes, own, has_w, step);
        ptx_copy_commit();
    }
    for (int step = 0; step < n_steps; step++) {
        unsigned char *next = shared + (step + STAGES - 1) % STAGES * STAGE_BYTES;
        ptx_copy_wait<STAGES - 2>();
        __syncthreads(); /* the step is there for all, and all are done with `next` */
        copy_tile(next, x, row_bytes, own, has_x, step + STAGES - 1);
        copy_tile(next + TILE_BYTES, w, row_bytes, own, has_w, step + STAGES - 1);
        ptx_copy_commit();
        for (int part = 0; part < 2; part++)
            add_columns<Type>(sums, shared + step % STAGES * STAGE_BYTES, row, output, part);
    }
    ptx_copy_wait<0>();
    int group = threadIdx.x % 32 / 4, pair = threadIdx.x % 4 * 2;
#pragma unroll
    for (int i = 0; i < 8; i++) {
        int at = blockIdx.x * ROWS + row + i * 8 + group;
        if (at >= p.n_rows)
            continue;
        int to = product_row(p, at);
        float divisor = Type == CUDA_F16 ? p.divisors[to] : 1.0f;
#pragma unroll
        for (int j = 0; j < 8; j++) {
            int out = blockIdx.y * OUTPUTS + output + j / 2 * 8 + pair + j % 2;
            if (out < p.weight.n_rows)
                product_store(p, to, out, sums[i / 2][j / 2][i % 2 * 2 + j % 2] * divisor);
        }
    }
}

bool cuda_tile_halves(struct cuda_stream *stream, int type, const ProductView &p)
{
    dim3 grid((p.n_rows + ROWS - 1) / ROWS, (p.weight.n_rows + OUTPUTS - 1) / OUTPUTS);
    if (type == CUDA_F16)
        return LAUNCH((tile_halves_kernel<CUDA_F16>), grid, THREADS, STAGES * STAGE_BYTES, stream,
                      p);
    return LAUNCH((tile_halves_kernel<CUDA_BF16>), grid, THREADS, STAGES * STAGE_BYTES, stream, p);
}
