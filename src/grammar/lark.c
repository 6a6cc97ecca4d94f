/* Reads Lark by recursive descent. */
#include "grammar/lark.h"
#include "grammar/notation.h"
#include "grammar/pattern.h"

#include <string.h>

static void skip_space(struct notation *n, bool skips_lines)
{
    while (n->text.n > 0) {
        char c = n->text.at[0];
        if (c == ' ' || c == '\t' || ((c == '\n' || c == '\r') && skips_lines)) {
            notation_skip(n, 1);
        } else if (c == '#' || notation_next_is(n, "//")) {
            const char *end = memchr(n->text.at, '\n', n->text.n);
            notation_skip(n, end != NULL ? (size_t)(end - n->text.at) : n->text.n);
        } else {
            return;
        }
    }
}

/* A rule goes on in the next line where that begins with a |. */
static void skip_to_bar(struct notation *n)
{
    struct view before = n->text;
    skip_space(n, true);
    if (!notation_next_is(n, "|"))
        n->text = before;
}

static struct expr *read_either(struct notation *n, bool is_inside);

static struct expr *read_regex(struct notation *n)
{
    size_t end = 1;
    bool in_class = false, ignores_case = false;
    struct expr *expr;
    struct fault fault;
    for (; end < n->text.n && (in_class || n->text.at[end] != '/'); end++) {
        char c = n->text.at[end];
        if (c == '\n')
            break;
        end += c == '\\';
        in_class = c == '[' || (in_class && c != ']');
    }
    if (end >= n->text.n || n->text.at[end] != '/')
        return notation_refuse(n, "a regular expression has no closing /");
    struct view pattern = view_of(n->text.at + 1, end - 1);
    notation_skip(n, end + 1);
    struct view flags = notation_name(n, "");
    for (size_t i = 0; i < flags.n; i++) {
        ignores_case |= flags.at[i] == 'i';
        if (strchr("iu", flags.at[i]) == NULL)
            return notation_refuse(n, "of the flags of a regular expression, only i and u are "
                                      "supported");
    }
    const char *copy = pile_text(n->pile, pattern.at, pattern.n);
    if (pattern_read(n->pile, view_of(copy, pattern.n), ignores_case, &expr, &fault) != STATUS_OK)
        return notation_refuse(n, fault.text);
    return expr;
}

/* Reads a literal, or a range of two of them. */
static struct expr *read_literal(struct notation *n)
{
    struct expr *first = notation_literal(n);
    if (!notation_next_is(n, "..") || first->n != 1) {
        if (notation_next_is(n, "i") && !n->build->is_bad)
            return notation_refuse(n, "literals with the flag i are not supported: write /.../i");
        return first;
    }
    notation_skip(n, 2);
    skip_space(n, false);
    struct expr *last = notation_take(n, "\"") ? notation_literal(n) : NULL;
    if (last == NULL || last->n != 1)
        return notation_refuse(n, "a range needs two literals of one character");
    const uint32_t range[2] = { first->parts[0]->set.ranges[0][0],
                                last->parts[0]->set.ranges[0][0] };
    if (range[1] < range[0])
        return notation_refuse(n, "a range ends before its start");
    return expr_set(n->pile, dfa_set_of(n->pile, range, 1));
}

static struct expr *read_atom(struct notation *n)
{
    if (notation_take(n, "\""))
        return read_literal(n);
    if (notation_next_is(n, "/"))
        return read_regex(n);
    if (notation_next_is(n, "(") || notation_next_is(n, "[")) {
        bool is_option = notation_next_is(n, "[");
        notation_skip(n, 1);
        struct expr *inside = read_either(n, true);
        if (!n->build->is_bad && !notation_take(n, is_option ? "]" : ")"))
            return notation_refuse(n, "a group has no end");
        return is_option ? expr_repeat(n->pile, inside, 0, 1) : inside;
    }
    (void)notation_take(n, "!");
    struct view name = notation_name(n, "_");
    if (name.n > 0 && notation_next_is(n, "{"))
        return notation_refuse(n, "templates are not supported");
    return name.n > 0 ? notation_use(n, name)
                      : notation_refuse(n, "a literal, regular expression, name or group is "
                                           "expected here");
}

static struct expr *read_repeated(struct notation *n, bool is_inside)
{
    struct expr *atom = read_atom(n);
    for (;;) {
        uint32_t min = 0, max = EXPR_MANY;
        skip_space(n, is_inside);
        if (notation_take(n, "+")) {
            min = 1;
        } else if (notation_take(n, "?")) {
            max = 1;
        } else if (notation_take(n, "~")) {
            skip_space(n, false);
            if (!notation_number(n, &min))
                return notation_refuse(n, "a ~ needs a number");
            max = min;
            skip_space(n, false);
            if (notation_take(n, "..") && (skip_space(n, false), !notation_number(n, &max)))
                return notation_refuse(n, "a ~ needs a number behind its ..");
            if (max < min || max > NOTATION_REPEAT_MAX)
                return notation_refuse(n, "the bounds of a repetition are wrong or too large");
        } else if (!notation_take(n, "*")) {
            return atom;
        }
        atom = expr_repeat(n->pile, atom, min, max);
    }
}

static bool at_end(const struct notation *n)
{
    return n->text.n == 0 || strchr("|)]\r\n", n->text.at[0]) != NULL || notation_next_is(n, "->");
}

static struct expr *read_either(struct notation *n, bool is_inside)
{
    struct expr *either = expr_new(n->pile, EXPR_EITHER);
    if (++n->depth > NOTATION_DEPTH_MAX)
        return notation_refuse(n, "groups are nested too deeply");
    do {
        struct expr *join = expr_new(n->pile, EXPR_JOIN);
        skip_space(n, is_inside);
        while (!at_end(n) && !n->build->is_bad)
            expr_add(n->pile, join, read_repeated(n, is_inside));
        expr_add(n->pile, either, join);
        if (notation_take(n, "->")) {
            skip_space(n, false);
            (void)notation_name(n, "_");
            skip_space(n, is_inside);
        }
        skip_to_bar(n);
    } while (notation_take(n, "|"));
    n->depth--;
    return either->n == 1 ? either->parts[0] : either;
}

static const struct common {
    const char *name, *pattern;
} commons[] = {
    { "DIGIT", "[0-9]" },
    { "HEXDIGIT", "[0-9A-Fa-f]" },
    { "INT", "[0-9]+" },
    { "SIGNED_INT", "[+-]?[0-9]+" },
    { "DECIMAL", "[0-9]+\\.[0-9]*|\\.[0-9]+" },
    { "FLOAT", "[0-9]+[eE][+-]?[0-9]+|([0-9]+\\.[0-9]*|\\.[0-9]+)([eE][+-]?[0-9]+)?" },
    { "NUMBER", "[0-9]+|[0-9]+[eE][+-]?[0-9]+|([0-9]+\\.[0-9]*|\\.[0-9]+)([eE][+-]?[0-9]+)?" },
    { "SIGNED_NUMBER",
      "[+-]?([0-9]+|[0-9]+[eE][+-]?[0-9]+|([0-9]+\\.[0-9]*|\\.[0-9]+)([eE][+-]?[0-9]+)?)" },
    { "LCASE_LETTER", "[a-z]" },
    { "UCASE_LETTER", "[A-Z]" },
    { "LETTER", "[A-Za-z]" },
    { "WORD", "[A-Za-z]+" },
    { "CNAME", "[_A-Za-z][_A-Za-z0-9]*" },
    { "WS", "[ \\t\\f\\r\\n]+" },
    { "WS_INLINE", "[ \\t]+" },
    { "NEWLINE", "(\\r?\\n)+" },
    { "ESCAPED_STRING", "\"([^\"\\\\\\n]|\\\\.)*\"" },
};

static void define(struct notation *n, struct view name, struct expr *expr)
{
    struct notation_rule *rule = notation_rule_of(n, name);
    if (rule->expr != NULL && !n->build->is_bad)
        (void)notation_refuse(n, "this rule is defined twice");
    rule->expr = expr;
}

static void read_import(struct notation *n)
{
    struct expr *expr = NULL;
    struct fault fault;
    skip_space(n, false);
    (void)notation_take(n, "common.");
    struct view name = notation_name(n, "_"), as = name;
    for (size_t i = 0; i < COUNT_OF(commons) && expr == NULL; i++)
        if (view_equal_text(name, commons[i].name) &&
            pattern_read(n->pile, view_text(commons[i].pattern), false, &expr, &fault) != STATUS_OK)
            expr = NULL;
    skip_space(n, false);
    if (notation_take(n, "->")) {
        skip_space(n, false);
        as = notation_name(n, "_");
    }
    if (expr == NULL)
        (void)notation_refuse(n, "only single names of the grammar `common` can be imported");
    else
        define(n, as, expr);
}

static void read_statement(struct notation *n)
{
    uint32_t priority;
    if (notation_take(n, "%import ")) {
        read_import(n);
        return;
    }
    if (notation_next_is(n, "%")) {
        (void)notation_refuse(n, "of the statements with %, only %import is supported");
        return;
    }
    while (notation_take(n, "?") || notation_take(n, "!"))
        ;
    struct view name = notation_name(n, "_");
    if (notation_take(n, "."))
        (void)(notation_take(n, "-"), notation_number(n, &priority));
    skip_space(n, false);
    if (name.n == 0 || !notation_take(n, ":")) {
        (void)notation_refuse(n, "a rule needs a name and a colon");
        return;
    }
    struct expr *expr = read_either(n, false);
    if (n->text.n > 0 && strchr(")]", n->text.at[0]) != NULL)
        (void)notation_refuse(n, "a group has no start");
    define(n, name, expr);
}

void lark_read(struct build *build, struct view text)
{
    struct notation n;
    notation_open(&n, build, "Lark", text);
    skip_space(&n, true);
    while (n.text.n > 0 && !build->is_bad) {
        read_statement(&n);
        skip_space(&n, true);
    }
    notation_close(&n, "start");
}
