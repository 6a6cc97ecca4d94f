/* What a pass has to do at least: its operations, the bytes that it must read, and how long this
 * machine needs for that. Arithmetic alone; roofline.h measures. */
#pragma once
#include "compute/compute.h"
#include "cpu/limits.h"

enum roofline_kind { ROOFLINE_PREFILL, ROOFLINE_DECODE, ROOFLINE_ATTENTION };

/* A pass in which each of n_sequences computes n_new tokens behind n_before. */
struct roofline_point {
    enum roofline_kind kind;
    int32_t n_sequences, n_new, n_before;
};

struct roofline_speeds {
    double read;              /* bytes per second, of the footprint in question */
    double peak[CPU_LIMIT_N]; /* operations per second */
};

struct roofline_limit {
    double ops, bytes;   /* of the whole pass; a multiplication and an addition count 2 */
    double composite_s;  /* the larger of each operation's own arithmetic and bytes, summed */
    double larger_s;     /* the larger of all arithmetic and all bytes, as if all overlapped */
    double arithmetic_s; /* all arithmetic, each at its own peak */
};

/* Returns the peak for a matrix of this type. Floats use fused multiply-add. Small integers (4 bits
 * and less, whose products may be summed in 16 bits) differ from other integers. */
enum cpu_limit roofline_work_peak_of(enum dtype dtype);

/* Computes the limit of a pass of the program. tensors: (program->n_weights) as in the file; their
 * bytes count, not the packed ones. Matrices, keys and values count. Norms, rotations and similar
 * work do not, so that the time left for these and for waiting shows. kv_bytes: of one element. */
void roofline_work_limit_of(const struct compute_program *program,
                            const struct tensor *const *tensors, const struct roofline_point *point,
                            int kv_bytes, const struct roofline_speeds *speeds,
                            struct roofline_limit *out);

/* Returns the reached part of the limit, in seconds of a pass. Prompts use the composite limit;
 * decodes and attention use the larger of arithmetic and bytes. */
double roofline_work_fraction(const struct roofline_point *point,
                              const struct roofline_limit *limit, double s);
/* Returns the tokens that the pass makes: prompt tokens, or one per sequence. */
int32_t roofline_work_tokens(const struct roofline_point *point);
double roofline_work_median(const double *values, int n); /* 0 of none; values stay as they are */
