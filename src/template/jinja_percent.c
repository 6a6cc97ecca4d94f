/* C-style formats as in Python's str: %(key)s, flags, width, precision, and the types d i u o x X e
 * E f F g G c r s a %. */
#include "template/jinja_percent.h"
#include "template/jinja_number.h"
#include "template/jinja_print.h"
#include "template/jinja_spec.h"
#include "template/jinja_text.h"
#include "template/jinja_value.h"
#include <math.h>
#include <string.h>

struct percent {
    struct jinja_run *run;
    struct view format;
    size_t at;
    const struct jinja_value *values; /* arguments by place */
    int64_t n, used;
    struct jinja_value mapping; /* MISSING: there is none */
    struct str *out;
};

static char peek(const struct percent *p)
{
    return p->at < p->format.n ? p->format.at[p->at] : '\0';
}

static struct jinja_value next_value(struct percent *p)
{
    if (p->used < p->n)
        return p->values[p->used++];
    jinja_fail(p->run, STATUS_BAD_INPUT, "not enough arguments for format string");
    return jinja_none();
}

/* Reads "(key)". From here on the key's value is the only argument. */
static bool read_key(struct percent *p, struct jinja_value *value)
{
    if (peek(p) != '(')
        return false;
    size_t start = ++p->at;
    for (int depth = 1; p->at < p->format.n; p->at++) {
        depth += p->format.at[p->at] == '(' ? 1 : p->format.at[p->at] == ')' ? -1 : 0;
        if (depth == 0)
            break;
    }
    struct view key = view_of(p->format.at + start, p->at - start);
    if (p->at == p->format.n)
        jinja_fail(p->run, STATUS_BAD_INPUT, "incomplete format key");
    p->at++;
    if (p->mapping.kind != JINJA_DICT) {
        jinja_value_refuse_undefined(p->run, p->mapping);
        jinja_fail(p->run, STATUS_BAD_INPUT, "format requires a mapping");
    }
    const struct jinja_value *found =
        jinja_failed(p->run) ? NULL : jinja_value_member(p->run, p->mapping.dict, key);
    if (found == NULL)
        jinja_fail(p->run, STATUS_BAD_INPUT, "the mapping of a format has no key '%.*s'",
                   (int)min_i64((int64_t)key.n, 60), key.at);
    *value = found == NULL ? jinja_none() : *found;
    return true;
}

/* Digits, or "*" for the next argument. */
static int64_t read_count(struct percent *p, int64_t limit)
{
    int64_t n = 0;
    if (peek(p) == '*') {
        p->at++;
        struct jinja_value value = next_value(p);
        if (!jinja_is_whole(value))
            jinja_fail(p->run, STATUS_BAD_INPUT, "* wants int");
        n = jinja_value_int(value);
    }
    for (; peek(p) >= '0' && peek(p) <= '9' && n <= limit; p->at++)
        n = n * 10 + (peek(p) - '0');
    if (n > limit || n < -limit)
        jinja_fail(p->run, STATUS_TOO_LARGE, "a format of more than %lld letters",
                   (long long)limit);
    return n;
}

static struct jinja_spec read_spec(struct percent *p)
{
    struct jinja_spec spec = { .precision = -1 };
    bool is_left = false;
    for (; strchr("-+ #0", peek(p)) != NULL && peek(p) != '\0'; p->at++) {
        char flag = peek(p);
        is_left = is_left || flag == '-';
        spec.alternate = spec.alternate || flag == '#';
        spec.zero = spec.zero || flag == '0';
        if (flag == '+' || (flag == ' ' && spec.sign == '\0'))
            spec.sign = flag;
    }
    spec.width = read_count(p, JINJA_WIDTH_MAX);
    if (spec.width < 0) {
        is_left = true;
        spec.width = -spec.width;
    }
    if (peek(p) == '.') {
        p->at++;
        spec.precision = max_i64(read_count(p, JINJA_PRECISION_MAX), 0);
    }
    if (peek(p) == 'h' || peek(p) == 'l' || peek(p) == 'L')
        p->at++;
    if (p->at >= p->format.n)
        jinja_fail(p->run, STATUS_BAD_INPUT, "incomplete format");
    else if (peek(p) == '\0')
        jinja_fail(p->run, STATUS_BAD_INPUT, "unsupported format character");
    spec.type = peek(p);
    p->at += p->at < p->format.n;
    if (is_left) {
        spec.align = '<';
        spec.zero = false;
    }
    return spec;
}

/* Prints the digits of an int, at least as many as the precision. */
static void print_whole(struct percent *p, struct jinja_spec spec, int64_t value)
{
    char mark = spec.type;
    struct jinja_spec digits = { .precision = -1,
                                 .type = strchr("diu", mark) != NULL ? 'd' : mark };
    struct str text;
    str_init(&text);
    bool is_negative = value < 0;
    digits.width = spec.precision > 0 ? spec.precision : 0;
    digits.zero = true;
    if (value == INT64_MIN)
        jinja_fail(p->run, STATUS_UNSUPPORTED, "an integer of more than 64 bits");
    jinja_spec_int(p->run, &digits, is_negative && value != INT64_MIN ? -value : value, &text);
    char prefix[4] = { mark == 'o' || mark == 'x' || mark == 'X' ? '0' : '\0', mark, '\0' };
    struct str whole;
    str_init(&whole);
    str_add_text(&whole, is_negative ? "-" : spec.sign == '+' ? "+" : spec.sign == ' ' ? " " : "");
    str_add_text(&whole, spec.alternate ? prefix : "");
    int64_t n_prefix = (int64_t)whole.n, n_fill = spec.width - n_prefix - (int64_t)text.n;
    for (int64_t i = 0; spec.zero && i < n_fill; i++)
        str_add_char(&whole, '0');
    str_add(&whole, text.at, text.n);
    struct jinja_spec field = { .precision = -1,
                                .width = spec.width,
                                .align = spec.align == '<' ? '<' : '>' };
    jinja_spec_text(p->run, &field, view_of(whole.at, whole.n), p->out);
    str_free(&text);
    str_free(&whole);
}

static void format_whole(struct percent *p, const struct jinja_spec *spec, struct jinja_value v)
{
    bool is_decimal = strchr("diu", spec->type) != NULL;
    int64_t value = 0;
    jinja_value_refuse_undefined(p->run, v);
    if (jinja_is_whole(v))
        value = jinja_value_int(v);
    else if (v.kind != JINJA_FLOAT || !is_decimal || !isfinite(v.real))
        jinja_fail(p->run, STATUS_BAD_INPUT, "%%%c format: a number is required, not %s",
                   spec->type, jinja_value_type(v));
    else if (!jinja_number_whole(v.real, &value))
        jinja_fail(p->run, STATUS_UNSUPPORTED, "an integer of more than 64 bits");
    print_whole(p, *spec, value);
}

static void format_letter(struct percent *p, const struct jinja_spec *spec, struct jinja_value v)
{
    struct jinja_spec field = { .precision = -1,
                                .width = spec->width,
                                .align = spec->align == '<' ? '<' : '>' };
    if (v.kind == JINJA_STRING && jinja_text_length(p->run, v.string) == 1) {
        jinja_spec_text(p->run, &field, v.string, p->out);
        return;
    }
    field.type = 'c';
    if (!jinja_is_whole(v))
        jinja_fail(p->run, STATUS_BAD_INPUT, "%%c requires int or char");
    jinja_spec_int(p->run, &field, jinja_value_int(v), p->out);
}

static void format_one(struct percent *p, struct jinja_spec *spec, struct jinja_value v)
{
    struct str text;
    str_init(&text);
    if (spec->type == 's') {
        jinja_print_value(p->run, v, &text);
    } else if (spec->type == 'r') {
        jinja_print_repr(p->run, v, &text);
    } else if (spec->type == 'a') {
        jinja_print_ascii(p->run, v, &text);
    } else if (strchr("diuoxX", spec->type) != NULL) {
        format_whole(p, spec, v);
    } else if (spec->type == 'c') {
        format_letter(p, spec, v);
    } else if (strchr("eEfFgG", spec->type) != NULL) {
        jinja_value_refuse_undefined(p->run, v);
        if (!jinja_is_number(v))
            jinja_fail(p->run, STATUS_BAD_INPUT, "must be real number, not %s",
                       jinja_value_type(v));
        jinja_spec_real(p->run, spec, jinja_value_real(v), p->out);
    } else {
        jinja_fail(p->run, STATUS_BAD_INPUT, "unsupported format character");
    }
    if (strchr("sra", spec->type) != NULL) {
        struct jinja_spec field = { .precision = spec->precision,
                                    .width = spec->width,
                                    .align = spec->align == '<' ? '<' : '>' };
        jinja_spec_text(p->run, &field, view_of(text.at == NULL ? "" : text.at, text.n), p->out);
    }
    str_free(&text);
}

struct jinja_value jinja_percent_format(struct jinja_run *run, struct view format,
                                        struct jinja_value values)
{
    struct str out;
    str_init(&out);
    struct percent p = { .run = run, .format = format, .values = &values, .n = 1, .out = &out };
    if (values.kind == JINJA_TUPLE) {
        p.values = values.list->at;
        p.n = values.list->n;
    } else if (values.kind == JINJA_DICT || values.kind == JINJA_LIST ||
               values.kind == JINJA_RANGE || values.kind == JINJA_UNDEFINED) {
        p.mapping = values; /* a value that has items may stay unused */
    }
    while (p.at < format.n && jinja_charge(run, 1) && jinja_fits(run, &out)) {
        struct jinja_value value = jinja_missing();
        char c = format.at[p.at++];
        if (c != '%') {
            str_add_char(&out, c);
            continue;
        }
        if (peek(&p) == '%') {
            str_add_char(&out, format.at[p.at++]);
            continue;
        }
        bool has_key = read_key(&p, &value);
        if (has_key)
            p.used = p.n = 1; /* the key's value is the last argument */
        struct jinja_spec spec = read_spec(&p);
        if (!jinja_failed(run) && spec.type == '%')
            jinja_fail(run, STATUS_UNSUPPORTED, "a format %%%% with flags or a width");
        if (!jinja_failed(run) && !has_key)
            value = next_value(&p);
        if (!jinja_failed(run))
            format_one(&p, &spec, value);
    }
    if (p.used < p.n && p.mapping.kind == JINJA_MISSING)
        jinja_fail(run, STATUS_BAD_INPUT, "not all arguments converted during string formatting");
    return jinja_value_keep(run, &out);
}
