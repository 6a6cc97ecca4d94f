/* From a set of schemas to forms: keywords are joined, alternatives are split. */
#include "grammar/schema.h"

#include <math.h>
#include <string.h>

enum { MADE_ONE_OF, MADE_IF, MADE_DEPENDENCY };
struct forms {
    struct schema *schema;
    schema_take *take;
    void *arg;
    uint32_t n;
};
/* Sets false when no value can satisfy the form any more. */
typedef bool read_keyword(struct schema *s, struct schema_form *form, const json_t *node,
                          const json_t *value);

static bool wrong(struct schema *s, const char *keyword)
{
    build_refuse(s->build, STATUS_BAD_INPUT, "JSON Schema: the value of %s has the wrong type",
                 keyword);
    return false;
}

/* ---- Types and values. ---- */

static uint32_t type_named(const char *name)
{
    static const struct {
        const char *name;
        uint32_t types;
    } names[] = { { "null", TYPE_NULL },       { "boolean", TYPE_BOOLEAN },
                  { "integer", TYPE_INTEGER }, { "number", TYPE_NUMBER },
                  { "string", TYPE_STRING },   { "array", TYPE_ARRAY },
                  { "object", TYPE_OBJECT },   { "any", TYPE_ALL } };
    for (size_t i = 0; name != NULL && i < COUNT_OF(names); i++)
        if (strcmp(names[i].name, name) == 0)
            return names[i].types;
    return 0;
}

static bool read_type(struct schema *s, struct schema_form *form, const json_t *node,
                      const json_t *value)
{
    uint32_t types = 0;
    (void)node;
    if (json_is_string(value))
        types = type_named(json_string_value(value));
    for (size_t i = 0; i < json_array_size(value); i++)
        types |= type_named(json_string_value(json_array_get(value, i)));
    if (types == 0) {
        build_refuse(s->build, STATUS_BAD_INPUT, "JSON Schema: type: \"%.40s\" is not a type",
                     json_is_string(value) ? json_string_value(value) : "it");
        return false;
    }
    form->types &= types;
    return true;
}

/* Keeps those values of the form that are in this list, or takes the list. */
static void join_values(struct schema *s, struct schema_form *form, struct schema_list *values)
{
    struct schema_list *kept = NULL;
    if (!form->has_values)
        kept = values;
    for (struct schema_list *v = form->values; v != NULL && form->has_values; v = v->next)
        for (struct schema_list *w = values; w != NULL; w = w->next)
            if (json_equal((json_t *)(uintptr_t)v->item, (json_t *)(uintptr_t)w->item) == 1)
                kept = schema_push(s, kept, v->item, 0);
    form->has_values = true;
    form->values = kept;
}

static bool read_enum(struct schema *s, struct schema_form *form, const json_t *node,
                      const json_t *value)
{
    struct schema_list *values = NULL;
    (void)node;
    if (!json_is_array(value))
        return wrong(s, "enum");
    for (size_t i = json_array_size(value); i-- > 0;)
        values = schema_push(s, values, json_array_get(value, i), 0);
    join_values(s, form, values);
    return true;
}

static bool read_const(struct schema *s, struct schema_form *form, const json_t *node,
                       const json_t *value)
{
    (void)node;
    join_values(s, form, schema_push(s, NULL, value, 0));
    return true;
}

/* ---- Numbers. ---- */

static void raise_low(struct schema_form *form, double value, bool is_exclusive)
{
    struct schema_bounds *b = &form->bounds;
    if (!b->has_low || value > b->low || (value == b->low && is_exclusive)) {
        b->low = value;
        b->excludes_low = is_exclusive;
    }
    b->has_low = true;
}

static void lower_high(struct schema_form *form, double value, bool is_exclusive)
{
    struct schema_bounds *b = &form->bounds;
    if (!b->has_high || value < b->high || (value == b->high && is_exclusive)) {
        b->high = value;
        b->excludes_high = is_exclusive;
    }
    b->has_high = true;
}

static bool read_minimum(struct schema *s, struct schema_form *form, const json_t *node,
                         const json_t *value)
{
    bool excludes = s->draft == 4 && json_is_true(json_object_get(node, "exclusiveMinimum"));
    if (!json_is_number(value))
        return wrong(s, "minimum");
    raise_low(form, json_number_value(value), excludes);
    return true;
}

static bool read_maximum(struct schema *s, struct schema_form *form, const json_t *node,
                         const json_t *value)
{
    bool excludes = s->draft == 4 && json_is_true(json_object_get(node, "exclusiveMaximum"));
    if (!json_is_number(value))
        return wrong(s, "maximum");
    lower_high(form, json_number_value(value), excludes);
    return true;
}

static bool read_exclusive_minimum(struct schema *s, struct schema_form *form, const json_t *node,
                                   const json_t *value)
{
    (void)node;
    if (json_is_boolean(value) && s->draft == 4)
        return true;
    if (!json_is_number(value))
        return wrong(s, "exclusiveMinimum");
    raise_low(form, json_number_value(value), true);
    return true;
}

static bool read_exclusive_maximum(struct schema *s, struct schema_form *form, const json_t *node,
                                   const json_t *value)
{
    (void)node;
    if (json_is_boolean(value) && s->draft == 4)
        return true;
    if (!json_is_number(value))
        return wrong(s, "exclusiveMaximum");
    lower_high(form, json_number_value(value), true);
    return true;
}

static uint32_t gcd(uint32_t a, uint32_t b)
{
    return b == 0 ? a : gcd(b, a % b);
}

static bool read_multiple(struct schema *s, struct schema_form *form, const json_t *node,
                          const json_t *value)
{
    double of = json_number_value(value);
    (void)node;
    if (!json_is_number(value) || !(of > 0))
        return wrong(s, "multipleOf");
    if (of == floor(of) && of <= 10000) {
        uint32_t k = (uint32_t)of, have = form->divisor > 0 ? form->divisor : 1;
        uint64_t both = (uint64_t)k / gcd(k, have) * have;
        if (both > 10000)
            schema_refuse(s, "multipleOf", "their common multiple must be at most 10,000");
        form->divisor = (uint32_t)both;
        form->types &= ~(uint32_t)TYPE_FRACTION;
        return true;
    }
    for (int32_t digits = 1; digits <= 12; digits++) {
        if (of != 1.0 / pow(10, digits))
            continue;
        if (form->n_digits_max < 0 || form->n_digits_max > digits)
            form->n_digits_max = digits;
        return true;
    }
    if ((form->types & TYPE_NUMBER) == TYPE_INTEGER && 1.0 / of == floor(1.0 / of))
        return true; /* each integer is a multiple of it */
    schema_refuse(s, "multipleOf", "only integers up to 10,000 and powers of 0.1 are supported");
    return false;
}

/* ---- Counts. ---- */

static bool read_count(struct schema *s, const json_t *value, const char *keyword, bool is_max,
                       uint32_t *out)
{
    double number = json_number_value(value);
    if (!json_is_number(value) || number < 0 || number != floor(number))
        return wrong(s, keyword);
    uint32_t count = number >= PROGRAM_MANY ? PROGRAM_MANY : (uint32_t)number;
    if (is_max ? count < *out : count > *out)
        *out = count;
    return true;
}

#define COUNT_KEYWORD(name, keyword, field, is_max)                                                \
    static bool name(struct schema *s, struct schema_form *form, const json_t *node,               \
                     const json_t *value)                                                          \
    {                                                                                              \
        (void)node;                                                                                \
        return read_count(s, value, keyword, is_max, &form->field);                                \
    }
COUNT_KEYWORD(read_min_length, "minLength", length_min, false)
COUNT_KEYWORD(read_max_length, "maxLength", length_max, true)
COUNT_KEYWORD(read_min_items, "minItems", items_min, false)
COUNT_KEYWORD(read_max_items, "maxItems", items_max, true)
COUNT_KEYWORD(read_min_properties, "minProperties", keys_min, false)
COUNT_KEYWORD(read_max_properties, "maxProperties", keys_max, true)

/* ---- Strings. ---- */

static bool read_pattern(struct schema *s, struct schema_form *form, const json_t *node,
                         const json_t *value)
{
    (void)node;
    if (!json_is_string(value))
        return wrong(s, "pattern");
    struct dfa *dfa = schema_pattern(s, json_string_value(value));
    if (dfa != NULL)
        form->patterns = schema_push(s, form->patterns, dfa, 0);
    return dfa != NULL;
}

/* These keywords are written by schema_not alone. */
static bool read_not_pattern(struct schema *s, struct schema_form *form, const json_t *node,
                             const json_t *value)
{
    struct schema_list *before = form->patterns;
    bool is_read = read_pattern(s, form, node, value);
    if (form->patterns != before)
        form->patterns->flag = 1;
    return is_read;
}

static bool read_not_enum(struct schema *s, struct schema_form *form, const json_t *node,
                          const json_t *value)
{
    (void)node;
    for (size_t i = 0; i < json_array_size(value); i++)
        form->not_values = schema_push(s, form->not_values, json_array_get(value, i), 0);
    return true;
}

static bool read_format(struct schema *s, struct schema_form *form, const json_t *node,
                        const json_t *value)
{
    (void)node;
    if (json_is_string(value) && (form->types & TYPE_STRING) != 0)
        schema_format(s, form, json_string_value(value));
    return true;
}

/* ---- Objects and arrays. ---- */

static bool read_object(struct schema *s, struct schema_form *form, const json_t *node,
                        const json_t *value)
{
    (void)value;
    for (const struct schema_list *l = form->objects; l != NULL; l = l->next)
        if (l->item == node)
            return true;
    form->objects = schema_push(s, form->objects, node, 0);
    return true;
}

static bool read_array(struct schema *s, struct schema_form *form, const json_t *node,
                       const json_t *value)
{
    (void)value;
    for (const struct schema_list *l = form->arrays; l != NULL; l = l->next)
        if (l->item == node)
            return true;
    form->arrays = schema_push(s, form->arrays, node, 0);
    return true;
}

static bool read_unique(struct schema *s, struct schema_form *form, const json_t *node,
                        const json_t *value)
{
    (void)s;
    (void)node;
    form->is_unique |= json_is_true(value);
    return true;
}

static bool read_required(struct schema *s, struct schema_form *form, const json_t *node,
                          const json_t *value)
{
    (void)node;
    if (json_is_boolean(value)) /* as draft 3 spells it; later drafts ignore it */
        return true;
    if (!json_is_array(value))
        return wrong(s, "required");
    for (size_t i = json_array_size(value); i-- > 0;) {
        const char *name = json_string_value(json_array_get(value, i));
        if (name == NULL)
            return wrong(s, "required");
        form->required = schema_push(s, form->required, name, 0);
    }
    return true;
}

static bool read_names(struct schema *s, struct schema_form *form, const json_t *node,
                       const json_t *value)
{
    (void)node;
    form->names = schema_push(s, form->names, value, 0);
    return true;
}

/* Reads dependentRequired, and dependencies with arrays. Those with schemas are alternatives. */
static bool read_needs(struct schema *s, struct schema_form *form, const json_t *node,
                       const json_t *value)
{
    const char *key;
    json_t *names;
    (void)node;
    json_object_foreach((json_t *)(uintptr_t)value, key, names) {
        if (json_is_string(names)) {
            json_t *list = json_pack("[s]", json_string_value(names));
            json_array_append_new(s->made, list);
            names = list;
        }
        if (!json_is_array(names))
            continue;
        form->needs = schema_push(s, form->needs, names, 0);
        form->needs_of = schema_push(s, form->needs_of, key, 0);
    }
    return true;
}

/* ---- All keywords. ---- */

static const struct keyword {
    const char *name;
    read_keyword *read; /* NULL: it is only a comment, or is read elsewhere */
} keywords[] = {
    { "type", read_type },
    { "enum", read_enum },
    { "const", read_const },
    { "minimum", read_minimum },
    { "maximum", read_maximum },
    { "exclusiveMinimum", read_exclusive_minimum },
    { "exclusiveMaximum", read_exclusive_maximum },
    { "multipleOf", read_multiple },
    { "minLength", read_min_length },
    { "maxLength", read_max_length },
    { "pattern", read_pattern },
    { "format", read_format },
    { "minItems", read_min_items },
    { "maxItems", read_max_items },
    { "items", read_array },
    { "prefixItems", read_array },
    { "additionalItems", NULL },
    { "uniqueItems", read_unique },
    { "properties", read_object },
    { "patternProperties", read_object },
    { "additionalProperties", read_object },
    { "propertyNames", read_names },
    { "required", read_required },
    { "minProperties", read_min_properties },
    { "maxProperties", read_max_properties },
    { "dependentRequired", read_needs },
    { "dependencies", read_needs },
    { "\x01not enum", read_not_enum },
    { "\x01not pattern", read_not_pattern },
};
/* Keywords that would change what is valid, and that are not supported. */
static const char *const refused[] = {
    "contains",         "minContains", "maxContains",   "unevaluatedProperties",
    "unevaluatedItems", "$dynamicRef", "$recursiveRef", "disallow",
    "extends",          "divisibleBy",
};

static bool is_neutral(const char *keyword, const json_t *value)
{
    bool is_minimum = strcmp(keyword, "minContains") == 0;
    if (is_minimum || strcmp(keyword, "maxContains") == 0)
        return true; /* without contains they mean nothing */
    return json_is_true(value) && strncmp(keyword, "unevaluated", 11) == 0;
}

/* Joins the plain keywords of one schema. Returns false when nothing satisfies the form any more,
 * or the fault is set. */
static bool join(struct schema *s, struct schema_form *form, const json_t *node)
{
    for (size_t i = 0; i < COUNT_OF(refused); i++) {
        const json_t *value = json_object_get(node, refused[i]);
        if (value != NULL && !is_neutral(refused[i], value))
            schema_refuse(s, refused[i], "this keyword is not supported");
    }
    for (size_t i = 0; i < COUNT_OF(keywords) && !s->build->is_bad; i++) {
        const json_t *value = json_object_get(node, keywords[i].name);
        bool is_later = (s->draft == 4 && strcmp(keywords[i].name, "const") == 0) ||
                        (s->draft == 4 && strcmp(keywords[i].name, "propertyNames") == 0) ||
                        (s->draft != 2020 && strcmp(keywords[i].name, "prefixItems") == 0);
        if (value != NULL && !is_later && keywords[i].read != NULL &&
            !keywords[i].read(s, form, node, value))
            return false;
    }
    return !s->build->is_bad && form->types != 0;
}

/* ---- Alternatives. ---- */

/* Returns a schema for each branch of oneOf: the branch, and none of those that may hold with it.
 */
static const json_t *one_of(struct schema *s, const json_t *branches)
{
    size_t n = json_array_size(branches);
    const json_t *before = schema_made(s, branches, MADE_ONE_OF);
    if (before != NULL)
        return before;
    json_t *out = json_array();
    (void)schema_make(s, branches, MADE_ONE_OF, out);
    for (size_t i = 0; i < n; i++) {
        json_t *all = json_pack("[O]", json_array_get(branches, i));
        for (size_t j = 0; j < n && !s->build->is_bad; j++) {
            if (j == i ||
                schema_is_disjoint(s, json_array_get(branches, i), json_array_get(branches, j)))
                continue;
            const json_t *other = schema_not(s, json_array_get(branches, j), 0);
            if (other == NULL)
                schema_refuse(s, "oneOf",
                              "its branches may hold together, and one of them can't be excluded");
            else
                json_array_append(all, (json_t *)(uintptr_t)other);
        }
        json_array_append_new(out, json_array_size(all) == 1 ? json_incref(json_array_get(all, 0))
                                                             : json_pack("{sO}", "allOf", all));
        json_decref(all);
    }
    return out;
}

/* Returns the branches of if, then and else. */
static const json_t *conditional(struct schema *s, const json_t *node)
{
    const json_t *before = schema_made(s, node, MADE_IF);
    if (before != NULL)
        return before;
    const json_t *test = json_object_get(node, "if"), *not_test = schema_not(s, test, 0);
    json_t *out = json_array(), *yes = json_pack("[O]", test), *no = json_array();
    json_t *then = json_object_get(node, "then"), *other = json_object_get(node, "else");
    (void)schema_make(s, node, MADE_IF, out);
    if (not_test == NULL)
        schema_refuse(s, "if", "its schema can't be negated");
    else
        json_array_append(no, (json_t *)(uintptr_t)not_test);
    if (then != NULL)
        json_array_append(yes, then);
    if (other != NULL)
        json_array_append(no, other);
    json_array_append_new(out, json_pack("{so}", "allOf", yes));
    json_array_append_new(out, json_pack("{so}", "allOf", no));
    return out;
}

/* Returns the branches of one dependency with a schema. */
static const json_t *dependency(struct schema *s, const char *key, json_t *schema)
{
    /* By the key's address, since equal schemas may be one record: true and false are. */
    const json_t *place = (const json_t *)(const void *)key;
    const json_t *before = schema_made(s, place, MADE_DEPENDENCY);
    if (before != NULL)
        return before;
    json_t *out =
        json_pack("[{s{sb}}{s[s]s[O]}]", "properties", key, 0, "required", key, "allOf", schema);
    return schema_make(s, place, MADE_DEPENDENCY, out);
}

/* Lists the alternatives of a schema: each is an array of branches. */
static struct schema_list *add_choices(struct schema *s, const json_t *node,
                                       struct schema_list *choices)
{
    static const char *const depends[] = { "dependentSchemas", "dependencies" };
    const json_t *any = json_object_get(node, "anyOf"), *one = json_object_get(node, "oneOf");
    const char *key;
    json_t *value;
    if (any != NULL)
        choices = schema_push(s, choices, any, 0);
    if (one != NULL && !s->build->is_bad)
        choices = schema_push(s, choices, one_of(s, one), 0);
    bool has_branch =
        json_object_get(node, "then") != NULL || json_object_get(node, "else") != NULL;
    if (json_object_get(node, "if") != NULL && has_branch && (s->draft == 7 || s->draft == 2020))
        choices = schema_push(s, choices, conditional(s, node), 0);
    for (size_t i = 0; i < COUNT_OF(depends); i++) {
        json_object_foreach(json_object_get(node, depends[i]), key, value) {
            if (json_is_object(value) || json_is_boolean(value))
                choices = schema_push(s, choices, dependency(s, key, value), 0);
        }
    }
    return choices;
}

static bool has_seen(const struct schema_form *form, const json_t *node)
{
    for (const struct schema_list *l = form->seen; l != NULL; l = l->next)
        if (l->item == node)
            return true;
    return false;
}

/* Adds the schemas that this one joins: its reference, allOf, not. */
static struct schema_list *add_joined(struct schema *s, const json_t *node,
                                      struct schema_list *pending)
{
    const json_t *all = json_object_get(node, "allOf"), *not = json_object_get(node, "not");
    const char *ref = json_string_value(json_object_get(node, "$ref"));
    for (size_t i = json_array_size(all); i-- > 0;)
        pending = schema_push(s, pending, json_array_get(all, i), 0);
    if (not != NULL) {
        const json_t *other = schema_not(s, not, 0);
        if (other == NULL)
            schema_refuse(s, "not", "this schema can't be negated");
        else
            pending = schema_push(s, pending, other, 0);
    }
    if (ref != NULL) {
        const json_t *target = schema_refs_find(s, node, ref);
        if (target != NULL)
            pending = schema_push(s, pending, target, 0);
    }
    return pending;
}

/* Takes the pending schemas into the form, then splits it at the first of its choices. */
static void expand(struct forms *f, struct schema_form form, struct schema_list *pending,
                   struct schema_list *choices, int depth)
{
    struct schema *s = f->schema;
    uint32_t n = 0;
    while (pending != NULL) {
        const json_t *node = pending->item;
        pending = pending->next;
        if (s->build->is_bad || json_is_false(node))
            return;
        if (has_seen(&form, node) || json_is_true(node))
            continue;
        if (++n > SCHEMA_LISTED_MAX || ++s->n_steps > SCHEMA_STEPS_MAX) {
            build_refuse(s->build, STATUS_TOO_LARGE,
                         "JSON Schema: its alternatives take too many steps");
            return;
        }
        if (!json_is_object(node)) {
            build_refuse(s->build, STATUS_BAD_INPUT,
                         "JSON Schema: a schema must be an object, true or false");
            return;
        }
        form.seen = schema_push(s, form.seen, node, 0);
        bool is_alone = s->draft != 2020 && json_is_string(json_object_get(node, "$ref"));
        if (is_alone) {
            const json_t *to =
                schema_refs_find(s, node, json_string_value(json_object_get(node, "$ref")));
            if (to != NULL)
                pending = schema_push(s, pending, to, 0);
            continue;
        }
        if (!join(s, &form, node))
            return;
        pending = add_joined(s, node, pending);
        choices = add_choices(s, node, choices);
    }
    if (s->build->is_bad)
        return;
    if (choices == NULL) {
        f->take(f->arg, &form);
        return;
    }
    if (depth > SCHEMA_DEPTH_MAX)
        schema_refuse(s, "anyOf", "alternatives are nested too deeply");
    const json_t *branches = choices->item;
    for (size_t i = 0; i < json_array_size(branches) && !s->build->is_bad; i++)
        expand(f, form, schema_push(s, NULL, json_array_get(branches, i), 0), choices->next,
               depth + 1);
}

void schema_forms(struct schema *s, struct schema_set set, schema_take *take, void *arg)
{
    struct forms f = { s, take, arg, 0 };
    struct schema_form form = {
        .types = TYPE_ALL,
        .n_digits_max = -1,
        .length_max = PROGRAM_MANY,
        .items_max = PROGRAM_MANY,
        .keys_max = PROGRAM_MANY,
    };
    struct schema_list *pending = NULL;
    for (uint32_t i = set.n; i-- > 0;)
        pending = schema_push(s, pending, set.nodes[i], 0);
    expand(&f, form, pending, NULL, 0);
}
