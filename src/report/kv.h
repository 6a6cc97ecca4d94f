/* What a run made of its KV pools: whose blocks they were, whether that was fair, and what their
 * tables weighed. From the records alone, so that it is the same however many rounds plans hold. */
#pragma once
#include "base/json_out.h"
#include "scenario/cases.h"

struct report_kv {
    struct report_kv_service {
        double share; /* of the byte-seconds of KV that all services held */
        double r;     /* MuxServe's R: share over what is its due by requests, lengths and bytes */
    } services[LIMIT_SERVICES];
    double table_bytes; /* of all requests' block tables, in the mean over the run */
};
void report_kv_of(const struct scenario_case *c, struct report_kv *out);
void report_kv_print(const struct scenario_case *c, struct str *out);
void report_kv_json(const struct scenario_case *c, struct json_out *json); /* a key "kv" */
