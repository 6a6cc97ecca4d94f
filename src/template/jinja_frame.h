/* Variables while a template runs: frames of slots, scopes, assignments. */
#pragma once
#include "template/jinja_node.h"

/* Returns a frame with all slots MISSING; NULL when the run has failed. */
struct jinja_frame *jinja_frame_take(struct jinja_run *run, struct jinja_frame *parent,
                                     int32_t n_slots);
/* Returns the frame that has the slot. */
struct jinja_frame *jinja_frame_of(struct jinja_run *run, struct jinja_slot slot);
/* Sets the variables that the scope's body may read, and resets them afterwards. */
void jinja_frame_enter(struct jinja_run *run, const struct jinja_scope *scope);
void jinja_frame_leave(struct jinja_run *run, const struct jinja_scope *scope);
void jinja_frame_set(struct jinja_run *run, struct jinja_slot slot, struct jinja_value value);
/* Assigns to a name, an attribute of a namespace, or a tuple of these. */
void jinja_frame_assign(struct jinja_run *run, const struct jinja_node *target,
                        struct jinja_value value);
/* Fails the run when the target is an attribute of another thing than a namespace. This comes
 * before the value is evaluated. */
void jinja_frame_check(struct jinja_run *run, const struct jinja_node *target);
