/* The host's part of an ask, computed with the CPU's own functions. */
#include "cuda/draw.h"

#include "base/num.h"
#include "compute/draw.h"
#include "compute/pass.h"

_Static_assert(sizeof(struct cuda_logprobs) == sizeof(struct token_logprobs) &&
                   offsetof(struct cuda_logprobs, top_logprobs) ==
                       offsetof(struct token_logprobs, top_logprobs),
               "the same record");
_Static_assert(sizeof(struct cuda_bias) == sizeof(struct logit_bias), "the same record");
_Static_assert((int)CUDA_ASK_TOKEN == (int)COMPUTE_ASK_TOKEN &&
                   (int)CUDA_ASK_SCORE == (int)COMPUTE_ASK_SCORE,
               "the same numbers");
_Static_assert((int)CUDA_VOCABULARY_MAX == (int)LIMIT_VOCABULARY, "the same limit");

float cuda_draw_distance(float min_p)
{
    float distance = -COMPUTE_DRAW_NEGLIGIBLE;
    if (min_p > 0.0F) {
        float log_min_p = (float)num_log((double)min_p);
        distance = log_min_p > distance ? log_min_p : distance;
    }
    return distance;
}
