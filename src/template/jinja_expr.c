/* Expressions by recursive descent, with jinja2's precedences:
 * if-else, or, and, not, comparisons, + -, ~, * / // %, **, unary, postfix, filters and tests. */
#include "template/jinja_expr.h"
#include "template/jinja_value.h"

/* The levels of left-associative operators, the loosest first; level 1 is ~. */
static const struct {
    const char *text;
    int level;
    enum jinja_op op;
} operators[] = {
    { "+", 0, JINJA_ADD },  { "-", 0, JINJA_SUB },        { "*", 2, JINJA_MUL },
    { "/", 2, JINJA_DIV },  { "//", 2, JINJA_FLOOR_DIV }, { "%", 2, JINJA_MOD },
    { "**", 3, JINJA_POW },
};
enum { CONCAT_LEVEL = 1, OPERATOR_LEVELS = 4 };

static bool find_operator(const struct jinja_parse *p, int level, enum jinja_op *op)
{
    for (size_t i = 0; i < COUNT_OF(operators); i++) {
        if (operators[i].level == level && p->lex.token.kind == JINJA_TOKEN_OP &&
            view_equal_text(p->lex.token.text, operators[i].text)) {
            *op = operators[i].op;
            return true;
        }
    }
    return false;
}

static struct jinja_node *parse_arithmetic(struct jinja_parse *p, int level)
{
    if (level == OPERATOR_LEVELS)
        return jinja_operand_parse(p, true);
    struct jinja_node *left = parse_arithmetic(p, level + 1), *last = left;
    enum jinja_op op;
    if (level == CONCAT_LEVEL && jinja_parse_is(p, "~")) {
        while (!jinja_failed(p->run) && jinja_parse_skip(p, "~"))
            jinja_parse_add(p, &left, &last, parse_arithmetic(p, level + 1));
        return jinja_parse_node(p, JINJA_NODE_CONCAT, left, NULL, NULL);
    }
    while (!jinja_failed(p->run) && find_operator(p, level, &op)) {
        jinja_lex_next(&p->lex);
        left = jinja_parse_node(p, JINJA_NODE_BINARY, left, parse_arithmetic(p, level + 1), NULL);
        left->op = op;
    }
    return left;
}

static bool find_comparison(struct jinja_parse *p, enum jinja_op *op)
{
    static const struct {
        const char *text;
        enum jinja_op op;
    } table[] = {
        { "==", JINJA_EQ }, { "!=", JINJA_NE }, { "<", JINJA_LT },  { "<=", JINJA_LE },
        { ">", JINJA_GT },  { ">=", JINJA_GE }, { "in", JINJA_IN },
    };
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        if (jinja_parse_skip(p, table[i].text)) {
            *op = table[i].op;
            return true;
        }
    }
    struct jinja_token next = { .kind = JINJA_TOKEN_END };
    if (jinja_parse_is(p, "not"))
        next = jinja_lex_peek(&p->lex);
    if (next.kind != JINJA_TOKEN_NAME || !view_equal_text(next.text, "in"))
        return false;
    jinja_lex_next(&p->lex);
    jinja_lex_next(&p->lex);
    *op = JINJA_NOT_IN;
    return true;
}

static struct jinja_node *parse_comparison(struct jinja_parse *p)
{
    struct jinja_node *left = parse_arithmetic(p, 0), *first = NULL, *last = NULL;
    enum jinja_op op;
    while (!jinja_failed(p->run) && find_comparison(p, &op)) {
        struct jinja_node *operand =
            jinja_parse_node(p, JINJA_NODE_OPERAND, parse_arithmetic(p, 0), NULL, NULL);
        operand->op = op;
        jinja_parse_add(p, &first, &last, operand);
    }
    return first == NULL ? left : jinja_parse_node(p, JINJA_NODE_COMPARE, left, first, NULL);
}

static struct jinja_node *parse_not(struct jinja_parse *p)
{
    if (!jinja_parse_is(p, "not"))
        return parse_comparison(p);
    if (!jinja_parse_enter(p))
        return jinja_operand_literal(p, jinja_none());
    jinja_lex_next(&p->lex);
    struct jinja_node *node = jinja_parse_node(p, JINJA_NODE_NOT, parse_not(p), NULL, NULL);
    p->depth--;
    return node;
}

static struct jinja_node *parse_logic(struct jinja_parse *p, bool is_or)
{
    struct jinja_node *left = is_or ? parse_logic(p, false) : parse_not(p);
    while (!jinja_failed(p->run) && jinja_parse_skip(p, is_or ? "or" : "and")) {
        struct jinja_node *right = is_or ? parse_logic(p, false) : parse_not(p);
        left = jinja_parse_node(p, is_or ? JINJA_NODE_OR : JINJA_NODE_AND, left, right, NULL);
    }
    return left;
}

struct jinja_node *jinja_expr_parse(struct jinja_parse *p, bool allows_cond)
{
    if (!jinja_parse_enter(p))
        return jinja_operand_literal(p, jinja_none());
    struct jinja_node *node = parse_logic(p, true);
    while (allows_cond && !jinja_failed(p->run) && jinja_parse_skip(p, "if")) {
        struct jinja_node *condition = parse_logic(p, true);
        struct jinja_node *other = jinja_parse_skip(p, "else") ? jinja_expr_parse(p, true) : NULL;
        node = jinja_parse_node(p, JINJA_NODE_COND, condition, node, other);
    }
    p->depth--;
    return node;
}

struct jinja_node *jinja_expr_tuple(struct jinja_parse *p, bool allows_cond)
{
    return jinja_operand_tuple(p, allows_cond ? JINJA_ITEMS_CONDITIONAL : JINJA_ITEMS_PLAIN, NULL,
                               false);
}

struct jinja_node *jinja_expr_tuple_until(struct jinja_parse *p, const char *end)
{
    return jinja_operand_tuple(p, JINJA_ITEMS_PLAIN, end, false);
}

void jinja_expr_use(struct jinja_node *target, enum jinja_use use)
{
    target->use = use;
    for (struct jinja_node *part = target->kind == JINJA_NODE_TUPLE ? target->a : NULL;
         part != NULL; part = part->next)
        jinja_expr_use(part, use);
}

static bool can_assign(const struct jinja_node *target)
{
    if (target->kind == JINJA_NODE_NAME || target->kind == JINJA_NODE_NSREF)
        return true;
    bool is_good = target->kind == JINJA_NODE_TUPLE;
    for (const struct jinja_node *part = target->a; part != NULL && is_good; part = part->next)
        is_good = can_assign(part);
    return is_good;
}

struct jinja_node *jinja_expr_target(struct jinja_parse *p, bool allows_attribute, const char *end)
{
    struct jinja_node *target = jinja_operand_tuple(
        p, allows_attribute ? JINJA_ITEMS_SET_TARGETS : JINJA_ITEMS_TARGETS, end, false);
    if (!jinja_failed(p->run) && !can_assign(target))
        jinja_fail(p->run, STATUS_BAD_INPUT, "nothing can be assigned to this expression");
    jinja_expr_use(target, JINJA_STORE);
    return target;
}
