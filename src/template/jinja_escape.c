/* Undoes the escapes of string literals as jinja2 does. jinja2 encodes letters outside of ASCII
 * first, so a backslash before such a letter shows the letter's number. */
#include "template/jinja_escape.h"
#include <stdio.h>
#include <string.h>

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Reads the digits behind the letter of \x, \u and \U, or those of an octal escape. Returns their
 * number; -1 when some are missing. */
static int read_code(struct view body, uint32_t *code)
{
    char kind = body.at[0];
    size_t n_digits = kind == 'x' ? 2 : kind == 'u' ? 4 : kind == 'U' ? 8 : 0, i = 0;
    *code = 0;
    if (n_digits == 0) {
        for (; i < body.n && i < 3 && body.at[i] >= '0' && body.at[i] <= '7'; i++)
            *code = *code * 8 + (uint32_t)(body.at[i] - '0');
        return (int)i;
    }
    for (i = 1; i <= n_digits; i++) {
        int digit = i < body.n ? hex_value(body.at[i]) : -1;
        if (digit < 0)
            return -1;
        *code = *code * 16 + (uint32_t)digit;
    }
    return (int)i;
}

/* Undoes one escape, from behind its backslash. Returns its bytes. */
static size_t undo_one(struct jinja_run *run, struct view body, struct str *out)
{
    static const char from[] = "ntr\\'\"abfv", to[] = "\n\t\r\\'\"\a\b\f\v";
    char c = body.at[0], letter[4];
    const char *known = memchr(from, c, sizeof(from) - 1);
    uint32_t code;
    if (c == '\n')
        return 1;
    if (known != NULL) {
        str_add_char(out, to[known - from]);
        return 1;
    }
    if (c == 'N' || (unsigned char)c >= 128) {
        int n = utf8_decode(body, &code);
        if (c == 'N')
            jinja_fail(run, STATUS_UNSUPPORTED, "the escape \\N in a string");
        else
            str_printf(out, code < 256 ? "\\x%02x" : code < 65536 ? "\\u%04x" : "\\U%08x", code);
        return n > 0 ? (size_t)n : 1;
    }
    int n = read_code(body, &code);
    if (n < 0 || code > 0x10FFFF) {
        jinja_fail(run, STATUS_BAD_INPUT, "an escape of a string is cut short or has no letter");
    } else if (n > 0) {
        int n_bytes = utf8_encode(code, letter);
        if (n_bytes == 0)
            jinja_fail(run, STATUS_UNSUPPORTED, "half of a surrogate pair (\\u%04x) in a string",
                       code);
        str_add(out, letter, (size_t)n_bytes);
    } else {
        str_add_char(out, '\\');
    }
    return n < 0 ? body.n : (size_t)n;
}

struct view jinja_escape_undo(struct jinja_run *run, struct view body)
{
    if (body.n == 0 || memchr(body.at, '\\', body.n) == NULL)
        return body;
    struct str out;
    str_init(&out);
    for (size_t i = 0; i < body.n && !jinja_failed(run);) {
        if (body.at[i] != '\\' || i + 1 == body.n)
            str_add_char(&out, body.at[i++]);
        else
            i += 1 + undo_one(run, view_of(body.at + i + 1, body.n - i - 1), &out);
    }
    char *copy = jinja_take(run, out.n + 1);
    size_t n = copy == NULL ? 0 : out.n;
    if (n > 0)
        memcpy(copy, out.at, n);
    str_free(&out);
    return view_of(copy == NULL ? "" : copy, n);
}
