/* Statements: the tags between the text. */
#include "text/jinja_parse.h"
#include "text/jinja_expr.h"
#include "text/jinja_value.h"

static struct jinja_node *parse_body(struct jinja_parse *p, const char *const *ends);

bool jinja_parse_enter(struct jinja_parse *p)
{
    if (++p->depth > JINJA_TREE_DEPTH_MAX) {
        jinja_fail(p->run, STATUS_TOO_LARGE, "nested deeper than %d", JINJA_TREE_DEPTH_MAX);
        p->depth--;
    }
    return !jinja_failed(p->run);
}

struct jinja_node *jinja_parse_node(struct jinja_parse *p, enum jinja_node_kind kind,
                                    struct jinja_node *a, struct jinja_node *b,
                                    struct jinja_node *c)
{
    struct jinja_node *node = jinja_take(p->run, sizeof(*node));
    if (++p->n_nodes > JINJA_NODES_MAX)
        jinja_fail(p->run, STATUS_TOO_LARGE, "more than %d nodes", JINJA_NODES_MAX);
    if (node == NULL)
        return &p->spare;
    *node = (struct jinja_node){ .kind = kind, .line = p->lex.line, .a = a, .b = b, .c = c };
    const struct jinja_node *parts[] = { a, b, c };
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        for (const struct jinja_node *part = parts[i]; part != NULL; part = part->next)
            node->depth = part->depth >= node->depth ? (int16_t)(part->depth + 1) : node->depth;
    }
    if (node->depth > JINJA_TREE_DEPTH_MAX)
        jinja_fail(p->run, STATUS_TOO_LARGE, "nested deeper than %d", JINJA_TREE_DEPTH_MAX);
    return node;
}

void jinja_parse_add(struct jinja_node **first, struct jinja_node **last, struct jinja_node *node)
{
    if (*first == NULL)
        *first = node;
    else
        (*last)->next = node;
    *last = node;
}

bool jinja_parse_is(const struct jinja_parse *p, const char *text)
{
    const struct jinja_token *token = &p->lex.token;
    return (token->kind == JINJA_TOKEN_NAME || token->kind == JINJA_TOKEN_OP) &&
           view_equal_text(token->text, text);
}

bool jinja_parse_skip(struct jinja_parse *p, const char *text)
{
    if (!jinja_parse_is(p, text))
        return false;
    jinja_lex_next(&p->lex);
    return true;
}

void jinja_parse_expect(struct jinja_parse *p, const char *text)
{
    if (!jinja_parse_skip(p, text))
        jinja_fail(p->run, STATUS_BAD_INPUT, "'%s' is expected before '%.*s'", text,
                   (int)min_i64((int64_t)p->lex.token.text.n, 40),
                   p->lex.token.text.n > 0 ? p->lex.token.text.at : "");
}

static void expect_end(struct jinja_parse *p)
{
    if (p->lex.token.kind != JINJA_TOKEN_END)
        jinja_parse_expect(p, "end of the tag");
}

/* The rest of an {% if %}, {% elif %}: condition, body and what follows. */
static struct jinja_node *parse_if(struct jinja_parse *p)
{
    static const char *const ends[] = { "elif", "else", "endif", NULL };
    static const char *const last[] = { "endif", NULL };
    if (!jinja_parse_enter(p))
        return NULL;
    struct jinja_node *condition = jinja_expr_tuple(p, true), *other = NULL;
    expect_end(p);
    struct jinja_node *body = parse_body(p, ends);
    if (jinja_parse_skip(p, "elif")) {
        other = parse_if(p);
    } else {
        if (jinja_parse_skip(p, "else")) {
            expect_end(p);
            other = parse_body(p, last);
        }
        jinja_parse_expect(p, "endif");
        expect_end(p);
    }
    p->depth--;
    return jinja_parse_node(p, JINJA_NODE_IF, condition, body, other);
}

static struct jinja_node *parse_for(struct jinja_parse *p)
{
    static const char *const ends[] = { "else", "endfor", NULL };
    static const char *const last[] = { "endfor", NULL };
    struct jinja_node *target = jinja_expr_target(p), *condition = NULL, *other = NULL;
    jinja_parse_expect(p, "in");
    struct jinja_node *items = jinja_expr_tuple(p, false);
    if (jinja_parse_skip(p, "if"))
        condition = jinja_expr_parse(p, true);
    if (jinja_parse_is(p, "recursive"))
        jinja_fail(p->run, STATUS_UNSUPPORTED, "recursive loops are not supported");
    expect_end(p);
    struct jinja_node *body = parse_body(p, ends);
    if (jinja_parse_skip(p, "else")) {
        expect_end(p);
        other = parse_body(p, last);
    }
    jinja_parse_expect(p, "endfor");
    expect_end(p);
    struct jinja_node *node = jinja_parse_node(p, JINJA_NODE_FOR, target, items, body);
    node->d = other;
    node->e = condition;
    return node;
}

static struct jinja_node *parse_set(struct jinja_parse *p)
{
    static const char *const ends[] = { "endset", NULL };
    struct jinja_node *target = jinja_expr_target(p);
    if (jinja_parse_skip(p, "=")) {
        struct jinja_node *value = jinja_expr_tuple(p, true);
        expect_end(p);
        return jinja_parse_node(p, JINJA_NODE_SET, target, value, NULL);
    }
    struct jinja_node *filters = jinja_expr_filters(p, NULL);
    expect_end(p);
    struct jinja_node *body = parse_body(p, ends);
    jinja_parse_expect(p, "endset");
    expect_end(p);
    return jinja_parse_node(p, JINJA_NODE_CAPTURE, target, body, filters);
}

/* (a, b=1): NAME nodes with their defaults. */
static struct jinja_node *parse_parameters(struct jinja_parse *p)
{
    struct jinja_node *first = NULL, *last = NULL;
    jinja_parse_expect(p, "(");
    for (int n = 1; !jinja_failed(p->run) && !jinja_parse_is(p, ")"); n++) {
        struct view name = p->lex.token.text;
        if (p->lex.token.kind != JINJA_TOKEN_NAME)
            jinja_fail(p->run, STATUS_BAD_INPUT, "a parameter's name is expected");
        if (n > JINJA_ARGS_MAX)
            jinja_fail(p->run, STATUS_TOO_LARGE, "more than %d parameters", JINJA_ARGS_MAX);
        jinja_lex_next(&p->lex);
        struct jinja_node *value = jinja_parse_skip(p, "=") ? jinja_expr_parse(p, true) : NULL;
        struct jinja_node *parameter = jinja_parse_node(p, JINJA_NODE_NAME, value, NULL, NULL);
        parameter->text = name;
        jinja_parse_add(&first, &last, parameter);
        if (!jinja_parse_skip(p, ","))
            break;
    }
    jinja_parse_expect(p, ")");
    return first;
}

static struct jinja_node *parse_macro(struct jinja_parse *p)
{
    static const char *const ends[] = { "endmacro", NULL };
    struct view name = p->lex.token.text;
    if (p->lex.token.kind != JINJA_TOKEN_NAME)
        jinja_fail(p->run, STATUS_BAD_INPUT, "a macro's name is expected");
    jinja_lex_next(&p->lex);
    struct jinja_node *parameters = parse_parameters(p);
    expect_end(p);
    struct jinja_node *body = parse_body(p, ends);
    jinja_parse_expect(p, "endmacro");
    expect_end(p);
    struct jinja_node *node = jinja_parse_node(p, JINJA_NODE_MACRO, parameters, body, NULL);
    node->text = name;
    return node;
}

static struct jinja_node *parse_filtered(struct jinja_parse *p)
{
    static const char *const ends[] = { "endfilter", NULL };
    /* "{% filter a|b %}" has no bar before the first. */
    struct jinja_node *filters = NULL;
    struct jinja_lex *lex = &p->lex;
    if (lex->token.kind == JINJA_TOKEN_NAME)
        filters = jinja_expr_filter(p, NULL);
    filters = jinja_expr_filters(p, filters);
    expect_end(p);
    struct jinja_node *body = parse_body(p, ends);
    jinja_parse_expect(p, "endfilter");
    expect_end(p);
    return jinja_parse_node(p, JINJA_NODE_FILTERED, NULL, body, filters);
}

static struct jinja_node *parse_with(struct jinja_parse *p)
{
    static const char *const ends[] = { "endwith", NULL };
    struct jinja_node *first = NULL, *last = NULL;
    while (!jinja_failed(p->run) && p->lex.token.kind != JINJA_TOKEN_END) {
        struct jinja_node *target = jinja_expr_target(p);
        jinja_parse_expect(p, "=");
        struct jinja_node *value = jinja_expr_parse(p, true);
        jinja_parse_add(&first, &last, jinja_parse_node(p, JINJA_NODE_SET, target, value, NULL));
        if (!jinja_parse_skip(p, ","))
            break;
    }
    expect_end(p);
    struct jinja_node *body = parse_body(p, ends);
    jinja_parse_expect(p, "endwith");
    expect_end(p);
    return jinja_parse_node(p, JINJA_NODE_WITH, first, body, NULL);
}

/* {% generation %}, which marks the assistant's words for training. */
static struct jinja_node *parse_generation(struct jinja_parse *p)
{
    static const char *const ends[] = { "endgeneration", NULL };
    expect_end(p);
    struct jinja_node *body = parse_body(p, ends);
    jinja_parse_expect(p, "endgeneration");
    expect_end(p);
    return jinja_parse_node(p, JINJA_NODE_BODY, NULL, body, NULL);
}

static struct jinja_node *parse_break(struct jinja_parse *p)
{
    expect_end(p);
    return jinja_parse_node(p, JINJA_NODE_BREAK, NULL, NULL, NULL);
}

static struct jinja_node *parse_continue(struct jinja_parse *p)
{
    expect_end(p);
    return jinja_parse_node(p, JINJA_NODE_CONTINUE, NULL, NULL, NULL);
}

static const struct {
    const char *name;
    struct jinja_node *(*parse)(struct jinja_parse *p);
} statements[] = {
    { "set", parse_set },         { "if", parse_if },       { "for", parse_for },
    { "macro", parse_macro },     { "break", parse_break }, { "continue", parse_continue },
    { "filter", parse_filtered }, { "with", parse_with },   { "generation", parse_generation },
};

static struct jinja_node *parse_statement(struct jinja_parse *p)
{
    struct view name = p->lex.token.text;
    if (p->lex.token.kind != JINJA_TOKEN_NAME)
        jinja_fail(p->run, STATUS_BAD_INPUT, "a tag's name is expected");
    for (size_t i = 0; i < COUNT_OF(statements) && !jinja_failed(p->run); i++) {
        if (view_equal_text(name, statements[i].name)) {
            jinja_lex_next(&p->lex);
            return statements[i].parse(p);
        }
    }
    jinja_fail(p->run, STATUS_UNSUPPORTED, "the tag '%.*s' is unknown or out of place",
               (int)min_i64((int64_t)name.n, 40), name.n > 0 ? name.at : "");
    return NULL;
}

/* Whether the tag entered is one of ends; the end of the source is when ends is NULL. */
static bool is_end(struct jinja_parse *p, enum jinja_tag tag, const char *const *ends)
{
    if (tag == JINJA_TAG_END) {
        if (ends != NULL)
            jinja_fail(p->run, STATUS_BAD_INPUT, "'%s' is missing at the end",
                       ends[0][0] == 'e' && ends[1] == NULL ? ends[0] : "end of a block");
        return true;
    }
    if (tag != JINJA_TAG_BLOCK)
        return false;
    for (int i = 0; ends != NULL && ends[i] != NULL; i++) {
        if (jinja_parse_is(p, ends[i]))
            return true;
    }
    return false;
}

static struct jinja_node *parse_body(struct jinja_parse *p, const char *const *ends)
{
    struct jinja_node *first = NULL, *last = NULL;
    if (!jinja_parse_enter(p))
        return NULL;
    while (!jinja_failed(p->run)) {
        struct view text;
        enum jinja_tag tag = jinja_lex_text(&p->lex, &text);
        if (text.n > 0 && !jinja_failed(p->run)) {
            struct jinja_node *node = jinja_parse_node(p, JINJA_NODE_TEXT, NULL, NULL, NULL);
            node->text = text;
            jinja_parse_add(&first, &last, node);
        }
        if (jinja_failed(p->run) || is_end(p, tag, ends))
            break;
        struct jinja_node *node = NULL;
        if (tag == JINJA_TAG_PRINT) {
            node = jinja_parse_node(p, JINJA_NODE_PRINT, jinja_expr_tuple(p, true), NULL, NULL);
            expect_end(p);
        } else if (tag == JINJA_TAG_BLOCK) {
            node = parse_statement(p);
        }
        if (node != NULL && !jinja_failed(p->run))
            jinja_parse_add(&first, &last, node);
    }
    p->depth--;
    return first;
}

struct jinja_node *jinja_parse_source(struct jinja_run *run, struct view source)
{
    struct jinja_parse p = { .run = run };
    if (source.n > JINJA_SOURCE_BYTES_MAX) {
        jinja_fail(run, STATUS_TOO_LARGE, "more than %d bytes", JINJA_SOURCE_BYTES_MAX);
        return NULL;
    }
    jinja_lex_init(&p.lex, jinja_lex_clean(run, source), run);
    struct jinja_node *body = parse_body(&p, NULL);
    return jinja_failed(run) ? NULL : body;
}
