/* The interpreter of statements.
 *
 * Scopes are stretches of one stack of bindings. A loop's body, a macro and a with block open one;
 * if does not. A macro sees its own frame and the globals, not its caller's loops. */
#include "text/jinja_exec.h"
#include "text/jinja_print.h"
#include "base/mem.h"

void jinja_exec_bind(struct jinja_run *run, struct view name, struct jinja_value value)
{
    if (run->n_stack == run->stack_capacity) {
        int64_t capacity = run->stack_capacity == 0 ? 64 : 2 * run->stack_capacity;
        run->stack = mem_grow(run->stack, (size_t)run->stack_capacity * sizeof(*run->stack),
                              (size_t)capacity * sizeof(*run->stack));
        run->stack_capacity = capacity;
    }
    run->stack[run->n_stack++] = (struct jinja_binding){ name, value };
}

/* Sets a name in the scope that began at `scope`: again or anew. */
static void set_name(struct jinja_run *run, int64_t scope, struct view name,
                     struct jinja_value value)
{
    (void)jinja_charge(run, (run->n_stack - scope) / 16);
    for (int64_t i = run->n_stack - 1; i >= scope; i--) {
        if (view_equal(run->stack[i].name, name)) {
            run->stack[i].value = value;
            return;
        }
    }
    jinja_exec_bind(run, name, value);
    if (scope == 0)
        run->n_globals = run->n_stack;
}

static void assign(struct jinja_run *run, const struct jinja_node *target, struct jinja_value value)
{
    if (jinja_failed(run))
        return;
    if (target->kind == JINJA_NODE_NAME) {
        set_name(run, run->scope, target->text, value);
        return;
    }
    if (target->kind == JINJA_NODE_ATTR) {
        struct jinja_value of = jinja_eval(run, target->a);
        if (of.kind == JINJA_NAMESPACE)
            jinja_value_set(run, of.dict, jinja_string(target->text), value);
        else
            jinja_fail(run, STATUS_BAD_INPUT, "cannot assign attribute on non-namespace object");
        return;
    }
    struct jinja_value items = jinja_value_items(run, value);
    int64_t n = 0;
    for (const struct jinja_node *part = target->a; part != NULL; part = part->next)
        n++;
    if (!jinja_failed(run) && items.list->n != n)
        jinja_fail(run, STATUS_BAD_INPUT, "%lld values are assigned to %lld names",
                   (long long)items.list->n, (long long)n);
    n = 0;
    for (const struct jinja_node *part = target->a; part != NULL && !jinja_failed(run);
         part = part->next)
        assign(run, part, items.list->at[n++]);
}

static void close_scope(struct jinja_run *run, int64_t start, int64_t outer)
{
    run->n_stack = start;
    run->scope = outer;
}

/* The items that pass the loop's condition. */
static struct jinja_value select_items(struct jinja_run *run, const struct jinja_node *node,
                                       struct jinja_value items)
{
    struct jinja_value kept = jinja_value_list(run, JINJA_LIST);
    int64_t start = run->n_stack, outer = run->scope;
    run->scope = start;
    for (int64_t i = 0; i < items.list->n && !jinja_failed(run); i++) {
        run->n_stack = start;
        assign(run, node->a, items.list->at[i]);
        if (!jinja_failed(run) && jinja_value_truth(jinja_eval(run, node->e)))
            jinja_value_push(run, kept, items.list->at[i]);
    }
    close_scope(run, start, outer);
    return kept;
}

static void exec_for(struct jinja_run *run, const struct jinja_node *node)
{
    struct jinja_value items = jinja_value_items(run, jinja_eval(run, node->b));
    struct jinja_loop *loop = jinja_take(run, sizeof(*loop));
    if (jinja_failed(run))
        return;
    if (node->e != NULL)
        items = select_items(run, node, items);
    if (jinja_failed(run))
        return;
    if (items.list->n == 0) {
        jinja_exec(run, node->d);
        return;
    }
    *loop = (struct jinja_loop){ .items = items.list, .depth = 1 }; /* of recursion */
    int64_t start = run->n_stack, outer = run->scope;
    run->scope = start;
    for (; loop->index < items.list->n && !jinja_failed(run); loop->index++) {
        run->n_stack = start;
        jinja_exec_bind(run, view_text("loop"),
                        (struct jinja_value){ .kind = JINJA_LOOP, .loop = loop });
        assign(run, node->a, items.list->at[loop->index]);
        jinja_exec(run, node->c);
        enum jinja_flow flow = run->flow;
        run->flow = JINJA_FLOW_ON;
        if (flow == JINJA_FLOW_BREAK || !jinja_charge(run, 1))
            break;
    }
    close_scope(run, start, outer);
}

/* Runs statements into a string of the pile. */
static struct jinja_value capture(struct jinja_run *run, const struct jinja_node *body)
{
    struct str text, *outer = run->out;
    str_init(&text);
    run->out = &text;
    jinja_exec(run, body);
    run->out = outer;
    struct jinja_value value = jinja_value_copy(run, view_of(text.at, text.n));
    str_free(&text);
    return value;
}

/* A capture in a scope of its own. */
static struct jinja_value capture_scope(struct jinja_run *run, const struct jinja_node *body)
{
    int64_t start = run->n_stack, outer = run->scope;
    run->scope = start;
    struct jinja_value value = capture(run, body);
    close_scope(run, start, outer);
    return value;
}

struct jinja_value jinja_exec_macro(struct jinja_run *run, const struct jinja_node *macro,
                                    const struct jinja_args *args)
{
    int64_t start = run->n_stack, scope = run->scope, frame = run->frame;
    enum jinja_flow flow = run->flow;
    if (run->depth >= JINJA_RUN_DEPTH_MAX)
        jinja_fail(run, STATUS_TOO_LARGE, "macros nest too deep");
    run->frame = run->scope = start;
    int index = 0;
    for (const struct jinja_node *p = macro->a; p != NULL && !jinja_failed(run);
         p = p->next, index++) {
        char name[64] = "";
        for (size_t i = 0; i < p->text.n && i + 1 < sizeof(name); i++)
            name[i] = p->text.at[i];
        const struct jinja_value *given = jinja_eval_arg(args, index, name);
        struct jinja_value value = given != NULL  ? *given
                                   : p->a != NULL ? jinja_eval(run, p->a)
                                                  : jinja_undefined(p->text);
        jinja_exec_bind(run, p->text, value);
    }
    if (args->n > index)
        jinja_fail(run, STATUS_BAD_INPUT, "macro '%.*s' takes not more than %d argument(s)",
                   (int)macro->text.n, macro->text.at, index);
    run->depth++;
    run->flow = JINJA_FLOW_ON;
    struct jinja_value value = capture(run, macro->b);
    run->flow = flow;
    run->depth--;
    run->frame = frame;
    close_scope(run, start, scope);
    return value;
}

static void print_value(struct jinja_run *run, struct jinja_value v)
{
    if (!jinja_failed(run))
        jinja_print_value(run, v, run->out);
    if (run->out->n > JINJA_OUTPUT_BYTES_MAX)
        jinja_fail(run, STATUS_TOO_LARGE, "more than %d bytes of output", JINJA_OUTPUT_BYTES_MAX);
}

static void exec_with(struct jinja_run *run, const struct jinja_node *node)
{
    int64_t start = run->n_stack, outer = run->scope;
    run->scope = start;
    for (const struct jinja_node *set = node->a; set != NULL && !jinja_failed(run); set = set->next)
        assign(run, set->a, jinja_eval(run, set->b));
    jinja_exec(run, node->b);
    close_scope(run, start, outer);
}

static void exec_node(struct jinja_run *run, const struct jinja_node *node)
{
    switch (node->kind) {
    case JINJA_NODE_TEXT:
        print_value(run, jinja_string(node->text));
        break;
    case JINJA_NODE_PRINT:
        print_value(run, jinja_eval(run, node->a));
        break;
    case JINJA_NODE_IF:
        jinja_exec(run, jinja_value_truth(jinja_eval(run, node->a)) ? node->b : node->c);
        break;
    case JINJA_NODE_FOR:
        exec_for(run, node);
        break;
    case JINJA_NODE_SET:
        assign(run, node->a, jinja_eval(run, node->b));
        break;
    case JINJA_NODE_CAPTURE:
        assign(run, node->a, jinja_eval_filters(run, node->c, capture_scope(run, node->b)));
        break;
    case JINJA_NODE_MACRO:
        set_name(run, run->scope, node->text,
                 (struct jinja_value){ .kind = JINJA_MACRO, .macro = node });
        break;
    case JINJA_NODE_FILTERED:
        print_value(run, jinja_eval_filters(run, node->c, capture_scope(run, node->b)));
        break;
    case JINJA_NODE_WITH:
        exec_with(run, node);
        break;
    case JINJA_NODE_BODY:
        jinja_exec(run, node->b);
        break;
    case JINJA_NODE_BREAK:
        run->flow = JINJA_FLOW_BREAK;
        break;
    default:
        CHECK(node->kind == JINJA_NODE_CONTINUE); /* the parser lists statements only */
        run->flow = JINJA_FLOW_CONTINUE;
        break;
    }
}

void jinja_exec(struct jinja_run *run, const struct jinja_node *list)
{
    for (; list != NULL && run->flow == JINJA_FLOW_ON; list = list->next) {
        run->line = list->line;
        if (!jinja_charge(run, 1))
            return;
        if (run->depth >= JINJA_RUN_DEPTH_MAX) {
            jinja_fail(run, STATUS_TOO_LARGE, "blocks nest deeper than %d", JINJA_RUN_DEPTH_MAX);
            return;
        }
        run->depth++;
        exec_node(run, list);
        run->depth--;
    }
}
