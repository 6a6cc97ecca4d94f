/* Each event of a stream carries the text and the tokens that can be shown now. The last event of a
 * prompt carries its figures; a stream has no other end. An answer to several prompts is an array.
 */
#include "api/llama.h"

#include "api/call.h"
#include "api/llama_ask.h"
#include "api/logprobs.h"
#include "api/reply.h"
#include "api/told.h"
#include "base/json_out.h"
#include "base/mem.h"
#include <string.h>

static const struct api_llama_kept *kept_of(const struct api_call *call)
{
    return call->prompts.ask.kept;
}

static void print_tokens(const struct api_token *tokens, size_t n, struct json_out *json)
{
    json_out_key(json, "tokens");
    json_out_open(json, '[');
    for (size_t i = 0; i < n; i++)
        json_out_i64(json, tokens[i].id);
    json_out_close(json, ']');
}

/* Prints what can be shown now: text, ids and log probabilities. */
static void print_shown(struct api_call *call, struct api_choice *choice, struct view text,
                        struct json_out *json)
{
    const struct api_llama_kept *kept = kept_of(call);
    size_t n = 0;
    const struct api_token *tokens = api_choice_show_tokens(choice, &n);
    bool has_tokens = call->prompts.ask.streams || kept->returns_tokens;
    json_out_key_i64(json, "index", choice->index);
    json_out_key(json, "content");
    json_out_view(json, text);
    print_tokens(tokens, has_tokens ? n : 0, json);
    if (call->prompts.ask.wants_logprobs) {
        json_out_key(json, "completion_probabilities");
        api_logprobs_print_ids(call, tokens, n, json);
    }
}

static void print_settings(const struct api_call *call, struct json_out *json)
{
    const struct api_ask *ask = &call->prompts.ask;
    json_out_key(json, "generation_settings");
    json_out_open(json, '{');
    json_out_key_i64(json, "n_predict", kept_of(call)->n_predict);
    json_out_key_i64(json, "seed", ask->has_seed ? ask->seed : -1);
    json_out_key_f64(json, "temperature", (double)ask->sampling.temperature);
    json_out_key_i64(json, "top_k", ask->sampling.top_k);
    json_out_key_f64(json, "top_p", (double)ask->sampling.top_p);
    json_out_key_f64(json, "min_p", (double)ask->sampling.min_p);
    json_out_key_f64(json, "repeat_penalty", (double)ask->sampling.repetition_penalty);
    json_out_key_f64(json, "presence_penalty", (double)ask->sampling.presence_penalty);
    json_out_key_f64(json, "frequency_penalty", (double)ask->sampling.frequency_penalty);
    json_out_key_i64(json, "n_probs", kept_of(call)->n_probs);
    json_out_key_bool(json, "ignore_eos", ask->ignores_eos);
    json_out_key_bool(json, "stream", ask->streams);
    json_out_key(json, "stop");
    json_out_open(json, '[');
    for (int32_t i = 0; i < ask->n_stops; i++)
        json_out_view(json, ask->stops[i]);
    json_out_close(json, ']');
    json_out_close(json, '}');
}

/* Prints the times of one choice, since it has a page of its own. */
static void print_timings(const struct api_call *call, const struct api_choice *choice,
                          struct json_out *json)
{
    bool has_begun = choice->first_ns > 0;
    struct api_reply_sums sums = { .n_choices = 1,
                                   .n_prompt = choice->n_prompt,
                                   .n_generated = choice->n_generated,
                                   .n_cached = choice->n_cached,
                                   .queue_ns = choice->queue_ns,
                                   .first_ns = has_begun ? choice->first_ns : call->arrived_ns,
                                   .last_ns = has_begun ? choice->last_ns : call->arrived_ns };
    json_out_key(json, "timings");
    api_reply_print_timings(call, &sums, json);
}

/* Prints how the choice ended, and its figures. */
static void print_end(const struct api_call *call, const struct api_choice *choice,
                      struct json_out *json)
{
    bool is_cut = strcmp(choice->finish_reason, "length") == 0;
    bool has_line = choice->text.n > 0 && memchr(choice->text.at, '\n', choice->text.n) != NULL;
    json_out_key_text(json, "model", api_reply_model(call));
    json_out_key_i64(json, "tokens_predicted", choice->n_generated);
    json_out_key_i64(json, "tokens_evaluated", choice->n_prompt);
    json_out_key_i64(json, "tokens_cached", choice->n_cached);
    print_settings(call, json);
    if (call->prompts.ask.keeps_prompts) { /* else response_fields leaves it out */
        json_out_key(json, "prompt");
        json_out_view(json, call->prompts.ask.prompts[choice->prompt].text);
    }
    json_out_key_bool(json, "has_new_line", has_line);
    json_out_key_bool(json, "truncated", false); /* a prompt that is too long is refused */
    json_out_key_text(json, "stop_type",
                      is_cut                      ? "limit"
                      : choice->stop_text != NULL ? "word"
                                                  : "eos");
    json_out_key_text(json, "stopping_word", choice->stop_text != NULL ? choice->stop_text : "");
    print_timings(call, choice, json);
}

/* Finds a member by its path: names with slashes between them. */
static json_t *find_path(json_t *page, const char *path)
{
    char name[256];
    for (const char *end; page != NULL && (end = strchr(path, '/')) != NULL; path = end + 1) {
        size_t n = (size_t)(end - path);
        if (n >= sizeof(name))
            return NULL;
        memcpy(name, path, n);
        name[n] = '\0';
        page = json_object_get(page, name);
    }
    return page != NULL ? json_object_get(page, path) : NULL;
}

/* Leaves the members of the object at out[from..] that response_fields names. */
static void select_fields(const struct api_llama_kept *kept, struct str *out, size_t from)
{
    if (kept->n_fields == 0)
        return;
    json_t *page = json_loadb(out->at + from, out->n - from, JSON_ALLOW_NUL, NULL);
    json_t *left = json_object();
    for (int32_t i = 0; i < kept->n_fields; i++) {
        json_t *value = find_path(page, kept->fields[i]);
        if (value != NULL)
            json_object_set(left, kept->fields[i], value);
    }
    size_t flags = JSON_COMPACT | JSON_REAL_PRECISION(9); /* as the page has numbers */
    size_t n = json_dumpb(left, NULL, 0, flags);
    char *text = mem_take(n);
    (void)json_dumpb(left, text, n, flags);
    out->n = from;
    str_add(out, text, n);
    mem_give(text);
    json_decref(page);
    json_decref(left);
}

static void print_whole(struct api_call *call, struct api_choice *choice, struct view text,
                        struct str *out)
{
    struct json_out json;
    size_t from = out->n;
    json_out_init(&json, out);
    json_out_open(&json, '{');
    print_shown(call, choice, text, &json);
    json_out_key_bool(&json, "stop", true);
    print_end(call, choice, &json);
    json_out_close(&json, '}');
    select_fields(kept_of(call), out, from);
}

static void print_part(struct api_call *call, struct api_choice *choice, struct view text,
                       struct str *out)
{
    struct json_out json;
    json_out_init(&json, out);
    json_out_open(&json, '{');
    print_shown(call, choice, text, &json);
    json_out_key_bool(&json, "stop", false);
    json_out_key_i64(&json, "tokens_predicted", choice->n_generated);
    json_out_key_i64(&json, "tokens_evaluated", choice->n_prompt);
    if (call->prompts.ask.has_timings)
        print_timings(call, choice, &json);
    json_out_close(&json, '}');
}

static void write_chunk(struct api_call *call, struct api_choice *choice, struct str *out)
{
    struct api_told told;
    api_told_open(&told, call, choice, false);
    if (told.plain.n > 0) {
        str_add_text(out, "data: ");
        print_part(call, choice, told.plain, out);
        str_add_text(out, "\n\n");
    }
    if (!choice->is_open) {
        str_add_text(out, "data: ");
        print_whole(call, choice, view_of("", 0), out);
        str_add_text(out, "\n\n");
    }
    api_told_free(&told);
}

static void write_last(struct api_call *call, struct str *out)
{
    (void)call;
    (void)out; /* the event with the figures is the last one */
}

static void write_whole(struct api_call *call, struct str *out)
{
    for (int32_t i = 0; i < call->n_choices; i++) {
        struct api_told told;
        api_told_open(&told, call, &call->choices[i], false);
        str_add_text(out, i > 0 ? "," : call->n_choices > 1 ? "[" : "");
        print_whole(call, &call->choices[i], told.plain, out);
        api_told_free(&told);
    }
    if (call->n_choices > 1)
        str_add_char(out, ']');
}

static void write_error(struct api_call *call, const struct api_error *error, struct str *out)
{
    (void)call;
    str_add_text(out, "data: ");
    api_error_print(error, ERROR_OPENAI, out);
    str_add_text(out, "\n\n");
}

static const struct api_family completions = {
    .kind = ASK_COMPLETION,
    .id_prefix = "llama-",
    .stream_type = "text/event-stream; charset=utf-8",
    .ping = ": ping\n\n",
    .clamps_length = true,
    .translate = api_llama_ask,
    .keep = api_llama_ask_keep,
    .chunk = write_chunk,
    .last = write_last,
    .whole = write_whole,
    .fail = write_error,
};

void api_llama_complete(struct api *api, struct api_http_exchange *x)
{
    api_call_take(api, x, &completions);
}
