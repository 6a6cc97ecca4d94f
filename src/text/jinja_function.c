/* Global functions: range, namespace, dict and raise_exception. strftime_now is not defined (the
 * same request must give the same prompt whenever it is asked); a template that calls it unasked
 * gets a sentence of its own. */
#include "text/jinja_function.h"
#include "text/jinja_print.h"

static struct jinja_value f_range(struct jinja_run *run, const struct jinja_args *args)
{
    int64_t bounds[3] = { 0, 0, 1 };
    for (int i = 0; i < args->n && i < 3; i++) {
        if (args->at[i].kind != JINJA_INT && args->at[i].kind != JINJA_BOOL)
            jinja_fail(run, STATUS_BAD_INPUT, "range needs integers, not %s",
                       jinja_value_type(args->at[i]));
        bounds[args->n == 1 ? 1 : i] = jinja_value_int(args->at[i]);
    }
    if (args->n < 1 || args->n > 3 || bounds[2] == 0)
        jinja_fail(run, STATUS_BAD_INPUT, "range takes 1 to 3 integers, the step not zero");
    struct jinja_value out = jinja_value_list(run, JINJA_LIST);
    int64_t at = bounds[0];
    for (int64_t n = 0; bounds[2] > 0 ? at < bounds[1] : at > bounds[1]; n++) {
        if (n == JINJA_RANGE_MAX)
            jinja_fail(run, STATUS_TOO_LARGE, "a range of more than %d", JINJA_RANGE_MAX);
        if (jinja_failed(run))
            break;
        jinja_value_push(run, out, jinja_int(at));
        if (__builtin_add_overflow(at, bounds[2], &at))
            break;
    }
    return out;
}

static struct jinja_value make_dict(struct jinja_run *run, const struct jinja_args *args,
                                    enum jinja_kind kind)
{
    struct jinja_value out = jinja_value_dict(run, kind);
    if (args->n > 0 && (args->n > 1 || args->at[0].kind != JINJA_DICT))
        jinja_fail(run, STATUS_UNSUPPORTED, "only keywords or one dict make a dict");
    if (jinja_failed(run))
        return out;
    for (int64_t i = 0; args->n == 1 && i < args->at[0].dict->n; i++)
        jinja_value_set(run, out.dict, args->at[0].dict->at[i].key, args->at[0].dict->at[i].value);
    for (int i = 0; i < args->n_named; i++)
        jinja_value_set(run, out.dict, jinja_string(args->named[i].name), args->named[i].value);
    return out;
}

static struct jinja_value f_namespace(struct jinja_run *run, const struct jinja_args *args)
{
    return make_dict(run, args, JINJA_NAMESPACE);
}

static struct jinja_value f_dict(struct jinja_run *run, const struct jinja_args *args)
{
    return make_dict(run, args, JINJA_DICT);
}

static struct jinja_value f_raise(struct jinja_run *run, const struct jinja_args *args)
{
    struct view text = args->n > 0 ? jinja_print_view(run, args->at[0]) : view_of("", 0);
    if (!jinja_failed(run))
        run->status = fault_set(&run->fault, STATUS_BAD_INPUT, "%.*s", (int)text.n,
                                text.n > 0 ? text.at : "");
    return jinja_none();
}

static const struct {
    const char *name;
    struct jinja_value (*call)(struct jinja_run *run, const struct jinja_args *args);
} functions[] = {
    { "range", f_range },
    { "namespace", f_namespace },
    { "dict", f_dict },
    { "raise_exception", f_raise },
};

bool jinja_function_is_known(struct view name)
{
    for (size_t i = 0; i < COUNT_OF(functions); i++) {
        if (view_equal_text(name, functions[i].name))
            return true;
    }
    return false;
}

struct jinja_value jinja_function_call(struct jinja_run *run, struct view name,
                                       const struct jinja_args *args)
{
    for (size_t i = 0; i < COUNT_OF(functions); i++) {
        if (view_equal_text(name, functions[i].name))
            return functions[i].call(run, args);
    }
    return jinja_none();
}
