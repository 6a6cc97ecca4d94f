/* a.b and a["b"] as in jinja2's immutable sandbox. */
#pragma once
#include "template/jinja_method.h"

/* environment.getattr: an attribute of the object, else its item. */
struct jinja_value jinja_attr_get(struct jinja_run *run, struct jinja_value of, struct view name);
/* environment.getitem: an item of the object, else its attribute. */
struct jinja_value jinja_attr_item(struct jinja_run *run, struct jinja_value of,
                                   struct jinja_value key);
/* The filter attr: the attribute alone. */
struct jinja_value jinja_attr_own(struct jinja_run *run, struct jinja_value of, struct view name);
