/* Launch functions of drawing: compute_sampler_draw and compute_sampler_score (compute/sampler.h)
 * on the device, with the same results bit for bit given the same logits.
 *
 * Weights are integers of units of 2^-30, so sums are exact in any order. Everything else that
 * rounds (the exponential, penalties, log probabilities in double) rounds in the same operations.
 * One difference remains: among the most likely ids of a row that holds NaN, NaN is left out here.
 */
#pragma once
#include "cuda/kernels.h"

enum { CUDA_TOP_LOGPROBS = 20, CUDA_VOCABULARY_MAX = 1 << 20 };

struct cuda_logprobs { /* struct token_logprobs (core/service.h) */
    float logprob;
    int32_t n_top;
    int32_t top_ids[CUDA_TOP_LOGPROBS];
    float top_logprobs[CUDA_TOP_LOGPROBS];
};
struct cuda_bias { /* struct logit_bias (core/request.h) */
    int32_t id;
    float bias;
};
enum cuda_ask_kind { CUDA_ASK_NONE, CUDA_ASK_TOKEN, CUDA_ASK_SCORE }; /* enum compute_ask_kind */

struct cuda_ask {     /* what is wanted of one row of logits: struct compute_ask, flat */
    int32_t kind, id; /* id: of SCORE */
    uint64_t seed;
    const int32_t *tokens; /* the history, without `last` */
    const int32_t *last;   /* the history's last token where `tokens` lacks it; NULL: it does not */
    int32_t n_prompt, n_tokens; /* n_tokens counts `last` */
    const int32_t *stop_ids;
    const struct cuda_bias *biases;
    int32_t n_stop_ids, n_biases;
    const uint32_t *mask; /* a bit per id that may be drawn; NULL: all may */
    float temperature;    /* not > 0: the first of the highest logits */
    float top_p;          /* >= 1: off */
    float distance;       /* cuda_draw_distance(min_p) */
    float frequency_penalty, presence_penalty, repetition_penalty;
    int32_t top_k, n_tokens_min, n_top_logprobs; /* top_k <= 0: off */
    struct cuda_logprobs *logprobs;              /* out; NULL: not wanted (SCORE: wanted) */
};
/* The least (logit - best) / temperature of a candidate under min_p (0: off). */
float cuda_draw_distance(float min_p);

struct cuda_draw {
    const struct cuda_ask *asks;  /* (n_rows) in device memory */
    float *logits;                /* (n_rows, n_vocabulary); TOKEN rows are changed in place */
    int32_t *drawn;               /* (n_rows) out: ids of TOKEN rows; others are left alone */
    int32_t n_rows, n_vocabulary; /* n_vocabulary <= CUDA_VOCABULARY_MAX */
    int32_t *counts;              /* (n_rows, n_vocabulary) all 0, and 0 again afterwards */
    float *raw;                   /* (n_rows, n_vocabulary) scratch of rows with logprobs */
};
bool cuda_draw_rows(struct cuda_stream *stream, const struct cuda_draw *draw);
