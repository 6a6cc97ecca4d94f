/* Evaluating expressions. */
#pragma once
#include "template/jinja_args.h"
#include "template/jinja_node.h"

struct jinja_value jinja_eval(struct jinja_run *run, const struct jinja_node *node);
/* Returns the frame that has the slot. */
struct jinja_frame *jinja_eval_frame(struct jinja_run *run, struct jinja_slot slot);
struct jinja_value jinja_eval_call(struct jinja_run *run, struct jinja_value callee,
                                   const struct jinja_args *args);
/* Evaluates the CALL of a call block. The macro is passed to it as its argument caller. */
struct jinja_value jinja_eval_call_with(struct jinja_run *run, const struct jinja_node *node,
                                        struct jinja_value caller);
