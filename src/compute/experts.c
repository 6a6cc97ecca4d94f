/* Keeps the best experts so far in order, best first. */
#include "compute/experts.h"

#include <math.h>

/* NaN is lowest, so that a row always uses n_used unlike experts. */
static bool is_higher(float a, float b)
{
    return a > b || (isnan(b) && !isnan(a));
}

/* Moves the last of n ids to its place. */
static void sort_last(int32_t *ids, int32_t n, const float *logits)
{
    int32_t id = ids[n - 1], i = n - 1;
    for (; i > 0 && is_higher(logits[id], logits[ids[i - 1]]); i--)
        ids[i] = ids[i - 1];
    ids[i] = id;
}

static void sort_ascending(int32_t *ids, int32_t n)
{
    for (int32_t k = 1; k < n; k++) {
        int32_t id = ids[k], i = k;
        for (; i > 0 && ids[i - 1] > id; i--)
            ids[i] = ids[i - 1];
        ids[i] = id;
    }
}

void compute_experts_choose(const struct compute_experts *experts, const float *logits,
                            const float *shares, int32_t *chosen, float *chosen_shares)
{
    int32_t n = 0, n_used = experts->n_used;
    float sum = 0;
    for (int32_t id = 0; id < experts->n_experts; id++) {
        if (n == n_used && !is_higher(logits[id], logits[chosen[n - 1]]))
            continue;
        n += n < n_used;
        chosen[n - 1] = id;
        sort_last(chosen, n, logits);
    }
    sort_ascending(chosen, n_used);
    for (int32_t i = 0; i < n_used; i++) {
        chosen_shares[i] = shares[chosen[i]];
        sum += chosen_shares[i];
    }
    for (int32_t i = 0; i < n_used && experts->is_scaled_to_one; i++)
        chosen_shares[i] /= sum;
}
