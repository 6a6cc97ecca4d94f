/* JSON Schema (2020-12, with the spellings of drafts 4, 6 and 7) as a program.
 *
 * A rule of the program stands for a set of schemas that a value must satisfy at once. Such a set
 * is brought into forms: the value must have one of these. A form has no references and no
 * alternatives left; schemas of its parts become rules in turn. */
#pragma once
#include "base/map.h"
#include "grammar/build.h"
#include <jansson.h>

enum {
    SCHEMA_FORMS_MAX = 2048, /* of one rule */
    SCHEMA_RULES_MAX = 20000,
    SCHEMA_STEPS_MAX = 200000, /* forms that are looked at, in total */
    SCHEMA_DEPTH_MAX = 200,    /* choices inside of each other */
    SCHEMA_LISTED_MAX = 4096,  /* schemas joined in one form */
};
enum schema_type {
    TYPE_NULL = 1,
    TYPE_BOOLEAN = 2,
    TYPE_INTEGER = 4,
    TYPE_FRACTION = 8, /* a number that is no integer */
    TYPE_STRING = 16,
    TYPE_ARRAY = 32,
    TYPE_OBJECT = 64,
    TYPE_NUMBER = TYPE_INTEGER | TYPE_FRACTION,
    TYPE_ALL = 127,
};

/* A list that is shared by all forms that were split off behind it. */
struct schema_list {
    const void *item;
    uint32_t flag;
    struct schema_list *next;
};
struct schema_bounds {
    double low, high;
    bool has_low, has_high, excludes_low, excludes_high;
};
struct schema_form {
    uint32_t types;
    bool has_values;
    struct schema_list *values;     /* json_t: the value is one of these */
    struct schema_list *not_values; /* json_t */
    struct schema_bounds bounds;
    uint32_t divisor;
    int32_t n_digits_max;            /* of a fraction; -1 */
    uint32_t length_min, length_max; /* code points */
    struct schema_list *patterns;    /* struct dfa; flag 1: must not match */
    uint32_t items_min, items_max;
    bool is_unique;
    struct schema_list *arrays; /* json_t: schemas with items */
    uint32_t keys_min, keys_max;
    struct schema_list *objects;  /* json_t: schemas with properties */
    struct schema_list *required; /* char: names */
    struct schema_list *needs;    /* json_t of names; their key is in `needs_of`, in step */
    struct schema_list *needs_of;
    struct schema_list *names; /* json_t: schemas of keys */
    struct schema_list *seen;  /* json_t: schemas that are in it */
};
struct schema_set { /* schemas that a value must satisfy at once, sorted by address */
    uint32_t n;
    const json_t **nodes;
};
struct schema_rule {
    struct schema_set set;
    uint32_t rule;
};
struct schema {
    struct build *build;
    struct pile *pile; /* the program's: forms and sets lie there too */
    const json_t *root;
    int draft; /* 4, 6, 7 or 2020 */
    struct schema_refs *refs;
    struct schema_rule *rules;
    uint32_t n_rules, n_rules_max, n_built;
    struct map rule_of;  /* hash of a set to its index */
    json_t *made;        /* an array: schemas that were made here */
    struct map made_of;  /* of what: address and kind to index in made */
    struct map patterns; /* hash of a pattern to its index in pattern_dfas */
    struct dfa **pattern_dfas;
    uint32_t n_patterns, n_steps;
};
/* Adds the rules of a schema's text. Returns the rule of the whole, or 0 with the fault set. The
 * rule 0 is not used for it. */
uint32_t schema_read(struct build *build, struct view text);

/* ---- Between its files. ---- */
typedef void schema_take(void *arg, const struct schema_form *form);
/* Calls take for each form of a set. */
void schema_forms(struct schema *schema, struct schema_set set, schema_take *take, void *arg);
struct schema_set schema_set_of(struct schema *schema, const json_t *node);
struct schema_set schema_set_add(struct schema *schema, struct schema_set set, const json_t *node);
uint32_t schema_rule(struct schema *schema, struct schema_set set);
/* Adds the nodes of a form, in front of next. */
uint32_t schema_form_node(struct schema *schema, const struct schema_form *form, uint32_t next);
uint32_t schema_object_node(struct schema *schema, const struct schema_form *form, uint32_t next);
/* Refuses a keyword. */
void schema_refuse(struct schema *schema, const char *keyword, const char *why);
struct schema_list *schema_push(struct schema *schema, struct schema_list *list, const void *item,
                                uint32_t flag);
/* Return the automaton of a pattern, searched or of the whole text, or NULL with the fault set. */
struct dfa *schema_pattern(struct schema *schema, const char *pattern);
struct dfa *schema_whole(struct schema *schema, const char *pattern);
/* Return what was made for a schema before, and note what was made for it. kind tells different
 * uses apart. */
const json_t *schema_made(const struct schema *schema, const json_t *node, int kind);
const json_t *schema_make(struct schema *schema, const json_t *node, int kind, json_t *made);
/* Returns the automaton of a form's strings, without its lengths; NULL: the fault is set, or all
 * strings will do. */
struct dfa *schema_strings(struct schema *schema, const struct schema_form *form);
/* Adds a format's automaton to the form. */
void schema_format(struct schema *schema, struct schema_form *form, const char *name);
/* Returns the schema that a $ref leads to, or NULL with the fault set. */
const json_t *schema_refs_find(struct schema *schema, const json_t *from, const char *ref);
void schema_refs_open(struct schema *schema);
void schema_refs_close(struct schema *schema);
/* Returns a schema that holds exactly where this one does not, or NULL when we can't write it.
 * `made` keeps it. */
const json_t *schema_not(struct schema *schema, const json_t *node, int depth);
/* Returns whether no value satisfies both; false when that is not known. */
bool schema_is_disjoint(struct schema *schema, const json_t *a, const json_t *b);
/* Returns whether a value satisfies a form; sets *is_sure to false when that is not known. */
bool schema_holds(struct schema *schema, const struct schema_form *form, const json_t *value,
                  bool *is_sure);
