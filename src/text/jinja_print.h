/* Writing Jinja values as text: Python's str() and repr(), and json.dumps. */
#pragma once
#include "text/jinja_value.h"

void jinja_print_value(struct jinja_run *run, struct jinja_value v, struct str *out);
void jinja_print_repr(struct jinja_run *run, struct jinja_value v, struct str *out);
struct view jinja_print_view(struct jinja_run *run, struct jinja_value v); /* str(v) in the pile */
struct jinja_print_json {
    int64_t indent;                            /* -1: none */
    struct view item_separator, key_separator; /* at NULL: Python's default */
    bool sort_keys, ascii;
};
void jinja_print_json_value(struct jinja_run *run, struct jinja_value v,
                            const struct jinja_print_json *how, struct str *out);
