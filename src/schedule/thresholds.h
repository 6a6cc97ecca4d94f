/* Every threshold of every engine scheduler, in one struct. A preset is a few of these. */
#pragma once
#include "base/base.h"

struct schedule_config {        /* every threshold of every policy, one struct */
    int32_t n_seqs_max;         /* requests of one batch: 256 */
    int32_t n_batch_tokens_max; /* prompt tokens of one batch: 2048 */
    /* > 0: prompts are computed in chunks, beside the decodes of their service, at most this many
     * tokens in such a batch; 0 = whole prompts, in batches of their own */
    int32_t chunk_tokens;
    double watermark; /* fraction of the pool kept free when a request starts: 0.01 */
    /* blocks that every running request is to have ahead when another starts: 1; 0 = as vLLM, which
     * starts sooner and preempts more */
    int32_t ahead_blocks;
    int64_t starve_ns_min; /* theta = max(starve_ns_min, starve_factor * L-hat): 3 s, 2.5 */
    double starve_factor;
    /* db-*, value: tokens that a starved request generates, once it is served, before others go
     * ahead of it or take its blocks: 16 */
    int32_t starve_tokens;
    int64_t share_ns_depth;  /* db-share: depth of a service's bucket of device time: 0.3 s */
    int64_t share_ns_period; /* shares are computed anew this often: 8 s */
    double pool_full; /* above this fraction used, db-share cuts the heaviest service's cap: 0.9 */
    double pool_cut;  /* by this factor a period: 0.8 */
    /* value (value_policy.c has the formulas): the least work of a request, in L-hat, while none
     * has ended (0.1), and the part of them that have less (0.2); the slowness that adds half of
     * what it can, how slow counts at most, exponent of the rate, number of requests up to which
     * the greedy rule holds, most of the pool that heavy models leave free: 4, 5, 0.5, 6, 0.25. As
     * many requests run together as end soonest, times value_batch (1; 0: n_seqs_max). A request
     * that cannot end within late_factor (2) times its expected time alone, and that time, of its
     * arrival is late: its turn comes after those that are not. */
    double value_age, value_young, value_slow, value_cap, value_rate, value_few, value_kept;
    double value_batch, late_factor;
    bool db_counts_wall;  /* DB charges wall time of the batch, not solo-equivalent work */
    int32_t n_rounds_max; /* a hold plans at most this many rounds: 4096; 1 = never hold */

    /* mlfq: level k has a quantum of mlfq_ns_quantum << k of device time: 10 ms. Who was idle for
     * mlfq_ns_idle (3 s) rises to level 0, looked at every mlfq_n_steps (1000) batches. */
    int64_t mlfq_ns_quantum, mlfq_ns_idle;
    int32_t mlfq_n_steps;

    /* Quotas of the pool (adbs; soft in db-share when has_soft_quotas): a period of 8 s; who uses
     * less than quota_donor (0.9) of his quota offers what is above quota_kept (0.95); who wants
     * more than quota_wanted (1.1) times what he uses asks quota_step (0.1); a quota may be passed
     * while more than quota_lent (0.1) of the pool is free and nobody below his own lacks blocks.
     */
    int64_t quota_ns_period;
    double quota_donor, quota_kept, quota_wanted, quota_step, quota_lent;
    bool has_soft_quotas;
    bool
        has_fixed_parts; /* adbs, mux-*: also a model that is alone keeps to a part of the device */

    /* scls-cb, and db-share when has_leases: tokens of a lease: 128. */
    int32_t lease_tokens;
    bool has_leases;
    bool promotes_slack; /* db-share: deadline less predicted rest < 0 counts as starved */
    bool guards_tpot;    /* db-share: no prompt while a service with a target per token would miss
                            it (Aladdin's constraint (d)) */

    /* Static batches (sls, cohort): at most this many requests: 12; a router's batch whose members
     * did not all come starts without them after cohort_ns_wait: 1 s. */
    int32_t static_n_seqs_max;
    int64_t cohort_ns_wait;

    /* ils-reserve: new tokens that a request is taken to want at most, when its own limit is lower:
     * 1024, and requests that run together: 64. ils-fastgen: tokens and sequences of a batch (768,
     * 512); out of blocks it gives back everybody's (v0.2.0) or the last one's (from 0.2.1). */
    int32_t ils_new_tokens, ils_n_seqs_max;
    int32_t fastgen_batch_tokens, fastgen_n_seqs_max;
    bool fastgen_flushes_all;
};
