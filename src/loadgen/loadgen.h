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
    int64_t n_tokens_max;   /* that every request is allowed; 0: the longest output of its model */
    struct service_slo slo; /* of every model */
    double rate_scale;
    bool checks, stops_early, is_json;
};
struct loadgen_text { /* how a text prompt of a call is built */
    int32_t n_words;
};
struct loadgen {
    struct loadgen_options options;
    struct workload workload;
    struct workload_stream stream;
    struct workload_ask *asks; /* (n_calls) */
    struct loadgen_text *texts;
    struct loadgen_call *calls;
    size_t n_calls, n_calls_wanted, n_now_max; /* fewer calls than wanted: the server was gone */
    const char *models[LIMIT_SERVICES];        /* by service */
    int32_t n_tokens_max[LIMIT_SERVICES];      /* by record.service: what requests are allowed */
    int32_t n_context[LIMIT_SERVICES];         /* by service: its model's; 0: not known */
    struct record_set set, solo_set;
    struct loadgen_solo solos[LIMIT_SERVICES];
    struct hist gaps;
    struct bar bar;
    struct score_service services[LIMIT_SERVICES];
    size_t *solo_calls; /* (n_solo_calls) indices into calls */
    struct loadgen_call *solos_done;
    size_t n_solo_calls, n_inexact, n_differing;
    bool is_solo;           /* the bodies asked for now are those of solo_calls */
    int why_not;            /* no connection was made: libcurl's code */
    struct score_rule rule; /* what MET counts */
    struct str endpoint;    /* the address asked */
    char names[LIMIT_SERVICES][LIMIT_NAME_BYTES];
};
/* Do answers end by a stop token, and not by max_tokens? */
bool loadgen_asks_stop(const struct loadgen *bench);
/* All requests of the workload, with their models and lengths. */
enum status loadgen_asks_open(struct loadgen *bench, struct fault *fault) MUST_USE;
void loadgen_asks_close(struct loadgen *bench);
/* Asks for the models' contexts, since no request may be allowed more. */
void loadgen_asks_contexts(struct loadgen *bench);
/* Makes text prompts as long as they should be, by the server's /tokenize where it has one. */
void loadgen_asks_measure(struct loadgen *bench);
/* The body of call i, as loadgen_load wants it. */
void loadgen_asks_body(void *self, size_t i, struct str *out);
/* Measures each model alone, then all requests under load, and reports. is_right: every answer was
 * right. A fault: it could not run. */
enum status loadgen_run(const struct loadgen_options *options, const struct score_rule *rule,
                        bool *is_right, struct fault *fault) MUST_USE;
/* Prints what was found and writes the files. True when every answer was right. */
bool loadgen_report(struct loadgen *bench);
