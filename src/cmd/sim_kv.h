/* Measures a run's use of its KV pools: each service's part, whether it was fair, and the size of
 * their tables. It uses the records alone, so the result does not depend on how many rounds plans
 * hold. */
#pragma once
#include "base/json_out.h"
#include "cmd/sim_cases.h"

struct sim_kv {
    struct sim_kv_service {
        double share; /* of the byte-seconds of KV that all services held */
        double r;     /* MuxServe's R: share over the due one by requests, lengths and bytes */
    } services[LIMIT_SERVICES];
    double table_bytes; /* of all requests' block tables, on average over the run */
};
void sim_kv_of(const struct sim_case *c, struct sim_kv *out);
void sim_kv_print(const struct sim_case *c, struct str *out);
void sim_kv_json(const struct sim_case *c, struct json_out *json); /* a key "kv" */
