/* Renders and tokenizes prompts. A prompt that cannot fit the context is refused with the
 * arithmetic. */
#include "api/prompts.h"
#include "api/choice.h"
#include "api/embed_ask.h"
#include "api/fields.h"
#include "api/truncate.h"
#include "base/mem.h"
#include "text/tokenizer.h"
#include <string.h>

enum {
    ECHO_BYTES_MAX = 8 << 20,            /* of prompts, in all choices of an answer: sent at once */
    LOGPROB_BYTES = 48,                  /* of a token or alternative in the answer: about */
    LOGPROBS_BYTES_MAX = 1 << 29,        /* of all choices of an answer, kept and written */
    VECTOR_BYTES = 20,                   /* of a float of an embedding, kept and as JSON: about */
    STREAMED_SCORES_BYTES_MAX = 1 << 20, /* of prompts: a stream has them in one event */
};

static char *reverse(struct view text)
{
    char *reversed = mem_take(text.n);
    for (size_t i = 0; i < text.n; i++)
        reversed[i] = text.at[text.n - 1 - i];
    return reversed;
}

/* Returns the end of the last occurrence of the words, 0 when there is none. It searches backwards,
 * since memmem takes no longer for words that almost match everywhere. */
static size_t find_last_end(struct view text, struct view words)
{
    char *text_back = reverse(text), *words_back = reverse(words);
    const char *at = memmem(text_back, text.n, words_back, words.n);
    size_t end = at != NULL ? text.n - (size_t)(at - text_back) : 0;
    mem_give(text_back);
    mem_give(words_back);
    return end;
}

/* Cuts the text after the last message's own words, as continue_final_message asks. */
static bool cut_after_last(const struct api_ask *ask, struct str *out, struct api_error *error)
{
    const struct chat_message *message = &ask->messages[ask->n_messages - 1];
    bool has_parts = message->parts != NULL && message->n_parts > 0;
    struct view last =
        view_text(has_parts ? message->parts[message->n_parts - 1] : message->content);
    while (last.n > 0 && strchr(" \t\r\n", last.at[last.n - 1]) != NULL)
        last.n--;
    while (last.n > 0 && strchr(" \t\r\n", last.at[0]) != NULL)
        last = view_of(last.at + 1, last.n - 1);
    size_t end = last.n > 0 ? find_last_end(view_of(out->at, out->n), last) : 0;
    if (end == 0) {
        api_error_set(error, ERROR_INVALID, "continue_final_message",
                      "the model's chat template does not show the last message as it is");
        return false;
    }
    out->n = end;
    out->at[end] = '\0';
    return true;
}

bool api_prompts_render(const struct api_ask *ask, const struct api_model *model, struct str *out,
                        struct api_error *error)
{
    struct fault fault = { "" };
    if (model->chat_template == NULL && model->chat_fault != NULL)
        api_error_set(error, ERROR_INVALID, "messages",
                      "the chat template of the model \"%.100s\" cannot be used: %.220s; "
                      "/v1/completions still works",
                      model->name, model->chat_fault);
    else if (model->chat_template == NULL)
        api_error_set(error, ERROR_INVALID, "messages",
                      "the model \"%.100s\" has no chat template, use /v1/completions",
                      model->name);
    if (error->is_set)
        return false;
    struct chat_options options = {
        .messages = ask->messages,
        .n_messages = ask->n_messages,
        .add_generation_prompt = ask->add_generation_prompt,
        .kwargs_json = ask->kwargs_json,
        .tools_json = ask->tools.json,
    };
    if (chat_template_render(model->chat_template, &options, out, &fault) != STATUS_OK) {
        bool names_itself = strstr(fault.text, "chat template") != NULL;
        api_error_set(error, ERROR_INVALID, "messages", "%s%s",
                      names_itself ? "" : "chat template: ", fault.text);
        return false;
    }
    return !ask->continue_final_message || cut_after_last(ask, out, error);
}

void api_prompts_refuse_longer(const struct api_model *model, const char *field,
                               struct api_error *error)
{
    api_error_set(error, ERROR_CONTEXT, field,
                  "this model's maximum context length is %d tokens, but the %s alone holds more",
                  model->n_context_max, field);
}

void api_prompts_refuse_costly(const struct api_model *model, const char *field,
                               struct api_error *error)
{
    api_error_set(error, ERROR_TOO_LARGE, field,
                  "the regular expressions in the tokenizer of model \"%.100s\" take too many "
                  "steps for this text: send a shorter one",
                  model->name);
}

bool api_prompts_may_fit(const struct api_model *model, struct view text, const char *field,
                         struct api_error *error)
{
    if (text.n / TRUNCATE_TOKEN_BYTES_MAX <= (size_t)model->n_context_max)
        return true;
    api_prompts_refuse_longer(model, field, error);
    return false;
}

const char *api_prompts_field(const struct api_prompts *prompts)
{
    const struct api_ask *ask = &prompts->ask;
    if (ask->kind != ASK_EMBED)
        return ask->kind == ASK_CHAT ? "messages" : "prompt";
    switch (api_embed_of(ask)->form) {
    case EMBED_RERANK:
        return "documents";
    case EMBED_SCORE:
        return "text_2";
    case EMBED_OLLAMA_ONE:
        return "prompt";
    default:
        return "input";
    }
}

/* Makes room for the body of a prompt of at most n tokens, and fills in all except the tokens. */
static struct request_body *take_body(struct api_prompts *prompts, int32_t n)
{
    const struct api_ask *ask = &prompts->ask;
    uint32_t n_stop_ids = (uint32_t)prompts->n_stop_ids, n_biases = (uint32_t)ask->n_biases;
    struct request_body *body =
        pile_take(&prompts->bodies, request_body_bytes((uint32_t)n, n_stop_ids, n_biases) +
                                        prompts->guide.text.n + sizeof(uint32_t));
    *body = (struct request_body){ .n_stop_ids = n_stop_ids,
                                   .n_biases = n_biases,
                                   .sampling = ask->sampling,
                                   .grammar_kind = (uint32_t)prompts->guide.kind,
                                   .n_grammar = (uint32_t)prompts->guide.text.n };
    return body;
}

/* The body has its n tokens now. Puts the other arrays behind them. */
static void finish_body(struct api_prompts *prompts, int32_t index, struct request_body *body,
                        int32_t n)
{
    const struct api_ask *ask = &prompts->ask;
    body->n_tokens = (uint32_t)n;
    body->n_bytes = (uint32_t)request_body_whole_bytes(body);
    memcpy(request_body_stop_ids(body), prompts->stop_ids,
           sizeof(*prompts->stop_ids) * body->n_stop_ids);
    if (body->n_biases > 0)
        memcpy(request_body_biases(body), ask->biases, sizeof(*ask->biases) * body->n_biases);
    char *grammar = request_body_grammar(body);
    memset(grammar, 0, (size_t)((char *)body + body->n_bytes - grammar));
    if (body->n_grammar > 0)
        memcpy(grammar, prompts->guide.text.at, body->n_grammar);
    prompts->of[index] = (struct api_prompt){ .n = n, .body = body };
    if (ask->wants_scores) { /* the body is given back once it is submitted */
        int32_t *ids = pile_take(&prompts->ask.pile, sizeof *ids * (size_t)n);
        memcpy(ids, request_body_tokens(body), sizeof *ids * (size_t)n);
        prompts->of[index].ids = ids;
    }
}

static unsigned flags_of(const struct api_ask *ask)
{
    return TOKENIZER_PARSE_SPECIAL | (ask->add_special_tokens ? TOKENIZER_ADD_SPECIAL : 0u);
}

static bool encode(struct api_prompts *prompts, struct view text, int32_t index)
{
    const struct api_model *model = prompts->model;
    int32_t n_max = model->n_context_max + 1;
    unsigned flags = flags_of(&prompts->ask);
    if (!api_prompts_may_fit(model, text, api_prompts_field(prompts), &prompts->error))
        return false;
    size_t n_most = tokenizer_ids_max(model->tokenizer, text.n);
    if ((size_t)n_max > n_most)
        n_max = (int32_t)n_most;
    struct request_body *body = take_body(prompts, max_i32(n_max, 1));
    int32_t *ids = request_body_tokens(body);
    int32_t n = tokenizer_encode(model->tokenizer, text, flags, ids, n_max);
    if (n == TOKENIZER_TOO_COSTLY) {
        api_prompts_refuse_costly(model, api_prompts_field(prompts), &prompts->error);
        return false;
    }
    if (n < 0 || n > model->n_context_max) {
        api_prompts_refuse_longer(model, api_prompts_field(prompts), &prompts->error);
        return false;
    }
    if (n == 0) { /* an empty prompt is just the first token, if the model has one */
        if (model->bos_id < 0) {
            api_error_set(&prompts->error, ERROR_INVALID, api_prompts_field(prompts),
                          "the %s has no tokens", api_prompts_field(prompts));
            return false;
        }
        ids[n++] = model->bos_id;
    }
    finish_body(prompts, index, body, n);
    return true;
}

static void refuse_length(struct api_prompts *prompts, int32_t n)
{
    const char *field = api_prompts_field(prompts);
    api_error_set(&prompts->error, ERROR_CONTEXT, field,
                  "this model's maximum context length is %d tokens, but %d were requested: %d in "
                  "the %s and %d to generate",
                  prompts->model->n_context_max, n + prompts->n_tokens_max, n, field,
                  prompts->n_tokens_max);
}

/* Sets how many tokens may be generated: as asked, else OpenAI's default or the rest of the
 * context. */
static bool settle_lengths(struct api_prompts *prompts)
{
    const struct api_ask *ask = &prompts->ask;
    int32_t n_context = prompts->model->n_context_max, n_longest = 0;
    for (int32_t i = 0; i < prompts->n; i++)
        n_longest = max_i32(n_longest, prompts->of[i].n);
    int32_t n_left = n_context - n_longest;
    prompts->n_tokens_max = ask->n_tokens_max;
    if (prompts->family->clamps_length && n_left > 0)
        prompts->n_tokens_max = min_i32(prompts->n_tokens_max, n_left);
    if (ask->n_tokens_max < 0)
        prompts->n_tokens_max = max_i32(ask->kind == ASK_CHAT ? n_left : min_i32(16, n_left), 1);
    if (ask->n_tokens_max < 0 && ask->sampling.n_tokens_min > prompts->n_tokens_max)
        prompts->n_tokens_max = ask->sampling.n_tokens_min;
    if (prompts->n_tokens_max > n_left)
        refuse_length(prompts, n_longest);
    return !prompts->error.is_set;
}

/* Returns the most bytes that a text can take in JSON: control characters become six. */
static int64_t escaped_bytes(struct view text)
{
    int64_t n = (int64_t)text.n;
    for (size_t i = 0; i < text.n; i++)
        n += (unsigned char)text.at[i] < 0x20 ? 5 : text.at[i] == '"' || text.at[i] == '\\';
    return n;
}

/* Replaces a prompt's text by that of its tokens: with all special ones if the answer shows the
 * prompt beside its own text, as llama-server does. */
static void read_back(struct api_prompts *prompts, int32_t index)
{
    struct api_ask *ask = &prompts->ask;
    struct api_ask_prompt *prompt = &ask->prompts[index];
    const struct tokenizer *tokenizer = prompts->model->tokenizer;
    struct detokenizer detokenizer;
    struct str text;
    str_init(&text);
    if (ask->keeps_prompts) {
        tokenizer_decode(tokenizer, request_body_tokens(prompts->of[index].body),
                         prompts->of[index].n, true, &text);
    } else {
        detokenizer_init(&detokenizer, tokenizer, false);
        for (int32_t k = 0; k < prompt->n_ids; k++)
            detokenizer_add(&detokenizer, prompt->ids[k], &text);
        detokenizer_end(&detokenizer, &text);
    }
    prompt->text = view_of(text.n > 0 ? pile_text(&ask->pile, text.at, text.n) : "", text.n);
    str_free(&text);
}

/* Prepares the prompts that an answer repeats. Ids become text here, on a worker, once for all
 * choices. */
static bool settle_echo(struct api_prompts *prompts)
{
    struct api_ask *ask = &prompts->ask;
    bool repeats = ask->echo || ask->keeps_prompts;
    for (int32_t i = 0; i < prompts->n && repeats; i++) {
        if (ask->keeps_prompts && prompts->n_echo_bytes > ECHO_BYTES_MAX)
            break;
        if (ask->keeps_prompts || ask->prompts[i].ids != NULL)
            read_back(prompts, i);
        prompts->n_echo_bytes += escaped_bytes(ask->prompts[i].text) * ask->n;
    }
    if (prompts->n_echo_bytes > ECHO_BYTES_MAX && ask->keeps_prompts)
        api_error_set(&prompts->error, ERROR_TOO_LARGE, "prompt",
                      "the answers would repeat more than %d bytes of prompts: send fewer, or "
                      "response_fields without \"prompt\"",
                      ECHO_BYTES_MAX);
    else if (prompts->n_echo_bytes > ECHO_BYTES_MAX)
        api_error_set(&prompts->error, ERROR_TOO_LARGE, "echo",
                      "echo would repeat %lld bytes of prompts in one answer, and at most %d are "
                      "repeated",
                      (long long)prompts->n_echo_bytes, ECHO_BYTES_MAX);
    return !prompts->error.is_set;
}

/* Bounds answers with logprobs: one may not take more memory than all answers together that wait
 * for their readers. */
static bool settle_logprobs(struct api_prompts *prompts, const struct mem_account *account)
{
    int64_t n_bytes_max = LOGPROBS_BYTES_MAX;
    if (account != NULL && account->n_bytes_max > 0)
        n_bytes_max = min_i64(n_bytes_max, account->n_bytes_max / 4);
    const struct api_ask *ask = &prompts->ask;
    int64_t n_tokens = (int64_t)prompts->n * ask->n * prompts->n_tokens_max;
    int64_t n_each = (int64_t)sizeof(struct api_token) +
                     (int64_t)LOGPROB_BYTES * (1 + max_i32(ask->sampling.n_top_logprobs, 0));
    int64_t n_prompts = 0, n_each_score = (int64_t)sizeof(struct token_logprobs) +
                                          (int64_t)sizeof(struct api_token) +
                                          LOGPROB_BYTES * (1 + ask->sampling.n_top_scores);
    for (int32_t i = 0; i < prompts->n; i++)
        n_prompts += (int64_t)prompts->of[i].n * ask->n;
    int64_t n_scores_max =
        ask->streams ? min_i64(n_bytes_max, STREAMED_SCORES_BYTES_MAX) : n_bytes_max;
    if (ask->wants_scores && n_prompts * n_each_score > n_scores_max)
        api_error_set(&prompts->error, ERROR_TOO_LARGE,
                      ask->shows_scores ? "prompt_logprobs" : "logprobs",
                      "logprobs of %lld tokens of prompts with %d alternatives each are too much "
                      "for one answer: at most %lld tokens, in all choices%s, may have so many",
                      (long long)n_prompts, ask->sampling.n_top_scores,
                      (long long)(n_scores_max / n_each_score), ask->streams ? " of a stream" : "");
    bool keeps_tokens = ask->keeps_tokens && !ask->streams; /* a stream forgets what it has shown */
    if (!ask->wants_logprobs && keeps_tokens && n_tokens * n_each > n_bytes_max)
        api_error_set(&prompts->error, ERROR_TOO_LARGE, "max_tokens",
                      "ids of up to %lld tokens are too many for one answer: at most %lld, of all "
                      "prompts, may be returned",
                      (long long)n_tokens, (long long)(n_bytes_max / n_each));
    if (ask->wants_logprobs && n_tokens * n_each > n_bytes_max)
        api_error_set(&prompts->error, ERROR_TOO_LARGE, "max_tokens",
                      "logprobs of up to %lld tokens with %d alternatives each are too much for "
                      "one answer: at most %lld tokens, of all choices, may have so many",
                      (long long)n_tokens, max_i32(ask->sampling.n_top_logprobs, 0),
                      (long long)(n_bytes_max / n_each));
    return !prompts->error.is_set;
}

/* Answers are taken apart if tools are offered, or the template shows reasoning. */
static void settle_parser(struct api_prompts *prompts, struct view prompt)
{
    const struct api_ask *ask = &prompts->ask;
    struct calls_style style = prompts->model->style;
    bool is_split = !ask->tools.is_raw && !ask->continue_final_message;
    if (!is_split || (ask->guided.kind != 0 && !prompts->guide.may_think))
        style.think_open = style.think_close = NULL;
    if (ask->guided.kind != 0) /* guided.c asks for this form of calls */
        style.format = calls_format_find("generic");
    prompts->is_parsed =
        style.format != NULL && (ask->tools.calls.n > 0 || style.think_open != NULL ||
                                 (is_split && style.format->kind == CALLS_HARMONY));
    if (prompts->is_parsed)
        calls_parser_init(&prompts->parser, &style,
                          ask->tools.calls.n > 0 ? &ask->tools.calls : NULL,
                          calls_parser_starts_in_reasoning(&style, prompt));
    prompts->parser.keeps_space = ask->guided.kind != 0;
}

static bool make_chat(struct api_prompts *prompts, struct grammar_cache *grammars)
{
    struct str text;
    str_init(&text);
    prompts->n = 1;
    prompts->of = pile_take(&prompts->ask.pile, sizeof(prompts->of[0]));
    bool is_ok = api_prompts_render(&prompts->ask, prompts->model, &text, &prompts->error);
    struct view prompt = view_of(text.at != NULL ? text.at : "", text.n);
    if (is_ok) {
        api_guide_make(&prompts->guide, &prompts->ask, prompts->model, &prompt, grammars,
                       &prompts->error);
        settle_parser(prompts, prompt);
        is_ok = !prompts->error.is_set && encode(prompts, prompt, 0);
    }
    str_free(&text);
    return is_ok;
}

static bool make_completion(struct api_prompts *prompts, struct grammar_cache *grammars)
{
    struct api_ask *ask = &prompts->ask;
    prompts->n = ask->n_prompts;
    api_guide_make(&prompts->guide, ask, prompts->model, NULL, grammars, &prompts->error);
    prompts->of = pile_take(&ask->pile, sizeof(prompts->of[0]) * (size_t)prompts->n);
    for (int32_t i = 0; i < prompts->n; i++) {
        const struct api_ask_prompt *prompt = &ask->prompts[i];
        struct view text = prompt->text;
        if (ask->truncates)
            text = api_truncate(prompts->model, text, flags_of(ask), &ask->pile);
        if (prompt->ids == NULL && !encode(prompts, text, i))
            return false;
        if (prompt->ids == NULL)
            continue;
        struct request_body *body = take_body(prompts, prompt->n_ids);
        memcpy(request_body_tokens(body), prompt->ids, sizeof(int32_t) * (size_t)prompt->n_ids);
        finish_body(prompts, i, body, prompt->n_ids);
    }
    return true;
}

/* Encodes pairs of texts for a model that scores them. */
static bool make_pairs(struct api_prompts *prompts)
{
    const struct api_ask *ask = &prompts->ask;
    const struct api_model *model = prompts->model;
    int32_t n_first = api_embed_of(ask)->n_first;
    prompts->n = api_embed_n_pairs(ask);
    prompts->of = pile_take(&prompts->ask.pile, sizeof(prompts->of[0]) * (size_t)prompts->n);
    for (int32_t i = 0; i < prompts->n; i++) {
        struct view first = ask->prompts[n_first > 1 ? i : 0].text;
        struct view second = ask->prompts[n_first + i].text;
        if (!api_prompts_may_fit(model, first, "pair", &prompts->error) ||
            !api_prompts_may_fit(model, second, "pair", &prompts->error))
            return false;
        size_t n_most = tokenizer_ids_max(model->tokenizer, first.n) +
                        tokenizer_ids_max(model->tokenizer, second.n);
        int32_t n_max =
            n_most < (size_t)model->n_context_max ? (int32_t)n_most : model->n_context_max;
        int32_t n_of_first = 0;
        struct request_body *body = take_body(prompts, n_max);
        int32_t n = tokenizer_encode_pair(model->tokenizer, (struct view[2]){ first, second },
                                          request_body_tokens(body), n_max, &n_of_first);
        if (n == TOKENIZER_NO_PAIRS)
            api_error_set(&prompts->error, ERROR_INVALID, "model",
                          "the tokenizer of the model \"%.100s\" has no form for a pair of texts",
                          model->name);
        else if (n == TOKENIZER_TOO_COSTLY)
            api_prompts_refuse_costly(model, "pair", &prompts->error);
        else if (n < 0)
            api_prompts_refuse_longer(model, "pair", &prompts->error);
        if (n < 0)
            return false;
        body->n_first = (uint32_t)n_of_first;
        finish_body(prompts, i, body, n);
    }
    return true;
}

/* Bounds the vectors of an answer, as they are kept and as JSON. */
static bool settle_vectors(struct api_prompts *prompts, const struct mem_account *account)
{
    int64_t n_bytes_max = LOGPROBS_BYTES_MAX;
    if (account != NULL && account->n_bytes_max > 0)
        n_bytes_max = min_i64(n_bytes_max, account->n_bytes_max / 4);
    int64_t n_floats = (int64_t)prompts->n * prompts->model->n_vector;
    if (n_floats * VECTOR_BYTES > n_bytes_max)
        api_error_set(&prompts->error, ERROR_TOO_LARGE, api_prompts_field(prompts),
                      "embeddings of %d texts with %d numbers each are too much for one answer: at "
                      "most %lld texts fit",
                      prompts->n, prompts->model->n_vector,
                      (long long)(n_bytes_max / VECTOR_BYTES / prompts->model->n_vector));
    return !prompts->error.is_set;
}

/* Checks that the model does what is asked. */
static bool check_does(struct api_prompts *prompts)
{
    const struct api_ask *ask = &prompts->ask;
    const struct api_model *model = prompts->model;
    const struct api_embed *embed = ask->kind == ASK_EMBED ? api_embed_of(ask) : NULL;
    if (embed == NULL && model->is_encoder)
        api_error_set(&prompts->error, ERROR_INVALID, "model",
                      "the model \"%.200s\" is an encoder, which generates no text: send texts to "
                      "%s",
                      model->name,
                      model->n_labels > 0 ? "/v1/rerank or /v1/score" : "/v1/embeddings");
    else if (embed != NULL && model->n_vector == 0)
        api_error_set(&prompts->error, ERROR_INVALID, "model",
                      "the model \"%.200s\" makes no embeddings", model->name);
    else if (embed != NULL && model->n_labels > 0 && embed->n_first == 0)
        api_error_set(&prompts->error, ERROR_INVALID, "model",
                      "the model \"%.200s\" scores pairs of texts and makes no embeddings: send "
                      "them to /v1/rerank or /v1/score",
                      model->name);
    else if (embed != NULL && embed->dimensions > model->n_vector)
        api_error_set(&prompts->error, ERROR_INVALID, "dimensions",
                      "dimensions is %d, and an embedding of the model \"%.200s\" has %d",
                      embed->dimensions, model->name, model->n_vector);
    return !prompts->error.is_set;
}

static void collect_stop_ids(struct api_prompts *prompts)
{
    const struct api_ask *ask = &prompts->ask;
    const struct api_model *model = prompts->model;
    for (int32_t i = 0; i < ask->n_stop_ids; i++)
        prompts->stop_ids[prompts->n_stop_ids++] = ask->stop_ids[i];
    for (int32_t i = 0; i < model->n_eog && !ask->ignores_eos; i++)
        prompts->stop_ids[prompts->n_stop_ids++] = model->eog_ids[i];
}

bool api_prompts_read(struct api_ask *ask, const struct api_family *family, struct view body,
                      const struct api_past *past, bool is_strict, struct api_error *error)
{
    json_t *object = api_fields_open(body, ASK_VALUES_MAX, error), *chat = object;
    if (object != NULL && family->translate != NULL)
        chat = family->translate(object, past, error);
    else
        json_incref(object);
    enum api_ask_kind kind =
        object != NULL && family->kind_of != NULL ? family->kind_of(object) : family->kind;
    bool is_read = api_ask_read(ask, kind, chat, is_strict, error);
    if (is_read && family->read != NULL)
        is_read = family->read(ask, &(struct api_fields){ object, error }, is_strict);
    if (is_read && family->keep != NULL)
        family->keep(ask, object);
    json_decref(object);
    return is_read;
}

bool api_prompts_make(struct api_prompts *prompts, const struct api_family *family,
                      struct view body, const struct api_past *past,
                      const struct api_options *options, const struct api_catalog *catalog)
{
    memset(prompts, 0, sizeof(*prompts));
    struct api_ask *ask = &prompts->ask;
    prompts->family = family;
    if (!api_prompts_read(ask, family, body, past, options->is_strict, &prompts->error))
        return false;
    prompts->model = api_catalog_find(catalog, ask->model, &prompts->error);
    if (prompts->model == NULL ||
        !api_ask_check(ask, prompts->model->n_vocabulary, &prompts->error))
        return false;
    if (ask->n_stop_ids + prompts->model->n_eog > LIMIT_STOP_IDS) {
        api_error_set(&prompts->error, ERROR_INVALID, "stop_token_ids",
                      "stop_token_ids may hold %d ids for this model, got %d",
                      LIMIT_STOP_IDS - prompts->model->n_eog, ask->n_stop_ids);
        return false;
    }
    if (!check_does(prompts))
        return false;
    if (ask->kind == ASK_EMBED)
        return (prompts->model->n_labels > 0 ? make_pairs(prompts)
                                             : make_completion(prompts, options->grammars)) &&
               settle_lengths(prompts) && settle_vectors(prompts, options->account);
    collect_stop_ids(prompts);
    ask->thinking.is_wish = family->takes_any_budget;
    prompts->guide.jumps = options->jumps_forward;
    api_guided_check(&ask->guided, prompts->model, options->grammars, prompts->n_stop_ids,
                     &prompts->error);
    if (prompts->error.is_set)
        return false;
    return (ask->kind == ASK_CHAT ? make_chat(prompts, options->grammars)
                                  : make_completion(prompts, options->grammars)) &&
           settle_lengths(prompts) && settle_echo(prompts) &&
           settle_logprobs(prompts, options->account);
}

void api_prompts_free(struct api_prompts *prompts)
{
    api_prompts_sent(prompts);
    api_ask_free(&prompts->ask);
}

void api_prompts_sent(struct api_prompts *prompts)
{
    for (int32_t i = 0; i < prompts->n && prompts->of != NULL; i++)
        prompts->of[i].body = NULL;
    pile_free(&prompts->bodies);
}
