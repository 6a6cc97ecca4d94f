/* Loops that reach the machine's limits. */
#include "limits.h"

#include "base/mem.h"
#include "base/team.h"
#include "base/time.h"
#include <immintrin.h>
#include <stdlib.h>
#include <string.h>

enum { READ_BYTES = 256 << 20, WINDOWS = 15 };

struct reading {
    const unsigned char *at;
    uint64_t sums[64];
};

__attribute__((target("avx2"))) static void read_share(void *arg, int rank, int n)
{
    struct reading *reading = arg;
    size_t from = (size_t)READ_BYTES / (size_t)n * (size_t)rank;
    size_t to = (size_t)READ_BYTES / (size_t)n * (size_t)(rank + 1);
    __m256i sum[4] = { 0 };
    for (size_t i = from; i + 128 <= to; i += 128)
        for (int j = 0; j < 4; j++)
            sum[j] = _mm256_add_epi64(
                sum[j], _mm256_load_si256((const void *)(reading->at + i + 32 * (size_t)j)));
    __m256i all =
        _mm256_add_epi64(_mm256_add_epi64(sum[0], sum[1]), _mm256_add_epi64(sum[2], sum[3]));
    reading->sums[rank] += (uint64_t)_mm256_extract_epi64(all, 0);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double limits_read_bandwidth(int n_threads)
{
    static const int cores[64] = { 0, 1, 2, 3, 4, 5, 6, 7 };
    CHECK(n_threads <= 8);
    struct team *team = team_open(n_threads, cores, true);
    unsigned char *memory = mem_take(READ_BYTES);
    memset(memory, 1, READ_BYTES);
    struct reading reading = { memory, { 0 } };
    double windows[WINDOWS];
    for (int i = 0; i < WINDOWS; i++) {
        int64_t (*now_ns)(void) = n_threads == 1 ? time_thread_cpu_ns : time_now_ns;
        int64_t start = now_ns();
        team_run(team, read_share, &reading);
        windows[i] = (double)READ_BYTES * 1e9 / (double)(now_ns() - start);
    }
    qsort(windows, WINDOWS, sizeof(windows[0]), by_value);
    CHECK(reading.sums[0] != 0);
    mem_give(memory);
    team_close(team);
    return windows[WINDOWS / 2];
}

__attribute__((target("avx2,fma"))) static double float_window(int64_t n)
{
    __m256 acc[12], x = _mm256_set1_ps(0.999f), y = _mm256_set1_ps(0.001f);
    for (int j = 0; j < 12; j++)
        acc[j] = _mm256_set1_ps((float)j);
    int64_t start = time_thread_cpu_ns();
    for (int64_t i = 0; i < n; i++) {
#pragma GCC unroll 12
        for (int j = 0; j < 12; j++)
            acc[j] = _mm256_fmadd_ps(acc[j], x, y);
    }
    int64_t ns = time_thread_cpu_ns() - start;
    for (int j = 1; j < 12; j++)
        acc[0] = _mm256_add_ps(acc[0], acc[j]);
    volatile float sink = _mm256_cvtss_f32(acc[0]);
    (void)sink;
    return (double)n * 12 * 16 * 1e9 / (double)ns;
}

__attribute__((target("avx2"))) static double int8_window(int64_t n)
{
    __m256i acc[8], x = _mm256_set1_epi8(3), ones = _mm256_set1_epi16(1);
    for (int j = 0; j < 8; j++)
        acc[j] = _mm256_set1_epi32(j);
    int64_t start = time_thread_cpu_ns();
    for (int64_t i = 0; i < n; i++) {
#pragma GCC unroll 8
        for (int j = 0; j < 8; j++)
            acc[j] =
                _mm256_add_epi32(acc[j], _mm256_madd_epi16(_mm256_maddubs_epi16(acc[j], x), ones));
    }
    int64_t ns = time_thread_cpu_ns() - start;
    for (int j = 1; j < 8; j++)
        acc[0] = _mm256_add_epi32(acc[0], acc[j]);
    volatile int sink = _mm256_extract_epi32(acc[0], 0);
    (void)sink;
    return (double)n * 8 * 64 * 1e9 / (double)ns;
}

static double median(double (*window)(int64_t))
{
    double windows[WINDOWS];
    for (int i = 0; i < WINDOWS; i++)
        windows[i] = window(300000);
    qsort(windows, WINDOWS, sizeof(windows[0]), by_value);
    return windows[WINDOWS / 2];
}

double limits_float_peak(void)
{
    return __builtin_cpu_supports("fma") ? median(float_window) : 0;
}

double limits_int8_peak(void)
{
    return __builtin_cpu_supports("avx2") ? median(int8_window) : 0;
}
