/* JSON as Python's json module writes and reads it. */
#include "template/jinja_json.h"
#include "template/jinja_compare.h"
#include "template/jinja_letter.h"
#include "template/jinja_number.h"
#include "template/jinja_print.h"
#include "template/jinja_sort.h"
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum { VALUE_DEPTH_MAX = 100, LOAD_BYTES_MAX = 1 << 20 };

struct dump {
    bool ascii, sorts, breaks; /* breaks: an indent was given */
    struct view indent, item_separator, key_separator;
};

static void dump_string(struct jinja_run *run, struct view text, bool ascii, struct str *out)
{
    static const char short_forms[] = "\"\"\\\\\nn\rr\tt\bb\ff";
    if (!jinja_charge(run, (int64_t)(text.n / 8)))
        return;
    str_add_char(out, '"');
    for (size_t i = 0, n; i < text.n; i += n) {
        uint32_t c = jinja_letter_at(text, i, &n);
        const char *known = NULL;
        for (size_t k = 0; k + 1 < sizeof(short_forms) && n == 1; k += 2)
            known = short_forms[k] == (char)c ? &short_forms[k + 1] : known;
        if (known != NULL)
            str_printf(out, "\\%c", *known);
        else if (c < 32 || (ascii && c >= 127 && c < 65536))
            str_printf(out, "\\u%04x", c);
        else if (ascii && c >= 65536)
            str_printf(out, "\\u%04x\\u%04x", 0xD7C0 + (c >> 10), 0xDC00 + (c & 0x3FF));
        else
            str_add(out, text.at + i, n);
    }
    str_add_char(out, '"');
}

static void dump_break(struct jinja_run *run, const struct dump *how, int level, struct str *out)
{
    if (!how->breaks)
        return;
    str_add_char(out, '\n');
    for (int i = 0;
         i < level && jinja_charge(run, 1 + (int64_t)(how->indent.n / 64)) && jinja_fits(run, out);
         i++)
        str_add(out, how->indent.at, how->indent.n);
}

static void dump_scalar(struct jinja_run *run, struct jinja_value v, const struct dump *how,
                        struct str *out)
{
    if (v.kind == JINJA_NONE)
        str_add_text(out, "null");
    else if (v.kind == JINJA_BOOL)
        str_add_text(out, v.boolean ? "true" : "false");
    else if (v.kind == JINJA_FLOAT)
        jinja_number_print(v.real, true, out);
    else if (v.kind == JINJA_INT)
        jinja_print_value(run, v, out);
    else if (v.kind == JINJA_STRING)
        dump_string(run, v.string, how->ascii, out);
    else
        jinja_fail(run, STATUS_BAD_INPUT, "Object of type %s is not JSON serializable",
                   jinja_value_type(v));
}

static void dump_key(struct jinja_run *run, struct jinja_value key, const struct dump *how,
                     struct str *out)
{
    if (key.kind == JINJA_STRING) {
        dump_string(run, key.string, how->ascii, out);
        return;
    }
    if (!jinja_is_number(key) && key.kind != JINJA_NONE)
        jinja_fail(run, STATUS_BAD_INPUT, "keys must be str, int, float, bool or None, not %s",
                   jinja_value_type(key));
    str_add_char(out, '"');
    dump_scalar(run, key, how, out);
    str_add_char(out, '"');
}

static void dump_value(struct jinja_run *run, struct jinja_value v, const struct dump *how,
                       int level, struct str *out);

static void dump_members(struct jinja_run *run, struct jinja_value v, const struct dump *how,
                         int level, struct str *out)
{
    bool is_dict = v.kind == JINJA_DICT;
    int64_t n = is_dict ? v.dict->n : v.list->n;
    const struct jinja_pair *pairs = is_dict ? v.dict->at : NULL;
    if (is_dict && how->sorts)
        pairs = jinja_sort_pairs(run, v.dict);
    str_add_char(out, is_dict ? '{' : '[');
    for (int64_t i = 0; i < n && !jinja_failed(run); i++) {
        if (i > 0 && jinja_charge(run, (int64_t)(how->item_separator.n / 64)))
            str_add(out, how->item_separator.at, how->item_separator.n);
        dump_break(run, how, level + 1, out);
        if (is_dict && jinja_charge(run, (int64_t)(how->key_separator.n / 64))) {
            dump_key(run, pairs[i].key, how, out);
            str_add(out, how->key_separator.at, how->key_separator.n);
        }
        dump_value(run, is_dict ? pairs[i].value : v.list->at[i], how, level + 1, out);
    }
    if (n > 0)
        dump_break(run, how, level, out);
    str_add_char(out, is_dict ? '}' : ']');
}

static void dump_value(struct jinja_run *run, struct jinja_value v, const struct dump *how,
                       int level, struct str *out)
{
    if (!jinja_fits(run, out) || !jinja_enter(run))
        return;
    if (jinja_is_list(v) || v.kind == JINJA_DICT)
        dump_members(run, v, how, level, out);
    else
        dump_scalar(run, v, how, out);
    run->depth--;
}

/* indent is a number of spaces or a text. */
static void read_indent(struct jinja_run *run, const struct jinja_value *indent, struct dump *how)
{
    if (indent == NULL || indent->kind == JINJA_NONE)
        return;
    how->breaks = true;
    how->item_separator = view_text(",");
    if (indent->kind == JINJA_STRING) {
        how->indent = indent->string;
        return;
    }
    if (!jinja_is_whole(*indent)) /* Python reads it only when there is something to indent */
        jinja_fail(run, STATUS_UNSUPPORTED, "an indent that is a %s", jinja_value_type(*indent));
    int64_t n = max_i64(jinja_value_int(*indent), 0);
    char *spaces = n > JINJA_WIDTH_MAX ? NULL : jinja_take(run, (size_t)n + 1);
    if (n > JINJA_WIDTH_MAX)
        jinja_fail(run, STATUS_TOO_LARGE, "an indent of more than %d", JINJA_WIDTH_MAX);
    if (spaces != NULL)
        memset(spaces, ' ', (size_t)n);
    how->indent = view_of(spaces == NULL ? "" : spaces, spaces == NULL ? 0 : (size_t)n);
}

struct jinja_value jinja_json_dump(struct jinja_run *run, struct jinja_value v,
                                   const struct jinja_args *args)
{
    const struct jinja_value *given[JINJA_PARAMETERS_MAX];
    if (!jinja_args_bind(run, args, "ensure_ascii? indent? separators? sort_keys?", given))
        return v;
    struct dump how = { .ascii = jinja_args_flag(given[0]),
                        .sorts = jinja_args_flag(given[3]),
                        .indent = view_of("", 0),
                        .item_separator = view_text(", "),
                        .key_separator = view_text(": ") };
    read_indent(run, given[1], &how);
    const struct jinja_value *separators = given[2];
    bool is_given = separators != NULL && separators->kind != JINJA_NONE;
    if (is_given && (!jinja_is_list(*separators) || separators->list->n != 2))
        jinja_fail(run, STATUS_UNSUPPORTED, "separators that are not a tuple of two");
    if (is_given && !jinja_failed(run)) {
        how.item_separator = jinja_args_text(run, &separators->list->at[0], view_of(NULL, 0));
        how.key_separator = jinja_args_text(run, &separators->list->at[1], view_of(NULL, 0));
        if (how.item_separator.at == NULL || how.key_separator.at == NULL)
            jinja_fail(run, STATUS_UNSUPPORTED, "separators that are none");
    }
    struct str out;
    str_init(&out);
    if (!jinja_failed(run))
        dump_value(run, v, &how, 0, &out);
    return jinja_value_keep(run, &out);
}

static struct jinja_value load_value(struct jinja_run *run, const json_t *json, const char *what,
                                     int depth);

static struct jinja_value load_object(struct jinja_run *run, const json_t *json, const char *what,
                                      int depth)
{
    struct jinja_value out = jinja_value_dict(run, JINJA_DICT);
    const char *key;
    json_t *member;
    json_object_foreach((json_t *)(uintptr_t)json, key, member) {
        struct jinja_value name = jinja_value_copy(run, view_text(key));
        struct jinja_value value = load_value(run, member, what, depth + 1);
        if (!jinja_failed(run))
            jinja_value_set(run, out.dict, name, value);
    }
    return out;
}

static struct jinja_value load_value(struct jinja_run *run, const json_t *json, const char *what,
                                     int depth)
{
    if (depth > VALUE_DEPTH_MAX)
        jinja_fail(run, STATUS_TOO_LARGE, "%s nests deeper than %d", what, VALUE_DEPTH_MAX);
    if (jinja_failed(run))
        return jinja_none();
    switch (json_typeof(json)) {
    case JSON_OBJECT:
        return load_object(run, json, what, depth);
    case JSON_ARRAY: {
        struct jinja_value out = jinja_value_list(run, JINJA_LIST);
        for (size_t i = 0; i < json_array_size(json); i++)
            jinja_value_push(run, out, load_value(run, json_array_get(json, i), what, depth + 1));
        return out;
    }
    case JSON_STRING:
        return jinja_value_copy(run, view_of(json_string_value(json), json_string_length(json)));
    case JSON_INTEGER:
        return jinja_int(json_integer_value(json));
    case JSON_REAL:
        return jinja_float(json_real_value(json));
    case JSON_TRUE:
    case JSON_FALSE:
        return jinja_bool(json_is_true(json));
    default:
        return jinja_none();
    }
}

struct jinja_value jinja_json_value(struct jinja_run *run, const void *json, const char *what)
{
    return load_value(run, json, what, 0);
}

struct jinja_value jinja_json_load(struct jinja_run *run, struct jinja_value v,
                                   const struct jinja_args *args)
{
    const struct jinja_value *given[JINJA_PARAMETERS_MAX] = { NULL };
    if (!jinja_args_bind(run, args, "", given))
        return v;
    if (v.kind != JINJA_STRING) {
        jinja_fail(run, STATUS_BAD_INPUT, "the JSON object must be str, not %s",
                   jinja_value_type(v));
        return v;
    }
    json_error_t error;
    if (v.string.n > LOAD_BYTES_MAX)
        jinja_fail(run, STATUS_TOO_LARGE, "from_json of more than %d bytes", LOAD_BYTES_MAX);
    if (!jinja_charge(run, (int64_t)(v.string.n / 8)))
        return v;
    json_t *json = json_loadb(v.string.at == NULL ? "" : v.string.at, v.string.n,
                              JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
    if (json == NULL)
        jinja_fail(run, STATUS_UNSUPPORTED, "from_json reads no JSON here: %.100s", error.text);
    struct jinja_value loaded =
        json == NULL ? v : jinja_json_value(run, json, "the value of from_json");
    json_decref(json);
    return loaded;
}
