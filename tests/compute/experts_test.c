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
    const struct compute_experts experts = { .n_experts = n,
                                             .n_used = n_used,
                                             .is_scaled_to_one = is_scaled };
    compute_experts_choose(&experts, logits, NULL, shares, chosen, got);
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

/* As the library's code has it: groups by their two best, then experts by share + bias. */
static void groups_and_a_bias_determine_the_choice(void **state)
{
    const struct compute_experts experts = { .n_experts = 6,
                                             .n_used = 2,
                                             .is_scaled_to_one = true,
                                             .is_sigmoid = true,
                                             .n_groups = 3,
                                             .n_groups_used = 1,
                                             .scale = 2.5f };
    const float logits[6] = { 9, 9, 9, 9, 9, 9 }; /* they do not matter beside a bias */
    const float shares[6] = { 0.9f, 0.1f, 0.5f, 0.6f, 0.2f, 0.3f };
    const float none[6] = { 0 }, bias[6] = { 0, 0, 0, 0, 0.5f, 0.25f };
    int32_t chosen[2];
    float got[2];
    (void)state;
    compute_experts_choose(&experts, logits, none, shares, chosen, got);
    assert_int_equal(chosen[0], 2); /* 0.5 + 0.6 is more than 0.9 + 0.1 */
    assert_int_equal(chosen[1], 3);
    assert_true(got[0] == 0.5f / (0.5f + 0.6f + 1e-20f) * 2.5f);
    compute_experts_choose(&experts, logits, bias, shares, chosen, got);
    assert_int_equal(chosen[0], 4);
    assert_int_equal(chosen[1], 5);
    assert_true(got[1] == 0.3f / (0.2f + 0.3f + 1e-20f) * 2.5f); /* shares without their bias */
    struct compute_experts by_best = experts;
    by_best.is_group_by_best = true;
    compute_experts_choose(&by_best, logits, none, shares, chosen, got);
    assert_int_equal(chosen[0], 0); /* 0.9 is more than 0.6 */
    assert_int_equal(chosen[1], 1);
}

/* Sums of two sigmoids have another order than sums of two logits. */
static void groups_count_by_shares_without_a_bias(void **state)
{
    const struct compute_experts experts = {
        .n_experts = 4, .n_used = 1, .is_sigmoid = true, .n_groups = 2, .n_groups_used = 1
    };
    const float logits[4] = { 9.0f, -3.0f, 2.0f, 2.0f };
    const float shares[4] = { 0.9999f, 0.0474f, 0.8808f, 0.8808f };
    const float none[4] = { 0 };
    int32_t chosen;
    float got;
    (void)state;
    compute_experts_choose(&experts, logits, none, shares, &chosen, &got);
    assert_int_equal(chosen, 2); /* 1.76 is more than 1.05 */
    compute_experts_choose(&experts, logits, NULL, shares, &chosen, &got);
    assert_int_equal(chosen, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chooses_the_highest),
        cmocka_unit_test(groups_and_a_bias_determine_the_choice),
        cmocka_unit_test(groups_count_by_shares_without_a_bias),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
