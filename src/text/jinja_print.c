/* str(), repr() and json.dumps, byte for byte as Python writes them. */
#include "text/jinja_print.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

static void print_float(double f, bool as_json, struct str *out)
{
    if (isnan(f) || isinf(f)) {
        const char *name = isnan(f) ? "nan" : f > 0 ? "inf" : "-inf";
        const char *json = isnan(f) ? "NaN" : f > 0 ? "Infinity" : "-Infinity";
        str_add_text(out, as_json ? json : name);
        return;
    }
    char digits[40];
    int precision = 1;
    do { /* the shortest that reads back */
        (void)snprintf(digits, sizeof(digits), "%.*e", precision - 1, f);
    } while (precision++ < 17 && strtod(digits, NULL) != f);
    int exponent = atoi(strchr(digits, 'e') + 1);
    if (exponent < -4 || exponent >= 16) {
        *strchr(digits, 'e') = '\0';
        str_printf(out, "%se%c%02d", digits, exponent < 0 ? '-' : '+', abs(exponent));
        return;
    }
    int decimals = precision - 2 - exponent; /* the loop left precision one past */
    str_printf(out, "%.*f", decimals < 1 ? 1 : decimals, f);
}

static bool is_printable(uint32_t c)
{
    if (c < 128)
        return c >= 32 && c < 127;
    switch (utf8proc_category((utf8proc_int32_t)c)) {
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
    case UTF8PROC_CATEGORY_ZS:
        return false;
    default:
        return true;
    }
}

static void print_quoted(struct jinja_run *run, struct view text, struct str *out)
{
    if (!jinja_charge(run, (int64_t)(text.n / 16)))
        return;
    bool has_single = text.n > 0 && memchr(text.at, '\'', text.n) != NULL;
    bool has_double = text.n > 0 && memchr(text.at, '"', text.n) != NULL;
    char quote = has_single && !has_double ? '"' : '\'';
    str_add_char(out, quote);
    for (size_t i = 0; i < text.n;) {
        uint32_t c = 0;
        int n = utf8_decode(view_of(text.at + i, text.n - i), &c);
        const char *known = c != 0 && n == 1 ? strchr("\\\\\nn\rr\tt", (int)c) : NULL;
        if (c == (uint32_t)quote)
            str_printf(out, "\\%c", quote);
        else if (known != NULL && (c == '\\' || c == '\n' || c == '\r' || c == '\t'))
            str_printf(out, "\\%c", c == '\\' ? '\\' : known[1]);
        else if (n <= 0 || is_printable(c))
            str_add(out, text.at + i, n > 0 ? (size_t)n : 1);
        else
            str_printf(out, c < 256 ? "\\x%02x" : c < 65536 ? "\\u%04x" : "\\U%08x", c);
        i += n > 0 ? (size_t)n : 1;
    }
    str_add_char(out, quote);
}

static void print_items(struct jinja_run *run, struct jinja_value v, struct str *out)
{
    bool is_tuple = v.kind == JINJA_TUPLE;
    str_add_char(out, is_tuple ? '(' : '[');
    for (int64_t i = 0; i < v.list->n && !jinja_failed(run); i++) {
        if (i > 0)
            str_add_text(out, ", ");
        jinja_print_repr(run, v.list->at[i], out);
    }
    if (is_tuple && v.list->n == 1)
        str_add_char(out, ',');
    str_add_char(out, is_tuple ? ')' : ']');
}

static void print_dict(struct jinja_run *run, const struct jinja_dict *dict, struct str *out)
{
    str_add_char(out, '{');
    for (int64_t i = 0; i < dict->n && !jinja_failed(run); i++) {
        if (i > 0)
            str_add_text(out, ", ");
        jinja_print_repr(run, dict->at[i].key, out);
        str_add_text(out, ": ");
        jinja_print_repr(run, dict->at[i].value, out);
    }
    str_add_char(out, '}');
}

/* True when values may still be written one level deeper; close with depth--. */
static bool enter(struct jinja_run *run, const struct str *out)
{
    if (!jinja_charge(run, 1))
        return false;
    if (run->depth >= JINJA_RUN_DEPTH_MAX)
        jinja_fail(run, STATUS_TOO_LARGE, "values nest too deep");
    if (out->n > JINJA_OUTPUT_BYTES_MAX)
        jinja_fail(run, STATUS_TOO_LARGE, "more than %d bytes of output", JINJA_OUTPUT_BYTES_MAX);
    if (jinja_failed(run))
        return false;
    run->depth++;
    return true;
}

void jinja_print_repr(struct jinja_run *run, struct jinja_value v, struct str *out)
{
    if (v.kind == JINJA_STRING)
        print_quoted(run, v.string, out);
    else if (v.kind == JINJA_UNDEFINED)
        str_add_text(out, "Undefined");
    else
        jinja_print_value(run, v, out);
}

void jinja_print_value(struct jinja_run *run, struct jinja_value v, struct str *out)
{
    if (!enter(run, out))
        return;
    switch (v.kind) {
    case JINJA_UNDEFINED:
        break;
    case JINJA_NONE:
        str_add_text(out, "None");
        break;
    case JINJA_BOOL:
        str_add_text(out, v.boolean ? "True" : "False");
        break;
    case JINJA_INT:
        str_printf(out, "%lld", (long long)v.integer);
        break;
    case JINJA_FLOAT:
        print_float(v.real, false, out);
        break;
    case JINJA_STRING:
        if (jinja_charge(run, (int64_t)(v.string.n / 64)))
            str_add(out, v.string.at, v.string.n);
        break;
    case JINJA_LIST:
    case JINJA_TUPLE:
        print_items(run, v, out);
        break;
    case JINJA_DICT:
        print_dict(run, v.dict, out);
        break;
    default:
        jinja_fail(run, STATUS_UNSUPPORTED, "a %s can't be printed", jinja_value_type(v));
        break;
    }
    run->depth--;
}

struct view jinja_print_view(struct jinja_run *run, struct jinja_value v)
{
    if (v.kind == JINJA_STRING)
        return v.string;
    struct str text;
    str_init(&text);
    jinja_print_value(run, v, &text);
    struct view copy = jinja_value_copy(run, view_of(text.at, text.n)).string;
    str_free(&text);
    return copy;
}

static void json_string(struct jinja_run *run, struct view text, bool ascii, struct str *out)
{
    static const char short_forms[] = "\"\"\\\\\nn\rr\tt\bb\ff";
    if (!jinja_charge(run, (int64_t)(text.n / 16)))
        return;
    str_add_char(out, '"');
    for (size_t i = 0; i < text.n;) {
        uint32_t c = 0;
        int n = utf8_decode(view_of(text.at + i, text.n - i), &c);
        const char *known = NULL;
        for (size_t k = 0; k + 1 < sizeof(short_forms) && n == 1; k += 2)
            known = short_forms[k] == (char)c ? &short_forms[k + 1] : known;
        if (known != NULL)
            str_printf(out, "\\%c", *known);
        else if (n > 0 && (c < 32 || (ascii && c >= 127 && c < 65536 && c != 127)))
            str_printf(out, "\\u%04x", c);
        else if (n > 0 && ascii && c >= 65536)
            str_printf(out, "\\u%04x\\u%04x", 0xD7C0 + (c >> 10), 0xDC00 + (c & 0x3FF));
        else
            str_add(out, text.at + i, n > 0 ? (size_t)n : 1);
        i += n > 0 ? (size_t)n : 1;
    }
    str_add_char(out, '"');
}

static void json_break(const struct jinja_print_json *how, int level, struct str *out)
{
    if (how->indent < 0)
        return;
    str_add_char(out, '\n');
    for (int64_t i = 0; i < how->indent * level; i++)
        str_add_char(out, ' ');
}

static void json_key(struct jinja_run *run, struct jinja_value key,
                     const struct jinja_print_json *how, struct str *out)
{
    if (key.kind == JINJA_STRING) {
        json_string(run, key.string, how->ascii, out);
        return;
    }
    if (!jinja_is_number(key) && key.kind != JINJA_NONE)
        jinja_fail(run, STATUS_BAD_INPUT, "keys must be str, int, float, bool or None, not %s",
                   jinja_value_type(key));
    str_add_char(out, '"');
    jinja_print_json_value(run, key, how, out);
    str_add_char(out, '"');
}

static int compare_pairs(const void *a, const void *b)
{
    struct view x = ((const struct jinja_pair *)a)->key.string;
    struct view y = ((const struct jinja_pair *)b)->key.string;
    int order = memcmp(x.at, y.at, x.n < y.n ? x.n : y.n);
    return order != 0 ? order : (x.n > y.n) - (x.n < y.n);
}

static const struct jinja_pair *json_pairs(struct jinja_run *run, const struct jinja_dict *dict,
                                           bool sort_keys)
{
    struct jinja_pair *pairs = dict->at;
    if (!sort_keys || dict->n == 0)
        return pairs;
    for (int64_t i = 0; i < dict->n; i++) {
        if (pairs[i].key.kind != JINJA_STRING)
            return pairs;
    }
    struct jinja_pair *sorted = jinja_take(run, (size_t)dict->n * sizeof(*sorted));
    if (sorted == NULL)
        return pairs;
    memcpy(sorted, pairs, (size_t)dict->n * sizeof(*sorted));
    qsort(sorted, (size_t)dict->n, sizeof(*sorted), compare_pairs);
    return sorted;
}

static void json_members(struct jinja_run *run, struct jinja_value v,
                         const struct jinja_print_json *how, int level, struct str *out);

static void json_value(struct jinja_run *run, struct jinja_value v,
                       const struct jinja_print_json *how, int level, struct str *out)
{
    if (!enter(run, out))
        return;
    if (v.kind == JINJA_NONE)
        str_add_text(out, "null");
    else if (v.kind == JINJA_BOOL)
        str_add_text(out, v.boolean ? "true" : "false");
    else if (v.kind == JINJA_FLOAT)
        print_float(v.real, true, out);
    else if (v.kind == JINJA_INT)
        jinja_print_value(run, v, out);
    else if (v.kind == JINJA_STRING)
        json_string(run, v.string, how->ascii, out);
    else if (jinja_is_list(v) || v.kind == JINJA_DICT)
        json_members(run, v, how, level, out);
    else
        jinja_fail(run, STATUS_BAD_INPUT, "Object of type %s is not JSON serializable",
                   jinja_value_type(v));
    run->depth--;
}

static void json_members(struct jinja_run *run, struct jinja_value v,
                         const struct jinja_print_json *how, int level, struct str *out)
{
    bool is_dict = v.kind == JINJA_DICT;
    int64_t n = is_dict ? v.dict->n : v.list->n;
    const struct jinja_pair *pairs = is_dict ? json_pairs(run, v.dict, how->sort_keys) : NULL;
    struct view comma = how->item_separator, colon = how->key_separator;
    if (comma.at == NULL)
        comma = view_text(how->indent < 0 ? ", " : ",");
    if (colon.at == NULL)
        colon = view_text(": ");
    str_add_char(out, is_dict ? '{' : '[');
    for (int64_t i = 0; i < n && !jinja_failed(run); i++) {
        if (i > 0)
            str_add(out, comma.at, comma.n);
        json_break(how, level + 1, out);
        if (is_dict) {
            json_key(run, pairs[i].key, how, out);
            str_add(out, colon.at, colon.n);
        }
        json_value(run, is_dict ? pairs[i].value : v.list->at[i], how, level + 1, out);
    }
    if (n > 0)
        json_break(how, level, out);
    str_add_char(out, is_dict ? '}' : ']');
}

void jinja_print_json_value(struct jinja_run *run, struct jinja_value v,
                            const struct jinja_print_json *how, struct str *out)
{
    json_value(run, v, how, 0, out);
}
