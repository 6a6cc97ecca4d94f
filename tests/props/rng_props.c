/* The random numbers look random in every direction: bits, bytes, neighbours in counter, stream and
 * seed. */
#include "test.h"
#include "base/rng.h"
#include <math.h>

/* Returns the tail of chi-square in standard deviations (Wilson and Hilferty). */
static double chi2_sigma(double chi2, double freedom)
{
    return (cbrt(chi2 / freedom) - (1 - 2 / (9 * freedom))) / sqrt(2 / (9 * freedom));
}

static uint64_t draw(int axis, uint64_t seed, uint64_t i)
{
    return axis == 0 ? rng_at(seed, 0, i) : axis == 1 ? rng_at(seed, i, 0) : rng_at(i, 0, seed);
}

static void test_bytes_are_equidistributed(void **state)
{
    (void)state;
    enum { N_DRAWS = 100000 };
    uint64_t seed = test_seed(1);
    for (int axis = 0; axis < 3; axis++) {
        for (int byte = 0; byte < 8; byte++) {
            uint32_t counts[256] = { 0 };
            for (uint64_t i = 0; i < N_DRAWS; i++)
                counts[draw(axis, seed, i) >> (8 * byte) & 0xFF]++;
            double chi2 = 0, wanted = N_DRAWS / 256.0;
            for (int i = 0; i < 256; i++)
                chi2 += (counts[i] - wanted) * (counts[i] - wanted) / wanted;
            assert_true(fabs(chi2_sigma(chi2, 255)) < 5);
        }
    }
}

static void test_neighbours_are_strangers(void **state)
{
    (void)state;
    enum { N_DRAWS = 20000 };
    uint64_t seed = test_seed(2);
    for (int axis = 0; axis < 3; axis++) {
        uint32_t flips[64] = { 0 };
        for (uint64_t i = 0; i < N_DRAWS; i++) {
            uint64_t change = draw(axis, seed, i) ^ draw(axis, seed, i + 1);
            for (int bit = 0; bit < 64; bit++)
                flips[bit] += change >> bit & 1;
        }
        for (int bit = 0; bit < 64; bit++) /* half of them, within 5.5 deviations */
            assert_true(fabs(flips[bit] - N_DRAWS / 2.0) < 5.5 * sqrt(N_DRAWS / 4.0));
    }
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void test_unit_follows_the_diagonal(void **state)
{
    (void)state;
    enum { N_DRAWS = 50000 };
    static double values[N_DRAWS];
    struct rng rng;
    rng_init(&rng, test_seed(3), 7);
    for (int i = 0; i < N_DRAWS; i++)
        values[i] = rng_unit(&rng);
    qsort(values, N_DRAWS, sizeof(values[0]), compare);
    double distance = 0; /* Kolmogorov and Smirnov */
    for (int i = 0; i < N_DRAWS; i++)
        distance = fmax(distance, fabs(values[i] - (i + 0.5) / N_DRAWS));
    assert_true(distance * sqrt(N_DRAWS) < 2.2); /* p = 0.0001 */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes_are_equidistributed),
        cmocka_unit_test(test_neighbours_are_strangers),
        cmocka_unit_test(test_unit_follows_the_diagonal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
