/* The evaluator of expressions. Each node counts as a step; nesting is bounded through macros. */
#include "text/jinja_eval.h"
#include "text/jinja_arith.h"
#include "text/jinja_exec.h"
#include "text/jinja_filter.h"
#include "text/jinja_function.h"
#include "text/jinja_is.h"
#include "text/jinja_method.h"
#include "text/jinja_print.h"
#include <string.h>

const struct jinja_value *jinja_eval_arg(const struct jinja_args *args, int index, const char *name)
{
    if (index >= 0 && index < args->n)
        return &args->at[index];
    for (int i = 0; i < args->n_named && name != NULL; i++) {
        if (view_equal_text(args->named[i].name, name))
            return &args->named[i].value;
    }
    return NULL;
}

static void eval_args(struct jinja_run *run, const struct jinja_node *list, struct jinja_args *args)
{
    args->n = args->n_named = 0;
    for (; list != NULL && !jinja_failed(run); list = list->next) {
        if (list->kind != JINJA_NODE_KEYWORD)
            args->at[args->n++] = jinja_eval(run, list);
        else
            args->named[args->n_named++] =
                (struct jinja_binding){ list->text, jinja_eval(run, list->a) };
    }
}

static struct jinja_value find_name(struct jinja_run *run, struct view name)
{
    (void)jinja_charge(run, (run->n_stack - run->frame) / 16);
    for (int64_t i = run->n_stack - 1; i >= run->frame; i--) {
        if (view_equal(run->stack[i].name, name))
            return run->stack[i].value;
    }
    int64_t n_globals = run->n_globals < run->frame ? run->n_globals : run->frame;
    (void)jinja_charge(run, n_globals / 16);
    for (int64_t i = n_globals - 1; i >= 0; i--) {
        if (view_equal(run->stack[i].name, name))
            return run->stack[i].value;
    }
    if (jinja_function_is_known(name))
        return (struct jinja_value){ .kind = JINJA_FUNCTION, .string = name };
    return jinja_undefined(name);
}

static struct jinja_value loop_attr(struct jinja_run *run, struct jinja_value of, struct view name)
{
    const struct jinja_loop *loop = of.loop;
    int64_t n = loop->items->n, i = loop->index;
    const struct {
        const char *name;
        struct jinja_value value;
    } attributes[] = {
        { "index", jinja_int(i + 1) },
        { "index0", jinja_int(i) },
        { "first", jinja_bool(i == 0) },
        { "last", jinja_bool(i + 1 == n) },
        { "length", jinja_int(n) },
        { "revindex", jinja_int(n - i) },
        { "revindex0", jinja_int(n - i - 1) },
        { "depth", jinja_int(loop->depth) },
        { "depth0", jinja_int(loop->depth - 1) },
        { "previtem", i > 0 ? loop->items->at[i - 1] : jinja_undefined(name) },
        { "nextitem", i + 1 < n ? loop->items->at[i + 1] : jinja_undefined(name) },
    };
    for (size_t k = 0; k < COUNT_OF(attributes); k++) {
        if (view_equal_text(name, attributes[k].name))
            return attributes[k].value;
    }
    (void)run;
    return jinja_undefined(name);
}

struct jinja_value jinja_eval_attr(struct jinja_run *run, struct jinja_value of, struct view name)
{
    jinja_value_refuse_undefined(run, of);
    if (jinja_method_is_known(of, name)) {
        struct jinja_method *method = jinja_take(run, sizeof(*method));
        if (method == NULL)
            return jinja_none();
        *method = (struct jinja_method){ of, name };
        return (struct jinja_value){ .kind = JINJA_METHOD, .method = method };
    }
    if (of.kind == JINJA_LOOP)
        return loop_attr(run, of, name);
    if (of.kind == JINJA_DICT || of.kind == JINJA_NAMESPACE) {
        const struct jinja_value *found = jinja_value_find(run, of.dict, jinja_string(name));
        if (found != NULL)
            return *found;
    }
    return jinja_undefined(name);
}

struct jinja_value jinja_eval_item(struct jinja_run *run, struct jinja_value of,
                                   struct jinja_value key)
{
    jinja_value_refuse_undefined(run, of);
    if (of.kind == JINJA_DICT) {
        const struct jinja_value *found = jinja_value_find(run, of.dict, key);
        if (found != NULL)
            return *found;
    }
    if (key.kind == JINJA_STRING)
        return jinja_eval_attr(run, of, key.string);
    bool is_index = key.kind == JINJA_INT || key.kind == JINJA_BOOL;
    if (is_index && (jinja_is_list(of) || of.kind == JINJA_STRING)) {
        int64_t n = jinja_value_length(run, of), i = jinja_value_int(key);
        i = i < 0 ? i + n : i;
        if (i < 0 || i >= n)
            return jinja_undefined(view_of(NULL, 0));
        if (jinja_is_list(of))
            return of.list->at[i];
        struct view rest = of.string;
        for (size_t step; i > 0; i--) {
            step = jinja_value_letter_bytes(rest);
            rest = view_of(rest.at + step, rest.n - step);
        }
        return jinja_string(view_of(rest.at, jinja_value_letter_bytes(rest)));
    }
    return jinja_undefined(view_of(NULL, 0));
}

static struct jinja_value call(struct jinja_run *run, struct jinja_value callee,
                               const struct jinja_args *args)
{
    if (callee.kind == JINJA_UNDEFINED && view_equal_text(callee.string, "strftime_now"))
        jinja_fail(run, STATUS_UNSUPPORTED,
                   "strftime_now: the date must come in chat_template_kwargs (often date_string)");
    jinja_value_refuse_undefined(run, callee);
    if (callee.kind == JINJA_MACRO)
        return jinja_exec_macro(run, callee.macro, args);
    if (callee.kind == JINJA_METHOD)
        return jinja_method_call(run, callee.method, args);
    if (callee.kind == JINJA_FUNCTION)
        return jinja_function_call(run, callee.string, args);
    jinja_fail(run, STATUS_BAD_INPUT, "'%s' object is not callable", jinja_value_type(callee));
    return jinja_none();
}

struct jinja_value jinja_eval_filters(struct jinja_run *run, const struct jinja_node *chain,
                                      struct jinja_value v)
{
    if (chain == NULL)
        return v;
    if (chain->kind != JINJA_NODE_FILTER) {
        jinja_fail(run, STATUS_UNSUPPORTED, "only filters may stand here");
        return v;
    }
    v = jinja_eval_filters(run, chain->a, v);
    struct jinja_args args;
    eval_args(run, chain->b, &args);
    return jinja_failed(run) ? v : jinja_filter_apply(run, chain->text, v, &args);
}

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
    for (int i = 0; i < 3; i++) {
        bounds[i] = parts[i] != NULL ? jinja_eval(run, parts[i]) : jinja_none();
        if (bounds[i].kind != JINJA_NONE && bounds[i].kind != JINJA_INT &&
            bounds[i].kind != JINJA_BOOL)
            jinja_fail(run, STATUS_BAD_INPUT, "slice indices must be integers, not %s",
                       jinja_value_type(bounds[i]));
    }
    return jinja_failed(run) ? jinja_none() : jinja_arith_slice(run, of, bounds);
}

static struct jinja_value eval_compare(struct jinja_run *run, const struct jinja_node *node)
{
    struct jinja_value left = jinja_eval(run, node->a);
    for (const struct jinja_node *operand = node->b; operand != NULL; operand = operand->next) {
        struct jinja_value right = jinja_eval(run, operand->a);
        if (jinja_failed(run) || !jinja_arith_compare(run, operand->op, left, right))
            return jinja_bool(false);
        left = right;
    }
    return jinja_bool(true);
}

static struct jinja_value eval_test(struct jinja_run *run, const struct jinja_node *node)
{
    struct jinja_value v = jinja_eval(run, node->a);
    struct jinja_args args;
    eval_args(run, node->b, &args);
    if (jinja_failed(run))
        return jinja_none();
    return jinja_bool(jinja_is_apply(run, node->text, v, &args) != node->is_negated);
}

static struct jinja_value eval_call(struct jinja_run *run, const struct jinja_node *node)
{
    struct jinja_value callee = jinja_eval(run, node->a);
    struct jinja_args args;
    eval_args(run, node->b, &args);
    return jinja_failed(run) ? jinja_none() : call(run, callee, &args);
}

static struct jinja_value eval_filter(struct jinja_run *run, const struct jinja_node *node)
{
    struct jinja_value v = jinja_eval(run, node->a);
    struct jinja_args args;
    eval_args(run, node->b, &args);
    return jinja_failed(run) ? jinja_none() : jinja_filter_apply(run, node->text, v, &args);
}

static struct jinja_value eval_operation(struct jinja_run *run, const struct jinja_node *node)
{
    struct jinja_value left = jinja_eval(run, node->a), right;
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
        return jinja_eval_attr(run, left, node->text);
    default:
        right = jinja_eval(run, node->b);
        return jinja_failed(run) ? jinja_none() : jinja_eval_item(run, left, right);
    }
}

static struct jinja_value eval_node(struct jinja_run *run, const struct jinja_node *node)
{
    switch (node->kind) {
    case JINJA_NODE_LITERAL:
        return node->literal;
    case JINJA_NODE_NAME:
        return find_name(run, node->text);
    case JINJA_NODE_LIST:
    case JINJA_NODE_TUPLE:
        return eval_items(run, node);
    case JINJA_NODE_DICT:
        return eval_dict(run, node);
    case JINJA_NODE_SLICE:
        return eval_slice(run, node);
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
    if (!jinja_charge(run, 1))
        return jinja_none();
    if (run->depth >= JINJA_RUN_DEPTH_MAX) {
        jinja_fail(run, STATUS_TOO_LARGE, "evaluation nests deeper than %d", JINJA_RUN_DEPTH_MAX);
        return jinja_none();
    }
    run->depth++;
    struct jinja_value v = eval_node(run, node);
    run->depth--;
    return jinja_failed(run) ? jinja_none() : v;
}
