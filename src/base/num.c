/* Own exp and log: argument reduction and a polynomial, in double, every operation rounded once.
 *
 * exp: x = k ln2 + r, |r| <= ln2 / 2, Taylor to r^13 (remainder 4e-18), then an exact scaling by
 * 2^k. Log: x = 2^k m with m in [sqrt(1/2), sqrt(2)), and log m = 2 artanh((m - 1) / (m + 1)) as a
 * series (remainder 1e-19). The constant ln2 is split so that k times its high part is exact. */
#include "base/num.h"
#include <string.h>

#define NUM_LN2_HIGH 0x1.62e42fee00000p-1
#define NUM_LN2_LOW  0x1.a39ef35793c76p-33

static uint64_t bits_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof(bits));
    return bits;
}

static double of_bits(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof(x));
    return x;
}

static double power_of_two(int k) /* -1022 <= k <= 1023 */
{
    return of_bits((uint64_t)(k + 1023) << 52);
}

/* Even and odd terms in two chains side by side, which halves the latency of one. */
static double evaluate(const double (*pairs)[2], size_t n, double x)
{
    double even = pairs[0][0], odd = pairs[0][1], square = x * x;
    for (size_t i = 1; i < n; i++) {
        even = even * square + pairs[i][0];
        odd = odd * square + pairs[i][1];
    }
    return even + x * odd;
}

double num_exp(double x)
{
    static const double pairs[][2] = {
        /* 1 / 12!, 1 / 13! and so on down to 1 / 0!, 1 / 1! */
        { 1.0 / 479001600, 1.0 / 6227020800 },
        { 1.0 / 3628800, 1.0 / 39916800 },
        { 1.0 / 40320, 1.0 / 362880 },
        { 1.0 / 720, 1.0 / 5040 },
        { 1.0 / 24, 1.0 / 120 },
        { 1.0 / 2, 1.0 / 6 },
        { 1.0, 1.0 },
    };
    if (x != x)
        return x;
    if (x > 0x1.62e42fefa39efp+9)
        return of_bits(UINT64_C(0x7FF) << 52);
    if (x < -745.0)
        return 0;
    double k = num_floor(x * 0x1.71547652b82fep0 + 0.5);
    double r = (x - k * NUM_LN2_HIGH) - k * NUM_LN2_LOW;
    double sum = evaluate(pairs, COUNT_OF(pairs), r);
    int scale = (int)k;
    if (scale < -1000) /* towards subnormal results: rounded once, by the last product */
        return sum * power_of_two(scale + 100) * power_of_two(-100);
    return sum * power_of_two(scale / 2) * power_of_two(scale - scale / 2);
}

double num_log(double x)
{
    static const double pairs[][2] = {
        /* 1 / 23, 1 / 25 and so on down to 1 / 3, 1 / 5: artanh's series after its first term */
        { 1.0 / 23, 1.0 / 25 }, { 1.0 / 19, 1.0 / 21 }, { 1.0 / 15, 1.0 / 17 },
        { 1.0 / 11, 1.0 / 13 }, { 1.0 / 7, 1.0 / 9 },   { 1.0 / 3, 1.0 / 5 },
    };
    if (!(x > 0))
        return x == 0 ? -of_bits(UINT64_C(0x7FF) << 52) : of_bits(UINT64_C(0xFFF) << 51);
    if (x > 0x1.fffffffffffffp+1023)
        return x;
    int k = 0;
    if (x < 0x1p-1022) {
        x *= 0x1p54;
        k = -54;
    }
    uint64_t bits = bits_of(x);
    k += (int)(bits >> 52) - 1023;
    double m = of_bits((bits & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1023) << 52);
    if (m > 0x1.6a09e667f3bcdp0) {
        m *= 0.5;
        k++;
    }
    double f = m - 1, s = f / (m + 1), z = s * s;
    double sum = z * evaluate(pairs, COUNT_OF(pairs), z);
    /* 2 artanh(s) = f - s (f - 2 sum), which keeps f exact: log(1 + f) is close to f. */
    double log_m = f - s * (f - 2 * sum);
    return k * NUM_LN2_HIGH + (log_m + k * NUM_LN2_LOW);
}

double num_pow(double x, double y)
{
    return num_exp(y * num_log(x));
}
