/* The evaluator of expressions. Each node counts as a step. The nesting is bounded, also through
 * macros. */
#include "template/jinja_eval.h"
#include "template/jinja_arith.h"
#include "template/jinja_attr.h"
#include "template/jinja_compare.h"
#include "template/jinja_filter.h"
#include "template/jinja_frame.h"
#include "template/jinja_function.h"
#include "template/jinja_is.h"
#include "template/jinja_iter.h"
#include "template/jinja_print.h"
#include <math.h>
#include <string.h>

/* ---- Arguments. ---- */

struct gathered {
    struct jinja_value *at;
    struct jinja_named *named;
    int64_t n, n_named;
};

static void add_positional(struct jinja_run *run, struct gathered *g, struct jinja_value value)
{
    if (g->n == JINJA_ARGS_MAX)
        jinja_fail(run, STATUS_TOO_LARGE, "more than %d arguments", JINJA_ARGS_MAX);
    else
        g->at[g->n++] = value;
}

static void add_named(struct jinja_run *run, struct gathered *g, struct view name,
                      struct jinja_value value)
{
    for (int64_t i = 0; i < g->n_named; i++) {
        if (view_equal(g->named[i].name, name))
            jinja_fail(run, STATUS_BAD_INPUT, "got multiple values for keyword argument '%.*s'",
                       (int)min_i64((int64_t)name.n, 60), name.at);
    }
    if (g->n_named == JINJA_ARGS_MAX)
        jinja_fail(run, STATUS_TOO_LARGE, "more than %d arguments", JINJA_ARGS_MAX);
    else
        g->named[g->n_named++] = (struct jinja_named){ name, value };
}

static void spread(struct jinja_run *run, struct gathered *g, struct jinja_value items)
{
    struct jinja_iter *iter = jinja_iter_open(run, items);
    struct jinja_value item;
    while (iter != NULL && jinja_iter_next(run, iter, &item))
        add_positional(run, g, item);
}

static void spread_named(struct jinja_run *run, struct gathered *g, struct jinja_value members)
{
    jinja_value_refuse_undefined(run, members);
    if (members.kind != JINJA_DICT)
        jinja_fail(run, STATUS_BAD_INPUT, "argument after ** must be a mapping, not %s",
                   jinja_value_type(members));
    for (int64_t i = 0; !jinja_failed(run) && i < members.dict->n; i++) {
        struct jinja_pair pair = members.dict->at[i];
        if (pair.key.kind != JINJA_STRING)
            jinja_fail(run, STATUS_BAD_INPUT, "keywords must be strings");
        else
            add_named(run, g, pair.key.string, pair.value);
    }
}

static bool has_star(const struct jinja_node *list)
{
    for (; list != NULL; list = list->next) {
        if (list->kind == JINJA_NODE_STAR || list->kind == JINJA_NODE_STAR_STAR)
            return true;
    }
    return false;
}

/* n_more is the number of places to keep free for further arguments by name. */
static struct jinja_args eval_args(struct jinja_run *run, const struct jinja_node *list,
                                   int64_t n_more)
{
    int64_t n = n_more;
    for (const struct jinja_node *node = list; node != NULL; node = node->next)
        n++;
    n = has_star(list) ? JINJA_ARGS_MAX : n;
    struct gathered g = { .n = 0 };
    if (n > 0) {
        g.at = jinja_take(run, sizeof(*g.at) * (size_t)n);
        g.named = jinja_take(run, sizeof(*g.named) * (size_t)(n + n_more));
    }
    for (; list != NULL && !jinja_failed(run); list = list->next) {
        bool is_plain = list->kind != JINJA_NODE_KEYWORD && list->kind != JINJA_NODE_STAR &&
                        list->kind != JINJA_NODE_STAR_STAR;
        struct jinja_value value = jinja_eval(run, is_plain ? list : list->a);
        if (jinja_failed(run))
            break;
        if (is_plain)
            add_positional(run, &g, value);
        else if (list->kind == JINJA_NODE_KEYWORD)
            add_named(run, &g, list->text, value);
        else if (list->kind == JINJA_NODE_STAR)
            spread(run, &g, value);
        else
            spread_named(run, &g, value);
    }
    return (struct jinja_args){ .at = g.at, .n = g.n, .named = g.named, .n_named = g.n_named };
}

/* ---- Names and calls. ---- */

static struct jinja_value eval_name(struct jinja_run *run, const struct jinja_node *node)
{
    struct jinja_value value = jinja_frame_of(run, node->slot)->slots[node->slot.index];
    if (value.kind != JINJA_MISSING)
        return value;
    if (node->is_unchecked)
        jinja_fail(run, STATUS_UNSUPPORTED, "the variable '%.*s' of a loop is read after the loop",
                   (int)min_i64((int64_t)node->text.n, 60), node->text.at);
    return jinja_undefined(node->text);
}

static struct jinja_value call_joiner(struct jinja_run *run, struct jinja_cycler *joiner,
                                      const struct jinja_args *args)
{
    if (args->n + args->n_named > 0)
        jinja_fail(run, STATUS_BAD_INPUT, "a joiner takes no arguments");
    bool is_first = joiner->position == 0;
    joiner->position = 1;
    return is_first ? jinja_text("") : joiner->items->at[0];
}

struct jinja_value jinja_eval_call(struct jinja_run *run, struct jinja_value callee,
                                   const struct jinja_args *args)
{
    jinja_value_refuse_undefined(run, callee);
    if (jinja_failed(run))
        return jinja_none();
    switch (callee.kind) {
    case JINJA_MACRO:
        return jinja_exec_macro(run, callee.macro, args);
    case JINJA_METHOD:
        return jinja_method_call(run, callee.method, args);
    case JINJA_FUNCTION:
        return jinja_function_call(run, callee.function, args);
    case JINJA_LOOP:
        return jinja_exec_recursion(run, callee.loop, args);
    case JINJA_JOINER:
        return call_joiner(run, callee.cycler, args);
    default:
        jinja_fail(run, STATUS_BAD_INPUT, "'%s' object is not callable", jinja_value_type(callee));
        return jinja_none();
    }
}

static struct jinja_value eval_call(struct jinja_run *run, const struct jinja_node *node)
{
    struct jinja_value callee = jinja_eval(run, node->a);
    struct jinja_args args = eval_args(run, node->b, 0);
    return jinja_failed(run) ? jinja_none() : jinja_eval_call(run, callee, &args);
}

struct jinja_value jinja_eval_call_with(struct jinja_run *run, const struct jinja_node *node,
                                        struct jinja_value caller)
{
    struct jinja_value callee = jinja_eval(run, node->a);
    struct jinja_args args = eval_args(run, node->b, 1);
    if (jinja_failed(run))
        return jinja_none();
    struct gathered g = { .named = (struct jinja_named *)(uintptr_t)args.named,
                          .n_named = args.n_named };
    add_named(run, &g, view_text("caller"), caller);
    args.n_named = g.n_named;
    return jinja_failed(run) ? jinja_none() : jinja_eval_call(run, callee, &args);
}

/* ---- Operators. ---- */

static struct jinja_value eval_items(struct jinja_run *run, const struct jinja_node *node)
{
    struct jinja_value list =
        jinja_value_list(run, node->kind == JINJA_NODE_TUPLE ? JINJA_TUPLE : JINJA_LIST);
    for (const struct jinja_node *item = node->a; item != NULL && !jinja_failed(run);
         item = item->next)
        jinja_value_push(run, list, jinja_eval(run, item));
    return list;
}

static struct jinja_value eval_dict(struct jinja_run *run, const struct jinja_node *node)
{
    struct jinja_value dict = jinja_value_dict(run, JINJA_DICT);
    for (const struct jinja_node *key = node->a; key != NULL && !jinja_failed(run);
         key = key->next->next) {
        struct jinja_value k = jinja_eval(run, key), v = jinja_eval(run, key->next);
        if (!jinja_failed(run))
            jinja_value_set(run, dict.dict, k, v);
    }
    return dict;
}

static struct jinja_value eval_slice(struct jinja_run *run, const struct jinja_node *node)
{
    struct jinja_value of = jinja_eval(run, node->a);
    const struct jinja_node *parts[3] = { node->b, node->c, node->d };
    struct jinja_value bounds[3];
    for (int i = 0; i < 3; i++)
        bounds[i] = parts[i] != NULL ? jinja_eval(run, parts[i]) : jinja_none();
    if (jinja_failed(run))
        return jinja_none();
    struct jinja_value slice = jinja_arith_slice(run, of, bounds);
    if (run->status == STATUS_BAD_INPUT && node->is_constant) {
        run->status = STATUS_OK; /* jinja2 evaluates it differently when it compiles */
        jinja_fail(run, STATUS_UNSUPPORTED, "a slice of a constant that has none");
    }
    return slice;
}

static struct jinja_value eval_concat(struct jinja_run *run, const struct jinja_node *node)
{
    struct str text;
    str_init(&text);
    for (const struct jinja_node *part = node->a; part != NULL && !jinja_failed(run);
         part = part->next) {
        struct jinja_value value = jinja_eval(run, part);
        if (!jinja_failed(run))
            jinja_print_value(run, value, &text);
        (void)jinja_fits(run, &text);
    }
    return jinja_value_keep(run, &text);
}

static struct jinja_value eval_compare(struct jinja_run *run, const struct jinja_node *node)
{
    struct jinja_value left = jinja_eval(run, node->a);
    for (const struct jinja_node *operand = node->b; operand != NULL; operand = operand->next) {
        struct jinja_value right = jinja_eval(run, operand->a);
        if (jinja_failed(run) || !jinja_compare(run, operand->op, left, right))
            return jinja_bool(false);
        left = right;
    }
    return jinja_bool(true);
}

static void fail_unknown(struct jinja_run *run, const struct jinja_node *node)
{
    jinja_fail(run, STATUS_BAD_INPUT, "no %s named '%.*s' found",
               node->kind == JINJA_NODE_FILTER ? "filter" : "test",
               (int)min_i64((int64_t)node->text.n, 60), node->text.at);
}

static struct jinja_value eval_test(struct jinja_run *run, const struct jinja_node *node)
{
    struct jinja_value v = jinja_eval(run, node->a);
    struct jinja_args args = eval_args(run, node->b, 0);
    if (!jinja_failed(run) && node->row == NULL)
        fail_unknown(run, node);
    if (jinja_failed(run))
        return jinja_none();
    return jinja_bool(jinja_is_apply(run, node->row, v, &args) != node->is_negated);
}

static struct jinja_value eval_filter(struct jinja_run *run, const struct jinja_node *node)
{
    struct jinja_value v = node->a != NULL ? jinja_eval(run, node->a) : run->captured;
    struct jinja_args args = eval_args(run, node->b, 0);
    if (!jinja_failed(run) && node->row == NULL)
        fail_unknown(run, node);
    return jinja_failed(run) ? jinja_none() : jinja_filter_apply(run, node->row, v, &args);
}

static struct jinja_value eval_operation(struct jinja_run *run, const struct jinja_node *node)
{
    struct jinja_value left = jinja_eval(run, node->a), right;
    if (jinja_failed(run))
        return jinja_none();
    switch (node->kind) {
    case JINJA_NODE_UNARY:
        return jinja_arith_unary(run, node->op, left);
    case JINJA_NODE_BINARY:
        right = jinja_eval(run, node->b);
        return jinja_failed(run) ? jinja_none() : jinja_arith_binary(run, node->op, left, right);
    case JINJA_NODE_AND:
        return jinja_value_truth(left) ? jinja_eval(run, node->b) : left;
    case JINJA_NODE_OR:
        return jinja_value_truth(left) ? left : jinja_eval(run, node->b);
    case JINJA_NODE_NOT:
        return jinja_bool(!jinja_value_truth(left));
    case JINJA_NODE_COND:
        if (jinja_value_truth(left))
            return jinja_eval(run, node->b);
        return node->c != NULL ? jinja_eval(run, node->c) : jinja_undefined(view_of(NULL, 0));
    case JINJA_NODE_ATTR:
        return jinja_attr_get(run, left, node->text);
    default:
        right = jinja_eval(run, node->b);
        return jinja_failed(run) ? jinja_none() : jinja_attr_item(run, left, right);
    }
}

static struct jinja_value eval_node(struct jinja_run *run, const struct jinja_node *node)
{
    switch (node->kind) {
    case JINJA_NODE_LITERAL:
        return node->literal;
    case JINJA_NODE_NAME:
        return eval_name(run, node);
    case JINJA_NODE_LIST:
    case JINJA_NODE_TUPLE:
        return eval_items(run, node);
    case JINJA_NODE_DICT:
        return eval_dict(run, node);
    case JINJA_NODE_SLICE:
        return eval_slice(run, node);
    case JINJA_NODE_CONCAT:
        return eval_concat(run, node);
    case JINJA_NODE_COMPARE:
        return eval_compare(run, node);
    case JINJA_NODE_CALL:
        return eval_call(run, node);
    case JINJA_NODE_FILTER:
        return eval_filter(run, node);
    case JINJA_NODE_TEST:
        return eval_test(run, node);
    default:
        return eval_operation(run, node);
    }
}

struct jinja_value jinja_eval(struct jinja_run *run, const struct jinja_node *node)
{
    if (!jinja_enter(run))
        return jinja_none();
    struct jinja_value v = eval_node(run, node);
    run->depth--;
    if (node->is_constant && v.kind == JINJA_FLOAT && !isfinite(v.real))
        jinja_fail(run, STATUS_UNSUPPORTED, "a constant that is not a finite number");
    return jinja_failed(run) ? jinja_none() : v;
}
