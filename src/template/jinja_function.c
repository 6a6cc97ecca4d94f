/* Global functions: range, dict, namespace, cycler and joiner as in jinja2, and raise_exception and
 * strftime_now as transformers adds them. */
#include "template/jinja_function.h"
#include "template/jinja_arith.h"
#include "template/jinja_iter.h"
#include "template/jinja_print.h"
#include "template/jinja_time.h"

struct jinja_function {
    const char *name;
    struct jinja_value (*call)(struct jinja_run *run, const struct jinja_args *args);
};

static struct jinja_value f_range(struct jinja_run *run, const struct jinja_args *args)
{
    int64_t bounds[3] = { 0, 0, 1 };
    if (args->n < 1 || args->n > 3 || args->n_named > 0)
        jinja_fail(run, STATUS_BAD_INPUT, "range takes 1 to 3 integers");
    for (int64_t i = 0; i < args->n && !jinja_failed(run); i++)
        bounds[args->n == 1 ? 1 : i] = jinja_args_int(run, &args->at[i], 0);
    if (bounds[2] == 0)
        jinja_fail(run, STATUS_BAD_INPUT, "range() arg 3 must not be zero");
    return jinja_failed(run) ? jinja_none()
                             : jinja_arith_range(run, bounds[0], bounds[1], bounds[2]);
}

/* dict(pairs): each item has two items. */
static void add_pairs(struct jinja_run *run, struct jinja_value pairs, struct jinja_dict *dict)
{
    struct jinja_iter *iter = jinja_iter_open(run, pairs);
    struct jinja_value item;
    while (iter != NULL && jinja_iter_next(run, iter, &item)) {
        struct jinja_value parts = jinja_iter_list(run, item);
        if (!jinja_failed(run) && parts.list->n != 2)
            jinja_fail(run, STATUS_BAD_INPUT,
                       "dictionary update sequence element has length %lld; 2 is required",
                       (long long)parts.list->n);
        if (!jinja_failed(run))
            jinja_value_set(run, dict, parts.list->at[0], parts.list->at[1]);
    }
}

static struct jinja_value make_dict(struct jinja_run *run, const struct jinja_args *args,
                                    enum jinja_kind kind)
{
    struct jinja_value out = jinja_value_dict(run, kind);
    if (args->n > 1)
        jinja_fail(run, STATUS_BAD_INPUT, "dict expected at most 1 argument, got %lld",
                   (long long)args->n);
    if (args->n == 1)
        jinja_value_refuse_undefined(run, args->at[0]);
    if (jinja_failed(run))
        return out;
    if (args->n == 1 && args->at[0].kind == JINJA_DICT) {
        const struct jinja_dict *from = args->at[0].dict;
        for (int64_t i = 0; i < from->n && !jinja_failed(run); i++)
            jinja_value_set(run, out.dict, from->at[i].key, from->at[i].value);
    } else if (args->n == 1) {
        add_pairs(run, args->at[0], out.dict);
    }
    for (int64_t i = 0; i < args->n_named && !jinja_failed(run); i++)
        jinja_value_set(run, out.dict, jinja_string(args->named[i].name), args->named[i].value);
    return out;
}

static struct jinja_value f_dict(struct jinja_run *run, const struct jinja_args *args)
{
    return make_dict(run, args, JINJA_DICT);
}

static struct jinja_value f_namespace(struct jinja_run *run, const struct jinja_args *args)
{
    struct jinja_value out = make_dict(run, args, JINJA_NAMESPACE);
    for (int64_t i = 0; !jinja_failed(run) && i < out.dict->n; i++) {
        struct jinja_value key = out.dict->at[i].key;
        if (key.kind == JINJA_STRING && key.string.n > 0 && key.string.at[0] == '_')
            jinja_fail(run, STATUS_UNSUPPORTED,
                       "an attribute of a namespace that begins with an underscore");
    }
    return out;
}

static struct jinja_value make_cycler(struct jinja_run *run, enum jinja_kind kind,
                                      const struct jinja_value *items, int64_t n)
{
    struct jinja_value list = jinja_value_list(run, JINJA_LIST);
    struct jinja_cycler *cycler = jinja_take(run, sizeof(*cycler));
    for (int64_t i = 0; i < n && !jinja_failed(run); i++)
        jinja_value_push(run, list, items[i]);
    if (jinja_failed(run))
        return jinja_none();
    *cycler = (struct jinja_cycler){ .items = list.list };
    return (struct jinja_value){ .kind = kind, .cycler = cycler };
}

static struct jinja_value f_cycler(struct jinja_run *run, const struct jinja_args *args)
{
    if (args->n == 0 || args->n_named > 0)
        jinja_fail(run, STATUS_BAD_INPUT, "at least one item has to be provided");
    return make_cycler(run, JINJA_CYCLER, args->at, args->n);
}

static struct jinja_value f_joiner(struct jinja_run *run, const struct jinja_args *args)
{
    const struct jinja_value *given[JINJA_PARAMETERS_MAX];
    struct jinja_value usual = jinja_text(", ");
    if (!jinja_args_bind(run, args, "sep?", given))
        return jinja_none();
    return make_cycler(run, JINJA_JOINER, given[0] != NULL ? given[0] : &usual, 1);
}

static struct jinja_value f_raise(struct jinja_run *run, const struct jinja_args *args)
{
    const struct jinja_value *given[JINJA_PARAMETERS_MAX];
    if (!jinja_args_bind(run, args, "message", given))
        return jinja_none();
    struct view text = jinja_print_view(run, *given[0]);
    if (!jinja_failed(run))
        run->status = fault_set(&run->fault, STATUS_BAD_INPUT, "%.*s",
                                (int)min_i64((int64_t)text.n, 1024), text.n > 0 ? text.at : "");
    return jinja_none();
}

static struct jinja_value f_strftime(struct jinja_run *run, const struct jinja_args *args)
{
    const struct jinja_value *given[JINJA_PARAMETERS_MAX];
    if (!jinja_args_bind(run, args, "format", given))
        return jinja_none();
    struct view format = jinja_args_text(run, given[0], view_of(NULL, 0));
    if (format.at == NULL)
        jinja_fail(run, STATUS_BAD_INPUT, "strftime() argument 1 must be str, not None");
    return jinja_failed(run) ? jinja_none() : jinja_time_format(run, format);
}

static const struct jinja_function functions[] = {
    { "range", f_range },           { "dict", f_dict },     { "namespace", f_namespace },
    { "cycler", f_cycler },         { "joiner", f_joiner }, { "raise_exception", f_raise },
    { "strftime_now", f_strftime },
};

const struct jinja_function *jinja_function_find(struct view name)
{
    for (size_t i = 0; i < COUNT_OF(functions); i++) {
        if (view_equal_text(name, functions[i].name))
            return &functions[i];
    }
    return NULL;
}

bool jinja_function_is_refused(struct view name)
{
    return view_equal_text(name, "lipsum");
}

struct jinja_value jinja_function_call(struct jinja_run *run, const struct jinja_function *function,
                                       const struct jinja_args *args)
{
    struct jinja_value result = function->call(run, args);
    return jinja_failed(run) ? jinja_none() : result;
}
