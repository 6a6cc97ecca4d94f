/* The interpreter of statements. It does the same as the Python code into which jinja2 compiles a
 * template: variables are slots of frames, and scopes set and reset them. */
#include "template/jinja_exec.h"
#include "template/jinja_eval.h"
#include "template/jinja_frame.h"
#include "template/jinja_function.h"
#include "template/jinja_iter.h"
#include "template/jinja_print.h"

static void exec(struct jinja_run *run, const struct jinja_node *list);

static void exec_set(struct jinja_run *run, const struct jinja_node *node)
{
    jinja_frame_check(run, node->a);
    if (!jinja_failed(run))
        jinja_frame_assign(run, node->a, jinja_eval(run, node->b));
}

/* ---- Output. ---- */

static void print_value(struct jinja_run *run, struct jinja_value v)
{
    if (!jinja_failed(run))
        jinja_print_value(run, v, run->out);
    (void)jinja_fits(run, run->out);
}

/* Prints the result of a filter or call block. jinja2 joins it to the output unchanged. */
static void print_text(struct jinja_run *run, struct jinja_value v)
{
    if (!jinja_failed(run) && v.kind != JINJA_STRING)
        jinja_fail(run, STATUS_BAD_INPUT, "a block gives a %s, and a str is expected",
                   jinja_value_type(v));
    print_value(run, v);
}

/* Runs statements into a string of the run. */
static struct jinja_value capture(struct jinja_run *run, const struct jinja_node *body)
{
    struct str text, *outer = run->out;
    str_init(&text);
    run->out = &text;
    exec(run, body);
    run->out = outer;
    return jinja_value_keep(run, &text);
}

/* Returns the text of a block after its filters. A break or continue in the block drops the
 * text. */
static struct jinja_value filtered(struct jinja_run *run, const struct jinja_node *body,
                                   const struct jinja_node *filters)
{
    struct jinja_value text = capture(run, body), outer = run->captured;
    if (filters == NULL || run->flow != JINJA_FLOW_ON || jinja_failed(run))
        return text;
    run->captured = text;
    struct jinja_value value = jinja_eval(run, filters);
    run->captured = outer;
    return value;
}

static void exec_capture(struct jinja_run *run, const struct jinja_node *node)
{
    jinja_frame_enter(run, &node->block->scope);
    struct jinja_value value = filtered(run, node->c, node->b);
    if (run->flow != JINJA_FLOW_ON)
        return;
    jinja_frame_assign(run, node->a, value);
    jinja_frame_leave(run, &node->block->scope);
}

static void exec_filtered(struct jinja_run *run, const struct jinja_node *node)
{
    jinja_frame_enter(run, &node->block->scope);
    struct jinja_value value = filtered(run, node->a, node->b);
    if (run->flow != JINJA_FLOW_ON)
        return;
    print_text(run, value);
    jinja_frame_leave(run, &node->block->scope);
}

static void exec_with(struct jinja_run *run, const struct jinja_node *node)
{
    jinja_frame_enter(run, &node->block->scope);
    const struct jinja_node *value = node->b;
    for (const struct jinja_node *target = node->a; target != NULL && !jinja_failed(run);
         target = target->next, value = value->next)
        jinja_frame_assign(run, target, jinja_eval(run, value));
    exec(run, node->c);
    if (run->flow == JINJA_FLOW_ON)
        jinja_frame_leave(run, &node->block->scope);
}

/* ---- Loops. ---- */

/* The generator of a loop with a condition, which has a frame of its own. */
struct condition {
    const struct jinja_node *node;
    struct jinja_frame *frame;
    bool has_begun;
};

static bool next_that_passes(struct jinja_run *run, struct jinja_iter *iter,
                             struct jinja_value *out)
{
    struct condition *c = iter->state;
    struct jinja_frame *outer = run->frame;
    const struct jinja_block *block = c->node->block;
    bool passes = false;
    run->frame = c->frame;
    if (!c->has_begun)
        jinja_frame_enter(run, &block->test_scope);
    c->has_begun = true;
    while (!passes && jinja_iter_source(run, iter, out)) {
        jinja_frame_assign(run, block->test_target, *out);
        passes = !jinja_failed(run) && jinja_value_truth(jinja_eval(run, c->node->e));
    }
    run->frame = outer;
    return passes && !jinja_failed(run);
}

static struct jinja_value with_condition(struct jinja_run *run, const struct jinja_node *node,
                                         struct jinja_value items, struct jinja_frame *parent)
{
    if (node->e == NULL)
        return items;
    struct condition *c = jinja_take(run, sizeof(*c));
    struct jinja_frame *frame = jinja_frame_take(run, parent, node->block->n_test_slots);
    if (c == NULL || frame == NULL)
        return items;
    *c = (struct condition){ .node = node, .frame = frame };
    return jinja_iter_generator(run, items, c, next_that_passes);
}

/* Runs one round. Returns false when it is the last. */
static bool run_round(struct jinja_run *run, const struct jinja_node *node, bool *is_empty)
{
    exec(run, node->c);
    enum jinja_flow flow = run->flow;
    run->flow = JINJA_FLOW_ON;
    if (flow == JINJA_FLOW_ON)
        *is_empty = false; /* as in jinja2: a round that is left early does not count */
    return flow != JINJA_FLOW_BREAK && !jinja_failed(run);
}

/* Runs the rounds and the else body, in the frame of the function that is running. recursion is the
 * target of loop() in a recursive loop, else NULL. */
static void run_loop(struct jinja_run *run, const struct jinja_node *node, struct jinja_value items,
                     const struct jinja_loop *recursion)
{
    const struct jinja_block *block = node->block;
    bool is_empty = true, has_loop = block->loop_slot >= 0;
    struct jinja_loop *loop = has_loop ? jinja_iter_loop(run, items) : NULL;
    struct jinja_iter *iter = has_loop ? NULL : jinja_iter_open(run, items);
    struct jinja_value item;
    if (loop != NULL && recursion != NULL) {
        loop->recursion = node;
        loop->frame = recursion->frame;
        loop->depth0 = recursion->depth0;
    }
    while (!jinja_failed(run) && (has_loop ? jinja_iter_loop_next(run, loop, &item)
                                           : jinja_iter_next(run, iter, &item))) {
        jinja_frame_assign(run, node->a, item);
        if (has_loop)
            run->frame->slots[block->loop_slot] =
                (struct jinja_value){ .kind = JINJA_LOOP, .loop = loop };
        jinja_frame_enter(run, &block->scope);
        if (!run_round(run, node, &is_empty))
            break;
    }
    jinja_frame_leave(run, &block->scope);
    if (node->d == NULL || !is_empty || jinja_failed(run))
        return;
    jinja_frame_enter(run, &block->else_scope);
    exec(run, node->d);
    if (run->flow == JINJA_FLOW_ON)
        jinja_frame_leave(run, &block->else_scope);
}

/* Runs a recursive loop as a function that returns the text of its rounds. */
static struct jinja_value recurse(struct jinja_run *run, const struct jinja_loop *recursion,
                                  struct jinja_value items)
{
    const struct jinja_node *node = recursion->recursion;
    struct jinja_frame *outer = run->frame;
    struct jinja_frame *frame = jinja_frame_take(run, recursion->frame, node->block->n_slots);
    struct str text, *out = run->out;
    if (frame == NULL || !jinja_enter(run))
        return jinja_none();
    items = with_condition(run, node, items, recursion->frame);
    str_init(&text);
    run->frame = frame;
    run->out = &text;
    run_loop(run, node, items, recursion);
    run->out = out;
    run->frame = outer;
    run->depth--;
    return jinja_value_keep(run, &text);
}

struct jinja_value jinja_exec_recursion(struct jinja_run *run, const struct jinja_loop *loop,
                                        const struct jinja_args *args)
{
    const struct jinja_value *given[JINJA_PARAMETERS_MAX];
    if (!jinja_args_bind(run, args, "iterable", given))
        return jinja_none();
    if (loop->recursion == NULL) {
        jinja_fail(run, STATUS_BAD_INPUT,
                   "The loop must have the 'recursive' marker to be called recursively.");
        return jinja_none();
    }
    struct jinja_loop deeper = { .recursion = loop->recursion,
                                 .frame = loop->frame,
                                 .depth0 = loop->depth0 + 1 };
    return recurse(run, &deeper, *given[0]);
}

static void exec_for(struct jinja_run *run, const struct jinja_node *node)
{
    struct jinja_value items = jinja_eval(run, node->b);
    if (jinja_failed(run))
        return;
    if (node->is_recursive) {
        struct jinja_loop first = { .recursion = node, .frame = run->frame };
        print_value(run, recurse(run, &first, items));
        return;
    }
    run_loop(run, node, with_condition(run, node, items, run->frame), NULL);
}

/* ---- Macros and call blocks. ---- */

static struct jinja_value make_macro(struct jinja_run *run, const struct jinja_node *node)
{
    struct jinja_macro *macro = jinja_take(run, sizeof(*macro));
    if (macro == NULL)
        return jinja_none();
    *macro = (struct jinja_macro){ node, run->frame };
    return (struct jinja_value){ .kind = JINJA_MACRO, .macro = macro };
}

/* The arguments by name for which there is no parameter. */
struct leftover {
    bool *is_taken; /* (n_named) */
    int64_t n;
};

static const struct jinja_value *take_named(const struct jinja_args *args, struct leftover *left,
                                            struct view name)
{
    for (int64_t i = 0; i < args->n_named; i++) {
        if (left->is_taken[i] || !view_equal(args->named[i].name, name))
            continue;
        left->is_taken[i] = true;
        left->n--;
        return &args->named[i].value;
    }
    return NULL;
}

static void bind_specials(struct jinja_run *run, const struct jinja_block *block,
                          const struct jinja_args *args, struct leftover *left,
                          int64_t n_parameters)
{
    struct jinja_value *slots = run->frame->slots;
    if (block->caller >= 0) {
        const struct jinja_value *caller = take_named(args, left, view_text("caller"));
        bool is_none = caller == NULL || caller->kind == JINJA_NONE;
        slots[block->caller] = is_none ? jinja_undefined(view_text("caller")) : *caller;
    }
    if (block->kwargs >= 0) {
        struct jinja_value kwargs = jinja_value_dict(run, JINJA_DICT);
        for (int64_t i = 0; i < args->n_named && !jinja_failed(run); i++) {
            if (!left->is_taken[i])
                jinja_value_set(run, kwargs.dict, jinja_string(args->named[i].name),
                                args->named[i].value);
        }
        slots[block->kwargs] = kwargs;
    } else if (left->n > 0) {
        jinja_fail(run, STATUS_BAD_INPUT,
                   "a macro takes no such argument by name, or takes it once");
    }
    struct jinja_value varargs = jinja_value_list(run, JINJA_TUPLE);
    for (int64_t i = n_parameters; i < args->n && !jinja_failed(run); i++)
        jinja_value_push(run, varargs, args->at[i]);
    if (block->varargs >= 0)
        slots[block->varargs] = varargs;
    else if (args->n > n_parameters)
        jinja_fail(run, STATUS_BAD_INPUT, "a macro takes not more than %lld argument(s)",
                   (long long)n_parameters);
}

/* Sets parameters without an argument to their defaults, in order. */
static void set_defaults(struct jinja_run *run, const struct jinja_node *node, int64_t n_required)
{
    const struct jinja_node *value = node->b;
    for (const struct jinja_node *p = node->a; p != NULL && !jinja_failed(run);
         p = p->next, n_required--) {
        struct jinja_value *slot = &run->frame->slots[p->slot.index];
        if (slot->kind == JINJA_MISSING)
            *slot = n_required > 0 ? jinja_undefined(p->text) : jinja_eval(run, value);
        if (n_required <= 0)
            value = value->next;
    }
}

static void enter_function(struct jinja_run *run, const struct jinja_node *node,
                           const struct jinja_args *args)
{
    struct leftover left = { .n = args->n_named };
    int64_t n_parameters = 0, n_defaults = 0;
    left.is_taken = jinja_take(run, (size_t)args->n_named + 1);
    for (const struct jinja_node *p = node->b; p != NULL; p = p->next)
        n_defaults++;
    for (const struct jinja_node *p = node->a; p != NULL && !jinja_failed(run); p = p->next) {
        const struct jinja_value *given =
            n_parameters < args->n ? &args->at[n_parameters] : take_named(args, &left, p->text);
        run->frame->slots[p->slot.index] = given != NULL ? *given : jinja_missing();
        n_parameters++;
    }
    if (!jinja_failed(run))
        bind_specials(run, node->block, args, &left, n_parameters);
    if (!jinja_failed(run))
        jinja_frame_enter(run, &node->block->scope);
    if (!jinja_failed(run))
        set_defaults(run, node, n_parameters - n_defaults);
}

struct jinja_value jinja_exec_macro(struct jinja_run *run, const struct jinja_macro *macro,
                                    const struct jinja_args *args)
{
    const struct jinja_node *node = macro->node;
    struct jinja_frame *outer = run->frame;
    struct jinja_frame *frame = jinja_frame_take(run, macro->frame, node->block->n_slots);
    struct jinja_value text = jinja_none();
    int32_t line = run->line;
    if (frame == NULL || !jinja_enter(run))
        return text;
    run->frame = frame;
    enter_function(run, node, args);
    if (!jinja_failed(run))
        text = capture(run, node->c);
    run->frame = outer;
    run->depth--;
    if (!jinja_failed(run))
        run->line = line;
    return text;
}

static void exec_function(struct jinja_run *run, const struct jinja_node *node)
{
    const struct jinja_args none = { .n = 0 };
    struct jinja_value macro = make_macro(run, node);
    if (jinja_failed(run))
        return;
    if (node->kind == JINJA_NODE_MACRO)
        jinja_frame_set(run, node->slot, macro);
    else if (node->kind == JINJA_NODE_CALL_BLOCK)
        print_text(run, jinja_eval_call_with(run, node->d, macro));
    else
        print_value(run, jinja_exec_macro(run, macro.macro, &none));
}

/* ---- All statements. ---- */

static void exec_node(struct jinja_run *run, const struct jinja_node *node);

static void exec_if(struct jinja_run *run, const struct jinja_node *node)
{
    const struct jinja_node *branch = node->c;
    bool holds = jinja_value_truth(jinja_eval(run, node->a));
    const struct jinja_node *body = node->b;
    for (; !holds && branch != NULL && !jinja_failed(run); branch = branch->next) {
        run->line = branch->line;
        holds = jinja_value_truth(jinja_eval(run, branch->a));
        body = branch->b;
    }
    if (!jinja_failed(run))
        exec(run, holds ? body : node->d);
}

static void exec_node(struct jinja_run *run, const struct jinja_node *node)
{
    switch (node->kind) {
    case JINJA_NODE_TEXT:
        print_value(run, jinja_string(node->text));
        break;
    case JINJA_NODE_PRINT:
        for (const struct jinja_node *part = node->a; part != NULL && !jinja_failed(run);
             part = part->next)
            print_value(run, jinja_eval(run, part));
        break;
    case JINJA_NODE_IF:
        exec_if(run, node);
        break;
    case JINJA_NODE_FOR:
        exec_for(run, node);
        break;
    case JINJA_NODE_SET:
        exec_set(run, node);
        break;
    case JINJA_NODE_CAPTURE:
        exec_capture(run, node);
        break;
    case JINJA_NODE_FILTERED:
        exec_filtered(run, node);
        break;
    case JINJA_NODE_WITH:
        exec_with(run, node);
        break;
    case JINJA_NODE_BREAK:
        run->flow = JINJA_FLOW_BREAK;
        break;
    case JINJA_NODE_CONTINUE:
        run->flow = JINJA_FLOW_CONTINUE;
        break;
    default: /* MACRO, CALL_BLOCK, GENERATION: the parser lists statements only */
        exec_function(run, node);
        break;
    }
}

static void exec(struct jinja_run *run, const struct jinja_node *list)
{
    for (; list != NULL && run->flow == JINJA_FLOW_ON; list = list->next) {
        run->line = list->line;
        if (!jinja_enter(run))
            return;
        exec_node(run, list);
        run->depth--;
    }
}

void jinja_exec_template(struct jinja_run *run, const struct jinja_node *body,
                         const struct jinja_block *root)
{
    run->frame = jinja_frame_take(run, NULL, root->n_slots);
    if (run->frame == NULL)
        return;
    jinja_frame_enter(run, &root->scope);
    exec(run, body);
}
