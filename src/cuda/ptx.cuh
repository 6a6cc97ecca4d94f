/* The instructions that CUDA C++ has no words for. This is the only file with inline PTX; each
 * function has a twin for the emulator, which is exact in layout.
 *
 * Fragments of mma.sync are those of the PTX manual. With g = lane / 4 and t = lane % 4, of 16-bit
 * elements a[0] holds A[g][2t, 2t + 1], a[1] row g + 8, a[2] columns + 8, a[3] both; b[0] holds
 * B[2t, 2t + 1][g], b[1] rows + 8; d holds D[g][2t], D[g][2t + 1], D[g + 8][2t], D[g + 8][2t + 1].
 * With bytes, a register holds four neighbours: a[0] is A[g][4t .. 4t + 3], a[2] columns + 16. */
#pragma once
#include "cuda/launch.cuh"

#ifdef __CUDACC__

__device__ __forceinline__ uint32_t ptx_shared_address(const void *p)
{
    return (uint32_t)__cvta_generic_to_shared(p);
}
/* c + the sum of four products of signed bytes. */
__device__ __forceinline__ int ptx_dp4a(int a, int b, int c)
{
    return __dp4a(a, b, c);
}
/* Copies 16 bytes from global to shared memory, both aligned to 16. The first n_valid are
 * read and the others are 0. They are there for this thread behind a wait, for others behind a wait
 * and a barrier. */
__device__ __forceinline__ void ptx_copy16(void *shared, const void *global, unsigned n_valid)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(ptx_shared_address(shared)),
                 "l"(global), "r"(n_valid)
                 : "memory");
}
/* The same of 4 or 8 bytes. */
template <int N>
__device__ __forceinline__ void ptx_copy_small(void *shared, const void *global, unsigned n_valid)
{
    static_assert(N == 4 || N == 8, "sizes of cp.async.ca");
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(ptx_shared_address(shared)),
                 "l"(global), "n"(N), "r"(n_valid)
                 : "memory");
}
/* Ends a group of copies of this thread. */
__device__ __forceinline__ void ptx_copy_commit()
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}
/* Waits until at most N of this thread's latest groups are still on their way. */
template <int N> __device__ __forceinline__ void ptx_copy_wait()
{
    asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}
/* Loads four 8x8 matrices of 16-bit elements: lane i gives the address of row i % 8 of matrix i / 8
 * in shared memory, aligned to 16, and gets row i / 4, elements 2 * (i % 4) and + 1 of each. */
__device__ __forceinline__ void ptx_load_matrices(uint32_t (&r)[4], const void *row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(ptx_shared_address(row))
                 : "memory");
}
/* The same, each matrix transposed. */
__device__ __forceinline__ void ptx_load_matrices_transposed(uint32_t (&r)[4], const void *row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(ptx_shared_address(row))
                 : "memory");
}
/* d += A . B, A (16, 16) and B (16, 8) of bfloat16, sums in float. */
__device__ __forceinline__ void ptx_mma_bf16(float (&d)[4], const uint32_t (&a)[4],
                                             const uint32_t (&b)[2])
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
                 "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
/* The same of halves. */
__device__ __forceinline__ void ptx_mma_f16(float (&d)[4], const uint32_t (&a)[4],
                                            const uint32_t (&b)[2])
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                 "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
/* d += A . B, A (16, 32) and B (32, 8) of signed bytes, exact in int32 (it wraps). */
__device__ __forceinline__ void ptx_mma_s8(int (&d)[4], const uint32_t (&a)[4],
                                           const uint32_t (&b)[2])
{
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 "
                 "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

#else

inline int ptx_dp4a(int a, int b, int c)
{
    unsigned sum = (unsigned)c;
    for (int i = 0; i < 32; i += 8)
        sum += (unsigned)((int8_t)(a >> i) * (int8_t)(b >> i));
    return (int)sum;
}
inline void ptx_copy16(void *shared, const void *global, unsigned n_valid)
{
    emulate::copy_async(shared, global, 16, n_valid);
}
template <int N> void ptx_copy_small(void *shared, const void *global, unsigned n_valid)
{
    static_assert(N == 4 || N == 8, "sizes of cp.async.ca");
    emulate::copy_async(shared, global, N, n_valid);
}
inline void ptx_copy_commit()
{
    emulate::copy_async_commit();
}
template <int N> void ptx_copy_wait()
{
    emulate::copy_async_wait(N);
}
inline void ptx_load_matrices(uint32_t (&r)[4], const void *row, EMULATE_AT)
{
    emulate::warp({ emulate::LOAD_MATRICES, ~0u, 0, 0, 32, EMULATE_SITE, r, row, nullptr });
}
inline void ptx_load_matrices_transposed(uint32_t (&r)[4], const void *row, EMULATE_AT)
{
    emulate::warp(
        { emulate::LOAD_MATRICES_TRANSPOSED, ~0u, 0, 0, 32, EMULATE_SITE, r, row, nullptr });
}
inline void ptx_mma_bf16(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2], EMULATE_AT)
{
    emulate::warp({ emulate::MULTIPLY_BF16, ~0u, 0, 0, 32, EMULATE_SITE, d, a, b });
}
inline void ptx_mma_f16(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2], EMULATE_AT)
{
    emulate::warp({ emulate::MULTIPLY_F16, ~0u, 0, 0, 32, EMULATE_SITE, d, a, b });
}
inline void ptx_mma_s8(int (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2], EMULATE_AT)
{
    emulate::warp({ emulate::MULTIPLY_S8, ~0u, 0, 0, 32, EMULATE_SITE, d, a, b });
}

#endif
