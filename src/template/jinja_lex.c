/* The lexer, with jinja2's rules for white space.
 *
 * "-" strips all of it. trim_blocks removes the newline behind a block or comment. lstrip_blocks
 * removes the white space before a tag that starts its line. "+" forbids either. */
#include "template/jinja_lex.h"
#include "template/jinja_escape.h"
#include "template/jinja_number.h"
#include "template/jinja_text.h"
#include <string.h>
#include <utf8proc.h>

static struct view rest_of(const struct jinja_lex *lex)
{
    return view_of(lex->source.at + lex->at, lex->source.n - lex->at);
}

static void advance(struct jinja_lex *lex, size_t n)
{
    for (size_t i = 0; i < n; i++)
        lex->line += lex->source.at[lex->at++] == '\n';
    lex->run->line = lex->line;
}

static size_t count_spaces(struct jinja_lex *lex, struct view text)
{
    return text.n - jinja_text_strip(lex->run, text, view_of(NULL, 0), JINJA_LEFT).n;
}

/* Matches "-%}" with the white space behind it, "+%}", or "%}" with a newline (when trims). Returns
 * its bytes at the start of rest, 0 for no match. */
static size_t tag_end(struct jinja_lex *lex, struct view rest, const char *close, bool takes_plus,
                      bool trims)
{
    size_t n_sign = rest.n > 0 && (rest.at[0] == '-' || (rest.at[0] == '+' && takes_plus));
    if (rest.n < n_sign + 2 || memcmp(rest.at + n_sign, close, 2) != 0)
        return 0;
    size_t n = n_sign + 2;
    if (n_sign == 0)
        return n + (trims && n < rest.n && rest.at[n] == '\n');
    if (rest.at[0] == '-')
        n += count_spaces(lex, view_of(rest.at + n, rest.n - n));
    return n;
}

/* Matches "{% raw %}" or "{% endraw %}". Returns the bytes of the tag, 0 when it is another. */
static size_t word_tag(struct jinja_lex *lex, struct view rest, const char *word, bool is_end,
                       char *sign)
{
    size_t n_word = strlen(word), i = 2;
    if (!view_starts(rest, "{%"))
        return 0;
    *sign = i < rest.n && (rest.at[i] == '-' || rest.at[i] == '+') ? rest.at[i++] : ' ';
    i += count_spaces(lex, view_of(rest.at + i, rest.n - i));
    if (rest.n - i < n_word || memcmp(rest.at + i, word, n_word) != 0)
        return 0;
    i += n_word;
    i += count_spaces(lex, view_of(rest.at + i, rest.n - i));
    size_t n = tag_end(lex, view_of(rest.at + i, rest.n - i), "%}", is_end, is_end);
    return n == 0 ? 0 : i + n;
}

/* Cuts the white space that the tag behind text removes. */
static struct view strip_before(struct jinja_lex *lex, struct view text, char sign, bool is_print)
{
    if (sign == '-')
        return jinja_text_strip(lex->run, text, view_of(NULL, 0), JINJA_RIGHT);
    if (sign == '+' || is_print)
        return text;
    size_t line = text.n;
    while (line > 0 && text.at[line - 1] != '\n')
        line--;
    bool starts_line = line > 0 || lex->line_starting;
    struct view last = view_of(text.at + line, text.n - line);
    return starts_line && count_spaces(lex, last) == last.n ? view_of(text.at, line) : text;
}

static void set_data(struct jinja_lex *lex, struct view text, int32_t line)
{
    lex->token = (struct jinja_token){ .kind = JINJA_TOKEN_DATA, .line = line, .text = text };
}

/* Takes n bytes as one match. */
static void take_match(struct jinja_lex *lex, size_t n)
{
    advance(lex, n);
    lex->line_starting = n > 0 && lex->source.at[lex->at - 1] == '\n';
}

static void skip_comment(struct jinja_lex *lex)
{
    struct view rest = rest_of(lex);
    const char *end = rest.n == 0 ? NULL : memmem(rest.at, rest.n, "#}", 2);
    if (end == NULL && rest.n > 0)
        jinja_fail(lex->run, STATUS_BAD_INPUT, "a comment has no end");
    if (end == NULL) {
        advance(lex, rest.n);
        return;
    }
    size_t n = (size_t)(end - rest.at);
    n -= n > 0 && (end[-1] == '-' || end[-1] == '+');
    take_match(lex, n + tag_end(lex, view_of(rest.at + n, rest.n - n), "#}", true, true));
}

/* Reads the text up to {% endraw %}. The {% raw %} was taken. */
static void read_raw(struct jinja_lex *lex)
{
    struct view rest = rest_of(lex);
    int32_t line = lex->line;
    char sign = ' ';
    for (size_t i = 0; i < rest.n; i++) {
        size_t n = rest.at[i] != '{'
                       ? 0
                       : word_tag(lex, view_of(rest.at + i, rest.n - i), "endraw", true, &sign);
        if (n == 0)
            continue;
        struct view text = strip_before(lex, view_of(rest.at, i), sign, false);
        take_match(lex, i + n);
        set_data(lex, text, line);
        return;
    }
    if (rest.n > 0)
        jinja_fail(lex->run, STATUS_BAD_INPUT, "a raw block has no endraw");
}

/* Text, and the beginning of the tag behind it. */
static void read_text(struct jinja_lex *lex)
{
    struct view rest = rest_of(lex);
    int32_t line = lex->line;
    size_t i = 0, n_raw = 0;
    while (i < rest.n && (rest.at[i] != '{' || i + 1 == rest.n || rest.at[i + 1] == '\0' ||
                          strchr("{%#", rest.at[i + 1]) == NULL))
        i++;
    struct view text = view_of(rest.at, i), tag = view_of(rest.at + i, rest.n - i);
    if (tag.n == 0) {
        advance(lex, rest.n);
        set_data(lex, text, line);
        return;
    }
    char kind = tag.at[1], sign = tag.n > 2 ? tag.at[2] : ' ';
    n_raw = word_tag(lex, tag, "raw", false, &sign);
    text = strip_before(lex, text, sign, kind == '{');
    take_match(lex, i + (n_raw > 0 ? n_raw : 2u + (sign == '-' || sign == '+')));
    set_data(lex, text, line);
    if (n_raw > 0 && text.n > 0) {
        lex->has_pending = true; /* the raw text comes next */
        lex->pending.kind = JINJA_TOKEN_DATA;
    } else if (n_raw > 0) {
        read_raw(lex);
    } else if (kind == '#') {
        skip_comment(lex);
    } else {
        lex->n_open = 0;
        lex->state = kind == '{' ? JINJA_LEX_PRINT : JINJA_LEX_BLOCK;
        lex->has_pending = true;
        lex->pending = (struct jinja_token){
            .kind = kind == '{' ? JINJA_TOKEN_PRINT_BEGIN : JINJA_TOKEN_BLOCK_BEGIN,
            .line = lex->line,
        };
    }
}

/* Returns the bytes of a string with its quotes; 0 when it has no end. */
static size_t string_bytes(struct view rest)
{
    size_t i = 1;
    while (i < rest.n && rest.at[i] != rest.at[0])
        i += rest.at[i] == '\\' ? 2 : 1;
    return i < rest.n ? i + 1 : 0;
}

static bool is_name_byte(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static void refuse_character(struct jinja_lex *lex)
{
    uint32_t c = 0;
    (void)utf8_decode(rest_of(lex), &c);
    utf8proc_category_t category = utf8proc_category((utf8proc_int32_t)c);
    bool is_word = category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_NO;
    if (c >= 128 && is_word)
        jinja_fail(lex->run, STATUS_UNSUPPORTED, "the letter U+%04X outside of a string", c);
    else
        jinja_fail(lex->run, STATUS_BAD_INPUT, "the character U+%04X is not expected", c);
}

static size_t operator_bytes(struct view rest)
{
    static const char *const pairs[] = { "==", "!=", "<=", ">=", "//", "**" };
    for (size_t i = 0; i < COUNT_OF(pairs); i++) {
        if (view_starts(rest, pairs[i]))
            return 2;
    }
    return rest.at[0] != '\0' && strchr("+-*/%~<>=.,:;|()[]{}", rest.at[0]) != NULL;
}

/* jinja2 searches a tag's end only outside of brackets. */
static void balance(struct jinja_lex *lex, char c)
{
    const char *open = memchr("([{", c, 3), *close = memchr(")]}", c, 3);
    if (open != NULL && lex->n_open == JINJA_BRACKETS_MAX)
        jinja_fail(lex->run, STATUS_TOO_LARGE, "more than %d brackets are open",
                   JINJA_BRACKETS_MAX);
    else if (open != NULL)
        lex->open[lex->n_open++] = c == '(' ? ')' : c == '[' ? ']' : '}';
    if (close != NULL && (lex->n_open == 0 || lex->open[--lex->n_open] != c))
        jinja_fail(lex->run, STATUS_BAD_INPUT, "'%c' closes no bracket", c);
}

static void read_operator(struct jinja_lex *lex, struct jinja_token *token)
{
    struct view rest = rest_of(lex);
    size_t n = operator_bytes(rest);
    if (n == 0) {
        refuse_character(lex);
        return;
    }
    if (n == 1)
        balance(lex, rest.at[0]);
    token->kind = JINJA_TOKEN_OP;
    token->text = view_of(rest.at, n);
    advance(lex, n);
}

static void read_string(struct jinja_lex *lex, struct jinja_token *token)
{
    struct view rest = rest_of(lex);
    size_t n = string_bytes(rest);
    if (n == 0) {
        jinja_fail(lex->run, STATUS_BAD_INPUT, "a string has no end");
        return;
    }
    token->kind = JINJA_TOKEN_STRING;
    token->text = jinja_escape_undo(lex->run, view_of(rest.at + 1, n - 2));
    advance(lex, n);
}

static void read_number(struct jinja_lex *lex, struct jinja_token *token)
{
    bool is_float = false;
    struct view rest = rest_of(lex);
    bool follows_point = lex->at > 0 && lex->source.at[lex->at - 1] == '.';
    size_t n = jinja_number_literal(lex->run, rest, !follows_point, &is_float, token);
    token->kind = is_float ? JINJA_TOKEN_FLOAT : JINJA_TOKEN_INT;
    token->text = view_of(rest.at, n);
    advance(lex, n);
}

static void read_tag(struct jinja_lex *lex)
{
    struct jinja_token *token = &lex->token;
    advance(lex, count_spaces(lex, rest_of(lex)));
    struct view rest = rest_of(lex);
    token->line = lex->line;
    bool is_block = lex->state == JINJA_LEX_BLOCK;
    size_t n_end =
        lex->n_open > 0 ? 0 : tag_end(lex, rest, is_block ? "%}" : "}}", is_block, is_block);
    if (rest.n == 0)
        return;
    if (n_end > 0) {
        take_match(lex, n_end);
        token->kind = is_block ? JINJA_TOKEN_BLOCK_END : JINJA_TOKEN_PRINT_END;
        lex->state = JINJA_LEX_TEXT;
    } else if (rest.at[0] == '"' || rest.at[0] == '\'') {
        read_string(lex, token);
    } else if (rest.at[0] >= '0' && rest.at[0] <= '9') {
        read_number(lex, token);
    } else if (is_name_byte(rest.at[0])) {
        size_t n = 1;
        while (n < rest.n && is_name_byte(rest.at[n]))
            n++;
        token->kind = JINJA_TOKEN_NAME;
        token->text = view_of(rest.at, n);
        advance(lex, n);
        if (n < rest.n && (unsigned char)rest.at[n] >= 128)
            refuse_character(lex);
    } else {
        read_operator(lex, token);
    }
}

void jinja_lex_next(struct jinja_lex *lex)
{
    lex->token = (struct jinja_token){ .line = lex->line };
    while (!jinja_failed(lex->run)) {
        if (lex->has_pending) {
            lex->has_pending = false;
            lex->token = lex->pending;
            if (lex->pending.kind == JINJA_TOKEN_DATA)
                read_raw(lex);
        } else if (lex->state != JINJA_LEX_TEXT) {
            read_tag(lex);
        } else if (lex->at < lex->source.n) {
            read_text(lex);
        } else {
            return;
        }
        bool is_empty = lex->token.kind == JINJA_TOKEN_DATA && lex->token.text.n == 0;
        if (!is_empty)
            break;
        lex->token = (struct jinja_token){ .line = lex->line };
    }
    if (jinja_failed(lex->run))
        lex->token.kind = JINJA_TOKEN_END;
}

struct jinja_token jinja_lex_peek(struct jinja_lex *lex)
{
    struct jinja_lex saved = *lex;
    jinja_lex_next(lex);
    struct jinja_token token = lex->token;
    *lex = saved;
    return token;
}

void jinja_lex_init(struct jinja_lex *lex, struct view source, struct jinja_run *run)
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
    memset(lex, 0, sizeof(*lex));
    lex->source = copy == NULL ? view_of("", 0) : view_of(copy, n);
    lex->line = 1;
    lex->line_starting = true;
    lex->run = run;
    jinja_lex_next(lex);
}
