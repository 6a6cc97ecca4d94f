/* Filters for HTML and URLs: escape, forceescape, safe, xmlattr, urlencode. */
#pragma once
#include "template/jinja_args.h"

jinja_callee jinja_markup_escape, jinja_markup_safe, jinja_markup_xmlattr, jinja_markup_urlencode;
/* Joins two texts when at least one is markup. The other one is escaped. */
struct jinja_value jinja_markup_join(struct jinja_run *run, struct jinja_value a,
                                     struct jinja_value b);
