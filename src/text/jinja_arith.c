/* Arithmetic, comparison and slices, with Python's rounding of // and %. Integers are 64 bits; more
 * is an error, not a wrong number. */
#include "text/jinja_arith.h"
#include "text/jinja_print.h"
#include "text/jinja_text.h"
#include "base/num.h"
#include <math.h>
#include <string.h>

struct jinja_value jinja_arith_unary(struct jinja_run *run, enum jinja_op op, struct jinja_value v)
{
    if (!jinja_is_number(v)) {
        jinja_value_refuse_undefined(run, v);
        jinja_fail(run, STATUS_BAD_INPUT, "bad operand type for unary %c: '%s'",
                   op == JINJA_SUB ? '-' : '+', jinja_value_type(v));
        return jinja_none();
    }
    if (v.kind == JINJA_FLOAT)
        return jinja_float(op == JINJA_SUB ? -v.real : v.real);
    int64_t i = jinja_value_int(v);
    if (op == JINJA_SUB && i == INT64_MIN)
        jinja_fail(run, STATUS_UNSUPPORTED, "an integer is too large");
    return jinja_int(op == JINJA_SUB && i != INT64_MIN ? -i : i);
}

static struct jinja_value join_text(struct jinja_run *run, struct view a, struct view b)
{
    char *joined = jinja_take(run, a.n + b.n + 1);
    if (joined == NULL)
        return jinja_none();
    if (a.n > 0)
        memcpy(joined, a.at, a.n);
    if (b.n > 0)
        memcpy(joined + a.n, b.at, b.n);
    return jinja_string(view_of(joined, a.n + b.n));
}

static struct jinja_value join_lists(struct jinja_run *run, struct jinja_value a,
                                     struct jinja_value b)
{
    struct jinja_value out = jinja_value_list(run, a.kind);
    for (int64_t i = 0; i < a.list->n + b.list->n && !jinja_failed(run); i++)
        jinja_value_push(run, out, i < a.list->n ? a.list->at[i] : b.list->at[i - a.list->n]);
    return out;
}

static struct jinja_value repeat(struct jinja_run *run, struct jinja_value v, int64_t n)
{
    n = n < 0 ? 0 : n;
    if (v.kind == JINJA_STRING) {
        size_t n_bytes = v.string.n;
        if (n_bytes > 0 && n > JINJA_PILE_BYTES_MAX / (int64_t)n_bytes)
            n = JINJA_PILE_BYTES_MAX; /* jinja_take refuses it */
        char *out = jinja_take(run, n_bytes == 0 ? 1 : n_bytes * (size_t)n + 1);
        for (int64_t i = 0; i < n && out != NULL && n_bytes > 0; i++)
            memcpy(out + (size_t)i * n_bytes, v.string.at, n_bytes);
        return out == NULL ? jinja_none()
                           : jinja_string(view_of(out, n_bytes == 0 ? 0 : n_bytes * (size_t)n));
    }
    struct jinja_value out = jinja_value_list(run, v.kind);
    for (int64_t i = 0; i < n && v.list->n > 0 && !jinja_failed(run); i++) {
        for (int64_t k = 0; k < v.list->n; k++)
            jinja_value_push(run, out, v.list->at[k]);
    }
    return out;
}

static struct jinja_value refuse(struct jinja_run *run, const char *op, struct jinja_value a,
                                 struct jinja_value b)
{
    jinja_value_refuse_undefined(run, a);
    jinja_value_refuse_undefined(run, b);
    jinja_fail(run, STATUS_BAD_INPUT, "unsupported operand type(s) for %s: '%s' and '%s'", op,
               jinja_value_type(a), jinja_value_type(b));
    return jinja_none();
}

static struct jinja_value real_arithmetic(struct jinja_run *run, enum jinja_op op, double a,
                                          double b)
{
    if ((op == JINJA_DIV || op == JINJA_FLOOR_DIV || op == JINJA_MOD) && b == 0) {
        jinja_fail(run, STATUS_BAD_INPUT, "division by zero");
        return jinja_none();
    }
    switch (op) {
    case JINJA_ADD:
        return jinja_float(a + b);
    case JINJA_SUB:
        return jinja_float(a - b);
    case JINJA_MUL:
        return jinja_float(a * b);
    case JINJA_DIV:
        return jinja_float(a / b);
    case JINJA_FLOOR_DIV:
        return jinja_float(floor(a / b));
    case JINJA_MOD:
        return jinja_float(a - b * floor(a / b));
    default:
        return jinja_float(pow(a, b));
    }
}

static struct jinja_value int_power(struct jinja_run *run, int64_t a, int64_t b)
{
    int64_t result = 1;
    for (; b > 0; b--) {
        if (!jinja_charge(run, 1) || __builtin_mul_overflow(result, a, &result)) {
            jinja_fail(run, STATUS_UNSUPPORTED, "an integer is too large");
            return jinja_none();
        }
        if (a == 0 || a == 1)
            break;
    }
    return jinja_int(result);
}

static struct jinja_value int_arithmetic(struct jinja_run *run, enum jinja_op op, int64_t a,
                                         int64_t b)
{
    int64_t result = 0;
    bool overflows = false;
    if (op == JINJA_DIV || (op == JINJA_POW && b < 0) ||
        (b == 0 && op >= JINJA_DIV && op <= JINJA_MOD))
        return real_arithmetic(run, op, (double)a, (double)b);
    if (op == JINJA_POW)
        return int_power(run, a, b);
    if (op == JINJA_ADD) {
        overflows = __builtin_add_overflow(a, b, &result);
    } else if (op == JINJA_SUB) {
        overflows = __builtin_sub_overflow(a, b, &result);
    } else if (op == JINJA_MUL) {
        overflows = __builtin_mul_overflow(a, b, &result);
    } else if (a == INT64_MIN && b == -1) {
        overflows = true;
    } else {
        int64_t quotient = a / b, rest = a % b;
        bool rounds = rest != 0 && (rest < 0) != (b < 0);
        result = op == JINJA_FLOOR_DIV ? quotient - rounds : rest + (rounds ? b : 0);
    }
    if (overflows)
        jinja_fail(run, STATUS_UNSUPPORTED, "an integer is too large");
    return jinja_int(result);
}

struct jinja_value jinja_arith_binary(struct jinja_run *run, enum jinja_op op, struct jinja_value a,
                                      struct jinja_value b)
{
    static const char *const names[] = { "+", "-", "*", "/", "//", "%", "**" };
    if (op == JINJA_CONCAT) {
        struct view left = jinja_print_view(run, a), right = jinja_print_view(run, b);
        return jinja_failed(run) ? jinja_none() : join_text(run, left, right);
    }
    if (jinja_is_number(a) && jinja_is_number(b)) {
        if (a.kind == JINJA_FLOAT || b.kind == JINJA_FLOAT)
            return real_arithmetic(run, op, jinja_value_real(a), jinja_value_real(b));
        return int_arithmetic(run, op, jinja_value_int(a), jinja_value_int(b));
    }
    if (op == JINJA_ADD && a.kind == JINJA_STRING && b.kind == JINJA_STRING)
        return join_text(run, a.string, b.string);
    if (op == JINJA_ADD && jinja_is_list(a) && a.kind == b.kind)
        return join_lists(run, a, b);
    if (op == JINJA_ADD && a.kind == JINJA_STRING && b.kind != JINJA_UNDEFINED) {
        jinja_fail(run, STATUS_BAD_INPUT, "can only concatenate str (not \"%s\") to str",
                   jinja_value_type(b));
        return jinja_none();
    }
    if (op == JINJA_MOD && a.kind == JINJA_STRING)
        return jinja_text_format(run, a.string, b.kind == JINJA_TUPLE ? b.list->at : &b,
                                 b.kind == JINJA_TUPLE ? b.list->n : 1);
    bool a_counts = a.kind == JINJA_INT || a.kind == JINJA_BOOL;
    bool b_counts = b.kind == JINJA_INT || b.kind == JINJA_BOOL;
    if (op == JINJA_MUL && b_counts && (a.kind == JINJA_STRING || jinja_is_list(a)))
        return repeat(run, a, jinja_value_int(b));
    if (op == JINJA_MUL && a_counts && (b.kind == JINJA_STRING || jinja_is_list(b)))
        return repeat(run, b, jinja_value_int(a));
    return refuse(run, names[op], a, b);
}

bool jinja_arith_compare(struct jinja_run *run, enum jinja_op op, struct jinja_value a,
                         struct jinja_value b)
{
    switch (op) {
    case JINJA_EQ:
        return jinja_value_equal(run, a, b);
    case JINJA_NE:
        return !jinja_value_equal(run, a, b);
    case JINJA_LT:
        return jinja_value_order(run, a, b) < 0;
    case JINJA_LE:
        return jinja_value_order(run, a, b) <= 0;
    case JINJA_GT:
        return jinja_value_order(run, a, b) > 0;
    case JINJA_GE:
        return jinja_value_order(run, a, b) >= 0;
    case JINJA_IN:
        return jinja_value_in(run, a, b);
    default:
        return !jinja_value_in(run, a, b);
    }
}

/* Python's rule for one end of a slice of n items. */
static int64_t slice_end(struct jinja_value bound, int64_t n, int64_t step, bool is_start)
{
    if (bound.kind == JINJA_NONE && step > 0)
        return is_start ? 0 : n;
    if (bound.kind == JINJA_NONE)
        return is_start ? n - 1 : -1;
    int64_t i = jinja_value_int(bound);
    if (i < 0)
        i = i < -n ? -1 : i + n; /* -1: before the first */
    int64_t low = step > 0 ? 0 : -1, high = step > 0 ? n : n - 1;
    return i < low ? low : i > high ? high : i;
}

struct jinja_value jinja_arith_slice(struct jinja_run *run, struct jinja_value of,
                                     const struct jinja_value bounds[3])
{
    jinja_value_refuse_undefined(run, of);
    if (of.kind != JINJA_STRING && !jinja_is_list(of))
        return jinja_undefined(view_of(NULL, 0));
    int64_t step = bounds[2].kind == JINJA_NONE ? 1 : jinja_value_int(bounds[2]);
    if (step == 0)
        jinja_fail(run, STATUS_BAD_INPUT, "slice step cannot be zero");
    struct jinja_value items = jinja_value_items(run, of);
    if (jinja_failed(run))
        return jinja_none();
    int64_t n = items.list->n;
    step = step > n + 1 ? n + 1 : step < -n - 1 ? -n - 1 : step;
    int64_t at = slice_end(bounds[0], n, step, true), stop = slice_end(bounds[1], n, step, false);
    struct str text;
    str_init(&text);
    struct jinja_value out = jinja_value_list(run, jinja_is_list(of) ? of.kind : JINJA_LIST);
    for (; step > 0 ? at < stop : at > stop; at += step) {
        struct jinja_value item = items.list->at[at];
        if (of.kind == JINJA_STRING)
            str_add(&text, item.string.at, item.string.n);
        else
            jinja_value_push(run, out, item);
    }
    if (of.kind == JINJA_STRING)
        out = jinja_value_copy(run, view_of(text.at, text.n));
    str_free(&text);
    return out;
}
