/* How many requests a batch may hold: the memory estimators of the batchers, after
 * docs/ALGORITHMS.md section 4.1 and the papers behind it (SCLS section 4.2, S^3, UELLM).
 *
 * There are three forms: padded bytes, (L + S) N delta <= zeta M; a rule table, measured once per
 * engine (DeepSpeed's in SCLS); paged blocks, as our pool takes them. L: tokens of the longest
 * input, S: tokens that may come, N: requests. */
#pragma once
#include "base/base.h"

enum memory_kind { MEMORY_PADDED, MEMORY_RULES, MEMORY_PAGED };
enum { MEMORY_RULES_MAX = 8 };

struct memory_rule { /* up to this many tokens of input and slice, at most this many requests */
    int32_t n_tokens_max, n_requests_max;
};
struct memory_model {
    enum memory_kind kind;
    /* PADDED, PAGED */
    int64_t available_bytes; /* capacity - weights - the engine's own memory */
    int64_t bytes_per_token;
    double zeta;          /* PADDED: the fraction that plans may use (HF: 0.9) */
    int32_t block_tokens; /* PAGED */
    /* RULES, ascending; longer inputs than the last follow the last */
    int32_t n_rules;
    struct memory_rule rules[MEMORY_RULES_MAX];
};
/* SCLS's table: LLaMA2-13B on an A100-80G under DeepSpeed, S = 128. */
extern const struct memory_model predict_memory_deepspeed_13b;

/* Returns the most requests of input L with S tokens to come; 0 when not even one fits. */
int32_t predict_memory_n_max(const struct memory_model *model, int32_t n_input, int32_t n_slice);
