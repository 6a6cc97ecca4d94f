/* A profile: what `shoal profile` measured of a model on a machine, per group of cores, with how
 * far the fit is from points that it has not seen. A file of JSON; servers and simulations read it
 * in the place of measuring. */
#pragma once
#include "base/status.h"
#include "base/str.h"
#include "predict/perf.h"

enum { PREDICT_PROFILE_GROUPS = 16, PREDICT_PROFILE_SAMPLES = 256 };

struct predict_profile_group {
    char device[64]; /* "cpu:0-1" */
    int32_t n_cores;
    double share; /* of the largest group */
    struct perf perf;
    struct perf_errors prefill, decode;           /* over what it was fitted to */
    struct perf_errors prefill_held, decode_held; /* over points held out */
    int32_t n_samples;                            /* measured, held out ones last */
    int32_t n_held;
    struct perf_sample samples[PREDICT_PROFILE_SAMPLES];
};
/* A model on one core while another core computes the same model. */
struct predict_profile_beside {
    int n_rounds;         /* 0: was not measured */
    double factors[2][2]; /* [of][beside]: prompts 0, decodes 1; how much longer, >= 1 */
};
struct predict_profile {
    char model[128], arithmetic[64]; /* "cpu-avx512" and the like */
    uint64_t weights_hash;
    int64_t weights_bytes, activation_bytes, kv_bytes_per_token;
    int64_t peak_bytes;                /* of the process while it measured; 0 = unknown */
    int32_t n_batch_max, n_prompt_max; /* that were measured */
    struct predict_profile_beside beside;
    int32_t n_groups;
    struct predict_profile_group *groups; /* (n_groups) ascending cores; owned */
};
/* The group's model, errors and intervals from its samples: those held out are not fitted to.
 * BAD_INPUT: they don't tell one. */
enum status predict_profile_fit(struct predict_profile_group *group, struct fault *fault) MUST_USE;
void predict_profile_write(const struct predict_profile *profile, struct str *out);
/* From text; name stands in faults. Free with predict_profile_free. */
enum status predict_profile_parse(struct predict_profile *out, const char *name, const char *text,
                                  struct fault *fault) MUST_USE;
enum status predict_profile_read(struct predict_profile *out, const char *path,
                                 struct fault *fault) MUST_USE;
void predict_profile_free(struct predict_profile *profile);
/* What names a frozen profile in reports: a hash of its text. */
uint64_t predict_profile_hash(const struct predict_profile *profile);
/* The group of so many cores, else the nearest larger one scaled by cores, else the largest. */
struct perf predict_profile_perf(const struct predict_profile *profile, int32_t n_cores);
