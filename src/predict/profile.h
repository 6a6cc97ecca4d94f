/* A profile: the measurements of `shoal profile` of a model on a machine, per group of cores, and
 * the fit's error on points that it has not seen. It is a JSON file, which servers and simulations
 * read instead of measuring. */
#pragma once
#include "base/status.h"
#include "base/str.h"
#include "predict/group.h"
#include "predict/perf.h"

enum { PREDICT_PROFILE_GROUPS = 16, PREDICT_PROFILE_SAMPLES = 256 };

struct predict_profile_group {
    char device[64]; /* "cpu:0-1" */
    int32_t n_cores;
    double share; /* of the largest group */
    struct perf perf;
    struct perf_errors prefill, decode;           /* over the points of the fit */
    struct perf_errors prefill_held, decode_held; /* over points held out */
    int32_t n_samples;                            /* all measured ones; those held out are last */
    int32_t n_held;
    struct perf_sample samples[PREDICT_PROFILE_SAMPLES];
};
/* A model on one core while another core computes the same model. */
struct predict_profile_beside {
    int n_rounds;         /* 0: not measured */
    double factors[2][2]; /* [of][beside]: prompts 0, decodes 1; the slowdown, >= 1 */
};
struct predict_profile {
    char model[128], arithmetic[64]; /* such as "cpu-avx512" */
    uint64_t weights_hash;
    int64_t weights_bytes, activation_bytes, kv_bytes_per_token;
    int64_t peak_bytes;                /* of the process while it measured; 0 = unknown */
    int32_t n_batch_max, n_prompt_max; /* the largest measured ones */
    struct predict_profile_beside beside;
    struct predict_group group; /* n_layers 0: an older profile, which can't predict groups */
    int32_t n_groups;
    struct predict_profile_group *groups; /* (n_groups) ascending cores; owned */
};
/* Fits the group's model, errors and intervals to its samples, except those held out. Returns
 * BAD_INPUT when they do not determine a model. */
enum status predict_profile_fit(struct predict_profile_group *group, struct fault *fault) MUST_USE;
void predict_profile_write(const struct predict_profile *profile, struct str *out);
/* Reads a profile from text. name is for faults. Free it by predict_profile_free. */
enum status predict_profile_parse(struct predict_profile *out, const char *name, const char *text,
                                  struct fault *fault) MUST_USE;
enum status predict_profile_read(struct predict_profile *out, const char *path,
                                 struct fault *fault) MUST_USE;
void predict_profile_free(struct predict_profile *profile);
/* Returns the name of a frozen profile in reports: a hash of its text. */
uint64_t predict_profile_hash(const struct predict_profile *profile);
/* Returns the model of the group with n_cores cores, else of the nearest larger one scaled by
 * cores, else of the largest. */
struct perf predict_profile_perf(const struct predict_profile *profile, int32_t n_cores);
