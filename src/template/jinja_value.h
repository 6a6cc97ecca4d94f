/* Jinja values: constructors, accessors, and Python's truth and names of types. */
#pragma once
#include "template/jinja.h"

static inline struct jinja_value jinja_missing(void)
{
    return (struct jinja_value){ .kind = JINJA_MISSING };
}
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
static inline struct jinja_value jinja_text(const char *text)
{
    return jinja_string(view_text(text));
}
static inline bool jinja_is_list(struct jinja_value v)
{
    return v.kind == JINJA_LIST || v.kind == JINJA_TUPLE;
}
static inline bool jinja_is_whole(struct jinja_value v) /* Python's int; bool counts */
{
    return v.kind == JINJA_INT || v.kind == JINJA_BOOL;
}
static inline bool jinja_is_number(struct jinja_value v)
{
    return jinja_is_whole(v) || v.kind == JINJA_FLOAT;
}
double jinja_value_real(struct jinja_value v); /* of a number */
int64_t jinja_value_int(struct jinja_value v); /* of an int or bool */

struct jinja_value jinja_value_copy(struct jinja_run *run, struct view text); /* a STRING */
/* Makes the text a STRING of the run and frees the str. */
struct jinja_value jinja_value_keep(struct jinja_run *run, struct str *text);
struct jinja_value jinja_value_list(struct jinja_run *run, enum jinja_kind kind);
void jinja_value_push(struct jinja_run *run, struct jinja_value list, struct jinja_value item);
struct jinja_value jinja_value_pair(struct jinja_run *run, struct jinja_value a,
                                    struct jinja_value b); /* a TUPLE */
struct jinja_value jinja_value_dict(struct jinja_run *run, enum jinja_kind kind);
/* Sets the value of a key. An existing key keeps its place. The run fails for a key that Python
 * can't hash. */
void jinja_value_set(struct jinja_run *run, struct jinja_dict *dict, struct jinja_value key,
                     struct jinja_value value);
/* Returns NULL when the key is absent. */
const struct jinja_value *jinja_value_find(struct jinja_run *run, const struct jinja_dict *dict,
                                           struct jinja_value key);
const struct jinja_value *jinja_value_member(struct jinja_run *run, const struct jinja_dict *dict,
                                             struct view key);
/* Returns false, with the run failed, for a key that Python can't hash. */
bool jinja_value_check_key(struct jinja_run *run, struct jinja_value key);
/* Returns false when Python's hash() would raise TypeError. */
bool jinja_value_is_hashable(struct jinja_run *run, struct jinja_value key);

bool jinja_value_truth(struct jinja_value v);
/* Returns Python's len(). The run fails for a value without a length. */
int64_t jinja_value_length(struct jinja_run *run, struct jinja_value v);
bool jinja_value_has_length(struct jinja_value v);
const char *jinja_value_type(struct jinja_value v); /* Python's name: "str", "int", ... */
void jinja_value_refuse_undefined(struct jinja_run *run, struct jinja_value v);
/* Fails the run with the sentence about an operation that is not supported on markup ("x"|safe,
 * "x"|e). */
bool jinja_value_refuse_markup(struct jinja_run *run, struct jinja_value v, const char *what);
