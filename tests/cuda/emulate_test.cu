/* The emulator: what it computes, and that it finds planted faults. */
#include "cuda/ptx.cuh"

extern "C" {
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <cmocka.h>
}

/* ---- What runs well. ---- */

__global__ void sum_blocks(const float *x, float *sums, int n)
{
    __shared__ float partial[8];
    float sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        sum += x[i];
    for (int d = 16; d > 0; d /= 2)
        sum += __shfl_down_sync(~0u, sum, d);
    if (threadIdx.x % 32 == 0)
        partial[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int i = 1; i < (int)blockDim.x / 32; i++)
            sum += partial[i];
        atomicAdd(sums, sum);
    }
}

static void sums_are_right(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 6; seed++) {
        float *x = (float *)emulate_take(1000 * 4), *sum = (float *)emulate_take(4);
        emulate_seed(seed);
        for (int i = 0; i < 1000; i++)
            x[i] = (float)i;
        *sum = 0;
        assert_true(LAUNCH(sum_blocks, 3, 256, 0, NULL, x, sum, 1000));
        assert_true(*sum == 999 * 500);
        emulate_give(x);
        emulate_give(sum);
    }
}

/* Rows in reverse, through dynamic shared memory that is filled asynchronously. */
__global__ void reverse(const float *x, float *out)
{
    SHARED_DYN(bytes);
    float *row = (float *)bytes;
    const int i = (int)threadIdx.x;
    ptx_copy16(row + 4 * i, x + 128 * blockIdx.x + 4 * i, i < 31 ? 16 : 8);
    ptx_copy_commit();
    ptx_copy_wait<0>();
    __syncthreads();
    for (int k = i; k < 128; k += 32)
        out[128 * blockIdx.x + k] = row[127 - k];
}

static void copies_land_and_are_filled_up(void **state)
{
    (void)state;
    float *x = (float *)emulate_take(512 * 4), *out = (float *)emulate_take(512 * 4);
    for (int i = 0; i < 512; i++)
        x[i] = (float)i;
    assert_true(LAUNCH(reverse, 4, 32, 512, NULL, x, out));
    for (int i = 0; i < 512; i++) {
        int from = i / 128 * 128 + 127 - i % 128;
        assert_true(out[i] == (from % 128 < 126 ? (float)from : 0.0f));
    }
    emulate_give(x);
    emulate_give(out);
}

/* D (16, 8) = A (16, 16) . B (16, 8) of integers that bfloat16 and halves hold exactly. */
template <bool IS_BF16> __global__ void multiply(const uint16_t *a, const uint16_t *b, float *d)
{
    __shared__ __align__(16) uint16_t sa[16][16], sb[16][16];
    const int lane = (int)threadIdx.x, g = lane / 4, t = lane % 4;
    for (int i = lane; i < 256; i += 32) {
        sa[i / 16][i % 16] = a[i];
        sb[i / 16][i % 16] = i % 16 < 8 ? b[i / 16 * 8 + i % 16] : (uint16_t)0;
    }
    __syncwarp();
    uint32_t fa[4], fb[4];
    float sum[4] = { 0, 0, 0, 0 };
    ptx_load_matrices(fa, &sa[lane % 16][lane / 16 * 8]);
    ptx_load_matrices_transposed(fb, &sb[lane % 16][lane / 16 * 8]);
    const uint32_t fb_first[2] = { fb[0], fb[1] };
    if (IS_BF16)
        ptx_mma_bf16(sum, fa, fb_first);
    else
        ptx_mma_f16(sum, fa, fb_first);
    d[g * 8 + 2 * t] = sum[0];
    d[g * 8 + 2 * t + 1] = sum[1];
    d[(g + 8) * 8 + 2 * t] = sum[2];
    d[(g + 8) * 8 + 2 * t + 1] = sum[3];
}

static uint16_t bits_of(bool is_bf16, int value)
{
    return is_bf16 ? __bfloat16_as_ushort(__float2bfloat16_rn((float)value))
                   : __half_as_ushort(__float2half_rn((float)value));
}

static void check_product(bool is_bf16)
{
    uint16_t *a = (uint16_t *)emulate_take(256 * 2), *b = (uint16_t *)emulate_take(128 * 2);
    float *d = (float *)emulate_take(128 * 4);
    for (int i = 0; i < 256; i++)
        a[i] = bits_of(is_bf16, i * 7 % 31 - 15);
    for (int i = 0; i < 128; i++)
        b[i] = bits_of(is_bf16, i * 5 % 29 - 14);
    if (is_bf16)
        assert_true(LAUNCH((multiply<true>), 1, 32, 0, NULL, a, b, d));
    else
        assert_true(LAUNCH((multiply<false>), 1, 32, 0, NULL, a, b, d));
    for (int i = 0; i < 16; i++)
        for (int j = 0; j < 8; j++) {
            int sum = 0;
            for (int k = 0; k < 16; k++)
                sum += ((i * 16 + k) * 7 % 31 - 15) * ((k * 8 + j) * 5 % 29 - 14);
            assert_true(d[i * 8 + j] == (float)sum);
        }
    emulate_give(a);
    emulate_give(b);
    emulate_give(d);
}

/* D (16, 8) += A (16, 32) . B (32, 8), straight from memory, as the manual draws the fragments. */
__global__ void multiply_bytes(const int8_t *a, const int8_t *b, int *d)
{
    const int g = (int)threadIdx.x / 4, t = (int)threadIdx.x % 4;
    uint32_t fa[4], fb[2];
    int sum[4] = { 1, 1, 1, 1 };
    for (int r = 0; r < 4; r++)
        memcpy(&fa[r], a + (g + r % 2 * 8) * 32 + r / 2 * 16 + 4 * t, 4);
    for (int r = 0; r < 2; r++) {
        fb[r] = 0;
        for (int e = 0; e < 4; e++)
            fb[r] |= (uint32_t)(uint8_t)b[(r * 16 + 4 * t + e) * 8 + g] << 8 * e;
    }
    ptx_mma_s8(sum, fa, fb);
    for (int c = 0; c < 4; c++)
        d[(g + c / 2 * 8) * 8 + 2 * t + c % 2] = sum[c];
}

static void products_of_fragments_are_right(void **state)
{
    (void)state;
    check_product(true);
    check_product(false);
    int8_t *a = (int8_t *)emulate_take(512), *b = (int8_t *)emulate_take(256);
    int *d = (int *)emulate_take(128 * 4);
    for (int i = 0; i < 512; i++)
        a[i] = (int8_t)(i * 37);
    for (int i = 0; i < 256; i++)
        b[i] = (int8_t)(i * 91);
    assert_true(LAUNCH(multiply_bytes, 1, 32, 0, NULL, a, b, d));
    for (int i = 0; i < 16; i++)
        for (int j = 0; j < 8; j++) {
            int sum = 1;
            for (int k = 0; k < 32; k++)
                sum += a[i * 32 + k] * b[k * 8 + j];
            assert_int_equal(d[i * 8 + j], sum);
        }
    assert_int_equal(ptx_dp4a(0x7F80FF01, 0x02FF0380, 10), 10 + 254 + 128 - 3 - 128);
    emulate_give(a);
    emulate_give(b);
    emulate_give(d);
}

__global__ void talk(int *out)
{
    const unsigned lane = threadIdx.x % 32;
    int *o = out + 8 * threadIdx.x;
    o[0] = __shfl_sync(~0u, (int)lane, 5);
    o[1] = __shfl_up_sync(~0u, (int)lane, 3, 8);
    o[2] = __shfl_xor_sync(~0u, (int)lane, 7);
    o[3] = (int)__ballot_sync(~0u, lane % 3 == 0);
    o[4] = __reduce_add_sync(~0u, (int)lane - 40);
    o[5] = __reduce_max_sync(~0u, (int)lane - 40);
    o[6] = 0;
    if (lane < 16) /* half of a warp by itself */
        o[6] = __shfl_down_sync(0xFFFFu, (int)lane, 1, 16);
    o[7] = __syncthreads_count(lane == 0) + 100 * __any_sync(~0u, lane == 31) +
           1000 * __all_sync(~0u, lane < 31);
}

static void lanes_exchange(void **state)
{
    (void)state;
    int *out = (int *)emulate_take(64 * 8 * sizeof(int));
    assert_true(LAUNCH(talk, 1, 64, 0, NULL, out));
    for (int i = 0; i < 64; i++) {
        const int lane = i % 32, *o = out + 8 * i;
        assert_int_equal(o[0], 5);
        assert_int_equal(o[1], lane % 8 >= 3 ? lane - 3 : lane);
        assert_int_equal(o[2], lane ^ 7);
        assert_int_equal((unsigned)o[3], 0x49249249u);
        assert_int_equal(o[4], 31 * 16 - 32 * 40);
        assert_int_equal(o[5], -9);
        assert_int_equal(o[6], lane < 15 ? lane + 1 : lane == 15 ? 15 : 0);
        assert_int_equal(o[7], 102);
    }
    emulate_give(out);
}

/* Halves and bfloat16 of every bit pattern survive a float, and rounding is to nearest even. */
static void halves_are_exact(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 65536; i++) {
        const float h = __half2float(__ushort_as_half((unsigned short)i));
        const float b = __bfloat162float(__ushort_as_bfloat16((unsigned short)i));
        if (h == h)
            assert_int_equal(__half_as_ushort(__float2half_rn(h)), i);
        if (b == b)
            assert_int_equal(__bfloat16_as_ushort(__float2bfloat16_rn(b)), i);
    }
    assert_int_equal(__half_as_ushort(__float2half_rn(65519.0f)), 0x7BFF);
    assert_int_equal(__half_as_ushort(__float2half_rn(65520.0f)), 0x7C00);
    assert_int_equal(__half_as_ushort(__float2half_rn(1.0f + 0x1p-11f)), 0x3C00);
    assert_int_equal(__half_as_ushort(__float2half_rn(1.0f + 0x3p-11f)), 0x3C02);
    assert_int_equal(__half_as_ushort(__float2half_rn(0x1p-25f)), 0);
    assert_int_equal(__half_as_ushort(__float2half_rn(0x1.8p-25f)), 1);
    assert_int_equal(__bfloat16_as_ushort(__float2bfloat16_rn(1.0f + 0x1p-8f)), 0x3F80);
    assert_int_equal(__bfloat16_as_ushort(__float2bfloat16_rn(1.0f + 0x3p-8f)), 0x3F82);
}

/* ---- Planted faults. ---- */

__global__ void lacks_barrier(float *x)
{
    __shared__ float s[64];
    s[threadIdx.x] = x[threadIdx.x];
    x[threadIdx.x] = s[63 - threadIdx.x];
}
__global__ void lacks_second_barrier(float *x)
{
    __shared__ float s[64];
    float sum = 0;
    for (int i = 0; i < 3; i++) {
        s[threadIdx.x] = x[threadIdx.x];
        __syncthreads();
        sum += s[63 - threadIdx.x];
    }
    x[threadIdx.x] = sum;
}
__global__ void lacks_warp_sync(float *x)
{
    __shared__ float s[64];
    s[threadIdx.x] = x[threadIdx.x];
    x[threadIdx.x] = s[threadIdx.x ^ 1];
}
__global__ void shares_bytes_of_blocks(float *x)
{
    if (threadIdx.x == 0)
        x[blockIdx.x / 2] = 1;
}
__global__ void reads_early(float *x)
{
    SHARED_DYN(bytes);
    float *s = (float *)bytes;
    ptx_copy16(s + 4 * threadIdx.x, x + 4 * (threadIdx.x % 16), 16);
    ptx_copy_commit();
    x[threadIdx.x] = s[4 * threadIdx.x]; /* NaN */
    ptx_copy_wait<0>();
}
__global__ void leaves_copies(float *x)
{
    SHARED_DYN(bytes);
    ptx_copy16(bytes + 16 * threadIdx.x, x + 4 * (threadIdx.x % 16), 16);
}
__global__ void writes_outside(float *x)
{
    x[threadIdx.x == 63 ? 64 : threadIdx.x] = 0;
}
__global__ void diverges_at_barrier(float *x)
{
    if (threadIdx.x < 32)
        __syncthreads();
    x[threadIdx.x] = 1;
}
__global__ void has_two_barriers(float *x)
{
    if (threadIdx.x < 32)
        __syncthreads();
    else
        __syncthreads();
    x[threadIdx.x] = 1;
}
__global__ void diverges_in_warp(float *x)
{
    float v = x[threadIdx.x];
    if (threadIdx.x % 2)
        v = __shfl_xor_sync(~0u, v, 1);
    else
        v = __shfl_xor_sync(~0u, v, 2);
    x[threadIdx.x] = v;
}
__global__ void leaves_lanes(float *x)
{
    if (threadIdx.x % 32 == 7)
        return;
    x[threadIdx.x] = __shfl_sync(~0u, x[threadIdx.x], 0);
}
__global__ void is_not_in_mask(float *x)
{
    x[threadIdx.x] = __shfl_sync(0xFFFFu, x[threadIdx.x], 0);
}
__global__ void traps(float *)
{
    if (threadIdx.x == 3)
        __trap();
}

static const struct fault_case {
    void (*kernel)(float *);
    const char *sentence; /* of the plain program; NULL: it finds nothing, or sees NaN */
    const char *race;     /* of the one that finds races */
} cases[] = {
    { lacks_barrier, NULL, "race on shared memory" },
    { lacks_second_barrier, NULL, "race on shared memory" },
    { lacks_warp_sync, NULL, "race on shared memory" },
    { shares_bytes_of_blocks, NULL, "race on global memory (write after write)" },
    { reads_early, NULL, NULL },
    { leaves_copies, "returned ahead of its asynchronous copies", "" },
    { writes_outside, "bytes outside of a piece of 256 bytes", "" },
    { diverges_at_barrier, "__syncthreads", "" },
    { has_two_barriers, "others of its block at", "" },
    { diverges_in_warp, "the warp diverged", "" },
    { leaves_lanes, "lanes that have returned", NULL },
    { is_not_in_mask, "is not in its own mask", "" },
    { traps, "trapped at", "" },
};

static void expect(const struct fault_case *c, const char *fault, bool is_nan)
{
    const char *sentence = c->sentence;
    if (sentence == NULL && emulate_finds_races() && c->race != NULL)
        sentence = c->race;
    if (sentence == NULL && c->race == NULL)
        assert_true(is_nan);
    else if (sentence != NULL && strstr(fault, sentence) == NULL)
        fail_msg("expected \"%s\", got \"%s\"", sentence, fault);
}

static void planted_faults_are_found(void **state)
{
    (void)state;
    emulate_expect_faults(true);
    for (const struct fault_case &c : cases) {
#ifdef EMULATE_ASAN
        if (c.kernel == writes_outside)
            continue; /* ASan ends the process */
#endif
        for (uint64_t seed = 1; seed < 4; seed++) {
            float *x = (float *)emulate_take(64 * 4);
            emulate_seed(seed);
            for (int i = 0; i < 64; i++)
                x[i] = (float)i;
            LAUNCH(c.kernel, c.kernel == shares_bytes_of_blocks ? 2 : 1, 64, 1024, NULL, x);
            bool is_nan = x[0] != x[0];
            x[0] = 0;
            char fault[2000];
            snprintf(fault, sizeof fault, "%s", emulate_fault());
            emulate_give(x);
            emulate_fault(); /* of the red zone again */
            if (strstr(fault, "returned") == NULL || c.kernel != leaves_lanes)
                expect(&c, fault, is_nan);
        }
    }
    emulate_expect_faults(false);
}

static void bad_launches_are_refused(void **state)
{
    (void)state;
    emulate_expect_faults(true);
    float *x = NULL;
    assert_false(LAUNCH(traps, 1, 1025, 0, NULL, x));
    assert_non_null(strstr(emulate_fault(), "1025 threads"));
    assert_false(LAUNCH(traps, 0, 1, 0, NULL, x));
    assert_non_null(strstr(emulate_fault(), "a grid of (0,1,1)"));
    assert_false(LAUNCH(traps, 1, 1, 228 * 1024, NULL, x));
    assert_non_null(strstr(emulate_fault(), "shared memory"));
    emulate_expect_faults(false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_are_right),
        cmocka_unit_test(copies_land_and_are_filled_up),
        cmocka_unit_test(products_of_fragments_are_right),
        cmocka_unit_test(lanes_exchange),
        cmocka_unit_test(halves_are_exact),
        cmocka_unit_test(planted_faults_are_found),
        cmocka_unit_test(bad_launches_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
