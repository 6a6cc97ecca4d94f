/* Groups of ranks in a scenario. */
#include "scenario/ranks.h"

#include "base/mem.h"
#include "scenario/tables.h"
#include <string.h>

struct scenario_ranks {
    struct predict_group group;
    double beside[2]; /* of prompts and decodes beside the same: 1 if it was not measured */
    int32_t n;
    struct {
        int32_t n_cores;
        struct perf perf;
    } of[PREDICT_PROFILE_GROUPS];
};

struct scenario_ranks *scenario_ranks_open(const struct predict_profile *profile, double factor)
{
    struct scenario_ranks *ranks = mem_take(sizeof(*ranks));
    const struct predict_profile_beside *beside = &profile->beside;
    ranks->group = profile->group;
    for (int i = 0; i < 2; i++)
        ranks->beside[i] = beside->n_rounds > 0 ? beside->factors[i][i] : 1;
    for (; ranks->n < profile->n_groups; ranks->n++) {
        ranks->of[ranks->n].n_cores = profile->groups[ranks->n].n_cores;
        ranks->of[ranks->n].perf = profile->groups[ranks->n].perf;
        scenario_tables_scale(factor, &ranks->of[ranks->n].perf);
    }
    return ranks;
}

void scenario_ranks_close(struct scenario_ranks *ranks)
{
    mem_give(ranks);
}

int32_t scenario_ranks_cores(const char *device)
{
    if (device == NULL)
        return 0;
    if (strcmp(device, "cpu-2c") == 0)
        return 2;
    return strncmp(device, "cpu", 3) == 0 ? 1 : 0;
}

enum status scenario_ranks_check(const struct scenario_group *group, const char *device,
                                 struct fault *fault)
{
    if (group->n_ranks <= 1)
        return STATUS_OK;
    if (scenario_ranks_cores(device) == 0)
        return fault_set(fault, STATUS_UNSUPPORTED,
                         "engines: ranks are groups of cores, and %.40s is no device of cores; tp "
                         "alone makes a group of other devices",
                         device);
    if (group->tp % group->n_ranks != 0)
        return fault_set(fault, STATUS_BAD_INPUT,
                         "engines: %lld devices can't be %lld equal ranks; expected tp to be a "
                         "multiple of ranks",
                         (long long)group->tp, (long long)group->n_ranks);
    if (group->lanes.n + group->chain.n > 0)
        return fault_set(fault, STATUS_UNSUPPORTED,
                         "engines: a group of ranks has one lane, so ranks is not with lanes or "
                         "chain");
    return STATUS_OK;
}

enum status scenario_ranks_perf(const struct scenario_ranks *ranks,
                                const struct scenario_group *group, const char *device,
                                const char *name, struct perf *perf, struct fault *fault)
{
    int32_t n_cores = scenario_ranks_cores(device) * (int32_t)(group->tp / group->n_ranks), i = 0;
    if (ranks == NULL)
        return fault_set(fault, STATUS_BAD_INPUT,
                         "service %.60s: its engine is a group of ranks, which needs a profile of "
                         "shoal profile",
                         name);
    while (i < ranks->n && ranks->of[i].n_cores != n_cores)
        i++;
    if (i == ranks->n)
        return fault_set(fault, STATUS_BAD_INPUT,
                         "service %.60s: its profile has no times on %d cores, which a rank of its "
                         "engine has",
                         name, n_cores);
    if (!predict_group_perf(&ranks->group, &ranks->of[i].perf, ranks->beside,
                            (int32_t)group->n_ranks, perf))
        return fault_set(
            fault, STATUS_BAD_INPUT,
            "service %.60s: its profile has no usable sums over %lld ranks; shoal profile "
            "measures 2, 4 and 8, as far as there are cores",
            name, (long long)group->n_ranks);
    return STATUS_OK;
}
