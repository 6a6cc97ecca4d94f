/* Fuzzes the readers of traces: any text gives a trace within its limits or one sentence. */
#include "workload/trace.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static void check(const struct workload_trace *trace)
{
    CHECK(trace->n_rows > 0 && trace->n_models >= 1 && trace->n_models <= LIMIT_SERVICES);
    CHECK(trace->rows[0].arrived_ns == 0);
    for (size_t i = 0; i < trace->n_rows; i++) {
        const struct workload_trace_row *row = &trace->rows[i];
        CHECK(row->n_prompt >= 1 && row->n_prompt <= LIMIT_CONTEXT);
        CHECK(row->n_output >= 1 && row->n_output <= LIMIT_CONTEXT);
        CHECK(row->n_predicted >= 0 && row->n_predicted <= LIMIT_CONTEXT);
        CHECK(row->arrived_ns >= 0 && row->deadline_ns >= 0 && row->cancel_ns >= 0);
        CHECK(i == 0 || trace->rows[i - 1].arrived_ns <= row->arrived_ns);
        CHECK(row->model < trace->n_models);
        CHECK(row->n_prefix == 0 ||
              (trace->prefix_tokens > 0 && row->prefix_at + row->n_prefix <= trace->n_blocks));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct fault fault = { { 0 } };
    struct workload_trace trace;
    if (workload_trace_parse(&trace, "fuzz", view_of((const char *)bytes, n), &fault) ==
        STATUS_OK) {
        check(&trace);
    } else {
        CHECK(strncmp(fault.text, "fuzz:", 5) == 0 && strlen(fault.text) > 8);
    }
    workload_trace_free(&trace);
    return 0;
}
