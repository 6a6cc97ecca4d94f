/* CUDA C++ for a host compiler: what a .cu file sees in place of the CUDA headers.
 *
 * Each thread of a block is a fiber, and the blocks of a launch run one after another; the orders
 * of both are drawn from a seed. The threads run in a new order behind every barrier.
 * docs/CUDA.md has the rules for authors of kernels. */
#pragma once
#include "emulate/control.h"
#include "emulate/values.h"
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <tuple>
#include <type_traits>
#include <utility>

#if defined(__SANITIZE_ADDRESS__)
#define EMULATE_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define EMULATE_ASAN 1
#endif
#endif

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __constant__    static
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
/* Shared memory is thread-local, since that gives it one known range of addresses: it is filled
 * with NaN ahead of every block and watched for races. ASan guards plain variables only. */
#ifdef EMULATE_ASAN
#define __shared__ static
#else
#define __shared__ static __thread
#endif
#define SHARED_DYN(name) unsigned char *const name = emulate::shared_dyn()
#define LAUNCH(kernel, grid, block, shared_bytes, stream, ...)                                     \
    emulate::launch({ #kernel, grid, block, (size_t)(shared_bytes) }, stream, kernel, ##__VA_ARGS__)

struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c)
    {
    }
};
struct cuda_stream;

namespace emulate
{
struct site { /* a place in a kernel's source */
    const char *file;
    int line;
};
enum warp_op {
    SHUFFLE,
    SHUFFLE_UP,
    SHUFFLE_DOWN,
    SHUFFLE_XOR,
    BALLOT,
    MATCH_ANY,
    SYNC_WARP,
    REDUCE_ADD,
    REDUCE_MIN,
    REDUCE_MAX,
    WHOLE_WARP, /* those behind it take all 32 lanes */
    LOAD_MATRICES = WHOLE_WARP,
    LOAD_MATRICES_TRANSPOSED,
    MULTIPLY_BF16,
    MULTIPLY_F16,
    MULTIPLY_S8,
};
struct warp_call { /* one lane's part in an operation of its warp */
    int op;
    unsigned mask;
    uint64_t value;
    int arg, width;
    site at;
    void *out;
    const void *in, *in2;
};
struct thread_view {
    uint3 thread;
};
struct block_view {
    uint3 index, size, grid;
};
extern thread_view *current;
extern block_view block;

uint64_t warp(const warp_call &call);
void barrier(int op, int *predicate, site at); /* op: 0 plain, 1 count, 2 and, 3 or */
unsigned char *shared_dyn();
void note(const void *p, size_t n_bytes, bool is_write, bool is_atomic);
void copy_async(void *to, const void *from, unsigned n_bytes, unsigned n_valid);
void copy_async_commit();
void copy_async_wait(unsigned n_groups);
[[noreturn]] void trap(site at);

struct shape {
    const char *name;
    dim3 grid, block;
    size_t shared_bytes;
};
struct call { /* a launch with its arguments, which may run later and more than once */
    struct shape shape;
    explicit call(const struct shape &s) : shape(s)
    {
    }
    virtual void thread() const = 0;
    virtual ~call()
    {
    }
};
template <class... P> struct call_of : call {
    void (*kernel)(P...);
    std::tuple<std::decay_t<P>...> args;
    call_of(const struct shape &given, void (*k)(P...), std::tuple<std::decay_t<P>...> &&a)
        : call(given), kernel(k), args(std::move(a))
    {
    }
    void thread() const override
    {
        std::apply(kernel, args);
    }
};
/* Takes the call over, and runs it now (stream NULL) or when the stream's turn comes. */
bool submit(cuda_stream *stream, const call *call);

template <class... P, class... A>
bool launch(const shape &given, cuda_stream *stream, void (*kernel)(P...), A &&...a)
{
    return submit(stream, new call_of<P...>(given, kernel,
                                            std::tuple<std::decay_t<P>...>(static_cast<P>(a)...)));
}
template <class... P> bool launch(const shape &given, cuda_stream *stream, void (*kernel)(P...))
{
    return submit(stream, new call_of<P...>(given, kernel, std::tuple<>()));
}

template <class T> uint64_t bits_of(T value)
{
    static_assert(sizeof(T) <= 8 && std::is_trivially_copyable<T>::value, "a value of a register");
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof value);
    return bits;
}
template <class T> T of_bits(uint64_t bits)
{
    T value;
    memcpy(&value, &bits, sizeof value);
    return value;
}
} // namespace emulate

#define threadIdx  (emulate::current->thread)
#define blockIdx   (emulate::block.index)
#define blockDim   (emulate::block.size)
#define gridDim    (emulate::block.grid)
#define warpSize   32
#define EMULATE_AT const char *at_file = __builtin_FILE(), int at_line = __builtin_LINE()
#define EMULATE_SITE                                                                               \
    {                                                                                              \
        at_file, at_line                                                                           \
    }

inline void __syncthreads(EMULATE_AT)
{
    emulate::barrier(0, nullptr, EMULATE_SITE);
}
inline int __syncthreads_count(int predicate, EMULATE_AT)
{
    emulate::barrier(1, &predicate, EMULATE_SITE);
    return predicate;
}
inline int __syncthreads_and(int predicate, EMULATE_AT)
{
    emulate::barrier(2, &predicate, EMULATE_SITE);
    return predicate;
}
inline int __syncthreads_or(int predicate, EMULATE_AT)
{
    emulate::barrier(3, &predicate, EMULATE_SITE);
    return predicate;
}
inline void __trap(EMULATE_AT)
{
    emulate::trap(EMULATE_SITE);
}
#define EMULATE_WARP(op, mask, value, arg, width)                                                  \
    emulate::warp({ emulate::op, mask, value, arg, width, EMULATE_SITE, nullptr, nullptr, nullptr })
#define EMULATE_SHUFFLE(name, op)                                                                  \
    template <class T> T name(unsigned mask, T value, int arg, int width = 32, EMULATE_AT)         \
    {                                                                                              \
        return emulate::of_bits<T>(EMULATE_WARP(op, mask, emulate::bits_of(value), arg, width));   \
    }
EMULATE_SHUFFLE(__shfl_sync, SHUFFLE)
EMULATE_SHUFFLE(__shfl_up_sync, SHUFFLE_UP)
EMULATE_SHUFFLE(__shfl_down_sync, SHUFFLE_DOWN)
EMULATE_SHUFFLE(__shfl_xor_sync, SHUFFLE_XOR)
inline void __syncwarp(unsigned mask = ~0u, EMULATE_AT)
{
    EMULATE_WARP(SYNC_WARP, mask, 0, 0, 32);
}
inline unsigned __ballot_sync(unsigned mask, int predicate, EMULATE_AT)
{
    return (unsigned)EMULATE_WARP(BALLOT, mask, predicate != 0, 0, 32);
}
inline int __any_sync(unsigned mask, int predicate, EMULATE_AT)
{
    return EMULATE_WARP(BALLOT, mask, predicate != 0, 0, 32) != 0;
}
inline int __all_sync(unsigned mask, int predicate, EMULATE_AT)
{
    return EMULATE_WARP(BALLOT, mask, predicate == 0, 0, 32) == 0;
}
template <class T> unsigned __match_any_sync(unsigned mask, T value, EMULATE_AT)
{
    return (unsigned)EMULATE_WARP(MATCH_ANY, mask, emulate::bits_of(value), 0, 32);
}
#define EMULATE_REDUCE(name, op)                                                                   \
    template <class T> T name(unsigned mask, T value, EMULATE_AT)                                  \
    {                                                                                              \
        static_assert(std::is_integral<T>::value && sizeof(T) == 4, "int or unsigned");            \
        return emulate::of_bits<T>(                                                                \
            EMULATE_WARP(op, mask, emulate::bits_of(value), std::is_signed<T>::value, 32));        \
    }
EMULATE_REDUCE(__reduce_add_sync, REDUCE_ADD)
EMULATE_REDUCE(__reduce_min_sync, REDUCE_MIN)
EMULATE_REDUCE(__reduce_max_sync, REDUCE_MAX)

/* Blocks run one after another and a block's threads in turn, so plain reads and writes are atomic.
 * Only the race check must know which ones they are. */
#define EMULATE_ATOMIC(name, now)                                                                  \
    template <class T>                                                                             \
    __attribute__((no_sanitize("thread"))) T name(T *p, std::common_type_t<T> value)               \
    {                                                                                              \
        emulate::note(p, sizeof(T), true, true);                                                   \
        T old = *p;                                                                                \
        *p = now;                                                                                  \
        return old;                                                                                \
    }
EMULATE_ATOMIC(atomicAdd, (T)(old + value))
EMULATE_ATOMIC(atomicSub, (T)(old - value))
EMULATE_ATOMIC(atomicExch, value)
EMULATE_ATOMIC(atomicMin, (value < old ? value : old))
EMULATE_ATOMIC(atomicMax, (value > old ? value : old))
EMULATE_ATOMIC(atomicAnd, (old & value))
EMULATE_ATOMIC(atomicOr, (old | value))
EMULATE_ATOMIC(atomicXor, (old ^ value))
template <class T>
__attribute__((no_sanitize("thread"))) T atomicCAS(T *p, std::common_type_t<T> expected,
                                                   std::common_type_t<T> value)
{
    emulate::note(p, sizeof(T), true, true);
    T old = *p;
    if (old == expected)
        *p = value;
    return old;
}
inline void __threadfence()
{
}
inline void __threadfence_block()
{
}
inline void __threadfence_system()
{
}
