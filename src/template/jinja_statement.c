/* Statements: the tags between the text. Checks are made in the order of jinja2's parser, so that
 * the same error is found first. */
#include "template/jinja_expr.h"
#include "template/jinja_parse.h"
#include "template/jinja_scope.h"

static struct jinja_node *parse_list(struct jinja_parse *p, const char *const *ends);

/* Parses the body of a statement, whose first tag ends here. The tag that ends the body is entered:
 * its name is the next token. */
static struct jinja_node *parse_body(struct jinja_parse *p, const char *const *ends)
{
    (void)jinja_parse_skip(p, ":");
    jinja_parse_expect_kind(p, JINJA_TOKEN_BLOCK_END, "the end of the tag");
    struct jinja_node *body = parse_list(p, ends);
    if (!jinja_failed(p->run) && p->lex.token.kind == JINJA_TOKEN_END)
        jinja_fail(p->run, STATUS_BAD_INPUT, "'%s' is missing at the end of the template", ends[0]);
    return body;
}

/* Parses a body that a single tag ends, and takes that tag. */
static struct jinja_node *parse_whole_body(struct jinja_parse *p, const char *end)
{
    const char *const ends[] = { end, NULL };
    struct jinja_node *body = parse_body(p, ends);
    jinja_lex_next(&p->lex);
    return body;
}

static struct jinja_node *parse_if(struct jinja_parse *p)
{
    static const char *const ends[] = { "elif", "else", "endif", NULL };
    struct jinja_node *first = NULL, *last = NULL, *other = NULL;
    for (bool goes_on = true; goes_on && !jinja_failed(p->run);) {
        struct jinja_node *condition = jinja_expr_tuple(p, false);
        struct jinja_node *body = parse_body(p, ends);
        struct jinja_node *branch = jinja_parse_node(p, JINJA_NODE_IF, condition, body, NULL);
        jinja_parse_add(p, &first, &last, branch);
        goes_on = jinja_parse_skip(p, "elif");
    }
    if (jinja_parse_skip(p, "else"))
        other = parse_whole_body(p, "endif");
    else
        jinja_lex_next(&p->lex);
    if (first == NULL)
        return NULL;
    first->c = first->next;
    first->next = NULL;
    first->d = other;
    return first;
}

static struct jinja_node *parse_for(struct jinja_parse *p)
{
    static const char *const ends[] = { "endfor", "else", NULL };
    struct jinja_node *target = jinja_expr_target(p, false, "in"), *condition = NULL, *other = NULL;
    jinja_parse_expect(p, "in");
    struct jinja_node *items = jinja_expr_tuple_until(p, "recursive");
    if (jinja_parse_skip(p, "if"))
        condition = jinja_expr_parse(p, true);
    bool is_recursive = jinja_parse_skip(p, "recursive");
    struct jinja_node *body = parse_body(p, ends);
    if (jinja_parse_skip(p, "else"))
        other = parse_whole_body(p, "endfor");
    else
        jinja_lex_next(&p->lex);
    struct jinja_node *node = jinja_parse_node(p, JINJA_NODE_FOR, target, items, body);
    node->d = other;
    node->e = condition;
    node->is_recursive = is_recursive;
    return node;
}

static struct jinja_node *parse_set(struct jinja_parse *p)
{
    struct jinja_node *target = jinja_expr_target(p, true, NULL);
    if (jinja_parse_skip(p, "=")) {
        struct jinja_node *value = jinja_expr_tuple(p, true);
        return jinja_parse_node(p, JINJA_NODE_SET, target, value, NULL);
    }
    struct jinja_node *filters = jinja_operand_filters(p, NULL);
    struct jinja_node *body = parse_whole_body(p, "endset");
    return jinja_parse_node(p, JINJA_NODE_CAPTURE, target, filters, body);
}

/* A name that may be assigned to. */
static struct view parse_target_name(struct jinja_parse *p)
{
    static const char *const constants[] = { "true", "false", "none", "True", "False", "None" };
    struct view name = jinja_parse_name(p);
    for (size_t i = 0; i < COUNT_OF(constants); i++) {
        if (view_equal_text(name, constants[i]))
            jinja_fail(p->run, STATUS_BAD_INPUT, "can't assign to '%s'", constants[i]);
    }
    return name;
}

/* Parses "(a, b=1)" of a macro or call block: NAMEs, and the defaults of the last ones. */
static void parse_parameters(struct jinja_parse *p, struct jinja_node *node)
{
    struct jinja_node *last = NULL, *last_default = NULL;
    jinja_parse_expect(p, "(");
    for (int n = 0; !jinja_failed(p->run) && !jinja_parse_is(p, ")"); n++) {
        if (n > 0)
            jinja_parse_expect(p, ",");
        if (n == JINJA_ARGS_MAX)
            jinja_fail(p->run, STATUS_TOO_LARGE, "more than %d parameters", JINJA_ARGS_MAX);
        struct jinja_node *parameter = jinja_parse_node(p, JINJA_NODE_NAME, NULL, NULL, NULL);
        parameter->text = parse_target_name(p);
        parameter->use = JINJA_PARAM;
        for (const struct jinja_node *q = node->a; q != NULL; q = q->next) {
            if (view_equal(q->text, parameter->text))
                jinja_fail(p->run, STATUS_BAD_INPUT, "duplicate argument '%.*s'",
                           (int)min_i64((int64_t)q->text.n, 60), q->text.at);
        }
        if (jinja_parse_skip(p, "="))
            jinja_parse_add(p, &node->b, &last_default, jinja_expr_parse(p, true));
        else if (node->b != NULL)
            jinja_fail(p->run, STATUS_BAD_INPUT, "non-default argument follows default argument");
        jinja_parse_add(p, &node->a, &last, parameter);
    }
    jinja_parse_expect(p, ")");
}

static struct jinja_node *parse_macro(struct jinja_parse *p)
{
    struct jinja_node *node = jinja_parse_node(p, JINJA_NODE_MACRO, NULL, NULL, NULL);
    node->text = parse_target_name(p);
    node->use = JINJA_STORE;
    parse_parameters(p, node);
    node->c = parse_whole_body(p, "endmacro");
    return node;
}

static struct jinja_node *parse_call(struct jinja_parse *p)
{
    struct jinja_node *node = jinja_parse_node(p, JINJA_NODE_CALL_BLOCK, NULL, NULL, NULL);
    if (jinja_parse_is(p, "("))
        parse_parameters(p, node);
    node->d = jinja_expr_parse(p, true);
    if (node->d->kind != JINJA_NODE_CALL)
        jinja_fail(p->run, STATUS_BAD_INPUT, "a call is expected behind 'call'");
    node->c = parse_whole_body(p, "endcall");
    return node;
}

/* {% generation %}, which marks the assistant's words for training. */
static struct jinja_node *parse_generation(struct jinja_parse *p)
{
    struct jinja_node *node = jinja_parse_node(p, JINJA_NODE_GENERATION, NULL, NULL, NULL);
    node->c = parse_whole_body(p, "endgeneration");
    return node;
}

static struct jinja_node *parse_filtered(struct jinja_parse *p)
{
    struct jinja_node *filters = jinja_operand_first_filter(p);
    struct jinja_node *body = parse_whole_body(p, "endfilter");
    return jinja_parse_node(p, JINJA_NODE_FILTERED, body, filters, NULL);
}

static struct jinja_node *parse_with(struct jinja_parse *p)
{
    struct jinja_node *targets = NULL, *last = NULL, *values = NULL, *last_value = NULL;
    while (!jinja_failed(p->run) && p->lex.token.kind != JINJA_TOKEN_BLOCK_END) {
        if (targets != NULL)
            jinja_parse_expect(p, ",");
        struct jinja_node *target = jinja_expr_target(p, false, NULL);
        jinja_expr_use(target, JINJA_PARAM);
        jinja_parse_expect(p, "=");
        jinja_parse_add(p, &targets, &last, target);
        jinja_parse_add(p, &values, &last_value, jinja_expr_parse(p, true));
    }
    struct jinja_node *body = parse_whole_body(p, "endwith");
    return jinja_parse_node(p, JINJA_NODE_WITH, targets, values, body);
}

static struct jinja_node *parse_print(struct jinja_parse *p)
{
    struct jinja_node *first = NULL, *last = NULL;
    while (!jinja_failed(p->run) && p->lex.token.kind != JINJA_TOKEN_BLOCK_END) {
        if (first != NULL)
            jinja_parse_expect(p, ",");
        jinja_parse_add(p, &first, &last, jinja_expr_parse(p, true));
    }
    return jinja_parse_node(p, JINJA_NODE_PRINT, first, NULL, NULL);
}

static struct jinja_node *parse_break(struct jinja_parse *p)
{
    return jinja_parse_node(p, JINJA_NODE_BREAK, NULL, NULL, NULL);
}

static struct jinja_node *parse_continue(struct jinja_parse *p)
{
    return jinja_parse_node(p, JINJA_NODE_CONTINUE, NULL, NULL, NULL);
}

static const struct {
    const char *name;
    struct jinja_node *(*parse)(struct jinja_parse *p);
} statements[] = {
    { "set", parse_set },         { "if", parse_if },
    { "for", parse_for },         { "macro", parse_macro },
    { "break", parse_break },     { "continue", parse_continue },
    { "filter", parse_filtered }, { "with", parse_with },
    { "print", parse_print },     { "generation", parse_generation },
    { "call", parse_call },
};

static struct jinja_node *parse_statement(struct jinja_parse *p)
{
    static const char *const refused[] = { "autoescape", "block",  "extends",
                                           "from",       "import", "include" };
    struct view name = jinja_parse_name(p);
    struct jinja_node *node = NULL;
    bool is_known = false, is_refused = false;
    if (p->n_blocks++ >= JINJA_BLOCK_DEPTH_MAX)
        jinja_fail(p->run, STATUS_TOO_LARGE, "blocks nest deeper than %d", JINJA_BLOCK_DEPTH_MAX);
    for (size_t i = 0; i < COUNT_OF(statements) && !jinja_failed(p->run); i++) {
        if (!view_equal_text(name, statements[i].name))
            continue;
        is_known = true;
        node = statements[i].parse(p);
    }
    p->n_blocks--;
    for (size_t i = 0; i < COUNT_OF(refused); i++)
        is_refused = is_refused || view_equal_text(name, refused[i]);
    if (!is_known)
        jinja_fail(p->run, is_refused ? STATUS_UNSUPPORTED : STATUS_BAD_INPUT,
                   is_refused ? "the tag '%.*s' is not supported"
                              : "the tag '%.*s' is unknown or out of place",
                   (int)min_i64((int64_t)name.n, 40), name.n > 0 ? name.at : "");
    return node;
}

static bool is_end(const struct jinja_parse *p, const char *const *ends)
{
    for (int i = 0; ends != NULL && ends[i] != NULL; i++) {
        if (p->lex.token.kind == JINJA_TOKEN_NAME && view_equal_text(p->lex.token.text, ends[i]))
            return true;
    }
    return false;
}

static struct jinja_node *parse_text(struct jinja_parse *p)
{
    struct jinja_node *node = jinja_parse_node(p, JINJA_NODE_TEXT, NULL, NULL, NULL);
    node->text = p->lex.token.text;
    jinja_lex_next(&p->lex);
    return node;
}

/* Parses statements up to the end of the template, or up to a tag with one of the names in ends. */
static struct jinja_node *parse_list(struct jinja_parse *p, const char *const *ends)
{
    struct jinja_node *first = NULL, *last = NULL;
    while (!jinja_failed(p->run) && p->lex.token.kind != JINJA_TOKEN_END) {
        struct jinja_node *node = NULL;
        if (p->lex.token.kind == JINJA_TOKEN_DATA) {
            node = parse_text(p);
        } else if (p->lex.token.kind == JINJA_TOKEN_PRINT_BEGIN) {
            jinja_lex_next(&p->lex);
            node = jinja_parse_node(p, JINJA_NODE_PRINT, jinja_expr_tuple(p, true), NULL, NULL);
            jinja_parse_expect_kind(p, JINJA_TOKEN_PRINT_END, "the end of the tag");
        } else {
            jinja_lex_next(&p->lex);
            if (is_end(p, ends))
                break;
            node = parse_statement(p);
            jinja_parse_expect_kind(p, JINJA_TOKEN_BLOCK_END, "the end of the tag");
        }
        if (node != NULL && !jinja_failed(p->run))
            jinja_parse_add(p, &first, &last, node);
    }
    return first;
}

struct jinja_node *jinja_parse_source(struct jinja_run *run, struct view source,
                                      struct jinja_block *root)
{
    struct jinja_parse *p = jinja_take(run, sizeof(*p));
    *root = (struct jinja_block){ .loop_slot = -1 };
    if (source.n > JINJA_SOURCE_BYTES_MAX)
        jinja_fail(run, STATUS_TOO_LARGE, "more than %d bytes", JINJA_SOURCE_BYTES_MAX);
    if (jinja_failed(run))
        return NULL;
    p->run = run;
    jinja_lex_init(&p->lex, source, run);
    struct jinja_node *body = parse_list(p, NULL);
    if (!jinja_failed(run))
        jinja_scope_resolve(run, body, root);
    return jinja_failed(run) ? NULL : body;
}
