/* int, float, abs, round and filesizeformat. */
#include "template/jinja_convert.h"
#include "template/jinja_arith.h"
#include "template/jinja_number.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct jinja_value refuse_large(struct jinja_run *run)
{
    jinja_fail(run, STATUS_UNSUPPORTED, "an integer of more than 64 bits");
    return jinja_none();
}

/* Computes int(f) for a finite f. */
static struct jinja_value truncate(struct jinja_run *run, double f)
{
    int64_t whole;
    return jinja_number_whole(f, &whole) ? jinja_int(whole) : refuse_large(run);
}

/* Computes int(float(text)), which jinja2 tries when int(text) fails. */
static struct jinja_value int_of_text(struct jinja_run *run, struct view text,
                                      const struct jinja_value *base, struct jinja_value fallback)
{
    int64_t whole;
    double real;
    bool has_base = base == NULL || jinja_is_whole(*base);
    enum jinja_number kind = JINJA_NUMBER_BAD;
    if (has_base)
        kind = jinja_number_int(text, base == NULL ? 10 : jinja_value_int(*base), &whole);
    if (kind == JINJA_NUMBER_GOOD)
        return jinja_int(whole);
    if (kind == JINJA_NUMBER_LARGE)
        return refuse_large(run);
    kind = jinja_number_real(text, &real);
    if (kind == JINJA_NUMBER_LARGE)
        return refuse_large(run);
    return kind == JINJA_NUMBER_GOOD && isfinite(real) ? truncate(run, real) : fallback;
}

struct jinja_value jinja_convert_int(struct jinja_run *run, struct jinja_value v,
                                     const struct jinja_value *const *given,
                                     const struct jinja_args *args, int variant)
{
    (void)args, (void)variant;
    struct jinja_value fallback = given[0] != NULL ? *given[0] : jinja_int(0);
    if (v.kind == JINJA_STRING)
        return int_of_text(run, v.string, given[1], fallback);
    if (jinja_is_whole(v))
        return jinja_int(jinja_value_int(v));
    jinja_value_refuse_undefined(run, v);
    if (v.kind != JINJA_FLOAT || isnan(v.real))
        return fallback;
    if (isinf(v.real))
        jinja_fail(run, STATUS_BAD_INPUT, "cannot convert float infinity to integer");
    return jinja_failed(run) ? jinja_none() : truncate(run, v.real);
}

struct jinja_value jinja_convert_float(struct jinja_run *run, struct jinja_value v,
                                       const struct jinja_value *const *given,
                                       const struct jinja_args *args, int variant)
{
    (void)args, (void)variant;
    struct jinja_value fallback = given[0] != NULL ? *given[0] : jinja_float(0);
    double real;
    if (jinja_is_number(v))
        return jinja_float(jinja_value_real(v));
    jinja_value_refuse_undefined(run, v);
    if (v.kind != JINJA_STRING)
        return fallback;
    enum jinja_number kind = jinja_number_real(v.string, &real);
    if (kind == JINJA_NUMBER_LARGE)
        return refuse_large(run);
    return kind == JINJA_NUMBER_GOOD ? jinja_float(real) : fallback;
}

struct jinja_value jinja_convert_abs(struct jinja_run *run, struct jinja_value v,
                                     const struct jinja_value *const *given,
                                     const struct jinja_args *args, int variant)
{
    (void)given, (void)args, (void)variant;
    if (v.kind == JINJA_FLOAT)
        return jinja_float(fabs(v.real));
    if (!jinja_is_whole(v))
        jinja_fail(run, STATUS_BAD_INPUT, "bad operand type for abs(): '%s'", jinja_value_type(v));
    if (jinja_value_int(v) == INT64_MIN)
        return refuse_large(run);
    return jinja_int(llabs(jinja_value_int(v)));
}

/* The digits of x rounded to a power of ten, half to even as printf rounds. places < 0: tens. */
static double round_places(double x, int64_t places)
{
    char text[1500];
    if (!isfinite(x) || places > 330)
        return x;
    if (places < -310)
        return copysign(0, x);
    if (places >= 0) {
        (void)snprintf(text, sizeof(text), "%.*f", (int)places, x);
        return strtod(text, NULL);
    }
    /* Prints all digits before the point, since they are exact, so that no half is lost. */
    double whole = trunc(x), part = fabs(x - whole);
    int n = snprintf(text, sizeof(text), "%.0f", fabs(whole)), cut = n + (int)places;
    if (cut < 0)
        return copysign(0, x);
    char next = text[cut];
    bool has_more = part > 0 || strspn(text + cut + 1, "0") < strlen(text + cut + 1);
    bool is_odd = cut > 0 && ((text[cut - 1] - '0') & 1) != 0;
    bool rounds_up = next > '5' || (next == '5' && (has_more || is_odd));
    char digits[330]; /* a float has at most 309 digits before its point */
    (void)snprintf(digits, sizeof(digits), "0%.*s", (int)min_i64(cut, 320), text);
    for (int i = cut; rounds_up && i >= 0; i--) {
        rounds_up = digits[i] == '9';
        digits[i] = rounds_up ? '0' : (char)(digits[i] + 1);
    }
    (void)snprintf(text, sizeof(text), "%se%d", digits, (int)-places);
    return copysign(strtod(text, NULL), x);
}

static struct jinja_value round_int(struct jinja_run *run, int64_t x, int64_t places)
{
    if (places >= 0)
        return jinja_int(x);
    if (places < -18)
        return x > -4000000000000000000 && x < 4000000000000000000 ? jinja_int(0)
                                                                   : refuse_large(run);
    int64_t unit = 1;
    for (; places < 0; places++)
        unit *= 10;
    int64_t rest = x % unit, down = x - rest, half = unit / 2;
    if (rest < 0) {
        rest += unit;
        down -= unit;
    }
    bool is_odd = (down / unit) % 2 != 0;
    bool rounds_up = rest > half || (rest == half && is_odd);
    return jinja_int(rounds_up ? down + unit : down);
}

static struct jinja_value round_common(struct jinja_run *run, struct jinja_value v,
                                       const struct jinja_value *precision)
{
    bool to_int = precision != NULL && precision->kind == JINJA_NONE;
    int64_t places = to_int ? 0 : jinja_args_int(run, precision, 0);
    if (jinja_failed(run))
        return v;
    if (jinja_is_whole(v))
        return round_int(run, jinja_value_int(v), places);
    if (!to_int)
        return jinja_float(round_places(v.real, places));
    if (!isfinite(v.real))
        jinja_fail(run, STATUS_BAD_INPUT, "cannot convert float infinity or NaN to integer");
    return jinja_failed(run) ? v : truncate(run, nearbyint(v.real));
}

/* Rounds by ceil or floor of v * 10**precision, divided by 10**precision. */
static struct jinja_value round_to(struct jinja_run *run, struct jinja_value v,
                                   const struct jinja_value *precision, bool up)
{
    struct jinja_value places = precision != NULL ? *precision : jinja_int(0);
    struct jinja_value scale = jinja_arith_binary(run, JINJA_POW, jinja_int(10), places);
    struct jinja_value scaled =
        jinja_failed(run) ? v : jinja_arith_binary(run, JINJA_MUL, v, scale);
    if (jinja_failed(run))
        return v;
    if (scaled.kind == JINJA_FLOAT && !isfinite(scaled.real))
        jinja_fail(run, STATUS_BAD_INPUT, "cannot convert float infinity or NaN to integer");
    else if (scaled.kind == JINJA_FLOAT)
        scaled = truncate(run, up ? ceil(scaled.real) : floor(scaled.real));
    return jinja_failed(run) ? v : jinja_arith_binary(run, JINJA_DIV, scaled, scale);
}

struct jinja_value jinja_convert_round(struct jinja_run *run, struct jinja_value v,
                                       const struct jinja_value *const *given,
                                       const struct jinja_args *args, int variant)
{
    (void)args, (void)variant;
    struct view method =
        given[1] != NULL ? jinja_args_text(run, given[1], view_text("none")) : view_text("common");
    bool is_common = view_equal_text(method, "common"), is_ceil = view_equal_text(method, "ceil");
    if (!is_common && !is_ceil && !view_equal_text(method, "floor"))
        jinja_fail(run, STATUS_BAD_INPUT, "method must be common, ceil or floor");
    jinja_value_refuse_undefined(run, v);
    if (!jinja_is_number(v))
        jinja_fail(run, STATUS_BAD_INPUT, "type %s doesn't define __round__ method",
                   jinja_value_type(v));
    if (jinja_failed(run))
        return v;
    return is_common ? round_common(run, v, given[0]) : round_to(run, v, given[0], is_ceil);
}

struct jinja_value jinja_convert_size(struct jinja_run *run, struct jinja_value v,
                                      const struct jinja_value *const *given,
                                      const struct jinja_args *args, int variant)
{
    (void)args, (void)variant;
    static const char *const units[] = { "k", "M", "G", "T", "P", "E", "Z", "Y" };
    double n_bytes = 0;
    bool is_binary = jinja_args_flag(given[0]);
    jinja_value_refuse_undefined(run, v);
    if (jinja_is_number(v))
        n_bytes = jinja_value_real(v);
    else if (v.kind != JINJA_STRING || jinja_number_real(v.string, &n_bytes) != JINJA_NUMBER_GOOD)
        jinja_fail(run, STATUS_BAD_INPUT, "could not convert a %s to float", jinja_value_type(v));
    if (!jinja_failed(run) && !isfinite(n_bytes))
        jinja_fail(run, STATUS_UNSUPPORTED, "the size of an infinite file");
    double base = is_binary ? 1024 : 1000, unit = base;
    struct str out;
    str_init(&out);
    if (n_bytes == 1) {
        str_add_text(&out, "1 Byte");
    } else if (n_bytes < base) {
        int64_t whole = 0;
        if (!jinja_number_whole(n_bytes, &whole))
            (void)refuse_large(run);
        str_printf(&out, "%lld Bytes", (long long)whole);
    } else {
        size_t i = 0;
        for (unit *= base; i + 1 < COUNT_OF(units) && n_bytes >= unit; i++)
            unit *= base;
        str_printf(&out, "%.1f %s%s", base * n_bytes / unit, is_binary && i == 0 ? "K" : units[i],
                   is_binary ? "iB" : "B");
    }
    return jinja_value_keep(run, &out);
}
