/* Writes vectors and scores in the shape of each endpoint. */
#include "api/embed.h"

#include "api/call.h"
#include "api/embed_ask.h"
#include "api/reply.h"
#include "api/vectors.h"
#include "base/json_out.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/time.h"
#include <stdio.h>
#include <stdlib.h>

static const struct api_embed *embed_of(const struct api_call *call)
{
    return api_embed_of(&call->prompts.ask);
}

static void print_text_member(struct str *out, const char *key, const char *text)
{
    struct json_out json;
    str_printf(out, "\"%s\":", key);
    json_out_init(&json, out);
    json_out_text(&json, text);
}

static void print_usage(struct api_call *call, struct str *out)
{
    long long n = (long long)api_reply_sum_up(call).n_prompt;
    str_printf(out, "\"usage\":{\"prompt_tokens\":%lld,\"total_tokens\":%lld}", n, n);
}

static void print_floats(const float *vector, int32_t n, struct str *out)
{
    struct json_out json;
    json_out_init(&json, out);
    json_out_open(&json, '[');
    for (int32_t i = 0; i < n; i++)
        json_out_f64(&json, (double)vector[i]);
    json_out_close(&json, ']');
}

/* Brings a choice's vector into the form that is shown. Returns its floats. */
static int32_t finish(struct api_call *call, struct api_choice *choice, bool always_normalizes)
{
    bool normalizes = call->prompts.model->is_normalized || always_normalizes;
    return api_vectors_finish(choice->vector, choice->n_vector, embed_of(call)->dimensions,
                              normalizes);
}

/* --- OpenAI's embeddings --- */

static void write_openai(struct api_call *call, struct str *out)
{
    str_add_text(out, "{\"object\":\"list\",\"data\":[");
    for (int32_t i = 0; i < call->n_choices; i++) {
        struct api_choice *choice = &call->choices[i];
        int32_t n = finish(call, choice, false);
        str_printf(out, "%s{\"object\":\"embedding\",\"index\":%d,\"embedding\":", i > 0 ? "," : "",
                   i);
        if (embed_of(call)->is_base64) {
            str_add_char(out, '"');
            api_vectors_base64(choice->vector, n, out);
            str_add_char(out, '"');
        } else {
            print_floats(choice->vector, n, out);
        }
        str_add_char(out, '}');
    }
    str_add_text(out, "],");
    print_text_member(out, "id", call->id);
    str_printf(out, ",\"created\":%lld,", (long long)call->created_unix_s);
    print_text_member(out, "model", api_reply_model(call));
    str_add_char(out, ',');
    print_usage(call, out);
    str_add_char(out, '}');
}

/* --- Ollama's, whose vectors have the length 1 --- */

static void write_ollama(struct api_call *call, struct str *out)
{
    struct api_reply_sums sums = api_reply_sum_up(call);
    str_add_char(out, '{');
    print_text_member(out, "model", api_reply_model(call));
    str_add_text(out, ",\"embeddings\":[");
    for (int32_t i = 0; i < call->n_choices; i++) {
        if (i > 0)
            str_add_char(out, ',');
        print_floats(call->choices[i].vector, finish(call, &call->choices[i], true), out);
    }
    str_printf(out, "],\"total_duration\":%lld,\"load_duration\":%lld,\"prompt_eval_count\":%lld}",
               (long long)max_i64(time_now_ns() - call->arrived_ns, 0), (long long)sums.queue_ns,
               (long long)sums.n_prompt);
}

static void write_ollama_one(struct api_call *call, struct str *out)
{
    str_add_text(out, "{\"embedding\":");
    print_floats(call->choices[0].vector, finish(call, &call->choices[0], false), out);
    str_add_char(out, '}');
}

/* --- Scores of pairs --- */

struct ranked {
    int32_t index;
    double score;
};

static double sigmoid(double x)
{
    return x >= 0 ? 1 / (1 + num_exp(-x)) : num_exp(x) / (1 + num_exp(x));
}

/* Returns the scores of all pairs, in their order. The caller frees them by mem_give. */
static struct ranked *score(const struct api_call *call)
{
    const struct api_ask *ask = &call->prompts.ask;
    int32_t n = api_embed_n_pairs(ask), n_first = embed_of(call)->n_first;
    struct ranked *ranked = mem_take(sizeof(*ranked) * (size_t)n);
    for (int32_t i = 0; i < n; i++) {
        ranked[i].index = i;
        if (call->prompts.model->n_labels > 0) {
            ranked[i].score = sigmoid((double)call->choices[i].vector[0]);
            continue;
        }
        const struct api_choice *first = &call->choices[n_first > 1 ? i : 0];
        ranked[i].score = api_vectors_cosine(first->vector, call->choices[n_first + i].vector,
                                             call->prompts.model->n_vector);
    }
    return ranked;
}

static int compare(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

static void print_number(double value, struct str *out)
{
    struct json_out json;
    json_out_init(&json, out);
    json_out_f64(&json, value);
}

static void print_document(const struct api_call *call, int32_t index, struct str *out)
{
    const struct api_ask *ask = &call->prompts.ask;
    struct json_out json;
    str_add_text(out, ",\"document\":{\"text\":");
    json_out_init(&json, out);
    json_out_view(&json, ask->prompts[embed_of(call)->n_first + index].text);
    str_add_char(out, '}');
}

static void write_rerank(struct api_call *call, struct str *out)
{
    int32_t n = api_embed_n_pairs(&call->prompts.ask), n_top = embed_of(call)->n_top;
    struct ranked *ranked = score(call);
    qsort(ranked, (size_t)n, sizeof(*ranked), compare);
    str_add_char(out, '{');
    print_text_member(out, "id", call->id);
    str_add_char(out, ',');
    print_text_member(out, "model", api_reply_model(call));
    str_add_char(out, ',');
    print_usage(call, out);
    str_add_text(out, ",\"results\":[");
    for (int32_t i = 0; i < (n_top > 0 ? min_i32(n, n_top) : n); i++) {
        str_printf(out, "%s{\"index\":%d,\"relevance_score\":", i > 0 ? "," : "", ranked[i].index);
        print_number(ranked[i].score, out);
        if (embed_of(call)->has_documents)
            print_document(call, ranked[i].index, out);
        str_add_char(out, '}');
    }
    str_add_text(out, "]}");
    mem_give(ranked);
}

static void write_score(struct api_call *call, struct str *out)
{
    int32_t n = api_embed_n_pairs(&call->prompts.ask);
    struct ranked *ranked = score(call);
    str_add_char(out, '{');
    print_text_member(out, "id", call->id);
    str_printf(out, ",\"object\":\"list\",\"created\":%lld,", (long long)call->created_unix_s);
    print_text_member(out, "model", api_reply_model(call));
    str_add_text(out, ",\"data\":[");
    for (int32_t i = 0; i < n; i++) {
        str_printf(out, "%s{\"index\":%d,\"object\":\"score\",\"score\":", i > 0 ? "," : "", i);
        print_number(ranked[i].score, out);
        str_add_char(out, '}');
    }
    str_add_text(out, "],");
    print_usage(call, out);
    str_add_char(out, '}');
    mem_give(ranked);
}

static const struct api_family openai = {
    .kind = ASK_EMBED, .id_prefix = "embd-", .read = api_embed_ask_openai, .whole = write_openai
};
static const struct api_family ollama = {
    .kind = ASK_EMBED, .id_prefix = "ollama-", .read = api_embed_ask_ollama, .whole = write_ollama
};
static const struct api_family ollama_one = { .kind = ASK_EMBED,
                                              .id_prefix = "ollama-",
                                              .read = api_embed_ask_ollama_one,
                                              .whole = write_ollama_one };
static const struct api_family reranks = {
    .kind = ASK_EMBED, .id_prefix = "rerank-", .read = api_embed_ask_rerank, .whole = write_rerank
};
static const struct api_family scores = {
    .kind = ASK_EMBED, .id_prefix = "score-", .read = api_embed_ask_score, .whole = write_score
};

void api_embed_openai(struct api *api, struct api_http_exchange *x)
{
    api_call_take(api, x, &openai);
}

void api_embed_ollama(struct api *api, struct api_http_exchange *x)
{
    api_call_take(api, x, &ollama);
}

void api_embed_ollama_one(struct api *api, struct api_http_exchange *x)
{
    api_call_take(api, x, &ollama_one);
}

void api_embed_rerank(struct api *api, struct api_http_exchange *x)
{
    api_call_take(api, x, &reranks);
}

void api_embed_score(struct api *api, struct api_http_exchange *x)
{
    api_call_take(api, x, &scores);
}
