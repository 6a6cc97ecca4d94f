/* Reads the body of a completion or a chat: a table for plain fields, a function for each field
 * with a structure. */
#include "api/ask.h"
#include "api/refused.h"
#include <string.h>

enum { N_MESSAGES_MAX = 4096 };

static const struct number {
    const char *name;
    size_t at; /* offset of an int32_t or float in struct api_ask */
    bool is_real;
    double low, high;
} numbers[] = {
    { "temperature", offsetof(struct api_ask, sampling.temperature), true, 0, 2 },
    { "min_p", offsetof(struct api_ask, sampling.min_p), true, 0, 1 },
    { "frequency_penalty", offsetof(struct api_ask, sampling.frequency_penalty), true, -2, 2 },
    { "presence_penalty", offsetof(struct api_ask, sampling.presence_penalty), true, -2, 2 },
    { "repetition_penalty", offsetof(struct api_ask, sampling.repetition_penalty), true, 0.01,
      100 },
    { "top_k", offsetof(struct api_ask, sampling.top_k), false, -1, LIMIT_VOCABULARY },
    { "min_tokens", offsetof(struct api_ask, sampling.n_tokens_min), false, 0, LIMIT_CONTEXT },
    { "n", offsetof(struct api_ask, n), false, 1, LIMIT_CHOICES },
    { "priority", offsetof(struct api_ask, priority), false, INT16_MIN, INT16_MAX },
};
static const struct flag {
    const char *name;
    size_t at;
} flags[] = {
    { "stream", offsetof(struct api_ask, streams) },
    { "ignore_eos", offsetof(struct api_ask, ignores_eos) },
    { "include_stop_str_in_output", offsetof(struct api_ask, include_stop) },
    { "skip_special_tokens", offsetof(struct api_ask, skips_special) },
    { "add_special_tokens", offsetof(struct api_ask, add_special_tokens) },
    { "add_generation_prompt", offsetof(struct api_ask, add_generation_prompt) },
    { "continue_final_message", offsetof(struct api_ask, continue_final_message) },
};

static void read_numbers(struct api_ask *ask, const struct api_fields *fields)
{
    for (size_t i = 0; i < COUNT_OF(numbers); i++) {
        const struct number *row = &numbers[i];
        void *at = (char *)ask + row->at;
        int64_t whole[2] = { (int64_t)row->low, (int64_t)row->high };
        if (row->is_real)
            api_fields_f32(fields, row->name, (double[2]){ row->low, row->high }, at);
        else
            api_fields_i32(fields, row->name, whole, at);
    }
    for (size_t i = 0; i < COUNT_OF(flags); i++)
        api_fields_bool(fields, flags[i].name, (bool *)((char *)ask + flags[i].at));
    ask->sampling.top_k = max_i32(ask->sampling.top_k, 0);
    api_fields_f32(fields, "top_p", (double[2]){ 0, 1 }, &ask->sampling.top_p);
    if (ask->sampling.top_p == 0)
        api_error_set(fields->error, ERROR_INVALID, "top_p", "top_p must be above 0 and at most 1");
    ask->has_priority = api_fields_find(fields, "priority") != NULL;
    ask->has_seed = api_fields_find(fields, "seed") != NULL;
    api_fields_i64(fields, "seed", (int64_t[2]){ INT64_MIN, INT64_MAX }, &ask->seed);
}

static void read_lengths(struct api_ask *ask, const struct api_fields *fields)
{
    int64_t range[2] = { ask->kind == ASK_CHAT ? 1 : 0, LIMIT_CONTEXT };
    int32_t best_of = -1;
    api_fields_i32(fields, "max_tokens", range, &ask->n_tokens_max);
    api_fields_i32(fields, "max_completion_tokens", range, &ask->n_tokens_max);
    if (ask->n_tokens_max >= 0 && ask->sampling.n_tokens_min > ask->n_tokens_max)
        api_error_set(fields->error, ERROR_INVALID, "min_tokens",
                      "min_tokens (%d) is above max_tokens (%d)", ask->sampling.n_tokens_min,
                      ask->n_tokens_max);
    api_fields_i32(fields, "best_of", (int64_t[2]){ 1, LIMIT_CHOICES }, &best_of);
    if (best_of >= 0 && best_of != ask->n)
        api_error_set(fields->error, ERROR_INVALID, "best_of",
                      "best_of other than n is not supported (best_of %d, n %d)", best_of, ask->n);
}

static struct view keep_text(struct api_ask *ask, const json_t *value)
{
    size_t n = json_string_length(value);
    return view_of(pile_text(&ask->pile, json_string_value(value), n), n);
}

static void read_stop_texts(struct api_ask *ask, const struct api_fields *fields)
{
    const json_t *value = api_fields_find(fields, "stop");
    bool is_one = json_is_string(value);
    size_t n = is_one ? 1 : json_array_size(value);
    if (value != NULL && !is_one && !json_is_array(value))
        api_error_set(fields->error, ERROR_INVALID, "stop",
                      "stop must be a string or an array of strings");
    if (n > LIMIT_STOP_TEXTS)
        api_error_set(fields->error, ERROR_INVALID, "stop", "stop may hold %d strings, got %zu",
                      LIMIT_STOP_TEXTS, n);
    for (size_t i = 0; i < n && i < LIMIT_STOP_TEXTS; i++) {
        const json_t *text = is_one ? value : json_array_get(value, i);
        if (json_string_length(text) == 0)
            api_error_set(fields->error, ERROR_INVALID, "stop",
                          "stop must hold strings that are not empty");
        else if (json_string_length(text) > LIMIT_STOP_BYTES)
            api_error_set(fields->error, ERROR_INVALID, "stop",
                          "stop may hold strings of up to %d bytes, got one of %zu",
                          LIMIT_STOP_BYTES, json_string_length(text));
        else
            ask->stops[ask->n_stops++] = keep_text(ask, text);
    }
}

static void read_stop_ids(struct api_ask *ask, const struct api_fields *fields)
{
    const json_t *value = api_fields_find(fields, "stop_token_ids");
    if (value != NULL && !json_is_array(value))
        api_error_set(fields->error, ERROR_INVALID, "stop_token_ids",
                      "stop_token_ids must be an array of token ids");
    if (json_array_size(value) > LIMIT_STOP_IDS)
        api_error_set(fields->error, ERROR_INVALID, "stop_token_ids",
                      "stop_token_ids may hold %d ids, got %zu", LIMIT_STOP_IDS,
                      json_array_size(value));
    for (size_t i = 0; i < json_array_size(value) && i < LIMIT_STOP_IDS; i++) {
        int64_t id = -1;
        if (!api_fields_is_whole(json_array_get(value, i), &id) || id < 0 || id > INT32_MAX)
            api_error_set(fields->error, ERROR_INVALID, "stop_token_ids",
                          "stop_token_ids: item %zu is not a token id", i);
        ask->stop_ids[ask->n_stop_ids++] = (int32_t)id;
    }
}

static bool parse_id(const char *text, int32_t *id)
{
    int64_t whole = -1;
    if (!parse_i64(text, &whole) || whole < 0 || whole >= LIMIT_VOCABULARY)
        return false;
    *id = (int32_t)whole;
    return true;
}

static void read_biases(struct api_ask *ask, const struct api_fields *fields)
{
    json_t *value = api_fields_find(fields, "logit_bias"), *number;
    const char *name;
    if (value == NULL)
        return;
    if (!json_is_object(value)) {
        api_error_set(fields->error, ERROR_INVALID, "logit_bias",
                      "logit_bias must be an object that maps token ids to numbers");
        return;
    }
    if (json_object_size(value) > LIMIT_BIASES) {
        api_error_set(fields->error, ERROR_INVALID, "logit_bias",
                      "logit_bias may name %d token ids, got %zu", LIMIT_BIASES,
                      json_object_size(value));
        return;
    }
    ask->biases = pile_take(&ask->pile, sizeof(*ask->biases) * json_object_size(value));
    json_object_foreach(value, name, number) {
        struct logit_bias *bias = &ask->biases[ask->n_biases++];
        double strength = json_number_value(number);
        if (!parse_id(name, &bias->id))
            api_error_set(fields->error, ERROR_INVALID, "logit_bias",
                          "logit_bias: \"%.40s\" is not a token id (0 to %d)", name,
                          LIMIT_VOCABULARY - 1);
        else if (!json_is_number(number))
            api_error_set(fields->error, ERROR_INVALID, "logit_bias",
                          "logit_bias: the bias of token id %d must be a number", bias->id);
        else if (strength < -100 || strength > 100)
            api_error_set(fields->error, ERROR_INVALID, "logit_bias",
                          "logit_bias: the bias of token id %d must be between -100 and 100, got "
                          "%g",
                          bias->id, strength);
        bias->bias = (float)strength;
    }
}

static void read_logprobs(struct api_ask *ask, const struct api_fields *fields)
{
    int32_t n_top = -1;
    int64_t range[2] = { 0, LIMIT_TOP_LOGPROBS };
    if (ask->kind == ASK_CHAT) {
        api_fields_bool(fields, "logprobs", &ask->wants_logprobs);
        api_fields_i32(fields, "top_logprobs", range, &n_top);
        if (n_top > 0 && !ask->wants_logprobs)
            api_error_set(fields->error, ERROR_INVALID, "top_logprobs",
                          "top_logprobs needs logprobs to be true");
    } else if (!json_is_false(api_fields_find(fields, "logprobs"))) {
        api_fields_i32(fields, "logprobs", range, &n_top);
        ask->wants_logprobs = n_top >= 0;
        ask->wants_scores = ask->wants_logprobs && ask->echo;
    }
    ask->sampling.n_top_logprobs = ask->wants_logprobs ? max_i32(n_top, 0) : -1;
    if (ask->wants_scores)
        ask->sampling.n_top_scores = ask->sampling.n_top_logprobs;
    n_top = -1;
    api_fields_i32(fields, "prompt_logprobs", range, &n_top);
    if (n_top >= 0 && ask->streams)
        api_error_set(fields->error, ERROR_INVALID, "prompt_logprobs",
                      "prompt_logprobs needs stream to be false");
    ask->shows_scores = n_top >= 0;
    ask->wants_scores = ask->wants_scores || ask->shows_scores;
    ask->n_shown_scores = max_i32(n_top, 0);
    ask->sampling.n_top_scores = max_i32(ask->sampling.n_top_scores, n_top);
}

static void read_usage(const struct api_fields *options, struct api_ask *ask)
{
    bool is_continuous = false;
    api_fields_bool(options, "include_usage", &ask->include_usage);
    api_fields_bool(options, "continuous_usage_stats", &is_continuous);
    if (is_continuous)
        api_error_set(options->error, ERROR_INVALID, "stream_options",
                      "stream_options.continuous_usage_stats is not supported");
}

static void read_stream_options(struct api_ask *ask, const struct api_fields *fields)
{
    json_t *value = api_fields_find(fields, "stream_options");
    if (value == NULL)
        return;
    if (!json_is_object(value))
        api_error_set(fields->error, ERROR_INVALID, "stream_options",
                      "stream_options must be an object");
    else if (!ask->streams)
        api_error_set(fields->error, ERROR_INVALID, "stream_options",
                      "stream_options needs stream to be true");
    else
        read_usage(&(struct api_fields){ value, fields->error }, ask);
}

/* Reads the token ids of one prompt. */
static bool read_ids(struct api_ask *ask, const json_t *array, const char *name,
                     struct api_ask_prompt *prompt, struct api_error *error)
{
    size_t n = json_array_size(array);
    if (n == 0 || n > LIMIT_CONTEXT) {
        api_error_set(error, n == 0 ? ERROR_INVALID : ERROR_CONTEXT, name,
                      "%s must hold 1 to %d token ids, got %zu", name, LIMIT_CONTEXT, n);
        return false;
    }
    int32_t *ids = pile_take(&ask->pile, sizeof(*ids) * n);
    for (size_t i = 0; i < n; i++) {
        int64_t id = -1;
        if (!api_fields_is_whole(json_array_get(array, i), &id) || id < 0 ||
            id >= LIMIT_VOCABULARY) {
            api_error_set(error, ERROR_INVALID, name, "%s: item %zu is not a token id", name, i);
            return false;
        }
        ids[i] = (int32_t)id;
    }
    prompt->ids = ids;
    prompt->n_ids = (int32_t)n;
    return true;
}

void api_ask_read_prompts(struct api_ask *ask, const struct api_fields *fields, const char *name,
                          size_t n_max)
{
    const json_t *value = api_fields_find(fields, name), *first = json_array_get(value, 0);
    bool is_list = json_is_string(first) || json_is_array(first);
    size_t n = is_list ? json_array_size(value) : 1;
    if (!json_is_string(value) && first == NULL)
        api_error_set(fields->error, ERROR_INVALID, name,
                      "%s must be a string, an array of strings, of token ids or of arrays of "
                      "token ids",
                      name);
    if (n > n_max)
        api_error_set(fields->error, ERROR_INVALID, name, "at most %zu %ss, got %zu", n_max, name,
                      n);
    if (fields->error->is_set)
        return;
    ask->prompts = pile_take(&ask->pile, sizeof(*ask->prompts) * n);
    for (size_t i = 0; i < n; i++) {
        const json_t *item = is_list ? json_array_get(value, i) : value;
        struct api_ask_prompt *prompt = &ask->prompts[ask->n_prompts++];
        if (json_is_string(item))
            prompt->text = keep_text(ask, item);
        else if (!json_is_array(item))
            api_error_set(fields->error, ERROR_INVALID, name,
                          "%s: item %zu is neither a string nor an array", name, i);
        else if (!read_ids(ask, item, name, prompt, fields->error))
            return;
    }
}

/* Reads an array of text parts: each of them, and all joined. */
static void read_parts(struct api_ask *ask, const json_t *content, size_t index,
                       struct chat_message *to, struct api_error *error)
{
    size_t n = json_array_size(content);
    const char **parts = pile_take(&ask->pile, sizeof(*parts) * (n + 1));
    struct str joined;
    str_init(&joined);
    for (size_t i = 0; i < n; i++) {
        const json_t *part = json_array_get(content, i);
        const json_t *value = json_object_get(part, "text");
        const char *type = json_string_value(json_object_get(part, "type"));
        parts[i] = "";
        if (type == NULL || strcmp(type, "text") != 0)
            api_error_set(error, ERROR_INVALID, "messages",
                          "messages[%zu].content[%zu]: only parts of type \"text\" are supported, "
                          "got \"%.40s\"",
                          index, i, type != NULL ? type : "");
        else if (!json_is_string(value))
            api_error_set(error, ERROR_INVALID, "messages",
                          "messages[%zu].content[%zu].text must be a string", index, i);
        else
            parts[i] = keep_text(ask, value).at;
        str_add_text(&joined, parts[i]);
    }
    to->parts = parts;
    to->n_parts = (int32_t)n;
    to->content = pile_text(&ask->pile, joined.at != NULL ? joined.at : "", joined.n);
    str_free(&joined);
}

/* Reads a string, an array of text parts, null, or nothing. */
static void read_content(struct api_ask *ask, const json_t *content, size_t index,
                         struct chat_message *to, struct api_error *error)
{
    to->is_null = json_is_null(content);
    if (json_is_string(content))
        to->content = keep_text(ask, content).at;
    else if (json_is_array(content))
        read_parts(ask, content, index, to, error);
    else if (content != NULL && !to->is_null)
        api_error_set(error, ERROR_INVALID, "messages",
                      "messages[%zu].content must be a string or an array of parts", index);
}

static const char *keep_json(struct api_ask *ask, const json_t *value)
{
    size_t n = json_dumpb(value, NULL, 0, JSON_COMPACT);
    char *text = pile_take(&ask->pile, n + 1);
    json_dumpb(value, text, n, JSON_COMPACT);
    return text;
}

/* Keeps the fields of a message besides role, content and name for the template, unchanged. Null
 * and an empty list of calls mean absent. */
static const char *keep_more(struct api_ask *ask, const json_t *message)
{
    static const char *const own[] = { "role", "content", "name" };
    json_t *more = json_object(), *member;
    const char *key, *kept = NULL;
    json_object_foreach((json_t *)(uintptr_t)message, key, member) {
        bool is_own = json_is_null(member) ||
                      (strcmp(key, "tool_calls") == 0 && json_array_size(member) == 0);
        for (size_t i = 0; i < COUNT_OF(own); i++)
            is_own = is_own || strcmp(key, own[i]) == 0;
        if (!is_own)
            json_object_set(more, key, member);
    }
    if (json_object_size(more) > 0)
        kept = keep_json(ask, more);
    json_decref(more);
    return kept;
}

static void read_message(struct api_ask *ask, const json_t *message, size_t index,
                         struct api_error *error)
{
    static const char *const roles[] = { "system", "developer", "user", "assistant", "tool" };
    const json_t *role = json_object_get(message, "role"), *name = json_object_get(message, "name");
    const char *text = json_string_value(role);
    bool is_known = false;
    for (size_t i = 0; i < COUNT_OF(roles); i++)
        is_known = is_known || (text != NULL && strcmp(roles[i], text) == 0);
    if (!is_known)
        api_error_set(error, ERROR_INVALID, "messages",
                      "messages[%zu].role must be system, developer, user, assistant or tool",
                      index);
    if (name != NULL && !json_is_null(name) && !json_is_string(name))
        api_error_set(error, ERROR_INVALID, "messages", "messages[%zu].name must be a string",
                      index);
    const json_t *calls = json_object_get(message, "tool_calls");
    const json_t *call_id = json_object_get(message, "tool_call_id");
    if (calls != NULL && !json_is_null(calls) && !json_is_array(calls))
        api_error_set(error, ERROR_INVALID, "messages", "messages[%zu].tool_calls must be an array",
                      index);
    if (call_id != NULL && !json_is_null(call_id) && !json_is_string(call_id))
        api_error_set(error, ERROR_INVALID, "messages",
                      "messages[%zu].tool_call_id must be a string", index);
    if (error->is_set)
        return;
    struct chat_message *to = &ask->messages[ask->n_messages++];
    to->role = keep_text(ask, role).at;
    to->name = json_is_string(name) ? keep_text(ask, name).at : NULL;
    read_content(ask, json_object_get(message, "content"), index, to, error);
    to->more_json = keep_more(ask, message);
}

static void read_kwargs(struct api_ask *ask, const struct api_fields *fields)
{
    json_t *value = api_fields_find(fields, "chat_template_kwargs");
    const char *effort = api_fields_text(fields, "reasoning_effort");
    bool thinks = true;
    bool has_thinks = api_fields_find(fields, "enable_thinking") != NULL;
    api_fields_bool(fields, "enable_thinking", &thinks);
    if (value != NULL && !json_is_object(value)) {
        api_error_set(fields->error, ERROR_INVALID, "chat_template_kwargs",
                      "chat_template_kwargs must be an object");
        return;
    }
    if (value == NULL && effort == NULL && !has_thinks)
        return;
    json_t *kwargs = value != NULL ? json_copy(value) : json_object();
    if (has_thinks)
        json_object_set_new(kwargs, "enable_thinking", json_boolean(thinks));
    if (effort != NULL)
        json_object_set_new(kwargs, "reasoning_effort", json_string(effort));
    ask->kwargs_json = keep_json(ask, kwargs);
    json_decref(kwargs);
}

static void read_messages(struct api_ask *ask, const struct api_fields *fields)
{
    const json_t *value = api_fields_find(fields, "messages");
    size_t n = json_array_size(value);
    if (n == 0 || n > N_MESSAGES_MAX) {
        api_error_set(fields->error, ERROR_INVALID, "messages",
                      "messages must be an array of 1 to %d messages", N_MESSAGES_MAX);
        return;
    }
    ask->messages = pile_take(&ask->pile, sizeof(*ask->messages) * n);
    for (size_t i = 0; i < n && !fields->error->is_set; i++)
        read_message(ask, json_array_get(value, i), i, fields->error);
    read_kwargs(ask, fields);
    api_thinking_read(&ask->thinking, fields);
    api_tools_read(&ask->tools, fields, &ask->pile);
    if (fields->error->is_set || !ask->continue_final_message)
        return;
    if (api_fields_find(fields, "add_generation_prompt") == NULL)
        ask->add_generation_prompt = false;
    if (ask->add_generation_prompt)
        api_error_set(fields->error, ERROR_INVALID, "continue_final_message",
                      "continue_final_message and add_generation_prompt exclude each other");
    const char *last = ask->messages[n - 1].content;
    if (last == NULL || last[0] == '\0')
        api_error_set(fields->error, ERROR_INVALID, "continue_final_message",
                      "continue_final_message needs a last message with text");
}

bool api_ask_parse(struct api_ask *ask, enum api_ask_kind kind, struct view body, bool is_strict,
                   struct api_error *error)
{
    return api_ask_read(ask, kind, api_fields_open(body, ASK_VALUES_MAX, error), is_strict, error);
}

bool api_ask_read(struct api_ask *ask, enum api_ask_kind kind, void *object, bool is_strict,
                  struct api_error *error)
{
    *ask = (struct api_ask){
        .kind = kind,
        .n = 1,
        .n_tokens_max = -1,
        .add_generation_prompt = true,
        .add_special_tokens = kind != ASK_CHAT,
        .skips_special = true,
        .sampling = { .temperature = 1, .top_p = 1, .repetition_penalty = 1 },
    };
    pile_init(&ask->pile);
    if (object == NULL)
        return false;
    struct api_fields fields = { object, error };
    const char *model = api_fields_text(&fields, "model");
    ask->model = model != NULL ? pile_text(&ask->pile, model, strlen(model)) : NULL;
    if (kind == ASK_EMBED) {
        ask->n_tokens_max = 0;
        json_decref(object);
        return !error->is_set;
    }
    api_refused_check(&fields, kind == ASK_CHAT, is_strict);
    api_fields_bool(&fields, "timings_per_token", &ask->has_timings);
    read_numbers(ask, &fields);
    read_lengths(ask, &fields);
    read_stop_texts(ask, &fields);
    read_stop_ids(ask, &fields);
    read_biases(ask, &fields);
    if (kind == ASK_COMPLETION)
        api_fields_bool(&fields, "echo", &ask->echo);
    read_logprobs(ask, &fields);
    read_stream_options(ask, &fields);
    if (kind == ASK_CHAT)
        read_messages(ask, &fields);
    else
        api_ask_read_prompts(ask, &fields, "prompt", LIMIT_PROMPTS);
    api_guided_read(&ask->guided, &ask->pile, &fields);
    if (ask->tools.is_needed && !error->is_set)
        api_guided_need_calls(&ask->guided, &ask->pile, &ask->tools, &fields);
    if (ask->guided.kind != 0 && ask->tools.calls.n > 0 && !ask->tools.is_needed)
        api_error_set(error, ERROR_INVALID, "tools",
                      "tools and %s exclude each other, since the structure leaves no place for a "
                      "call: leave out one of them, or set tool_choice to \"none\"",
                      ask->guided.field);
    if (ask->guided.kind != 0 && ask->ignores_eos)
        api_error_set(error, ERROR_INVALID, "ignore_eos",
                      "ignore_eos and %s exclude each other: the answer ends where its structure "
                      "is complete",
                      ask->guided.field);
    if (ask->guided.kind != 0 && ask->sampling.n_tokens_min > 0)
        api_error_set(error, ERROR_INVALID, "min_tokens",
                      "min_tokens and %s exclude each other: the answer ends where its structure "
                      "is complete",
                      ask->guided.field);
    json_decref(object);
    return !error->is_set;
}

void api_ask_free(struct api_ask *ask)
{
    pile_free(&ask->pile);
}

bool api_ask_check(const struct api_ask *ask, int32_t n_vocabulary, struct api_error *error)
{
    const char *field = NULL;
    int32_t bad = 0;
    for (int32_t i = 0; i < ask->n_stop_ids && field == NULL; i++)
        if ((bad = ask->stop_ids[i]) >= n_vocabulary)
            field = "stop_token_ids";
    for (int32_t i = 0; i < ask->n_biases && field == NULL; i++)
        if ((bad = ask->biases[i].id) >= n_vocabulary)
            field = "logit_bias";
    for (int32_t p = 0; p < ask->n_prompts && field == NULL; p++)
        for (int32_t i = 0; i < ask->prompts[p].n_ids && field == NULL; i++)
            if ((bad = ask->prompts[p].ids[i]) >= n_vocabulary)
                field = ask->kind == ASK_EMBED ? "input" : "prompt";
    if (field != NULL)
        api_error_set(error, ERROR_INVALID, field,
                      "%s: token id %d is outside of the vocabulary (0 to %d)", field, bad,
                      n_vocabulary - 1);
    return field == NULL;
}
