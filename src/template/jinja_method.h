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

/* The methods of str (jinja_method_text.c), for the table of methods. */
enum jinja_find { JINJA_FIND_FIRST, JINJA_FIND_LAST, JINJA_INDEX_FIRST, JINJA_INDEX_LAST };
enum { JINJA_AT_START, JINJA_AT_END };

jinja_callee jinja_method_text_strip, jinja_method_text_change, jinja_method_text_is,
    jinja_method_text_affix, jinja_method_text_remove, jinja_method_text_replace,
    jinja_method_text_split, jinja_method_text_lines, jinja_method_text_join,
    jinja_method_text_find, jinja_method_text_count, jinja_method_text_pad, jinja_method_text_zfill,
    jinja_method_text_tabs, jinja_method_text_partition, jinja_method_text_format,
    jinja_method_text_format_map, jinja_method_text_identifier;
