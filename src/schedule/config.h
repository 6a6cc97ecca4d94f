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
    T(int32_t, chunk_tokens, COUNT, 0, 0, LIMIT_BATCH_TOKENS,                                      \
      "prompts are computed in chunks beside the decodes of their model, so that such a "          \
      "batch has at most this many tokens; 0: prompts are computed whole, in batches of "          \
      "their own")                                                                                 \
    T(double, watermark, NUMBER, 0.01, 0, 1, "fraction of the pool that stays free when a "        \
      "request starts")                                                                            \
    T(int32_t, ahead_blocks, COUNT, 1, 0, 1024,                                                    \
      "another request starts only if every running request has this many blocks ahead; 0: "       \
      "as vLLM, which starts requests sooner and preempts more")                                   \
    T(int64_t, starve_ns_min, MILLISECONDS, 3000, 0, 1e9, "a request starves after theta = "       \
      "max(starve_ns_min, starve_factor times L-hat) without service")                             \
    T(double, starve_factor, NUMBER, 2.5, 0, 1e6, "see starve_ns_min")                             \
    T(int32_t, starve_tokens, COUNT, 16, 1, LIMIT_CONTEXT, "tokens that a starved request "        \
      "generates, once it is served, before others go ahead of it or take its blocks")             \
    T(int64_t, share_ns_depth, MILLISECONDS, 300, 1, 1e6, "depth of a model's bucket of device "   \
      "time")                                                                                      \
    T(int64_t, share_ns_period, MILLISECONDS, 8000, 1, 1e9, "shares of device time are computed "  \
      "anew this often")                                                                           \
    T(double, pool_full, NUMBER, 0.9, 0, 1,                                                        \
      "when a larger fraction of the pool is in use, the cap of the model that holds most "        \
      "of it is cut")                                                                              \
    T(double, pool_cut, NUMBER, 0.8, 0.01, 1,                                                      \
      "the cap is multiplied by this in each period of share_ns_period")                           \
    T(double, value_age, NUMBER, 0.1, 0.001, 100,                                                  \
      "until a request of the model has ended, the least work by which its requests are "          \
      "valued, in L-hat")                                                                          \
    T(double, value_young, NUMBER, 0.2, 0, 1,                                                      \
      "this part of a model's requests has its work valued as the least")                          \
    T(double, value_slow, NUMBER, 4, 0.1, 1e6,                                                     \
      "at this slowness, slowness adds half of the most that it can add")                          \
    T(double, value_cap, NUMBER, 5, 0, 1e6,                                                        \
      "slowness adds at most the square of this")                                                  \
    T(double, value_rate, NUMBER, 0.5, 0, 2, "exponent of the rate by which a model's worth is "   \
      "divided")                                                                                   \
    T(double, value_few, NUMBER, 6, 0, 1e6,                                                        \
      "the greedy rule holds while there are at most this many requests")                          \
    T(double, value_kept, NUMBER, 0.25, 0, 1,                                                      \
      "heavy models leave at most this part of the pool free for the others")                      \
    T(double, value_batch, NUMBER, 1, 0, 1e6,                                                      \
      "as many requests run together as let their mean end come soonest, times this; 0: "          \
      "n_seqs_max")                                                                                \
    T(double, late_factor, NUMBER, 2, 0, 1e6,                                                      \
      "a request is late if it cannot end within this many times its expected time alone, "        \
      "plus that time, after its arrival. The turn of a late request comes after the "             \
      "others'")                                                                                   \
    T(bool, db_counts_wall, FLAG, 0, 0, 1,                                                         \
      "budgets are charged the wall time of a batch, and not the time that its work would "        \
      "take alone")                                                                                \
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
    T(double, quota_wanted, NUMBER, 1.1, 1, 100,                                                   \
      "a model asks for a larger quota if it wants more than this many times what it uses")        \
    T(double, quota_step, NUMBER, 0.1, 0, 1,                                                       \
      "the part of its quota by which a model asks for more")                                      \
    T(double, quota_lent, NUMBER, 0.1, 0, 1,                                                       \
      "a model may exceed its quota while more than this part of the pool is free and no "         \
      "model below its own quota lacks blocks")                                                    \
    T(bool, has_soft_quotas, FLAG, 0, 0, 1,                                                        \
      "quotas also hold in db-share")                                                              \
    T(bool, has_fixed_parts, FLAG, 0, 0, 1,                                                        \
      "a model also keeps to a part of the device when it is alone")                               \
    T(int32_t, lease_tokens, COUNT, 128, 1, LIMIT_CONTEXT, "tokens of a lease")                    \
    T(bool, has_leases, FLAG, 0, 0, 1, "db-share books leases")                                    \
    T(bool, promotes_slack, FLAG, 0, 0, 1, "a request whose deadline is nearer than its "          \
      "predicted rest counts as starved")                                                          \
    T(bool, guards_tpot, FLAG, 0, 0, 1,                                                            \
      "no prompt starts if a model with a target per token would miss its target because "         \
      "of it (Aladdin's constraint (d))")                                                          \
    T(int32_t, static_n_seqs_max, COUNT, 12, 1, LIMIT_BATCH_ITEMS,                                 \
      "requests of a static batch")                                                                \
    T(int64_t, cohort_ns_wait, MILLISECONDS, 1000, 0, 1e9,                                         \
      "if some members of a router's batch have not come after this time, the batch starts "       \
      "without them")                                                                              \
    T(int32_t, ils_new_tokens, COUNT, 1024, 1, LIMIT_CONTEXT, "a request without a "               \
      "prediction reserves this many new tokens, or its own limit if that is higher")              \
    T(int32_t, ils_n_seqs_max, COUNT, 64, 1, LIMIT_BATCH_ITEMS,                                    \
      "requests that run together")                                                                \
    T(int32_t, fastgen_batch_tokens, COUNT, 768, 16, LIMIT_BATCH_TOKENS,                           \
      "tokens of a batch")                                                                         \
    T(int32_t, fastgen_n_seqs_max, COUNT, 512, 1, LIMIT_BATCH_ITEMS,                               \
      "requests of a batch")                                                                       \
    T(bool, fastgen_flushes_all, FLAG, 1, 0, 1,                                                    \
      "when blocks run out, the blocks of all requests are taken back (v0.2.0), and not "          \
      "only those of the last one (from 0.2.1)")
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
