/* shoal bench in its parts: what it asks (asks.c), the run (loadgen.c), what it found
 * (report.c). */
#pragma once
#include "base/bar.h"
#include "base/flags.h"
#include "base/hist.h"
#include "loadgen/client.h"
#include "loadgen/load.h"
#include "loadgen/prompt.h"
#include "loadgen/solo.h"
#include "metrics/score.h"
#include "workload/workload.h"

struct loadgen_options {
    struct client_options client;
    const char *prompt, *endpoint, *end, *models, *csv, *html, *slo_rule;
    struct flags_texts workload;
    int64_t seed, n_requests, n_at_once, n_solo, n_vocabulary, duration_ns, timeout_ns, core;
    int64_t n_tokens_max;   /* allowed for every request; 0: the longest output of its model */
    struct service_slo slo; /* of every model */
    double rate_scale;
    bool checks, stops_early, is_json;
};
struct loadgen_text { /* how the text prompt of a call is built */
    int32_t n_words;
};
struct loadgen {
    struct loadgen_options options;
    struct workload workload;
    struct workload_stream stream;
    struct workload_ask *asks; /* (n_calls) */
    struct loadgen_text *texts;
    struct loadgen_call *calls;
    size_t n_calls, n_calls_wanted, n_now_max; /* fewer than wanted: the server stopped answering */
    const char *models[LIMIT_SERVICES];        /* by service */
    int32_t n_tokens_max[LIMIT_SERVICES];      /* by record.service: the limit of requests */
    int32_t n_context[LIMIT_SERVICES];         /* by service: its model's; 0: unknown */
    struct record_set set, solo_set;
    struct loadgen_solo solos[LIMIT_SERVICES];
    struct hist gaps;
    struct bar bar;
    struct score_service services[LIMIT_SERVICES];
    size_t *solo_calls; /* (n_solo_calls) indices into calls */
    struct loadgen_call *solos_done;
    size_t n_solo_calls, n_inexact, n_differing;
    bool is_solo;           /* the present bodies are those of solo_calls */
    int why_not;            /* no connection was made: libcurl's code */
    struct score_rule rule; /* what MET counts */
    struct str endpoint;    /* the address of the requests */
    char names[LIMIT_SERVICES][LIMIT_NAME_BYTES];
};
/* Returns whether answers end by a stop token, and not by max_tokens. */
bool loadgen_asks_stop(const struct loadgen *bench);
/* Makes all requests of the workload, with their models and lengths. */
enum status loadgen_asks_open(struct loadgen *bench, struct fault *fault) MUST_USE;
void loadgen_asks_close(struct loadgen *bench);
/* Asks the server for the models' contexts, since no request may be longer. */
void loadgen_asks_contexts(struct loadgen *bench);
/* Makes text prompts of the right length, by the server's /tokenize if it has one. */
void loadgen_asks_measure(struct loadgen *bench);
/* Writes the body of call i, as loadgen_load needs it. */
void loadgen_asks_body(void *self, size_t i, struct str *out);
/* Measures each model alone, then all requests under load, and reports. is_right: every answer was
 * right. A fault: it could not run. */
enum status loadgen_run(const struct loadgen_options *options, const struct score_rule *rule,
                        bool *is_right, struct fault *fault) MUST_USE;
/* Prints what was found and writes the files. True when every answer was right. */
bool loadgen_report(struct loadgen *bench);
