/* Every threshold of every engine scheduler, one row each: the field, its default, its range and
 * its meaning. A preset changes a few of these. */
#pragma once
#include "base/settings.h"
#include "core/limits.h"

/* type, name, kind, default, least, most, help; times in milliseconds, as they are written. */
/* clang-format off */
#define SCHEDULE_THRESHOLDS(T)                                                                     \
    T(int32_t, n_seqs_max, COUNT, 256, 1, LIMIT_BATCH_ITEMS, "requests of one batch")              \
    T(int32_t, n_batch_tokens_max, COUNT, 2048, 1, LIMIT_BATCH_TOKENS,                            \
      "prompt tokens of one batch")                                                                \
    T(int32_t, chunk_tokens, COUNT, 0, 0, LIMIT_BATCH_TOKENS, "prompts are computed in chunks "    \
      "beside the decodes of their model, with at most this many tokens in such a batch; 0: "      \
      "whole, in batches of their own")                                                            \
    T(double, watermark, NUMBER, 0.01, 0, 1, "fraction of the pool that stays free when a "        \
      "request starts")                                                                            \
    T(int32_t, ahead_blocks, COUNT, 1, 0, 1024, "blocks that every running request is to have "    \
      "ahead when another starts; 0: as vLLM, which starts sooner and preempts more")              \
    T(int64_t, starve_ns_min, MILLISECONDS, 3000, 0, 1e9, "a request starves after theta = "       \
      "max(starve_ns_min, starve_factor times L-hat) without service")                             \
    T(double, starve_factor, NUMBER, 2.5, 0, 1e6, "see starve_ns_min")                             \
    T(int32_t, starve_tokens, COUNT, 16, 1, LIMIT_CONTEXT, "tokens that a starved request "        \
      "generates, once it is served, before others go ahead of it or take its blocks")             \
    T(int64_t, share_ns_depth, MILLISECONDS, 300, 1, 1e6, "depth of a model's bucket of device "   \
      "time")                                                                                      \
    T(int64_t, share_ns_period, MILLISECONDS, 8000, 1, 1e9, "shares of device time are computed "  \
      "anew this often")                                                                           \
    T(double, pool_full, NUMBER, 0.9, 0, 1, "above this fraction of the pool in use the "          \
      "heaviest model's cap is cut")                                                               \
    T(double, pool_cut, NUMBER, 0.8, 0.01, 1, "by this factor in a period")                        \
    T(double, value_age, NUMBER, 0.1, 0.001, 100, "the least work of a request, in L-hat, while "  \
      "none has ended")                                                                            \
    T(double, value_young, NUMBER, 0.2, 0, 1, "the part of a model's requests whose work counts "  \
      "as the least")                                                                              \
    T(double, value_slow, NUMBER, 4, 0.1, 1e6, "the slowness that adds half of what it can")       \
    T(double, value_cap, NUMBER, 5, 0, 1e6, "slowness adds at most the square of this")            \
    T(double, value_rate, NUMBER, 0.5, 0, 2, "exponent of the rate by which a model's worth is "   \
      "divided")                                                                                   \
    T(double, value_few, NUMBER, 6, 0, 1e6, "up to this many requests the greedy rule holds")      \
    T(double, value_kept, NUMBER, 0.25, 0, 1, "most of the pool that heavy models leave free")     \
    T(double, value_batch, NUMBER, 1, 0, 1e6, "as many requests run together as end soonest, "     \
      "times this; 0: n_seqs_max")                                                                 \
    T(double, late_factor, NUMBER, 2, 0, 1e6, "a request that cannot end within this many times "  \
      "its expected time alone, and that time, of its arrival is late: its turn comes after "      \
      "the others")                                                                                \
    T(bool, db_counts_wall, FLAG, 0, 0, 1, "budgets are charged wall time of the batch, not the "  \
      "work that it would be alone")                                                               \
    T(int32_t, n_rounds_max, COUNT, 4096, 1, 1 << 20, "rounds that a hold plans at most; 1: no "   \
      "holds")                                                                                     \
    T(int64_t, mlfq_ns_quantum, MILLISECONDS, 10, 0.001, 1000, "quantum of device time of level "  \
      "0; each further level has twice as much")                                                   \
    T(int64_t, mlfq_ns_idle, MILLISECONDS, 3000, 0, 1e9, "a request that was idle this long "      \
      "rises to level 0")                                                                          \
    T(int32_t, mlfq_n_steps, COUNT, 1000, 1, 1 << 30, "batches after which idle requests are "     \
      "looked for")                                                                                \
    T(int64_t, quota_ns_period, MILLISECONDS, 8000, 16, 1e9, "quotas are adapted this often")      \
    T(double, quota_donor, NUMBER, 0.9, 0, 1, "a model that uses less than this part of its "      \
      "quota offers what lies above quota_kept")                                                   \
    T(double, quota_kept, NUMBER, 0.95, 0, 1, "see quota_donor")                                   \
    T(double, quota_wanted, NUMBER, 1.1, 1, 100, "a model that wants more than this many times "   \
      "what it uses asks for more")                                                                \
    T(double, quota_step, NUMBER, 0.1, 0, 1, "part of its quota that it asks for")                 \
    T(double, quota_lent, NUMBER, 0.1, 0, 1, "a quota may be passed while more than this part "    \
      "of the pool is free and no model below its own lacks blocks")                               \
    T(bool, has_soft_quotas, FLAG, 0, 0, 1, "quotas hold in db-share, too")                        \
    T(bool, has_fixed_parts, FLAG, 0, 0, 1, "a model that is alone keeps to a part of the "        \
      "device, too")                                                                               \
    T(int32_t, lease_tokens, COUNT, 128, 1, LIMIT_CONTEXT, "tokens of a lease")                    \
    T(bool, has_leases, FLAG, 0, 0, 1, "db-share books leases")                                    \
    T(bool, promotes_slack, FLAG, 0, 0, 1, "a request whose deadline is nearer than its "          \
      "predicted rest counts as starved")                                                          \
    T(bool, guards_tpot, FLAG, 0, 0, 1, "no prompt starts while a model with a target per token "  \
      "would miss it by that (Aladdin's constraint (d))")                                          \
    T(int32_t, static_n_seqs_max, COUNT, 12, 1, LIMIT_BATCH_ITEMS,                                 \
      "requests of a static batch")                                                                \
    T(int64_t, cohort_ns_wait, MILLISECONDS, 1000, 0, 1e9, "a router's batch whose members did "   \
      "not all come starts without them after this")                                               \
    T(int32_t, ils_new_tokens, COUNT, 1024, 1, LIMIT_CONTEXT, "a request without a "               \
      "prediction reserves this many new tokens, or its own limit if that is higher")              \
    T(int32_t, ils_n_seqs_max, COUNT, 64, 1, LIMIT_BATCH_ITEMS,                                    \
      "requests that run together")                                                                \
    T(int32_t, fastgen_batch_tokens, COUNT, 768, 16, LIMIT_BATCH_TOKENS,                           \
      "tokens of a batch")                                                                         \
    T(int32_t, fastgen_n_seqs_max, COUNT, 512, 1, LIMIT_BATCH_ITEMS,                               \
      "requests of a batch")                                                                       \
    T(bool, fastgen_flushes_all, FLAG, 1, 0, 1, "out of blocks it takes back those of all "        \
      "requests (v0.2.0), not the last one's (from 0.2.1)")
/* clang-format on */

#define FIELD(type, name, ...) type name;
struct schedule_config {
    SCHEDULE_THRESHOLDS(FIELD)
}; /* times in nanoseconds */
#undef FIELD

/* The settings for the filling of continuous batches (fill.h, hold.h), and for starvation
 * (starve.h). */
#define SCHEDULE_CONFIG_FILL                                                                       \
    "n_seqs_max n_batch_tokens_max chunk_tokens watermark ahead_blocks n_rounds_max"
#define SCHEDULE_CONFIG_STARVE " starve_ns_min starve_factor starve_tokens"

const struct settings_row *schedule_config_rows(int *n);
void schedule_config_init(struct schedule_config *config); /* the defaults */
/* Sets one threshold by text, "name=value": times in milliseconds, flags 0 or 1. A fault has the
 * expected form. */
enum status schedule_config_set(struct schedule_config *config, const char *text,
                                struct fault *fault) MUST_USE;
/* Is every threshold in its range? */
bool schedule_config_is_sound(const struct schedule_config *config);
