/* Register dumps of cuda/ptx.cuh: see vectors.h. */
#include "cuda/ptx.cuh"

#define _Noreturn [[noreturn]]
extern "C" {
#include "base/rng.h"
#include "emulate/control.h"
#include "vectors.h"
float half_to_float(uint16_t half);
}
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

enum function {
    DP4A,
    MMA_BF16,
    MMA_F16,
    MMA_S8,
    LOAD_MATRICES_AS_STORED,
    LOAD_MATRICES_TURNED,
    COPY16,
    COPY8,
    COPY4,
    COPY_GROUPS,
    FAST_EXP,
    N_FUNCTIONS,
};
enum { LANES = 32, CASES = 32, WORDS_MAX = 10, OUT_MAX = 8, VERSION = 1, SEED = 1234 };

static const struct {
    const char *name;
    unsigned n_in, n_out; /* words of a lane; those of copies keep addresses aligned */
} functions[N_FUNCTIONS] = {
    { "dp4a", 3, 1 },        { "mma_bf16", 10, 4 },     { "mma_f16", 10, 4 },
    { "mma_s8", 10, 4 },     { "load_matrices", 5, 4 }, { "load_matrices_transposed", 5, 4 },
    { "copy16", 8, 4 },      { "copy8", 4, 2 },         { "copy4", 2, 1 },
    { "copy_groups", 8, 8 }, { "fast_exp", 1, 1 },
};

/* ---- The functions, one warp a block. ---- */

template <class D, class F> __device__ void run_mma(const uint32_t *in, uint32_t *out, F multiply)
{
    D d[4];
    uint32_t a[4], b[2];
    memcpy(d, in, sizeof d);
    for (int i = 0; i < 4; i++)
        a[i] = in[4 + i];
    for (int i = 0; i < 2; i++)
        b[i] = in[8 + i];
    multiply(d, a, b);
    memcpy(out, d, sizeof d);
}

/* A functor per instruction, since kernels take no pointers to functions. */
struct multiply_bf16 {
    __device__ void operator()(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) const
    {
        ptx_mma_bf16(d, a, b);
    }
};
struct multiply_f16 {
    __device__ void operator()(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) const
    {
        ptx_mma_f16(d, a, b);
    }
};
struct multiply_s8 {
    __device__ void operator()(int (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) const
    {
        ptx_mma_s8(d, a, b);
    }
};

__global__ void dump_registers(const uint32_t *all_in, uint32_t *all_out, int n_in, int n_out,
                               int which)
{
    const uint32_t *in = all_in + (blockIdx.x * LANES + threadIdx.x) * n_in;
    uint32_t *out = all_out + (blockIdx.x * LANES + threadIdx.x) * n_out;
    if (which == DP4A)
        out[0] = (uint32_t)ptx_dp4a((int)in[0], (int)in[1], (int)in[2]);
    else if (which == MMA_BF16)
        run_mma<float>(in, out, multiply_bf16());
    else if (which == MMA_F16)
        run_mma<float>(in, out, multiply_f16());
    else if (which == MMA_S8)
        run_mma<int>(in, out, multiply_s8());
    else
        out[0] = __float_as_uint(__expf(__uint_as_float(in[0])));
}

/* Lane i stores row i, and gives the address of another row. */
__global__ void dump_matrices(const uint32_t *all_in, uint32_t *all_out, int is_turned)
{
    SHARED_DYN(rows);
    const uint32_t *in = all_in + (blockIdx.x * LANES + threadIdx.x) * 5;
    uint32_t *out = all_out + (blockIdx.x * LANES + threadIdx.x) * 4;
    uint32_t *row = (uint32_t *)(rows + 16 * threadIdx.x);
    uint32_t r[4];
    for (int i = 0; i < 4; i++)
        row[i] = in[i];
    __syncwarp();
    if (is_turned)
        ptx_load_matrices_transposed(r, rows + 16 * (in[4] % LANES));
    else
        ptx_load_matrices(r, rows + 16 * (in[4] % LANES));
    for (int i = 0; i < 4; i++)
        out[i] = r[i];
}

__global__ void dump_copies(const uint32_t *all_in, uint32_t *all_out, int n_in, int n_out,
                            int which)
{
    SHARED_DYN(bytes);
    const uint32_t *in = all_in + (blockIdx.x * LANES + threadIdx.x) * n_in;
    uint32_t *out = all_out + (blockIdx.x * LANES + threadIdx.x) * n_out;
    uint32_t *own = (uint32_t *)(bytes + 32 * threadIdx.x);
    for (int i = 0; i < 8; i++)
        own[i] = 0xAAAAAAAAu;
    __syncwarp();
    if (which == COPY_GROUPS) {
        ptx_copy16(own, in, 16);
        ptx_copy_commit();
        ptx_copy16(own + 4, in + 4, 16);
        ptx_copy_commit();
        ptx_copy_wait<1>();
        for (int i = 0; i < 4; i++)
            out[i] = own[i];
        ptx_copy_wait<0>();
        for (int i = 4; i < 8; i++)
            out[i] = own[i];
        return;
    }
    if (which == COPY16)
        ptx_copy16(own, in, in[4]);
    else if (which == COPY8)
        ptx_copy_small<8>(own, in, in[2]);
    else
        ptx_copy_small<4>(own, in, in[1]);
    ptx_copy_commit();
    ptx_copy_wait<0>();
    for (int i = 0; i < n_out; i++)
        out[i] = own[i];
}

/* Runs a function on inputs (n_cases, 32, n_in). */
static bool run_cases(int which, const uint32_t *in, uint32_t *out, unsigned n_cases)
{
    const unsigned n_in = functions[which].n_in, n_out = functions[which].n_out;
    const size_t in_bytes = (size_t)n_cases * LANES * n_in * 4;
    const size_t out_bytes = (size_t)n_cases * LANES * n_out * 4;
    uint32_t *device_in = (uint32_t *)emulate_take(in_bytes);
    uint32_t *device_out = (uint32_t *)emulate_take(out_bytes);
    bool is_run;
    memcpy(device_in, in, in_bytes);
    if (which == LOAD_MATRICES_AS_STORED || which == LOAD_MATRICES_TURNED)
        is_run = LAUNCH(dump_matrices, n_cases, LANES, 16 * LANES, NULL, device_in, device_out,
                        which == LOAD_MATRICES_TURNED);
    else if (which >= COPY16 && which <= COPY_GROUPS)
        is_run = LAUNCH(dump_copies, n_cases, LANES, 32 * LANES, NULL, device_in, device_out,
                        (int)n_in, (int)n_out, which);
    else
        is_run = LAUNCH(dump_registers, n_cases, LANES, 0, NULL, device_in, device_out, (int)n_in,
                        (int)n_out, which);
    memcpy(out, device_out, out_bytes);
    emulate_give(device_in);
    emulate_give(device_out);
    if (!is_run)
        fprintf(stderr, "vectors: the GPU did not run %s\n", functions[which].name);
    return is_run;
}

/* ---- Inputs. ---- */

/* A 16-bit float. mode 0: near 1; 1: of any size that a sum of 16 holds; 2: a small integer, so
 * that every order of summation gives the same bits; 3: sometimes 0, subnormal or not finite. */
static uint32_t draw_half(uint64_t bits, int mode, bool is_bf16)
{
    const uint32_t sign = (uint32_t)(bits & 1) << 15, few = (uint32_t)(bits >> 8 & 0xFF);
    const uint32_t bias = is_bf16 ? 127 : 15, shift = is_bf16 ? 7 : 10;
    const uint32_t fraction = (uint32_t)(bits >> 16) & ((1u << shift) - 1);
    static const uint32_t special_bf16[] = { 0, 1, 0x7F, 0x7F80, 0x7FC1, 0x3F80 };
    static const uint32_t special_f16[] = { 0, 1, 0x3FF, 0x7C00, 0x7E01, 0x3C00 };
    static const uint32_t integers_bf16[] = { 0,      0x3F80, 0x4000, 0x4040,
                                              0x4080, 0x40A0, 0x40C0, 0x40E0 };
    static const uint32_t integers_f16[] = { 0,      0x3C00, 0x4000, 0x4200,
                                             0x4400, 0x4500, 0x4600, 0x4700 };
    if (mode == 2)
        return sign | (is_bf16 ? integers_bf16 : integers_f16)[few % 8];
    if (mode == 3 && few < 12)
        return sign | (is_bf16 ? special_bf16 : special_f16)[few % 6];
    const uint32_t spread = mode == 1 ? 9 : 2;
    return sign | (bias - spread + few % (2 * spread)) << shift | fraction;
}

static uint32_t draw_float(uint64_t bits, int mode)
{
    if (mode == 2) {
        const float value = (float)((int)(bits % 101) - 50);
        uint32_t word;
        memcpy(&word, &value, 4);
        return word;
    }
    const uint32_t spread = mode == 1 ? 16 : 3;
    return (uint32_t)(bits & 1) << 31 |
           (127 - spread + (uint32_t)(bits >> 8 & 0xFF) % (2 * spread)) << 23 |
           (uint32_t)(bits >> 32 & 0x7FFFFF);
}

static uint32_t draw_word(int which, int n_case, int lane, unsigned i, uint64_t bits)
{
    const bool is_bf16 = which == MMA_BF16;
    const int mode = n_case % 4;
    if (which == MMA_BF16 || which == MMA_F16)
        return i < 4 ? draw_float(bits, mode)
                     : draw_half(bits, mode, is_bf16) | draw_half(bits >> 32, mode, is_bf16) << 16;
    if (which == FAST_EXP) {
        const float x = -(float)(bits % 90000) / 1000.0f;
        uint32_t word;
        memcpy(&word, &x, 4);
        return mode == 3 && lane == 0 ? 0xFF800000u : word; /* minus infinity */
    }
    if (which == COPY16 && i == 4)
        return (uint32_t)(bits % 17);
    if (which == COPY8 && i == 2)
        return (uint32_t)(bits % 9);
    if (which == COPY4 && i == 1)
        return (uint32_t)(bits % 5);
    return (uint32_t)bits;
}

static std::vector<uint32_t> draw_inputs(int which)
{
    const unsigned n_in = functions[which].n_in;
    std::vector<uint32_t> in((size_t)CASES * LANES * n_in);
    for (int c = 0; c < CASES; c++)
        for (int lane = 0; lane < LANES; lane++)
            for (unsigned i = 0; i < n_in; i++) {
                const size_t at = ((size_t)c * LANES + (size_t)lane) * n_in + i;
                in[at] = draw_word(which, c, lane, i, rng_at(SEED, (uint64_t)which, at));
            }
    return in;
}

/* ---- The file. ---- */

struct head {
    char magic[8];
    uint32_t version, n_records;
    char chip[64];
};
struct record {
    char name[32];
    uint32_t n_cases, n_in, n_out;
};

static bool write_record(FILE *file, int which)
{
    const std::vector<uint32_t> in = draw_inputs(which);
    std::vector<uint32_t> out((size_t)CASES * LANES * functions[which].n_out);
    record r = {};
    snprintf(r.name, sizeof r.name, "%s", functions[which].name);
    r.n_cases = CASES;
    r.n_in = functions[which].n_in;
    r.n_out = functions[which].n_out;
    return run_cases(which, in.data(), out.data(), CASES) && fwrite(&r, sizeof r, 1, file) == 1 &&
           fwrite(in.data(), 4, in.size(), file) == in.size() &&
           fwrite(out.data(), 4, out.size(), file) == out.size();
}

bool vectors_write(const char *path, const char *chip)
{
    FILE *file = fopen(path, "wb");
    if (file == NULL) {
        fprintf(stderr, "vectors: %s can't be written\n", path);
        return false;
    }
    head h = { { 'S', 'H', 'O', 'A', 'L', 'P', 'T', 'X' }, VERSION, N_FUNCTIONS, {} };
    snprintf(h.chip, sizeof h.chip, "%s", chip);
    bool is_written = fwrite(&h, sizeof h, 1, file) == 1;
    for (int which = 0; which < N_FUNCTIONS && is_written; which++)
        is_written = write_record(file, which);
    return fclose(file) == 0 && is_written;
}

/* ---- Comparing. ---- */

/* The sum of magnitudes of D[row][column]: the start, and 16 products. in: a warp's registers. */
static double magnitude_of(const uint32_t *in, int row, int column, bool is_bf16)
{
    double sum = 0;
    float start;
    const int owner = row % 8 * 4 + column / 2;
    memcpy(&start, &in[owner * 10 + row / 8 * 2 + column % 2], 4);
    sum = std::fabs((double)start);
    for (int k = 0; k < 16; k++) {
        const uint32_t a = in[(row % 8 * 4 + k % 8 / 2) * 10 + 4 + row / 8 + k / 8 * 2];
        const uint32_t b = in[(column * 4 + k % 8 / 2) * 10 + 8 + k / 8];
        const uint16_t x = (uint16_t)(a >> (k % 2 * 16)), y = (uint16_t)(b >> (k % 2 * 16));
        float fx = half_to_float(x), fy = half_to_float(y);
        if (is_bf16) {
            const uint32_t wx = (uint32_t)x << 16, wy = (uint32_t)y << 16;
            memcpy(&fx, &wx, 4);
            memcpy(&fy, &wy, 4);
        }
        sum += std::fabs((double)fx * (double)fy);
    }
    return sum;
}

/* How far a float may be from its twin's; 0: the bits are equal. in: the registers of its warp. */
static double bound_of(int which, int n_case, const uint32_t *in, int lane, unsigned i)
{
    if (which == FAST_EXP) {
        float x;
        memcpy(&x, &in[lane], 4);
        const double e = std::exp((double)x);
        return std::isinf(x) ? 0 : e * (3 + 1.2 * std::fabs((double)x)) * 0x1p-23 + 0x1p-126;
    }
    if (which != MMA_BF16 && which != MMA_F16)
        return 0;
    if (n_case % 4 == 2)
        return 0x1p-149; /* equal numbers: a zero may have either sign */
    const int row = lane / 4 + (i >= 2 ? 8 : 0), column = lane % 4 * 2 + (int)(i % 2);
    return 16 * 0x1p-23 * magnitude_of(in, row, column, which == MMA_BF16);
}

static bool is_right(uint32_t want, uint32_t got, double bound, double *share)
{
    float w, g;
    if (want == got)
        return true;
    memcpy(&w, &want, 4);
    memcpy(&g, &got, 4);
    if (bound == 0)
        return false;
    if (std::isnan(w) || std::isnan(g))
        return std::isnan(w) && std::isnan(g);
    if (std::isinf(w) || std::isinf(g))
        return w == g;
    const double error = std::fabs((double)w - (double)g);
    *share = std::fmax(*share, error / bound);
    return error <= bound;
}

static long compare_record(int which, const std::vector<uint32_t> &in,
                           const std::vector<uint32_t> &want, unsigned n_cases)
{
    const unsigned n_in = functions[which].n_in, n_out = functions[which].n_out;
    std::vector<uint32_t> got(want.size());
    long n_wrong = 0, n_differ = 0;
    double share = 0;
    if (!run_cases(which, in.data(), got.data(), n_cases))
        return (long)want.size();
    for (size_t at = 0; at < want.size(); at++) {
        const size_t n_case = at / (LANES * n_out), lane = at / n_out % LANES;
        const uint32_t *warp = in.data() + n_case * LANES * n_in;
        const double bound = bound_of(which, (int)n_case, warp, (int)lane, (unsigned)(at % n_out));
        n_differ += want[at] != got[at];
        if (is_right(want[at], got[at], bound, &share))
            continue;
        if (n_wrong++ == 0)
            printf("  %s: case %d, lane %d, word %d is %08x in the file and %08x here\n",
                   functions[which].name, (int)n_case, (int)lane, (int)(at % n_out), want[at],
                   got[at]);
    }
    printf("  %-26s %6zu words, %ld wrong, %ld of other bits, at most %.3f of the bound\n",
           functions[which].name, want.size(), n_wrong, n_differ, share);
    return n_wrong;
}

static long compare_open(FILE *file, const char *path)
{
    head h;
    long n_wrong = 0;
    if (fread(&h, sizeof h, 1, file) != 1 || memcmp(h.magic, "SHOALPTX", 8) != 0 ||
        h.version != VERSION || h.n_records != N_FUNCTIONS)
        return -1;
    h.chip[sizeof h.chip - 1] = '\0';
    printf("%s, written on %s:\n", path, h.chip);
    for (int which = 0; which < N_FUNCTIONS; which++) {
        record r;
        if (fread(&r, sizeof r, 1, file) != 1 ||
            strncmp(r.name, functions[which].name, sizeof r.name) != 0 || r.n_cases > 4096 ||
            r.n_in != functions[which].n_in || r.n_out != functions[which].n_out)
            return -1;
        std::vector<uint32_t> in((size_t)r.n_cases * LANES * r.n_in);
        std::vector<uint32_t> out((size_t)r.n_cases * LANES * r.n_out);
        if (fread(in.data(), 4, in.size(), file) != in.size() ||
            fread(out.data(), 4, out.size(), file) != out.size())
            return -1;
        n_wrong += compare_record(which, in, out, r.n_cases);
    }
    return n_wrong;
}

long vectors_compare(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return -1;
    const long n_wrong = compare_open(file, path);
    fclose(file);
    return n_wrong;
}
