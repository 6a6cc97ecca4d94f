/* Walks a template as jinja2's compiler does.
 *
 * A function of the template is a macro, a call block, the condition of a loop or a recursive loop.
 * It has variables of its own and sees those around it. */
#include "template/jinja_scope.h"
#include "template/jinja_function.h"
#include "template/jinja_symbols.h"

/* The place of the walk. */
struct place {
    struct jinja_run *run;
    struct jinja_symbols *symbols;
    bool is_soft; /* in an if: a filter that does not exist is an error only when it is called */
    const struct jinja_node *unset; /* parameters whose defaults are still to come */
};

static void walk_list(const struct place *at, struct jinja_node *list);
static void walk(const struct place *at, struct jinja_node *node);

/* ---- jinja2's find_undeclared: is a name read before it is set? ---- */

struct wanted {
    const char *name;
    bool is_found, is_over; /* over: it was set first */
};

static void look_for(struct jinja_run *run, const struct jinja_node *node, struct wanted *wanted)
{
    if (node == NULL || wanted->is_over || wanted->is_found || !jinja_charge(run, 1))
        return;
    if (node->kind == JINJA_NODE_NAME && view_equal_text(node->text, wanted->name)) {
        wanted->is_found = node->use == JINJA_LOAD;
        wanted->is_over = !wanted->is_found;
    }
    const struct jinja_node *parts[] = { node->a, node->b, node->c, node->d, node->e };
    if (node->kind == JINJA_NODE_CALL_BLOCK) { /* the call comes first */
        parts[0] = node->d;
        parts[1] = node->a;
        parts[2] = node->b;
        parts[3] = node->c;
    }
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        for (const struct jinja_node *part = parts[i]; part != NULL; part = part->next)
            look_for(run, part, wanted);
    }
}

static bool is_undeclared(struct jinja_run *run, const struct jinja_node *list, const char *name)
{
    struct wanted wanted = { .name = name };
    for (; list != NULL; list = list->next)
        look_for(run, list, &wanted);
    return wanted.is_found;
}

/* ---- Scopes and functions. ---- */

static struct jinja_slot slot_from(const struct place *at, struct jinja_variable_ref ref)
{
    struct jinja_slot slot = { .index = ref.slot };
    for (const struct jinja_function_slots *f = at->symbols->function;
         f != NULL && f != ref.function; f = f->parent)
        slot.hops++;
    return slot;
}

/* Opens a scope. function is NULL for a scope of the present function. */
static struct place open_scope(const struct place *at, struct jinja_symbols *symbols,
                               struct jinja_function_slots *function)
{
    struct place inner = { .run = at->run, .symbols = symbols };
    if (function != NULL)
        *function = (struct jinja_function_slots){ .parent = at->symbols->function };
    jinja_symbols_init(symbols, at->symbols, function != NULL ? function : at->symbols->function);
    return inner;
}

/* Keeps what to do when the scope is entered. */
static void keep_scope(const struct place *at, struct jinja_scope *scope)
{
    const struct jinja_symbols *symbols = at->symbols;
    struct jinja_load *loads = jinja_take(at->run, sizeof(*loads) * (size_t)(symbols->n_loads + 1));
    for (int32_t i = 0; i < symbols->n_loads && loads != NULL; i++) {
        const struct jinja_symbol_load *load = &symbols->loads[i];
        loads[i] =
            (struct jinja_load){ .kind = load->kind, .slot = load->slot, .name = load->name };
        if (load->kind == JINJA_LOAD_ALIAS)
            loads[i].from = slot_from(at, load->from);
    }
    *scope = (struct jinja_scope){ loads, loads == NULL ? 0 : symbols->n_loads };
}

static struct jinja_block *take_block(const struct place *at, struct jinja_node *node)
{
    struct jinja_block *block = jinja_take(at->run, sizeof(*block));
    if (block == NULL)
        return NULL;
    *block = (struct jinja_block){ .loop_slot = -1, .caller = -1, .kwargs = -1, .varargs = -1 };
    node->block = block;
    return block;
}

/* ---- Expressions. ---- */

static void walk_name(const struct place *at, struct jinja_node *node)
{
    struct jinja_variable_ref ref;
    if (!jinja_symbols_find(at->run, at->symbols, node->text, &ref)) {
        jinja_fail(at->run, STATUS_BAD_INPUT, "the name '%.*s' is unknown in its scope",
                   (int)min_i64((int64_t)node->text.n, 60), node->text.at);
        return;
    }
    if (jinja_function_is_refused(node->text) && node->use == JINJA_LOAD)
        jinja_fail(at->run, STATUS_UNSUPPORTED, "the function '%.*s' is not supported",
                   (int)node->text.n, node->text.at);
    bool is_unset = false;
    for (const struct jinja_node *p = at->unset; p != NULL; p = p->next)
        is_unset = is_unset || view_equal(p->text, node->text);
    node->slot = slot_from(at, ref);
    node->is_unchecked = !is_unset && jinja_symbols_is_parameter(at->run, at->symbols, ref);
}

static bool are_constant(const struct jinja_node *list)
{
    for (; list != NULL; list = list->next) {
        if (!list->is_constant)
            return false;
    }
    return true;
}

/* Returns whether jinja2 calls the filter with the context. Then it can't call it while it
 * compiles. */
static bool is_contextual(struct view filter)
{
    static const char *const names[] = { "map", "select", "reject", "selectattr", "rejectattr" };
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        if (view_equal_text(filter, names[i]))
            return true;
    }
    return false;
}

static void check_known(const struct place *at, const struct jinja_node *node)
{
    if (node->row == NULL && !at->is_soft)
        jinja_fail(at->run, STATUS_BAD_INPUT, "no %s named '%.*s'",
                   node->kind == JINJA_NODE_FILTER ? "filter" : "test",
                   (int)min_i64((int64_t)node->text.n, 60), node->text.at);
}

static void walk_expression(const struct place *at, struct jinja_node *node)
{
    struct place own = *at;
    own.is_soft = at->is_soft || node->kind == JINJA_NODE_COND;
    walk_list(&own, node->a);
    walk_list(&own, node->b);
    walk_list(&own, node->c);
    walk_list(&own, node->d);
    bool is_constant = are_constant(node->a) && are_constant(node->b) && are_constant(node->c) &&
                       are_constant(node->d);
    if (node->kind == JINJA_NODE_FILTER || node->kind == JINJA_NODE_TEST) {
        check_known(at, node);
        is_constant = is_constant && node->a != NULL && !is_contextual(node->text);
    }
    node->is_constant = is_constant && node->kind != JINJA_NODE_CALL;
}

/* ---- Statements. ---- */

static void refuse_loop_store(const struct place *at, const struct jinja_node *node)
{
    if (node == NULL || !jinja_charge(at->run, 1))
        return;
    if (node->kind == JINJA_NODE_NAME && node->use == JINJA_STORE &&
        view_equal_text(node->text, "loop"))
        jinja_fail(at->run, STATUS_BAD_INPUT, "Can't assign to special loop variable");
    const struct jinja_node *parts[] = { node->a, node->b, node->c, node->d, node->e };
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        for (const struct jinja_node *part = parts[i]; part != NULL; part = part->next)
            refuse_loop_store(at, part);
    }
}

static void walk_loop_body(const struct place *body, struct jinja_node *node)
{
    struct jinja_function_slots *function = body->symbols->function;
    if (++function->n_loops > JINJA_LOOP_DEPTH_MAX)
        jinja_fail(body->run, STATUS_TOO_LARGE, "loops nest deeper than %d", JINJA_LOOP_DEPTH_MAX);
    walk(body, node->a);
    keep_scope(body, &node->block->scope);
    walk_list(body, node->c);
    function->n_loops--;
}

/* Copies the target for the function of the condition. */
static struct jinja_node *copy_target(const struct place *at, const struct jinja_node *target)
{
    struct jinja_node *copy = jinja_take(at->run, sizeof(*copy)), *last = NULL;
    if (copy == NULL)
        return NULL;
    *copy = *target;
    copy->next = NULL;
    copy->a = NULL;
    for (const struct jinja_node *part = target->a; part != NULL && !jinja_failed(at->run);
         part = part->next) {
        struct jinja_node *own = copy_target(at, part);
        if (last == NULL)
            copy->a = own;
        else
            last->next = own;
        last = own;
    }
    return copy;
}

static void walk_test(const struct place *at, struct jinja_node *node)
{
    struct jinja_symbols symbols;
    struct jinja_function_slots function;
    struct place test = open_scope(at, &symbols, &function);
    jinja_symbols_analyze(at->run, &symbols, node, JINJA_BRANCH_TEST);
    keep_scope(&test, &node->block->test_scope);
    node->block->test_target = copy_target(at, node->a);
    walk(&test, node->block->test_target);
    walk(&test, node->e);
    node->block->n_test_slots = function.n;
}

static void walk_for(const struct place *at, struct jinja_node *node)
{
    struct jinja_symbols body_symbols, else_symbols;
    struct jinja_function_slots function = { .parent = at->symbols->function };
    struct jinja_block *block = take_block(at, node);
    if (block == NULL)
        return;
    refuse_loop_store(at, node);
    walk(at, node->b);
    if (node->e != NULL)
        walk_test(at, node);
    struct place body = open_scope(at, &body_symbols, node->is_recursive ? &function : NULL);
    struct place other = open_scope(at, &else_symbols, NULL);
    else_symbols.function = body_symbols.function;
    if (node->is_recursive || is_undeclared(at->run, node->c, "loop"))
        block->loop_slot = jinja_symbols_declare(at->run, &body_symbols, view_text("loop"));
    jinja_symbols_analyze(at->run, &body_symbols, node, JINJA_BRANCH_BODY);
    if (node->d != NULL)
        jinja_symbols_analyze(at->run, &else_symbols, node, JINJA_BRANCH_ELSE);
    walk_loop_body(&body, node);
    keep_scope(&other, &block->else_scope);
    walk_list(&other, node->d);
    block->n_slots = function.n;
}

/* Declares the variables caller, kwargs and varargs when the body reads them. */
static void declare_specials(const struct place *body, struct jinja_node *node)
{
    struct jinja_block *block = node->block;
    const struct {
        const char *name;
        int32_t *slot;
    } specials[] = { { "caller", &block->caller },
                     { "kwargs", &block->kwargs },
                     { "varargs", &block->varargs } };
    for (size_t i = 0; i < COUNT_OF(specials); i++) {
        int64_t n_behind = 0, n_defaults = 0;
        const struct jinja_node *own = node->a;
        while (own != NULL && !view_equal_text(own->text, specials[i].name))
            own = own->next;
        for (const struct jinja_node *p = own; p != NULL; p = p->next)
            n_behind++;
        for (const struct jinja_node *p = node->b; p != NULL; p = p->next)
            n_defaults++;
        if (!is_undeclared(body->run, node->c, specials[i].name))
            continue;
        if (own == NULL)
            *specials[i].slot =
                jinja_symbols_declare(body->run, body->symbols, view_text(specials[i].name));
        else if (i == 0 && n_behind > n_defaults)
            jinja_fail(body->run, STATUS_BAD_INPUT,
                       "the special 'caller' argument must be omitted or be given a default");
    }
}

/* Walks a macro, a call block or a generation block as a function of its own. */
static void walk_function(const struct place *at, struct jinja_node *node)
{
    struct jinja_symbols symbols;
    struct jinja_function_slots function;
    struct jinja_block *block = take_block(at, node);
    if (block == NULL)
        return;
    struct place body = open_scope(at, &symbols, &function);
    jinja_symbols_analyze(at->run, &symbols, node, JINJA_BRANCH_BODY);
    declare_specials(&body, node);
    jinja_symbols_analyze(at->run, &symbols, node, JINJA_BRANCH_BODY);
    walk_list(&body, node->a);
    keep_scope(&body, &block->scope);
    struct place defaults = body;
    int64_t n_required = 0;
    for (const struct jinja_node *p = node->a; p != NULL; p = p->next)
        n_required++;
    for (const struct jinja_node *p = node->b; p != NULL; p = p->next)
        n_required--;
    defaults.unset = node->a;
    for (; n_required > 0; n_required--)
        defaults.unset = defaults.unset->next;
    for (struct jinja_node *value = node->b; value != NULL && defaults.unset != NULL;
         value = value->next) {
        walk(&defaults, value);
        defaults.unset = defaults.unset->next;
    }
    walk_list(&body, node->c);
    block->n_slots = function.n;
}

static void walk_scoped(const struct place *at, struct jinja_node *node)
{
    struct jinja_symbols symbols;
    struct jinja_block *block = take_block(at, node);
    if (block == NULL)
        return;
    struct place inner = open_scope(at, &symbols, NULL);
    jinja_symbols_analyze(at->run, &symbols, node, JINJA_BRANCH_BODY);
    keep_scope(&inner, &block->scope);
    if (node->kind == JINJA_NODE_WITH) {
        walk_list(&inner, node->a);
        walk_list(at, node->b);
        walk_list(&inner, node->c);
    } else if (node->kind == JINJA_NODE_CAPTURE) {
        walk_list(&inner, node->c);
        walk(at, node->a);
        walk(&inner, node->b);
    } else {
        walk_list(&inner, node->a);
        walk(&inner, node->b);
    }
}

static void walk_if(const struct place *at, struct jinja_node *node)
{
    struct place soft = *at;
    soft.is_soft = true;
    walk(&soft, node->a);
    walk_list(&soft, node->b);
    walk_list(&soft, node->c);
    walk_list(&soft, node->d);
}

static void walk(const struct place *at, struct jinja_node *node)
{
    if (node == NULL || !jinja_charge(at->run, 1))
        return;
    at->run->line = node->line;
    switch (node->kind) {
    case JINJA_NODE_LITERAL:
    case JINJA_NODE_TEXT:
        break;
    case JINJA_NODE_NAME:
    case JINJA_NODE_NSREF:
        walk_name(at, node);
        break;
    case JINJA_NODE_IF:
        walk_if(at, node);
        break;
    case JINJA_NODE_FOR:
        walk_for(at, node);
        break;
    case JINJA_NODE_MACRO:
        walk_function(at, node);
        walk_name(at, node);
        break;
    case JINJA_NODE_CALL_BLOCK:
        walk_function(at, node);
        walk(at, node->d);
        break;
    case JINJA_NODE_GENERATION:
        walk_function(at, node);
        break;
    case JINJA_NODE_CAPTURE:
    case JINJA_NODE_FILTERED:
    case JINJA_NODE_WITH:
        walk_scoped(at, node);
        break;
    case JINJA_NODE_SET:
        walk(at, node->b);
        walk(at, node->a);
        break;
    case JINJA_NODE_BREAK:
    case JINJA_NODE_CONTINUE:
        if (at->symbols->function->n_loops == 0)
            jinja_fail(at->run, STATUS_BAD_INPUT, "'%s' outside of a loop",
                       node->kind == JINJA_NODE_BREAK ? "break" : "continue");
        break;
    default:
        walk_expression(at, node);
        break;
    }
}

static void walk_list(const struct place *at, struct jinja_node *list)
{
    for (; list != NULL && !jinja_failed(at->run); list = list->next)
        walk(at, list);
}

void jinja_scope_resolve(struct jinja_run *run, struct jinja_node *body, struct jinja_block *root)
{
    struct jinja_symbols symbols;
    struct jinja_function_slots function = { .parent = NULL };
    struct place at = { .run = run, .symbols = &symbols };
    jinja_symbols_init(&symbols, NULL, &function);
    if (is_undeclared(run, body, "self"))
        jinja_fail(run, STATUS_UNSUPPORTED, "the variable 'self' is not supported");
    jinja_symbols_analyze_list(run, &symbols, body);
    if (jinja_failed(run))
        return;
    keep_scope(&at, &root->scope);
    walk_list(&at, body);
    root->n_slots = function.n;
}
