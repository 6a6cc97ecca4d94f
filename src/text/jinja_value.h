/* Jinja values: making, comparing, printing, as Python does. */
#pragma once
#include "text/jinja.h"

static inline struct jinja_value jinja_undefined(struct view name)
{
    return (struct jinja_value){ .kind = JINJA_UNDEFINED, .string = name };
}
static inline struct jinja_value jinja_none(void)
{
    return (struct jinja_value){ .kind = JINJA_NONE };
}
static inline struct jinja_value jinja_bool(bool b)
{
    return (struct jinja_value){ .kind = JINJA_BOOL, .boolean = b };
}
static inline struct jinja_value jinja_int(int64_t i)
{
    return (struct jinja_value){ .kind = JINJA_INT, .integer = i };
}
static inline struct jinja_value jinja_float(double f)
{
    return (struct jinja_value){ .kind = JINJA_FLOAT, .real = f };
}
static inline struct jinja_value jinja_string(struct view s)
{
    return (struct jinja_value){ .kind = JINJA_STRING, .string = s };
}
static inline bool jinja_is_list(struct jinja_value v)
{
    return v.kind == JINJA_LIST || v.kind == JINJA_TUPLE;
}
static inline bool jinja_is_number(struct jinja_value v)
{
    return v.kind == JINJA_INT || v.kind == JINJA_FLOAT || v.kind == JINJA_BOOL;
}
double jinja_value_real(struct jinja_value v); /* of a number */
int64_t jinja_value_int(struct jinja_value v); /* of an int or bool */

struct jinja_value jinja_value_copy(struct jinja_run *run, struct view text); /* a STRING */
struct jinja_value jinja_value_list(struct jinja_run *run, enum jinja_kind kind);
void jinja_value_push(struct jinja_run *run, struct jinja_value list, struct jinja_value item);
struct jinja_value jinja_value_dict(struct jinja_run *run, enum jinja_kind kind);
void jinja_value_set(struct jinja_run *run, struct jinja_dict *dict, struct jinja_value key,
                     struct jinja_value value);
/* NULL when absent. */
const struct jinja_value *jinja_value_find(struct jinja_run *run, const struct jinja_dict *dict,
                                           struct jinja_value key);

bool jinja_value_truth(struct jinja_value v);
bool jinja_value_equal(struct jinja_run *run, struct jinja_value a, struct jinja_value b);
int jinja_value_order(struct jinja_run *run, struct jinja_value a, struct jinja_value b);
bool jinja_value_in(struct jinja_run *run, struct jinja_value item, struct jinja_value container);
int64_t jinja_value_length(struct jinja_run *run, struct jinja_value v);
/* What a for loop goes over: a LIST of the items. */
struct jinja_value jinja_value_items(struct jinja_run *run, struct jinja_value v);
const char *jinja_value_type(struct jinja_value v); /* Python's name: "str", "int", ... */
void jinja_value_refuse_undefined(struct jinja_run *run, struct jinja_value v);

/* Letters of UTF-8 (what is broken counts a byte as a letter). */
int64_t jinja_value_letters(struct view text);
size_t jinja_value_letter_bytes(struct view text);
bool jinja_value_is_space(uint32_t letter);
enum jinja_side { JINJA_LEFT = 1, JINJA_RIGHT = 2 };
/* Strips any of the letters of chars; Python's white space when chars.at is NULL. */
struct view jinja_value_strip(struct view text, struct view chars, unsigned sides);
