/* Keeps the best experts so far in order, best first. */
#include "compute/experts.h"

#include "core/limits.h"

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

/* Writes the ids of the n_best highest of n values, best first; of equal ones the first. */
static void best_of(const float *values, int32_t n, int32_t n_best, int32_t *ids)
{
    int32_t found = 0;
    for (int32_t id = 0; id < n; id++) {
        if (found == n_best && !is_higher(values[id], values[ids[found - 1]]))
            continue;
        found += found < n_best;
        ids[found - 1] = id;
        sort_last(ids, found, values);
    }
}

/* Makes the values of all experts minus infinity that are not in one of the best groups. */
static void keep_groups(const struct compute_experts *experts, float *values)
{
    const float none = -INFINITY;
    int32_t n_groups = experts->n_groups, size = experts->n_experts / n_groups;
    float sums[LIMIT_EXPERTS];
    int32_t best[LIMIT_EXPERTS], two[2];
    bool is_kept[LIMIT_EXPERTS] = { false };
    for (int32_t group = 0; group < n_groups; group++) {
        const float *own = values + group * size;
        best_of(own, size, 2, two);
        sums[group] = own[two[0]] + (experts->is_group_by_best ? 0 : own[two[1]]);
    }
    best_of(sums, n_groups, experts->n_groups_used, best);
    for (int32_t i = 0; i < experts->n_groups_used; i++)
        is_kept[best[i]] = true;
    for (int32_t id = 0; id < n_groups * size; id++)
        values[id] = is_kept[id / size] ? values[id] : none;
}

void compute_experts_choose(const struct compute_experts *experts, const float *logits,
                            const float *bias, const float *shares, int32_t *chosen,
                            float *chosen_shares)
{
    int32_t n = experts->n_experts, n_used = experts->n_used;
    float sum = 0, values[LIMIT_EXPERTS];
    bool adds_sigmoids = experts->is_sigmoid && experts->n_groups > 1;
    CHECK(n <= LIMIT_EXPERTS);
    for (int32_t id = 0; id < n; id++)
        values[id] = bias != NULL ? shares[id] + bias[id] : adds_sigmoids ? shares[id] : logits[id];
    if (experts->n_groups > 1)
        keep_groups(experts, values);
    best_of(values, n, n_used, chosen);
    sort_ascending(chosen, n_used);
    for (int32_t i = 0; i < n_used; i++) {
        chosen_shares[i] = shares[chosen[i]];
        sum += chosen_shares[i];
    }
    if (experts->is_sigmoid)
        sum += 1e-20f;
    for (int32_t i = 0; i < n_used && experts->is_scaled_to_one; i++)
        chosen_shares[i] /= sum;
    for (int32_t i = 0; i < n_used && experts->scale != 0 && experts->scale != 1.0f; i++)
        chosen_shares[i] *= experts->scale;
}
