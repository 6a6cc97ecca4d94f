/* Loops that reach the machine's limits. */
#include "cpu/limits_loops.h"

#include "base/mem.h"
#include "base/memory_limit.h"
#include "base/team.h"
#include "base/time.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    WINDOWS = 41,
    WINDOW_BYTES = 4 << 20, /* least bytes of a window */
    PEAK_ROUNDS = 60000,    /* of the loop in registers */
    HUGE_PAGE_BYTES = 2 << 20
};

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Returns the value that is nearly always reached on an idle machine: the best tenth begins
 * there. */
static double near_best(double *values, size_t n)
{
    qsort(values, n, sizeof(*values), by_value);
    return values[n * 9 / 10];
}

static struct cpu_limits_loops best_loops(void)
{
    struct cpu_limits_loops loops;
    cpu_isa_limits(cpu_isa_best(), &loops);
    return loops;
}

/* ---- Reading. ---- */

struct reading {
    uint64_t (*loop)(const unsigned char *from, int64_t n);
    const unsigned char *memory;
    int64_t n_bytes, n_part; /* of all members; of one member in one window */
    struct {
        int64_t at; /* where it goes on */
        uint64_t sum;
    } members[];
};

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

/* Continues behind the window before, so that a footprint larger than a window is read whole. */
static void read_part(void *arg, int rank, int n)
{
    struct reading *reading = arg;
    int64_t n_own = reading->n_bytes / n, n_left = reading->n_part;
    const unsigned char *own = reading->memory + rank * n_own;
    while (n_left > 0) {
        int64_t at = reading->members[rank].at, some = min_i64(n_left, n_own - at);
        reading->members[rank].sum += reading->loop(own + at, some);
        reading->members[rank].at = (at + some) % n_own;
        n_left -= some;
    }
}

double cpu_limits_read(const struct device_spec *device, int n_threads, int64_t n_bytes)
{
    CHECK(n_threads > 0 && n_threads <= device->n_cores);
    int64_t n_own = max_i64(n_bytes / n_threads & ~INT64_C(4095), 4096);
    size_t n_all = (size_t)align_up_u64((uint64_t)(n_own * n_threads), HUGE_PAGE_BYTES);
    unsigned char *taken = mem_take(n_all + HUGE_PAGE_BYTES);
    unsigned char *memory =
        taken + (align_up_u64((uintptr_t)taken, HUGE_PAGE_BYTES) - (uintptr_t)taken);
    mem_wish_huge(memory, n_all);
    memset(memory, 1, n_all);
    struct reading *reading =
        mem_take(sizeof(*reading) + sizeof(reading->members[0]) * (size_t)n_threads);
    reading->memory = memory;
    reading->loop = best_loops().read;
    reading->n_bytes = n_own * n_threads;
    reading->n_part = max_i64(WINDOW_BYTES, min_i64(n_own, 4 * WINDOW_BYTES));
    struct team *team = team_open(n_threads, device->cores, true);
    double windows[WINDOWS];
    int64_t n_walks = max_i64(reading->n_bytes / (reading->n_part * n_threads), 1);
    for (int64_t i = 0; i < n_walks; i++) /* once over everything, without measuring */
        team_run(team, read_part, reading);
    for (int i = 0; i < WINDOWS; i++) {
        int64_t begin_ns = time_now_ns();
        team_run(team, read_part, reading);
        windows[i] = (double)(reading->n_part * n_threads) * 1e9 /
                     (double)max_i64(time_now_ns() - begin_ns, 1);
    }
    CHECK(reading->members[0].sum != 0);
    team_close(team);
    mem_give(reading);
    mem_give(taken);
    return near_best(windows, WINDOWS);
}

void cpu_limits_sizes(int n_threads, struct cpu_limits_sizes *out)
{
    long l2 = sysconf(_SC_LEVEL2_CACHE_SIZE), l3 = sysconf(_SC_LEVEL3_CACHE_SIZE);
    int64_t own_l2 = l2 > 0 ? l2 : 512 << 10, all_l3 = l3 > 0 ? l3 : 8 << 20;
    out->l2 = own_l2 / 2 * n_threads;
    out->l3 = max_i64(min_i64(all_l3 / 2, 8 * own_l2 * n_threads), 2 * own_l2 * n_threads);
    out->memory = min_i64(max_i64(2 * all_l3, 256 << 20), INT64_C(1) << 30);
    out->memory = min_i64(max_i64(out->memory, 2 * out->l3), memory_limit_left() / 2);
}

/* ---- Arithmetic. ---- */

struct peak {
    int64_t (*loop)(int n_rounds);
    int64_t n_ops[]; /* of each member */
};

volatile float cpu_limits_sink;

/* The instructions are those that the compiler chooses for this processor. */
static int64_t float_plain(int n_rounds)
{
    float acc[16];
    for (int j = 0; j < 16; j++)
        acc[j] = (float)j;
    for (int i = 0; i < n_rounds; i++)
        for (int j = 0; j < 16; j++)
            acc[j] = acc[j] * 0.999f + 0.001f;
    for (int j = 0; j < 16; j++)
        cpu_limits_sink = acc[j];
    return (int64_t)n_rounds * 16 * 2;
}

const struct cpu_limits_loops cpu_limits_generic = {
    .read = read_words,
    .peaks = { { float_plain, "as compiled" },
               { float_plain, "as compiled" },
               { float_plain, "as compiled" },
               { float_plain, "as compiled" } },
};

const char *cpu_limits_instructions(enum cpu_limit limit)
{
    return best_loops().peaks[limit].instructions;
}

static void compute_some(void *arg, int rank, int n)
{
    struct peak *peak = arg;
    (void)n;
    peak->n_ops[rank] = peak->loop(PEAK_ROUNDS);
}

double cpu_limits_peak(const struct device_spec *device, int n_threads, enum cpu_limit limit)
{
    CHECK(n_threads > 0 && n_threads <= device->n_cores);
    struct peak *peak = mem_take(sizeof(*peak) + sizeof(peak->n_ops[0]) * (size_t)n_threads);
    struct team *team = team_open(n_threads, device->cores, true);
    double windows[WINDOWS];
    peak->loop = best_loops().peaks[limit].run;
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
