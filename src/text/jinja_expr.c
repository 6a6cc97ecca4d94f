/* Expressions by recursive descent, with jinja2's precedences:
 * if-else, or, and, not, comparisons, + -, ~, * / // %, **, unary, postfix, filters and tests. */
#include "text/jinja_expr.h"
#include "text/jinja_filter.h"
#include "text/jinja_is.h"
#include "text/jinja_value.h"
#include <string.h>

static struct jinja_node *parse_unary(struct jinja_parse *p, bool with_filters);

static struct jinja_node *literal(struct jinja_parse *p, struct jinja_value value)
{
    struct jinja_node *node = jinja_parse_node(p, JINJA_NODE_LITERAL, NULL, NULL, NULL);
    node->literal = value;
    return node;
}

static struct jinja_node *named(struct jinja_parse *p, enum jinja_node_kind kind, struct view text,
                                struct jinja_node *a, struct jinja_node *b)
{
    struct jinja_node *node = jinja_parse_node(p, kind, a, b, NULL);
    node->text = text;
    return node;
}

static struct jinja_node *parse_name(struct jinja_parse *p)
{
    static const struct {
        const char *name;
        struct jinja_value value;
    } constants[] = {
        { "true", { .kind = JINJA_BOOL, .boolean = true } },
        { "True", { .kind = JINJA_BOOL, .boolean = true } },
        { "false", { .kind = JINJA_BOOL } },
        { "False", { .kind = JINJA_BOOL } },
        { "none", { .kind = JINJA_NONE } },
        { "None", { .kind = JINJA_NONE } },
    };
    struct view text = p->lex.token.text;
    jinja_lex_next(&p->lex);
    for (size_t i = 0; i < COUNT_OF(constants); i++) {
        if (view_equal_text(text, constants[i].name))
            return literal(p, constants[i].value);
    }
    return named(p, JINJA_NODE_NAME, text, NULL, NULL);
}

/* Strings that follow each other are one. */
static struct jinja_node *parse_strings(struct jinja_parse *p)
{
    struct view text = p->lex.token.text;
    jinja_lex_next(&p->lex);
    while (p->lex.token.kind == JINJA_TOKEN_STRING) {
        struct view more = p->lex.token.text;
        char *joined = jinja_take(p->run, text.n + more.n + 1);
        if (joined == NULL)
            break;
        memcpy(joined, text.at, text.n);
        memcpy(joined + text.n, more.at, more.n);
        text = view_of(joined, text.n + more.n);
        jinja_lex_next(&p->lex);
    }
    return literal(p, jinja_string(text));
}

/* Items up to the closing bracket; a trailing comma is fine. */
static struct jinja_node *parse_items(struct jinja_parse *p, const char *close, bool *has_comma)
{
    struct jinja_node *first = NULL, *last = NULL;
    *has_comma = false;
    while (!jinja_failed(p->run) && !jinja_parse_is(p, close)) {
        jinja_parse_add(&first, &last, jinja_expr_parse(p, true));
        if (!jinja_parse_is(p, ","))
            break;
        *has_comma = true;
        jinja_lex_next(&p->lex);
    }
    jinja_parse_expect(p, close);
    return first;
}

static struct jinja_node *parse_dict(struct jinja_parse *p)
{
    struct jinja_node *first = NULL, *last = NULL;
    while (!jinja_failed(p->run) && !jinja_parse_is(p, "}")) {
        jinja_parse_add(&first, &last, jinja_expr_parse(p, true));
        jinja_parse_expect(p, ":");
        jinja_parse_add(&first, &last, jinja_expr_parse(p, true));
        if (!jinja_parse_skip(p, ","))
            break;
    }
    jinja_parse_expect(p, "}");
    return jinja_parse_node(p, JINJA_NODE_DICT, first, NULL, NULL);
}

static struct jinja_node *parse_primary(struct jinja_parse *p)
{
    const struct jinja_token *token = &p->lex.token;
    struct jinja_node *node;
    bool has_comma;
    if (token->kind == JINJA_TOKEN_NAME)
        return parse_name(p);
    if (token->kind == JINJA_TOKEN_STRING)
        return parse_strings(p);
    if (token->kind == JINJA_TOKEN_INT || token->kind == JINJA_TOKEN_FLOAT) {
        node = literal(p, token->kind == JINJA_TOKEN_INT ? jinja_int(token->integer)
                                                         : jinja_float(token->real));
        jinja_lex_next(&p->lex);
        return node;
    }
    if (jinja_parse_skip(p, "(")) {
        node = parse_items(p, ")", &has_comma);
        if (node != NULL && !has_comma)
            return node;
        return jinja_parse_node(p, JINJA_NODE_TUPLE, node, NULL, NULL);
    }
    if (jinja_parse_skip(p, "[")) {
        node = parse_items(p, "]", &has_comma);
        return jinja_parse_node(p, JINJA_NODE_LIST, node, NULL, NULL);
    }
    if (jinja_parse_skip(p, "{"))
        return parse_dict(p);
    jinja_fail(p->run, STATUS_BAD_INPUT, "an expression is expected before '%.*s'",
               (int)min_i64((int64_t)token->text.n, 40), token->text.n > 0 ? token->text.at : "");
    return literal(p, jinja_none());
}

static struct jinja_node *parse_arguments(struct jinja_parse *p)
{
    struct jinja_node *first = NULL, *last = NULL;
    int n = 0;
    while (!jinja_failed(p->run) && !jinja_parse_is(p, ")")) {
        struct jinja_node *argument;
        if (jinja_lex_is_keyword(&p->lex)) {
            struct view name = p->lex.token.text;
            jinja_lex_next(&p->lex);
            jinja_lex_next(&p->lex);
            argument = named(p, JINJA_NODE_KEYWORD, name, jinja_expr_parse(p, true), NULL);
        } else {
            argument = jinja_expr_parse(p, true);
        }
        jinja_parse_add(&first, &last, argument);
        if (++n > JINJA_ARGS_MAX)
            jinja_fail(p->run, STATUS_TOO_LARGE, "more than %d arguments", JINJA_ARGS_MAX);
        if (!jinja_parse_skip(p, ","))
            break;
    }
    jinja_parse_expect(p, ")");
    return first;
}

/* What follows "[" of a[...]. */
static struct jinja_node *parse_subscript(struct jinja_parse *p, struct jinja_node *of)
{
    struct jinja_node *parts[3] = { NULL };
    int n = 0;
    bool is_slice = false;
    while (!jinja_failed(p->run) && !jinja_parse_is(p, "]")) {
        if (jinja_parse_skip(p, ":")) {
            is_slice = true;
            if (++n > 2)
                jinja_fail(p->run, STATUS_BAD_INPUT, "a slice has too many parts");
            continue;
        }
        if (parts[n] != NULL) {
            jinja_fail(p->run, STATUS_BAD_INPUT, "a subscript takes one index or a slice");
            break;
        }
        parts[n] = jinja_expr_parse(p, true);
    }
    jinja_parse_expect(p, "]");
    if (!is_slice && parts[0] == NULL)
        jinja_fail(p->run, STATUS_BAD_INPUT, "a subscript is empty");
    if (!is_slice)
        return jinja_parse_node(p, JINJA_NODE_ITEM, of, parts[0], NULL);
    struct jinja_node *slice = jinja_parse_node(p, JINJA_NODE_SLICE, of, parts[0], parts[1]);
    slice->d = parts[2];
    return slice;
}

static struct jinja_node *parse_attribute(struct jinja_parse *p, struct jinja_node *of)
{
    const struct jinja_token *token = &p->lex.token;
    struct jinja_node *node;
    if (token->kind == JINJA_TOKEN_NAME) {
        node = named(p, JINJA_NODE_ATTR, token->text, of, NULL);
    } else if (token->kind == JINJA_TOKEN_INT) {
        struct jinja_node *index = literal(p, jinja_int(token->integer));
        node = jinja_parse_node(p, JINJA_NODE_ITEM, of, index, NULL);
    } else {
        jinja_fail(p->run, STATUS_BAD_INPUT, "a name is expected after '.'");
        return of;
    }
    jinja_lex_next(&p->lex);
    return node;
}

static struct jinja_node *parse_postfix(struct jinja_parse *p, struct jinja_node *node)
{
    while (!jinja_failed(p->run)) {
        if (jinja_parse_skip(p, "."))
            node = parse_attribute(p, node);
        else if (jinja_parse_skip(p, "["))
            node = parse_subscript(p, node);
        else if (jinja_parse_skip(p, "("))
            node = jinja_parse_node(p, JINJA_NODE_CALL, node, parse_arguments(p), NULL);
        else
            break;
    }
    return node;
}

struct jinja_node *jinja_expr_filter(struct jinja_parse *p, struct jinja_node *of)
{
    struct view name = p->lex.token.text;
    if (p->lex.token.kind != JINJA_TOKEN_NAME)
        jinja_fail(p->run, STATUS_BAD_INPUT, "a filter's name is expected");
    else if (!jinja_filter_is_known(name))
        jinja_fail(p->run, STATUS_UNSUPPORTED, "no filter named '%.*s'", (int)name.n, name.at);
    jinja_lex_next(&p->lex);
    struct jinja_node *arguments = jinja_parse_skip(p, "(") ? parse_arguments(p) : NULL;
    return named(p, JINJA_NODE_FILTER, name, of, arguments);
}

static bool begins_test_argument(const struct jinja_parse *p)
{
    const struct jinja_token *token = &p->lex.token;
    if (token->kind == JINJA_TOKEN_NAME)
        return !jinja_parse_is(p, "else") && !jinja_parse_is(p, "or") &&
               !jinja_parse_is(p, "and") && !jinja_parse_is(p, "is") && !jinja_parse_is(p, "if") &&
               !jinja_parse_is(p, "not") && !jinja_parse_is(p, "in");
    return token->kind == JINJA_TOKEN_STRING || token->kind == JINJA_TOKEN_INT ||
           token->kind == JINJA_TOKEN_FLOAT || jinja_parse_is(p, "[") || jinja_parse_is(p, "{");
}

static struct jinja_node *parse_test(struct jinja_parse *p, struct jinja_node *of)
{
    bool is_negated = jinja_parse_skip(p, "not");
    struct view name = p->lex.token.text;
    if (p->lex.token.kind != JINJA_TOKEN_NAME)
        jinja_fail(p->run, STATUS_BAD_INPUT, "a test's name is expected after 'is'");
    else if (!jinja_is_known(name))
        jinja_fail(p->run, STATUS_UNSUPPORTED, "no test named '%.*s'", (int)name.n, name.at);
    jinja_lex_next(&p->lex);
    struct jinja_node *arguments = NULL;
    if (jinja_parse_skip(p, "("))
        arguments = parse_arguments(p);
    else if (begins_test_argument(p))
        arguments = parse_postfix(p, parse_primary(p));
    if (jinja_parse_is(p, "is"))
        jinja_fail(p->run, STATUS_BAD_INPUT, "tests can't be chained with 'is'");
    struct jinja_node *node = named(p, JINJA_NODE_TEST, name, of, arguments);
    node->is_negated = is_negated;
    return node;
}

struct jinja_node *jinja_expr_filters(struct jinja_parse *p, struct jinja_node *of)
{
    while (!jinja_failed(p->run)) {
        if (jinja_parse_skip(p, "|"))
            of = jinja_expr_filter(p, of);
        else if (jinja_parse_is(p, "is") && of != NULL && jinja_parse_skip(p, "is"))
            of = parse_test(p, of);
        else if (of != NULL && jinja_parse_skip(p, "("))
            of = jinja_parse_node(p, JINJA_NODE_CALL, of, parse_arguments(p), NULL);
        else
            break;
    }
    return of;
}

static struct jinja_node *parse_unary(struct jinja_parse *p, bool with_filters)
{
    struct jinja_node *node;
    if (!jinja_parse_enter(p))
        return literal(p, jinja_none());
    if (jinja_parse_is(p, "-") || jinja_parse_is(p, "+")) {
        enum jinja_op op = jinja_parse_is(p, "-") ? JINJA_SUB : JINJA_ADD;
        jinja_lex_next(&p->lex);
        node = jinja_parse_node(p, JINJA_NODE_UNARY, parse_unary(p, false), NULL, NULL);
        node->op = op;
    } else {
        node = parse_primary(p);
    }
    node = parse_postfix(p, node);
    p->depth--;
    return with_filters ? jinja_expr_filters(p, node) : node;
}

/* The levels of left-associative operators, the loosest first. */
static const struct {
    const char *text;
    int level;
    enum jinja_op op;
} operators[] = {
    { "+", 0, JINJA_ADD }, { "-", 0, JINJA_SUB },  { "~", 1, JINJA_CONCAT },
    { "*", 2, JINJA_MUL }, { "/", 2, JINJA_DIV },  { "//", 2, JINJA_FLOOR_DIV },
    { "%", 2, JINJA_MOD }, { "**", 3, JINJA_POW },
};
enum { OPERATOR_LEVELS = 4 };

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
        return parse_unary(p, true);
    struct jinja_node *left = parse_arithmetic(p, level + 1);
    enum jinja_op op;
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
    if (!jinja_parse_skip(p, "not"))
        return false;
    jinja_parse_expect(p, "in");
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
        jinja_parse_add(&first, &last, operand);
    }
    return first == NULL ? left : jinja_parse_node(p, JINJA_NODE_COMPARE, left, first, NULL);
}

static struct jinja_node *parse_not(struct jinja_parse *p)
{
    if (!jinja_parse_is(p, "not"))
        return parse_comparison(p);
    if (!jinja_parse_enter(p))
        return literal(p, jinja_none());
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

struct jinja_node *jinja_expr_parse(struct jinja_parse *p, bool allow_cond)
{
    if (!jinja_parse_enter(p))
        return literal(p, jinja_none());
    struct jinja_node *node = parse_logic(p, true);
    while (allow_cond && !jinja_failed(p->run) && jinja_parse_skip(p, "if")) {
        struct jinja_node *condition = parse_logic(p, true);
        struct jinja_node *other = jinja_parse_skip(p, "else") ? jinja_expr_parse(p, true) : NULL;
        node = jinja_parse_node(p, JINJA_NODE_COND, condition, node, other);
    }
    p->depth--;
    return node;
}

struct jinja_node *jinja_expr_tuple(struct jinja_parse *p, bool allow_cond)
{
    struct jinja_node *first = NULL, *last = NULL;
    bool has_comma = false;
    do {
        jinja_parse_add(&first, &last, jinja_expr_parse(p, allow_cond));
        has_comma |= jinja_parse_is(p, ",");
    } while (jinja_parse_skip(p, ",") && p->lex.token.kind != JINJA_TOKEN_END);
    return has_comma ? jinja_parse_node(p, JINJA_NODE_TUPLE, first, NULL, NULL) : first;
}

/* A name, names with commas (perhaps in brackets), or an attribute of a namespace. */
struct jinja_node *jinja_expr_target(struct jinja_parse *p)
{
    struct jinja_node *first = NULL, *last = NULL;
    bool has_comma = false, is_bracketed = jinja_parse_skip(p, "(");
    do {
        if (p->lex.token.kind != JINJA_TOKEN_NAME) {
            jinja_fail(p->run, STATUS_BAD_INPUT, "a name to assign to is expected");
            break;
        }
        struct jinja_node *name = parse_name(p);
        if (name->kind != JINJA_NODE_NAME)
            jinja_fail(p->run, STATUS_BAD_INPUT, "can't assign to a constant");
        if (jinja_parse_skip(p, "."))
            name = parse_attribute(p, name);
        jinja_parse_add(&first, &last, name);
        has_comma |= jinja_parse_is(p, ",");
    } while (jinja_parse_skip(p, ",") && p->lex.token.kind == JINJA_TOKEN_NAME);
    if (is_bracketed)
        jinja_parse_expect(p, ")");
    if (first == NULL)
        return literal(p, jinja_none());
    return has_comma ? jinja_parse_node(p, JINJA_NODE_TUPLE, first, NULL, NULL) : first;
}
