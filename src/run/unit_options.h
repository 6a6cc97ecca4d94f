/* What a unit is opened with: see unit.h. */
#pragma once
#include "engine/host.h"
#include "run/executor.h"

struct run_unit_options {
    struct engine_host_options host; /* engine.exec is filled in by the unit */
    struct compute_device *device;
    const char *const *paths; /* per service; copied */
    /* Per service, what its file held when the engine's KV was laid out and its tokenizer read: a
     * file that says otherwise later is refused. They outlive the unit; NULL = not checked. */
    const struct model_spec *const *specs;
    /* Per service a performance model that is known already; one whose decodes cost nothing, or
     * perfs NULL: measured when it is loaded. Copied. */
    const struct perf *perfs;
    const enum dtype *kv_dtypes; /* per service; copied */
    int32_t n_rows_max, n_logit_rows_max;
    int64_t profile_ns; /* budget of the micro-profile */
    double steady;      /* batches take no less than so many times what perfs or the micro-profile
                           say; 0: what they take */
};
