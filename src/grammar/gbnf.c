/* Reads GBNF by recursive descent. */
#include "grammar/gbnf.h"
#include "grammar/notation.h"
#include "grammar/pattern_sets.h"

#include <string.h>

/* Skips spaces and comments; line ends too where a rule can't end. */
static void skip_space(struct notation *n, bool skips_lines)
{
    while (n->text.n > 0) {
        char c = n->text.at[0];
        if (c == ' ' || c == '\t' || ((c == '\n' || c == '\r') && skips_lines)) {
            notation_skip(n, 1);
        } else if (c == '#') {
            const char *end = memchr(n->text.at, '\n', n->text.n);
            notation_skip(n, end != NULL ? (size_t)(end - n->text.at) : n->text.n);
        } else {
            return;
        }
    }
}

static struct expr *read_either(struct notation *n, bool is_inside);

static struct expr *read_atom(struct notation *n, bool is_inside)
{
    struct dfa_set set;
    struct fault fault;
    (void)is_inside;
    if (notation_take(n, "\""))
        return notation_literal(n);
    if (notation_take(n, "(")) {
        skip_space(n, true);
        struct expr *inside = read_either(n, true);
        return notation_take(n, ")") ? inside : notation_refuse(n, "a ) is missing");
    }
    if (notation_take(n, "[")) {
        size_t bytes = pattern_sets_class(n->pile, n->text, &set, &fault);
        if (bytes == 0)
            return notation_refuse(n, fault.text);
        notation_skip(n, bytes);
        return expr_set(n->pile, set);
    }
    if (notation_take(n, "."))
        return expr_set(n->pile, dfa_set_not(n->pile, (struct dfa_set){ 0, NULL }));
    struct view name = notation_name(n, "-_");
    return name.n > 0 ? notation_use(n, name)
                      : notation_refuse(n, "a literal, class, name or group is expected here");
}

/* Reads the bounds behind a {. */
static bool read_counts(struct notation *n, uint32_t *min, uint32_t *max)
{
    skip_space(n, false);
    bool has_min = notation_number(n, min);
    *max = *min;
    skip_space(n, false);
    if (notation_take(n, ",")) {
        skip_space(n, false);
        if (!notation_number(n, max))
            *max = EXPR_MANY;
    } else if (!has_min) {
        return false;
    }
    skip_space(n, false);
    return notation_take(n, "}") && *max >= *min && *min <= NOTATION_REPEAT_MAX &&
           (*max == EXPR_MANY || *max <= NOTATION_REPEAT_MAX);
}

static struct expr *read_repeated(struct notation *n, bool is_inside)
{
    struct expr *atom = read_atom(n, is_inside);
    for (;;) {
        uint32_t min = 0, max = EXPR_MANY;
        skip_space(n, is_inside);
        if (notation_take(n, "+"))
            min = 1;
        else if (notation_take(n, "?"))
            max = 1;
        else if (notation_take(n, "{")) {
            if (!read_counts(n, &min, &max))
                return notation_refuse(n, "the bounds of a repetition are wrong or too large");
        } else if (!notation_take(n, "*"))
            return atom;
        atom = expr_repeat(n->pile, atom, min, max);
    }
}

static bool at_end(const struct notation *n)
{
    return n->text.n == 0 || strchr("|)\r\n", n->text.at[0]) != NULL;
}

static struct expr *read_either(struct notation *n, bool is_inside)
{
    struct expr *either = expr_new(n->pile, EXPR_EITHER);
    if (++n->depth > NOTATION_DEPTH_MAX)
        return notation_refuse(n, "groups are nested too deeply");
    do {
        struct expr *join = expr_new(n->pile, EXPR_JOIN);
        skip_space(n, is_inside || either->n > 0);
        while (!at_end(n) && !n->build->is_bad)
            expr_add(n->pile, join, read_repeated(n, is_inside));
        expr_add(n->pile, either, join);
        if (either->n > 1 && !is_inside)
            skip_space(n, false);
    } while (notation_take(n, "|"));
    n->depth--;
    return either->n == 1 ? either->parts[0] : either;
}

static void read_rule(struct notation *n)
{
    struct view name = notation_name(n, "-_");
    skip_space(n, false);
    if (name.n == 0 || !notation_take(n, "::=")) {
        (void)notation_refuse(n, "a rule needs a name and ::=");
        return;
    }
    skip_space(n, true);
    struct expr *expr = read_either(n, false);
    struct notation_rule *rule = notation_rule_of(n, name);
    if (n->build->is_bad)
        return;
    if (rule->expr != NULL)
        (void)notation_refuse(n, "this rule is defined twice");
    else if (n->text.n > 0 && n->text.at[0] == ')')
        (void)notation_refuse(n, "a ) has no (");
    rule->expr = expr;
}

void gbnf_read(struct build *build, struct view text)
{
    struct notation n;
    notation_open(&n, build, "GBNF", text);
    skip_space(&n, true);
    while (n.text.n > 0 && !build->is_bad) {
        read_rule(&n);
        skip_space(&n, true);
    }
    notation_close(&n, "root");
}
