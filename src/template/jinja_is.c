/* The tests of jinja2, in a table by name. */
#include "template/jinja_is.h"
#include "template/jinja_arith.h"
#include "template/jinja_case.h"
#include "template/jinja_compare.h"
#include "template/jinja_filter.h"
#include "template/jinja_iter.h"
#include "template/jinja_print.h"

enum what {
    IS_KIND,     /* the value's kind is one of a set */
    IS_COMPARED, /* with an operator */
    IS_REST,     /* of a division: odd, even, divisibleby */
    IS_BOOL,     /* true or false */
    IS_CASE,     /* lower or upper */
    IS_KNOWN,    /* the name of a filter or test */
    IS_SAME,     /* the same object */
    IS_SEQUENCE,
    IS_ITERABLE,
    IS_ESCAPED,
};
#define KIND(k)      (1u << (k))
#define KINDS_NUMBER (KIND(JINJA_INT) | KIND(JINJA_FLOAT) | KIND(JINJA_BOOL))
#define KINDS_CALLABLE                                                                             \
    (KIND(JINJA_UNDEFINED) | KIND(JINJA_MACRO) | KIND(JINJA_METHOD) | KIND(JINJA_FUNCTION) |       \
     KIND(JINJA_LOOP) | KIND(JINJA_JOINER))

struct jinja_is {
    const char *name;
    enum what what;
    unsigned how;
    const char *parameters;
};
static const struct jinja_is rows[] = {
    { "defined", IS_KIND, ~KIND(JINJA_UNDEFINED), "" },
    { "undefined", IS_KIND, KIND(JINJA_UNDEFINED), "" },
    { "none", IS_KIND, KIND(JINJA_NONE), "" },
    { "string", IS_KIND, KIND(JINJA_STRING), "" },
    { "mapping", IS_KIND, KIND(JINJA_DICT), "" },
    { "number", IS_KIND, KINDS_NUMBER, "" },
    { "integer", IS_KIND, KIND(JINJA_INT), "" },
    { "float", IS_KIND, KIND(JINJA_FLOAT), "" },
    { "boolean", IS_KIND, KIND(JINJA_BOOL), "" },
    { "callable", IS_KIND, KINDS_CALLABLE, "" },
    { "sequence", IS_SEQUENCE, 0, "" },
    { "iterable", IS_ITERABLE, 0, "" },
    { "escaped", IS_ESCAPED, 0, "" },
    { "true", IS_BOOL, true, "" },
    { "false", IS_BOOL, false, "" },
    { "lower", IS_CASE, JINJA_ALL_LOWER, "" },
    { "upper", IS_CASE, JINJA_ALL_UPPER, "" },
    { "odd", IS_REST, 1, "" },
    { "even", IS_REST, 0, "" },
    { "divisibleby", IS_REST, 0, "num" },
    { "filter", IS_KNOWN, 0, "" },
    { "test", IS_KNOWN, 1, "" },
    { "sameas", IS_SAME, 0, "other" },
    { "in", IS_COMPARED, JINJA_IN, "seq" },
    { "==", IS_COMPARED, JINJA_EQ, "-other" },
    { "eq", IS_COMPARED, JINJA_EQ, "-other" },
    { "equalto", IS_COMPARED, JINJA_EQ, "-other" },
    { "!=", IS_COMPARED, JINJA_NE, "-other" },
    { "ne", IS_COMPARED, JINJA_NE, "-other" },
    { "<", IS_COMPARED, JINJA_LT, "-other" },
    { "lt", IS_COMPARED, JINJA_LT, "-other" },
    { "lessthan", IS_COMPARED, JINJA_LT, "-other" },
    { "<=", IS_COMPARED, JINJA_LE, "-other" },
    { "le", IS_COMPARED, JINJA_LE, "-other" },
    { ">", IS_COMPARED, JINJA_GT, "-other" },
    { "gt", IS_COMPARED, JINJA_GT, "-other" },
    { "greaterthan", IS_COMPARED, JINJA_GT, "-other" },
    { ">=", IS_COMPARED, JINJA_GE, "-other" },
    { "ge", IS_COMPARED, JINJA_GE, "-other" },
};

const struct jinja_is *jinja_is_find(struct view name)
{
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        if (view_equal_text(name, rows[i].name))
            return &rows[i];
    }
    return NULL;
}

/* Python's "is". Python has one object for each small integer. Whether other equal numbers or texts
 * are one object depends on its optimizer. */
static bool is_same(struct jinja_run *run, struct jinja_value a, struct jinja_value b)
{
    if (a.kind != b.kind)
        return false;
    switch (a.kind) {
    case JINJA_NONE:
        return true;
    case JINJA_BOOL:
        return a.boolean == b.boolean;
    case JINJA_INT:
        if (a.integer != b.integer || (a.integer >= -5 && a.integer <= 256))
            return a.integer == b.integer;
        break;
    case JINJA_LIST:
    case JINJA_DICT:
    case JINJA_NAMESPACE:
        return a.list == b.list;
    case JINJA_TUPLE:
        if (a.list == b.list || a.list->n != b.list->n)
            return a.list == b.list;
        break;
    default:
        if (!jinja_compare_equal(run, a, b))
            return false;
        break;
    }
    jinja_fail(run, STATUS_UNSUPPORTED, "sameas of two equal values of type %s",
               jinja_value_type(a));
    return false;
}

static bool is_known(struct jinja_run *run, struct jinja_value v, bool of_tests)
{
    if (!jinja_value_check_key(run, v) || v.kind != JINJA_STRING)
        return false;
    return of_tests ? jinja_is_find(v.string) != NULL
                    : jinja_filter_find(v.string) != NULL || jinja_filter_is_refused(v.string);
}

static bool is_sequence(struct jinja_run *run, struct jinja_value v)
{
    if (v.kind == JINJA_LOOP)
        (void)jinja_value_length(run, v); /* jinja2 takes the length, too */
    return v.kind == JINJA_STRING || jinja_is_list(v) || v.kind == JINJA_DICT ||
           v.kind == JINJA_RANGE || v.kind == JINJA_UNDEFINED;
}

static bool has_rest(struct jinja_run *run, struct jinja_value v, const struct jinja_value *by,
                     int64_t wanted)
{
    struct jinja_value divisor = by != NULL ? *by : jinja_int(2);
    struct jinja_value rest = jinja_arith_binary(run, JINJA_MOD, v, divisor);
    return !jinja_failed(run) && jinja_compare_equal(run, rest, jinja_int(wanted));
}

bool jinja_is_apply(struct jinja_run *run, const struct jinja_is *test, struct jinja_value v,
                    const struct jinja_args *args)
{
    const struct jinja_value *given[JINJA_PARAMETERS_MAX] = { NULL };
    if (!jinja_args_bind(run, args, test->parameters, given))
        return false;
    switch (test->what) {
    case IS_KIND:
        return (test->how >> v.kind & 1) != 0;
    case IS_COMPARED:
        return jinja_compare(run, (enum jinja_op)test->how, v, *given[0]);
    case IS_REST:
        return has_rest(run, v, given[0], (int64_t)test->how);
    case IS_BOOL:
        return v.kind == JINJA_BOOL && v.boolean == (test->how != 0);
    case IS_CASE:
        return jinja_case_is(run, jinja_print_view(run, v), (enum jinja_test)test->how);
    case IS_KNOWN:
        return is_known(run, v, test->how != 0);
    case IS_SAME:
        return is_same(run, v, *given[0]);
    case IS_SEQUENCE:
        return is_sequence(run, v);
    case IS_ITERABLE:
        return jinja_iter_can_open(v);
    default:
        return v.kind == JINJA_STRING && v.mark == JINJA_MARKUP;
    }
}

bool jinja_is_call(struct jinja_run *run, struct jinja_value name, struct jinja_value v,
                   const struct jinja_args *args)
{
    const struct jinja_is *test = name.kind == JINJA_STRING ? jinja_is_find(name.string) : NULL;
    if (test != NULL)
        return jinja_is_apply(run, test, v, args);
    struct view text = name.kind == JINJA_STRING ? name.string : view_of("", 0);
    jinja_fail(run, STATUS_BAD_INPUT, "no test named '%.*s'", (int)min_i64((int64_t)text.n, 60),
               text.at);
    return false;
}
