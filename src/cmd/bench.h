/* The parts of shoal bench: its requests (bench_asks.c), the run (bench.c), and its report
 * (bench_report.c). */
#pragma once
#include "base/hist.h"
#include "cmd/bar.h"
#include "cmd/bench_load.h"
#include "cmd/bench_prompt.h"
#include "cmd/bench_solo.h"
#include "cmd/client.h"
#include "cmd/flags.h"
#include "metrics/score.h"
#include "sim/workload.h"

struct bench_options {
    struct client_options client;
    const char *prompt, *endpoint, *end, *models, *csv, *html, *slo_rule;
    struct flags_texts workload;
    int64_t seed, n_requests, n_at_once, n_solo, n_vocabulary, duration_ns, timeout_ns, core;
    int64_t n_tokens_max;   /* allowed for every request; 0: the longest output of its model */
    struct service_slo slo; /* of every model */
    double rate_scale;
    bool checks, stops_early, is_json;
};
struct bench_text { /* how the text prompt of a call is built */
    int32_t n_words;
};
struct bench {
    struct bench_options options;
    struct sim_workload workload;
    struct sim_stream stream;
    struct sim_ask *asks; /* (n_calls) */
    struct bench_text *texts;
    struct bench_call *calls;
    size_t n_calls, n_calls_wanted, n_now_max; /* fewer than wanted: the server stopped answering */
    const char *models[LIMIT_SERVICES];        /* by service */
    int32_t n_tokens_max[LIMIT_SERVICES];      /* by record.service: the limit of requests */
    int32_t n_context[LIMIT_SERVICES];         /* by service: its model's; 0: unknown */
    struct record_set set, solo_set;
    struct bench_solo solos[LIMIT_SERVICES];
    struct hist gaps;
    struct bar bar;
    struct score_service services[LIMIT_SERVICES];
    size_t *solo_calls; /* (n_solo_calls) indices into calls */
    struct bench_call *solos_done;
    size_t n_solo_calls, n_inexact, n_differing;
    bool is_solo;           /* the present bodies are those of solo_calls */
    int why_not;            /* no connection was made: libcurl's code */
    struct score_rule rule; /* what MET counts */
    struct str endpoint;    /* the address of the requests */
    char names[LIMIT_SERVICES][LIMIT_NAME_BYTES];
};
/* Returns whether answers end by a stop token, and not by max_tokens. */
bool bench_asks_stop(const struct bench *bench);
/* Makes all requests of the workload, with their models and lengths. */
enum status bench_asks_open(struct bench *bench, struct fault *fault) MUST_USE;
void bench_asks_close(struct bench *bench);
/* Asks the server for the models' contexts, since no request may be longer. */
void bench_asks_contexts(struct bench *bench);
/* Makes text prompts of the right length, by the server's /tokenize if it has one. */
void bench_asks_measure(struct bench *bench);
/* Writes the body of call i, as bench_load needs it. */
void bench_asks_body(void *self, size_t i, struct str *out);
/* Prints the results and writes the files. Returns true when every answer was right. */
bool bench_report(struct bench *bench);
