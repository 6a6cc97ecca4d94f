/* Operations on strings that methods and filters share. */
#pragma once
#include "text/jinja_value.h"

enum jinja_case { JINJA_UPPER, JINJA_LOWER, JINJA_TITLE, JINJA_CAPITALIZE };
struct jinja_value jinja_text_case(struct jinja_run *run, struct view text, enum jinja_case how);
/* At most `limit` replacements, -1: all. */
struct jinja_value jinja_text_replace(struct jinja_run *run, struct view text, struct view old,
                                      struct view with, int64_t limit);
/* separator.at NULL: at white space. A LIST of strings. */
struct jinja_value jinja_text_split(struct jinja_run *run, struct view text, struct view separator,
                                    int64_t limit, bool from_right);
struct jinja_value jinja_text_lines(struct jinja_run *run, struct view text);
/* Position in letters of the first (or last) occurrence, -1 when there is none. */
int64_t jinja_text_find(struct jinja_run *run, struct view text, struct view what, bool last);
struct jinja_value jinja_text_join(struct jinja_run *run, struct view separator,
                                   struct jinja_value items, bool prints);
/* Python's "..." % arguments, for %s, %d, %i, %f, %.Nf, %r and %%. */
struct jinja_value jinja_text_format(struct jinja_run *run, struct view format,
                                     const struct jinja_value *arguments, int64_t n);
