/* Text: the growing buffer, views, strict UTF-8 and the numbers that people write. */
#include "base/str.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/time.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void str_init(struct str *str)
{
    *str = (struct str){ 0 };
}

void str_free(struct str *str)
{
    mem_give(str->at);
    str_init(str);
}

void str_clear(struct str *str)
{
    str->n = 0;
    if (str->at != NULL)
        str->at[0] = '\0';
}

static void reserve(struct str *str, size_t n_more)
{
    CHECK(n_more < PTRDIFF_MAX / 2 - str->n);
    size_t needed = str->n + n_more + 1;
    if (needed <= str->capacity)
        return;
    size_t capacity = str->capacity < 64 ? 64 : str->capacity;
    while (capacity < needed)
        capacity *= 2;
    str->at = mem_grow(str->at, str->at == NULL ? 0 : str->n + 1, capacity);
    str->capacity = capacity;
}

bool str_try_reserve(struct str *str, size_t n_more)
{
    if (n_more >= PTRDIFF_MAX / 2 - str->n)
        return false;
    size_t needed = str->n + n_more + 1;
    if (needed <= str->capacity)
        return true;
    char *grown = mem_try(needed);
    if (grown == NULL)
        return false;
    if (str->at != NULL)
        memcpy(grown, str->at, str->n + 1);
    mem_give(str->at);
    str->at = grown;
    str->capacity = needed;
    return true;
}

void str_add(struct str *str, const char *bytes, size_t n)
{
    reserve(str, n);
    if (n > 0)
        memcpy(str->at + str->n, bytes, n);
    str->n += n;
    str->at[str->n] = '\0';
}

void str_add_text(struct str *str, const char *text)
{
    str_add(str, text, strlen(text));
}

void str_add_char(struct str *str, char c)
{
    str_add(str, &c, 1);
}

void str_printf(struct str *str, const char *fmt, ...)
{
    va_list args;
    reserve(str, 80); /* most lines fit at the first try */
    size_t room = str->capacity - str->n;
    va_start(args, fmt);
    int n = vsnprintf(str->at + str->n, room, fmt, args);
    va_end(args);
    CHECK(n >= 0);
    if ((size_t)n >= room) {
        reserve(str, (size_t)n);
        va_start(args, fmt);
        n = vsnprintf(str->at + str->n, str->capacity - str->n, fmt, args);
        va_end(args);
        CHECK(n >= 0);
    }
    str->n += (size_t)n;
}

struct view view_text(const char *text)
{
    return view_of(text, strlen(text));
}

bool view_equal(struct view a, struct view b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.at, b.at, a.n) == 0);
}

bool view_equal_text(struct view a, const char *text)
{
    return view_equal(a, view_text(text));
}

bool view_starts(struct view a, const char *prefix)
{
    size_t n = strlen(prefix);
    return a.n >= n && view_equal(view_of(a.at, n), view_of(prefix, n));
}

/* The Unicode Standard, table 3-7: which second bytes a first byte admits; further bytes
 * are 80..BF. */
int utf8_decode(struct view v, uint32_t *codepoint)
{
    if (v.n == 0)
        return -1;
    const unsigned char *s = (const unsigned char *)v.at;
    unsigned char low = 0x80, high = 0xBF;
    int length;
    uint32_t c;
    if (s[0] < 0x80) {
        length = 1;
        c = s[0];
    } else if (s[0] >= 0xC2 && s[0] <= 0xDF) {
        length = 2;
        c = s[0] & 0x1Fu;
    } else if ((s[0] & 0xF0) == 0xE0) {
        length = 3;
        c = s[0] & 0x0Fu;
        low = s[0] == 0xE0 ? 0xA0 : 0x80;
        high = s[0] == 0xED ? 0x9F : 0xBF;
    } else if (s[0] >= 0xF0 && s[0] <= 0xF4) {
        length = 4;
        c = s[0] & 0x07u;
        low = s[0] == 0xF0 ? 0x90 : 0x80;
        high = s[0] == 0xF4 ? 0x8F : 0xBF;
    } else {
        return 0;
    }
    for (int i = 1; i < length; i++) {
        if ((size_t)i >= v.n)
            return -1;
        if (s[i] < low || s[i] > high)
            return 0;
        c = c << 6 | (s[i] & 0x3Fu);
        low = 0x80;
        high = 0xBF;
    }
    if (codepoint != NULL)
        *codepoint = c;
    return length;
}

int utf8_encode(uint32_t codepoint, char out[4])
{
    uint32_t c = codepoint;
    if (c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF))
        return 0;
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    int n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const unsigned char marks[] = { 0, 0, 0xC0, 0xE0, 0xF0 };
    for (int i = n - 1; i > 0; i--) {
        out[i] = (char)(0x80 | (c & 0x3F));
        c >>= 6;
    }
    out[0] = (char)(marks[n] | c);
    return n;
}

bool utf8_is_space(uint32_t c)
{
    return (c >= 9 && c <= 13) || c == ' ' || c == 0x85 || c == 0xA0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F ||
           c == 0x205F || c == 0x3000;
}

void utf8_tame(char *text)
{
    size_t n = strlen(text);
    for (size_t i = 0; i < n;) {
        uint32_t c = 0;
        int length = utf8_decode(view_of(text + i, n - i), &c);
        if (length <= 0)
            text[i] = '?';
        else if (c < 0x20 || (c >= 0x7F && c < 0xA0))
            memset(text + i, ' ', (size_t)length);
        i += length > 0 ? (size_t)length : 1;
    }
}

bool utf8_is_valid(struct view v)
{
    for (size_t i = 0; i < v.n;) {
        int n = utf8_decode(view_of(v.at + i, v.n - i), NULL);
        if (n <= 0)
            return false;
        i += (size_t)n;
    }
    return true;
}

bool parse_i64(const char *text, int64_t *out)
{
    const char *digits = text + (text[0] == '-' || text[0] == '+');
    if (digits[0] < '0' || digits[0] > '9')
        return false;
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (errno != 0 || *end != '\0')
        return false;
    *out = value;
    return true;
}

/* Reads a decimal number at the start of text: digits, point, exponent. Hex, names and leading
 * spaces are refused. */
static bool parse_prefix(const char *text, double *out, const char **end)
{
    const char *at = text + (text[0] == '-' || text[0] == '+');
    size_t n_whole = strspn(at, "0123456789");
    size_t n_fraction = at[n_whole] == '.' ? strspn(at + n_whole + 1, "0123456789") : 0;
    if (n_whole + n_fraction == 0 || (at[0] == '0' && (at[1] == 'x' || at[1] == 'X')))
        return false;
    char *stop;
    double value = strtod(text, &stop);
    if (!(value - value == 0))
        return false; /* overflow */
    *out = value;
    *end = stop;
    return true;
}

bool parse_f64(const char *text, double *out)
{
    const char *end;
    double value;
    if (!parse_prefix(text, &value, &end) || *end != '\0')
        return false;
    *out = value;
    return true;
}

/* Sets *out to scale times value as an int64. Returns false when out of range. */
static bool scale_to_i64(double value, double scale, int64_t *out)
{
    double scaled = num_floor(value * scale + 0.5);
    if (!(scaled >= 0 && scaled < 0x1p63))
        return false;
    *out = (int64_t)scaled;
    return true;
}

bool parse_bytes(const char *text, int64_t *out)
{
    if (parse_i64(text, out))
        return *out >= 0;
    const char *unit;
    double value, scale = 1;
    if (!parse_prefix(text, &value, &unit))
        return false;
    static const char letters[] = "KMGT";
    const char *letter = *unit != '\0' ? strchr(letters, *unit & ~0x20) : NULL;
    if (letter != NULL) {
        for (const char *l = letters; l <= letter; l++)
            scale *= 1024;
        unit++;
        if (unit[0] == 'i' && unit[1] == 'B')
            unit++;
    }
    if (*unit == 'B')
        unit++;
    return *unit == '\0' && scale_to_i64(value, scale, out);
}

bool parse_duration_ns(const char *text, int64_t *out)
{
    static const struct {
        const char *name;
        double ns;
    } units[] = { { "", 1e9 },   { "s", 1e9 },    { "ms", 1e6 },   { "us", 1e3 },   { "ns", 1 },
                  { "m", 60e9 }, { "min", 60e9 }, { "h", 3600e9 }, { "d", 86400e9 } };
    const char *unit;
    double value;
    if (!parse_prefix(text, &value, &unit))
        return false;
    for (size_t i = 0; i < COUNT_OF(units); i++) {
        if (strcmp(unit, units[i].name) != 0)
            continue;
        if (value < 0) {
            *out = -1;
            return true;
        }
        return scale_to_i64(value, units[i].ns, out);
    }
    return false;
}
