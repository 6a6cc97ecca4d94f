/* Finds the instruction sets of this processor, and the table of kernels for each. */
#include "cpu/cpu.h"
#include "cpu/kernels.h"
#include "cpu/limits_loops.h"

#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

static const char *const names[CPU_ISA_N] = { "generic", "avx2", "avx512", "zen4", "amx" };

const char *cpu_isa_name(enum cpu_isa isa)
{
    CHECK((int)isa >= 0 && isa < CPU_ISA_N);
    return names[isa];
}

#if defined(__x86_64__)
/* Returns the state that the operating system saves: bits of XCR0. */
static uint64_t saved_state(void)
{
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t)high << 32 | low;
}

static bool has_bits(uint32_t value, uint32_t bits)
{
    return (value & bits) == bits;
}

static bool is_amd(void)
{
    uint32_t a, b, c, d;
    return __get_cpuid(0, &a, &b, &c, &d) && b == signature_AMD_ebx && c == signature_AMD_ecx &&
           d == signature_AMD_edx;
}

static enum cpu_isa detect(void)
{
    enum { OSXSAVE = 1 << 27, FMA = 1 << 12, F16C = 1 << 29, AVX = 1 << 28 };
    enum { AVX2 = 1 << 5, F = 1 << 16, DQ = 1 << 17, BW = 1 << 30, VNNI = 1 << 11, VBMI = 1 << 1 };
    enum { GFNI = 1 << 8, AVX512_BF16 = 1 << 5, TILE_STATE = 3 << 17 };
    enum { TILE_BF16 = 1 << 22, TILE = 1 << 24, TILE_INT8 = 1 << 25 };
    const uint32_t vl = UINT32_C(1) << 31;
    uint32_t a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !has_bits(c, OSXSAVE | FMA | F16C | AVX))
        return CPU_ISA_GENERIC;
    uint64_t saved = saved_state();
    if ((saved & 6) != 6 || !__get_cpuid_count(7, 0, &a, &b, &c, &d) || !has_bits(b, AVX2))
        return CPU_ISA_GENERIC;
    bool has_512 = has_bits(b, F | DQ | BW | vl) && has_bits(c, VNNI | VBMI | GFNI);
    if (!has_512 || (saved & 0xE0) != 0xE0)
        return CPU_ISA_AVX2;
    if (is_amd())
        return CPU_ISA_ZEN4;
    bool has_tiles = CPU_HAS_AMX && has_bits(d, TILE | TILE_INT8 | TILE_BF16) &&
                     __get_cpuid_count(7, 1, &a, &b, &c, &d) && has_bits(a, AVX512_BF16);
    return has_tiles && (saved & TILE_STATE) == TILE_STATE ? CPU_ISA_AMX : CPU_ISA_AVX512;
}

/* Asks the system for tiles, for all threads of the process. A signal's frame grows by 8 KiB while
 * one is in use. */
static bool may_use_tiles(void)
{
    enum { ARCH_REQ_XCOMP_PERM = 0x1023, TILE_DATA = 18 };
    return syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, TILE_DATA) == 0;
}
#else
static enum cpu_isa detect(void)
{
    return CPU_ISA_GENERIC;
}
static bool may_use_tiles(void)
{
    return false;
}
#endif

enum cpu_isa cpu_isa_best(void)
{
    enum cpu_isa best = detect();
    const char *wish = getenv("SHOAL_CPU_ISA");
    for (int isa = 0; wish != NULL && isa < (int)best; isa++)
        if (strcmp(wish, names[isa]) == 0)
            return (enum cpu_isa)isa;
    return best == CPU_ISA_AMX && !may_use_tiles() ? CPU_ISA_AVX512 : best;
}

static void take(const struct cpu_kernels *from, struct cpu_kernels *to)
{
    to->name = from->name != NULL ? from->name : to->name;
    if (from->group != NULL || from->matmul[DTYPE_Q8_0] != NULL) { /* matrices bring their own */
        to->group = from->group;
        to->group_bytes = from->group_bytes;
    }
    to->split_bytes = from->split != NULL ? from->split_bytes : to->split_bytes;
    for (int i = 0; i < DTYPE_N; i++) {
        if (from->matmul_many[i] != NULL)
            to->matmul_many[i] = from->matmul_many[i];
        /* The table that multiplies a type has its wide form too, or none. Wide forms may come
         * alone. */
        if (from->matmul[i] == NULL && from->widen[i] == NULL)
            continue;
        to->widen[i] = from->widen[i];
        to->matmul_wide[i] = from->matmul_wide[i];
        to->wide_rows_min[i] = from->wide_rows_min[i];
        if (from->matmul[i] == NULL)
            continue;
        to->matmul[i] = from->matmul[i];
        to->is_split[i] = from->is_split[i];
    }
#define TAKE(kernel) to->kernel = from->kernel != NULL ? from->kernel : to->kernel
    TAKE(split);
    TAKE(quantize);
    TAKE(norm);
    TAKE(rotate_halves);
    TAKE(rotate_pairs);
    TAKE(act);
    TAKE(multiply);
    TAKE(cap);
    TAKE(swiglu_clamped);
    TAKE(add);
    TAKE(add_scaled);
    TAKE(scale);
    TAKE(to_half);
    TAKE(scores);
    TAKE(scores_q8_0);
    TAKE(softmax);
    TAKE(mix);
    TAKE(merge);
    TAKE(draw);
#undef TAKE
}

/* Takes only the kernels for packed panels; wide forms stay. */
static void take_packed(const struct cpu_kernels *from, struct cpu_kernels *to)
{
    to->name = from->name;
    to->walks_whole = from->walks_whole;
    for (int i = 0; i < DTYPE_N; i++)
        if (from->matmul[i] != NULL)
            to->matmul[i] = from->matmul[i];
}

void cpu_isa_kernels(enum cpu_isa isa, struct cpu_kernels *out)
{
    *out = cpu_generic;
#if defined(__x86_64__)
    if (isa >= CPU_ISA_AVX2) {
        take(&cpu_avx2, out);
        take(&cpu_avx2_float, out);
        take(&cpu_avx2_matmul, out);
        take(&cpu_avx2_wide, out);
        take(&cpu_avx2_attend, out);
    }
    if (isa >= CPU_ISA_AVX512) {
        take(&cpu_avx512, out);
        take(&cpu_avx512_attend, out);
        take(&cpu_avx512_float, out);
        take(&cpu_avx512_matmul, out);
    }
    if (isa == CPU_ISA_ZEN4) {
        take(&cpu_zen4_float, out);
        take_packed(&cpu_zen4_matmul, out);
    }
#if CPU_HAS_AMX
    if (isa >= CPU_ISA_AMX) {
        take(&cpu_amx_half, out);
        take(&cpu_amx_matmul, out);
    }
#endif
#else
    (void)isa;
    (void)take;
    (void)take_packed;
#endif
}

static void take_limits(const struct cpu_limits_loops *from, struct cpu_limits_loops *to)
{
    to->read = from->read != NULL ? from->read : to->read;
    for (int i = 0; i < CPU_LIMIT_N; i++)
        to->peaks[i] = from->peaks[i].run != NULL ? from->peaks[i] : to->peaks[i];
}

void cpu_isa_limits(enum cpu_isa isa, struct cpu_limits_loops *out)
{
    *out = cpu_limits_generic;
#if defined(__x86_64__)
    if (isa >= CPU_ISA_AVX2)
        take_limits(&cpu_limits_avx2, out);
    if (isa >= CPU_ISA_AVX512)
        take_limits(&cpu_limits_avx512, out);
#if CPU_HAS_AMX
    if (isa >= CPU_ISA_AMX)
        take_limits(&cpu_limits_amx, out);
#endif
#else
    (void)isa;
    (void)take_limits;
#endif
}
