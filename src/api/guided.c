/* Reads OpenAI's, vLLM's, SGLang's and llama-server's fields for structured output. */
#include "api/guided.h"

#include "base/mem.h"
#include "grammar/cache.h"
#include "text/tokenizer.h"
#include <string.h>

enum {
    NEEDED_CALLS_MAX = 16, /* in one answer that must have some; in a section of others */
    TEXT_BYTES_MAX = LIMIT_GRAMMAR_BYTES - 256, /* of a text, so that a head fits before it */
};

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
    static const char *const names[] = { "\"response_format\"",
                                         "\"guided_",
                                         "\"structured_outputs\"",
                                         "\"json_schema\"",
                                         "\"grammar\"",
                                         "\"regex\"",
                                         "\"ebnf\"",
                                         "\"tool_choice\"",
                                         "\"tools\"",
                                         "\"output_config\"",
                                         "\"format\"",
                                         "\"previous_response_id\"",
                                         "\\u00" }; /* an escaped name may be any of them */
    for (size_t i = 0; i < COUNT_OF(names) && body.n > 0; i++)
        if (memmem(body.at, body.n, names[i], strlen(names[i])) != NULL)
            return true;
    return false;
}

struct reader {
    struct api_guided *guided;
    struct pile *pile;
};

/* Sets the grammar, unless another field did. */
static void set(struct api_guided *guided, struct api_error *error, const char *field,
                enum grammar_kind kind, struct view text)
{
    if (guided->kind != GRAMMAR_NONE)
        api_error_set(error, ERROR_INVALID, field,
                      "%s and %s exclude each other: an answer has one structure", field,
                      guided->field);
    else if (text.n > TEXT_BYTES_MAX)
        api_error_set(error, ERROR_TOO_LARGE, field, "%s holds %zu bytes, and at most %d are taken",
                      field, text.n, TEXT_BYTES_MAX);
    guided->kind = kind;
    guided->field = field;
    guided->text = text;
}

static struct view json_text(struct reader *r, const json_t *value)
{
    size_t flags = JSON_COMPACT | JSON_ENCODE_ANY, n = json_dumpb(value, NULL, 0, flags);
    char *text = pile_take(r->pile, n + 1);
    return view_of(text, json_dumpb(value, text, n, flags));
}

static struct view string_text(struct reader *r, const json_t *value)
{
    size_t n = json_string_length(value);
    return view_of(pile_text(r->pile, json_string_value(value), n), n);
}

static bool has_rule_sign(struct view text)
{
    return memmem(text.at, text.n, "::=", 3) != NULL;
}

static void read_field(struct reader *r, const struct api_fields *fields, const struct field *field,
                       const char *whole_name)
{
    const json_t *value = api_fields_find(fields, field->name);
    bool is_text = json_is_string(value), is_empty = is_text && json_string_length(value) == 0;
    if (value == NULL || is_empty)
        return;
    if (field->form == FORM_SCHEMA && (json_is_object(value) || json_is_boolean(value)))
        set(r->guided, fields->error, whole_name, field->kind, json_text(r, value));
    else if (field->form == FORM_CHOICE && json_is_array(value))
        set(r->guided, fields->error, whole_name, field->kind, json_text(r, value));
    else if (field->form == FORM_CHOICE || !is_text)
        api_error_set(fields->error, ERROR_INVALID, whole_name, "%s%s%s must be %s", whole_name,
                      whole_name != field->name ? "." : "",
                      whole_name != field->name ? field->name : "",
                      field->form == FORM_SCHEMA   ? "a JSON Schema"
                      : field->form == FORM_CHOICE ? "an array of strings"
                                                   : "a string");
    else if (field->form == FORM_NOTATION && !has_rule_sign(string_text(r, value)))
        set(r->guided, fields->error, whole_name, GRAMMAR_LARK, string_text(r, value));
    else
        set(r->guided, fields->error, whole_name, field->kind, string_text(r, value));
}

/* vLLM's object. */
static void read_nested(struct reader *r, const struct api_fields *fields)
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
        bool is_known =
            strcmp(key, "json_object") == 0 || json_is_null(member) || json_is_false(member);
        for (size_t i = 0; i < COUNT_OF(nested); i++)
            is_known = is_known || strcmp(key, nested[i].name) == 0;
        if (!is_known)
            api_error_set(fields->error, ERROR_INVALID, name, "%s: \"%.60s\" is not supported",
                          name, key);
    }
    for (size_t i = 0; i < COUNT_OF(nested); i++)
        if (!json_is_false(json_object_get(value, nested[i].name)))
            read_field(r, &own, &nested[i], name);
    const json_t *any = json_object_get(value, "json_object");
    if (any != NULL && !json_is_null(any) && !json_is_boolean(any))
        api_error_set(fields->error, ERROR_INVALID, name, "%s.json_object must be true or false",
                      name);
    if (json_is_true(any))
        set(r->guided, fields->error, name, GRAMMAR_OBJECT, view_of("", 0));
}

static void read_format(struct reader *r, const struct api_fields *fields)
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
        set(r->guided, fields->error, name, GRAMMAR_SCHEMA, json_text(r, schema));
    else if (is_schema)
        api_error_set(fields->error, ERROR_INVALID, name,
                      "response_format.json_schema.schema is missing");
    else
        set(r->guided, fields->error, name, GRAMMAR_OBJECT, view_of("", 0));
}

void api_guided_read(struct api_guided *guided, struct pile *pile, const struct api_fields *fields)
{
    struct reader r = { guided, pile };
    read_format(&r, fields);
    for (size_t i = 0; i < COUNT_OF(plain); i++)
        read_field(&r, fields, &plain[i], plain[i].name);
    read_nested(&r, fields);
}

/* Returns a tool's schema, with the type that arguments always have. */
static struct view arguments_text(struct reader *r, const json_t *schema)
{
    if (!json_is_object(schema) || json_object_size(schema) == 0)
        return view_of("", 0);
    json_t *copy = json_copy((json_t *)(uintptr_t)schema);
    mem_need(copy != NULL);
    mem_need(json_object_set_new(copy, "type", json_string("object")) == 0);
    struct view text = json_text(r, copy);
    json_decref(copy);
    return text;
}

/* Returns the part of a call's form up to a sign, with the function's name in it. */
static struct view form_text(struct reader *r, struct view form, struct view name)
{
    struct str text;
    str_init(&text);
    for (size_t i = 0; i < form.n; i++)
        if (form.at[i] == CALLS_NAME_SIGN[0])
            str_add(&text, name.at, name.n);
        else
            str_add_char(&text, form.at[i]);
    struct view kept = view_of(pile_text(r->pile, text.at, text.n), text.n);
    str_free(&text);
    return kept;
}

/* Lists a call for each tool that may be called, in a form with signs (calls/format.h). */
static void list_calls(struct reader *r, const struct api_tools *tools, const json_t *list,
                       const char *form, struct grammar_calls *all)
{
    struct grammar_call *calls = pile_take(r->pile, sizeof(*calls) * (size_t)tools->calls.n);
    const char *args = strchr(form, CALLS_ARGS_SIGN[0]);
    for (int32_t i = 0; i < tools->calls.n; i++) {
        const json_t *function = json_object_get(json_array_get(list, (size_t)i), "function");
        struct view name = tools->calls.of[i].name;
        if (tools->chosen >= 0 && tools->chosen != i)
            continue;
        calls[all->n_calls++] = (struct grammar_call){
            .prefix = form_text(r, view_of(form, (size_t)(args - form)), name),
            .schema = arguments_text(r, json_object_get(function, "parameters")),
            .suffix = form_text(r, view_text(args + 1), name),
        };
    }
    all->calls = calls;
}

/* Makes the grammar of an answer that must call tools: an array of calls in the generic form, since
 * that has JSON Schemas at the place of the arguments. */
void api_guided_need_calls(struct api_guided *guided, struct pile *pile,
                           const struct api_tools *tools, const struct api_fields *fields)
{
    struct reader r = { guided, pile };
    static const char *const name = "tool_choice";
    struct grammar_calls all = { .before = view_text("["),
                                 .between = view_text(", "),
                                 .after = view_text("]"),
                                 .n_min = 1,
                                 .n_max = tools->is_serial ? 1 : NEEDED_CALLS_MAX };
    list_calls(&r, tools, api_fields_find(fields, "tools"),
               "{\"name\": \"" CALLS_NAME_SIGN "\", \"arguments\": " CALLS_ARGS_SIGN "}", &all);
    struct str text;
    str_init(&text);
    if (grammar_calls_write(&all, &text))
        set(guided, fields->error, name, GRAMMAR_CALLS,
            view_of(pile_text(pile, text.at, text.n), text.n));
    else
        api_error_set(fields->error, ERROR_INVALID, name, "the schemas of the tools are not JSON");
    str_free(&text);
}

/* Sets the grammar, if it compiles. */
static bool try_calls(struct reader *r, const struct grammar_calls *all,
                      struct grammar_cache *grammars)
{
    const struct grammar *grammar;
    struct str text;
    str_init(&text);
    bool is_made = grammar_calls_write(all, &text) && text.n <= TEXT_BYTES_MAX &&
                   grammar_cache_take(grammars, GRAMMAR_CALLS, view_of(text.at, text.n), &grammar,
                                      NULL) == STATUS_OK;
    if (is_made) {
        *r->guided = (struct api_guided){
            .kind = GRAMMAR_CALLS,
            .text = view_of(pile_text(r->pile, text.at, text.n), text.n),
            .field = "tools",
            .n_bytes = (int64_t)grammar_bytes(grammar),
        };
        grammar_cache_put(grammars, grammar);
    }
    str_free(&text);
    return is_made;
}

/* Lets calls take any object whose schema does not compile; grammars NULL: all calls, since their
 * schemas are too large together. */
static void leave_schemas_out(struct grammar_calls *all, struct grammar_cache *grammars)
{
    const struct grammar *grammar;
    for (int32_t i = 0; i < all->n_calls; i++) {
        struct grammar_call *call = (struct grammar_call *)(uintptr_t)&all->calls[i];
        if (grammars != NULL && call->schema.n > 0 &&
            grammar_cache_take(grammars, GRAMMAR_SCHEMA, call->schema, &grammar, NULL) == STATUS_OK)
            grammar_cache_put(grammars, grammar);
        else
            call->schema = view_of("", 0);
    }
}

void api_guided_offer_calls(struct api_guided *guided, struct pile *pile,
                            const struct api_tools *tools, const struct api_model *model,
                            struct grammar_cache *grammars)
{
    const struct calls_written *written = &model->style.format->written;
    const struct grammar_pieces pieces = { model->tokenizer, model->n_vocabulary,
                                           tokenizer_add_piece };
    struct reader r = { guided, pile };
    if (grammars == NULL || written->trigger == NULL)
        return;
    struct grammar_calls all = { .trigger = view_text(written->trigger),
                                 .before = view_text(written->before),
                                 .between = view_text(written->between),
                                 .after = view_text(written->after),
                                 .n_min = 1,
                                 .n_max = written->is_single ? 1 : NEEDED_CALLS_MAX };
    json_t *list = json_loads(tools->json, JSON_DECODE_ANY, NULL);
    list_calls(&r, tools, list, written->call, &all);
    json_decref(list);
    bool is_made = try_calls(&r, &all, grammars);
    for (int i = 0; i < 2 && !is_made; i++) {
        leave_schemas_out(&all, i == 0 ? grammars : NULL);
        is_made = try_calls(&r, &all, grammars);
    }
    if (guided->kind != GRAMMAR_NONE)
        (void)grammar_cache_vocabulary(grammars, &pieces);
}

void api_guided_check(struct api_guided *guided, const struct api_model *model,
                      struct grammar_cache *grammars, int32_t n_stop_ids, struct api_error *error)
{
    const struct grammar_pieces pieces = { model->tokenizer, model->n_vocabulary,
                                           tokenizer_add_piece };
    const struct grammar *grammar;
    struct fault fault;
    if (guided->kind == GRAMMAR_NONE)
        return;
    if (grammars == NULL)
        api_error_set(error, ERROR_INVALID, guided->field,
                      "%s needs grammars, which this server does not have: leave it out",
                      guided->field);
    else if (n_stop_ids == 0)
        api_error_set(error, ERROR_INVALID, guided->field,
                      "%s needs a model with an end token, or stop_token_ids", guided->field);
    else if (grammar_cache_take(grammars, (enum grammar_kind)guided->kind, guided->text, &grammar,
                                &fault) != STATUS_OK)
        api_error_set(error, ERROR_INVALID, guided->field, "%s: %s", guided->field, fault.text);
    else {
        guided->n_bytes = (int64_t)grammar_bytes(grammar);
        grammar_cache_put(grammars, grammar);
        (void)grammar_cache_vocabulary(grammars, &pieces);
    }
}
