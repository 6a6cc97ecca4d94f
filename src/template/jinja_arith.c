/* Arithmetic with Python's rounding of // and %. Integers have 64 bits. A larger result is refused,
 * and is never a wrong number. */
#include "template/jinja_arith.h"
#include "template/jinja_iter.h"
#include "template/jinja_markup.h"
#include "template/jinja_percent.h"
#include "template/jinja_print.h"
#include "template/jinja_text.h"
#include <math.h>
#include <string.h>

#define EXACT_MAX (INT64_C(1) << 53) /* integers up to here are exact as floats */

static struct jinja_value refuse_large(struct jinja_run *run)
{
    jinja_fail(run, STATUS_UNSUPPORTED, "an integer of more than 64 bits");
    return jinja_none();
}

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
        return refuse_large(run);
    return jinja_int(op == JINJA_SUB ? -i : i);
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
    n = max_i64(n, 0);
    if (v.kind == JINJA_STRING) {
        size_t n_bytes = v.string.n;
        if (n_bytes > 0 && n > JINJA_PILE_BYTES_MAX / (int64_t)n_bytes)
            n = JINJA_PILE_BYTES_MAX; /* jinja_take refuses it */
        char *out = jinja_take(run, n_bytes == 0 ? 1 : n_bytes * (size_t)n + 1);
        if (out == NULL)
            return jinja_none();
        for (int64_t i = 0; i < n && n_bytes > 0; i++)
            memcpy(out + (size_t)i * n_bytes, v.string.at, n_bytes);
        v.string = view_of(out, n_bytes == 0 ? 0 : n_bytes * (size_t)n);
        return v; /* with its mark */
    }
    struct jinja_value out = jinja_value_list(run, v.kind);
    for (int64_t i = 0; i < n && v.list->n > 0 && !jinja_failed(run); i++) {
        for (int64_t k = 0; k < v.list->n; k++)
            jinja_value_push(run, out, v.list->at[k]);
    }
    return out;
}

static struct jinja_value refuse(struct jinja_run *run, enum jinja_op op, struct jinja_value a,
                                 struct jinja_value b)
{
    static const char *const names[] = { "+", "-", "*", "/", "//", "%", "**" };
    jinja_value_refuse_undefined(run, a);
    jinja_value_refuse_undefined(run, b);
    if (op == JINJA_SUB && a.kind == JINJA_VIEW)
        jinja_fail(run, STATUS_UNSUPPORTED, "a difference of sets");
    jinja_fail(run, STATUS_BAD_INPUT, "unsupported operand type(s) for %s: '%s' and '%s'",
               names[op], jinja_value_type(a), jinja_value_type(b));
    return jinja_none();
}

/* Python's float power. A complex result is refused. */
static struct jinja_value real_power(struct jinja_run *run, double a, double b)
{
    if (a == 0 && b < 0 && isfinite(b)) {
        jinja_fail(run, STATUS_BAD_INPUT, "0.0 cannot be raised to a negative power");
        return jinja_none();
    }
    if (a < 0 && isfinite(a) && isfinite(b) && b != floor(b)) {
        jinja_fail(run, STATUS_UNSUPPORTED, "a complex number");
        return jinja_none();
    }
    double result = pow(a, b);
    if (isinf(result) && isfinite(a) && isfinite(b))
        jinja_fail(run, STATUS_BAD_INPUT, "a power is too large for a float");
    return jinja_float(result);
}

static double real_remainder(double a, double b)
{
    double rest = fmod(a, b);
    if (rest == 0)
        return copysign(0, b);
    return (b < 0) != (rest < 0) ? rest + b : rest;
}

static double real_quotient(double a, double b)
{
    double rest = fmod(a, b), quotient = (a - rest) / b;
    if (rest != 0 && (b < 0) != (rest < 0))
        quotient -= 1;
    if (quotient == 0)
        return copysign(0, a / b);
    double whole = floor(quotient);
    return quotient - whole > 0.5 ? whole + 1 : whole;
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
        return jinja_float(real_quotient(a, b));
    case JINJA_MOD:
        return jinja_float(real_remainder(a, b));
    default:
        return real_power(run, a, b);
    }
}

static struct jinja_value int_power(struct jinja_run *run, int64_t a, int64_t b)
{
    int64_t result = 1;
    if (a >= -1 && a <= 1)
        return jinja_int(b == 0 ? 1 : a == -1 && b % 2 == 0 ? 1 : a);
    for (; b > 0; b--) {
        if (__builtin_mul_overflow(result, a, &result))
            return refuse_large(run);
    }
    return jinja_int(result);
}

static struct jinja_value int_division(struct jinja_run *run, enum jinja_op op, int64_t a,
                                       int64_t b)
{
    if (b == 0)
        return real_arithmetic(run, JINJA_DIV, 1, 0);
    if (a == INT64_MIN && b == -1)
        return refuse_large(run);
    if (op == JINJA_DIV) {
        if (a > EXACT_MAX || a < -EXACT_MAX || b > EXACT_MAX || b < -EXACT_MAX)
            jinja_fail(run, STATUS_UNSUPPORTED, "a division of integers of more than 53 bits");
        return jinja_float((double)a / (double)b);
    }
    int64_t quotient = a / b, rest = a % b;
    bool rounds = rest != 0 && (rest < 0) != (b < 0);
    return jinja_int(op == JINJA_FLOOR_DIV ? quotient - rounds : rest + (rounds ? b : 0));
}

static struct jinja_value int_arithmetic(struct jinja_run *run, enum jinja_op op, int64_t a,
                                         int64_t b)
{
    int64_t result = 0;
    if (op == JINJA_POW)
        return b < 0 ? real_arithmetic(run, op, (double)a, (double)b) : int_power(run, a, b);
    if (op == JINJA_DIV || op == JINJA_FLOOR_DIV || op == JINJA_MOD)
        return int_division(run, op, a, b);
    bool overflows = op == JINJA_ADD   ? __builtin_add_overflow(a, b, &result)
                     : op == JINJA_SUB ? __builtin_sub_overflow(a, b, &result)
                                       : __builtin_mul_overflow(a, b, &result);
    return overflows ? refuse_large(run) : jinja_int(result);
}

struct jinja_value jinja_arith_binary(struct jinja_run *run, enum jinja_op op, struct jinja_value a,
                                      struct jinja_value b)
{
    if (jinja_is_number(a) && jinja_is_number(b)) {
        if (a.kind == JINJA_FLOAT || b.kind == JINJA_FLOAT)
            return real_arithmetic(run, op, jinja_value_real(a), jinja_value_real(b));
        return int_arithmetic(run, op, jinja_value_int(a), jinja_value_int(b));
    }
    if (op == JINJA_MOD && jinja_value_refuse_markup(run, a, "a format"))
        return jinja_none();
    if (op == JINJA_ADD && a.kind == JINJA_STRING && b.kind == JINJA_STRING)
        return a.mark == JINJA_MARKUP || b.mark == JINJA_MARKUP
                   ? jinja_markup_join(run, a, b)
                   : jinja_text_concat(run, a.string, b.string);
    if (op == JINJA_ADD && jinja_is_list(a) && a.kind == b.kind)
        return join_lists(run, a, b);
    if (op == JINJA_ADD && a.kind == JINJA_STRING && b.kind != JINJA_UNDEFINED) {
        jinja_fail(run, STATUS_BAD_INPUT, "can only concatenate str (not \"%s\") to str",
                   jinja_value_type(b));
        return jinja_none();
    }
    if (op == JINJA_MOD && a.kind == JINJA_STRING)
        return jinja_percent_format(run, a.string, b);
    if (op == JINJA_MUL && jinja_is_whole(b) && (a.kind == JINJA_STRING || jinja_is_list(a)))
        return repeat(run, a, jinja_value_int(b));
    if (op == JINJA_MUL && jinja_is_whole(a) && (b.kind == JINJA_STRING || jinja_is_list(b)))
        return repeat(run, b, jinja_value_int(a));
    return refuse(run, op, a, b);
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

static struct jinja_value make_range(struct jinja_run *run, struct jinja_range range)
{
    struct jinja_range *kept = jinja_take(run, sizeof(*kept));
    if (kept == NULL)
        return jinja_none();
    *kept = range;
    return (struct jinja_value){ .kind = JINJA_RANGE, .range = kept };
}

struct jinja_value jinja_arith_range(struct jinja_run *run, int64_t start, int64_t stop,
                                     int64_t step)
{
    struct jinja_range range = { start, stop, step, 0 };
    __extension__ typedef __int128 wide;
    wide span = step > 0 ? (wide)stop - start : (wide)start - stop;
    wide stride = step > 0 ? (wide)step : -(wide)step;
    wide n = span <= 0 ? 0 : (span + stride - 1) / stride;
    if (n > JINJA_RANGE_MAX) {
        jinja_fail(run, STATUS_TOO_LARGE, "a range of more than %d", JINJA_RANGE_MAX);
        return jinja_none();
    }
    range.n = (int64_t)n;
    return make_range(run, range);
}

static void refuse_slice(struct jinja_run *run, struct jinja_value of)
{
    jinja_value_refuse_undefined(run, of);
    if (of.kind == JINJA_FUNCTION)
        jinja_fail(run, STATUS_UNSUPPORTED, "a slice of a function");
    if (of.kind != JINJA_STRING && of.kind != JINJA_RANGE && !jinja_is_list(of))
        jinja_fail(run, STATUS_BAD_INPUT, "'%s' object has no slices", jinja_value_type(of));
}

struct jinja_value jinja_arith_slice(struct jinja_run *run, struct jinja_value of,
                                     const struct jinja_value bounds[3])
{
    refuse_slice(run, of);
    for (int i = 0; i < 3; i++) {
        if (bounds[i].kind != JINJA_NONE && !jinja_is_whole(bounds[i]))
            jinja_fail(run, STATUS_BAD_INPUT, "slice indices must be integers, not %s",
                       jinja_value_type(bounds[i]));
    }
    int64_t step = bounds[2].kind == JINJA_NONE ? 1 : jinja_value_int(bounds[2]);
    if (step == 0)
        jinja_fail(run, STATUS_BAD_INPUT, "slice step cannot be zero");
    int64_t n = jinja_failed(run) ? 0 : jinja_value_length(run, of);
    if (jinja_failed(run))
        return jinja_none();
    int64_t first = slice_end(bounds[0], n, step, true);
    int64_t end = slice_end(bounds[1], n, step, false);
    if (of.kind == JINJA_STRING && step == 1) {
        of.string = jinja_text_part(run, of.string, first, end);
        return of; /* with its mark */
    }
    if (of.kind == JINJA_RANGE) {
        const struct jinja_range *r = of.range;
        int64_t stride;
        if (__builtin_mul_overflow(r->step, step, &stride))
            return refuse_large(run);
        return jinja_arith_range(run, r->start + first * r->step, r->start + end * r->step, stride);
    }
    step = step > n + 1 ? n + 1 : step < -n - 1 ? -n - 1 : step;
    struct jinja_value items = of.kind == JINJA_STRING ? jinja_iter_list(run, of) : of;
    struct jinja_value out = jinja_value_list(run, jinja_is_list(of) ? of.kind : JINJA_LIST);
    for (int64_t at = first; !jinja_failed(run) && (step > 0 ? at < end : at > end); at += step)
        jinja_value_push(run, out, items.list->at[at]);
    if (of.kind != JINJA_STRING)
        return out;
    of.string = jinja_text_join(run, view_of("", 0), out, true).string;
    return of;
}
