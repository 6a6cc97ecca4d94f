/* Negation, disjointness, and whether a given value satisfies a form. */
#include "grammar/schema.h"

#include <math.h>
#include <string.h>

enum { MADE_NOT = 3, NOT_DEPTH_MAX = 12, FORMS_MAX = 64, HOLDS_DEPTH_MAX = 32 };

/* ---- Negation: for each keyword, what fails it. ---- */

/* Returns the types beside those of a keyword. */
static json_t *not_type(const json_t *value)
{
    static const char *const names[] = { "null", "boolean", "string", "array", "object" };
    json_t *types = json_array();
    bool has_number = false, has_integer = false;
    for (size_t i = 0; i < 1 + json_array_size(value); i++) {
        const json_t *one = json_is_array(value) ? json_array_get(value, i) : value;
        const char *name = json_string_value(one);
        has_number |= name != NULL && strcmp(name, "number") == 0;
        has_integer |= name != NULL && strcmp(name, "integer") == 0;
    }
    for (size_t k = 0; k < COUNT_OF(names); k++) {
        bool is_there = json_is_string(value) && strcmp(json_string_value(value), names[k]) == 0;
        for (size_t i = 0; i < json_array_size(value); i++) {
            const char *name = json_string_value(json_array_get(value, i));
            is_there |= name != NULL && strcmp(name, names[k]) == 0;
        }
        if (!is_there)
            json_array_append_new(types, json_string(names[k]));
    }
    if (!has_number && !has_integer)
        json_array_append_new(types, json_string("number"));
    if (json_array_size(types) == 0) {
        json_decref(types);
        return json_false();
    }
    json_t *out = json_pack("{so}", "type", types);
    if (has_integer && !has_number) { /* fractions are left out: they can't be written alone */
        json_decref(out);
        return NULL;
    }
    return out;
}

/* Returns alternatives: each property fails its schema. */
static json_t *not_properties(struct schema *s, const json_t *value, int depth)
{
    json_t *any = json_array(), *schema;
    const char *key;
    json_object_foreach((json_t *)(uintptr_t)value, key, schema) {
        const json_t *other = schema_not(s, schema, depth + 1);
        if (other == NULL) {
            json_decref(any);
            return NULL;
        }
        json_array_append_new(any, json_pack("{ss s{sO} s[s]}", "type", "object", "properties", key,
                                             other, "required", key));
    }
    return json_pack("{so}", "anyOf", any);
}

static json_t *not_required(const json_t *value)
{
    json_t *any = json_array(), *name;
    size_t i;
    json_array_foreach((json_t *)(uintptr_t)value, i, name)
        json_array_append_new(any, json_pack("{ss s{sb}}", "type", "object", "properties",
                                             json_string_value(name), 0));
    return json_pack("{so}", "anyOf", any);
}

static json_t *not_each(struct schema *s, const json_t *schemas, const char *keyword, int depth)
{
    json_t *all = json_array(), *schema;
    size_t i;
    json_array_foreach((json_t *)(uintptr_t)schemas, i, schema) {
        const json_t *other = schema_not(s, schema, depth + 1);
        if (other == NULL) {
            json_decref(all);
            return NULL;
        }
        json_array_append(all, (json_t *)(uintptr_t)other);
    }
    return json_pack("{so}", keyword, all);
}

/* Returns what fails a count, by the opposite keyword. */
static json_t *not_count(const char *keyword, const json_t *value)
{
    static const struct {
        const char *keyword, *type, *other;
        int more;
    } counts[] = {
        { "minLength", "string", "maxLength", -1 },
        { "maxLength", "string", "minLength", 1 },
        { "minItems", "array", "maxItems", -1 },
        { "maxItems", "array", "minItems", 1 },
        { "minProperties", "object", "maxProperties", -1 },
        { "maxProperties", "object", "minProperties", 1 },
    };
    for (size_t i = 0; i < COUNT_OF(counts); i++) {
        if (strcmp(keyword, counts[i].keyword) != 0 || !json_is_integer(value))
            continue;
        long long count = json_integer_value(value) + counts[i].more;
        return count < 0 ? json_false()
                         : json_pack("{ss sI}", "type", counts[i].type, counts[i].other, count);
    }
    return NULL;
}

/* Returns what fails one keyword; NULL: that can't be written. */
static json_t *not_keyword(struct schema *s, const json_t *node, const char *keyword, int depth)
{
    const json_t *value = json_object_get(node, keyword);
    if (strcmp(keyword, "type") == 0)
        return not_type(value);
    if (strcmp(keyword, "required") == 0)
        return not_required(value);
    if (strcmp(keyword, "properties") == 0)
        return not_properties(s, value, depth);
    if (strcmp(keyword, "anyOf") == 0)
        return not_each(s, value, "allOf", depth);
    if (strcmp(keyword, "allOf") == 0)
        return not_each(s, value, "anyOf", depth);
    if (strcmp(keyword, "not") == 0)
        return json_incref((json_t *)(uintptr_t)value);
    if (strcmp(keyword, "enum") == 0)
        return json_pack("{sO}", "\x01not enum", value);
    if (strcmp(keyword, "const") == 0)
        return json_pack("{s[O]}", "\x01not enum", value);
    if (strcmp(keyword, "pattern") == 0)
        return json_pack("{ss sO}", "type", "string", "\x01not pattern", value);
    if (strcmp(keyword, "minimum") == 0 && s->draft != 4)
        return json_pack("{ss sO}", "type", "number", "exclusiveMaximum", value);
    if (strcmp(keyword, "maximum") == 0 && s->draft != 4)
        return json_pack("{ss sO}", "type", "number", "exclusiveMinimum", value);
    return not_count(keyword, value);
}

static bool is_comment(const char *keyword)
{
    static const char *const comments[] = {
        "title",      "description", "default",   "examples", "$comment",
        "deprecated", "readOnly",    "$id",       "id",       "$schema",
        "$defs",      "definitions", "writeOnly", "example",  "$anchor",
    };
    for (size_t i = 0; i < COUNT_OF(comments); i++)
        if (strcmp(keyword, comments[i]) == 0)
            return true;
    return false;
}

const json_t *schema_not(struct schema *s, const json_t *node, int depth)
{
    const char *keyword, *ref = json_string_value(json_object_get(node, "$ref"));
    json_t *value, *any;
    const json_t *before = schema_made(s, node, MADE_NOT);
    if (before != NULL || depth > NOT_DEPTH_MAX)
        return before;
    if (json_is_boolean(node))
        return json_is_true(node) ? json_false() : json_true();
    if (ref != NULL) {
        const json_t *target = schema_refs_find(s, node, ref);
        if (target == NULL || (s->draft == 2020 && json_object_size(node) > 1))
            return NULL;
        return schema_not(s, target, depth + 1);
    }
    any = json_array();
    json_object_foreach((json_t *)(uintptr_t)node, keyword, value) {
        if (is_comment(keyword))
            continue;
        json_t *other = not_keyword(s, node, keyword, depth);
        if (other == NULL) {
            json_decref(any);
            return NULL;
        }
        json_array_append_new(any, other);
    }
    return schema_make(s, node, MADE_NOT, json_pack("{so}", "anyOf", any));
}

/* ---- Whether a value satisfies a form. ---- */

static bool same_value(const json_t *a, const json_t *b)
{
    if (json_is_number(a) && json_is_number(b))
        return json_number_value(a) == json_number_value(b);
    return json_equal((json_t *)(uintptr_t)a, (json_t *)(uintptr_t)b) == 1;
}

static bool number_holds(const struct schema_form *form, double value)
{
    const struct schema_bounds *b = &form->bounds;
    if (b->has_low && (value < b->low || (value == b->low && b->excludes_low)))
        return false;
    if (b->has_high && (value > b->high || (value == b->high && b->excludes_high)))
        return false;
    if (form->divisor > 1 && fmod(value, form->divisor) != 0)
        return false;
    return (form->types & (value == floor(value) ? TYPE_INTEGER : TYPE_FRACTION)) != 0;
}

static bool string_holds(const struct schema_form *form, const json_t *value)
{
    struct view text = view_of(json_string_value(value), json_string_length(value)), rest = text;
    uint32_t n = 0;
    for (int k; rest.n > 0 && (k = utf8_decode(rest, NULL)) > 0; n++)
        rest = view_of(rest.at + k, rest.n - (size_t)k);
    for (const struct schema_list *p = form->patterns; p != NULL; p = p->next)
        if ((dfa_match(p->item, text) >= 0) == (p->flag == 1))
            return false;
    return n >= form->length_min && n <= form->length_max;
}

bool schema_holds(struct schema *s, const struct schema_form *form, const json_t *value,
                  bool *is_sure)
{
    static const uint32_t types[] = {
        [JSON_OBJECT] = TYPE_OBJECT,   [JSON_ARRAY] = TYPE_ARRAY, [JSON_STRING] = TYPE_STRING,
        [JSON_INTEGER] = TYPE_INTEGER, [JSON_REAL] = TYPE_NUMBER, [JSON_TRUE] = TYPE_BOOLEAN,
        [JSON_FALSE] = TYPE_BOOLEAN,   [JSON_NULL] = TYPE_NULL,
    };
    bool is_found = !form->has_values;
    (void)s;
    if ((form->types & types[json_typeof(value)]) == 0)
        return false;
    for (const struct schema_list *v = form->values; v != NULL && !is_found; v = v->next)
        is_found = same_value(v->item, value);
    for (const struct schema_list *v = form->not_values; v != NULL; v = v->next)
        if (same_value(v->item, value))
            return false;
    if (!is_found)
        return false;
    if (json_is_number(value))
        return number_holds(form, json_number_value(value));
    if (json_is_string(value))
        return string_holds(form, value);
    if (json_is_object(value) || json_is_array(value)) {
        bool is_plain = form->arrays == NULL && form->objects == NULL && form->required == NULL &&
                        form->needs == NULL && form->names == NULL && !form->is_unique &&
                        form->items_min == 0 && form->items_max == PROGRAM_MANY &&
                        form->keys_min == 0 && form->keys_max == PROGRAM_MANY;
        *is_sure &= is_plain;
    }
    return true;
}

/* ---- Disjointness. ---- */

struct form_list {
    struct schema_form forms[FORMS_MAX];
    uint32_t n;
    bool is_whole;
};

static void take_form(void *arg, const struct schema_form *form)
{
    struct form_list *list = arg;
    if (list->n < FORMS_MAX)
        list->forms[list->n++] = *form;
    else
        list->is_whole = false;
}

static bool sets_are_disjoint(struct schema *s, struct schema_set a, struct schema_set b,
                              int depth);

/* Returns the schemas that a form has for a property. */
static struct schema_set property_set(struct schema *s, const struct schema_form *form,
                                      const char *name)
{
    struct schema_set set = { 0, NULL };
    for (const struct schema_list *l = form->objects; l != NULL; l = l->next) {
        const json_t *own = json_object_get(json_object_get(l->item, "properties"), name);
        const json_t *rest = json_object_get(l->item, "additionalProperties");
        if (own == NULL && json_object_get(l->item, "patternProperties") == NULL)
            own = rest;
        if (own != NULL)
            set = schema_set_add(s, set, own);
    }
    return set;
}

/* A property that one of them requires has disjoint schemas in the two. */
static bool objects_are_disjoint(struct schema *s, const struct schema_form *a,
                                 const struct schema_form *b, int depth)
{
    const struct schema_form *forms[2] = { a, b };
    for (int i = 0; i < 2; i++) {
        for (const struct schema_list *l = forms[i]->required; l != NULL; l = l->next) {
            struct schema_set x = property_set(s, a, l->item), y = property_set(s, b, l->item);
            if (sets_are_disjoint(s, x, y, depth + 1))
                return true;
        }
    }
    return a->keys_min > b->keys_max || b->keys_min > a->keys_max;
}

static bool numbers_are_disjoint(const struct schema_form *a, const struct schema_form *b)
{
    const struct schema_bounds *x = &a->bounds, *y = &b->bounds;
    bool is_above =
        x->has_low && y->has_high &&
        (x->low > y->high || (x->low == y->high && (x->excludes_low || y->excludes_high)));
    bool is_below =
        y->has_low && x->has_high &&
        (y->low > x->high || (y->low == x->high && (y->excludes_low || x->excludes_high)));
    return is_above || is_below;
}

static int32_t choose_both(const void *arg, const int32_t *tags, uint32_t n)
{
    (void)arg;
    for (uint32_t i = 0; i < n; i++)
        if (tags[i] < 0)
            return -1;
    return 0;
}

static bool strings_are_disjoint(struct schema *s, const struct schema_form *a,
                                 const struct schema_form *b)
{
    if (a->length_min > b->length_max || b->length_min > a->length_max)
        return true;
    const struct dfa *dfas[2] = { schema_strings(s, a), schema_strings(s, b) };
    if (s->build->is_bad || dfas[0] == NULL || dfas[1] == NULL)
        return false;
    struct dfa *both = dfa_product(s->pile, dfas, 2, choose_both, NULL);
    return both != NULL && both->n_states == 0;
}

static bool values_are_disjoint(struct schema *s, const struct schema_form *a,
                                const struct schema_form *b)
{
    const struct schema_form *listed = a->has_values ? a : b, *other = a->has_values ? b : a;
    for (const struct schema_list *v = listed->values; v != NULL; v = v->next) {
        bool is_sure = true;
        if (schema_holds(s, listed, v->item, &is_sure) && schema_holds(s, other, v->item, &is_sure))
            return false;
    }
    return true;
}

static bool forms_are_disjoint(struct schema *s, const struct schema_form *a,
                               const struct schema_form *b, int depth)
{
    uint32_t types = a->types & b->types;
    if (a->has_values || b->has_values)
        return values_are_disjoint(s, a, b);
    if ((types & (TYPE_NULL | TYPE_BOOLEAN)) != 0)
        return false;
    if ((types & TYPE_ARRAY) != 0 && a->items_min <= b->items_max && b->items_min <= a->items_max)
        return false;
    if ((types & TYPE_NUMBER) != 0 && !numbers_are_disjoint(a, b))
        return false;
    if ((types & TYPE_STRING) != 0 && !strings_are_disjoint(s, a, b))
        return false;
    return (types & TYPE_OBJECT) == 0 || objects_are_disjoint(s, a, b, depth);
}

static bool sets_are_disjoint(struct schema *s, struct schema_set a, struct schema_set b, int depth)
{
    if (depth > 4 || s->build->is_bad)
        return false;
    struct form_list *x = pile_take(s->pile, sizeof(*x)), *y = pile_take(s->pile, sizeof(*y));
    x->is_whole = y->is_whole = true;
    schema_forms(s, a, take_form, x);
    schema_forms(s, b, take_form, y);
    bool is_disjoint = x->is_whole && y->is_whole && !s->build->is_bad;
    for (uint32_t i = 0; i < x->n && is_disjoint; i++)
        for (uint32_t j = 0; j < y->n && is_disjoint; j++)
            is_disjoint = forms_are_disjoint(s, &x->forms[i], &y->forms[j], depth);
    return is_disjoint;
}

bool schema_is_disjoint(struct schema *s, const json_t *a, const json_t *b)
{
    return sets_are_disjoint(s, schema_set_of(s, a), schema_set_of(s, b), 0);
}
