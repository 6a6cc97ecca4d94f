/* The escapes of string literals. */
#pragma once
#include "template/jinja.h"

/* Returns the text between the quotes with its escapes undone, as Python decodes
 * "unicode-escape". */
struct view jinja_escape_undo(struct jinja_run *run, struct view body);
