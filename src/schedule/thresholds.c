/* The thresholds by name: what a configuration, a preset or a command line may set. */
#include "base/settings.h"
#include "schedule/policy.h"

#define ROW(field, kind, min, max)                                                                 \
    SETTINGS_ROW(struct schedule_config, field, SETTINGS_##kind, min, max, NULL)
static const struct settings_row rows[] = {
    ROW(n_seqs_max, COUNT, 1, LIMIT_BATCH_ITEMS),
    ROW(n_batch_tokens_max, COUNT, 16, LIMIT_BATCH_TOKENS),
    ROW(chunk_tokens, COUNT, 0, LIMIT_BATCH_TOKENS),
    ROW(watermark, NUMBER, 0, 1),
    ROW(ahead_blocks, COUNT, 0, 1024),
    ROW(starve_ns_min, MILLISECONDS, 0, 1e9),
    ROW(starve_factor, NUMBER, 0, 1e6),
    ROW(starve_tokens, COUNT, 1, LIMIT_CONTEXT),
    ROW(share_ns_depth, MILLISECONDS, 1, 1e6),
    ROW(share_ns_period, MILLISECONDS, 1, 1e9),
    ROW(pool_full, NUMBER, 0, 1),
    ROW(pool_cut, NUMBER, 0.01, 1),
    ROW(value_age, NUMBER, 0.001, 100),
    ROW(value_young, NUMBER, 0, 1),
    ROW(value_slow, NUMBER, 0.1, 1e6),
    ROW(value_cap, NUMBER, 0, 1e6),
    ROW(value_rate, NUMBER, 0, 2),
    ROW(value_few, NUMBER, 0, 1e6),
    ROW(value_kept, NUMBER, 0, 1),
    ROW(value_batch, NUMBER, 0, 1e6),
    ROW(late_factor, NUMBER, 0, 1e6),
    ROW(db_counts_wall, FLAG, 0, 1),
    ROW(n_rounds_max, COUNT, 1, 1 << 20),
    ROW(mlfq_ns_quantum, MILLISECONDS, 0.001, 1000),
    ROW(mlfq_ns_idle, MILLISECONDS, 0, 1e9),
    ROW(mlfq_n_steps, COUNT, 1, 1 << 30),
    ROW(quota_ns_period, MILLISECONDS, 16, 1e9),
    ROW(quota_donor, NUMBER, 0, 1),
    ROW(quota_kept, NUMBER, 0, 1),
    ROW(quota_wanted, NUMBER, 1, 100),
    ROW(quota_step, NUMBER, 0, 1),
    ROW(quota_lent, NUMBER, 0, 1),
    ROW(has_soft_quotas, FLAG, 0, 1),
    ROW(has_fixed_parts, FLAG, 0, 1),
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
};
#undef ROW

enum status schedule_config_set(struct schedule_config *config, const char *text,
                                struct fault *fault)
{
    const struct settings_row *row = settings_find(rows, COUNT_OF(rows), text);
    if (row != NULL)
        return settings_set(config, row, text, fault);
    return fault_set(fault, STATUS_BAD_INPUT,
                     "\"%.80s\" is no threshold of a policy; one is \"lease_tokens=64\"", text);
}

const char *schedule_config_name(int i)
{
    return i >= 0 && i < (int)COUNT_OF(rows) ? rows[i].name : NULL;
}
