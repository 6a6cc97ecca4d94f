/* The tests of jinja2, in a table by name. */
#include "text/jinja_is.h"
#include "text/jinja_arith.h"
#include "text/jinja_filter.h"
#include <string.h>

enum what {
    IS_KIND,     /* a is a set of kinds */
    IS_COMPARED, /* a is the operator */
    IS_VALUE,    /* of its own, see apply_own */
};
#define KIND(k)      (1u << (k))
#define KINDS_NUMBER (KIND(JINJA_INT) | KIND(JINJA_FLOAT) | KIND(JINJA_BOOL))
#define KINDS_ITEMS                                                                                \
    (KIND(JINJA_STRING) | KIND(JINJA_LIST) | KIND(JINJA_TUPLE) | KIND(JINJA_DICT) |                \
     KIND(JINJA_UNDEFINED))

static const struct row {
    const char *name;
    enum what what;
    unsigned a;
} rows[] = {
    { "defined", IS_KIND, ~KIND(JINJA_UNDEFINED) },
    { "undefined", IS_KIND, KIND(JINJA_UNDEFINED) },
    { "none", IS_KIND, KIND(JINJA_NONE) },
    { "string", IS_KIND, KIND(JINJA_STRING) },
    { "mapping", IS_KIND, KIND(JINJA_DICT) },
    { "iterable", IS_KIND, KINDS_ITEMS | KIND(JINJA_LOOP) },
    { "sequence", IS_KIND, KINDS_ITEMS },
    { "number", IS_KIND, KINDS_NUMBER },
    { "integer", IS_KIND, KIND(JINJA_INT) },
    { "float", IS_KIND, KIND(JINJA_FLOAT) },
    { "boolean", IS_KIND, KIND(JINJA_BOOL) },
    { "callable", IS_KIND,
      KIND(JINJA_UNDEFINED) | KIND(JINJA_MACRO) | KIND(JINJA_METHOD) | KIND(JINJA_FUNCTION) },
    { "equalto", IS_COMPARED, JINJA_EQ },
    { "eq", IS_COMPARED, JINJA_EQ },
    { "ne", IS_COMPARED, JINJA_NE },
    { "lt", IS_COMPARED, JINJA_LT },
    { "lessthan", IS_COMPARED, JINJA_LT },
    { "le", IS_COMPARED, JINJA_LE },
    { "gt", IS_COMPARED, JINJA_GT },
    { "greaterthan", IS_COMPARED, JINJA_GT },
    { "ge", IS_COMPARED, JINJA_GE },
    { "in", IS_COMPARED, JINJA_IN },
    { "true", IS_VALUE, 0 },
    { "false", IS_VALUE, 0 },
    { "even", IS_VALUE, 0 },
    { "odd", IS_VALUE, 0 },
    { "divisibleby", IS_VALUE, 1 },
    { "sameas", IS_VALUE, 1 },
    { "lower", IS_VALUE, 0 },
    { "upper", IS_VALUE, 0 },
    { "filter", IS_VALUE, 0 },
    { "test", IS_VALUE, 0 },
};

static const struct row *find_row(struct view name)
{
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        if (view_equal_text(name, rows[i].name))
            return &rows[i];
    }
    return NULL;
}

bool jinja_is_known(struct view name)
{
    return find_row(name) != NULL;
}

static bool has_case(struct view text, bool upper)
{
    bool has_letter = false;
    for (size_t i = 0; i < text.n; i++) {
        char c = text.at[i];
        if ((c >= 'a' && c <= 'z') == upper && ((c | 0x20) >= 'a' && (c | 0x20) <= 'z'))
            return false;
        has_letter |= (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
    }
    return has_letter;
}

static bool apply_own(struct jinja_run *run, const char *name, struct jinja_value v,
                      const struct jinja_value *other)
{
    if (strcmp(name, "true") == 0 || strcmp(name, "false") == 0)
        return v.kind == JINJA_BOOL && v.boolean == (name[0] == 't');
    if (strcmp(name, "sameas") == 0)
        return v.kind == other->kind && jinja_value_equal(run, v, *other);
    if (strcmp(name, "lower") == 0 || strcmp(name, "upper") == 0)
        return v.kind == JINJA_STRING && has_case(v.string, name[0] == 'u');
    if (strcmp(name, "filter") == 0)
        return v.kind == JINJA_STRING && jinja_filter_is_known(v.string);
    if (strcmp(name, "test") == 0)
        return v.kind == JINJA_STRING && jinja_is_known(v.string);
    struct jinja_value divisor = other != NULL ? *other : jinja_int(2);
    struct jinja_value rest = jinja_arith_binary(run, JINJA_MOD, v, divisor);
    return jinja_value_truth(rest) == (strcmp(name, "odd") == 0);
}

bool jinja_is_apply(struct jinja_run *run, struct view name, struct jinja_value v,
                    const struct jinja_args *args)
{
    const struct row *row = find_row(name);
    if (row == NULL) {
        jinja_fail(run, STATUS_UNSUPPORTED, "no test named '%.*s'", (int)name.n, name.at);
        return false;
    }
    if (row->what == IS_KIND)
        return (row->a >> v.kind & 1) != 0;
    const struct jinja_value *other = jinja_eval_arg(args, 0, NULL);
    if (other == NULL && (row->what == IS_COMPARED || row->a == 1)) {
        jinja_fail(run, STATUS_BAD_INPUT, "the test '%s' needs an argument", row->name);
        return false;
    }
    if (row->what == IS_COMPARED)
        return jinja_arith_compare(run, (enum jinja_op)row->a, v, *other);
    return apply_own(run, row->name, v, other);
}
