/* Own exp, log and related functions in double, with the same bits on every machine and compiler
 * (no libm, no contraction). */
#pragma once
#include "base/base.h"

double num_exp(
    double x); /* relative error < 2e-15 where finite; 0 below -745, infinity above 709.78 */
double num_log(double x);               /* x > 0 */
double num_pow(double x, double y);     /* x > 0; relative error < 2e-15 max(1, |y log x|) */
static inline double num_sqrt(double x) /* correctly rounded: the hardware's */
{
    return __builtin_sqrt(x);
}
static inline double num_floor(double x)
{
    if (!(x > -0x1p52 && x < 0x1p52))
        return x; /* already whole, or not a number */
    double whole = (double)(int64_t)x;
    return whole > x ? whole - 1 : whole == x ? x : whole;
}
