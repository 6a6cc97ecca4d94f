/* The time of a model on CPU cores without a measurement: bounds and overheads, good enough to
 * choose cores before a model is loaded.
 *
 * A step reads the packed weights and multiplies them with its rows; the slower of both counts.
 * Each layer adds some time, and more when cores must synchronize. The figures of a core are from
 * `shoal profile` of two models in 8 bits (2 million and 162 million parameters) on one and two
 * cores of an AMD EPYC (Zen 3, AVX2), which they match within a third. AVX-512 and processors with
 * neither are scaled by their vector width. Bandwidth is shared in proportion to cores, up to eight
 * of them. */
#pragma once
#include "core/model_spec.h"
#include "predict/perf.h"

enum predict_cores_isa { PREDICT_CORES_GENERIC, PREDICT_CORES_AVX2, PREDICT_CORES_AVX512 };
struct predict_cores_model {
    const struct model_spec *spec;
    int64_t weights_bytes; /* packed */
    int64_t kv_bytes_per_token;
};
/* Sets the performance model on n_cores of the n_all cores of the machine's socket. */
void predict_cores_perf(const struct predict_cores_model *model, enum predict_cores_isa isa,
                        int32_t n_cores, int32_t n_all, struct perf *out);
