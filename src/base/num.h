/* Own exp, log and friends in double: the same bits on every machine and compiler (no libm, no
 * contraction). */
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
double num_floor(double x);
