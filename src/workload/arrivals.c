/* When a part's requests come: rate, kind of gaps, bursts, a rate by the clock. */
#include "workload/part.h"
#include "workload/tables.h"
#include <string.h>

static const struct {
    const char *name;
    enum workload_arrivals arrivals;
} kinds[] = {
    { "poisson", WORKLOAD_POISSON },   { "gamma", WORKLOAD_GAMMA }, { "weibull", WORKLOAD_WEIBULL },
    { "constant", WORKLOAD_CONSTANT }, { "once", WORKLOAD_ONCE },
};

static bool find_kind(const char *name, enum workload_arrivals *arrivals)
{
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        if (strcmp(kinds[i].name, name) == 0) {
            *arrivals = kinds[i].arrivals;
            return true;
        }
    return false;
}

static enum status set_profile(struct workload_part *part, struct workload_traffic *traffic,
                               const char *name)
{
    const struct workload_rate_table *table = workload_tables_find_rate(name);
    if (table == NULL)
        return workload_part_bad(part, "there are no rates by the clock called %.60s", name);
    struct workload_profile *profile = workload_part_take(part, sizeof(*profile));
    *profile = table->profile;
    profile->step_s = workload_part_number(part, WORKLOAD_KEY_STEP, profile->step_s);
    if (!(profile->step_s >= 1e-3))
        return workload_part_bad(part, "a step of the profile takes at least 1ms");
    traffic->profile = profile;
    if (traffic->arrivals == WORKLOAD_POISSON && table->cv != 1) {
        traffic->arrivals = WORKLOAD_GAMMA;
        traffic->cv = table->cv;
    }
    return STATUS_OK;
}

static enum status set_gaps(struct workload_part *part, struct workload_traffic *traffic)
{
    const char *name = workload_part_text(part, WORKLOAD_KEY_ARRIVALS, NULL);
    bool is_trace = name != NULL && strcmp(name, "trace") == 0;
    if (name == NULL)
        find_kind(part->kind, &traffic->arrivals);
    else if (!is_trace && !find_kind(name, &traffic->arrivals))
        return workload_part_bad(
            part,
            "arrivals is \"%.40s\", expected poisson, gamma, weibull, constant, once or trace",
            name);
    if (is_trace) {
        enum status status =
            set_profile(part, traffic, part->trace != NULL ? part->trace : part->kind);
        if (status != STATUS_OK)
            return status;
    }
    if (workload_part_has(part, WORKLOAD_KEY_CV)) {
        if (traffic->arrivals != WORKLOAD_POISSON && traffic->arrivals != WORKLOAD_GAMMA)
            return workload_part_bad(part, "cv goes with gamma gaps only");
        traffic->arrivals = WORKLOAD_GAMMA;
        traffic->cv = part->numbers[WORKLOAD_KEY_CV];
        if (traffic->cv < 0.02)
            return workload_part_bad(part, "cv is below 0.02: arrivals=constant has even gaps");
    }
    if (traffic->arrivals == WORKLOAD_GAMMA && !(traffic->cv > 0))
        return workload_part_bad(part, "gamma gaps need cv=");
    if (traffic->arrivals == WORKLOAD_WEIBULL) {
        traffic->shape = workload_part_number(part, WORKLOAD_KEY_SHAPE, 0);
        if (!(traffic->shape >= 0.05))
            return workload_part_bad(part, "Weibull gaps need shape= of at least 0.05");
    }
    return STATUS_OK;
}

static enum status set_changes(struct workload_part *part, struct workload_traffic *traffic)
{
    const char *profile = workload_part_text(part, WORKLOAD_KEY_PROFILE, NULL);
    bool has_on = workload_part_has(part, WORKLOAD_KEY_ON);
    if (profile != NULL && traffic->profile == NULL) {
        enum status status = set_profile(part, traffic, profile);
        if (status != STATUS_OK)
            return status;
    }
    if (has_on != workload_part_has(part, WORKLOAD_KEY_OFF))
        return workload_part_bad(part, "bursts need both on= and off=");
    if (has_on) {
        traffic->on_s = part->numbers[WORKLOAD_KEY_ON];
        traffic->off_s = part->numbers[WORKLOAD_KEY_OFF];
        traffic->off_factor = workload_part_number(part, WORKLOAD_KEY_OFF_RATE, 0);
        if (traffic->on_s < 1e-3 || traffic->off_s < 1e-3)
            return workload_part_bad(part, "bursts and pauses take at least 1ms");
    }
    if (traffic->profile != NULL && traffic->on_s > 0)
        return workload_part_bad(part, "bursts do not go with a profile");
    return STATUS_OK;
}

enum status workload_arrivals_set(struct workload_part *part, struct workload_traffic *traffic,
                                  double rate_per_s)
{
    enum status status = set_gaps(part, traffic);
    if (status == STATUS_OK)
        status = set_changes(part, traffic);
    if (status != STATUS_OK)
        return status;
    traffic->n_requests = (uint64_t)workload_part_number(part, WORKLOAD_KEY_N, 0);
    traffic->priority = (int16_t)workload_part_number(part, WORKLOAD_KEY_PRIORITY, 0);
    traffic->tenant = (uint16_t)workload_part_number(part, WORKLOAD_KEY_TENANT, 0);
    if (traffic->arrivals == WORKLOAD_ONCE)
        return traffic->n_requests > 0
                   ? STATUS_OK
                   : workload_part_bad(part, "a list at t = 0 needs n= requests");
    traffic->rate_per_s = workload_part_number(part, WORKLOAD_KEY_RATE, rate_per_s);
    if (!(traffic->rate_per_s > 0))
        return workload_part_bad(part, "needs rate= (requests per second)");
    if (traffic->on_s > 0 && (traffic->on_s + traffic->off_s) * traffic->rate_per_s < 1e-3)
        return workload_part_bad(part, "bursts that are over long before a request comes");
    return STATUS_OK;
}
