/* Replays a workload against any OpenAI-compatible server and judges every answer. */
#include "loadgen/loadgen.h"

#include "base/mem.h"
#include "loadgen/client.h"
#include <curl/curl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void show_progress(void *self, size_t n_over, size_t n)
{
    struct loadgen *bench = self;
    char more[64];
    snprintf(more, sizeof(more), "%zu of %zu requests", n_over, n);
    bar_draw(&bench->bar, bench->is_solo ? "alone" : "under load",
             n_over < n ? (double)n_over / (double)n : 1, more);
}

static struct loadgen_load load_of(struct loadgen *bench)
{
    bool is_seen = isatty(STDERR_FILENO) != 0 && !bench->options.is_json;
    return (struct loadgen_load){ .url = bench->endpoint.at,
                                  .client = &bench->options.client,
                                  .timeout_ns = bench->options.timeout_ns,
                                  .may_stop_early = bench->options.stops_early,
                                  .ends_by_stop = loadgen_asks_stop(bench),
                                  .body = loadgen_asks_body,
                                  .self = bench,
                                  .progress = is_seen ? show_progress : NULL };
}

/* The calls of each model that are measured alone: spread evenly over its calls. With --check each
 * stands there twice. */
static void choose_solos(struct loadgen *bench)
{
    int32_t n_services = bench->set.n_services;
    size_t n_each = (size_t)bench->options.n_solo * (bench->options.checks ? 2 : 1);
    bench->solo_calls = mem_take((n_each * (size_t)n_services + 1) * sizeof(size_t));
    for (int32_t s = 0; s < n_services; s++) {
        size_t n = 0, at = 0, taken = 0;
        for (size_t i = 0; i < bench->n_calls; i++)
            n += bench->calls[i].record.service == s;
        size_t wanted = n < (size_t)bench->options.n_solo ? n : (size_t)bench->options.n_solo;
        for (size_t i = 0; i < bench->n_calls && taken < wanted; i++) {
            if (bench->calls[i].record.service != s || at++ * wanted < taken * n)
                continue;
            taken++;
            bench->solo_calls[bench->n_solo_calls++] = i;
            if (bench->options.checks)
                bench->solo_calls[bench->n_solo_calls++] = i;
        }
    }
}

/* Measures each model alone; with --check the second answer must be the first. False: no connection
 * can be made. */
static bool run_solos(struct loadgen *bench)
{
    struct loadgen_load load = load_of(bench);
    bool is_there = true;
    choose_solos(bench);
    bench->solos_done = mem_take((bench->n_solo_calls + 1) * sizeof(*bench->solos_done));
    for (size_t i = 0; i < bench->n_solo_calls; i++)
        bench->solos_done[i].record = bench->calls[bench->solo_calls[i]].record;
    load.n_at_once = 1;
    bench->is_solo = true;
    if (bench->n_solo_calls > 0) {
        struct loadgen_ran ran = loadgen_load_run(&load, bench->solos_done, bench->n_solo_calls);
        bench->n_solo_calls = ran.n;
        bench->why_not = ran.why_not;
        is_there = ran.was_reached;
    }
    bench->is_solo = false;
    for (size_t i = 1; i < bench->n_solo_calls && bench->options.checks; i += 2) {
        struct loadgen_call *call = &bench->solos_done[i];
        if (record_is_done(&call->record) && record_is_done(&call[-1].record) &&
            call->text_hash != call[-1].text_hash) {
            call->record.why = RECORD_WRONG;
            call->wrong = mem_copy_text("another answer when asked again");
        }
    }
    /* Of two equal ones the second may find its prompt in the prefix cache: it is not measured. */
    for (size_t i = 0; i < bench->n_solo_calls; i += bench->options.checks ? 2 : 1)
        metrics_record_add(&bench->solo_set, &bench->solos_done[i].record);
    for (int32_t s = 0; s < bench->set.n_services; s++)
        loadgen_solo_fit(&bench->solo_set, s, &bench->solos[s]);
    return is_there;
}

/* What the same requests answered alone and under load. */
static void compare(struct loadgen *bench)
{
    for (size_t i = 0; i < bench->n_solo_calls && bench->options.checks; i++) {
        const struct loadgen_call *alone = &bench->solos_done[i];
        struct loadgen_call *call = &bench->calls[bench->solo_calls[i]];
        if (!record_is_done(&alone->record) || !record_is_done(&call->record) ||
            alone->text_hash == call->text_hash)
            continue;
        bench->n_differing++;
        call->record.why = RECORD_WRONG;
        mem_give(call->wrong);
        call->wrong = mem_copy_text("another answer than alone");
    }
}

/* False: no connection can be made. */
static bool run(struct loadgen *bench)
{
    struct loadgen_load load = load_of(bench);
    load.n_at_once = (int32_t)bench->options.n_at_once;
    load.gaps = &bench->gaps;
    struct loadgen_ran ran = loadgen_load_run(&load, bench->calls, bench->n_calls);
    bench->n_now_max = ran.n_now_max;
    bench->why_not = ran.why_not;
    bench->n_calls_wanted = bench->n_calls;
    bench->n_calls = ran.n;
    compare(bench);
    for (size_t i = 0; i < bench->n_calls; i++) {
        struct record *record = &bench->calls[i].record;
        record->solo_ns =
            loadgen_solo_ns(&bench->solos[record->service], record->n_prompt, record->n_wanted);
        metrics_record_add(&bench->set, record);
    }
    return ran.was_reached;
}

static void stay_on_core(int64_t core)
{
    cpu_set_t cores;
    CPU_ZERO(&cores);
    CPU_SET((size_t)core, &cores);
    if (core >= 0 && sched_setaffinity(0, sizeof(cores), &cores) != 0)
        fprintf(stderr, "shoal: can't stay on processor %d\n", (int)core);
}

enum status loadgen_run(const struct loadgen_options *options, const struct score_rule *rule,
                        bool *is_right, struct fault *fault)
{
    struct loadgen *bench = mem_take(sizeof(*bench));
    bool is_chat = strcmp(options->endpoint, "chat") == 0;
    bench->options = *options;
    bench->rule = *rule;
    client_url(&bench->options.client, is_chat ? "/v1/chat/completions" : "/v1/completions",
               &bench->endpoint);
    stay_on_core(options->core >= 0 ? options->core : -1);
    curl_global_init(CURL_GLOBAL_DEFAULT);
    hist_init(&bench->gaps);
    enum status status = loadgen_asks_open(bench, fault);
    if (status == STATUS_OK) {
        loadgen_asks_contexts(bench);
        loadgen_asks_measure(bench);
        if (run_solos(bench) && run(bench))
            *is_right = loadgen_report(bench);
        else
            status = fault_set(fault, STATUS_IO, "no connection to %.120s can be made: %s%s",
                               bench->endpoint.at, curl_easy_strerror((CURLcode)bench->why_not),
                               client_advice(bench->why_not));
    }
    for (size_t i = 0; i < bench->n_solo_calls; i++)
        mem_give(bench->solos_done[i].wrong);
    mem_give(bench->solo_calls);
    mem_give(bench->solos_done);
    metrics_record_set_free(&bench->solo_set);
    loadgen_asks_close(bench);
    str_free(&bench->endpoint);
    mem_give(bench);
    return status;
}
