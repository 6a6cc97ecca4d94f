/* Learns how long requests take alone, from a few: X(i, o) = TTFT(i) + (o - 1) TPOT, TTFT linear in
 * the prompt's tokens. */
#pragma once
#include "metrics/score.h"

struct loadgen_solo {
    bool is_known;
    double ttft_s, ttft_per_token_s, tpot_s;
    double error; /* mean of |model - measured| / measured over the samples */
    int32_t n;
};
/* Fits the done records of one service, which were measured one at a time. With one prompt length
 * only, TTFT is their mean. */
void loadgen_solo_fit(const struct record_set *set, int32_t service, struct loadgen_solo *out);
/* MuxServe's reference times, by the same line. */
void loadgen_solo_base(const struct loadgen_solo *solo, struct score_base *out);
int64_t loadgen_solo_ns(const struct loadgen_solo *solo, int32_t n_prompt, int32_t n_output);
