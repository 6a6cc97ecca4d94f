/* shoal bench: its options, one run of the load generator and the exit code. */
#include "base/flags.h"
#include "base/time.h"
#include "cmd/verbs.h"
#include "loadgen/loadgen.h"
#include "metrics/rule.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Checks that the words among the options have a meaning together. */
static bool is_sense(const struct loadgen_options *o)
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
static int ask_rows(struct loadgen_options *o, struct flags_row *rows)
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
          "closed loop: this many at any time, whatever the arrivals are", NULL },
        { "endpoint", "completions|chat", FLAGS_TEXT, &o->endpoint, 0, 0,
          "what is asked: completions; in a chat the template's tokens come on top of a prompt's",
          NULL },
        { "prompt", "text|ids", FLAGS_TEXT, &o->prompt, 0, 0,
          "prompts as seeded words (default), or as token ids", NULL },
        { "vocabulary", "N", FLAGS_I64, &o->n_vocabulary, 4, 1 << 20, "ids are below this: 256",
          NULL },
        { "solo", "N", FLAGS_I64, &o->n_solo, 0, 1000,
          "first measure this many requests of each model alone: 3; 0: no normalized latency",
          NULL },
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
static int run_rows(struct loadgen_options *o, struct flags_row *rows)
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

static bool parse(struct loadgen_options *o, int argc, char **argv)
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
    *o = (struct loadgen_options){ .prompt = "text",
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

int verbs_bench(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "kernels") == 0)
        return verbs_bench_kernels(argc - 1, argv + 1);
    struct loadgen_options options;
    struct score_rule rule;
    struct fault fault;
    if (!parse(&options, argc, argv))
        return 2;
    enum status status = metrics_rule_read(options.slo_rule, &options.slo, &rule, &fault);
    bool is_right = false;
    if (status == STATUS_OK)
        status = loadgen_run(&options, &rule, &is_right, &fault);
    if (status != STATUS_OK) {
        fprintf(stderr, "shoal: %s\n", fault.text);
        return 2;
    }
    return is_right ? 0 : 1;
}
