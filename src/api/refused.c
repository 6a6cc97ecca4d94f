/* The table of refused fields, and that of all names that are known. */
#include "api/refused.h"
#include <string.h>

enum neutral { /* which values ask for nothing, besides null */
               NEVER,
               FALSE_OR_EMPTY, /* false, "", [], {} */
               ZERO,
               ONE,
};
static const struct refused {
    const char *name;
    enum neutral neutral;
    const char *why; /* NULL: plainly not supported */
} refused[] = {
    { "tools", FALSE_OR_EMPTY, NULL },
    { "functions", FALSE_OR_EMPTY, NULL },
    { "guided_json", FALSE_OR_EMPTY, NULL },
    { "guided_regex", FALSE_OR_EMPTY, NULL },
    { "guided_choice", FALSE_OR_EMPTY, NULL },
    { "guided_grammar", FALSE_OR_EMPTY, NULL },
    { "structured_outputs", FALSE_OR_EMPTY, NULL },
    { "grammar", FALSE_OR_EMPTY, NULL },
    { "json_schema", FALSE_OR_EMPTY, NULL },
    { "logits_processors", FALSE_OR_EMPTY, NULL },
    { "suffix", FALSE_OR_EMPTY, NULL },
    { "prompt_logprobs", NEVER, NULL },
    { "prompt_embeds", FALSE_OR_EMPTY, NULL },
    { "audio", FALSE_OR_EMPTY, NULL },
    { "prediction", FALSE_OR_EMPTY, NULL },
    { "web_search_options", NEVER, NULL },
    { "use_beam_search", FALSE_OR_EMPTY, NULL },
    { "length_penalty", ONE, NULL },
    { "bad_words", FALSE_OR_EMPTY, NULL },
    { "allowed_token_ids", FALSE_OR_EMPTY, NULL },
    { "truncate_prompt_tokens", NEVER, NULL },
    { "cache_salt", FALSE_OR_EMPTY, NULL },
    { "documents", FALSE_OR_EMPTY, NULL },
    { "chat_template", FALSE_OR_EMPTY, "the model's own template is used" },
    { "mirostat", ZERO, NULL },
    { "typical_p", ONE, NULL },
    { "dry_multiplier", ZERO, NULL },
    { "xtc_probability", ZERO, NULL },
    { "dynatemp_range", ZERO, NULL },
    { "repeat_penalty", NEVER, "it is called repetition_penalty here" },
    { "n_predict", NEVER, "it is called max_tokens here" },
    { "max_new_tokens", NEVER, "it is called max_tokens here" },
    { "logprob_token_ids", FALSE_OR_EMPTY, NULL },
    { "thinking_token_budget", NEVER, NULL },
    { "response_prefix", FALSE_OR_EMPTY, NULL },
};
/* What ask.c reads, and what changes nothing. */
static const char *const known[] = {
    "add_generation_prompt",
    "add_special_tokens",
    "best_of",
    "chat_template_kwargs",
    "continue_final_message",
    "echo",
    "frequency_penalty",
    "function_call",
    "ignore_eos",
    "include_stop_str_in_output",
    "logit_bias",
    "logprobs",
    "max_completion_tokens",
    "max_tokens",
    "messages",
    "metadata",
    "min_p",
    "min_tokens",
    "modalities",
    "model",
    "n",
    "parallel_tool_calls",
    "presence_penalty",
    "priority",
    "prompt",
    "prompt_cache_key",
    "reasoning_effort",
    "repetition_penalty",
    "request_id",
    "response_format",
    "safety_identifier",
    "seed",
    "service_tier",
    "skip_special_tokens",
    "stop",
    "stop_token_ids",
    "store",
    "stream",
    "stream_options",
    "temperature",
    "tool_choice",
    "top_k",
    "top_logprobs",
    "top_p",
    "user",
    "verbosity",
};

static bool is_neutral(const json_t *value, enum neutral neutral)
{
    switch (neutral) {
    case NEVER:
        return false;
    case FALSE_OR_EMPTY:
        return json_is_false(value) || (json_is_string(value) && json_string_length(value) == 0) ||
               (json_is_array(value) && json_array_size(value) == 0) ||
               (json_is_object(value) && json_object_size(value) == 0);
    case ZERO:
        return json_is_number(value) && json_number_value(value) == 0;
    default:
        return json_is_number(value) && json_number_value(value) == 1;
    }
}

/* tool_choice, and function_call as it was called before. */
static void check_choice_of_tool(const struct api_fields *fields, const char *name)
{
    const json_t *value = api_fields_find(fields, name);
    const char *text = json_string_value(value);
    if (value != NULL && (text == NULL || (strcmp(text, "none") != 0 && strcmp(text, "auto") != 0)))
        api_error_set(fields->error, ERROR_INVALID, name,
                      "%s is not supported yet (only \"none\" and \"auto\" without tools)", name);
}

static void check_format(const struct api_fields *fields)
{
    const json_t *value = api_fields_find(fields, "response_format");
    const char *type = json_string_value(json_object_get(value, "type"));
    if (value != NULL && (type == NULL || strcmp(type, "text") != 0))
        api_error_set(fields->error, ERROR_INVALID, "response_format",
                      "response_format is not supported yet (only {\"type\": \"text\"})");
}

static void check_modalities(const struct api_fields *fields)
{
    const json_t *value = api_fields_find(fields, "modalities");
    const char *only = json_string_value(json_array_get(value, 0));
    if (value != NULL && (json_array_size(value) != 1 || only == NULL || strcmp(only, "text") != 0))
        api_error_set(fields->error, ERROR_INVALID, "modalities",
                      "modalities must be [\"text\"], nothing else is supported");
}

static bool is_known(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(known); i++)
        if (strcmp(known[i], name) == 0)
            return true;
    for (size_t i = 0; i < COUNT_OF(refused); i++)
        if (strcmp(refused[i].name, name) == 0)
            return true;
    return false;
}

void api_refused_check(const struct api_fields *fields, bool is_chat, bool is_strict)
{
    for (size_t i = 0; i < COUNT_OF(refused); i++) {
        const struct refused *row = &refused[i];
        const json_t *value = api_fields_find(fields, row->name);
        if (value != NULL && !is_neutral(value, row->neutral))
            api_error_set(fields->error, ERROR_INVALID, row->name, "%s is not supported%s%s",
                          row->name, row->why != NULL ? ": " : "",
                          row->why != NULL ? row->why : "");
    }
    const json_t *echo = api_fields_find(fields, "echo");
    if (is_chat && echo != NULL && !json_is_false(echo))
        api_error_set(fields->error, ERROR_INVALID, "echo", "echo is not supported for chats");
    check_choice_of_tool(fields, "tool_choice");
    check_choice_of_tool(fields, "function_call");
    check_format(fields);
    check_modalities(fields);
    const char *name;
    json_t *value;
    if (is_strict) {
        json_object_foreach(fields->object, name, value) {
            if (!is_known(name))
                api_error_set(fields->error, ERROR_INVALID, name, "unknown field \"%.60s\"", name);
        }
    }
}
