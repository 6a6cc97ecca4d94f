/* Builds a program: its readers add rules and nodes, then build_end checks and prunes it. */
#pragma once
#include "base/map.h"
#include "base/status.h"
#include "grammar/expr.h"
#include "grammar/program.h"

struct build {
    struct program *program;
    struct fault *fault;
    bool is_bad; /* the fault is set, all else is a waste of time */
    uint32_t n_nodes_max, n_rules_max, n_dfas_max, n_texts_max, n_repeats_max, n_objects_max,
        n_arrays_max, n_frees_max;
    struct dfa *all;      /* the automaton of all texts */
    uint32_t return_node; /* one RETURN for all rules */
};
void build_begin(struct build *build, struct program *program, struct fault *fault);
/* Sets the fault, unless it is set. */
void build_refuse(struct build *build, enum status status, const char *fmt, ...) PRINTF_LIKE(3, 4);
uint32_t build_rule(struct build *build); /* a new rule, without nodes yet */
uint32_t build_node(struct build *build, enum program_op op, uint32_t next, uint32_t x);
/* Each returns the first node, in front of next. */
uint32_t build_literal(struct build *build, struct view bytes, uint32_t next);
uint32_t build_raw(struct build *build, struct dfa *dfa, uint32_t next);
uint32_t build_text(struct build *build, struct program_text text, uint32_t next); /* with quotes */
uint32_t build_object(struct build *build, struct program_object object, uint32_t next);
uint32_t build_array(struct build *build, struct program_array array, uint32_t next);
/* Text of any bytes, up to the trigger's first occurrence, which is part of it. It may also end
 * anywhere. */
uint32_t build_free(struct build *build, struct view trigger, uint32_t next);
uint32_t build_call(struct build *build, uint32_t rule, uint32_t next);
uint32_t build_either(struct build *build, const uint32_t *firsts, uint32_t n);
/* An expression, whose rules are the program's. */
uint32_t build_expr(struct build *build, const struct expr *expr, uint32_t next);
/* Removes what can't be completed, and refuses left recursion and an empty root. */
bool build_end(struct build *build);
