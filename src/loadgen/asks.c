/* Makes the requests of shoal bench: the workload's requests as prompts of the right length. */
#include "loadgen/loadgen.h"

#include "base/json_out.h"
#include "base/mem.h"
#include "base/time.h"
#include "loadgen/client.h"
#include "workload/traffic.h"
#include <jansson.h>
#include <stdio.h>
#include <string.h>

enum { CALLS_MAX = 10000000, MEASURE_ROUNDS = 6, MEASURE_CALLS_MAX = 20000 };

/* "a,b,c": service i uses model i, repeated from the first when there are fewer models. */
static enum status name_models(struct loadgen *bench, struct fault *fault)
{
    int32_t n = 0;
    const char *at = bench->options.models;
    while (at != NULL && *at != '\0' && n < LIMIT_SERVICES) {
        size_t n_bytes = strcspn(at, ",");
        if (n_bytes == 0 || n_bytes >= LIMIT_NAME_BYTES)
            return fault_set(fault, STATUS_BAD_INPUT, "--models: \"%.80s\" is no list of names",
                             at);
        memcpy(bench->names[n], at, n_bytes);
        bench->names[n++][n_bytes] = '\0';
        at += n_bytes + (at[n_bytes] == ',');
    }
    for (int32_t i = 0; i < bench->workload.n_services; i++) {
        const struct workload_traffic *service = &bench->workload.services[i];
        const char *own = service->model != NULL ? service->model : service->name;
        bench->models[i] = n > 0 ? bench->names[i % n] : own;
        if (bench->models[i] == NULL)
            return fault_set(fault, STATUS_BAD_INPUT,
                             "service %d of the workload names no model: give --models a,b", i);
    }
    return STATUS_OK;
}

static bool add_ask(struct loadgen *bench, const struct workload_ask *ask, size_t *capacity)
{
    if (bench->n_calls == *capacity) {
        size_t more = *capacity > 0 ? 2 * *capacity : 1024;
        bench->asks =
            mem_grow(bench->asks, *capacity * sizeof(*bench->asks), more * sizeof(*bench->asks));
        *capacity = more;
    }
    bench->asks[bench->n_calls++] = *ask;
    return bench->n_calls < CALLS_MAX;
}

enum status loadgen_asks_open(struct loadgen *bench, struct fault *fault)
{
    const struct loadgen_options *o = &bench->options;
    struct traffic_options traffic = { .seed = (uint64_t)o->seed,
                                       .n_requests = (uint64_t)o->n_requests,
                                       .duration_ns = o->duration_ns,
                                       .rate_scale = o->rate_scale };
    struct workload_ask ask;
    size_t capacity = 0;
    enum status status = traffic_keep_pipes(&o->workload, fault);
    if (status == STATUS_OK)
        status = traffic_parse(&bench->workload, &o->workload, &traffic, fault);
    if (status == STATUS_OK)
        status = name_models(bench, fault);
    if (status != STATUS_OK)
        return status;
    workload_begin(&bench->stream, &bench->workload);
    while (workload_next(&bench->stream, &ask) && add_ask(bench, &ask, &capacity)) {}
    if (bench->n_calls == 0 || bench->n_calls == CALLS_MAX)
        return fault_set(fault, STATUS_BAD_INPUT,
                         "the workload has %s: give --requests or "
                         "--duration",
                         bench->n_calls == 0 ? "no requests" : "no end");
    bench->calls = mem_take(bench->n_calls * sizeof(*bench->calls));
    bench->texts = mem_take(bench->n_calls * sizeof(*bench->texts));
    for (size_t i = 0; i < bench->n_calls; i++) {
        const struct workload_ask *a = &bench->asks[i];
        int32_t service = metrics_record_service(&bench->set, view_text(bench->models[a->service]));
        int32_t *n_most = &bench->n_tokens_max[service];
        if (o->n_tokens_max > 0 && a->n_output > o->n_tokens_max)
            return fault_set(fault, STATUS_BAD_INPUT,
                             "request %zu is to have %d tokens: --max-tokens %d is too few", i,
                             a->n_output, (int)o->n_tokens_max);
        *n_most = max_i32(*n_most, o->n_tokens_max > 0 ? (int32_t)o->n_tokens_max : a->n_output);
        bench->calls[i].record = (struct record){ .id = i,
                                                  .service = (uint16_t)service,
                                                  .arrived_ns = a->arrived_ns,
                                                  .n_prompt = a->n_prompt,
                                                  .n_wanted = a->n_output,
                                                  .n_predicted = a->n_predicted };
        bench->texts[i].n_words = a->n_prompt;
    }
    return STATUS_OK;
}

void loadgen_asks_close(struct loadgen *bench)
{
    for (size_t i = 0; i < bench->n_calls && bench->calls != NULL; i++)
        mem_give(bench->calls[i].wrong);
    if (bench->asks != NULL)
        workload_end(&bench->stream);
    mem_give(bench->asks);
    mem_give(bench->calls);
    mem_give(bench->texts);
    metrics_record_set_free(&bench->set);
    workload_free(&bench->workload);
}

/* Returns the words of call i. Calls that are measured alone get other words, since the server
 * could find the same ones in its prefix cache. They keep them if answers are compared. */
static int32_t *tokens_of(const struct loadgen *bench, size_t i)
{
    struct workload_ask ask = bench->asks[i];
    int32_t *tokens = mem_take((size_t)ask.n_prompt * sizeof(*tokens));
    if (bench->is_solo && !bench->options.checks) {
        ask.number += UINT64_C(1) << 40;
        ask.n_prefix = 0;
    }
    workload_tokens(&bench->workload, &ask, 0, ask.n_prompt, tokens);
    return tokens;
}

bool loadgen_asks_stop(const struct loadgen *bench)
{
    return strcmp(bench->options.end, "stop") == 0 && !bench->options.stops_early;
}

/* Returns the limit of call i: the same for all calls of its model, as long as the context has
 * room. */
static int32_t allowed_tokens(const struct loadgen *bench, size_t i)
{
    const struct workload_ask *ask = &bench->asks[i];
    int32_t n = bench->n_tokens_max[bench->calls[i].record.service];
    int32_t n_context = bench->n_context[ask->service];
    if (n_context > 0)
        n = min_i32(n, n_context - ask->n_prompt);
    return max_i32(n, ask->n_output);
}

void loadgen_asks_body(void *self, size_t at, struct str *out)
{
    struct loadgen *bench = self;
    size_t i = bench->is_solo ? bench->solo_calls[at] : at;
    const struct workload_ask *a = &bench->asks[i];
    int32_t *tokens = tokens_of(bench, i);
    struct str text;
    bool ends_by_stop = loadgen_asks_stop(bench);
    const struct loadgen_ask ask = {
        .model = bench->models[a->service],
        .form = strcmp(bench->options.prompt, "ids") == 0      ? LOADGEN_IDS
                : strcmp(bench->options.endpoint, "chat") == 0 ? LOADGEN_CHAT
                                                               : LOADGEN_TEXT,
        .tokens = tokens,
        .n_prompt = a->n_prompt,
        .n_output = a->n_output,
        .n_tokens_max = ends_by_stop ? allowed_tokens(bench, i) : a->n_output,
        .ends_by_stop = ends_by_stop,
        .seed = bench->workload.seed + i,
        .ignores_eos = !bench->options.stops_early,
    };
    str_init(&text);
    str_add_text(&text, "");
    if (ask.form != LOADGEN_IDS)
        loadgen_prompt_text(tokens, a->n_prompt, bench->texts[i].n_words, &text);
    loadgen_prompt_body(&ask, text.at, (int32_t)bench->options.n_vocabulary, out);
    str_free(&text);
    mem_give(tokens);
}

/* ---- The server's data on its models. ---- */

void loadgen_asks_contexts(struct loadgen *bench)
{
    struct str answer;
    int http_status = 0;
    size_t i;
    json_t *model;
    str_init(&answer);
    if (client_call(&bench->options.client, "/v1/models", NULL, &http_status, &answer, NULL) ==
            STATUS_OK &&
        http_status == 200) {
        json_t *root = json_loadb(answer.at, answer.n, JSON_ALLOW_NUL, NULL);
        json_array_foreach(json_object_get(root, "data"), i, model) {
            const char *id = json_string_value(json_object_get(model, "id"));
            json_int_t n = json_integer_value(json_object_get(model, "max_model_len"));
            for (int32_t s = 0; s < bench->workload.n_services && id != NULL; s++)
                if (strcmp(id, bench->models[s]) == 0 && n > 0 && n <= LIMIT_CONTEXT)
                    bench->n_context[s] = (int32_t)n;
        }
        json_decref(root);
    }
    str_free(&answer);
}

/* ---- Lengths of text prompts. ---- */

/* Returns how many tokens the server makes of the first n_words words; -1: it gives no answer. */
static int64_t count_tokens(struct loadgen *bench, size_t i, const int32_t *tokens, int32_t n_words)
{
    struct str text, body, answer;
    struct json_out json;
    int http_status = 0;
    int64_t n = -1;
    str_init(&text);
    str_init(&body);
    str_init(&answer);
    loadgen_prompt_text(tokens, bench->asks[i].n_prompt, n_words, &text);
    json_out_init(&json, &body);
    json_out_open(&json, '{');
    json_out_key_text(&json, "model", bench->models[bench->asks[i].service]);
    json_out_key(&json, "prompt"); /* vLLM's name */
    json_out_text(&json, text.n > 0 ? text.at : "");
    json_out_key(&json, "content"); /* llama-server's */
    json_out_text(&json, text.n > 0 ? text.at : "");
    json_out_close(&json, '}');
    enum status status =
        client_call(&bench->options.client, "/tokenize", body.at, &http_status, &answer, NULL);
    if (status == STATUS_OK && http_status == 200) {
        json_t *root = json_loadb(answer.at, answer.n, JSON_ALLOW_NUL, NULL);
        const json_t *count = json_object_get(root, "count");
        const json_t *list = json_object_get(root, "tokens");
        n = json_is_integer(count) ? json_integer_value(count)
            : json_is_array(list)  ? (int64_t)json_array_size(list)
                                   : -1;
        json_decref(root);
    }
    str_free(&text);
    str_free(&body);
    str_free(&answer);
    return n;
}

/* Finds the number of words that make n_prompt tokens, or the nearest that was found. */
static bool measure_one(struct loadgen *bench, size_t i, double *tokens_per_word)
{
    int32_t n_wanted = bench->asks[i].n_prompt, best = 0;
    int64_t best_off = INT64_MAX;
    int32_t *tokens = tokens_of(bench, i);
    int32_t n_words = max_i32((int32_t)((double)n_wanted / *tokens_per_word), 1);
    for (int round = 0; round < MEASURE_ROUNDS && best_off != 0; round++) {
        int64_t n = count_tokens(bench, i, tokens, n_words);
        if (n < 0)
            break;
        int64_t off = n > n_wanted ? n - n_wanted : n_wanted - n;
        if (off < best_off) {
            best_off = off;
            best = n_words;
        }
        *tokens_per_word = n > 0 ? (double)n / n_words : 1;
        int32_t step = (int32_t)((double)(n_wanted - n) / *tokens_per_word);
        if (step == 0)
            step = n < n_wanted ? 1 : -1;
        n_words = max_i32(n_words + step, 1);
    }
    mem_give(tokens);
    if (best > 0)
        bench->texts[i].n_words = best;
    bench->n_inexact += best_off != 0;
    return best_off != INT64_MAX;
}

void loadgen_asks_measure(struct loadgen *bench)
{
    double tokens_per_word[LIMIT_SERVICES];
    if (strcmp(bench->options.prompt, "text") != 0)
        return;
    for (int i = 0; i < LIMIT_SERVICES; i++)
        tokens_per_word[i] = 1;
    for (size_t i = 0; i < bench->n_calls && i < MEASURE_CALLS_MAX; i++)
        if (!measure_one(bench, i, &tokens_per_word[bench->asks[i].service])) {
            bench->n_inexact = bench->n_calls;
            return; /* there is no /tokenize */
        }
}
