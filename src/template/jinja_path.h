/* Paths of attributes, as "a.b.0" in map(attribute=...): jinja2's make_attrgetter. */
#pragma once
#include "template/jinja_value.h"

/* Returns the parts of a path as a LIST. An attribute that is NULL or none has no parts. */
struct jinja_value jinja_path_parts(struct jinja_run *run, const struct jinja_value *attribute);
/* Returns the value that the path leads to. fallback (may be NULL) replaces an undefined one. With
 * folds a string becomes lower case. */
struct jinja_value jinja_path_follow(struct jinja_run *run, struct jinja_value item,
                                     struct jinja_value parts, const struct jinja_value *fallback,
                                     bool folds);
