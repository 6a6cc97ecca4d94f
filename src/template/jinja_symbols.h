/* The variables of one scope while a template is read: jinja2's idtracking.
 *
 * A variable is a slot of the function that it belongs to. The scope's level and the name find it.
 * Scopes of one level in one function share it, since in jinja2 they share a variable of Python. */
#pragma once
#include "template/jinja_node.h"

struct jinja_function_slots { /* the variables of one function of the template */
    struct jinja_function_slots *parent;
    struct jinja_variable {
        int32_t level;
        struct view name;
    } * at;
    int32_t n;
    int64_t capacity;
    int n_loops; /* open ones in it */
};
struct jinja_variable_ref {
    struct jinja_function_slots *function;
    int32_t slot;
};
struct jinja_symbols {
    struct jinja_symbols *parent;
    struct jinja_function_slots *function;
    int32_t level;
    struct jinja_symbol {
        struct view name;
        int32_t slot;
    } * refs;
    int32_t n_refs;
    int64_t refs_capacity;
    struct jinja_symbol_load {
        enum jinja_load_kind kind;
        int32_t slot;
        struct jinja_variable_ref from;
        struct view name;
    } * loads;
    int32_t n_loads;
    int64_t loads_capacity;
    struct view *stores;
    int32_t n_stores;
    int64_t stores_capacity;
};
void jinja_symbols_init(struct jinja_symbols *symbols, struct jinja_symbols *parent,
                        struct jinja_function_slots *function);
/* Finds the names that a scope of this node declares, loads and stores. */
enum jinja_branch { JINJA_BRANCH_BODY, JINJA_BRANCH_ELSE, JINJA_BRANCH_TEST };
void jinja_symbols_analyze(struct jinja_run *run, struct jinja_symbols *symbols,
                           const struct jinja_node *node, enum jinja_branch branch);
/* Does the same for the statements of the template itself. */
void jinja_symbols_analyze_list(struct jinja_run *run, struct jinja_symbols *symbols,
                                const struct jinja_node *list);
int32_t jinja_symbols_declare(struct jinja_run *run, struct jinja_symbols *symbols,
                              struct view name); /* a parameter; its slot */
/* Returns false when no scope knows the name. */
bool jinja_symbols_find(struct jinja_run *run, const struct jinja_symbols *symbols,
                        struct view name, struct jinja_variable_ref *out);
/* Returns whether the variable is a parameter, which the code that enters its scope sets. */
bool jinja_symbols_is_parameter(struct jinja_run *run, const struct jinja_symbols *symbols,
                                struct jinja_variable_ref variable);
