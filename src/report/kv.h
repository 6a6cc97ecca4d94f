/* Measures a run's use of its KV pools: each service's part, whether it was fair, and the size of
 * their tables. It uses the records alone, so the result does not depend on how many rounds plans
 * hold. */
#pragma once
#include "base/doc.h"
#include "base/json_out.h"
#include "scenario/cases.h"

struct report_kv {
    struct report_kv_service {
        double share; /* of the byte-seconds of KV that all services held */
        double r;     /* MuxServe's R: share over the due one by requests, lengths and bytes */
    } services[LIMIT_SERVICES];
    double table_bytes; /* of all requests' block tables, on average over the run */
};
void report_kv_of(const struct scenario_case *c, struct report_kv *out);
void report_kv_print(const struct scenario_case *c, struct doc *out);
void report_kv_json(const struct scenario_case *c, struct json_out *json); /* a key "kv" */
