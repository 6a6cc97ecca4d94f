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
#include <stdlib.h>

static const struct api_embed *embed_of(const struct api_call *call)
{
    return api_embed_of(&call->prompts.ask);
}

static void print_usage(struct api_call *call, struct json_out *json)
{
    int64_t n = api_reply_sum_up(call).n_prompt;
    json_out_key(json, "usage");
    json_out_open(json, '{');
    json_out_key_i64(json, "prompt_tokens", n);
    json_out_key_i64(json, "total_tokens", n);
    json_out_close(json, '}');
}

static void print_floats(const float *vector, int32_t n, struct json_out *json)
{
    json_out_open(json, '[');
    for (int32_t i = 0; i < n; i++)
        json_out_f64(json, (double)vector[i]);
    json_out_close(json, ']');
}

static void print_base64(const float *vector, int32_t n, struct json_out *json)
{
    struct str text;
    str_init(&text);
    api_vectors_base64(vector, n, &text);
    json_out_view(json, view_of(text.at, text.n));
    str_free(&text);
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
    struct json_out json;
    json_out_init(&json, out);
    json_out_open(&json, '{');
    json_out_key_text(&json, "object", "list");
    json_out_key(&json, "data");
    json_out_open(&json, '[');
    for (int32_t i = 0; i < call->n_choices; i++) {
        struct api_choice *choice = &call->choices[i];
        int32_t n = finish(call, choice, false);
        json_out_open(&json, '{');
        json_out_key_text(&json, "object", "embedding");
        json_out_key_i64(&json, "index", i);
        json_out_key(&json, "embedding");
        if (embed_of(call)->is_base64)
            print_base64(choice->vector, n, &json);
        else
            print_floats(choice->vector, n, &json);
        json_out_close(&json, '}');
    }
    json_out_close(&json, ']');
    json_out_key_text(&json, "id", call->id);
    json_out_key_i64(&json, "created", call->created_unix_s);
    json_out_key_text(&json, "model", api_reply_model(call));
    print_usage(call, &json);
    json_out_close(&json, '}');
}

/* --- Ollama's, whose vectors have the length 1 --- */

static void write_ollama(struct api_call *call, struct str *out)
{
    struct api_reply_sums sums = api_reply_sum_up(call);
    struct json_out json;
    json_out_init(&json, out);
    json_out_open(&json, '{');
    json_out_key_text(&json, "model", api_reply_model(call));
    json_out_key(&json, "embeddings");
    json_out_open(&json, '[');
    for (int32_t i = 0; i < call->n_choices; i++)
        print_floats(call->choices[i].vector, finish(call, &call->choices[i], true), &json);
    json_out_close(&json, ']');
    json_out_key_i64(&json, "total_duration", max_i64(time_now_ns() - call->arrived_ns, 0));
    json_out_key_i64(&json, "load_duration", sums.queue_ns);
    json_out_key_i64(&json, "prompt_eval_count", sums.n_prompt);
    json_out_close(&json, '}');
}

static void write_ollama_one(struct api_call *call, struct str *out)
{
    struct json_out json;
    json_out_init(&json, out);
    json_out_open(&json, '{');
    json_out_key(&json, "embedding");
    print_floats(call->choices[0].vector, finish(call, &call->choices[0], false), &json);
    json_out_close(&json, '}');
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

static void print_document(const struct api_call *call, int32_t index, struct json_out *json)
{
    const struct api_ask *ask = &call->prompts.ask;
    json_out_key(json, "document");
    json_out_open(json, '{');
    json_out_key(json, "text");
    json_out_view(json, ask->prompts[embed_of(call)->n_first + index].text);
    json_out_close(json, '}');
}

static void write_rerank(struct api_call *call, struct str *out)
{
    int32_t n = api_embed_n_pairs(&call->prompts.ask), n_top = embed_of(call)->n_top;
    struct ranked *ranked = score(call);
    struct json_out json;
    qsort(ranked, (size_t)n, sizeof(*ranked), compare);
    json_out_init(&json, out);
    json_out_open(&json, '{');
    json_out_key_text(&json, "id", call->id);
    json_out_key_text(&json, "model", api_reply_model(call));
    print_usage(call, &json);
    json_out_key(&json, "results");
    json_out_open(&json, '[');
    for (int32_t i = 0; i < (n_top > 0 ? min_i32(n, n_top) : n); i++) {
        json_out_open(&json, '{');
        json_out_key_i64(&json, "index", ranked[i].index);
        json_out_key_f64(&json, "relevance_score", ranked[i].score);
        if (embed_of(call)->has_documents)
            print_document(call, ranked[i].index, &json);
        json_out_close(&json, '}');
    }
    json_out_close(&json, ']');
    json_out_close(&json, '}');
    mem_give(ranked);
}

static void write_score(struct api_call *call, struct str *out)
{
    int32_t n = api_embed_n_pairs(&call->prompts.ask);
    struct ranked *ranked = score(call);
    struct json_out json;
    json_out_init(&json, out);
    json_out_open(&json, '{');
    json_out_key_text(&json, "id", call->id);
    json_out_key_text(&json, "object", "list");
    json_out_key_i64(&json, "created", call->created_unix_s);
    json_out_key_text(&json, "model", api_reply_model(call));
    json_out_key(&json, "data");
    json_out_open(&json, '[');
    for (int32_t i = 0; i < n; i++) {
        json_out_open(&json, '{');
        json_out_key_i64(&json, "index", i);
        json_out_key_text(&json, "object", "score");
        json_out_key_f64(&json, "score", ranked[i].score);
        json_out_close(&json, '}');
    }
    json_out_close(&json, ']');
    print_usage(call, &json);
    json_out_close(&json, '}');
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
