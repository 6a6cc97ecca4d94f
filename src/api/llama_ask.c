/* Names of fields become ours, and other values keep their meaning or are refused. Absent fields
 * have this server's defaults, except n_predict: an answer ends with the context. */
#include "api/llama_ask.h"
#include "api/chat_json.h"
#include "api/fields.h"
#include <stdio.h>
#include <string.h>

enum { BIAS_MAX = 100, PROMPTS_MAX = LIMIT_CHOICES, FIELD_BYTES_MAX = 256 };

/* Fields that this file reads, and those that concern slots and the cache of llama-server. */
static const char *const own[] = {
    "prompt",        "n_predict",       "seed",           "logit_bias",    "n_probs",
    "return_tokens", "response_fields", "n_keep",         "repeat_last_n", "id_slot",
    "cache_prompt",  "n_cmpl",          "repeat_penalty", "max_tokens",
};

static bool is_own(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(own); i++)
        if (strcmp(own[i], name) == 0)
            return true;
    return false;
}

/* A prompt may be a text, token ids, or an object that holds a text. */
static json_t *read_prompt(const json_t *value, struct api_error *error)
{
    const json_t *text = json_is_object(value) ? json_object_get(value, "prompt_string") : value;
    const json_t *media = json_object_get(value, "multimodal_data");
    if (media != NULL && !api_chat_json_is_empty(media)) {
        api_error_set(error, ERROR_INVALID, "prompt", "multimodal_data is not supported");
        return NULL;
    }
    if (json_is_string(text) || json_is_array(text))
        return json_incref((json_t *)(uintptr_t)text);
    api_error_set(error, ERROR_INVALID, "prompt",
                  "prompt must be a text, an array of token ids, an object with prompt_string, or "
                  "an array of these");
    return NULL;
}

static void read_prompts(const json_t *body, json_t *out, struct api_error *error)
{
    const json_t *value = json_object_get(body, "prompt");
    size_t n = json_array_size(value), n_ids = 0;
    for (size_t i = 0; i < n; i++)
        n_ids += json_is_number(json_array_get(value, i));
    if (!json_is_array(value) || n_ids == n) {
        json_t *one = read_prompt(value, error);
        if (one != NULL)
            json_object_set_new(out, "prompt", one);
        return;
    }
    if (n_ids > 0 || n > PROMPTS_MAX) {
        api_error_set(error, ERROR_INVALID, "prompt",
                      n_ids > 0 ? "prompt mixes token ids with texts, which is not supported: send "
                                  "the ids of the whole prompt (POST /tokenize)"
                                : "at most %d prompts are taken",
                      PROMPTS_MAX);
        return;
    }
    json_t *all = json_array();
    for (size_t i = 0; i < n && !error->is_set; i++) {
        json_t *one = read_prompt(json_array_get(value, i), error);
        if (one != NULL)
            json_array_append_new(all, one);
    }
    json_object_set_new(out, "prompt", all);
}

/* Reads pairs of a token id and a bias; false bans the token. An object is taken as it is. */
static void read_biases(const json_t *body, json_t *out, struct api_error *error)
{
    json_t *value = json_object_get(body, "logit_bias"), *biases;
    if (!json_is_array(value)) {
        if (value != NULL)
            json_object_set(out, "logit_bias", value);
        return;
    }
    biases = json_object();
    for (size_t i = 0; i < json_array_size(value) && !error->is_set; i++) {
        const json_t *pair = json_array_get(value, i);
        json_t *bias = json_array_get(pair, 1);
        int64_t id = -1;
        char name[24];
        if (json_array_size(pair) != 2 || !api_fields_is_whole(json_array_get(pair, 0), &id) ||
            (!json_is_number(bias) && !json_is_false(bias))) {
            api_error_set(error, ERROR_INVALID, "logit_bias",
                          "logit_bias: item %zu must be a token id with a number or false (texts "
                          "are not supported)",
                          i);
            break;
        }
        snprintf(name, sizeof(name), "%lld", (long long)id);
        if (json_is_false(bias))
            json_object_set_new(biases, name, json_integer(-BIAS_MAX));
        else
            json_object_set(biases, name, bias);
    }
    json_object_set_new(out, "logit_bias", biases);
}

/* Penalties look at the whole text here. A shorter span only matters where there is a penalty. */
static void read_penalty(const json_t *body, json_t *out, struct api_error *error)
{
    json_t *penalty = json_object_get(body, "repeat_penalty");
    const json_t *span = json_object_get(body, "repeat_last_n");
    bool has_penalty = json_is_number(penalty) && json_number_value(penalty) != 1;
    bool is_whole = span == NULL || json_is_null(span) || json_number_value(span) == -1;
    if (has_penalty && !is_whole && json_number_value(span) != 0)
        api_error_set(error, ERROR_INVALID, "repeat_last_n",
                      "repeat_last_n must be -1, since repeat_penalty looks at the whole text "
                      "here");
    if (span != NULL && !json_is_null(span) && !json_is_number(span))
        api_error_set(error, ERROR_INVALID, "repeat_last_n", "repeat_last_n must be an integer");
    if (penalty != NULL && (is_whole || json_number_value(span) != 0 || !json_is_number(penalty)))
        json_object_set(out, "repetition_penalty", penalty);
}

/* Copies a field under our name, unless its value is negative and asks for nothing so. */
static void copy_unless_negative(const json_t *body, const char *from, json_t *out, const char *to)
{
    json_t *value = json_object_get(body, from);
    if (value != NULL && !(json_is_number(value) && json_number_value(value) < 0))
        json_object_set(out, to, value);
}

static void read_lengths(const json_t *body, json_t *out)
{
    json_t *n_probs = json_object_get(body, "n_probs");
    copy_unless_negative(body, "max_tokens", out, "max_tokens");
    copy_unless_negative(body, "n_predict", out, "max_tokens");
    copy_unless_negative(body, "seed", out, "seed");
    if (json_is_null(json_object_get(out, "max_tokens")) ||
        json_object_get(out, "max_tokens") == NULL)
        json_object_set_new(out, "max_tokens", json_integer(LIMIT_CONTEXT));
    if (n_probs != NULL && !(json_is_integer(n_probs) && json_integer_value(n_probs) == 0))
        json_object_set(out, "logprobs", n_probs);
    if (json_object_get(body, "n_cmpl") != NULL)
        json_object_set(out, "n", json_object_get(body, "n_cmpl"));
}

static void check_flags(const json_t *body, struct api_error *error)
{
    static const char *const flags[] = { "return_tokens", "cache_prompt" };
    static const char *const elsewhere[] = { "echo", "prompt_logprobs" };
    const json_t *fields = json_object_get(body, "response_fields");
    for (size_t i = 0; i < COUNT_OF(elsewhere); i++) {
        const json_t *value = json_object_get(body, elsewhere[i]);
        if (value != NULL && !json_is_null(value) && !json_is_false(value))
            api_error_set(error, ERROR_INVALID, elsewhere[i],
                          "%s is not supported here: send the request to /v1/completions",
                          elsewhere[i]);
    }
    for (size_t i = 0; i < COUNT_OF(flags); i++) {
        const json_t *value = json_object_get(body, flags[i]);
        if (value != NULL && !json_is_null(value) && !json_is_boolean(value))
            api_error_set(error, ERROR_INVALID, flags[i], "%s must be true or false", flags[i]);
    }
    bool is_list = fields == NULL || json_is_null(fields) || json_is_array(fields);
    for (size_t i = 0; i < json_array_size(fields); i++) {
        size_t n = json_string_length(json_array_get(fields, i));
        is_list = is_list && n > 0 && n <= FIELD_BYTES_MAX;
    }
    if (!is_list || json_array_size(fields) > LLAMA_FIELDS_MAX)
        api_error_set(error, ERROR_INVALID, "response_fields",
                      "response_fields must be an array of up to %d names of up to %d bytes",
                      LLAMA_FIELDS_MAX, FIELD_BYTES_MAX);
}

json_t *api_llama_ask(const json_t *body, const struct api_past *past, struct api_error *error)
{
    (void)past;
    json_t *out = json_object(), *value;
    const char *name;
    json_object_foreach((json_t *)(uintptr_t)body, name, value) {
        if (!is_own(name))
            json_object_set(out, name, value);
    }
    read_prompts(body, out, error);
    read_lengths(body, out);
    read_biases(body, out, error);
    read_penalty(body, out, error);
    check_flags(body, error);
    if (!error->is_set)
        return out;
    json_decref(out);
    return NULL;
}

void api_llama_ask_keep(struct api_ask *ask, const json_t *body)
{
    struct api_llama_kept *kept = pile_take(&ask->pile, sizeof(*kept));
    const json_t *fields = json_object_get(body, "response_fields");
    const json_t *n_predict = json_object_get(body, "n_predict");
    *kept = (struct api_llama_kept){
        .returns_tokens = json_is_true(json_object_get(body, "return_tokens")),
        .n_probs = ask->wants_logprobs ? ask->sampling.n_top_logprobs : 0,
        .n_predict =
            ask->n_tokens_max < LIMIT_CONTEXT || json_is_number(n_predict) ? ask->n_tokens_max : -1,
    };
    if (json_is_number(n_predict) && json_number_value(n_predict) < 0)
        kept->n_predict = -1;
    for (size_t i = 0; i < json_array_size(fields) && i < LLAMA_FIELDS_MAX; i++) {
        const json_t *field = json_array_get(fields, i);
        kept->fields[kept->n_fields++] =
            pile_text(&ask->pile, json_string_value(field), json_string_length(field));
    }
    ask->keeps_prompts = kept->n_fields == 0;
    for (int32_t i = 0; i < kept->n_fields; i++)
        ask->keeps_prompts = ask->keeps_prompts || strcmp(kept->fields[i], "prompt") == 0;
    ask->keeps_tokens = ask->streams || kept->returns_tokens;
    ask->kept = kept;
}
