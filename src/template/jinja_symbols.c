/* Names become variables by the rules of jinja2's idtracking. A scope that stores a name has its
 * own variable, which begins with the value of the outer scope's. */
#include "template/jinja_symbols.h"
#include <string.h>

void jinja_symbols_init(struct jinja_symbols *symbols, struct jinja_symbols *parent,
                        struct jinja_function_slots *function)
{
    *symbols = (struct jinja_symbols){ .parent = parent, .function = function };
    symbols->level = parent == NULL ? 0 : parent->level + 1;
}

static int32_t slot_of(struct jinja_run *run, struct jinja_symbols *s, struct view name)
{
    struct jinja_function_slots *function = s->function;
    if (!jinja_charge(run, 1 + function->n / 16))
        return 0;
    for (int32_t i = 0; i < function->n; i++) {
        if (function->at[i].level == s->level && view_equal(function->at[i].name, name))
            return i;
    }
    void *table = function->at;
    if (!jinja_grow(run, &table, function->n, &function->capacity, sizeof(*function->at)))
        return 0;
    function->at = table;
    function->at[function->n] = (struct jinja_variable){ s->level, name };
    return function->n++;
}

static void set_ref(struct jinja_run *run, struct jinja_symbols *s, struct view name, int32_t slot)
{
    if (!jinja_charge(run, 1 + s->n_refs / 16))
        return;
    for (int32_t i = 0; i < s->n_refs; i++) {
        if (view_equal(s->refs[i].name, name)) {
            s->refs[i].slot = slot;
            return;
        }
    }
    void *table = s->refs;
    if (!jinja_grow(run, &table, s->n_refs, &s->refs_capacity, sizeof(*s->refs)))
        return;
    s->refs = table;
    s->refs[s->n_refs++] = (struct jinja_symbol){ name, slot };
}

static void set_load(struct jinja_run *run, struct jinja_symbols *s, struct jinja_symbol_load load)
{
    if (!jinja_charge(run, 1 + s->n_loads / 16))
        return;
    for (int32_t i = 0; i < s->n_loads; i++) {
        if (s->loads[i].slot == load.slot) {
            s->loads[i] = load;
            return;
        }
    }
    void *table = s->loads;
    if (!jinja_grow(run, &table, s->n_loads, &s->loads_capacity, sizeof(*s->loads)))
        return;
    s->loads = table;
    s->loads[s->n_loads++] = load;
}

static int32_t define(struct jinja_run *run, struct jinja_symbols *s, struct view name,
                      struct jinja_symbol_load load)
{
    int32_t slot = slot_of(run, s, name);
    set_ref(run, s, name, slot);
    load.slot = slot;
    set_load(run, s, load);
    return slot;
}

static const struct jinja_symbol *find_own(struct jinja_run *run, const struct jinja_symbols *s,
                                           struct view name)
{
    if (!jinja_charge(run, 1 + s->n_refs / 16))
        return NULL;
    for (int32_t i = 0; i < s->n_refs; i++) {
        if (view_equal(s->refs[i].name, name))
            return &s->refs[i];
    }
    return NULL;
}

bool jinja_symbols_find(struct jinja_run *run, const struct jinja_symbols *symbols,
                        struct view name, struct jinja_variable_ref *out)
{
    for (; symbols != NULL; symbols = symbols->parent) {
        const struct jinja_symbol *own = find_own(run, symbols, name);
        if (own == NULL)
            continue;
        *out = (struct jinja_variable_ref){ symbols->function, own->slot };
        return true;
    }
    return false;
}

bool jinja_symbols_is_parameter(struct jinja_run *run, const struct jinja_symbols *symbols,
                                struct jinja_variable_ref variable)
{
    for (; symbols != NULL; symbols = symbols->parent) {
        if (!jinja_charge(run, 1 + symbols->n_loads / 16))
            return false;
        for (int32_t i = 0; i < symbols->n_loads; i++) {
            if (symbols->function == variable.function && symbols->loads[i].slot == variable.slot)
                return symbols->loads[i].kind == JINJA_LOAD_PARAMETER;
        }
    }
    return false;
}

static bool has_store(struct jinja_run *run, const struct jinja_symbols *s, struct view name)
{
    if (!jinja_charge(run, 1 + s->n_stores / 16))
        return false;
    for (int32_t i = 0; i < s->n_stores; i++) {
        if (view_equal(s->stores[i], name))
            return true;
    }
    return false;
}

static void add_store(struct jinja_run *run, struct jinja_symbols *s, struct view name)
{
    void *table = s->stores;
    if (has_store(run, s, name) ||
        !jinja_grow(run, &table, s->n_stores, &s->stores_capacity, sizeof(*s->stores)))
        return;
    s->stores = table;
    s->stores[s->n_stores++] = name;
}

int32_t jinja_symbols_declare(struct jinja_run *run, struct jinja_symbols *symbols,
                              struct view name)
{
    add_store(run, symbols, name);
    return define(run, symbols, name,
                  (struct jinja_symbol_load){ .kind = JINJA_LOAD_PARAMETER, .name = name });
}

static void store(struct jinja_run *run, struct jinja_symbols *s, struct view name)
{
    struct jinja_symbol_load load = { .kind = JINJA_LOAD_UNDEFINED, .name = name };
    add_store(run, s, name);
    if (find_own(run, s, name) != NULL)
        return;
    if (jinja_symbols_find(run, s->parent, name, &load.from))
        load.kind = JINJA_LOAD_ALIAS;
    (void)define(run, s, name, load);
}

static void load(struct jinja_run *run, struct jinja_symbols *s, struct view name)
{
    struct jinja_variable_ref ref;
    if (!jinja_symbols_find(run, s, name, &ref))
        (void)define(run, s, name,
                     (struct jinja_symbol_load){ .kind = JINJA_LOAD_RESOLVE, .name = name });
}

static void *copy_table(struct jinja_run *run, const void *table, int32_t n, size_t item_bytes)
{
    void *copy = jinja_take(run, (size_t)(n + 1) * item_bytes);
    if (copy != NULL && n > 0)
        memcpy(copy, table, (size_t)n * item_bytes);
    return copy;
}

/* Copies symbols for a branch, which begins with those of the scope around it. */
static struct jinja_symbols copy_symbols(struct jinja_run *run, const struct jinja_symbols *s)
{
    struct jinja_symbols copy = *s;
    copy.refs = copy_table(run, s->refs, s->n_refs, sizeof(*s->refs));
    copy.loads = copy_table(run, s->loads, s->n_loads, sizeof(*s->loads));
    copy.stores = copy_table(run, s->stores, s->n_stores, sizeof(*s->stores));
    copy.refs_capacity = s->n_refs;
    copy.loads_capacity = s->n_loads;
    copy.stores_capacity = s->n_stores;
    return copy;
}

/* jinja2's branch_update: a variable that only one branch stores begins with its value outside of
 * the scope. */
static void merge_branches(struct jinja_run *run, struct jinja_symbols *s,
                           const struct jinja_symbols *branches, int n)
{
    struct jinja_symbols before = *s;
    for (int b = 0; b < n && !jinja_failed(run); b++) {
        for (int32_t i = 0; i < branches[b].n_refs; i++)
            set_ref(run, s, branches[b].refs[i].name, branches[b].refs[i].slot);
        for (int32_t i = 0; i < branches[b].n_loads; i++)
            set_load(run, s, branches[b].loads[i]);
    }
    for (int b = 0; b < n && !jinja_failed(run); b++) {
        for (int32_t i = 0; i < branches[b].n_stores; i++) {
            struct view name = branches[b].stores[i];
            struct jinja_symbol_load fresh = { .kind = JINJA_LOAD_RESOLVE, .name = name };
            const struct jinja_symbol *own = find_own(run, s, name);
            if (has_store(run, &before, name) || own == NULL)
                continue;
            fresh.slot = own->slot;
            if (jinja_symbols_find(run, s->parent, name, &fresh.from))
                fresh.kind = JINJA_LOAD_ALIAS;
            set_load(run, s, fresh);
        }
    }
    for (int b = 0; b < n && !jinja_failed(run); b++) {
        for (int32_t i = 0; i < branches[b].n_stores; i++)
            add_store(run, s, branches[b].stores[i]);
    }
}

static void visit_list(struct jinja_run *run, struct jinja_symbols *s,
                       const struct jinja_node *list);
static void visit(struct jinja_run *run, struct jinja_symbols *s, const struct jinja_node *node);

static void visit_if(struct jinja_run *run, struct jinja_symbols *s, const struct jinja_node *node)
{
    const struct jinja_node *lists[3] = { node->b, node->c, node->d };
    struct jinja_symbols branches[3];
    visit(run, s, node->a);
    for (int i = 0; i < 3; i++) {
        branches[i] = copy_symbols(run, s);
        if (!jinja_failed(run))
            visit_list(run, &branches[i], lists[i]);
    }
    if (!jinja_failed(run))
        merge_branches(run, s, branches, 3);
}

static void visit_name(struct jinja_run *run, struct jinja_symbols *s,
                       const struct jinja_node *node)
{
    if (node->use == JINJA_PARAM)
        (void)jinja_symbols_declare(run, s, node->text);
    else if (node->use == JINJA_STORE)
        store(run, s, node->text);
    else
        load(run, s, node->text);
}

/* Visits the parts of a node that the scope around it sees. Bodies with scopes of their own are
 * left out. */
static void visit(struct jinja_run *run, struct jinja_symbols *s, const struct jinja_node *node)
{
    if (node == NULL || !jinja_charge(run, 1))
        return;
    switch (node->kind) {
    case JINJA_NODE_NAME:
        visit_name(run, s, node);
        break;
    case JINJA_NODE_NSREF:
        load(run, s, node->text);
        break;
    case JINJA_NODE_IF:
        visit_if(run, s, node);
        break;
    case JINJA_NODE_MACRO:
        store(run, s, node->text);
        break;
    case JINJA_NODE_FOR:
        visit(run, s, node->b);
        break;
    case JINJA_NODE_SET:
        visit(run, s, node->b);
        visit(run, s, node->a);
        break;
    case JINJA_NODE_CAPTURE:
        visit(run, s, node->a);
        break;
    case JINJA_NODE_CALL_BLOCK:
        visit(run, s, node->d);
        break;
    case JINJA_NODE_FILTERED:
    case JINJA_NODE_WITH:
        visit_list(run, s, node->b);
        break;
    case JINJA_NODE_GENERATION:
        break;
    default:
        visit_list(run, s, node->a);
        visit_list(run, s, node->b);
        visit_list(run, s, node->c);
        visit(run, s, node->d);
        break;
    }
}

static void visit_list(struct jinja_run *run, struct jinja_symbols *s,
                       const struct jinja_node *list)
{
    for (; list != NULL && !jinja_failed(run); list = list->next)
        visit(run, s, list);
}

static void declare_target(struct jinja_run *run, struct jinja_symbols *s,
                           const struct jinja_node *target)
{
    if (target->kind == JINJA_NODE_NAME)
        (void)jinja_symbols_declare(run, s, target->text);
    for (const struct jinja_node *part = target->kind == JINJA_NODE_TUPLE ? target->a : NULL;
         part != NULL; part = part->next)
        declare_target(run, s, part);
}

void jinja_symbols_analyze_list(struct jinja_run *run, struct jinja_symbols *symbols,
                                const struct jinja_node *list)
{
    visit_list(run, symbols, list);
}

void jinja_symbols_analyze(struct jinja_run *run, struct jinja_symbols *symbols,
                           const struct jinja_node *node, enum jinja_branch branch)
{
    switch (node->kind) {
    case JINJA_NODE_FOR:
        if (branch != JINJA_BRANCH_ELSE)
            declare_target(run, symbols, node->a);
        if (branch == JINJA_BRANCH_TEST)
            visit(run, symbols, node->e);
        else
            visit_list(run, symbols, branch == JINJA_BRANCH_BODY ? node->c : node->d);
        break;
    case JINJA_NODE_WITH:
        visit_list(run, symbols, node->a);
        visit_list(run, symbols, node->c);
        break;
    case JINJA_NODE_CAPTURE:
        visit_list(run, symbols, node->c);
        break;
    case JINJA_NODE_FILTERED:
        visit_list(run, symbols, node->a);
        visit_list(run, symbols, node->b);
        break;
    default: /* MACRO, CALL_BLOCK, GENERATION */
        visit_list(run, symbols, node->a);
        visit_list(run, symbols, node->b);
        visit_list(run, symbols, node->c);
        break;
    }
}
