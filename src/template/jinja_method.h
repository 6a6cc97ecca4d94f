/* The methods of str, list, dict and the other types that templates see. */
#pragma once
#include "template/jinja_args.h"

struct jinja_method_row;
struct jinja_method {
    struct jinja_value self;
    const struct jinja_method_row *row;
};
/* Returns NULL when the type has no such method. */
const struct jinja_method_row *jinja_method_find(struct jinja_value self, struct view name);
/* Returns whether the sandbox forbids it, because it changes the object. */
bool jinja_method_is_unsafe(const struct jinja_method_row *row);
/* Fails the run, with the method's name, when it is not supported on this value. */
void jinja_method_check(struct jinja_run *run, const struct jinja_method_row *row,
                        struct jinja_value self);
/* Returns whether this is a method of Python that no template may call here, on any type. */
bool jinja_method_is_refused(struct view name);
struct jinja_value jinja_method_bind(struct jinja_run *run, const struct jinja_method_row *row,
                                     struct jinja_value self); /* a METHOD */
struct jinja_value jinja_method_call(struct jinja_run *run, const struct jinja_method *method,
                                     const struct jinja_args *args);
