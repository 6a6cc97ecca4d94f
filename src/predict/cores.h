/* What a model takes on cores of a CPU that nobody has measured it on: bounds and what stands
 * around them, good enough to choose cores by before a model is loaded.
 *
 * A step reads the packed weights and multiplies them with its rows, whichever takes longer; each
 * layer costs some time by itself, and more where cores must meet. The figures of a core are from
 * `shoal profile` of two models in 8 bits (2 million and 162 million parameters) on one and two
 * cores of an AMD EPYC (Zen 3, AVX2), which they meet within a third; AVX-512 and what has neither
 * are scaled by how wide they are. Bandwidth is shared: cores have it in proportion, up to eight of
 * them. */
#pragma once
#include "core/model_spec.h"
#include "predict/perf.h"

enum predict_cores_isa { PREDICT_CORES_GENERIC, PREDICT_CORES_AVX2, PREDICT_CORES_AVX512 };
struct predict_cores_model {
    const struct model_spec *spec;
    int64_t weights_bytes; /* packed */
    int64_t kv_bytes_per_token;
};
/* On n_cores, of n_all that the machine's socket has. */
void predict_cores_perf(const struct predict_cores_model *model, enum predict_cores_isa isa,
                        int32_t n_cores, int32_t n_all, struct perf *out);
