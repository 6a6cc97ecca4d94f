/* Sine and cosine in double, without the C library. */
#include "compute/vmath.h"

#define ANGLE_MAX 1048576.0

/* For |r| <= pi / 4 the Taylor series to these degrees are accurate to 1e-16. */
static double sine_of(double r)
{
    double z = r * r, p = -1.0 / 1307674368000.0;
    p = p * z + 1.0 / 6227020800.0;
    p = p * z - 1.0 / 39916800.0;
    p = p * z + 1.0 / 362880.0;
    p = p * z - 1.0 / 5040.0;
    p = p * z + 1.0 / 120.0;
    p = p * z - 1.0 / 6.0;
    return r + r * (p * z);
}

static double cosine_of(double r)
{
    double z = r * r, p = 1.0 / 20922789888000.0;
    p = p * z - 1.0 / 87178291200.0;
    p = p * z + 1.0 / 479001600.0;
    p = p * z - 1.0 / 3628800.0;
    p = p * z + 1.0 / 40320.0;
    p = p * z - 1.0 / 720.0;
    p = p * z + 1.0 / 24.0;
    p = p * z - 0.5;
    return 1.0 + p * z;
}

void vmath_sincos(double angle, float *sine, float *cosine)
{
    if (!(angle >= -ANGLE_MAX && angle <= ANGLE_MAX)) { /* true for NaN too */
        *sine = *cosine = vmath_of_bits(0x7FC00000u);
        return;
    }
    double magnitude = angle < 0 ? -angle : angle;
    int64_t n = (int64_t)(magnitude * 0.63661977236758134308 + 0.5); /* quarter turns */
    /* pi / 2 in two parts; n times the first, of 33 bits, is exact. */
    double r = magnitude - (double)n * 1.57079632673412561417e+00;
    r -= (double)n * 6.07710050650619224932e-11;
    double s = sine_of(r), c = cosine_of(r);
    double quarter_s = n & 1 ? c : s, quarter_c = n & 1 ? s : c;
    quarter_s = n & 2 ? -quarter_s : quarter_s;
    quarter_c = (n + 1) & 2 ? -quarter_c : quarter_c;
    *sine = (float)(angle < 0 ? -quarter_s : quarter_s);
    *cosine = (float)quarter_c;
}
