/* Writing Jinja values as text: Python's str(), repr() and ascii(). */
#pragma once
#include "template/jinja_value.h"

void jinja_print_value(struct jinja_run *run, struct jinja_value v, struct str *out);
void jinja_print_repr(struct jinja_run *run, struct jinja_value v, struct str *out);
void jinja_print_ascii(struct jinja_run *run, struct jinja_value v, struct str *out);
struct view jinja_print_view(struct jinja_run *run, struct jinja_value v); /* str(v) in the pile */
/* Does soft_str(v): a STRING stays as it is, markup too. */
struct jinja_value jinja_print_soft(struct jinja_run *run, struct jinja_value v);
