/* The escapes of string literals. */
#pragma once
#include "template/jinja.h"

/* What stands between the quotes, without its escapes, as Python decodes "unicode-escape". */
struct view jinja_escape_undo(struct jinja_run *run, struct view body);
