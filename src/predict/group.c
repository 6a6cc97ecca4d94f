/* Times of groups. */
#include "predict/group.h"

#include "base/num.h"

enum { SUMS_PER_LAYER = 2 }; /* behind attention and behind the feed-forward */

/* Rounds a time. One that no integer holds becomes one that is too long for every use. */
static int64_t whole_of(double ps)
{
    const double most = 0x1p62;
    return (int64_t)num_floor((ps < most ? ps : most) + 0.5);
}

const struct predict_group_sums *predict_group_find(const struct predict_group *group,
                                                    int32_t n_ranks)
{
    for (int32_t i = 0; i < group->n_sums; i++)
        if (group->sums[i].n_ranks == n_ranks)
            return &group->sums[i];
    return NULL;
}

int64_t predict_group_sum_ps(const struct predict_group_sums *sums, int64_t n_bytes)
{
    int32_t i = 1;
    if (sums->n_points < 2)
        return sums->n_points == 1 ? sums->ps[0] : 0;
    while (i < sums->n_points - 1 && sums->bytes[i] < n_bytes)
        i++;
    double part =
        (double)(n_bytes - sums->bytes[i - 1]) / (double)(sums->bytes[i] - sums->bytes[i - 1]);
    double ps = (double)sums->ps[i - 1] + part * (double)(sums->ps[i] - sums->ps[i - 1]);
    return whole_of(ps > 0 ? ps : 0);
}

/* The sums of a step as a line over its rows, through few and many rows. */
struct line {
    double constant_ps, row_ps;
};
static struct line line_of(const struct predict_group *group, const struct predict_group_sums *sums,
                           int32_t few, int32_t many)
{
    int64_t row_bytes = (int64_t)sizeof(float) * group->width;
    double n = (double)SUMS_PER_LAYER * group->n_layers;
    double low = n * (double)predict_group_sum_ps(sums, few * row_bytes);
    double high = n * (double)predict_group_sum_ps(sums, many * row_bytes);
    double slope = high > low ? (high - low) / (many - few) : 0;
    double constant = low - slope * few;
    return (struct line){ constant > 0 ? constant : 0, slope };
}

static int64_t ps_of(double part, int64_t of_rank_ps, double sums_ps)
{
    return whole_of(part * (double)of_rank_ps + sums_ps);
}

bool predict_group_perf(const struct predict_group *group, const struct perf *rank,
                        const double beside[2], int32_t n_ranks, struct perf *out)
{
    const struct predict_group_sums *sums = predict_group_find(group, n_ranks);
    if (sums == NULL)
        return false;
    double prompt = beside[0] / n_ranks, decode = beside[1] / n_ranks;
    struct line few = line_of(group, sums, 1, 32), many = line_of(group, sums, 32, 512);
    *out = *rank;
    out->floor_ps = ps_of(prompt, rank->floor_ps, rank->floor_ps > 0 ? many.constant_ps : 0);
    out->c1_ps = ps_of(prompt, rank->c1_ps, many.constant_ps);
    out->k1_ps = ps_of(prompt, rank->k1_ps, many.row_ps);
    out->q1_ps = ps_of(prompt, rank->q1_ps, 0);
    for (int i = 0; i < 2; i++) {
        out->c3_ps[i] = ps_of(decode, rank->c3_ps[i], few.constant_ps);
        out->c2_ps[i] = ps_of(decode, rank->c2_ps[i], few.row_ps);
        out->k2_ps[i] = ps_of(decode, rank->k2_ps[i], 0);
    }
    return coefficients_are_sane(out);
}
