/* Figures of a service that the policies use. Private to this room. */
#pragma once
#include <stdint.h>

struct engine;
struct perf;
struct request;

struct engine_stats { /* of one service */
    int64_t n_arrived, n_finished, n_preempted, n_exceeded, n_forced;
    int64_t n_swapped, n_batches, n_batch_rows;
    int64_t n_drafts, n_drafted, n_accepted;
    int32_t n_draft_hits, n_draft_trials; /* of all its requests, recently: draft.h */
    int64_t n_kept, n_handed, n_handed_lost;
    int64_t n_disk_tokens, n_disk_lost;
    double solo_ns, solo_variance, n_prompt, n_output;
    int64_t n_arrived_tick;
    double rate_per_s;
};

void engine_stats_init(struct engine *engine, int service, const struct perf *perf);
void engine_stats_arrived(struct engine *engine, const struct request *request);
void engine_stats_finished(struct engine *engine, const struct request *request);
void engine_stats_tick(struct engine *engine, int64_t now_ns); /* rates, once a second */
int64_t engine_stats_remaining_ns(const struct engine *engine, int service);
