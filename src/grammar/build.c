/* Adding rules and nodes to a program. */
#include "grammar/build.h"

#include "base/mem.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Makes room for one more element of a table in the program's pile. */
static void *grow(struct build *b, void *table, uint32_t n, uint32_t *n_max, size_t n_bytes)
{
    if (n < *n_max)
        return table;
    *n_max = *n_max * 2 + 16;
    void *more = pile_take(&b->program->pile, n_bytes * *n_max);
    if (n > 0)
        memcpy(more, table, n_bytes * n);
    if (b->program->pile.n_bytes > PROGRAM_BYTES_MAX)
        build_refuse(b, STATUS_TOO_LARGE, "the grammar takes more than %d MiB when it is compiled",
                     PROGRAM_BYTES_MAX >> 20);
    return more;
}

void build_begin(struct build *b, struct program *program, struct fault *fault)
{
    *b = (struct build){ .program = program, .fault = fault };
    (void)build_node(b, OP_DEAD, 0, 0);
    b->return_node = build_node(b, OP_RETURN, 0, 0);
    program->done = build_node(b, OP_DONE, 0, 0);
    b->all = dfa_of_all(&program->pile);
}

void build_refuse(struct build *b, enum status status, const char *fmt, ...)
{
    char text[sizeof(b->fault->text)];
    va_list args;
    if (b->is_bad)
        return;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    (void)fault_set(b->fault, status, "%s", text);
    b->is_bad = true;
}

uint32_t build_rule(struct build *b)
{
    struct program *p = b->program;
    p->rules = grow(b, p->rules, p->n_rules, &b->n_rules_max, sizeof(*p->rules));
    p->rules[p->n_rules] = 0;
    return p->n_rules++;
}

uint32_t build_node(struct build *b, enum program_op op, uint32_t next, uint32_t x)
{
    struct program *p = b->program;
    if (p->n_nodes >= PROGRAM_NODES_MAX) {
        build_refuse(b, STATUS_TOO_LARGE, "the grammar has more than %d states when it is compiled",
                     PROGRAM_NODES_MAX);
        return 0;
    }
    p->nodes = grow(b, p->nodes, p->n_nodes, &b->n_nodes_max, sizeof(*p->nodes));
    p->nodes[p->n_nodes] = (struct program_node){ .op = (uint8_t)op, .next = next, .x = x };
    return p->n_nodes++;
}

uint32_t build_literal(struct build *b, struct view bytes, uint32_t next)
{
    for (size_t i = bytes.n; i-- > 0;) {
        next = build_node(b, OP_BYTE, next, 0);
        b->program->nodes[next].byte = (uint8_t)bytes.at[i];
    }
    return next;
}

uint32_t build_raw(struct build *b, struct dfa *dfa, uint32_t next)
{
    struct program *p = b->program;
    if (dfa == NULL) {
        build_refuse(b, STATUS_TOO_LARGE, "an expression of the grammar needs too many states");
        return 0;
    }
    p->dfas = grow(b, p->dfas, p->n_dfas, &b->n_dfas_max, sizeof(struct dfa *));
    p->dfas[p->n_dfas] = dfa;
    return build_node(b, OP_RAW, next, p->n_dfas++);
}

uint32_t build_text(struct build *b, struct program_text text, uint32_t next)
{
    struct program *p = b->program;
    if (text.dfa == NULL) {
        build_refuse(b, STATUS_TOO_LARGE, "a string of the grammar needs too many states");
        return 0;
    }
    p->texts = grow(b, p->texts, p->n_texts, &b->n_texts_max, sizeof(*p->texts));
    p->texts[p->n_texts] = text;
    uint32_t node = build_node(b, OP_TEXT, next, p->n_texts++);
    return build_literal(b, view_of("\"", 1), node);
}

uint32_t build_object(struct build *b, struct program_object object, uint32_t next)
{
    struct program *p = b->program;
    if (object.keys == NULL) {
        build_refuse(b, STATUS_TOO_LARGE, "the keys of an object need too many states");
        return 0;
    }
    p->objects = grow(b, p->objects, p->n_objects, &b->n_objects_max, sizeof(*p->objects));
    p->objects[p->n_objects] = object;
    uint32_t first = p->n_nodes;
    for (int op = OP_OBJECT_FIRST; op <= OP_OBJECT_MORE; op++)
        (void)build_node(b, (enum program_op)op, next, p->n_objects);
    p->n_objects++;
    return build_literal(b, view_of("{", 1), first);
}

uint32_t build_array(struct build *b, struct program_array array, uint32_t next)
{
    struct program *p = b->program;
    p->arrays = grow(b, p->arrays, p->n_arrays, &b->n_arrays_max, sizeof(*p->arrays));
    p->arrays[p->n_arrays] = array;
    uint32_t first = p->n_nodes;
    for (int op = OP_ARRAY_FIRST; op <= OP_ARRAY_MORE; op++)
        (void)build_node(b, (enum program_op)op, next, p->n_arrays);
    p->n_arrays++;
    return build_literal(b, view_of("[", 1), first);
}

uint32_t build_free(struct build *b, struct view trigger, uint32_t next)
{
    struct program *p = b->program;
    uint32_t *borders = pile_take(&p->pile, sizeof(*borders) * (trigger.n + 1));
    if (trigger.n == 0) {
        build_refuse(b, STATUS_BAD_INPUT, "the trigger of the calls is empty");
        return 0;
    }
    for (uint32_t i = 1, k = 0; i < trigger.n; i++) {
        while (k > 0 && trigger.at[i] != trigger.at[k])
            k = borders[k - 1];
        k += trigger.at[i] == trigger.at[k];
        borders[i] = k;
    }
    p->frees = grow(b, p->frees, p->n_frees, &b->n_frees_max, sizeof(*p->frees));
    p->frees[p->n_frees] = (struct program_free){
        .trigger = view_of(pile_text(&p->pile, trigger.at, trigger.n), trigger.n),
        .borders = borders,
        .end = b->return_node,
    };
    return build_node(b, OP_FREE, next, p->n_frees++);
}

uint32_t build_call(struct build *b, uint32_t rule, uint32_t next)
{
    return build_node(b, OP_CALL, next, rule);
}

uint32_t build_either(struct build *b, const uint32_t *firsts, uint32_t n)
{
    uint32_t at = n > 0 ? firsts[n - 1] : 0;
    for (uint32_t i = n; i-- > 1;)
        at = build_node(b, OP_SPLIT, firsts[i - 1], at);
    return at;
}

/* ---- Expressions. ---- */

/* A repetition of a part with rules, or too long for an automaton: a loop, or a rule that counts.
 */
static uint32_t build_repeat(struct build *b, const struct expr *expr, uint32_t next)
{
    struct program *p = b->program;
    if (expr->min == 0 && expr->max == 1)
        return build_node(b, OP_SPLIT, build_expr(b, expr->parts[0], next), next);
    if (expr->min <= 1 && expr->max == EXPR_MANY) {
        uint32_t loop = build_node(b, OP_SPLIT, 0, next);
        uint32_t body = build_expr(b, expr->parts[0], loop);
        p->nodes[loop].next = body;
        return expr->min == 0 ? loop : body;
    }
    uint32_t rule = build_rule(b), body = build_rule(b);
    p->repeats = grow(b, p->repeats, p->n_repeats, &b->n_repeats_max, sizeof(*p->repeats));
    p->repeats[p->n_repeats] = (struct program_repeat){ body, expr->min, expr->max };
    p->rules[rule] = build_node(b, OP_REPEAT, b->return_node, p->n_repeats++);
    uint32_t first = build_expr(b, expr->parts[0], b->return_node);
    p->rules[body] = first;
    return build_call(b, rule, next);
}

/* Builds joined parts, taking those in turn that have no rule as one automaton. */
static uint32_t build_join(struct build *b, const struct expr *expr, uint32_t next)
{
    for (uint32_t i = expr->n; i-- > 0 && !b->is_bad;) {
        uint32_t first = i;
        while (first > 0 && !expr->parts[i]->has_rule && !expr->parts[first - 1]->has_rule)
            first--;
        struct expr some = *expr;
        some.parts += first;
        some.n = i - first + 1;
        some.has_rule = false;
        struct dfa *dfa = first < i ? expr_dfa(&b->program->pile, &some, false) : NULL;
        if (dfa != NULL) {
            next = build_raw(b, dfa, next);
            i = first;
        } else {
            next = build_expr(b, expr->parts[i], next);
        }
    }
    return next;
}

uint32_t build_expr(struct build *b, const struct expr *expr, uint32_t next)
{
    struct dfa *dfa = NULL;
    if (b->is_bad)
        return 0;
    if (!expr->has_rule && expr->kind != EXPR_EMPTY)
        dfa = expr_dfa(&b->program->pile, expr, false);
    if (dfa != NULL)
        return build_raw(b, dfa, next);
    switch (expr->kind) {
    case EXPR_EMPTY:
        return next;
    case EXPR_JOIN:
        return build_join(b, expr, next);
    case EXPR_REPEAT:
        return build_repeat(b, expr, next);
    case EXPR_RULE:
        return build_call(b, expr->rule, next);
    case EXPR_EITHER: {
        uint32_t at = 0;
        for (uint32_t i = expr->n; i-- > 0;) {
            uint32_t first = build_expr(b, expr->parts[i], next);
            at = i + 1 == expr->n ? first : build_node(b, OP_SPLIT, first, at);
        }
        return at;
    }
    default:
        return 0;
    }
}
