/* A performance model of tables for simulations: the measured cost of a step.
 *
 * There are two forms. Parts: operations that depend on the batch's tokens (matrices, norms), on
 * its sequences (output matrix, sampler), on each prompt's attention and on the decodes' attention,
 * and the host's overhead; they are summed. Steps: whole steps measured end to end; a mixed one is
 * the sum of its prefill and its decode less the constant that both contain. Times are in ms. */
#pragma once
#include "predict/grid.h"
#include "predict/truth.h"

struct costs {
    struct grid tokens;    /* parts: x = tokens computed by the step */
    struct grid sequences; /* parts: x = sequences of the step */
    struct grid prefill;   /* parts, of one prompt: x = new tokens, y = tokens before */
    struct grid decode;    /* parts, of all decodes: x = number, y = mean context */
    /* parts, of a step with both: a prompt's new tokens and tokens before, number of decodes and
     * their mean context; without it the two parts are summed */
    struct grid4 mixed;
    /* steps: x = new tokens, y = the length that attends (for a whole prompt its own) */
    struct grid step_prefill;
    struct grid step_decode; /* steps: x = decodes, y = mean context */
    /* parts: decodes of unlike lengths cost as much as the same number of the mean length, plus
     * this fraction of the extra cost if all were as long as the longest (LLMServingSim's alpha) */
    double skew;
    /* added to every step; by each of its sequences; by each of its tokens */
    double host_ms, host_request_ms, host_token_ms;
    double host_prompt_ms; /* added to every step that computes prompts */
};
double costs_step_ms(const struct costs *costs, const struct perf_load *load);
struct perf_truth costs_truth(const struct costs *costs); /* borrows costs */
void costs_free(struct costs *costs);

/* ---- Readers of published tables (costs_read.c). text is the unpacked file (xz -d). n_layers is
 * that of the model; the tables measure one of its layers. Each reader adds its part to `costs`,
 * which is zeroed before the first. ---- */

/* microsoft/vidur's *.mlp.csv: matrices, norms, activations of a layer by tokens, one TP degree. */
enum status costs_read_vidur_mlp(struct costs *costs, const char *text, int32_t n_layers,
                                 int32_t tp, struct fault *fault) MUST_USE;
/* *.attention.csv of vidur and Frontier. */
enum status costs_read_vidur_attention(struct costs *costs, const char *text, int32_t n_layers,
                                       int32_t tp, struct fault *fault) MUST_USE;
/* vidur's cpu_overheads.csv: fits host_ms and host_request_ms over the rows of this TP degree. */
enum status costs_read_vidur_host(struct costs *costs, const char *text, int32_t tp,
                                  struct fault *fault) MUST_USE;
/* LLMServingSim's profile: *_dense.csv, *_per_sequence.csv, *_attention.csv. */
enum status costs_read_servingsim_dense(struct costs *costs, const char *text, int32_t n_layers,
                                        struct fault *fault) MUST_USE;
enum status costs_read_servingsim_sequence(struct costs *costs, const char *text,
                                           struct fault *fault) MUST_USE;
enum status costs_read_servingsim_attention(struct costs *costs, const char *text, int32_t n_layers,
                                            struct fault *fault) MUST_USE;
/* splitwise-sim's perf_model.csv: whole steps of one model, hardware and TP degree. */
struct costs_splitwise {
    const char *model, *hardware; /* "llama2-70b", "a100-80gb" */
    int32_t tp;
};
enum status costs_read_splitwise(struct costs *costs, const char *text,
                                 const struct costs_splitwise *which, struct fault *fault) MUST_USE;
/* Helix's bs2time.csv: a layer's prompt and decode time by tokens of the batch. */
enum status costs_read_helix(struct costs *costs, const char *text, const char *model_and_gpu,
                             int32_t n_layers, struct fault *fault) MUST_USE;
/* Reads any of LLMServingSim's three and our format below; the columns tell which. */
enum status costs_read_any(struct costs *costs, const char *text, int32_t n_layers,
                           struct fault *fault) MUST_USE;
/* Our format: phase,batch,length,ms with phase prefill or decode, as shoal profile measures. */
enum status costs_read_steps(struct costs *costs, const char *text, struct fault *fault) MUST_USE;
