/* The bound of reasoning has a name in each API, and reaches engines ahead of the grammar's text.
 */
#include "api/thinking.h"
#include "core/limits.h"

#include <string.h>

/* Reads an object that may hold the bound, and nothing else that has an effect. */
static void read_object(struct api_thinking *thinking, const struct api_fields *fields,
                        const char *name, const char *member)
{
    json_t *value = api_fields_find(fields, name), *other;
    const char *key;
    if (value == NULL || json_is_false(value))
        return;
    if (!json_is_object(value)) {
        api_error_set(fields->error, ERROR_INVALID, name, "%s must be an object", name);
        return;
    }
    json_object_foreach(value, key, other) {
        const char *type = strcmp(key, "type") == 0 ? json_string_value(other) : NULL;
        bool is_enabled = type != NULL && strcmp(type, "enabled") == 0;
        if (strcmp(key, "type") == 0 && !is_enabled && !json_is_null(other))
            api_error_set(fields->error, ERROR_INVALID, name,
                          "%s.type must be \"enabled\" or absent: to turn reasoning off, set "
                          "enable_thinking to false",
                          name);
        else if (strcmp(key, member) != 0 && !is_enabled && !json_is_null(other))
            api_error_set(fields->error, ERROR_INVALID, name,
                          "%s.%.60s is not supported, only %s: reasoning_effort and "
                          "enable_thinking are fields of their own",
                          name, key, member);
    }
    const struct api_fields own = { value, fields->error };
    if (api_fields_find(&own, member) != NULL)
        thinking->field = name;
    api_fields_i32(&own, member, (int64_t[2]){ 0, LIMIT_CONTEXT }, &thinking->n_max);
}

void api_thinking_read(struct api_thinking *thinking, const struct api_fields *fields)
{
    static const char *const names[] = { "thinking_budget", "thinking_token_budget",
                                         "reasoning_budget" };
    const json_t *kwargs = api_fields_find(fields, "chat_template_kwargs");
    bool thinks = true;
    *thinking = (struct api_thinking){ .n_max = -1 };
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        if (api_fields_find(fields, names[i]) != NULL)
            thinking->field = names[i];
        api_fields_i32(fields, names[i], (int64_t[2]){ -1, LIMIT_CONTEXT }, &thinking->n_max);
    }
    read_object(thinking, fields, "reasoning", "max_tokens");
    read_object(thinking, fields, "thinking", "budget_tokens");
    if (thinking->n_max < 0)
        thinking->field = NULL;
    api_fields_bool(fields, "enable_thinking", &thinks);
    thinking->is_off = !thinks || json_is_false(json_object_get(kwargs, "enable_thinking"));
}
