/* The choice of experts, against a full sort; with equal logits, and logits that are not numbers.
 */
#include "test.h"

#include "base/rng.h"
#include "compute/experts.h"
#include <math.h>

enum { N_MAX = 64, N_CASES = 2000 };

/* Returns whether expert a comes before expert b: NaN is lowest, and of equal ones the first. */
static bool is_before(const float *logits, int32_t a, int32_t b)
{
    bool a_is_nan = isnan(logits[a]), b_is_nan = isnan(logits[b]);
    if (a_is_nan != b_is_nan)
        return b_is_nan;
    if (!a_is_nan && logits[a] != logits[b])
        return logits[a] > logits[b];
    return a < b;
}

static void check_case(struct rng *rng, bool is_scaled)
{
    float logits[N_MAX], shares[N_MAX], got[N_MAX], sum = 0;
    int32_t chosen[N_MAX], n = 1 + (int32_t)rng_below(rng, N_MAX);
    int32_t n_used = 1 + (int32_t)rng_below(rng, (uint32_t)n), n_expected = 0;
    for (int32_t i = 0; i < n; i++) {
        uint32_t kind = rng_below(rng, 8);
        logits[i] = kind == 0   ? NAN
                    : kind == 1 ? INFINITY
                    : kind < 5  ? (float)rng_below(rng, 3)
                                : (float)rng_normal(rng);
        shares[i] = (float)rng_unit(rng);
    }
    const struct compute_experts experts = { n, n_used, is_scaled };
    compute_experts_choose(&experts, logits, shares, chosen, got);
    for (int32_t i = 0; i < n_used; i++)
        sum += shares[chosen[i]];
    for (int32_t id = 0; id < n; id++) {
        int32_t n_better = 0;
        for (int32_t other = 0; other < n; other++)
            n_better += other != id && is_before(logits, other, id);
        if (n_better >= n_used)
            continue;
        assert_int_equal(chosen[n_expected], id); /* ascending */
        assert_true(got[n_expected] == (is_scaled ? shares[id] / sum : shares[id]));
        n_expected++;
    }
    assert_int_equal(n_expected, n_used);
}

static void chooses_the_highest(void **state)
{
    struct rng rng;
    (void)state;
    rng_init(&rng, test_seed(71), 0);
    for (int i = 0; i < N_CASES; i++)
        check_case(&rng, i % 2 == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(chooses_the_highest) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
