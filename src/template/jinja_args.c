/* Binding of arguments: by place, then by name. Each is bound once, and extra ones are an error. */
#include "template/jinja_args.h"
#include <string.h>

const struct jinja_value *jinja_args_named(const struct jinja_args *args, const char *name)
{
    for (int64_t i = 0; i < args->n_named; i++) {
        if (view_equal_text(args->named[i].name, name))
            return &args->named[i].value;
    }
    return NULL;
}

struct parameter {
    struct view name;
    bool is_optional, takes_keyword;
};

static struct parameter next_parameter(const char **at)
{
    size_t n = strcspn(*at, " ");
    struct view text = view_of(*at, n);
    *at += n + ((*at)[n] == ' ');
    struct parameter p = { .is_optional = text.at[n - 1] == '?', .takes_keyword = *text.at != '-' };
    size_t first = p.takes_keyword ? 0 : 1;
    p.name = view_of(text.at + first, n - first - p.is_optional);
    return p;
}

static const struct jinja_value *find(const struct jinja_args *args, struct parameter p)
{
    for (int64_t i = 0; i < args->n_named && p.takes_keyword; i++) {
        if (view_equal(args->named[i].name, p.name))
            return &args->named[i].value;
    }
    return NULL;
}

bool jinja_args_bind(struct jinja_run *run, const struct jinja_args *args, const char *parameters,
                     const struct jinja_value *out[JINJA_PARAMETERS_MAX])
{
    int64_t n = 0, n_named = 0;
    for (const char *at = parameters; *at != '\0'; n++) {
        struct parameter p = next_parameter(&at);
        const struct jinja_value *named = find(args, p);
        out[n] = n < args->n ? &args->at[n] : named;
        n_named += named != NULL && n >= args->n;
        if (out[n] == NULL && !p.is_optional)
            jinja_fail(run, STATUS_BAD_INPUT, "the argument '%.*s' is missing", (int)p.name.n,
                       p.name.at);
    }
    if (args->n > n)
        jinja_fail(run, STATUS_BAD_INPUT, "%lld arguments are too many, at most %lld are taken",
                   (long long)args->n, (long long)n);
    if (n_named < args->n_named)
        jinja_fail(run, STATUS_BAD_INPUT, "an argument by name is not taken, or given twice");
    return !jinja_failed(run);
}

int64_t jinja_args_int(struct jinja_run *run, const struct jinja_value *arg, int64_t fallback)
{
    if (arg == NULL)
        return fallback;
    if (!jinja_is_whole(*arg))
        jinja_fail(run, STATUS_BAD_INPUT, "an int is expected as an argument, not %s",
                   jinja_value_type(*arg));
    return jinja_value_int(*arg);
}

struct view jinja_args_text(struct jinja_run *run, const struct jinja_value *arg,
                            struct view fallback)
{
    if (arg == NULL || arg->kind == JINJA_NONE)
        return fallback;
    if (arg->kind != JINJA_STRING) {
        jinja_value_refuse_undefined(run, *arg);
        jinja_fail(run, STATUS_BAD_INPUT, "a str is expected as an argument, not %s",
                   jinja_value_type(*arg));
        return view_of("", 0);
    }
    return arg->string.at == NULL ? view_of("", 0) : arg->string;
}

struct jinja_args jinja_args_rest(const struct jinja_args *args, int64_t n)
{
    struct jinja_args rest = *args;
    n = min_i64(n, args->n);
    rest.at += n;
    rest.n -= n;
    return rest;
}
