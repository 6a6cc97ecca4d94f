/* Tests of random numbers: known answers and the shapes of the distributions. */
#include "test.h"
#include "base/num.h"
#include "base/rng.h"

static void test_philox_known_answers(void **state)
{
    (void)state;
    /* Random123, kat_vectors, philox4x32 10: the first two words of the answer. */
    assert_true(rng_at(0, 0, 0) == 0xe169c58d6627e8d5u);
    assert_true(rng_at(UINT64_MAX, UINT64_MAX, UINT64_MAX) == 0x41c83b0e408f276du);
    assert_true(rng_at(0x299f31d0a4093822u, 0x0370734413198a2eu, 0x85a308d3243f6a88u) ==
                0x94fdccebd16cfe09u);
}

static void test_a_walk_is_its_stream(void **state)
{
    (void)state;
    struct rng rng;
    rng_init(&rng, 7, 9);
    for (uint64_t i = 0; i < 10; i++)
        assert_true(rng_u64(&rng) == rng_at(7, 9, i));
    assert_int_equal(rng.counter, 10);
}

static void test_below_is_uniform(void **state)
{
    (void)state;
    struct rng rng;
    rng_init(&rng, test_seed(3), 0);
    uint32_t counts[10] = { 0 };
    for (int i = 0; i < 100000; i++)
        counts[rng_below(&rng, 10)]++;
    double chi2 = 0;
    for (int i = 0; i < 10; i++)
        chi2 += (counts[i] - 1e4) * (counts[i] - 1e4) / 1e4;
    assert_true(chi2 < 33.7); /* 9 degrees of freedom, p = 0.0001 */
    assert_int_equal(rng_below(&rng, 1), 0);
    for (int i = 0; i < 1000; i++)
        assert_true(rng_below(&rng, 0x80000001u) <= 0x80000000u);
}

struct moments {
    double mean, variance, min;
};

static struct moments measure(double (*draw)(struct rng *rng, double a), double a)
{
    enum { N_DRAWS = 200000 };
    struct rng rng;
    rng_init(&rng, 11, (uint64_t)(a * 1000));
    double sum = 0, squares = 0, min = 1e300;
    for (int i = 0; i < N_DRAWS; i++) {
        double x = draw(&rng, a);
        sum += x;
        squares += x * x;
        min = x < min ? x : min;
    }
    double mean = sum / N_DRAWS;
    return (struct moments){ mean, squares / N_DRAWS - mean * mean, min };
}

static double draw_unit(struct rng *rng, double a)
{
    return rng_unit(rng) * a;
}
static double draw_exponential(struct rng *rng, double a)
{
    return rng_exponential(rng) * a;
}
static double draw_normal(struct rng *rng, double a)
{
    return rng_normal(rng) * a;
}

static bool is_near(double a, double b, double within)
{
    return a > b - within && a < b + within;
}

static void test_distributions(void **state)
{
    (void)state;
    struct moments m = measure(draw_unit, 1);
    assert_true(is_near(m.mean, 0.5, 0.005) && is_near(m.variance, 1.0 / 12, 0.002) && m.min >= 0);
    m = measure(draw_exponential, 1);
    assert_true(is_near(m.mean, 1, 0.015) && is_near(m.variance, 1, 0.04) && m.min >= 0);
    m = measure(draw_normal, 1);
    assert_true(is_near(m.mean, 0, 0.015) && is_near(m.variance, 1, 0.025));
}

static void test_unit_is_never_one(void **state)
{
    (void)state;
    assert_true(rng_unit_of(UINT64_MAX) < 1 && rng_unit_of(0) == 0);
}

static void test_system_differs(void **state)
{
    (void)state;
    assert_true(rng_system() != rng_system());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_philox_known_answers), cmocka_unit_test(test_a_walk_is_its_stream),
        cmocka_unit_test(test_below_is_uniform),     cmocka_unit_test(test_distributions),
        cmocka_unit_test(test_unit_is_never_one),    cmocka_unit_test(test_system_differs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
