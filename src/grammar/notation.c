/* Names of rules, literals, and the end of a grammar. */
#include "grammar/notation.h"

#include "base/hash.h"
#include "base/mem.h"
#include "grammar/pattern_sets.h"
#include <string.h>

void notation_open(struct notation *n, struct build *build, const char *kind, struct view text)
{
    *n = (struct notation){ .build = build, .pile = &build->program->pile, .kind = kind };
    n->text = n->whole = text;
    map_init(&n->rule_of, NOTATION_RULES_MAX);
}

struct expr *notation_refuse(struct notation *n, const char *what)
{
    size_t at = n->whole.n - n->text.n, line = 1;
    for (size_t i = 0; i < at; i++)
        line += n->whole.at[i] == '\n';
    build_refuse(n->build, STATUS_BAD_INPUT, "%s, line %zu: %s", n->kind, line, what);
    n->text.n = 0;
    return expr_new(n->pile, EXPR_EMPTY);
}

bool notation_next_is(const struct notation *n, const char *text)
{
    return view_starts(n->text, text);
}

void notation_skip(struct notation *n, size_t bytes)
{
    n->text = view_of(n->text.at + bytes, n->text.n - bytes);
}

bool notation_take(struct notation *n, const char *text)
{
    bool is_there = notation_next_is(n, text);
    if (is_there)
        notation_skip(n, strlen(text));
    return is_there;
}

struct view notation_name(struct notation *n, const char *more)
{
    size_t i = 0;
    while (i < n->text.n) {
        char c = n->text.at[i];
        bool is_part = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       (c != '\0' && strchr(more, c) != NULL);
        if (!is_part)
            break;
        i++;
    }
    struct view name = view_of(n->text.at, i);
    notation_skip(n, i);
    return name;
}

bool notation_number(struct notation *n, uint32_t *out)
{
    size_t i = 0;
    uint64_t value = 0;
    while (i < n->text.n && n->text.at[i] >= '0' && n->text.at[i] <= '9' && i < 9)
        value = value * 10 + (uint64_t)(n->text.at[i++] - '0');
    if (i > 0)
        notation_skip(n, i);
    *out = (uint32_t)value;
    return i > 0;
}

struct notation_rule *notation_rule_of(struct notation *n, struct view name)
{
    uint64_t key = hash_fast(name.at, name.n, 0).low;
    uint32_t known = map_find(&n->rule_of, key);
    if (known != MAP_NONE)
        return &n->rules[known];
    if (n->n_rules == NOTATION_RULES_MAX) {
        (void)notation_refuse(n, "it has too many rules");
        return &n->rules[0];
    }
    if (n->n_rules == n->n_rules_max) {
        uint32_t more = n->n_rules_max * 2 + 16;
        struct notation_rule *rules = pile_take(n->pile, sizeof(*rules) * more);
        if (n->n_rules > 0)
            memcpy(rules, n->rules, sizeof(*rules) * n->n_rules);
        n->rules = rules;
        n->n_rules_max = more;
    }
    CHECK(map_put(&n->rule_of, key, n->n_rules));
    n->rules[n->n_rules] = (struct notation_rule){ name, build_rule(n->build), NULL };
    return &n->rules[n->n_rules++];
}

struct expr *notation_use(struct notation *n, struct view name)
{
    struct expr *use = expr_new(n->pile, EXPR_RULE);
    use->has_rule = true;
    use->rule = notation_rule_of(n, name)->rule;
    return use;
}

struct expr *notation_literal(struct notation *n)
{
    struct expr *join = expr_new(n->pile, EXPR_JOIN);
    struct dfa_set set;
    struct fault fault;
    while (n->text.n > 0 && !notation_next_is(n, "\"") && !notation_next_is(n, "\n")) {
        uint32_t code = 0;
        size_t bytes;
        if (notation_next_is(n, "\\\"")) {
            code = '"';
            bytes = 2;
            set = dfa_set_one(n->pile, code);
        } else if (notation_next_is(n, "\\")) {
            bool is_known = n->text.n > 1 && strchr("nrtxuU\\[]/'", n->text.at[1]) != NULL;
            bytes = is_known ? pattern_sets_escape(n->pile, n->text, &set, &fault) : 0;
            if (bytes == 0)
                return notation_refuse(n, "an escape in a literal is not known, or cut short");
        } else {
            bytes = (size_t)utf8_decode(n->text, &code);
            set = dfa_set_one(n->pile, code);
        }
        expr_add(n->pile, join, expr_set(n->pile, set));
        notation_skip(n, bytes);
    }
    if (!notation_take(n, "\""))
        return notation_refuse(n, "a literal has no closing quote");
    return join;
}

void notation_close(struct notation *n, const char *root)
{
    struct build *b = n->build;
    const struct notation_rule *first = NULL;
    for (uint32_t i = 0; i < n->n_rules && !b->is_bad; i++) {
        const struct notation_rule *rule = &n->rules[i];
        if (rule->expr == NULL) {
            build_refuse(b, STATUS_BAD_INPUT, "%s: the rule %.*s is used, but it is not defined",
                         n->kind, (int)min_i64((int64_t)rule->name.n, 60), rule->name.at);
            break;
        }
        if (view_equal_text(rule->name, root))
            first = rule;
        uint32_t node = build_expr(b, rule->expr, b->return_node);
        b->program->rules[rule->rule] = node;
    }
    if (first == NULL)
        build_refuse(b, STATUS_BAD_INPUT, "%s: it has no rule named %s", n->kind, root);
    if (!b->is_bad) {
        uint32_t node = build_call(b, first->rule, b->return_node);
        b->program->rules[0] = node;
    }
    map_free(&n->rule_of);
}
