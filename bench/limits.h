/* What this machine can do at best: measured in the same run as what is compared with it. */
#pragma once
#include "base/base.h"

/* Bytes per second that n pinned threads read from memory, median of windows. */
double limits_read_bandwidth(int n_threads);
/* Operations per second (a multiplication and an addition are 2) of one core in registers; 0 where
 * the processor lacks the instructions. */
double limits_float_peak(void); /* AVX2 fused multiply-add */
double limits_int8_peak(void);  /* vpmaddubsw + vpmaddwd + vpaddd */
