/* A sum of products of bfloat16 as matrix units compute it: COMPUTE_ARITHMETIC_CPU_TILES of
 * compute.h in plain C. */
#pragma once
#include "base/base.h"

/* Returns acc + the products of n weights, each of which was an F16 (is_f16) or a BF16, with n
 * floats. */
float halves_add(float acc, const float *w, bool is_f16, const float *x, int32_t n);
