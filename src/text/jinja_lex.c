/* The lexer, with jinja2's rules for white space: "-" strips all of it, trim_blocks takes the
 * newline behind a block or comment, lstrip_blocks the spaces before one that starts its line, "+"
 * forbids either. */
#include "text/jinja_lex.h"
#include "text/jinja_value.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct view jinja_lex_clean(struct jinja_run *run, struct view source)
{
    char *copy = jinja_take(run, source.n + 1);
    size_t n = 0;
    for (size_t i = 0; i < source.n && copy != NULL; i++) {
        if (source.at[i] != '\r')
            copy[n++] = source.at[i];
        else if (i + 1 == source.n || source.at[i + 1] != '\n')
            copy[n++] = '\n';
    }
    if (n > 0 && copy[n - 1] == '\n')
        n--;
    return copy == NULL ? view_of("", 0) : view_of(copy, n);
}

void jinja_lex_init(struct jinja_lex *lex, struct view source, struct jinja_run *run)
{
    *lex = (struct jinja_lex){ .source = source, .line = 1, .line_starting = true, .run = run };
}

static char peek(const struct jinja_lex *lex, size_t ahead)
{
    return lex->at + ahead < lex->source.n ? lex->source.at[lex->at + ahead] : '\0';
}

static void advance(struct jinja_lex *lex, size_t n)
{
    for (size_t i = 0; i < n && lex->at < lex->source.n; i++) {
        if (lex->source.at[lex->at++] == '\n')
            lex->line++;
    }
    lex->run->line = lex->line;
}

static struct view rest_of(const struct jinja_lex *lex)
{
    return view_of(lex->source.at + lex->at, lex->source.n - lex->at);
}

static void skip_spaces(struct jinja_lex *lex)
{
    struct view rest = rest_of(lex);
    advance(lex, rest.n - jinja_value_strip(rest, view_of(NULL, 0), JINJA_LEFT).n);
}

/* Behind a tag's closing brackets: takes what its sign and trim_blocks take. */
static void finish_tag(struct jinja_lex *lex, char sign, bool trims)
{
    size_t start = lex->at;
    if (sign == '-')
        skip_spaces(lex);
    else if (trims && sign != '+' && peek(lex, 0) == '\n')
        advance(lex, 1);
    lex->line_starting = lex->at > start && lex->source.at[lex->at - 1] == '\n';
}

/* Cuts the white space that the tag after it takes from text. */
static struct view strip_before(const struct jinja_lex *lex, struct view text, char sign,
                                bool is_print)
{
    if (sign == '-')
        return jinja_value_strip(text, view_of(NULL, 0), JINJA_RIGHT);
    if (sign == '+' || is_print)
        return text;
    size_t line = text.n;
    while (line > 0 && text.at[line - 1] != '\n')
        line--;
    if (line == 0 && !lex->line_starting)
        return text;
    for (size_t i = line; i < text.n; i++) {
        if (text.at[i] != ' ' && text.at[i] != '\t')
            return text;
    }
    return view_of(text.at, line);
}

/* "{% raw %}" and the like: the bytes of the tag when it is just that word, 0 otherwise. */
static size_t word_tag(struct view rest, const char *word, char signs[2])
{
    if (!view_starts(rest, "{%"))
        return 0;
    size_t i = 2, n_word = strlen(word);
    signs[0] = i < rest.n && (rest.at[i] == '-' || rest.at[i] == '+') ? rest.at[i++] : ' ';
    while (i < rest.n && (rest.at[i] == ' ' || rest.at[i] == '\n' || rest.at[i] == '\t'))
        i++;
    if (rest.n - i < n_word || memcmp(rest.at + i, word, n_word) != 0)
        return 0;
    i += n_word;
    while (i < rest.n && (rest.at[i] == ' ' || rest.at[i] == '\n' || rest.at[i] == '\t'))
        i++;
    signs[1] = i < rest.n && (rest.at[i] == '-' || rest.at[i] == '+') ? rest.at[i++] : ' ';
    return rest.n - i >= 2 && rest.at[i] == '%' && rest.at[i + 1] == '}' ? i + 2 : 0;
}

static enum jinja_tag read_comment(struct jinja_lex *lex)
{
    struct view rest = rest_of(lex);
    const char *end = memmem(rest.at, rest.n, "#}", 2);
    if (end == NULL) {
        jinja_fail(lex->run, STATUS_BAD_INPUT, "a comment has no end");
        return JINJA_TAG_END;
    }
    size_t n = (size_t)(end - rest.at);
    char sign = n > 2 && (end[-1] == '-' || end[-1] == '+') ? end[-1] : ' ';
    advance(lex, n + 2);
    finish_tag(lex, sign, true);
    return JINJA_TAG_COMMENT;
}

/* The text of a raw block; lex->at is at its {% raw %}. */
static enum jinja_tag read_raw(struct jinja_lex *lex, size_t n_tag, char sign, struct view *text)
{
    advance(lex, n_tag);
    finish_tag(lex, sign, true);
    size_t start = lex->at;
    char signs[2];
    for (; lex->at < lex->source.n; advance(lex, 1)) {
        size_t n_end = word_tag(rest_of(lex), "endraw", signs);
        if (n_end == 0)
            continue;
        *text =
            strip_before(lex, view_of(lex->source.at + start, lex->at - start), signs[0], false);
        advance(lex, n_end);
        finish_tag(lex, signs[1], true);
        return JINJA_TAG_RAW;
    }
    jinja_fail(lex->run, STATUS_BAD_INPUT, "a raw block has no endraw");
    return JINJA_TAG_END;
}

enum jinja_tag jinja_lex_text(struct jinja_lex *lex, struct view *text)
{
    size_t start = lex->at, n_raw;
    char signs[2];
    if ((n_raw = word_tag(rest_of(lex), "raw", signs)) > 0)
        return read_raw(lex, n_raw, signs[1], text);
    while (lex->at < lex->source.n &&
           !(peek(lex, 0) == '{' &&
             (peek(lex, 1) == '{' || peek(lex, 1) == '%' || peek(lex, 1) == '#')))
        advance(lex, 1);
    *text = view_of(lex->source.at + start, lex->at - start);
    if (lex->at >= lex->source.n)
        return lex->tag = JINJA_TAG_END;
    char kind = peek(lex, 1), sign = peek(lex, 2);
    *text = strip_before(lex, *text, sign, kind == '{');
    if (kind == '%' && word_tag(rest_of(lex), "raw", signs) > 0) {
        lex->line_starting = false;
        return lex->tag = JINJA_TAG_COMMENT; /* the next call reads it */
    }
    if (kind == '#')
        return lex->tag = read_comment(lex);
    advance(lex, sign == '-' || sign == '+' ? 3 : 2);
    lex->tag = kind == '{' ? JINJA_TAG_PRINT : JINJA_TAG_BLOCK;
    lex->n_open = 0;
    jinja_lex_next(lex);
    return lex->tag;
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Reads the digits of \x, \u and \U, or an octal escape; false when they are not all there. */
static bool read_code(struct view body, size_t *at, uint32_t *code)
{
    char c = body.at[*at];
    size_t n_digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0, i = *at + 1;
    *code = 0;
    if (n_digits == 0) {
        for (i = *at; i < body.n && i < *at + 3 && body.at[i] >= '0' && body.at[i] <= '7'; i++)
            *code = *code * 8 + (uint32_t)(body.at[i] - '0');
        bool is_octal = i > *at;
        *at = i;
        return is_octal;
    }
    for (size_t k = 0; k < n_digits; k++, i++) {
        int digit = i < body.n ? hex_value(body.at[i]) : -1;
        if (digit < 0)
            return false;
        *code = *code * 16 + (uint32_t)digit;
    }
    *at = i;
    return true;
}

/* Undoes Python's escapes. */
static struct view unescape(struct jinja_lex *lex, struct view body)
{
    if (body.n == 0 || memchr(body.at, '\\', body.n) == NULL)
        return body;
    char *out = jinja_take(lex->run, body.n + 1);
    size_t n = 0;
    for (size_t i = 0; i < body.n && out != NULL;) {
        if (body.at[i] != '\\' || i + 1 == body.n) {
            out[n++] = body.at[i++];
            continue;
        }
        static const char from[] = "ntr\\'\"abfv\n", to[] = "\n\t\r\\'\"\a\b\f\v";
        char c = body.at[++i];
        const char *known = memchr(from, c, sizeof(from) - 1);
        uint32_t code;
        if (c == '\n') {
            i++;
        } else if (known != NULL) {
            out[n++] = to[known - from];
            i++;
        } else if (read_code(body, &i, &code)) {
            n += (size_t)utf8_encode(code, out + n);
        } else {
            out[n++] = '\\';
        }
    }
    return out == NULL ? view_of("", 0) : view_of(out, n);
}

static void read_string(struct jinja_lex *lex, struct jinja_token *token)
{
    char quote = peek(lex, 0);
    size_t i = lex->at + 1;
    while (i < lex->source.n && lex->source.at[i] != quote)
        i += lex->source.at[i] == '\\' ? 2 : 1;
    if (i >= lex->source.n) {
        jinja_fail(lex->run, STATUS_BAD_INPUT, "a string has no end");
        return;
    }
    struct view body = view_of(lex->source.at + lex->at + 1, i - lex->at - 1);
    advance(lex, i + 1 - lex->at);
    token->kind = JINJA_TOKEN_STRING;
    token->text = unescape(lex, body);
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_name_byte(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           (unsigned char)c >= 128;
}

static void read_number(struct jinja_lex *lex, struct jinja_token *token)
{
    char digits[64];
    size_t n = 0, i = 0;
    bool is_float = false;
    for (; n + 1 < sizeof(digits); i++) {
        char c = peek(lex, i);
        bool is_point = c == '.' && !is_float && is_digit(peek(lex, i + 1));
        bool is_power =
            (c == 'e' || c == 'E') && n > 0 &&
            (is_digit(peek(lex, i + 1)) ||
             ((peek(lex, i + 1) == '-' || peek(lex, i + 1) == '+') && is_digit(peek(lex, i + 2))));
        if (is_power) {
            digits[n++] = c;
            c = peek(lex, ++i);
        }
        is_float |= is_point || is_power;
        if (is_digit(c) || is_point || is_power)
            digits[n++] = c;
        else if (c != '_')
            break;
    }
    digits[n] = '\0';
    token->kind = is_float ? JINJA_TOKEN_FLOAT : JINJA_TOKEN_INT;
    token->text = view_of(lex->source.at + lex->at, i);
    bool is_good = is_float ? parse_f64(digits, &token->real) : parse_i64(digits, &token->integer);
    if (!is_good || is_name_byte(peek(lex, i)))
        jinja_fail(lex->run, STATUS_BAD_INPUT, "the number %s is not understood", digits);
    advance(lex, i);
}

/* Ends the tag when its closing brackets come next. */
static bool read_end(struct jinja_lex *lex)
{
    char sign = peek(lex, 0);
    bool has_sign = sign == '-' || (sign == '+' && lex->tag == JINJA_TAG_BLOCK);
    size_t at = has_sign ? 1 : 0;
    char close = lex->tag == JINJA_TAG_PRINT ? '}' : '%';
    if (lex->n_open > 0 || peek(lex, at) != close || peek(lex, at + 1) != '}')
        return false;
    advance(lex, at + 2);
    finish_tag(lex, has_sign ? sign : ' ', lex->tag == JINJA_TAG_BLOCK);
    return true;
}

static void read_operator(struct jinja_lex *lex, struct jinja_token *token)
{
    static const char *const pairs[] = { "==", "!=", "<=", ">=", "//", "**" };
    token->kind = JINJA_TOKEN_OP;
    size_t n = 1;
    for (size_t i = 0; i < COUNT_OF(pairs); i++) {
        if (peek(lex, 0) == pairs[i][0] && peek(lex, 1) == pairs[i][1])
            n = 2;
    }
    char c = peek(lex, 0);
    if (n == 1 && (c == '\0' || strchr("+-*/%~<>=.,:|()[]{}", c) == NULL)) {
        jinja_fail(lex->run, STATUS_BAD_INPUT, "the character '%c' is not expected",
                   c >= ' ' && c < 127 ? c : '?');
        return;
    }
    if (n == 1)
        lex->n_open += strchr("([{", c) != NULL ? 1 : strchr(")]}", c) != NULL ? -1 : 0;
    token->text = view_of(lex->source.at + lex->at, n);
    advance(lex, n);
}

void jinja_lex_next(struct jinja_lex *lex)
{
    struct jinja_token *token = &lex->token;
    *token = (struct jinja_token){ .kind = JINJA_TOKEN_END };
    if (jinja_failed(lex->run))
        return;
    skip_spaces(lex);
    if (lex->at >= lex->source.n) {
        jinja_fail(lex->run, STATUS_BAD_INPUT, "a tag has no end");
    } else if (read_end(lex)) {
        return;
    } else if (peek(lex, 0) == '"' || peek(lex, 0) == '\'') {
        read_string(lex, token);
    } else if (is_digit(peek(lex, 0))) {
        read_number(lex, token);
    } else if (is_name_byte(peek(lex, 0))) {
        size_t n = 1;
        while (is_name_byte(peek(lex, n)))
            n++;
        token->kind = JINJA_TOKEN_NAME;
        token->text = view_of(lex->source.at + lex->at, n);
        advance(lex, n);
    } else {
        read_operator(lex, token);
    }
    if (jinja_failed(lex->run))
        token->kind = JINJA_TOKEN_END;
}

bool jinja_lex_is_keyword(const struct jinja_lex *lex)
{
    struct view rest = jinja_value_strip(rest_of(lex), view_of(NULL, 0), JINJA_LEFT);
    return lex->token.kind == JINJA_TOKEN_NAME && rest.n > 1 && rest.at[0] == '=' &&
           rest.at[1] != '=';
}
