/* The filters on single values, and the table of all; those on sequences are in jinja_sequence.c.
 */
#include "text/jinja_filter.h"
#include "text/jinja_arith.h"
#include "text/jinja_print.h"
#include "text/jinja_sequence.h"
#include "text/jinja_text.h"
#include <math.h>
#include <string.h>

typedef struct jinja_value filter_function(struct jinja_run *run, struct jinja_value v,
                                           const struct jinja_args *args, int variant);

static int64_t int_arg(const struct jinja_args *args, int index, const char *name, int64_t fallback)
{
    const struct jinja_value *arg = jinja_eval_arg(args, index, name);
    return arg == NULL || arg->kind == JINJA_NONE ? fallback : jinja_value_int(*arg);
}

static bool flag_arg(const struct jinja_args *args, int index, const char *name)
{
    const struct jinja_value *arg = jinja_eval_arg(args, index, name);
    return arg != NULL && jinja_value_truth(*arg);
}

static struct view text_arg(struct jinja_run *run, const struct jinja_args *args, int index,
                            const char *name, struct view fallback)
{
    const struct jinja_value *arg = jinja_eval_arg(args, index, name);
    return arg == NULL || arg->kind == JINJA_NONE ? fallback : jinja_print_view(run, *arg);
}

static struct jinja_value f_case(struct jinja_run *run, struct jinja_value v,
                                 const struct jinja_args *args, int variant)
{
    (void)args;
    return jinja_text_case(run, jinja_print_view(run, v), (enum jinja_case)variant);
}

static struct jinja_value f_trim(struct jinja_run *run, struct jinja_value v,
                                 const struct jinja_args *args, int variant)
{
    (void)variant;
    struct view chars = text_arg(run, args, 0, "chars", view_of(NULL, 0));
    return jinja_string(
        jinja_value_strip(jinja_print_view(run, v), chars, JINJA_LEFT | JINJA_RIGHT));
}

static struct jinja_value f_string(struct jinja_run *run, struct jinja_value v,
                                   const struct jinja_args *args, int variant)
{
    (void)args, (void)variant;
    return jinja_string(jinja_print_view(run, v));
}

static struct jinja_value f_same(struct jinja_run *run, struct jinja_value v,
                                 const struct jinja_args *args, int variant)
{
    (void)run, (void)args, (void)variant;
    return v;
}

static struct jinja_value f_length(struct jinja_run *run, struct jinja_value v,
                                   const struct jinja_args *args, int variant)
{
    (void)args, (void)variant;
    return jinja_int(jinja_value_length(run, v));
}

static struct jinja_value f_default(struct jinja_run *run, struct jinja_value v,
                                    const struct jinja_args *args, int variant)
{
    (void)run, (void)variant;
    const struct jinja_value *fallback = jinja_eval_arg(args, 0, "default_value");
    bool is_missing =
        v.kind == JINJA_UNDEFINED || (flag_arg(args, 1, "boolean") && !jinja_value_truth(v));
    if (!is_missing)
        return v;
    return fallback != NULL ? *fallback : jinja_string(view_of("", 0));
}

static struct jinja_value f_replace(struct jinja_run *run, struct jinja_value v,
                                    const struct jinja_args *args, int variant)
{
    (void)variant;
    struct view old = text_arg(run, args, 0, "old", view_of("", 0));
    struct view with = text_arg(run, args, 1, "new", view_of("", 0));
    return jinja_text_replace(run, jinja_print_view(run, v), old, with,
                              int_arg(args, 2, "count", -1));
}

static struct jinja_value f_int(struct jinja_run *run, struct jinja_value v,
                                const struct jinja_args *args, int variant)
{
    (void)variant;
    int64_t fallback = int_arg(args, 0, "default", 0), i;
    double f = 0;
    if (v.kind == JINJA_INT || v.kind == JINJA_BOOL)
        return jinja_int(jinja_value_int(v));
    if (v.kind == JINJA_FLOAT)
        f = v.real;
    if (v.kind == JINJA_STRING) {
        char text[64] = "";
        struct view digits =
            jinja_value_strip(v.string, view_of(NULL, 0), JINJA_LEFT | JINJA_RIGHT);
        if (digits.n >= sizeof(text))
            return jinja_int(fallback);
        if (digits.n > 0)
            memcpy(text, digits.at, digits.n);
        if (parse_i64(text, &i))
            return jinja_int(i);
        if (!parse_f64(text, &f))
            return jinja_int(fallback);
    } else if (v.kind != JINJA_FLOAT) {
        jinja_value_refuse_undefined(run, v);
        return jinja_int(fallback);
    }
    return jinja_int(f > -9e18 && f < 9e18 ? (int64_t)f : fallback);
}

static struct jinja_value f_float(struct jinja_run *run, struct jinja_value v,
                                  const struct jinja_args *args, int variant)
{
    (void)variant;
    const struct jinja_value *fallback = jinja_eval_arg(args, 0, "default");
    char text[64] = "";
    double f;
    if (jinja_is_number(v))
        return jinja_float(jinja_value_real(v));
    jinja_value_refuse_undefined(run, v);
    struct view digits = v.kind == JINJA_STRING ? jinja_value_strip(v.string, view_of(NULL, 0),
                                                                    JINJA_LEFT | JINJA_RIGHT)
                                                : view_of("", 0);
    if (digits.n > 0 && digits.n < sizeof(text))
        memcpy(text, digits.at, digits.n);
    return parse_f64(text, &f) ? jinja_float(f) : fallback != NULL ? *fallback : jinja_float(0);
}

static struct jinja_value f_abs(struct jinja_run *run, struct jinja_value v,
                                const struct jinja_args *args, int variant)
{
    (void)args, (void)variant;
    bool is_negative = jinja_is_number(v) && jinja_value_real(v) < 0;
    return jinja_arith_unary(run, is_negative ? JINJA_SUB : JINJA_ADD, v);
}

static struct jinja_value f_round(struct jinja_run *run, struct jinja_value v,
                                  const struct jinja_args *args, int variant)
{
    (void)variant;
    int64_t precision = int_arg(args, 0, "precision", 0);
    struct view method = text_arg(run, args, 1, "method", view_text("common"));
    if (!jinja_is_number(v) || precision < -15 || precision > 15) {
        jinja_fail(run, STATUS_BAD_INPUT, "round needs a number and a precision of at most 15");
        return v;
    }
    if (v.kind != JINJA_FLOAT && precision >= 0 && view_equal_text(method, "common"))
        return jinja_int(jinja_value_int(v));
    double scale = pow(10, (double)precision), x = jinja_value_real(v) * scale;
    if (view_equal_text(method, "ceil"))
        x = ceil(x);
    else if (view_equal_text(method, "floor"))
        x = floor(x);
    else
        x = nearbyint(x); /* to even, as Python rounds */
    return jinja_float(x / scale);
}

static struct jinja_value f_escape(struct jinja_run *run, struct jinja_value v,
                                   const struct jinja_args *args, int variant)
{
    (void)args, (void)variant;
    static const char *const pairs[][2] = {
        { "&", "&amp;" }, { "<", "&lt;" }, { ">", "&gt;" }, { "'", "&#39;" }, { "\"", "&#34;" },
    };
    struct jinja_value text = jinja_string(jinja_print_view(run, v));
    for (size_t i = 0; i < COUNT_OF(pairs) && !jinja_failed(run); i++)
        text = jinja_text_replace(run, text.string, view_text(pairs[i][0]), view_text(pairs[i][1]),
                                  -1);
    return text;
}

static struct jinja_value f_tojson(struct jinja_run *run, struct jinja_value v,
                                   const struct jinja_args *args, int variant)
{
    (void)variant;
    struct jinja_print_json how = { .indent = int_arg(args, 1, "indent", -1),
                                    .sort_keys = flag_arg(args, 3, "sort_keys"),
                                    .ascii = flag_arg(args, 0, "ensure_ascii") };
    const struct jinja_value *separators = jinja_eval_arg(args, 2, "separators");
    if (separators != NULL && jinja_is_list(*separators) && separators->list->n == 2) {
        how.item_separator = jinja_print_view(run, separators->list->at[0]);
        how.key_separator = jinja_print_view(run, separators->list->at[1]);
    }
    if (how.indent > 64)
        jinja_fail(run, STATUS_TOO_LARGE, "an indent of more than 64");
    struct str out;
    str_init(&out);
    jinja_print_json_value(run, v, &how, &out);
    struct jinja_value text = jinja_value_copy(run, view_of(out.at, out.n));
    str_free(&out);
    return text;
}

static struct jinja_value f_format(struct jinja_run *run, struct jinja_value v,
                                   const struct jinja_args *args, int variant)
{
    (void)variant;
    return jinja_text_format(run, jinja_print_view(run, v), args->at, args->n);
}

static struct jinja_value f_wordcount(struct jinja_run *run, struct jinja_value v,
                                      const struct jinja_args *args, int variant)
{
    (void)args, (void)variant;
    struct view text = jinja_print_view(run, v);
    struct jinja_value words = jinja_text_split(run, text, view_of(NULL, 0), -1, false);
    return jinja_failed(run) ? v : jinja_int(words.list->n);
}

/* indent(width=4, first=False, blank=False) */
static struct jinja_value f_indent(struct jinja_run *run, struct jinja_value v,
                                   const struct jinja_args *args, int variant)
{
    (void)variant;
    const struct jinja_value *width = jinja_eval_arg(args, 0, "width");
    struct view text = jinja_print_view(run, v), by = view_of("", 0);
    if (width != NULL && width->kind == JINJA_STRING)
        by = width->string;
    else
        by = jinja_arith_binary(run, JINJA_MUL, jinja_string(view_text(" ")),
                                jinja_int(int_arg(args, 0, "width", 4)))
                 .string;
    bool indents_first = flag_arg(args, 1, "first"), indents_blank = flag_arg(args, 2, "blank");
    struct str out;
    str_init(&out);
    for (size_t start = 0, line = 0; start < text.n && !jinja_failed(run); line++) {
        size_t end = start;
        while (end < text.n && text.at[end] != '\n')
            end++;
        bool indents = line == 0 ? indents_first : indents_blank || end > start;
        if (indents && jinja_charge(run, 1 + (int64_t)(by.n / 64)))
            str_add(&out, by.at, by.n);
        end += end < text.n;
        str_add(&out, text.at + start, end - start);
        start = end;
    }
    if (indents_blank && text.n > 0 && text.at[text.n - 1] == '\n')
        str_add(&out, by.at, by.n);
    struct jinja_value result = jinja_value_copy(run, view_of(out.at, out.n));
    str_free(&out);
    return result;
}

static const struct {
    const char *name;
    filter_function *apply;
    int variant;
} filters[] = {
    { "trim", f_trim, 0 },
    { "upper", f_case, JINJA_UPPER },
    { "lower", f_case, JINJA_LOWER },
    { "title", f_case, JINJA_TITLE },
    { "capitalize", f_case, JINJA_CAPITALIZE },
    { "string", f_string, 0 },
    { "safe", f_same, 0 },
    { "length", f_length, 0 },
    { "count", f_length, 0 },
    { "default", f_default, 0 },
    { "d", f_default, 0 },
    { "replace", f_replace, 0 },
    { "int", f_int, 0 },
    { "float", f_float, 0 },
    { "abs", f_abs, 0 },
    { "round", f_round, 0 },
    { "escape", f_escape, 0 },
    { "e", f_escape, 0 },
    { "tojson", f_tojson, 0 },
    { "indent", f_indent, 0 },
    { "format", f_format, 0 },
    { "wordcount", f_wordcount, 0 },
    { "list", jinja_sequence_list, 0 },
    { "join", jinja_sequence_join, 0 },
    { "first", jinja_sequence_end, 0 },
    { "last", jinja_sequence_end, 1 },
    { "reverse", jinja_sequence_reverse, 0 },
    { "items", jinja_sequence_items, 0 },
    { "dictsort", jinja_sequence_items, 1 },
    { "sort", jinja_sequence_sort, 0 },
    { "unique", jinja_sequence_unique, 0 },
    { "min", jinja_sequence_extreme, 0 },
    { "max", jinja_sequence_extreme, 1 },
    { "sum", jinja_sequence_sum, 0 },
    { "map", jinja_sequence_map, 0 },
    { "select", jinja_sequence_select, JINJA_SELECT },
    { "reject", jinja_sequence_select, JINJA_REJECT },
    { "selectattr", jinja_sequence_select, JINJA_SELECT_ATTR },
    { "rejectattr", jinja_sequence_select, JINJA_REJECT_ATTR },
    { "attr", jinja_sequence_attr, 0 },
};

static int find_filter(struct view name)
{
    for (size_t i = 0; i < COUNT_OF(filters); i++) {
        if (view_equal_text(name, filters[i].name))
            return (int)i;
    }
    return -1;
}

bool jinja_filter_is_known(struct view name)
{
    return find_filter(name) >= 0;
}

struct jinja_value jinja_filter_apply(struct jinja_run *run, struct view name, struct jinja_value v,
                                      const struct jinja_args *args)
{
    int i = find_filter(name);
    if (i < 0) {
        jinja_fail(run, STATUS_UNSUPPORTED, "no filter named '%.*s'", (int)name.n, name.at);
        return v;
    }
    struct jinja_value result = filters[i].apply(run, v, args, filters[i].variant);
    return jinja_failed(run) ? jinja_none() : result;
}
