/* Operands: literals, names and brackets, and the attributes, items, calls, filters and tests
 * behind them. */
#include "template/jinja_expr.h"
#include "template/jinja_filter.h"
#include "template/jinja_is.h"
#include "template/jinja_method.h"
#include "template/jinja_value.h"
#include <string.h>

struct jinja_node *jinja_operand_literal(struct jinja_parse *p, struct jinja_value value)
{
    struct jinja_node *node = jinja_parse_node(p, JINJA_NODE_LITERAL, NULL, NULL, NULL);
    node->literal = value;
    node->is_constant = true;
    return node;
}

static struct jinja_node *named(struct jinja_parse *p, enum jinja_node_kind kind, struct view text,
                                struct jinja_node *a, struct jinja_node *b)
{
    struct jinja_node *node = jinja_parse_node(p, kind, a, b, NULL);
    node->text = text;
    return node;
}

static struct jinja_node *parse_name(struct jinja_parse *p, bool allows_attribute)
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
    struct view text = jinja_parse_name(p);
    for (size_t i = 0; i < COUNT_OF(constants); i++) {
        if (view_equal_text(text, constants[i].name))
            return jinja_operand_literal(p, constants[i].value);
    }
    if (allows_attribute && jinja_parse_skip(p, ".")) {
        struct jinja_node *node = named(p, JINJA_NODE_NSREF, text, NULL, NULL);
        node->attr = jinja_parse_name(p);
        return node;
    }
    return named(p, JINJA_NODE_NAME, text, NULL, NULL);
}

/* Strings that follow each other become one. */
static struct jinja_node *parse_strings(struct jinja_parse *p)
{
    struct str text;
    str_init(&text);
    struct view only = p->lex.token.text;
    int n = 0;
    for (; p->lex.token.kind == JINJA_TOKEN_STRING; n++) {
        str_add(&text, p->lex.token.text.at, p->lex.token.text.n);
        jinja_lex_next(&p->lex);
    }
    struct jinja_value value =
        n == 1 ? jinja_string(only) : jinja_value_copy(p->run, view_of(text.at, text.n));
    str_free(&text);
    return jinja_operand_literal(p, value);
}

/* Parses the items of a list up to its bracket. A trailing comma is fine. */
static struct jinja_node *parse_list(struct jinja_parse *p)
{
    struct jinja_node *first = NULL, *last = NULL;
    while (!jinja_failed(p->run) && !jinja_parse_is(p, "]")) {
        if (first != NULL)
            jinja_parse_expect(p, ",");
        if (jinja_parse_is(p, "]"))
            break;
        jinja_parse_add(p, &first, &last, jinja_expr_parse(p, true));
    }
    jinja_parse_expect(p, "]");
    return jinja_parse_node(p, JINJA_NODE_LIST, first, NULL, NULL);
}

static struct jinja_node *parse_dict(struct jinja_parse *p)
{
    struct jinja_node *first = NULL, *last = NULL;
    while (!jinja_failed(p->run) && !jinja_parse_is(p, "}")) {
        if (first != NULL)
            jinja_parse_expect(p, ",");
        if (jinja_parse_is(p, "}"))
            break;
        struct jinja_node *key = jinja_expr_parse(p, true);
        if (key->kind == JINJA_NODE_LIST || key->kind == JINJA_NODE_DICT)
            jinja_fail(p->run, STATUS_UNSUPPORTED, "a list or dict as the key of a dict");
        jinja_parse_add(p, &first, &last, key);
        jinja_parse_expect(p, ":");
        jinja_parse_add(p, &first, &last, jinja_expr_parse(p, true));
    }
    jinja_parse_expect(p, "}");
    return jinja_parse_node(p, JINJA_NODE_DICT, first, NULL, NULL);
}

static bool is_tuple_end(const struct jinja_parse *p, const char *end)
{
    enum jinja_token_kind kind = p->lex.token.kind;
    return kind == JINJA_TOKEN_PRINT_END || kind == JINJA_TOKEN_BLOCK_END ||
           jinja_parse_is(p, ")") || (end != NULL && jinja_parse_is(p, end));
}

static struct jinja_node *parse_primary(struct jinja_parse *p, bool allows_attribute);

static struct jinja_node *parse_item(struct jinja_parse *p, enum jinja_operand_items what)
{
    if (what == JINJA_ITEMS_TARGETS || what == JINJA_ITEMS_SET_TARGETS)
        return parse_primary(p, what == JINJA_ITEMS_SET_TARGETS);
    return jinja_expr_parse(p, what == JINJA_ITEMS_CONDITIONAL);
}

/* jinja2's parse_tuple: a TUPLE when there is a comma, or nothing in parentheses. */
struct jinja_node *jinja_operand_tuple(struct jinja_parse *p, enum jinja_operand_items what,
                                       const char *end, bool in_parentheses)
{
    struct jinja_node *first = NULL, *last = NULL;
    bool is_tuple = false;
    while (!jinja_failed(p->run)) {
        if (first != NULL)
            jinja_parse_expect(p, ",");
        if (is_tuple_end(p, end))
            break;
        jinja_parse_add(p, &first, &last, parse_item(p, what));
        if (!jinja_parse_is(p, ","))
            break;
        is_tuple = true;
    }
    if (!is_tuple && first != NULL)
        return first;
    if (!is_tuple && !in_parentheses)
        jinja_fail(p->run, STATUS_BAD_INPUT, "an expression is expected");
    return jinja_parse_node(p, JINJA_NODE_TUPLE, first, NULL, NULL);
}

static struct jinja_node *parse_primary(struct jinja_parse *p, bool allows_attribute)
{
    const struct jinja_token token = p->lex.token;
    struct jinja_node *node;
    if (!jinja_parse_enter(p))
        return jinja_operand_literal(p, jinja_none());
    if (token.kind == JINJA_TOKEN_NAME) {
        node = parse_name(p, allows_attribute);
    } else if (token.kind == JINJA_TOKEN_STRING) {
        node = parse_strings(p);
    } else if (token.kind == JINJA_TOKEN_INT || token.kind == JINJA_TOKEN_FLOAT) {
        node = jinja_operand_literal(p, token.kind == JINJA_TOKEN_INT ? jinja_int(token.integer)
                                                                      : jinja_float(token.real));
        jinja_lex_next(&p->lex);
    } else if (jinja_parse_skip(p, "(")) {
        node = jinja_operand_tuple(p, JINJA_ITEMS_CONDITIONAL, NULL, true);
        jinja_parse_expect(p, ")");
    } else if (jinja_parse_skip(p, "[")) {
        node = parse_list(p);
    } else if (jinja_parse_skip(p, "{")) {
        node = parse_dict(p);
    } else {
        jinja_fail(p->run, STATUS_BAD_INPUT, "an expression is expected before '%.*s'",
                   (int)min_i64((int64_t)token.text.n, 40), token.text.n > 0 ? token.text.at : "");
        node = jinja_operand_literal(p, jinja_none());
    }
    p->depth--;
    return node;
}

/* Python's keywords. jinja2 passes them in another way, in which the last of two equal ones
 * wins. */
static bool is_python_keyword(struct view name)
{
    static const char *const words[] = {
        "False", "None",     "True",  "and",    "as",   "assert", "async",  "await",    "break",
        "class", "continue", "def",   "del",    "elif", "else",   "except", "finally",  "for",
        "from",  "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",
        "or",    "pass",     "raise", "return", "try",  "while",  "with",   "yield",
    };
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        if (view_equal_text(name, words[i]))
            return true;
    }
    return false;
}

static void check_keywords(struct jinja_parse *p, const struct jinja_node *first)
{
    bool has_keyword = false;
    for (const struct jinja_node *a = first; a != NULL; a = a->next)
        has_keyword = has_keyword || (a->kind == JINJA_NODE_KEYWORD && is_python_keyword(a->text));
    for (const struct jinja_node *a = first; a != NULL; a = a->next) {
        for (const struct jinja_node *b = a->next; b != NULL && a->kind == JINJA_NODE_KEYWORD;
             b = b->next) {
            if (b->kind == JINJA_NODE_KEYWORD && view_equal(a->text, b->text))
                jinja_fail(p->run, has_keyword ? STATUS_UNSUPPORTED : STATUS_BAD_INPUT,
                           "keyword argument repeated: %.*s", (int)min_i64((int64_t)a->text.n, 60),
                           a->text.at);
        }
    }
}

/* Parses one argument. has tells the kinds that came before it. */
static struct jinja_node *parse_argument(struct jinja_parse *p, bool has[3])
{
    enum { NAMED, STAR, STAR_STAR };
    struct view name = p->lex.token.text;
    struct jinja_node *node;
    bool is_wrong = false;
    if (jinja_parse_skip(p, "*")) {
        is_wrong = has[STAR] || has[STAR_STAR];
        has[STAR] = true;
        node = jinja_parse_node(p, JINJA_NODE_STAR, jinja_expr_parse(p, true), NULL, NULL);
    } else if (jinja_parse_skip(p, "**")) {
        is_wrong = has[STAR_STAR];
        has[STAR_STAR] = true;
        node = jinja_parse_node(p, JINJA_NODE_STAR_STAR, jinja_expr_parse(p, true), NULL, NULL);
    } else if (p->lex.token.kind == JINJA_TOKEN_NAME &&
               view_equal_text(jinja_lex_peek(&p->lex).text, "=")) {
        is_wrong = has[STAR_STAR];
        has[NAMED] = true;
        jinja_lex_next(&p->lex);
        jinja_lex_next(&p->lex);
        node = named(p, JINJA_NODE_KEYWORD, name, jinja_expr_parse(p, true), NULL);
    } else {
        is_wrong = has[NAMED] || has[STAR] || has[STAR_STAR];
        node = jinja_expr_parse(p, true);
    }
    if (is_wrong)
        jinja_fail(p->run, STATUS_BAD_INPUT, "invalid syntax for function call expression");
    return node;
}

/* Parses the arguments up to the closing parenthesis. The opening one was taken. */
static struct jinja_node *parse_arguments(struct jinja_parse *p)
{
    struct jinja_node *first = NULL, *last = NULL;
    bool has[3] = { false, false, false };
    for (int n = 0; !jinja_failed(p->run) && !jinja_parse_is(p, ")"); n++) {
        if (n > 0)
            jinja_parse_expect(p, ",");
        if (n > 0 && jinja_parse_is(p, ")"))
            break;
        if (n == JINJA_ARGS_MAX)
            jinja_fail(p->run, STATUS_TOO_LARGE, "more than %d arguments", JINJA_ARGS_MAX);
        jinja_parse_add(p, &first, &last, parse_argument(p, has));
    }
    jinja_parse_expect(p, ")");
    check_keywords(p, first);
    return first;
}

static struct jinja_node *parse_bound(struct jinja_parse *p, bool *has_colon)
{
    struct jinja_node *bound = NULL;
    if (!jinja_parse_is(p, ":") && !jinja_parse_is(p, "]") && !jinja_parse_is(p, ","))
        bound = jinja_expr_parse(p, true);
    *has_colon = jinja_parse_skip(p, ":");
    return bound;
}

static struct jinja_node *make_slice(struct jinja_parse *p, struct jinja_node *of,
                                     struct jinja_node *bounds[3])
{
    struct jinja_node *slice = jinja_parse_node(p, JINJA_NODE_SLICE, of, bounds[0], bounds[1]);
    slice->d = bounds[2];
    if (bounds[2] != NULL && bounds[2]->depth >= slice->depth)
        slice->depth = (int16_t)(bounds[2]->depth + 1);
    return slice;
}

/* Parses one index or slice of a[...]. A SLICE has only its bounds. */
static struct jinja_node *parse_subscribed(struct jinja_parse *p)
{
    struct jinja_node *bounds[3] = { NULL };
    bool has_colon = false;
    if (!jinja_parse_is(p, ":")) {
        struct jinja_node *index = jinja_expr_parse(p, true);
        if (!jinja_parse_is(p, ":"))
            return index;
        bounds[0] = index;
    }
    jinja_lex_next(&p->lex);
    bounds[1] = parse_bound(p, &has_colon);
    bool has_more = false;
    if (has_colon)
        bounds[2] = parse_bound(p, &has_more);
    if (has_more)
        jinja_fail(p->run, STATUS_BAD_INPUT, "a slice has too many parts");
    return make_slice(p, NULL, bounds);
}

static struct jinja_node *parse_subscript(struct jinja_parse *p, struct jinja_node *of)
{
    struct jinja_node *first = NULL, *last = NULL;
    int n = 0, n_slices = 0;
    for (; !jinja_failed(p->run) && !jinja_parse_is(p, "]"); n++) {
        if (n > 0)
            jinja_parse_expect(p, ",");
        struct jinja_node *item = parse_subscribed(p);
        n_slices += item->kind == JINJA_NODE_SLICE && item->a == NULL;
        jinja_parse_add(p, &first, &last, item);
    }
    jinja_parse_expect(p, "]");
    if (n == 1 && n_slices == 1 && first != NULL) {
        struct jinja_node *bounds[3] = { first->b, first->c, first->d };
        return make_slice(p, of, bounds);
    }
    if (n_slices > 0)
        jinja_fail(p->run, STATUS_BAD_INPUT, "a slice among several indices");
    if (n != 1)
        first = jinja_parse_node(p, JINJA_NODE_TUPLE, first, NULL, NULL);
    return jinja_parse_node(p, JINJA_NODE_ITEM, of, first, NULL);
}

static struct jinja_node *parse_attribute(struct jinja_parse *p, struct jinja_node *of)
{
    const struct jinja_token token = p->lex.token;
    if (token.kind == JINJA_TOKEN_NAME) {
        jinja_lex_next(&p->lex);
        return named(p, JINJA_NODE_ATTR, token.text, of, NULL);
    }
    if (token.kind != JINJA_TOKEN_INT)
        jinja_fail(p->run, STATUS_BAD_INPUT, "a name or number is expected after '.'");
    jinja_lex_next(&p->lex);
    return jinja_parse_node(p, JINJA_NODE_ITEM, of,
                            jinja_operand_literal(p, jinja_int(token.integer)), NULL);
}

static struct jinja_node *parse_call(struct jinja_parse *p, struct jinja_node *callee)
{
    if (callee->kind == JINJA_NODE_ATTR && jinja_method_is_refused(callee->text))
        jinja_fail(p->run, STATUS_UNSUPPORTED, "the method '%.*s'", (int)callee->text.n,
                   callee->text.at);
    return jinja_parse_node(p, JINJA_NODE_CALL, callee, parse_arguments(p), NULL);
}

static struct jinja_node *parse_postfix(struct jinja_parse *p, struct jinja_node *node)
{
    while (!jinja_failed(p->run)) {
        if (jinja_parse_skip(p, "."))
            node = parse_attribute(p, node);
        else if (jinja_parse_skip(p, "["))
            node = parse_subscript(p, node);
        else if (jinja_parse_skip(p, "("))
            node = parse_call(p, node);
        else
            break;
    }
    return node;
}

/* Parses the name of a filter or test, which may have dots. */
static struct view parse_dotted(struct jinja_parse *p)
{
    struct view name = jinja_parse_name(p);
    while (jinja_parse_skip(p, ".")) {
        struct view more = jinja_parse_name(p);
        if (!jinja_failed(p->run)) /* none here has a dot: the first part is enough */
            name.n = (size_t)(more.at + more.n - name.at);
    }
    return name;
}

static struct jinja_node *parse_filter(struct jinja_parse *p, struct jinja_node *of)
{
    struct view name = parse_dotted(p);
    struct jinja_node *arguments = jinja_parse_skip(p, "(") ? parse_arguments(p) : NULL;
    if (!jinja_failed(p->run) && jinja_filter_is_refused(name))
        jinja_fail(p->run, STATUS_UNSUPPORTED, "the filter '%.*s' is not supported", (int)name.n,
                   name.at);
    struct jinja_node *node = named(p, JINJA_NODE_FILTER, name, of, arguments);
    node->row = jinja_failed(p->run) ? NULL : jinja_filter_find(name);
    return node;
}

struct jinja_node *jinja_operand_filters(struct jinja_parse *p, struct jinja_node *of)
{
    while (!jinja_failed(p->run) && jinja_parse_skip(p, "|"))
        of = parse_filter(p, of);
    return of;
}

struct jinja_node *jinja_operand_first_filter(struct jinja_parse *p)
{
    return jinja_operand_filters(p, parse_filter(p, NULL));
}

static bool begins_test_argument(const struct jinja_parse *p)
{
    enum jinja_token_kind kind = p->lex.token.kind;
    if (kind == JINJA_TOKEN_NAME)
        return !jinja_parse_is(p, "else") && !jinja_parse_is(p, "or") && !jinja_parse_is(p, "and");
    return kind == JINJA_TOKEN_STRING || kind == JINJA_TOKEN_INT || kind == JINJA_TOKEN_FLOAT ||
           jinja_parse_is(p, "[") || jinja_parse_is(p, "{");
}

static struct jinja_node *parse_test(struct jinja_parse *p, struct jinja_node *of)
{
    bool is_negated = jinja_parse_skip(p, "not");
    struct view name = parse_dotted(p);
    struct jinja_node *arguments = NULL;
    if (jinja_parse_skip(p, "(")) {
        arguments = parse_arguments(p);
    } else if (begins_test_argument(p)) {
        if (jinja_parse_is(p, "is"))
            jinja_fail(p->run, STATUS_BAD_INPUT, "You cannot chain multiple tests with is");
        arguments = parse_postfix(p, parse_primary(p, false));
    }
    struct jinja_node *node = named(p, JINJA_NODE_TEST, name, of, arguments);
    node->is_negated = is_negated;
    node->row = jinja_failed(p->run) ? NULL : jinja_is_find(name);
    return node;
}

/* Filters, tests and calls behind an operand. */
static struct jinja_node *parse_filter_expr(struct jinja_parse *p, struct jinja_node *node)
{
    while (!jinja_failed(p->run)) {
        if (jinja_parse_is(p, "|"))
            node = jinja_operand_filters(p, node);
        else if (jinja_parse_skip(p, "is"))
            node = parse_test(p, node);
        else if (jinja_parse_skip(p, "("))
            node = parse_call(p, node);
        else
            break;
    }
    return node;
}

struct jinja_node *jinja_operand_parse(struct jinja_parse *p, bool with_filters)
{
    struct jinja_node *node;
    if (!jinja_parse_enter(p))
        return jinja_operand_literal(p, jinja_none());
    if (jinja_parse_is(p, "-") || jinja_parse_is(p, "+")) {
        enum jinja_op op = jinja_parse_is(p, "-") ? JINJA_SUB : JINJA_ADD;
        jinja_lex_next(&p->lex);
        node = jinja_parse_node(p, JINJA_NODE_UNARY, jinja_operand_parse(p, false), NULL, NULL);
        node->op = op;
    } else {
        node = parse_primary(p, false);
    }
    node = parse_postfix(p, node);
    p->depth--;
    return with_filters ? parse_filter_expr(p, node) : node;
}
