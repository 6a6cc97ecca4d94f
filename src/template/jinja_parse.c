/* The tokens and nodes that the parsers of statements and expressions share. */
#include "template/jinja_parse.h"
#include <stdio.h>

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
    *node = (struct jinja_node){ .kind = kind, .line = p->lex.token.line, .a = a, .b = b, .c = c };
    const struct jinja_node *parts[] = { a, b, c };
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        for (const struct jinja_node *part = parts[i]; part != NULL; part = part->next)
            node->depth = part->depth >= node->depth ? (int16_t)(part->depth + 1) : node->depth;
    }
    if (node->depth > JINJA_TREE_DEPTH_MAX)
        jinja_fail(p->run, STATUS_TOO_LARGE, "nested deeper than %d", JINJA_TREE_DEPTH_MAX);
    return node;
}

void jinja_parse_add(struct jinja_parse *p, struct jinja_node **first, struct jinja_node **last,
                     struct jinja_node *node)
{
    if (jinja_failed(p->run))
        return; /* in two lists at once, the spare node would follow itself */
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

static struct view token_text(const struct jinja_token *token)
{
    static const char *const names[] = {
        [JINJA_TOKEN_END] = "the end of the template",
        [JINJA_TOKEN_DATA] = "text",
        [JINJA_TOKEN_PRINT_BEGIN] = "{{",
        [JINJA_TOKEN_PRINT_END] = "}}",
        [JINJA_TOKEN_BLOCK_BEGIN] = "{%",
        [JINJA_TOKEN_BLOCK_END] = "%}",
    };
    if (token->kind < COUNT_OF(names))
        return view_text(names[token->kind]);
    return view_of(token->text.at, (size_t)min_i64((int64_t)token->text.n, 40));
}

static void fail_expected(struct jinja_parse *p, const char *what)
{
    struct view text = token_text(&p->lex.token);
    jinja_fail(p->run, STATUS_BAD_INPUT, "%s is expected before '%.*s'", what, (int)text.n,
               text.n > 0 ? text.at : "");
}

void jinja_parse_expect(struct jinja_parse *p, const char *text)
{
    char quoted[32];
    (void)snprintf(quoted, sizeof(quoted), "'%s'", text);
    if (!jinja_parse_skip(p, text))
        fail_expected(p, quoted);
}

struct view jinja_parse_name(struct jinja_parse *p)
{
    struct view name = p->lex.token.text;
    if (p->lex.token.kind != JINJA_TOKEN_NAME)
        fail_expected(p, "a name");
    jinja_lex_next(&p->lex);
    return name;
}

void jinja_parse_expect_kind(struct jinja_parse *p, enum jinja_token_kind kind, const char *what)
{
    if (p->lex.token.kind != kind)
        fail_expected(p, what);
    jinja_lex_next(&p->lex);
}
