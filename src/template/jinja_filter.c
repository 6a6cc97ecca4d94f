/* The table of filters, and those on single values. */
#include "template/jinja_filter.h"
#include "template/jinja_attr.h"
#include "template/jinja_case.h"
#include "template/jinja_convert.h"
#include "template/jinja_json.h"
#include "template/jinja_markup.h"
#include "template/jinja_percent.h"
#include "template/jinja_print.h"
#include "template/jinja_sequence.h"
#include "template/jinja_text.h"
#include "template/jinja_wrap.h"

/* Returns str() of a value. Its methods would return markup if it were markup. */
static struct view soft_text(struct jinja_run *run, struct jinja_value v, const char *what)
{
    (void)jinja_value_refuse_markup(run, v, what);
    return jinja_print_view(run, v);
}

static struct jinja_value f_change(struct jinja_run *run, struct jinja_value v,
                                   const struct jinja_value *const *given,
                                   const struct jinja_args *args, int variant)
{
    (void)given, (void)args;
    return jinja_case_change(run, soft_text(run, v, "a change of case"),
                             (enum jinja_change)variant);
}

static struct jinja_value f_trim(struct jinja_run *run, struct jinja_value v,
                                 const struct jinja_value *const *given,
                                 const struct jinja_args *args, int variant)
{
    (void)args, (void)variant;
    struct view chars = jinja_args_text(run, given[0], view_of(NULL, 0));
    struct view text =
        jinja_text_strip(run, jinja_print_view(run, v), chars, JINJA_LEFT | JINJA_RIGHT);
    struct jinja_value result = jinja_string(text);
    result.mark = v.kind == JINJA_STRING ? v.mark : JINJA_PLAIN;
    return result;
}

static struct jinja_value f_center(struct jinja_run *run, struct jinja_value v,
                                   const struct jinja_value *const *given,
                                   const struct jinja_args *args, int variant)
{
    (void)args, (void)variant;
    struct view text = soft_text(run, v, "center");
    int64_t width = jinja_args_int(run, given[0], 80);
    int64_t n_fill = max_i64(width - jinja_text_length(run, text), 0);
    int64_t n_left = n_fill / 2 + (n_fill & width & 1);
    return jinja_failed(run) ? v
                             : jinja_text_pad(run, text, view_text(" "), n_left, n_fill - n_left);
}

static struct jinja_value f_string(struct jinja_run *run, struct jinja_value v,
                                   const struct jinja_value *const *given,
                                   const struct jinja_args *args, int variant)
{
    (void)given, (void)args, (void)variant;
    return jinja_print_soft(run, v);
}

static struct jinja_value f_length(struct jinja_run *run, struct jinja_value v,
                                   const struct jinja_value *const *given,
                                   const struct jinja_args *args, int variant)
{
    (void)given, (void)args, (void)variant;
    return jinja_int(jinja_value_length(run, v));
}

static struct jinja_value f_default(struct jinja_run *run, struct jinja_value v,
                                    const struct jinja_value *const *given,
                                    const struct jinja_args *args, int variant)
{
    (void)run, (void)args, (void)variant;
    bool is_missing =
        v.kind == JINJA_UNDEFINED || (jinja_args_flag(given[1]) && !jinja_value_truth(v));
    return !is_missing ? v : given[0] != NULL ? *given[0] : jinja_text("");
}

static struct jinja_value f_replace(struct jinja_run *run, struct jinja_value v,
                                    const struct jinja_value *const *given,
                                    const struct jinja_args *args, int variant)
{
    (void)args, (void)variant;
    bool has_count = given[2] != NULL && given[2]->kind != JINJA_NONE;
    int64_t limit = has_count ? jinja_args_int(run, given[2], -1) : -1;
    struct view old = jinja_print_view(run, *given[0]), with = jinja_print_view(run, *given[1]);
    struct view text = jinja_print_view(run, v);
    return jinja_failed(run) ? v : jinja_text_replace(run, text, old, with, limit);
}

static struct jinja_value f_attr(struct jinja_run *run, struct jinja_value v,
                                 const struct jinja_value *const *given,
                                 const struct jinja_args *args, int variant)
{
    (void)args, (void)variant;
    if (given[0]->kind != JINJA_STRING) {
        jinja_value_refuse_undefined(run, v);
        jinja_fail(run, STATUS_BAD_INPUT, "attribute name must be string, not '%s'",
                   jinja_value_type(*given[0]));
        return v;
    }
    return jinja_attr_own(run, v, given[0]->string);
}

static struct jinja_value f_tojson(struct jinja_run *run, struct jinja_value v,
                                   const struct jinja_value *const *given,
                                   const struct jinja_args *args, int variant)
{
    (void)given, (void)variant;
    return jinja_json_dump(run, v, args);
}

static struct jinja_value f_fromjson(struct jinja_run *run, struct jinja_value v,
                                     const struct jinja_value *const *given,
                                     const struct jinja_args *args, int variant)
{
    (void)given, (void)variant;
    return jinja_json_load(run, v, args);
}

static struct jinja_value f_format(struct jinja_run *run, struct jinja_value v,
                                   const struct jinja_value *const *given,
                                   const struct jinja_args *args, int variant)
{
    (void)given, (void)variant;
    struct view format = soft_text(run, v, "format");
    if (args->n > 0 && args->n_named > 0)
        jinja_fail(run, STATUS_BAD_INPUT,
                   "can't handle positional and keyword arguments at the same time");
    struct jinja_value values =
        args->n_named > 0 ? jinja_value_dict(run, JINJA_DICT) : jinja_value_list(run, JINJA_TUPLE);
    for (int64_t i = 0; i < args->n && !jinja_failed(run); i++)
        jinja_value_push(run, values, args->at[i]);
    for (int64_t i = 0; i < args->n_named && !jinja_failed(run); i++)
        jinja_value_set(run, values.dict, jinja_string(args->named[i].name), args->named[i].value);
    return jinja_failed(run) ? v : jinja_percent_format(run, format, values);
}

struct jinja_filter {
    const char *name;
    jinja_callee *apply;
    const char *parameters; /* NULL: it binds none */
    int variant;
};
static const struct jinja_filter filters[] = {
    { "abs", jinja_convert_abs, "", 0 },
    { "attr", f_attr, "name", 0 },
    { "batch", jinja_generator_batch, "linecount fill_with?", 0 },
    { "capitalize", f_change, "", JINJA_TO_CAPITALIZED },
    { "center", f_center, "width?", 0 },
    { "count", f_length, "", 0 },
    { "d", f_default, "default_value? boolean?", 0 },
    { "default", f_default, "default_value? boolean?", 0 },
    { "dictsort", jinja_sequence_dictsort, "case_sensitive? by? reverse?", 0 },
    { "e", jinja_markup_escape, "", 0 },
    { "escape", jinja_markup_escape, "", 0 },
    { "filesizeformat", jinja_convert_size, "binary?", 0 },
    { "first", jinja_sequence_end, "", 0 },
    { "float", jinja_convert_float, "default?", 0 },
    { "forceescape", jinja_markup_escape, "", 1 },
    { "format", f_format, NULL, 0 },
    { "from_json", f_fromjson, NULL, 0 },
    { "fromjson", f_fromjson, NULL, 0 },
    { "groupby", jinja_sequence_groupby, "attribute default? case_sensitive?", 0 },
    { "indent", jinja_wrap_indent, "width? first? blank?", 0 },
    { "int", jinja_convert_int, "default? base?", 0 },
    { "items", jinja_generator_items, "", 0 },
    { "join", jinja_sequence_join, "d? attribute?", 0 },
    { "last", jinja_sequence_end, "", 1 },
    { "length", f_length, "", 0 },
    { "list", jinja_sequence_list, "", 0 },
    { "lower", f_change, "", JINJA_TO_LOWER },
    { "map", jinja_generator_map, NULL, 0 },
    { "max", jinja_sequence_extreme, "case_sensitive? attribute?", 1 },
    { "min", jinja_sequence_extreme, "case_sensitive? attribute?", 0 },
    { "reject", jinja_generator_select, NULL, JINJA_REJECTS },
    { "rejectattr", jinja_generator_select, NULL, JINJA_REJECTS | JINJA_OF_ATTRIBUTE },
    { "replace", f_replace, "old new count?", 0 },
    { "reverse", jinja_sequence_reverse, "", 0 },
    { "round", jinja_convert_round, "precision? method?", 0 },
    { "safe", jinja_markup_safe, "", 0 },
    { "select", jinja_generator_select, NULL, 0 },
    { "selectattr", jinja_generator_select, NULL, JINJA_OF_ATTRIBUTE },
    { "slice", jinja_generator_slice, "slices fill_with?", 0 },
    { "sort", jinja_sequence_sort, "reverse? case_sensitive? attribute?", 0 },
    { "string", f_string, "", 0 },
    { "sum", jinja_sequence_sum, "attribute? start?", 0 },
    { "title", jinja_wrap_title, "", 0 },
    { "tojson", f_tojson, NULL, 0 },
    { "trim", f_trim, "chars?", 0 },
    { "truncate", jinja_wrap_truncate, "length? killwords? end? leeway?", 0 },
    { "unique", jinja_generator_unique, "case_sensitive? attribute?", 0 },
    { "upper", f_change, "", JINJA_TO_UPPER },
    { "urlencode", jinja_markup_urlencode, "", 0 },
    { "wordcount", jinja_wrap_count, "", 0 },
    { "wordwrap", jinja_wrap_words, "width? break_long_words? wrapstring? break_on_hyphens?", 0 },
    { "xmlattr", jinja_markup_xmlattr, "autospace?", 0 },
};

const struct jinja_filter *jinja_filter_find(struct view name)
{
    for (size_t i = 0; i < COUNT_OF(filters); i++) {
        if (view_equal_text(name, filters[i].name))
            return &filters[i];
    }
    return NULL;
}

bool jinja_filter_is_refused(struct view name)
{
    static const char *const refused[] = { "pprint", "random", "striptags", "urlize" };
    for (size_t i = 0; i < COUNT_OF(refused); i++) {
        if (view_equal_text(name, refused[i]))
            return true;
    }
    return false;
}

struct jinja_value jinja_filter_apply(struct jinja_run *run, const struct jinja_filter *filter,
                                      struct jinja_value v, const struct jinja_args *args)
{
    const struct jinja_value *given[JINJA_PARAMETERS_MAX] = { NULL };
    if (filter->parameters != NULL && !jinja_args_bind(run, args, filter->parameters, given))
        return jinja_none();
    struct jinja_value result = filter->apply(run, v, given, args, filter->variant);
    return jinja_failed(run) ? jinja_none() : result;
}

struct jinja_value jinja_filter_call(struct jinja_run *run, struct jinja_value name,
                                     struct jinja_value v, const struct jinja_args *args)
{
    struct view text = name.kind == JINJA_STRING ? name.string : view_of("", 0);
    const struct jinja_filter *filter = jinja_filter_find(text);
    if (filter != NULL)
        return jinja_filter_apply(run, filter, v, args);
    jinja_fail(run, jinja_filter_is_refused(text) ? STATUS_UNSUPPORTED : STATUS_BAD_INPUT,
               "no filter named '%.*s'", (int)min_i64((int64_t)text.n, 60), text.at);
    return jinja_none();
}
