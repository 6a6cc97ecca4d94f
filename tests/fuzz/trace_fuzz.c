/* Fuzzes the readers of traces: whatever the text, a trace within its limits or one sentence; and
 * what is written of it is read again as the same. */
#include "sim/trace.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static void check(const struct sim_trace *trace)
{
    CHECK(trace->n_rows > 0 && trace->n_models >= 1 && trace->n_models <= LIMIT_SERVICES);
    for (size_t i = 0; i < trace->n_rows; i++) {
        const struct sim_trace_row *row = &trace->rows[i];
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

/* CSV keeps everything but line ends in names. */
static void write_and_read(const struct sim_trace *trace)
{
    struct fault fault = { { 0 } };
    struct sim_trace again;
    struct str text;
    str_init(&text);
    sim_trace_print(trace, false, &text);
    CHECK(sim_trace_parse(&again, "again", view_of(text.at, text.n), &fault) == STATUS_OK);
    CHECK(again.n_rows == trace->n_rows);
    for (size_t i = 0; i < trace->n_rows; i++) {
        const struct sim_trace_row *a = &trace->rows[i], *b = &again.rows[i];
        CHECK(a->arrived_ns == b->arrived_ns && a->n_prompt == b->n_prompt);
        CHECK(a->n_output == b->n_output && a->n_prefix == b->n_prefix);
        CHECK(a->deadline_ns == b->deadline_ns && a->tenant == b->tenant);
    }
    sim_trace_free(&again);
    str_free(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct fault fault = { { 0 } };
    struct sim_trace trace;
    if (sim_trace_parse(&trace, "fuzz", view_of((const char *)bytes, n), &fault) == STATUS_OK) {
        check(&trace);
        write_and_read(&trace);
    } else {
        CHECK(strncmp(fault.text, "fuzz:", 5) == 0 && strlen(fault.text) > 8);
    }
    sim_trace_free(&trace);
    return 0;
}
