/* The thresholds by name: what a configuration, a preset or a command line may set. */
#include "schedule/policy.h"
#include "base/time.h"
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum kind { COUNT, MILLISECONDS, FRACTION, FLAG };

static const struct row {
    const char *name;
    enum kind kind;
    size_t offset;
    double min, max;
} rows[] = {
#define ROW(field, kind, min, max)                                                                 \
    {                                                                                              \
#field, kind, offsetof(struct schedule_config, field), min, max                            \
    }
    ROW(n_seqs_max, COUNT, 1, LIMIT_BATCH_ITEMS),
    ROW(n_batch_tokens_max, COUNT, 16, LIMIT_BATCH_TOKENS),
    ROW(chunk_tokens, COUNT, 0, LIMIT_BATCH_TOKENS),
    ROW(watermark, FRACTION, 0, 1),
    ROW(starve_ns_min, MILLISECONDS, 0, 1e9),
    ROW(starve_factor, FRACTION, 0, 1e6),
    ROW(share_ns_depth, MILLISECONDS, 1, 1e6),
    ROW(share_ns_period, MILLISECONDS, 1, 1e9),
    ROW(pool_full, FRACTION, 0, 1),
    ROW(pool_cut, FRACTION, 0.01, 1),
    ROW(db_counts_wall, FLAG, 0, 1),
    ROW(n_rounds_max, COUNT, 1, 1 << 20),
    ROW(mlfq_ns_quantum, MILLISECONDS, 0.001, 1000),
    ROW(mlfq_ns_idle, MILLISECONDS, 0, 1e9),
    ROW(mlfq_n_steps, COUNT, 1, 1 << 30),
    ROW(quota_ns_period, MILLISECONDS, 16, 1e9),
    ROW(quota_donor, FRACTION, 0, 1),
    ROW(quota_kept, FRACTION, 0, 1),
    ROW(quota_wanted, FRACTION, 1, 100),
    ROW(quota_step, FRACTION, 0, 1),
    ROW(quota_lent, FRACTION, 0, 1),
    ROW(has_soft_quotas, FLAG, 0, 1),
    ROW(lease_tokens, COUNT, 1, LIMIT_CONTEXT),
    ROW(has_leases, FLAG, 0, 1),
    ROW(promotes_slack, FLAG, 0, 1),
    ROW(guards_tpot, FLAG, 0, 1),
    ROW(static_n_seqs_max, COUNT, 1, LIMIT_BATCH_ITEMS),
    ROW(cohort_ns_wait, MILLISECONDS, 0, 1e9),
    ROW(ils_new_tokens, COUNT, 1, LIMIT_CONTEXT),
    ROW(ils_n_seqs_max, COUNT, 1, LIMIT_BATCH_ITEMS),
    ROW(fastgen_batch_tokens, COUNT, 16, LIMIT_BATCH_TOKENS),
    ROW(fastgen_n_seqs_max, COUNT, 1, LIMIT_BATCH_ITEMS),
    ROW(fastgen_flushes_all, FLAG, 0, 1),
#undef ROW
};

static const struct row *find(const char *name, size_t n)
{
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (strlen(rows[i].name) == n && memcmp(rows[i].name, name, n) == 0)
            return &rows[i];
    return NULL;
}

static void store(struct schedule_config *config, const struct row *row, double value)
{
    void *at = (unsigned char *)config + row->offset;
    switch (row->kind) {
    case COUNT:
        *(int32_t *)at = (int32_t)value;
        break;
    case MILLISECONDS:
        *(int64_t *)at = (int64_t)(value * (double)TIME_NS_PER_MS);
        break;
    case FRACTION:
        *(double *)at = value;
        break;
    case FLAG:
        *(bool *)at = value > 0;
        break;
    }
}

enum status schedule_config_set(struct schedule_config *config, const char *text,
                                struct fault *fault)
{
    const char *equals = strchr(text, '=');
    const struct row *row = equals == NULL ? NULL : find(text, (size_t)(equals - text));
    if (row == NULL)
        return fault_set(fault, STATUS_BAD_INPUT,
                         "\"%.80s\" is no threshold of a policy; one is \"lease_tokens=64\"", text);
    char *end;
    double value = strtod(equals + 1, &end);
    if (end == equals + 1 || *end != '\0' || !(value >= row->min && value <= row->max) ||
        ((row->kind == COUNT || row->kind == FLAG) && value != (double)(int64_t)value))
        return fault_set(fault, STATUS_BAD_INPUT, "%s is %s from %g to %g, not \"%.40s\"",
                         row->name,
                         row->kind == COUNT || row->kind == FLAG ? "a whole number"
                         : row->kind == MILLISECONDS             ? "milliseconds"
                                                                 : "a number",
                         row->min, row->max, equals + 1);
    store(config, row, value);
    return STATUS_OK;
}

const char *schedule_config_name(int i)
{
    return i >= 0 && i < (int)COUNT_OF(rows) ? rows[i].name : NULL;
}
