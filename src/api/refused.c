/* The table of refused fields, and the table of all known names. */
#include "api/refused.h"
#include <string.h>

#define NEVER API_REFUSED_NEVER
#define EMPTY API_REFUSED_EMPTY
#define ZERO  "[0]"
#define ONE   "[1]"

static const struct api_refused refused[] = {
    /* OpenAI's fields, with vLLM's names for the same. */
    { "functions", EMPTY, NULL },
    { "audio", EMPTY, NULL },
    { "prediction", EMPTY, NULL },
    { "web_search_options", NEVER, NULL },
    { "verbosity", "[\"medium\"]", NULL },
    { "suffix", EMPTY, NULL },
    { "documents", EMPTY, NULL },
    { "response_prefix", EMPTY, NULL },
    { "chat_template", EMPTY, "the model's own template is used" },
    { "safe_prompt", EMPTY, NULL },
    { "random_seed", NEVER, "it is called seed here" },
    { "prompt_mode", EMPTY, NULL },
    { "stop_sequences", EMPTY, "it is called stop here" },
    { "system", EMPTY, "send a message with the role system" },
    /* Structured output. */
    { "guided_whitespace_pattern", EMPTY, NULL },
    { "structural_tag", EMPTY, NULL },
    { "grammar_triggers", EMPTY, NULL },
    { "format", EMPTY, NULL },
    { "guidance", EMPTY, NULL },
    { "grammar_lazy", EMPTY, NULL },
    /* The parts of the model or the prompt. */
    { "lora", EMPTY, NULL },
    { "lora_path", EMPTY, NULL },
    { "lora_request", EMPTY, NULL },
    { "adapter_id", EMPTY, NULL },
    { "adapters", EMPTY, NULL },
    { "prompt_embeds", EMPTY, NULL },
    { "input_embeds", EMPTY, NULL },
    { "input_ids", EMPTY, NULL },
    { "prompt_token_ids", EMPTY, NULL },
    { "image_data", EMPTY, NULL },
    { "multimodal_data", EMPTY, NULL },
    { "images", EMPTY, NULL },
    { "mm_processor_kwargs", EMPTY, NULL },
    { "media_io_kwargs", EMPTY, NULL },
    { "input_prefix", EMPTY, NULL },
    { "input_suffix", EMPTY, NULL },
    { "input_extra", EMPTY, NULL },
    { "session_params", EMPTY, NULL },
    { "kv_transfer_params", EMPTY, NULL },
    { "vllm_xargs", EMPTY, NULL },
    { "cache_salt", EMPTY, NULL },
    { "custom_params", EMPTY, NULL },
    { "context", EMPTY, NULL },
    { "raw", EMPTY, NULL },
    { "template", EMPTY, NULL },
    { "options", EMPTY, "its settings are fields of their own here" },
    { "parameters", EMPTY, "its settings are fields of their own here" },
    { "truncate_prompt_tokens", NEVER, NULL },
    { "truncate", NEVER, NULL },
    { "truncation_side", EMPTY, NULL },
    { "n_keep", ZERO, NULL },
    { "n_discard", ZERO, NULL },
    { "n_indent", ZERO, NULL },
    /* Sampling. */
    { "use_beam_search", EMPTY, NULL },
    { "early_stopping", EMPTY, NULL },
    { "length_penalty", ONE, NULL },
    { "bad_words", EMPTY, NULL },
    { "allowed_token_ids", EMPTY, NULL },
    { "logits_processors", EMPTY, NULL },
    { "custom_logit_processor", EMPTY, NULL },
    { "mirostat", ZERO, NULL },
    { "typical_p", ONE, NULL },
    { "top_n_sigma", "[-1]", NULL },
    { "top_a", ZERO, NULL },
    { "tfs_z", ONE, NULL },
    { "epsilon_cutoff", ZERO, NULL },
    { "eta_cutoff", ZERO, NULL },
    { "penalty_alpha", ZERO, NULL },
    { "dry_multiplier", ZERO, NULL },
    { "xtc_probability", ZERO, NULL },
    { "dynatemp_range", ZERO, NULL },
    { "adaptive_target", "[-1]", NULL },
    { "samplers", NEVER, NULL },
    { "repeat_last_n", NEVER, "repetition_penalty looks at the whole text" },
    { "min_keep", ZERO, NULL },
    { "watermark", EMPTY, NULL },
    { "repetition_detection", EMPTY, NULL },
    { "do_sample", "[true]", "set temperature to 0" },
    { "repeat_penalty", NEVER, "it is called repetition_penalty here" },
    /* Conditions that end an answer. */
    { "stop_regex", EMPTY, NULL },
    { "no_stop_trim", EMPTY, "it is called include_stop_str_in_output here" },
    { "n_predict", NEVER, "it is called max_tokens here" },
    { "max_new_tokens", NEVER, "it is called max_tokens here" },
    { "max_length", NEVER, "set max_tokens" },
    { "min_new_tokens", NEVER, "it is called min_tokens here" },
    { "min_length", NEVER, "set min_tokens" },
    { "t_max_predict_ms", ZERO, "send the header x-request-deadline-ms" },
    { "n_cmpl", NEVER, "it is called n here" },
    { "num_return_sequences", NEVER, "it is called n here" },
    /* Contents of the answer. */
    { "logprob_token_ids", EMPTY, NULL },
    { "logprob_start_len", "[-1]", NULL },
    { "top_n_tokens", ZERO, NULL },
    { "n_probs", ZERO, "it is called top_logprobs here" },
    { "post_sampling_probs", EMPTY, NULL },
    { "return_token_ids", EMPTY, NULL },
    { "return_tokens", EMPTY, NULL },
    { "return_tokens_as_token_ids", EMPTY, NULL },
    { "return_hidden_states", EMPTY, NULL },
    { "return_routed_experts", EMPTY, NULL },
    { "return_full_text", EMPTY, "it is called echo here" },
    { "return_progress", EMPTY, NULL },
    { "response_fields", EMPTY, NULL },
    { "details", EMPTY, NULL },
    { "decoder_input_details", EMPTY, NULL },
    { "detokenize", "[true]", NULL },
    { "thinking_forced_open", EMPTY, NULL },
    { "parse_tool_calls", EMPTY, NULL },
};
/* Fields that only chats have. */
static const struct api_refused of_chats[] = {
    { "reasoning", EMPTY, "only chats have reasoning" },
    { "thinking", EMPTY, "only chats have reasoning" },
    { "thinking_budget", "[-1]", "only chats have reasoning" },
    { "thinking_token_budget", "[-1]", "only chats have reasoning" },
    { "reasoning_budget", "[-1]", "only chats have reasoning" },
    { "tools", EMPTY, "only chats offer tools" },
    { "tool_choice", "[\"none\", \"auto\"]", "only chats offer tools" },
    { "enable_thinking", NEVER, "only chats have reasoning" },
    { "reasoning_format", "[\"none\"]", "only chats have reasoning" },
    { "include_reasoning", "[true]", "only chats have reasoning" },
    { "separate_reasoning", EMPTY, "only chats have reasoning" },
};
/* Fields that ask.c reads, and fields that change nothing. */
static const char *const known[] = {
    "add_generation_prompt",
    "add_special_tokens",
    "best_of",
    "cache_prompt",
    "chat_template_kwargs",
    "continue_final_message",
    "ebnf",
    "echo",
    "enable_thinking",
    "frequency_penalty",
    "function_call",
    "grammar",
    "guided_choice",
    "guided_grammar",
    "guided_json",
    "guided_regex",
    "ignore_eos",
    "include_reasoning",
    "include_stop_str_in_output",
    "json_schema",
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
    "prompt_cache_retention",
    "prompt_logprobs",
    "reasoning",
    "reasoning_budget",
    "reasoning_effort",
    "reasoning_format",
    "regex",
    "repetition_penalty",
    "request_id",
    "response_format",
    "safety_identifier",
    "seed",
    "separate_reasoning",
    "service_tier",
    "skip_special_tokens",
    "spaces_between_special_tokens",
    "stop",
    "stop_token_ids",
    "store",
    "stream",
    "stream_options",
    "structured_outputs",
    "temperature",
    "thinking",
    "thinking_budget",
    "thinking_token_budget",
    "timings_per_token",
    "tool_choice",
    "tools",
    "top_k",
    "top_logprobs",
    "top_p",
    "user",
};

static bool is_same(const json_t *a, const json_t *b)
{
    if (json_is_number(a) && json_is_number(b))
        return json_number_value(a) == json_number_value(b);
    return json_equal(a, b) == 1;
}

static bool is_neutral(const json_t *value, const char *neutral)
{
    json_t *values = json_loads(neutral, 0, NULL);
    bool is_found = false;
    CHECK(values != NULL);
    for (size_t i = 0; i < json_array_size(values); i++)
        is_found = is_found || is_same(value, json_array_get(values, i));
    json_decref(values);
    return is_found;
}

/* Checks function_call, the older name of tool_choice. */
static void check_function_call(const struct api_fields *fields, const char *name)
{
    const json_t *value = api_fields_find(fields, name);
    const char *text = json_string_value(value);
    if (value != NULL && (text == NULL || (strcmp(text, "none") != 0 && strcmp(text, "auto") != 0)))
        api_error_set(fields->error, ERROR_INVALID, name,
                      "%s is not supported: send tools and tool_choice", name);
}

static void check_modalities(const struct api_fields *fields)
{
    const json_t *value = api_fields_find(fields, "modalities");
    const char *only = json_string_value(json_array_get(value, 0));
    if (value != NULL && (json_array_size(value) != 1 || only == NULL || strcmp(only, "text") != 0))
        api_error_set(fields->error, ERROR_INVALID, "modalities",
                      "modalities must be [\"text\"], nothing else is supported");
}

bool api_refused_is_known(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(known); i++)
        if (strcmp(known[i], name) == 0)
            return true;
    for (size_t i = 0; i < COUNT_OF(refused); i++)
        if (strcmp(refused[i].name, name) == 0)
            return true;
    return false;
}

void api_refused_refuse(const struct api_fields *fields, const struct api_refused *rows, size_t n)
{
    for (const struct api_refused *row = rows; row < rows + n; row++) {
        const json_t *value = api_fields_find(fields, row->name);
        if (value != NULL && !is_neutral(value, row->neutral))
            api_error_set(fields->error, ERROR_INVALID, row->name, "%s is not supported%s%s",
                          row->name, row->why != NULL ? ": " : "",
                          row->why != NULL ? row->why : "");
    }
}

void api_refused_check(const struct api_fields *fields, bool is_chat, bool is_strict)
{
    api_refused_refuse(fields, refused, COUNT_OF(refused));
    if (!is_chat)
        api_refused_refuse(fields, of_chats, COUNT_OF(of_chats));
    const json_t *echo = api_fields_find(fields, "echo");
    if (is_chat && echo != NULL && !json_is_false(echo))
        api_error_set(fields->error, ERROR_INVALID, "echo", "echo is not supported for chats");
    check_function_call(fields, "function_call");
    check_modalities(fields);
    const char *name;
    json_t *value;
    if (is_strict) {
        json_object_foreach(fields->object, name, value) {
            if (!api_refused_is_known(name))
                api_error_set(fields->error, ERROR_INVALID, name, "unknown field \"%.60s\"", name);
        }
    }
}
