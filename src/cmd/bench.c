/* shoal bench: replays a workload against any OpenAI-compatible server and judges every answer. */
#include "cmd/bench.h"
#include "cmd/client.h"
#include "cmd/sim_cases.h"

#include "base/mem.h"
#include "base/time.h"
#include "cmd/verbs.h"
#include <curl/curl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Checks that the words among the options have a meaning together. */
static bool is_sense(const struct bench_options *o)
{
    if (strcmp(o->prompt, "text") != 0 && strcmp(o->prompt, "ids") != 0) {
        fprintf(stderr, "shoal: --prompt is text or ids\n");
        return false;
    }
    bool is_chat = strcmp(o->endpoint, "chat") == 0;
    if (!is_chat && strcmp(o->endpoint, "completions") != 0) {
        fprintf(stderr, "shoal: --endpoint is completions or chat\n");
        return false;
    }
    if (is_chat && strcmp(o->prompt, "ids") == 0) {
        fprintf(stderr, "shoal: a chat has no token ids: --prompt text\n");
        return false;
    }
    bool ends_by_stop = strcmp(o->end, "stop") == 0;
    if (!ends_by_stop && strcmp(o->end, "max_tokens") != 0) {
        fprintf(stderr, "shoal: --end is stop or max_tokens\n");
        return false;
    }
    if (o->n_tokens_max > 0 && (!ends_by_stop || o->stops_early)) {
        fprintf(stderr, "shoal: --max-tokens is for --end stop without --stops: else max_tokens is "
                        "each request's own output\n");
        return false;
    }
    return true;
}

/* The options of the requests and their form. */
static int ask_rows(struct bench_options *o, struct flags_row *rows)
{
    const struct flags_row own[] = {
        { "workload", "TEXT", FLAGS_TEXTS, &o->workload, 0, 0,
          "what is asked (repeatable: all at once); see docs/SIMULATOR.md", NULL },
        { "models", "A,B", FLAGS_TEXT, &o->models, 0, 0,
          "the model of each service, instead of the workload's names", NULL },
        { "seed", "N", FLAGS_I64, &o->seed, 0, 0, "of arrivals, lengths and words: 1", NULL },
        { "requests", "N", FLAGS_I64, &o->n_requests, 1, 1e7, "how many", NULL },
        { "duration", "T", FLAGS_DURATION, &o->duration_ns, 0, 0, "arrivals end here", NULL },
        { "rate-scale", "F", FLAGS_F64, &o->rate_scale, 1e-9, 1e9, "times as many a second", NULL },
        { "concurrency", "N", FLAGS_I64, &o->n_at_once, 1, 65536,
          "closed loop: so many at any time, whatever the arrivals say", NULL },
        { "endpoint", "completions|chat", FLAGS_TEXT, &o->endpoint, 0, 0,
          "what is asked: completions; in a chat the template's tokens come on top of a prompt's",
          NULL },
        { "prompt", "text|ids", FLAGS_TEXT, &o->prompt, 0, 0,
          "prompts as seeded words (default), or as token ids", NULL },
        { "vocabulary", "N", FLAGS_I64, &o->n_vocabulary, 4, 1 << 20, "ids are below this: 256",
          NULL },
        { "solo", "N", FLAGS_I64, &o->n_solo, 0, 1000,
          "first measure so many requests of each model alone: 3; 0: no normalized latency", NULL },
        { "check", NULL, FLAGS_SWITCH, &o->checks, 0, 0,
          "ask those twice alone, and compare their answers with each other and under load", NULL },
        { "end", "stop|max_tokens", FLAGS_TEXT, &o->end, 0, 0,
          "how an answer gets its length: stop (a stop token that must come then), or max_tokens, "
          "which tells the server each length, for servers that know no min_tokens",
          NULL },
        { "max-tokens", "N", FLAGS_I64, &o->n_tokens_max, 1, LIMIT_CONTEXT,
          "max_tokens of every request: the longest output of its model", NULL },
        { "stops", NULL, FLAGS_SWITCH, &o->stops_early, 0, 0,
          "answers may end with an end token before their length, which is max_tokens then", NULL },
    };
    memcpy(rows, own, sizeof(own));
    return (int)COUNT_OF(own);
}

/* Options of the measured server and of the output. */
static int run_rows(struct bench_options *o, struct flags_row *rows)
{
    const struct flags_row own[] = {
        { "timeout", "T", FLAGS_DURATION, &o->timeout_ns, 1e6, 1e15, "of one request: 10m", NULL },
        { "key", "KEY", FLAGS_TEXT, &o->client.key, 0, 0, "API key: $SHOAL_API_KEY", NULL },
        { "cacert", "FILE", FLAGS_TEXT, &o->client.cacert, 0, 0,
          "trust the authorities of this PEM file, over https", NULL },
        { "insecure", NULL, FLAGS_SWITCH, &o->client.is_insecure, 0, 0,
          "trust any certificate, over https", NULL },
        { "core", "N", FLAGS_I64, &o->core, 0, 1023, "stay on this processor", NULL },
        { "ttft", "T", FLAGS_DURATION, &o->slo.ttft_ns, 0, 0, "target of every model", NULL },
        { "tpot", "T", FLAGS_DURATION, &o->slo.tpot_ns, 0, 0, "target of every model", NULL },
        { "e2e", "T", FLAGS_DURATION, &o->slo.e2e_ns, 0, 0, "target of every model", NULL },
        { "slo", "RULE", FLAGS_TEXT, &o->slo_rule, 0, 0,
          "what MET counts, seallm-solo:5; docs/METRICS.md has the others", NULL },
        { "csv", "FILE", FLAGS_FILE, &o->csv, 0, 0, "write the records (.jsonl: as JSONL)", NULL },
        { "html", "FILE", FLAGS_FILE, &o->html, 0, 0, "write a page with plots", NULL },
        { "json", NULL, FLAGS_SWITCH, &o->is_json, 0, 0, "print JSON", NULL },
    };
    memcpy(rows, own, sizeof(own));
    return (int)COUNT_OF(own);
}

static bool parse(struct bench_options *o, int argc, char **argv)
{
    struct flags_row rows[FLAGS_ROWS_MAX];
    int n = ask_rows(o, rows);
    n += run_rows(o, rows + n);
    const struct flags flags = {
        "Replays a workload against an OpenAI-compatible server, streaming, and judges every "
        "answer. Exit code 0: all were right; 1: some were not; 2: it could not run.",
        "URL",
        rows,
        n,
        1,
        1
    };
    int n_plain;
    *o = (struct bench_options){ .prompt = "text",
                                 .endpoint = "completions",
                                 .end = "stop",
                                 .slo_rule = "seallm-solo:5",
                                 .client = { .key = getenv("SHOAL_API_KEY") },
                                 .seed = 1,
                                 .n_vocabulary = 256,
                                 .n_solo = 3,
                                 .core = -1,
                                 .timeout_ns = 600 * TIME_NS_PER_S };
    struct fault fault;
    if (!flags_parse(&flags, argc, argv, &o->client.server, &n_plain) || !is_sense(o))
        return false;
    if (client_check(&o->client, &fault) == STATUS_OK)
        return true;
    fprintf(stderr, "shoal: %s\n", fault.text);
    return false;
}

static void show_progress(void *self, size_t n_over, size_t n)
{
    struct bench *bench = self;
    char more[64];
    snprintf(more, sizeof(more), "%zu of %zu requests", n_over, n);
    bar_draw(&bench->bar, bench->is_solo ? "alone" : "under load",
             n_over < n ? (double)n_over / (double)n : 1, more);
}

static struct bench_load load_of(struct bench *bench)
{
    bool is_seen = isatty(STDERR_FILENO) != 0 && !bench->options.is_json;
    return (struct bench_load){ .url = bench->endpoint.at,
                                .client = &bench->options.client,
                                .timeout_ns = bench->options.timeout_ns,
                                .may_stop_early = bench->options.stops_early,
                                .ends_by_stop = bench_asks_stop(bench),
                                .body = bench_asks_body,
                                .self = bench,
                                .progress = is_seen ? show_progress : NULL };
}

/* Chooses the calls of each model that are measured alone, spread evenly over its calls. With
 * --check each is there twice. */
static void choose_solos(struct bench *bench)
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

/* Measures each model alone; with --check the second answer must equal the first. Returns false
 * when no connection can be made. */
static bool run_solos(struct bench *bench)
{
    struct bench_load load = load_of(bench);
    bool is_there = true;
    choose_solos(bench);
    bench->solos_done = mem_take((bench->n_solo_calls + 1) * sizeof(*bench->solos_done));
    for (size_t i = 0; i < bench->n_solo_calls; i++)
        bench->solos_done[i].record = bench->calls[bench->solo_calls[i]].record;
    load.n_at_once = 1;
    bench->is_solo = true;
    if (bench->n_solo_calls > 0) {
        struct bench_ran ran = bench_load_run(&load, bench->solos_done, bench->n_solo_calls);
        bench->n_solo_calls = ran.n;
        bench->why_not = ran.why_not;
        is_there = ran.was_reached;
    }
    bench->is_solo = false;
    for (size_t i = 1; i < bench->n_solo_calls && bench->options.checks; i += 2) {
        struct bench_call *call = &bench->solos_done[i];
        if (record_is_done(&call->record) && record_is_done(&call[-1].record) &&
            call->text_hash != call[-1].text_hash) {
            call->record.why = RECORD_WRONG;
            call->wrong = mem_copy_text("another answer when asked again");
        }
    }
    /* Only the first of two equal calls is measured, since the second may find its prompt in the
     * prefix cache. */
    for (size_t i = 0; i < bench->n_solo_calls; i += bench->options.checks ? 2 : 1)
        metrics_record_add(&bench->solo_set, &bench->solos_done[i].record);
    for (int32_t s = 0; s < bench->set.n_services; s++)
        bench_solo_fit(&bench->solo_set, s, &bench->solos[s]);
    return is_there;
}

/* Compares the answers of the same requests alone and under load. */
static void compare(struct bench *bench)
{
    for (size_t i = 0; i < bench->n_solo_calls && bench->options.checks; i++) {
        const struct bench_call *alone = &bench->solos_done[i];
        struct bench_call *call = &bench->calls[bench->solo_calls[i]];
        if (!record_is_done(&alone->record) || !record_is_done(&call->record) ||
            alone->text_hash == call->text_hash)
            continue;
        bench->n_differing++;
        call->record.why = RECORD_WRONG;
        mem_give(call->wrong);
        call->wrong = mem_copy_text("another answer than alone");
    }
}

/* Returns false when no connection can be made. */
static bool run(struct bench *bench)
{
    struct bench_load load = load_of(bench);
    load.n_at_once = (int32_t)bench->options.n_at_once;
    load.gaps = &bench->gaps;
    struct bench_ran ran = bench_load_run(&load, bench->calls, bench->n_calls);
    bench->n_now_max = ran.n_now_max;
    bench->why_not = ran.why_not;
    bench->n_calls_wanted = bench->n_calls;
    bench->n_calls = ran.n;
    compare(bench);
    for (size_t i = 0; i < bench->n_calls; i++) {
        struct record *record = &bench->calls[i].record;
        record->solo_ns =
            bench_solo_ns(&bench->solos[record->service], record->n_prompt, record->n_wanted);
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

int verbs_bench(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "kernels") == 0)
        return verbs_bench_kernels(argc - 1, argv + 1);
    struct bench *bench = mem_take(sizeof(*bench));
    struct fault fault;
    int code = 2;
    if (!parse(&bench->options, argc, argv))
        goto end;
    const struct bench_options *o = &bench->options;
    if (sim_cases_rule(o->slo_rule, &o->slo, &bench->rule, &fault) != STATUS_OK) {
        fprintf(stderr, "shoal: %s\n", fault.text);
        goto end;
    }
    bool is_chat = strcmp(bench->options.endpoint, "chat") == 0;
    client_url(&bench->options.client, is_chat ? "/v1/chat/completions" : "/v1/completions",
               &bench->endpoint);
    stay_on_core(bench->options.core >= 0 ? bench->options.core : -1);
    curl_global_init(CURL_GLOBAL_DEFAULT);
    hist_init(&bench->gaps);
    if (bench_asks_open(bench, &fault) != STATUS_OK) {
        fprintf(stderr, "shoal: %s\n", fault.text);
    } else {
        bench_asks_contexts(bench);
        bench_asks_measure(bench);
        if (run_solos(bench) && run(bench))
            code = bench_report(bench) ? 0 : 1;
        else
            fprintf(stderr, "shoal: no connection to %s can be made: %s%s\n", bench->endpoint.at,
                    curl_easy_strerror((CURLcode)bench->why_not), client_advice(bench->why_not));
    }
    for (size_t i = 0; i < bench->n_solo_calls; i++)
        mem_give(bench->solos_done[i].wrong);
    mem_give(bench->solo_calls);
    mem_give(bench->solos_done);
    metrics_record_set_free(&bench->solo_set);
    bench_asks_close(bench);
end:
    str_free(&bench->endpoint);
    mem_give(bench);
    return code;
}
