/* K-means: against every assignment of tiny sets, on clear clusters, and the order of clusters. */
#include "../test.h"
#include "base/num.h"
#include "base/rng.h"
#include "workload/kmeans.h"

enum { N_MAX = 8 };

/* The sum of squared distances to the clusters' means, both lengths in their own deviations. */
static double sum_of(const struct workload_pair *pairs, uint32_t n, uint32_t k,
                     const uint32_t *cluster)
{
    double total = 0;
    for (int of_output = 0; of_output < 2; of_output++) {
        double v[4096], sum = 0, squares = 0;
        for (uint32_t i = 0; i < n; i++) {
            v[i] = of_output ? pairs[i].n_output : pairs[i].n_prompt;
            sum += v[i];
            squares += v[i] * v[i];
        }
        double variance = squares / n - sum / n * (sum / n), part = 0;
        for (uint32_t c = 0; c < k; c++) {
            double own = 0, mean = 0;
            for (uint32_t i = 0; i < n; i++)
                if (cluster[i] == c) {
                    own++;
                    mean += v[i];
                }
            for (uint32_t i = 0; i < n; i++)
                if (cluster[i] == c)
                    part += (v[i] - mean / own) * (v[i] - mean / own);
        }
        total += part / (variance > 1e-9 ? variance : 1);
    }
    return total;
}

static double best_of_all(const struct workload_pair *pairs, uint32_t n, uint32_t k)
{
    uint32_t cluster[N_MAX] = { 0 };
    double best = 1e300;
    for (;;) {
        double sum = sum_of(pairs, n, k, cluster);
        best = sum < best ? sum : best;
        uint32_t at = 0;
        while (at < n && ++cluster[at] == k)
            cluster[at++] = 0;
        if (at == n)
            return best;
    }
}

static void tiny_sets_are_split_as_well_as_can_be(void **state)
{
    struct rng rng;
    (void)state;
    rng_init(&rng, test_seed(11), 1);
    for (int round = 0; round < 60; round++) {
        uint32_t n = 3 + rng_below(&rng, N_MAX - 2), k = 1 + rng_below(&rng, 3);
        struct workload_pair pairs[N_MAX];
        uint32_t cluster[N_MAX];
        for (uint32_t i = 0; i < n; i++)
            pairs[i] = (struct workload_pair){ 1 + (int32_t)rng_below(&rng, 100),
                                               1 + (int32_t)rng_below(&rng, 30) };
        double best = best_of_all(pairs, n, k), got = workload_kmeans(pairs, n, k, 1, cluster);
        if (got > best * (1 + 1e-9) + 1e-9)
            fail_msg("round %d: %f, the best is %f", round, got, best);
        double told = sum_of(pairs, n, k, cluster);
        assert_true(told < got * (1 + 1e-9) + 1e-9 && told > got * (1 - 1e-9) - 1e-9);
    }
}

static void clear_clusters_are_found_in_order(void **state)
{
    static struct workload_pair pairs[4096];
    static uint32_t cluster[4096];
    struct rng rng;
    (void)state;
    rng_init(&rng, 5, 1);
    for (int i = 0; i < 4096; i++) {
        int c = (i * 7) % 4; /* prompts about 500, 1500, ...; outputs fall */
        pairs[i] = (struct workload_pair){ 400 + 1000 * c + (int32_t)rng_below(&rng, 200),
                                           900 - 200 * c + (int32_t)rng_below(&rng, 50) };
    }
    workload_kmeans(pairs, 4096, 4, 9, cluster);
    for (int i = 0; i < 4096; i++)
        assert_int_equal(cluster[i], (i * 7) % 4);
}

static void equal_points_make_one_cluster(void **state)
{
    static const struct workload_pair pairs[] = { { 5, 5 }, { 5, 5 }, { 5, 5 }, { 9, 5 } };
    uint32_t cluster[4];
    (void)state;
    assert_true(workload_kmeans(pairs, 4, 3, 1, cluster) < 1e-12);
    assert_true(cluster[0] == 0 && cluster[1] == 0 && cluster[2] == 0 && cluster[3] == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tiny_sets_are_split_as_well_as_can_be),
        cmocka_unit_test(clear_clusters_are_found_in_order),
        cmocka_unit_test(equal_points_make_one_cluster),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
