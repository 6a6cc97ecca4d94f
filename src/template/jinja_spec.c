/* Fills fields as Python's format() and % do. Widths and precisions are bounded. */
#include "template/jinja_spec.h"
#include "template/jinja_number.h"
#include "template/jinja_text.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_align(char c)
{
    return c == '<' || c == '>' || c == '=' || c == '^';
}

static bool read_count(struct jinja_run *run, struct view text, size_t *i, int64_t limit,
                       int64_t *out)
{
    size_t start = *i;
    *out = 0;
    for (; *i < text.n && text.at[*i] >= '0' && text.at[*i] <= '9'; (*i)++) {
        *out = *out * 10 + (text.at[*i] - '0');
        if (*out > limit) {
            jinja_fail(run, STATUS_TOO_LARGE, "a format of more than %lld letters",
                       (long long)limit);
            return false;
        }
    }
    return *i > start;
}

bool jinja_spec_parse(struct jinja_run *run, struct view text, struct jinja_spec *spec)
{
    *spec = (struct jinja_spec){ .precision = -1 };
    size_t i = 0, n_fill = text.n == 0 ? 0 : jinja_text_offset(text, 1);
    if (n_fill > 0 && n_fill < text.n && is_align(text.at[n_fill])) {
        memcpy(spec->fill, text.at, n_fill);
        spec->align = text.at[n_fill];
        i = n_fill + 1;
    } else if (text.n > 0 && is_align(text.at[0])) {
        spec->align = text.at[i++];
    }
    if (i < text.n && (text.at[i] == '+' || text.at[i] == '-' || text.at[i] == ' '))
        spec->sign = text.at[i++];
    if (i < text.n && text.at[i] == 'z')
        jinja_fail(run, STATUS_UNSUPPORTED, "the flag z of a format");
    if (i < text.n && text.at[i] == '#')
        spec->alternate = text.at[i++] == '#';
    if (i < text.n && text.at[i] == '0' && spec->fill[0] == '\0') {
        spec->zero = true;
        i++;
    }
    (void)read_count(run, text, &i, JINJA_WIDTH_MAX, &spec->width);
    if (i < text.n && (text.at[i] == ',' || text.at[i] == '_'))
        spec->grouping = text.at[i++];
    if (i < text.n && text.at[i] == '.') {
        i++;
        if (!read_count(run, text, &i, JINJA_PRECISION_MAX, &spec->precision))
            jinja_fail(run, STATUS_BAD_INPUT, "Format specifier missing precision");
    }
    if (i < text.n)
        spec->type = text.at[i++];
    bool has_nul = text.n > 0 && memchr(text.at, '\0', text.n) != NULL;
    if (i != text.n || (unsigned char)spec->type >= 128 || has_nul)
        jinja_fail(run, STATUS_BAD_INPUT, "Invalid format specifier");
    return !jinja_failed(run);
}

static struct view fill_of(const struct jinja_spec *spec, const char *usual)
{
    return view_text(spec->fill[0] != '\0' ? spec->fill : usual);
}

/* prefix is the sign and "0x", which come before the filling of '='. */
static void pad(struct jinja_run *run, const struct jinja_spec *spec, struct view prefix,
                struct view body, struct str *out)
{
    bool is_zero = spec->zero && spec->align == '\0';
    char align = is_zero ? '=' : spec->align == '\0' ? '>' : spec->align;
    struct view fill = fill_of(spec, spec->zero ? "0" : " ");
    int64_t n = jinja_text_length(run, prefix) + jinja_text_length(run, body);
    int64_t n_fill = max_i64(spec->width - n, 0), n_left = align == '>'   ? n_fill
                                                           : align == '^' ? n_fill / 2
                                                                          : 0;
    (void)jinja_charge(run, n_fill / 16);
    for (int64_t i = 0; i < n_left; i++)
        str_add(out, fill.at, fill.n);
    str_add(out, prefix.at, prefix.n);
    for (int64_t i = 0; i < n_fill && align == '='; i++)
        str_add(out, fill.at, fill.n);
    str_add(out, body.at, body.n);
    for (int64_t i = n_left; i < n_fill && align != '='; i++)
        str_add(out, fill.at, fill.n);
}

void jinja_spec_text(struct jinja_run *run, const struct jinja_spec *spec, struct view text,
                     struct str *out)
{
    struct jinja_spec own = *spec;
    if (spec->precision >= 0)
        text = jinja_text_part(run, text, 0, spec->precision);
    if (own.align == '\0')
        own.align = '<';
    pad(run, &own, view_of("", 0), text, out);
}

/* Puts separators between groups of digits. Zeros that fill the width are grouped too. */
static void group(const struct jinja_spec *spec, struct view digits, int every, int64_t n_prefix,
                  struct str *out)
{
    size_t whole = every == 4 ? digits.n : strspn(digits.at, "0123456789");
    int64_t n = (int64_t)whole, n_others = (int64_t)(digits.n - whole) + n_prefix;
    bool is_zero = spec->zero || strcmp(spec->fill, "0") == 0;
    bool fills = is_zero && (spec->align == '=' || (spec->zero && spec->align == '\0'));
    while (fills && n > 0 && n + (n - 1) / every + n_others < spec->width)
        n++;
    int64_t n_zeros = n - (int64_t)whole;
    for (int64_t i = 0; i < n; i++) {
        if (i > 0 && (n - i) % every == 0)
            str_add_char(out, spec->grouping);
        str_add_char(out, i < n_zeros ? '0' : digits.at[i - n_zeros]);
    }
    str_add(out, digits.at + whole, digits.n - whole);
}

static const char *sign_of(const struct jinja_spec *spec, bool is_negative)
{
    return is_negative ? "-" : spec->sign == '+' ? "+" : spec->sign == ' ' ? " " : "";
}

static void finish(struct jinja_run *run, const struct jinja_spec *spec, const char *prefix,
                   struct view digits, int every, struct str *out)
{
    struct str grouped;
    str_init(&grouped);
    if (spec->grouping != '\0') {
        group(spec, digits, every, (int64_t)strlen(prefix), &grouped);
        digits = view_of(grouped.at, grouped.n);
    }
    pad(run, spec, view_text(prefix), digits, out);
    str_free(&grouped);
}

static void refuse_type(struct jinja_run *run, const struct jinja_spec *spec, const char *of)
{
    jinja_fail(run, STATUS_BAD_INPUT, "Unknown format code '%c' for object of type '%s'",
               spec->type, of);
}

static void print_letter(struct jinja_run *run, const struct jinja_spec *spec, int64_t value,
                         struct str *out)
{
    char letter[4];
    int n = value < 0 || value > 0x10FFFF ? 0 : utf8_encode((uint32_t)value, letter);
    if (spec->sign != '\0' || spec->alternate || spec->grouping != '\0')
        jinja_fail(run, STATUS_BAD_INPUT, "Sign not allowed with integer format specifier 'c'");
    if (n == 0 && value >= 0xD800 && value < 0xE000)
        jinja_fail(run, STATUS_UNSUPPORTED, "half of a surrogate pair in a format");
    if (n == 0)
        jinja_fail(run, STATUS_BAD_INPUT, "%%c arg not in range(0x110000)");
    pad(run, spec, view_of("", 0), view_of(letter, (size_t)n), out);
}

void jinja_spec_int(struct jinja_run *run, const struct jinja_spec *spec, int64_t value,
                    struct str *out)
{
    char type = spec->type == '\0' || spec->type == 'n' ? 'd' : spec->type;
    int base = type == 'b' ? 2 : type == 'o' ? 8 : type == 'x' || type == 'X' ? 16 : 10;
    if (strchr("bcdoxX", type) == NULL) {
        refuse_type(run, spec, "int");
        return;
    }
    if (spec->precision >= 0)
        jinja_fail(run, STATUS_BAD_INPUT, "Precision not allowed in integer format specifier");
    if (spec->grouping == ',' && (base != 10 || spec->type == 'n'))
        jinja_fail(run, STATUS_BAD_INPUT, "Cannot specify ',' with '%c'", spec->type);
    if (spec->grouping == '_' && spec->type == 'n')
        jinja_fail(run, STATUS_BAD_INPUT, "Cannot specify '_' with 'n'");
    if (type == 'c')
        print_letter(run, spec, value, out);
    if (type == 'c' || jinja_failed(run))
        return;
    char digits[72], prefix[8];
    size_t at = sizeof(digits);
    uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    digits[--at] = '\0';
    do {
        digits[--at] =
            (type == 'X' ? "0123456789ABCDEF" : "0123456789abcdef")[rest % (uint64_t)base];
        rest /= (uint64_t)base;
    } while (rest > 0);
    char mark[3] = { '0', type, '\0' };
    (void)snprintf(prefix, sizeof(prefix), "%s%s", sign_of(spec, value < 0),
                   spec->alternate && base != 10 ? mark : "");
    finish(run, spec, prefix, view_of(digits + at, sizeof(digits) - 1 - at), base == 10 ? 3 : 4,
           out);
}

/* Prints as "%.*e". The zeros at the end of its digits are dropped unless the spec keeps them. */
static void print_exponent(const struct jinja_spec *spec, int precision, double value,
                           struct str *out)
{
    char text[JINJA_PRECISION_MAX + 400];
    (void)snprintf(text, sizeof(text), spec->alternate ? "%#.*e" : "%.*e", precision - 1, value);
    char *e = strchr(text, 'e'), *end = e;
    bool has_point = memchr(text, '.', (size_t)(e - text)) != NULL;
    while (has_point && !spec->alternate && end[-1] == '0')
        end--;
    end -= has_point && !spec->alternate && end[-1] == '.';
    str_add(out, text, (size_t)(end - text));
    str_add_text(out, e);
}

/* Prints without a type: repr's digits, or as many as the precision, with a point or an
 * exponent. */
static void print_shortest(struct jinja_run *run, const struct jinja_spec *spec, double value,
                           struct str *out)
{
    if (spec->precision < 0) {
        if (spec->alternate)
            jinja_fail(run, STATUS_UNSUPPORTED, "the flag # of a format without precision");
        jinja_number_print(value, false, out);
        return;
    }
    char text[JINJA_PRECISION_MAX + 400];
    int precision = spec->precision == 0 ? 1 : (int)spec->precision;
    (void)snprintf(text, sizeof(text), "%.*e", precision - 1, value);
    int exponent = atoi(strchr(text, 'e') + 1);
    if (exponent < -4 || exponent >= precision - 1) {
        print_exponent(spec, precision, value, out);
        return;
    }
    (void)snprintf(text, sizeof(text), spec->alternate ? "%#.*g" : "%.*g", precision, value);
    str_add_text(out, text);
    if (strchr(text, '.') == NULL)
        str_add_text(out, ".0");
}

static void print_real(struct jinja_run *run, const struct jinja_spec *spec, double value,
                       struct str *out)
{
    char type = spec->type == 'n' ? 'g' : spec->type == '%' ? 'f' : spec->type;
    int precision = spec->precision < 0 ? 6 : (int)spec->precision;
    if (type == '\0') {
        print_shortest(run, spec, value, out);
        return;
    }
    char format[8];
    (void)snprintf(format, sizeof(format), "%%%s.*%c", spec->alternate ? "#" : "", type);
    char text[JINJA_PRECISION_MAX + 400];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    (void)snprintf(text, sizeof(text), format, precision, value);
#pragma GCC diagnostic pop
    str_add_text(out, text);
    if (spec->type == '%')
        str_add_char(out, '%');
}

void jinja_spec_real(struct jinja_run *run, const struct jinja_spec *spec, double value,
                     struct str *out)
{
    if (spec->type != '\0' && strchr("eEfFgGn%", spec->type) == NULL) {
        refuse_type(run, spec, "float");
        return;
    }
    if (spec->grouping != '\0' && spec->type == 'n')
        jinja_fail(run, STATUS_BAD_INPUT, "Cannot specify ',' with 'n'");
    struct str digits;
    str_init(&digits);
    double size = spec->type == '%' ? fabs(value) * 100 : fabs(value);
    if (isfinite(size)) {
        print_real(run, spec, size, &digits);
    } else {
        bool is_upper = spec->type == 'E' || spec->type == 'F' || spec->type == 'G';
        str_add_text(&digits, isnan(size) ? (is_upper ? "NAN" : "nan") : is_upper ? "INF" : "inf");
        str_add_text(&digits, spec->type == '%' ? "%" : "");
    }
    bool is_negative = signbit(value) && !isnan(value);
    finish(run, spec, sign_of(spec, is_negative), view_of(digits.at, digits.n), 3, out);
    str_free(&digits);
}
