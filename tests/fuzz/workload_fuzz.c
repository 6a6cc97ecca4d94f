/* Fuzzes workloads as text: any text gives one sentence, or a workload whose first requests are
 * within the limits. */
#include "base/time.h"
#include "workload/workload.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static void play(const struct workload *w)
{
    struct workload_stream stream;
    struct workload_ask ask;
    int64_t last_ns = 0;
    workload_begin(&stream, w);
    for (int i = 0; i < 50 && workload_next(&stream, &ask); i++) {
        CHECK(ask.arrived_ns >= last_ns && ask.service < w->n_services);
        CHECK(ask.n_prompt >= 1 && ask.n_prompt <= LIMIT_CONTEXT);
        CHECK(ask.n_output >= 1 && ask.n_output <= LIMIT_CONTEXT);
        CHECK(ask.n_predicted >= 1 && ask.n_predicted <= LIMIT_CONTEXT);
        CHECK(ask.cancel_ns >= ask.arrived_ns && ask.deadline_ns >= ask.arrived_ns);
        last_ns = ask.arrived_ns;
    }
    workload_end(&stream);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    static struct workload w;
    struct fault fault = { { 0 } };
    char text[512];
    size_t n_text = n < sizeof(text) - 1 ? n : sizeof(text) - 1;
    if (n_text > 0)
        memcpy(text, bytes, n_text);
    text[n_text] = '\0';
    workload_init(&w);
    if (workload_parse(&w, text, &fault) == STATUS_OK)
        play(&w);
    else
        CHECK(fault.text[0] != '\0');
    workload_free(&w);
    return 0;
}
