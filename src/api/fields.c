/* Typed reading of JSON members, and the check before the parser runs. */
#include "api/fields.h"
#include <math.h>
#include <string.h>

/* Counts the separators and brackets outside of strings: an upper bound on the values in the
 * text. */
static size_t count_values(struct view body)
{
    size_t n = 1;
    bool in_text = false;
    for (size_t i = 0; i < body.n; i++) {
        char c = body.at[i];
        if (c == '"')
            in_text = !in_text;
        else if (in_text && c == '\\')
            i++;
        else if (!in_text && (c == ',' || c == ':' || c == '[' || c == '{'))
            n++;
    }
    return n;
}

/* Names the limit that valid JSON exceeds; NULL when the text is not valid JSON. The parser would
 * name its own flags and types here. */
static const char *limit_of(const json_error_t *fault)
{
    switch (json_error_code(fault)) {
    case json_error_null_character:
    case json_error_null_byte_in_key:
        return "a text must not hold the character \\u0000";
    case json_error_numeric_overflow:
        return "a number is too large (integers have 64 bits, others are doubles)";
    case json_error_stack_overflow:
        return "arrays and objects are nested too deeply";
    default:
        return NULL;
    }
}

static void refuse_body(const json_error_t *fault, struct api_error *error)
{
    const char *limit = limit_of(fault);
    api_error_set(error, ERROR_INVALID, NULL, "%s: %s (line %d, column %d)",
                  limit != NULL ? "the body can't be taken" : "the body is not valid JSON",
                  limit != NULL ? limit : fault->text, fault->line, fault->column);
}

json_t *api_fields_open(struct view body, size_t n_values_max, struct api_error *error)
{
    if (body.n == 0) {
        api_error_set(error, ERROR_INVALID, NULL, "the body is empty, a JSON object was expected");
        return NULL;
    }
    if (count_values(body) > n_values_max) {
        api_error_set(error, ERROR_INVALID, NULL, "the body holds more than %zu JSON values",
                      n_values_max);
        return NULL;
    }
    json_error_t fault;
    json_t *object = json_loadb(body.at, body.n, JSON_REJECT_DUPLICATES, &fault);
    if (object == NULL) {
        refuse_body(&fault, error);
        return NULL;
    }
    if (!json_is_object(object)) {
        api_error_set(error, ERROR_INVALID, NULL, "the body must be a JSON object");
        json_decref(object);
        return NULL;
    }
    return object;
}

json_t *api_fields_find(const struct api_fields *fields, const char *name)
{
    json_t *value = json_object_get(fields->object, name);
    return value == NULL || json_is_null(value) ? NULL : value;
}

void api_fields_bool(const struct api_fields *fields, const char *name, bool *out)
{
    const json_t *value = api_fields_find(fields, name);
    if (value != NULL && !json_is_boolean(value))
        api_error_set(fields->error, ERROR_INVALID, name, "%s must be true or false", name);
    else if (value != NULL)
        *out = json_is_true(value);
}

bool api_fields_is_whole(const json_t *value, int64_t *out)
{
    if (json_is_integer(value)) {
        *out = json_integer_value(value);
        return true;
    }
    double real = json_is_real(value) ? json_real_value(value) : 0.5;
    if (real != floor(real) || fabs(real) > 0x1p53)
        return false;
    *out = (int64_t)real;
    return true;
}

void api_fields_i64(const struct api_fields *fields, const char *name, const int64_t range[2],
                    int64_t *out)
{
    const json_t *value = api_fields_find(fields, name);
    int64_t number = 0;
    if (value == NULL)
        return;
    if (!api_fields_is_whole(value, &number))
        api_error_set(fields->error, ERROR_INVALID, name,
                      "%s must be an integer between %lld and %lld", name, (long long)range[0],
                      (long long)range[1]);
    else if (number < range[0] || number > range[1])
        api_error_set(fields->error, ERROR_INVALID, name,
                      "%s must be an integer between %lld and %lld, got %lld", name,
                      (long long)range[0], (long long)range[1], (long long)number);
    else
        *out = number;
}

void api_fields_i32(const struct api_fields *fields, const char *name, const int64_t range[2],
                    int32_t *out)
{
    int64_t number = *out;
    api_fields_i64(fields, name, range, &number);
    *out = (int32_t)number;
}

void api_fields_f32(const struct api_fields *fields, const char *name, const double range[2],
                    float *out)
{
    const json_t *value = api_fields_find(fields, name);
    if (value == NULL)
        return;
    double number = json_number_value(value);
    if (!json_is_number(value))
        api_error_set(fields->error, ERROR_INVALID, name, "%s must be a number between %g and %g",
                      name, range[0], range[1]);
    else if (!(number >= range[0] && number <= range[1]))
        api_error_set(fields->error, ERROR_INVALID, name, "%s must be between %g and %g, got %g",
                      name, range[0], range[1], number);
    else
        *out = (float)number;
}

const char *api_fields_text(const struct api_fields *fields, const char *name)
{
    const json_t *value = api_fields_find(fields, name);
    if (value != NULL && !json_is_string(value))
        api_error_set(fields->error, ERROR_INVALID, name, "%s must be a string", name);
    return json_string_value(value);
}
