/* The language of our kernels: CUDA C++ by nvcc, and the same files by a host compiler for tests
 * (tests/cuda/emulate). Every .cu file includes this one first.
 *
 * LAUNCH(kernel, grid, block, shared_bytes, stream, args...) is true when the launch was accepted.
 * A kernel that is a template stands in parentheses. SHARED_DYN(name) declares the dynamic shared
 * memory of a kernel as bytes. */
#pragma once
#ifdef __CUDACC__
#include <cstdint>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

struct cuda_stream; /* the driver's name for a cudaStream_t */
#define SHARED_DYN(name) extern __shared__ __align__(128) unsigned char name[]
/* A block gets more than 48 KiB of dynamic shared memory only when it has asked for it. */
template <class K> inline bool cuda_allow_shared(K *kernel, size_t n_bytes)
{
    return n_bytes <= 48 * 1024 ||
           cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                (int)n_bytes) == cudaSuccess;
}
inline bool cuda_is_launched()
{
    return cudaGetLastError() == cudaSuccess;
}
#define LAUNCH(kernel, grid, block, shared_bytes, stream, ...)                                     \
    (cuda_allow_shared(kernel, shared_bytes) &&                                                    \
     ((kernel<<<(grid), (block), (shared_bytes), (cudaStream_t)(stream)>>>(__VA_ARGS__)),          \
      cuda_is_launched()))
#else
#include "emulate/emulate.h"
#endif
