/* Reads OpenAI's, vLLM's, SGLang's and llama-server's fields for structured output. */
#include "api/guided.h"

#include "grammar/cache.h"
#include "text/tokenizer.h"
#include <string.h>

/* How a field's value becomes the text of a grammar. */
enum form { FORM_SCHEMA, FORM_TEXT, FORM_CHOICE, FORM_NOTATION };

static const struct field {
    const char *name;
    enum form form;
    enum grammar_kind kind;
} plain[] = {
    { "guided_json", FORM_SCHEMA, GRAMMAR_SCHEMA },
    { "json_schema", FORM_SCHEMA, GRAMMAR_SCHEMA },
    { "guided_regex", FORM_TEXT, GRAMMAR_REGEX },
    { "regex", FORM_TEXT, GRAMMAR_REGEX },
    { "guided_choice", FORM_CHOICE, GRAMMAR_CHOICE },
    { "guided_grammar", FORM_NOTATION, GRAMMAR_GBNF },
    { "grammar", FORM_NOTATION, GRAMMAR_GBNF },
    { "ebnf", FORM_NOTATION, GRAMMAR_GBNF },
}, nested[] = { /* of structured_outputs */
    { "json", FORM_SCHEMA, GRAMMAR_SCHEMA },
    { "regex", FORM_TEXT, GRAMMAR_REGEX },
    { "choice", FORM_CHOICE, GRAMMAR_CHOICE },
    { "grammar", FORM_NOTATION, GRAMMAR_GBNF },
};

bool api_guided_may_have(struct view body)
{
    static const char *const names[] = { "\"response_format\"", "\"guided_",  "\"structured_outputs\"",
                                         "\"json_schema\"",     "\"grammar\"", "\"regex\"",
                                         "\"ebnf\"" };
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (memmem(body.at, body.n, names[i], strlen(names[i])) != NULL)
            return true;
    return false;
}

/* Sets the grammar, unless another field did. */
static void set(struct api_ask *ask, struct api_error *error, const char *field,
                enum grammar_kind kind, struct view text)
{
    if (ask->grammar_kind != GRAMMAR_NONE)
        api_error_set(error, ERROR_INVALID, field,
                      "%s and %s exclude each other: an answer has one structure", field,
                      ask->grammar_field);
    else if (text.n > LIMIT_GRAMMAR_BYTES)
        api_error_set(error, ERROR_TOO_LARGE, field, "%s holds %zu bytes, and at most %d are taken",
                      field, text.n, LIMIT_GRAMMAR_BYTES);
    ask->grammar_kind = kind;
    ask->grammar_field = field;
    ask->grammar = text;
}

static struct view json_text(struct api_ask *ask, const json_t *value)
{
    size_t flags = JSON_COMPACT | JSON_ENCODE_ANY, n = json_dumpb(value, NULL, 0, flags);
    char *text = pile_take(&ask->pile, n + 1);
    return view_of(text, json_dumpb(value, text, n, flags));
}

static struct view string_text(struct api_ask *ask, const json_t *value)
{
    size_t n = json_string_length(value);
    return view_of(pile_text(&ask->pile, json_string_value(value), n), n);
}

static bool has_rule_sign(struct view text)
{
    return memmem(text.at, text.n, "::=", 3) != NULL;
}

static void read_field(struct api_ask *ask, const struct api_fields *fields,
                       const struct field *field, const char *whole_name)
{
    const json_t *value = api_fields_find(fields, field->name);
    bool is_text = json_is_string(value), is_empty = is_text && json_string_length(value) == 0;
    if (value == NULL || is_empty)
        return;
    if (field->form == FORM_SCHEMA && (json_is_object(value) || json_is_boolean(value)))
        set(ask, fields->error, whole_name, field->kind, json_text(ask, value));
    else if (field->form == FORM_CHOICE && json_is_array(value))
        set(ask, fields->error, whole_name, field->kind, json_text(ask, value));
    else if (field->form == FORM_CHOICE || !is_text)
        api_error_set(fields->error, ERROR_INVALID, whole_name, "%s must be %s", whole_name,
                      field->form == FORM_SCHEMA   ? "a JSON Schema"
                      : field->form == FORM_CHOICE ? "an array of strings"
                                                   : "a string");
    else if (field->form == FORM_NOTATION && !has_rule_sign(string_text(ask, value)))
        set(ask, fields->error, whole_name, GRAMMAR_LARK, string_text(ask, value));
    else
        set(ask, fields->error, whole_name, field->kind, string_text(ask, value));
}

/* vLLM's object. */
static void read_nested(struct api_ask *ask, const struct api_fields *fields)
{
    static const char *const name = "structured_outputs";
    json_t *value = api_fields_find(fields, name), *member;
    const char *key;
    if (value == NULL || json_is_false(value))
        return;
    if (!json_is_object(value)) {
        api_error_set(fields->error, ERROR_INVALID, name, "%s must be an object", name);
        return;
    }
    const struct api_fields own = { value, fields->error };
    json_object_foreach(value, key, member) {
        bool is_known = strcmp(key, "json_object") == 0 || json_is_null(member) ||
                        json_is_false(member);
        for (size_t i = 0; i < COUNT_OF(nested); i++)
            is_known = is_known || strcmp(key, nested[i].name) == 0;
        if (!is_known)
            api_error_set(fields->error, ERROR_INVALID, name, "%s: \"%.60s\" is not supported",
                          name, key);
    }
    for (size_t i = 0; i < COUNT_OF(nested); i++)
        read_field(ask, &own, &nested[i], name);
    if (json_is_true(json_object_get(value, "json_object")))
        set(ask, fields->error, name, GRAMMAR_OBJECT, view_of("", 0));
}

static void read_format(struct api_ask *ask, const struct api_fields *fields)
{
    static const char *const name = "response_format";
    const json_t *value = api_fields_find(fields, name);
    const char *type = json_string_value(json_object_get(value, "type"));
    const json_t *schema = json_object_get(json_object_get(value, "json_schema"), "schema");
    if (schema == NULL) /* llama-server's spelling */
        schema = json_object_get(value, "schema");
    bool is_schema = type != NULL && strcmp(type, "json_schema") == 0;
    bool is_object = type != NULL && strcmp(type, "json_object") == 0;
    if (value == NULL || (type != NULL && strcmp(type, "text") == 0))
        return;
    if (!is_schema && !is_object)
        api_error_set(fields->error, ERROR_INVALID, name,
                      "response_format.type must be text, json_object or json_schema");
    else if (schema != NULL && !json_is_object(schema) && !json_is_boolean(schema))
        api_error_set(fields->error, ERROR_INVALID, name,
                      "response_format: the schema must be an object");
    else if (schema != NULL)
        set(ask, fields->error, name, GRAMMAR_SCHEMA, json_text(ask, schema));
    else if (is_schema)
        api_error_set(fields->error, ERROR_INVALID, name,
                      "response_format.json_schema.schema is missing");
    else
        set(ask, fields->error, name, GRAMMAR_OBJECT, view_of("", 0));
}

void api_guided_read(struct api_ask *ask, const struct api_fields *fields)
{
    read_format(ask, fields);
    for (size_t i = 0; i < COUNT_OF(plain); i++)
        read_field(ask, fields, &plain[i], plain[i].name);
    read_nested(ask, fields);
    if (ask->grammar_kind != GRAMMAR_NONE && ask->ignores_eos)
        api_error_set(fields->error, ERROR_INVALID, "ignore_eos",
                      "ignore_eos and %s exclude each other: the answer ends where its structure "
                      "is complete",
                      ask->grammar_field);
}

static struct view piece_of(const void *tokenizer, int32_t id)
{
    return tokenizer_piece(tokenizer, id, false);
}

void api_guided_check(const struct api_ask *ask, const struct api_model *model,
                      struct grammar_cache *grammars, struct api_error *error)
{
    const struct grammar_pieces pieces = { model->tokenizer, model->n_vocabulary, piece_of };
    const struct grammar *grammar;
    struct fault fault;
    if (ask->grammar_kind == GRAMMAR_NONE)
        return;
    if (grammars == NULL)
        api_error_set(error, ERROR_INVALID, ask->grammar_field, "%s is not supported here",
                      ask->grammar_field);
    else if (model->n_eog + ask->n_stop_ids == 0)
        api_error_set(error, ERROR_INVALID, ask->grammar_field,
                      "%s needs a model with an end token, or stop_token_ids", ask->grammar_field);
    else if (grammar_cache_take(grammars, (enum grammar_kind)ask->grammar_kind, ask->grammar,
                                &grammar, &fault) != STATUS_OK)
        api_error_set(error, ERROR_INVALID, ask->grammar_field, "%s: %s", ask->grammar_field,
                      fault.text);
    else {
        grammar_cache_put(grammars, grammar);
        (void)grammar_cache_vocabulary(grammars, &pieces);
    }
}
