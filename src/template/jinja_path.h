/* Paths of attributes, as "a.b.0" in map(attribute=...): jinja2's make_attrgetter. */
#pragma once
#include "template/jinja_value.h"

/* The parts of a path as a LIST; attribute NULL or none: no parts. */
struct jinja_value jinja_path_parts(struct jinja_run *run, const struct jinja_value *attribute);
/* What the path leads to. fallback (may be NULL) replaces what is undefined; folds: a string
 * becomes lower case. */
struct jinja_value jinja_path_follow(struct jinja_run *run, struct jinja_value item,
                                     struct jinja_value parts, const struct jinja_value *fallback,
                                     bool folds);
