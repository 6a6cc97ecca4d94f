/* Numbers as Python reads and writes them. Integers have 64 bits here. A larger one is refused, and
 * is never a wrong number. */
#include "template/jinja_number.h"
#include "template/jinja_letter.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DIGITS_MAX = 1000 };

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static char at(struct view text, size_t i)
{
    return i < text.n ? text.at[i] : '\0';
}

/* Scans digits with single underscores between them. */
static size_t scan_digits(struct view text, size_t from)
{
    size_t i = from;
    while (is_digit(at(text, i)) || (i > from && at(text, i) == '_' && is_digit(at(text, i + 1))))
        i++;
    return i - from;
}

/* Returns the bytes of a float, 0 when it is none. A float has a fraction, an exponent or both. */
static size_t scan_float(struct view text)
{
    size_t n = scan_digits(text, 0), end = n;
    if (n > 0 && at(text, n) == '.' && is_digit(at(text, n + 1)))
        end = n + 1 + scan_digits(text, n + 1);
    char e = at(text, end), sign = at(text, end + 1);
    if (n > 0 && (e == 'e' || e == 'E')) {
        size_t first = end + 1 + (sign == '+' || sign == '-');
        size_t n_exponent = scan_digits(text, first);
        end = n_exponent > 0 ? first + n_exponent : end;
    }
    return end == n ? 0 : end;
}

static bool is_digit_of(char c, int base)
{
    int value = is_digit(c)                              ? c - '0'
                : (c | 0x20) >= 'a' && (c | 0x20) <= 'z' ? (c | 0x20) - 'a' + 10
                                                         : 99;
    return value < base;
}

/* Scans jinja2's integer literals: a prefix and digits, or digits. Only zeros may begin with a
 * zero. */
static size_t scan_int(struct view text)
{
    char prefix = (char)(at(text, 1) | 0x20);
    int base = at(text, 0) != '0' ? 10
               : prefix == 'x'    ? 16
               : prefix == 'o'    ? 8
               : prefix == 'b'    ? 2
                                  : 1;
    size_t i = base == 10 || base == 1 ? 1 : 2, start = i;
    for (; i < text.n; i++) {
        size_t next = i + (text.at[i] == '_');
        if (!is_digit_of(at(text, next), base))
            break;
        i = next;
    }
    return i == start && start == 2 ? 1 : i; /* "0x" alone is a zero and a name */
}

static size_t copy_digits(struct view text, char *out)
{
    size_t n = 0;
    for (size_t i = 0; i < text.n && n < DIGITS_MAX; i++) {
        if (text.at[i] != '_')
            out[n++] = text.at[i];
    }
    out[n] = '\0';
    return n;
}

size_t jinja_number_literal(struct jinja_run *run, struct view rest, bool allows_float,
                            bool *is_float, struct jinja_token *token)
{
    char digits[DIGITS_MAX + 1];
    size_t n = allows_float ? scan_float(rest) : 0;
    *is_float = n > 0;
    if (n == 0)
        n = scan_int(rest);
    if (n > DIGITS_MAX) {
        jinja_fail(run, STATUS_TOO_LARGE, "a number of more than %d digits", DIGITS_MAX);
        return n;
    }
    (void)copy_digits(view_of(rest.at, n), digits);
    if (*is_float)
        token->real = strtod(digits, NULL);
    else if (jinja_number_int(view_text(digits), 0, &token->integer) == JINJA_NUMBER_LARGE)
        jinja_fail(run, STATUS_UNSUPPORTED, "the integer %.40s has more than 64 bits", digits);
    if (*is_float && isinf(token->real))
        jinja_fail(run, STATUS_UNSUPPORTED, "the number %.40s is infinite", digits);
    return n;
}

/* Copies text into ASCII digits, without the white space around it, zero-terminated. Returns false
 * when it is too long or is not ASCII then. */
static bool to_ascii(struct view text, char out[DIGITS_MAX + 1])
{
    size_t n = 0;
    bool is_space = true;
    for (size_t i = 0, n_bytes; i < text.n; i += n_bytes) {
        uint32_t c = jinja_letter_at(text, i, &n_bytes);
        int digit = jinja_letter_digit(c);
        is_space = jinja_letter_is_space(c);
        if (is_space && n == 0)
            continue;
        if ((c >= 128 && digit < 0 && !is_space) || c == 0 || n == DIGITS_MAX)
            return false;
        out[n++] = is_space ? ' ' : digit >= 0 ? (char)('0' + digit) : (char)c;
    }
    while (n > 0 && out[n - 1] == ' ')
        n--;
    out[n] = '\0';
    return n > 0;
}

static const char *skip_prefix(const char *at_digit, int64_t *base)
{
    char prefix = at_digit[0] == '0' ? (char)(at_digit[1] | 0x20) : '\0';
    int64_t named = prefix == 'x' ? 16 : prefix == 'o' ? 8 : prefix == 'b' ? 2 : 0;
    if (named != 0 && (*base == named || *base == 0)) {
        *base = named;
        return at_digit + 2 + (at_digit[2] == '_');
    }
    if (*base == 0)
        *base = at_digit[0] == '0' && at_digit[strspn(at_digit, "0_")] != '\0' ? -1 : 10;
    return at_digit;
}

enum jinja_number jinja_number_int(struct view text, int64_t base, int64_t *out)
{
    char digits[DIGITS_MAX + 1];
    *out = 0;
    if (base != 0 && (base < 2 || base > 36))
        return JINJA_NUMBER_BAD;
    if (!to_ascii(text, digits))
        return text.n > DIGITS_MAX ? JINJA_NUMBER_LARGE : JINJA_NUMBER_BAD;
    bool is_negative = digits[0] == '-', is_large = false;
    const char *c = skip_prefix(digits + (digits[0] == '-' || digits[0] == '+'), &base);
    if (base < 0 || *c == '\0' || *c == '_')
        return JINJA_NUMBER_BAD;
    for (; *c != '\0'; c++) {
        c += *c == '_';
        if (!is_digit_of(*c, (int)base))
            return JINJA_NUMBER_BAD;
        int64_t digit = is_digit(*c) ? *c - '0' : (*c | 0x20) - 'a' + 10;
        is_large |= __builtin_mul_overflow(*out, base, out) ||
                    __builtin_add_overflow(*out, is_negative ? -digit : digit, out);
    }
    return is_large ? JINJA_NUMBER_LARGE : JINJA_NUMBER_GOOD;
}

static bool equals_word(const char *text, const char *word)
{
    for (; *text != '\0' && (*text | 0x20) == *word; text++)
        word++;
    return *text == '\0' && *word == '\0';
}

enum jinja_number jinja_number_real(struct view text, double *out)
{
    char digits[DIGITS_MAX + 1], plain[DIGITS_MAX + 1];
    *out = 0;
    if (!to_ascii(text, digits))
        return text.n > DIGITS_MAX ? JINJA_NUMBER_LARGE : JINJA_NUMBER_BAD;
    size_t i = digits[0] == '-' || digits[0] == '+';
    const char *word = digits + i;
    if (equals_word(word, "inf") || equals_word(word, "infinity"))
        *out = INFINITY;
    else if (equals_word(word, "nan"))
        *out = NAN;
    if (*out != 0) { /* NaN too */
        *out = digits[0] == '-' ? -*out : *out;
        return JINJA_NUMBER_GOOD;
    }
    struct view rest = view_text(word);
    size_t whole = scan_digits(rest, 0), n = whole;
    size_t fraction = at(rest, n) == '.' ? scan_digits(rest, n + 1) : 0;
    n += at(rest, n) == '.' ? 1 + fraction : 0;
    if (whole + fraction == 0)
        return JINJA_NUMBER_BAD;
    if (at(rest, n) == 'e' || at(rest, n) == 'E') {
        size_t first = n + 1 + (at(rest, n + 1) == '-' || at(rest, n + 1) == '+');
        size_t exponent = scan_digits(rest, first);
        n = exponent > 0 ? first + exponent : n;
    }
    if (n != rest.n)
        return JINJA_NUMBER_BAD;
    (void)copy_digits(view_text(digits), plain);
    *out = strtod(plain, NULL);
    return JINJA_NUMBER_GOOD;
}

void jinja_number_print(double f, bool as_json, struct str *out)
{
    if (isnan(f) || isinf(f)) {
        const char *name = isnan(f) ? "nan" : f > 0 ? "inf" : "-inf";
        const char *json = isnan(f) ? "NaN" : f > 0 ? "Infinity" : "-Infinity";
        str_add_text(out, as_json ? json : name);
        return;
    }
    char digits[40];
    int precision = 0;
    do { /* the shortest text that reads back as f */
        (void)snprintf(digits, sizeof(digits), "%.*e", precision, f);
    } while (precision++ < 16 && strtod(digits, NULL) != f);
    int exponent = atoi(strchr(digits, 'e') + 1);
    if (exponent < -4 || exponent >= 16) {
        *strchr(digits, 'e') = '\0';
        str_printf(out, "%se%c%02d", digits, exponent < 0 ? '-' : '+', abs(exponent));
        return;
    }
    int decimals = precision - 1 - exponent; /* the loop ended with precision one too high */
    str_printf(out, "%.*f", decimals < 1 ? 1 : decimals, f);
}

bool jinja_number_whole(double f, int64_t *out)
{
    if (!(f >= -0x1p63 && f < 0x1p63))
        return false;
    *out = (int64_t)f;
    return true;
}

int jinja_number_compare(int64_t a, double b)
{
    if (b >= 0x1p63 || b < -0x1p63)
        return b > 0 ? -1 : 1;
    double floor_b = floor(b);
    int64_t whole = (int64_t)floor_b;
    if (a != whole)
        return a < whole ? -1 : 1;
    return b > floor_b ? -1 : 0;
}
