/* Evaluating expressions. */
#pragma once
#include "template/jinja_args.h"
#include "template/jinja_node.h"

struct jinja_value jinja_eval(struct jinja_run *run, const struct jinja_node *node);
struct jinja_value jinja_eval_call(struct jinja_run *run, struct jinja_value callee,
                                   const struct jinja_args *args);
/* Evaluates the CALL of a call block. The macro is passed to it as its argument caller. */
struct jinja_value jinja_eval_call_with(struct jinja_run *run, const struct jinja_node *node,
                                        struct jinja_value caller);

/* These run statements (jinja_exec.c), because a call may run a macro or a recursive loop. */
struct jinja_value jinja_exec_macro(struct jinja_run *run, const struct jinja_macro *macro,
                                    const struct jinja_args *args);
/* Runs loop(items) in a recursive loop. */
struct jinja_value jinja_exec_recursion(struct jinja_run *run, const struct jinja_loop *loop,
                                        const struct jinja_args *args);
