/* Makes lanes of shares. */
#include "config/lanes.h"

#include "base/str.h"
#include "schedule/lanes.h"

enum { LANES_SHARE_MAX = 1000 };

static enum status read_shares(const char *const *texts, int n, int32_t *shares,
                               struct fault *fault)
{
    for (int i = 0; i < n; i++) {
        int64_t share;
        if (!parse_i64(texts[i], &share) || share < 1 || share > LANES_SHARE_MAX)
            return fault_set(fault, STATUS_BAD_INPUT, "lanes: \"%.40s\" is no share from 1 to %d",
                             texts[i], LANES_SHARE_MAX);
        shares[i] = (int32_t)share;
    }
    return STATUS_OK;
}

const char *const *config_lanes_usual(const struct schedule_policy *policy, bool of_cores, int *n)
{
    static const char *const equal[LIMIT_LANES - 1] = { "1", "1", "1", "1", "1", "1", "1" };
    *n = min_i32(policy->n_lanes_wanted, LIMIT_LANES - 1);
    if (of_cores && policy->wants_no_cores)
        *n = 0;
    return *n > 0 ? equal : NULL;
}

enum status config_lanes_of_shares(const char *const *texts, int n, struct schedule_lane *lanes,
                                   int32_t *n_lanes, struct fault *fault)
{
    int32_t shares[LIMIT_LANES];
    if (n >= LIMIT_LANES)
        return fault_set(fault, STATUS_BAD_INPUT, "lanes: at most %d", LIMIT_LANES - 1);
    enum status status = read_shares(texts, n, shares, fault);
    if (status != STATUS_OK)
        return status;
    *n_lanes = schedule_lanes_of_parts(shares, n, lanes);
    return STATUS_OK;
}

enum status config_lanes_make(struct lanes *lanes, const struct device_spec *device,
                              const char *const *texts, int n_shares, struct fault *fault)
{
    int32_t shares[LIMIT_LANES], cores[LIMIT_LANES], next = 0;
    lanes->n = 1;
    lanes->shares[0] = (struct schedule_lane){ .share = 1 };
    lanes->devices[0] = *device;
    enum status status = read_shares(texts, n_shares, shares, fault);
    if (status != STATUS_OK)
        return status;
    if (device->kind == DEVICE_CUDA) {
        if (n_shares > 0)
            lanes->n = schedule_lanes_of_parts(shares, n_shares, lanes->shares);
        for (int i = 0; i < n_shares; i++) {
            lanes->devices[i + 1] = *device;
            lanes->devices[i + 1].n_cores = shares[i];
        }
        return STATUS_OK;
    }
    if (n_shares > 0 && device->n_ranks > 0)
        return fault_set(fault, STATUS_UNSUPPORTED,
                         "lanes: a group of devices computes on one lane: remove lanes, or use one "
                         "device");
    if (n_shares > device->n_cores)
        return fault_set(fault, STATUS_BAD_INPUT, "lanes: %d shares of %d cores: each needs one",
                         n_shares, device->n_cores);
    device_divide(device->n_cores, shares, n_shares, cores);
    for (int i = 0; i < n_shares; i++) {
        struct device_spec *part = &lanes->devices[lanes->n];
        *part = *device;
        part->n_cores = cores[i];
        for (int32_t k = 0; k < cores[i]; k++)
            part->cores[k] = device->cores[next++];
        lanes->shares[0].conflicts |= (uint16_t)(1U << lanes->n);
        lanes->shares[lanes->n++] =
            (struct schedule_lane){ .share = (float)cores[i] / (float)device->n_cores,
                                    .conflicts = 1 };
    }
    return STATUS_OK;
}

void config_lanes_measure(struct lanes *lanes, const int32_t *n_members)
{
    for (int i = 1; i < lanes->n; i++)
        lanes->shares[i].share = (float)n_members[i] / (float)n_members[0];
}
