/* Tokenizing for clients; long texts on a worker, like those of calls, which don't wait for them.
 */
#include "api/texts.h"
#include "api/fields.h"
#include "api/prompts.h"
#include "base/json_out.h"
#include "base/mem.h"
#include "text/tokenizer.h"
#include <string.h>

enum { INLINE_BYTES_MAX = 8 << 10 };

struct text_job {
    struct api_job job; /* first */
    struct api *api;
    struct api_http_exchange *x; /* NULL: the client has left */
    struct str body, answer;
    int64_t n_body_reserved;
    struct api_error error;
};

static const struct api_model *find_model(struct text_job *job, const struct api_fields *fields)
{
    const char *name = api_fields_text(fields, "model");
    if (job->error.is_set)
        return NULL;
    return api_prompts_find_model(&job->api->options, name, &job->error);
}

static void print_ids(struct text_job *job, const struct api_model *model, const int32_t *ids,
                      int32_t n, bool with_texts)
{
    struct json_out json;
    json_out_init(&json, &job->answer);
    json_out_open(&json, '{');
    json_out_key_i64(&json, "count", n);
    json_out_key_i64(&json, "max_model_len", model->n_context_max);
    json_out_key(&json, "tokens");
    json_out_open(&json, '[');
    for (int32_t i = 0; i < n; i++)
        json_out_i64(&json, ids[i]);
    json_out_close(&json, ']');
    if (with_texts) {
        json_out_key(&json, "token_strs");
        json_out_open(&json, '[');
        for (int32_t i = 0; i < n; i++)
            json_out_view(&json, tokenizer_piece(model->tokenizer, ids[i], true));
        json_out_close(&json, ']');
    }
    json_out_close(&json, '}');
}

static void encode(struct text_job *job, const struct api_model *model,
                   const struct api_fields *fields, struct view text, bool is_chat)
{
    const char *field = is_chat ? "messages" : "prompt";
    bool adds_special = !is_chat; /* a template writes them itself */
    bool with_texts = false;
    api_fields_bool(fields, "add_special_tokens", &adds_special);
    api_fields_bool(fields, "return_token_strs", &with_texts);
    if (job->error.is_set || !api_prompts_may_fit(model, text, field, &job->error))
        return;
    unsigned flags = TOKENIZER_PARSE_SPECIAL | (adds_special ? TOKENIZER_ADD_SPECIAL : 0u);
    size_t n_most = tokenizer_ids_max(model->tokenizer, text.n), n_likely = 3 * text.n + 16;
    int32_t *ids = NULL, n = TOKENIZER_TOO_MANY;
    /* Few texts become longer than they are: room for the most is taken only where it is needed. */
    for (size_t n_max = n_likely < n_most ? n_likely : n_most;
         n == TOKENIZER_TOO_MANY && n_max < INT32_MAX; n_max = n_most) {
        mem_give(ids);
        ids = mem_try(sizeof(*ids) * n_max);
        if (ids == NULL)
            break;
        n = tokenizer_encode(model->tokenizer, text, flags, ids, (int32_t)n_max);
        if (n_max == n_most)
            break;
    }
    if (n == TOKENIZER_TOO_COSTLY)
        api_prompts_refuse_costly(model, field, &job->error);
    else if (n < 0)
        api_error_set(&job->error, ERROR_INVALID, field, "the text is too long");
    else
        print_ids(job, model, ids, n, with_texts);
    mem_give(ids);
}

/* The body is that of a chat: its messages are rendered first. */
static void tokenize_chat(struct text_job *job, const struct api_fields *fields)
{
    struct api_ask ask;
    struct str text;
    const struct api_model *model = NULL;
    str_init(&text);
    struct view body = view_of(job->body.at, job->body.n);
    if (api_ask_parse(&ask, ASK_CHAT, body, false, &job->error))
        model = api_prompts_find_model(&job->api->options, ask.model, &job->error);
    if (model != NULL && api_prompts_render(&ask, model, &text, &job->error))
        encode(job, model, fields, view_of(text.at != NULL ? text.at : "", text.n), true);
    str_free(&text);
    api_ask_free(&ask);
}

static void tokenize(struct api_job *base)
{
    struct text_job *job = (struct text_job *)base;
    struct view body = view_of(job->body.at, job->body.n);
    json_t *object = api_fields_open(body, ASK_VALUES_MAX, &job->error);
    if (object == NULL)
        return;
    struct api_fields fields = { object, &job->error };
    if (api_fields_find(&fields, "messages") != NULL) {
        tokenize_chat(job, &fields);
        json_decref(object);
        return;
    }
    const char *name = api_fields_find(&fields, "prompt") != NULL ? "prompt" : "content";
    const json_t *text = api_fields_find(&fields, name);
    const struct api_model *model = find_model(job, &fields);
    if (!json_is_string(text))
        api_error_set(&job->error, ERROR_INVALID, "prompt", "prompt must be a string");
    if (!job->error.is_set && model != NULL)
        encode(job, model, &fields, view_of(json_string_value(text), json_string_length(text)),
               false);
    json_decref(object);
}

static void print_text(struct text_job *job, const struct str *text)
{
    struct json_out json;
    struct view v = view_of(text->at != NULL ? text->at : "", text->n);
    json_out_init(&json, &job->answer);
    json_out_open(&json, '{');
    json_out_key(&json, "prompt"); /* vLLM's name, then llama-server's */
    json_out_view(&json, v);
    json_out_key(&json, "content");
    json_out_view(&json, v);
    json_out_close(&json, '}');
}

static void detokenize(struct api_job *base)
{
    struct text_job *job = (struct text_job *)base;
    struct view body = view_of(job->body.at, job->body.n);
    json_t *object = api_fields_open(body, ASK_VALUES_MAX, &job->error);
    if (object == NULL)
        return;
    struct api_fields fields = { object, &job->error };
    const json_t *tokens = api_fields_find(&fields, "tokens");
    const struct api_model *model = find_model(job, &fields);
    struct str text;
    str_init(&text);
    if (!json_is_array(tokens))
        api_error_set(&job->error, ERROR_INVALID, "tokens", "tokens must be an array of token ids");
    size_t n = model != NULL ? json_array_size(tokens) : 0;
    if (model != NULL && n > (size_t)model->n_context_max)
        api_error_set(&job->error, ERROR_CONTEXT, "tokens",
                      "this model's maximum context length is %d tokens, but %zu were given",
                      model->n_context_max, n);
    int32_t *ids = job->error.is_set ? NULL : mem_take(n * sizeof(*ids));
    for (size_t i = 0; !job->error.is_set && i < n; i++) {
        int64_t id = -1;
        if (api_fields_is_whole(json_array_get(tokens, i), &id) && id >= 0 &&
            id < model->n_vocabulary)
            ids[i] = (int32_t)id;
        else
            api_error_set(&job->error, ERROR_INVALID, "tokens",
                          "tokens: item %zu is not a token id (0 to %d)", i,
                          model->n_vocabulary - 1);
    }
    if (model != NULL && !job->error.is_set) {
        tokenizer_decode(model->tokenizer, ids, (int32_t)n, true, &text);
        print_text(job, &text);
    }
    mem_give(ids);
    str_free(&text);
    json_decref(object);
}

static void done(struct api_job *base)
{
    struct text_job *job = (struct text_job *)base;
    job->api->n_seats--;
    if (base->is_dropped)
        api_error_set(&job->error, ERROR_STOPPED, NULL, "the server is stopping");
    if (job->x != NULL && job->error.is_set)
        api_refuse(job->x, &job->error);
    else if (job->x != NULL)
        api_reply_text(job->x, &job->answer);
    api_http_give_body(job->api->http, &job->body, job->n_body_reserved);
    str_free(&job->answer);
    mem_give(job);
}

static void on_gone(struct api_http_exchange *x)
{
    struct text_job *job = x->user;
    job->x = NULL;
}

static void take_text(struct api *api, struct api_http_exchange *x,
                      void (*work)(struct api_job *job))
{
    struct text_job *job = mem_take(sizeof(*job));
    job->job = (struct api_job){ .work = work, .done = done };
    job->api = api;
    job->x = x;
    job->n_body_reserved = api_http_take_body(x, &job->body);
    job->job.rank = job->body.n > API_JOB_LONG_BYTES ? API_JOB_LONG : API_JOB_PATIENT;
    x->user = job;
    x->on_gone = on_gone;
    api->n_seats++;
    if (api->n_seats > api->options.n_requests_max)
        api_error_set(&job->error, ERROR_QUEUE_FULL, NULL, "the queue is full, try again later");
    bool is_done = job->error.is_set;
    if (!is_done && job->body.n > INLINE_BYTES_MAX && api_workers_put(api->workers, &job->job))
        return;
    if (!is_done)
        work(&job->job);
    done(&job->job);
}

void api_texts_tokenize(struct api *api, struct api_http_exchange *x)
{
    take_text(api, x, tokenize);
}

void api_texts_detokenize(struct api *api, struct api_http_exchange *x)
{
    take_text(api, x, detokenize);
}
