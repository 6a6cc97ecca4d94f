/* Loops that reach the machine's limits. */
#include "cpu/limits.h"

#include "base/mem.h"
#include "base/team.h"
#include "base/time.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum {
    MEMBERS_MAX = 256,
    WINDOWS = 41,
    WINDOW_BYTES = 4 << 20, /* at least so much is read in one */
    PEAK_ROUNDS = 60000,    /* of the loop in registers */
    HUGE_PAGE_BYTES = 2 << 20
};

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* What is reached nearly always when nobody disturbs: the best tenth begins there. */
static double near_best(double *values, size_t n)
{
    qsort(values, n, sizeof(*values), by_value);
    return values[n * 9 / 10];
}

/* ---- Reading. ---- */

struct reading {
    const unsigned char *memory;
    int64_t n_bytes, n_part; /* of all members; read by each member in one window */
    int64_t at[MEMBERS_MAX]; /* where each member goes on */
    uint64_t sums[MEMBERS_MAX];
};

#if defined(__x86_64__)
__attribute__((target("avx2"))) static uint64_t read_avx2(const unsigned char *from, int64_t n)
{
    __m256i a = _mm256_setzero_si256(), b = a, c = a, d = a;
    for (int64_t i = 0; i + 256 <= n; i += 256) {
        const __m256i *at = (const void *)(from + i);
        a = _mm256_or_si256(a, _mm256_or_si256(_mm256_load_si256(at), _mm256_load_si256(at + 1)));
        b = _mm256_or_si256(b,
                            _mm256_or_si256(_mm256_load_si256(at + 2), _mm256_load_si256(at + 3)));
        c = _mm256_or_si256(c,
                            _mm256_or_si256(_mm256_load_si256(at + 4), _mm256_load_si256(at + 5)));
        d = _mm256_or_si256(d,
                            _mm256_or_si256(_mm256_load_si256(at + 6), _mm256_load_si256(at + 7)));
    }
    __m256i all = _mm256_or_si256(_mm256_or_si256(a, b), _mm256_or_si256(c, d));
    return (uint64_t)_mm256_extract_epi64(all, 0);
}
#endif

static uint64_t read_words(const unsigned char *from, int64_t n)
{
    uint64_t sum[8] = { 0 };
    for (int64_t i = 0; i + 64 <= n; i += 64)
        for (int j = 0; j < 8; j++) {
            uint64_t word;
            memcpy(&word, from + i + 8 * j, sizeof(word));
            sum[j] += word;
        }
    return sum[0] + sum[1] + sum[2] + sum[3] + sum[4] + sum[5] + sum[6] + sum[7];
}

static uint64_t read_some(const unsigned char *from, int64_t n)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2"))
        return read_avx2(from, n);
#endif
    return read_words(from, n);
}

/* Goes on behind what the window before read: a footprint larger than a window is walked whole. */
static void read_part(void *arg, int rank, int n)
{
    struct reading *reading = arg;
    int64_t n_own = reading->n_bytes / n, n_left = reading->n_part;
    const unsigned char *own = reading->memory + rank * n_own;
    while (n_left > 0) {
        int64_t some = min_i64(n_left, n_own - reading->at[rank]);
        reading->sums[rank] += read_some(own + reading->at[rank], some);
        reading->at[rank] = (reading->at[rank] + some) % n_own;
        n_left -= some;
    }
}

double cpu_limits_read(const struct device_spec *device, int n_threads, int64_t n_bytes)
{
    CHECK(n_threads > 0 && n_threads <= MEMBERS_MAX && n_threads <= device->n_cores);
    int64_t n_own = max_i64(n_bytes / n_threads & ~INT64_C(4095), 4096);
    size_t n_all = (size_t)align_up_u64((uint64_t)(n_own * n_threads), HUGE_PAGE_BYTES);
    unsigned char *memory = aligned_alloc(HUGE_PAGE_BYTES, n_all);
    CHECK(memory != NULL);
    (void)madvise(memory, n_all, MADV_HUGEPAGE); /* where the system has none, small pages do */
    memset(memory, 1, n_all);
    struct reading *reading = mem_take(sizeof(*reading));
    reading->memory = memory;
    reading->n_bytes = n_own * n_threads;
    reading->n_part = max_i64(WINDOW_BYTES, min_i64(n_own, 4 * WINDOW_BYTES));
    struct team *team = team_open(n_threads, device->cores, true);
    double windows[WINDOWS];
    int64_t n_walks = max_i64(reading->n_bytes / (reading->n_part * n_threads), 1);
    for (int64_t i = 0; i < n_walks; i++) /* once over all of it, unmeasured */
        team_run(team, read_part, reading);
    for (int i = 0; i < WINDOWS; i++) {
        int64_t begin_ns = time_now_ns();
        team_run(team, read_part, reading);
        windows[i] = (double)(reading->n_part * n_threads) * 1e9 /
                     (double)max_i64(time_now_ns() - begin_ns, 1);
    }
    CHECK(reading->sums[0] != 0);
    team_close(team);
    mem_give(reading);
    free(memory);
    return near_best(windows, WINDOWS);
}

void cpu_limits_sizes(int n_threads, struct cpu_limits_sizes *out)
{
    long l2 = sysconf(_SC_LEVEL2_CACHE_SIZE), l3 = sysconf(_SC_LEVEL3_CACHE_SIZE);
    int64_t own_l2 = l2 > 0 ? l2 : 512 << 10, all_l3 = l3 > 0 ? l3 : 8 << 20;
    out->l2 = own_l2 / 2 * n_threads;
    out->l3 = max_i64(min_i64(all_l3 / 2, 8 * own_l2 * n_threads), 2 * own_l2 * n_threads);
    out->memory = min_i64(max_i64(2 * all_l3, 256 << 20), INT64_C(1) << 30);
}

/* ---- Arithmetic. ---- */

typedef int64_t (*peak_loop)(int n_rounds); /* operations done */

struct peak {
    peak_loop loop;
    int64_t n_ops[MEMBERS_MAX];
};

static volatile float peak_sink; /* what the loops compute is wanted by somebody */

#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) static int64_t float_avx2(int n_rounds)
{
    __m256 acc[12], x = _mm256_set1_ps(0.999f), y = _mm256_set1_ps(0.001f);
    for (int j = 0; j < 12; j++)
        acc[j] = _mm256_set1_ps((float)j);
    for (int i = 0; i < n_rounds; i++) {
#pragma GCC unroll 12
        for (int j = 0; j < 12; j++)
            acc[j] = _mm256_fmadd_ps(acc[j], x, y);
    }
    for (int j = 1; j < 12; j++)
        acc[0] = _mm256_add_ps(acc[0], acc[j]);
    peak_sink = _mm256_cvtss_f32(acc[0]);
    return (int64_t)n_rounds * 12 * 16;
}

__attribute__((target("avx2"))) static int64_t int8_avx2(int n_rounds)
{
    __m256i acc[8], x = _mm256_set1_epi8(3), ones = _mm256_set1_epi16(1);
    for (int j = 0; j < 8; j++)
        acc[j] = _mm256_set1_epi32(j);
    for (int i = 0; i < n_rounds; i++) {
#pragma GCC unroll 8
        for (int j = 0; j < 8; j++)
            acc[j] =
                _mm256_add_epi32(acc[j], _mm256_madd_epi16(_mm256_maddubs_epi16(acc[j], x), ones));
    }
    for (int j = 1; j < 8; j++)
        acc[0] = _mm256_add_epi32(acc[0], acc[j]);
    peak_sink = (float)_mm256_extract_epi32(acc[0], 0);
    return (int64_t)n_rounds * 8 * 64;
}

__attribute__((target("avx2"))) static int64_t int8_short_avx2(int n_rounds)
{
    __m256i acc[8], x = _mm256_set1_epi8(3);
    for (int j = 0; j < 8; j++)
        acc[j] = _mm256_set1_epi16((short)j);
    for (int i = 0; i < n_rounds; i++) {
#pragma GCC unroll 8
        for (int j = 0; j < 8; j++)
            acc[j] = _mm256_add_epi16(acc[j], _mm256_maddubs_epi16(acc[j], x));
    }
    for (int j = 1; j < 8; j++)
        acc[0] = _mm256_add_epi16(acc[0], acc[j]);
    peak_sink = (float)_mm256_extract_epi16(acc[0], 0);
    return (int64_t)n_rounds * 8 * 64;
}

__attribute__((target("avx512f"))) static int64_t float_avx512(int n_rounds)
{
    __m512 acc[12], x = _mm512_set1_ps(0.999f), y = _mm512_set1_ps(0.001f);
    for (int j = 0; j < 12; j++)
        acc[j] = _mm512_set1_ps((float)j);
    for (int i = 0; i < n_rounds; i++) {
#pragma GCC unroll 12
        for (int j = 0; j < 12; j++)
            acc[j] = _mm512_fmadd_ps(acc[j], x, y);
    }
    for (int j = 1; j < 12; j++)
        acc[0] = _mm512_add_ps(acc[0], acc[j]);
    peak_sink = _mm512_cvtss_f32(acc[0]);
    return (int64_t)n_rounds * 12 * 32;
}

__attribute__((target("avx512f,avx512vnni"))) static int64_t int8_vnni(int n_rounds)
{
    __m512i acc[12], x = _mm512_set1_epi32(0x03030303), y = _mm512_set1_epi32(0x01020304);
    for (int j = 0; j < 12; j++)
        acc[j] = _mm512_set1_epi32(j);
    for (int i = 0; i < n_rounds; i++) {
#pragma GCC unroll 12
        for (int j = 0; j < 12; j++)
            acc[j] = _mm512_dpbusd_epi32(acc[j], x, y);
    }
    for (int j = 1; j < 12; j++)
        acc[0] = _mm512_add_epi32(acc[0], acc[j]);
    peak_sink = (float)_mm_extract_epi32(_mm512_castsi512_si128(acc[0]), 0);
    return (int64_t)n_rounds * 12 * 128;
}
#endif

/* Whatever the compiler makes of it on this processor. */
static int64_t float_plain(int n_rounds)
{
    float acc[16];
    for (int j = 0; j < 16; j++)
        acc[j] = (float)j;
    for (int i = 0; i < n_rounds; i++)
        for (int j = 0; j < 16; j++)
            acc[j] = acc[j] * 0.999f + 0.001f;
    for (int j = 0; j < 16; j++)
        peak_sink = acc[j];
    return (int64_t)n_rounds * 16 * 2;
}

struct way {
    peak_loop loop;
    const char *instructions;
};

static struct way way_of(enum cpu_limit limit)
{
#if defined(__x86_64__)
    bool is_wide = __builtin_cpu_supports("avx512f") != 0;
    if (limit == CPU_LIMIT_FLOAT && is_wide)
        return (struct way){ float_avx512, "vfmadd, 512 bits" };
    if (limit == CPU_LIMIT_FLOAT && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return (struct way){ float_avx2, "vfmadd, 256 bits" };
    if (limit != CPU_LIMIT_FLOAT && is_wide && __builtin_cpu_supports("avx512vnni"))
        return (struct way){ int8_vnni, "vpdpbusd, 512 bits" };
    if (limit == CPU_LIMIT_INT8 && __builtin_cpu_supports("avx2"))
        return (struct way){ int8_avx2, "vpmaddubsw, vpmaddwd, vpaddd, 256 bits" };
    if (limit == CPU_LIMIT_INT8_SHORT && __builtin_cpu_supports("avx2"))
        return (struct way){ int8_short_avx2, "vpmaddubsw, vpaddw, 256 bits" };
#endif
    (void)limit;
    return (struct way){ float_plain, "as compiled" };
}

const char *cpu_limits_instructions(enum cpu_limit limit)
{
    return way_of(limit).instructions;
}

static void compute_some(void *arg, int rank, int n)
{
    struct peak *peak = arg;
    (void)n;
    peak->n_ops[rank] = peak->loop(PEAK_ROUNDS);
}

double cpu_limits_peak(const struct device_spec *device, int n_threads, enum cpu_limit limit)
{
    CHECK(n_threads > 0 && n_threads <= MEMBERS_MAX && n_threads <= device->n_cores);
    struct peak *peak = mem_take(sizeof(*peak));
    struct team *team = team_open(n_threads, device->cores, true);
    double windows[WINDOWS];
    peak->loop = way_of(limit).loop;
    for (int i = -1; i < WINDOWS; i++) {
        int64_t begin_ns = time_now_ns(), n_ops = 0;
        team_run(team, compute_some, peak);
        int64_t ns = max_i64(time_now_ns() - begin_ns, 1);
        for (int rank = 0; rank < n_threads; rank++)
            n_ops += peak->n_ops[rank];
        windows[max_i32(i, 0)] = (double)n_ops * 1e9 / (double)ns;
    }
    team_close(team);
    mem_give(peak);
    return near_best(windows, WINDOWS);
}
