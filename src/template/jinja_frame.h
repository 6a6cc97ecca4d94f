/* Variables while a template runs: frames of slots, scopes, assignments. */
#pragma once
#include "template/jinja_node.h"

/* NULL when the run has failed; the slots are MISSING. */
struct jinja_frame *jinja_frame_take(struct jinja_run *run, struct jinja_frame *parent,
                                     int32_t n_slots);
/* Loads what the scope's body may read, and forgets it again. */
void jinja_frame_enter(struct jinja_run *run, const struct jinja_scope *scope);
void jinja_frame_leave(struct jinja_run *run, const struct jinja_scope *scope);
void jinja_frame_set(struct jinja_run *run, struct jinja_slot slot, struct jinja_value value);
/* To a name, an attribute of a namespace, or a tuple of them. */
void jinja_frame_assign(struct jinja_run *run, const struct jinja_node *target,
                        struct jinja_value value);
/* Attributes of what is no namespace are refused before the value is looked at. */
void jinja_frame_check(struct jinja_run *run, const struct jinja_node *target);
