/* One matrix, multiplied through a whole backend (barriers included), timed. */
#pragma once
#include "compute/packed.h"
#include "core/device.h"
#include "cpu/cpu.h"

enum { ONE_MATMUL_COLUMNS = 2048, ONE_MATMUL_ROWS = 512, ONE_MATMUL_OUTPUTS = 32768 };

struct one_matmul {
    struct compute_device *device;
    struct device_spec spec;
    struct compute_packed packed; /* of the calls that follow: input and weight */
    float *logits;
    int32_t ids[ONE_MATMUL_ROWS], rows[ONE_MATMUL_ROWS], positions[ONE_MATMUL_ROWS];
};

void one_matmul_open(struct one_matmul *m, enum cpu_isa isa, int n_threads);
void one_matmul_close(struct one_matmul *m);
/* The matrix of the calls that follow: n_outputs rows of ONE_MATMUL_COLUMNS. */
void one_matmul_pack(struct one_matmul *m, enum dtype dtype, int32_t n_outputs);
void one_matmul_unpack(struct one_matmul *m);
/* Seconds that it takes with n_rows rows of activations. With more than 64 rows the mean of several
 * products in one pass. */
double one_matmul_time(struct one_matmul *m, int32_t n_outputs, int32_t n_rows);
double one_matmul_median(double *values, int n); /* sorts them */
