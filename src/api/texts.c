/* Tokenizes for clients. Long texts go to a worker, like those of calls, and calls don't wait for
 * them. */
#include "api/texts.h"
#include "api/anthropic_ask.h"
#include "api/fields.h"
#include "api/prompts.h"
#include "api/seats.h"
#include "api/work.h"
#include "base/json_out.h"
#include "base/mem.h"
#include "text/tokenizer.h"
#include <string.h>

enum { INLINE_BYTES_MAX = 8 << 10 };

struct text_job {
    struct api_job job; /* first */
    struct api *api;
    struct api_http_exchange *x;     /* NULL: the client has left */
    void (*f)(struct text_job *job); /* tokenize or detokenize */
    bool counts;                     /* only the number of tokens is wanted */
    struct view prompt;              /* shown beside its tokens; empty: it is not */
    struct api_work work;
    struct api_catalog *catalog;
    struct str body, answer;
    struct api_error error;
};

static const struct api_model *find_model(struct text_job *job, const struct api_fields *fields)
{
    const char *name = api_fields_text(fields, "model");
    if (job->error.is_set)
        return NULL;
    return api_catalog_find(job->catalog, name, &job->error);
}

/* How tokens are listed: ids, ids and beside them their texts, or llama-server's objects. */
enum shape { IDS_ALONE, WITH_TEXTS, WITH_PIECES };

/* Prints {id, piece}; a piece that is a part of a character is an array of its bytes. */
static void print_piece(struct json_out *json, int32_t id, struct view piece)
{
    json_out_open(json, '{');
    json_out_key_i64(json, "id", id);
    json_out_key(json, "piece");
    if (utf8_is_valid(piece)) {
        json_out_view(json, piece);
    } else {
        json_out_open(json, '[');
        for (size_t i = 0; i < piece.n; i++)
            json_out_i64(json, (unsigned char)piece.at[i]);
        json_out_close(json, ']');
    }
    json_out_close(json, '}');
}

static void print_ids(struct text_job *job, const struct api_model *model, const int32_t *ids,
                      int32_t n, enum shape shape)
{
    struct json_out json;
    json_out_init(&json, &job->answer);
    json_out_open(&json, '{');
    if (job->counts) {
        json_out_key_i64(&json, "input_tokens", n);
        json_out_close(&json, '}');
        return;
    }
    if (job->prompt.n > 0) {
        json_out_key(&json, "prompt");
        json_out_view(&json, job->prompt);
    }
    json_out_key_i64(&json, "count", n);
    json_out_key_i64(&json, "max_model_len", model->n_context_max);
    json_out_key(&json, job->prompt.n > 0 ? "prompt_token_ids" : "tokens");
    json_out_open(&json, '[');
    for (int32_t i = 0; i < n; i++)
        if (shape == WITH_PIECES)
            print_piece(&json, ids[i], tokenizer_piece(model->tokenizer, ids[i], true));
        else
            json_out_i64(&json, ids[i]);
    json_out_close(&json, ']');
    if (shape == WITH_TEXTS) {
        json_out_key(&json, "token_strs");
        json_out_open(&json, '[');
        for (int32_t i = 0; i < n; i++)
            json_out_view(&json, tokenizer_piece(model->tokenizer, ids[i], true));
        json_out_close(&json, ']');
    }
    json_out_close(&json, '}');
}

/* field: where the text comes from. A template writes special tokens itself, and llama-server,
 * whose name is "content", adds them on request only. */
static void encode(struct text_job *job, const struct api_model *model,
                   const struct api_fields *fields, struct view text, const char *field)
{
    bool adds_special = strcmp(field, "prompt") == 0, with_texts = false, with_pieces = false;
    bool parses_special = true;
    api_fields_bool(fields, "parse_special", &parses_special);
    api_fields_bool(fields, "add_special", &adds_special);
    api_fields_bool(fields, "add_special_tokens", &adds_special);
    api_fields_bool(fields, "return_token_strs", &with_texts);
    api_fields_bool(fields, "with_pieces", &with_pieces);
    if (job->error.is_set || !api_prompts_may_fit(model, text, field, &job->error))
        return;
    size_t n_most = tokenizer_ids_max(model->tokenizer, text.n);
    int32_t n_max = (int32_t)min_i64(model->n_context_max, (int64_t)n_most);
    unsigned flags = (parses_special ? TOKENIZER_PARSE_SPECIAL : 0u) |
                     (adds_special ? TOKENIZER_ADD_SPECIAL : 0u);
    int32_t *ids = mem_take(sizeof(*ids) * (size_t)n_max);
    int32_t n = tokenizer_encode(model->tokenizer, text, flags, ids, n_max);
    if (n == TOKENIZER_TOO_COSTLY)
        api_prompts_refuse_costly(model, field, &job->error);
    else if (n < 0)
        api_prompts_refuse_longer(model, field, &job->error);
    else
        print_ids(job, model, ids, n,
                  with_pieces  ? WITH_PIECES
                  : with_texts ? WITH_TEXTS
                               : IDS_ALONE);
    mem_give(ids);
}

static const struct api_family chats = { .kind = ASK_CHAT };
static const struct api_family messages = { .kind = ASK_CHAT,
                                            .translate = api_anthropic_ask_count };

/* Renders the messages of a body. Returns the model; NULL with the error set. */
static const struct api_model *render_chat(struct text_job *job, const struct api_family *family,
                                           struct str *text)
{
    struct api_ask ask;
    const struct api_model *model = NULL;
    struct view body = view_of(job->body.at, job->body.n);
    if (api_prompts_read(&ask, family, body, NULL, false, &job->error))
        model = api_catalog_find(job->catalog, ask.model, &job->error);
    if (model != NULL && !api_prompts_render(&ask, model, text, &job->error))
        model = NULL;
    str_add(text, "", 0);
    api_ask_free(&ask);
    return model;
}

/* Tokenizes the body of a chat: its messages are rendered first. */
static void tokenize_chat(struct text_job *job, const struct api_fields *fields)
{
    struct str text;
    str_init(&text);
    const struct api_model *model = render_chat(job, &chats, &text);
    if (model != NULL)
        encode(job, model, fields, view_of(text.at, text.n), "messages");
    str_free(&text);
}

static void tokenize_rendered(struct text_job *job, const struct api_family *family,
                              bool shows_prompt)
{
    struct str text;
    json_t *none = json_object();
    const struct api_fields fields = { none, &job->error };
    str_init(&text);
    const struct api_model *model = render_chat(job, family, &text);
    if (shows_prompt)
        job->prompt = view_of(text.at, text.n);
    if (model != NULL)
        encode(job, model, &fields, view_of(text.at, text.n), "messages");
    json_decref(none);
    str_free(&text);
}

static void count(struct text_job *job)
{
    job->counts = true;
    tokenize_rendered(job, &messages, false);
}

static void count_chat(struct text_job *job)
{
    job->counts = true;
    tokenize_rendered(job, &chats, false);
}

static void show_tokens(struct text_job *job)
{
    tokenize_rendered(job, &chats, true);
}

static void show_prompt(struct text_job *job)
{
    struct str text;
    struct json_out json;
    str_init(&text);
    if (render_chat(job, &chats, &text) != NULL) {
        json_out_init(&json, &job->answer);
        json_out_open(&json, '{');
        json_out_key(&json, "prompt");
        json_out_view(&json, view_of(text.at, text.n));
        json_out_close(&json, '}');
    }
    str_free(&text);
}

static void tokenize(struct text_job *job)
{
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
               name);
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

static void detokenize(struct text_job *job)
{
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

static void run(void *arg)
{
    struct text_job *job = arg;
    job->f(job);
}

static void work(struct api_job *base)
{
    struct text_job *job = (struct text_job *)base;
    struct api_error error = { 0 };
    if (api_work_run(&job->work, run, job, &error))
        return;
    str_init(&job->answer);
    job->error = error;
}

static void done(struct api_job *base)
{
    struct text_job *job = (struct text_job *)base;
    struct api *api = job->api;
    struct api_party *party = job->work.party;
    api_seats_put(api, party, 1);
    if (base->is_dropped)
        api_error_set(&job->error, ERROR_STOPPED, NULL, "the server is stopping");
    if (job->x != NULL && job->error.is_set)
        api_refuse(job->x, &job->error);
    else if (job->x != NULL)
        api_reply_text(job->x, &job->answer);
    api_catalog_put(&api->catalog, job->catalog);
    str_free(&job->body);
    str_free(&job->answer);
    mem_give(job);
    api_parties_put(api_http_parties(api->http), party);
}

static void on_gone(struct api_http_exchange *x)
{
    struct text_job *job = x->user;
    job->x = NULL;
}

static void take_text(struct api *api, struct api_http_exchange *x, void (*f)(struct text_job *job))
{
    struct api_error error = { 0 };
    if (!api_seats_take(api, x->party, 1, &error)) {
        api_refuse(x, &error);
        return;
    }
    struct text_job *job = mem_take(sizeof(*job));
    job->job = (struct api_job){ .work = work, .done = done };
    job->api = api;
    job->catalog = api_catalog_use(api->catalog);
    job->x = x;
    job->f = f;
    api_http_take_body(x, &job->body);
    job->work = api_work_for(api, x->party, job->body.n);
    job->job.rank = job->body.n > API_JOB_LONG_BYTES ? API_JOB_LONG : API_JOB_PATIENT;
    api_parties_use(x->party);
    x->user = job;
    x->on_gone = on_gone;
    if (job->body.n > INLINE_BYTES_MAX && api_workers_put(api->workers, &job->job))
        return;
    work(&job->job);
    done(&job->job);
}

void api_texts_count(struct api *api, struct api_http_exchange *x)
{
    take_text(api, x, count);
}

void api_texts_count_chat(struct api *api, struct api_http_exchange *x)
{
    take_text(api, x, count_chat);
}

void api_texts_apply(struct api *api, struct api_http_exchange *x)
{
    take_text(api, x, show_prompt);
}

void api_texts_render(struct api *api, struct api_http_exchange *x)
{
    take_text(api, x, show_tokens);
}

void api_texts_tokenize(struct api *api, struct api_http_exchange *x)
{
    take_text(api, x, tokenize);
}

void api_texts_detokenize(struct api *api, struct api_http_exchange *x)
{
    take_text(api, x, detokenize);
}
