/* One table of loops per instruction set, for limits.c. isa.c chooses. */
#pragma once
#include "cpu/cpu.h"
#include "cpu/limits.h"

struct cpu_limits_loop {
    int64_t (*run)(int n_rounds); /* returns the number of operations */
    const char *instructions;
};
struct cpu_limits_loops {
    uint64_t (*read)(const unsigned char *from, int64_t n); /* 32-byte aligned */
    struct cpu_limits_loop peaks[CPU_LIMIT_N];
};
extern const struct cpu_limits_loops cpu_limits_avx2, cpu_limits_avx512, cpu_limits_amx;
/* Compiled code without special instructions: limits.c. */
extern const struct cpu_limits_loops cpu_limits_generic;
extern volatile float cpu_limits_sink; /* keeps results from being optimized away */
/* Sets the best loops of this instruction set: its own, else those of the set below. */
void cpu_isa_limits(enum cpu_isa isa, struct cpu_limits_loops *out);
