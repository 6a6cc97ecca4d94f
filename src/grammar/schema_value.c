/* The nodes of a form: its values, or one alternative for each of its types. */
#include "grammar/number.h"
#include "grammar/pattern.h"
#include "grammar/schema.h"

#include "base/hash.h"
#include "base/mem.h"
#include <math.h>
#include <string.h>

#define INTEGER    "-?(0|[1-9][0-9]*)"
#define FREE_WHOLE INTEGER "(\\.0)?"
#define FREE       INTEGER "(\\.[0-9]+)?([eE][+-]?[0-9]+)?"

enum { PATTERNS_MAX = 512, LENGTH_STATES_MAX = 4000 };

/* ---- Strings. ---- */

/* Returns the automaton of a pattern. Each is made once. */
static struct dfa *pattern_once(struct schema *s, const char *pattern, bool is_whole)
{
    uint64_t key = hash_fast(pattern, strlen(pattern), is_whole).low;
    uint32_t known = map_find(&s->patterns, key);
    struct fault fault;
    struct dfa *dfa;
    if (known != MAP_NONE)
        return s->pattern_dfas[known];
    if (pattern_dfa(s->pile, view_text(pattern), is_whole, &dfa, &fault) != STATUS_OK) {
        build_refuse(s->build, STATUS_UNSUPPORTED, "JSON Schema: pattern: %s", fault.text);
        return NULL;
    }
    if (s->n_patterns < PATTERNS_MAX && map_put(&s->patterns, key, s->n_patterns))
        s->pattern_dfas[s->n_patterns++] = dfa;
    return dfa;
}

struct dfa *schema_pattern(struct schema *s, const char *pattern)
{
    return pattern_once(s, pattern, false);
}

struct dfa *schema_whole(struct schema *s, const char *pattern)
{
    return pattern_once(s, pattern, true);
}

/* The first n_match automata must match, the others must not. */
static int32_t choose_all(const void *arg, const int32_t *tags, uint32_t n)
{
    uint32_t n_match = *(const uint32_t *)arg;
    for (uint32_t i = 0; i < n; i++)
        if ((tags[i] >= 0) != (i < n_match))
            return -1;
    return 0;
}

static struct dfa *words_of(struct schema *s, const struct schema_list *values)
{
    uint32_t n = 0, k = 0;
    for (const struct schema_list *v = values; v != NULL; v = v->next)
        n += json_is_string((const json_t *)v->item);
    struct view *words = pile_take(s->pile, sizeof(*words) * (n + 1));
    for (const struct schema_list *v = values; v != NULL; v = v->next)
        if (json_is_string((const json_t *)v->item))
            words[k++] = view_of(json_string_value(v->item), json_string_length(v->item));
    struct dfa *dfa = n > 0 ? dfa_of_words(s->pile, words, n) : NULL;
    if (n > 0 && dfa == NULL)
        schema_refuse(s, "enum", "its strings need too many states");
    return dfa;
}

/* Texts of at least n code points. */
static struct dfa *length_dfa(struct schema *s, uint32_t min, uint32_t max)
{
    const uint32_t all[2] = { 0, DFA_LAST };
    struct expr *any = expr_set(s->pile, dfa_set_of(s->pile, all, 1));
    if (min > LENGTH_STATES_MAX || (max != PROGRAM_MANY && max > LENGTH_STATES_MAX))
        return NULL;
    return expr_dfa(s->pile, expr_repeat(s->pile, any, min, max), false);
}

struct dfa *schema_strings(struct schema *s, const struct schema_form *form)
{
    const struct dfa *dfas[66];
    uint32_t n = 0, n_match;
    for (const struct schema_list *p = form->patterns; p != NULL && n < 60; p = p->next)
        if (p->flag == 0)
            dfas[n++] = p->item;
    if (n > 0 && form->length_min > dfas[0]->least[0] && n < 60) {
        dfas[n] = length_dfa(s, form->length_min, PROGRAM_MANY);
        if (dfas[n++] == NULL) {
            schema_refuse(s, "minLength", "it is too large beside a pattern");
            return NULL;
        }
    }
    n_match = n;
    for (const struct schema_list *p = form->patterns; p != NULL && n < 60; p = p->next)
        if (p->flag == 1)
            dfas[n++] = p->item;
    const struct dfa *words = words_of(s, form->not_values);
    if (words != NULL)
        dfas[n++] = words;
    if (n >= 60)
        schema_refuse(s, "pattern", "too many patterns are joined");
    if (n == 0 || s->build->is_bad)
        return NULL;
    if (n == 1 && n_match == 1)
        return (struct dfa *)(uintptr_t)dfas[0];
    struct dfa *both = dfa_product(s->pile, dfas, n, choose_all, &n_match);
    if (both == NULL)
        schema_refuse(s, "pattern", "the joined patterns need too many states");
    return both;
}

static uint32_t string_node(struct schema *s, const struct schema_form *form, uint32_t next)
{
    struct program_text text = { schema_strings(s, form), form->length_min, form->length_max };
    if (s->build->is_bad)
        return 0;
    if (text.dfa != NULL)
        text.min = 0;
    else
        text.dfa = s->build->all;
    return build_text(s->build, text, next);
}

/* ---- Numbers. ---- */

static int32_t choose_first(const void *arg, const int32_t *tags, uint32_t n)
{
    (void)arg;
    for (uint32_t i = 1; i < n; i++)
        if (tags[i] >= 0)
            return -1;
    return tags[0];
}

static uint32_t number_node(struct schema *s, const struct schema_form *form, uint32_t next)
{
    const struct schema_bounds *b = &form->bounds;
    const struct dfa *dfas[34];
    uint32_t n = 1;
    bool is_integer = (form->types & TYPE_FRACTION) == 0;
    struct number_options options = {
        .low = { b->has_low, b->excludes_low, b->low },
        .high = { b->has_high, b->excludes_high, b->high },
        .is_integer = is_integer,
        .allows_zero = s->draft != 4,
        .divisor = form->divisor,
        .n_digits_max = form->n_digits_max,
    };
    for (const struct schema_list *v = form->not_values; v != NULL; v = v->next) {
        if (!json_is_number((const json_t *)v->item))
            continue;
        double value = json_number_value(v->item);
        const struct number_options one = {
            { true, false, value }, { true, false, value }, false, true, 0, -1
        };
        if (n < COUNT_OF(dfas))
            dfas[n] = number_dfa(s->pile, &one);
        n++;
    }
    bool is_free =
        !b->has_low && !b->has_high && n == 1 && form->divisor <= 1 && form->n_digits_max < 0;
    if (n > COUNT_OF(dfas))
        schema_refuse(s, "not", "it excludes too many numbers");
    if (!is_integer && (form->types & TYPE_INTEGER) == 0)
        schema_refuse(s, "not", "numbers without integers are not supported");
    if (s->build->is_bad)
        return 0;
    if (is_free)
        return build_raw(s->build,
                         pattern_once(s,
                                      !is_integer     ? FREE
                                      : s->draft == 4 ? INTEGER
                                                      : FREE_WHOLE,
                                      true),
                         next);
    struct dfa *dfa = number_dfa(s->pile, &options);
    dfas[0] = dfa;
    if (n > 1 && dfa != NULL)
        dfa = dfa_product(s->pile, dfas, n, choose_first, NULL);
    return build_raw(s->build, dfa, next);
}

/* ---- Arrays. ---- */

/* Sets the schema of item k, and whether all later items have the same. */
static struct schema_set item_set(struct schema *s, const struct schema_form *form, size_t k)
{
    struct schema_set set = { 0, NULL };
    for (const struct schema_list *a = form->arrays; a != NULL; a = a->next) {
        const json_t *first = json_object_get(a->item, "prefixItems");
        const json_t *rest = json_object_get(a->item, "items");
        if (s->draft != 2020 && first != NULL)
            first = NULL;
        if (json_is_array(rest)) {
            first = rest;
            rest = json_object_get(a->item, "additionalItems");
        }
        if (k < json_array_size(first))
            set = schema_set_add(s, set, json_array_get(first, k));
        else if (rest != NULL)
            set = schema_set_add(s, set, rest);
    }
    return set;
}

static size_t first_items(const struct schema *s, const struct schema_form *form)
{
    size_t n = 0;
    for (const struct schema_list *a = form->arrays; a != NULL; a = a->next) {
        const json_t *rest = json_object_get(a->item, "items");
        const json_t *first = json_is_array(rest) ? rest
                              : s->draft == 2020  ? json_object_get(a->item, "prefixItems")
                                                  : NULL;
        n = json_array_size(first) > n ? json_array_size(first) : n;
    }
    return n;
}

static uint32_t array_node(struct schema *s, const struct schema_form *form, uint32_t next)
{
    struct program_array array = { .min = form->items_min, .max = form->items_max };
    size_t n = first_items(s, form);
    if (form->is_unique && form->items_max > 1) {
        schema_refuse(s, "uniqueItems", "it is supported only where maxItems is at most 1");
        return 0;
    }
    array.n_first = (uint32_t)n;
    array.firsts = pile_take(s->pile, sizeof(*array.firsts) * (n + 1));
    for (size_t k = 0; k < n && !s->build->is_bad; k++)
        array.firsts[k] = schema_rule(s, item_set(s, form, k));
    array.rest = schema_rule(s, item_set(s, form, SIZE_MAX));
    return build_array(s->build, array, next);
}

/* ---- Values. ---- */

/* Returns a schema of exactly this array or object. */
static const json_t *schema_of_value(struct schema *s, json_t *value)
{
    json_t *parts = json_is_array(value) ? json_array() : json_object(), *part, *out;
    json_t *names = json_array();
    const char *key, *same = s->draft == 4 ? "enum" : "const";
    size_t i;
    json_array_foreach(value, i, part)
        json_array_append_new(parts, s->draft == 4 ? json_pack("{s[O]}", same, part)
                                                   : json_pack("{sO}", same, part));
    json_object_foreach(value, key, part) {
        json_object_set_new(parts, key,
                            s->draft == 4 ? json_pack("{s[O]}", same, part)
                                          : json_pack("{sO}", same, part));
        json_array_append_new(names, json_string(key));
    }
    long long n = (long long)json_array_size(value);
    if (json_is_array(value))
        out =
            json_pack("{ss sO sI sI}", "type", "array", s->draft == 2020 ? "prefixItems" : "items",
                      parts, "minItems", n, "maxItems", n);
    else
        out = json_pack("{ss sO sO sb}", "type", "object", "properties", parts, "required", names,
                        "additionalProperties", 0);
    mem_need(out != NULL);
    json_decref(parts);
    json_decref(names);
    json_array_append_new(s->made, out);
    return out;
}

/* Lists how a number may be written. */
static uint32_t number_words(struct schema *s, const json_t *value, struct view *words)
{
    char *text = pile_take(s->pile, 48), *with_zero = pile_take(s->pile, 48);
    double real = json_number_value(value);
    if (json_is_integer(value))
        (void)snprintf(text, 48, "%lld", (long long)json_integer_value(value));
    else if (real == floor(real) && fabs(real) < 1e16)
        (void)snprintf(text, 48, "%.0f", real);
    else
        number_print(real, text);
    words[0] = view_text(text);
    if (strpbrk(text, ".e") != NULL)
        return 1;
    (void)snprintf(with_zero, 48, "%s.0", text);
    words[1] = view_text(with_zero);
    return 2;
}

struct value_nodes {
    uint32_t firsts[3 + 2 + SCHEMA_LISTED_MAX], n;
    uint32_t n_words;
    struct view words[2 * SCHEMA_LISTED_MAX];
    struct schema_list *strings;
};

static void add_value(struct schema *s, struct value_nodes *v, json_t *value, uint32_t next)
{
    static const struct {
        json_type type;
        const char *text;
    } literals[] = { { JSON_NULL, "null" }, { JSON_TRUE, "true" }, { JSON_FALSE, "false" } };
    for (size_t i = 0; i < COUNT_OF(literals); i++)
        if (json_typeof(value) == literals[i].type)
            v->firsts[v->n++] = build_literal(s->build, view_text(literals[i].text), next);
    if (json_is_string(value))
        v->strings = schema_push(s, v->strings, value, 0);
    else if (json_is_number(value))
        v->n_words += number_words(s, value, v->words + v->n_words);
    else if (json_is_array(value) || json_is_object(value))
        v->firsts[v->n++] =
            build_call(s->build, schema_rule(s, schema_set_of(s, schema_of_value(s, value))), next);
}

static uint32_t values_node(struct schema *s, const struct schema_form *form, uint32_t next)
{
    struct value_nodes *v = mem_take(sizeof(*v));
    struct schema_form others = *form;
    uint32_t n = 0, first = 0;
    others.has_values = false;
    for (const struct schema_list *l = form->values; l != NULL && !s->build->is_bad; l = l->next) {
        bool is_sure = true, holds = schema_holds(s, &others, l->item, &is_sure);
        if (!is_sure)
            schema_refuse(s, "enum", "it stands beside keywords that can't be checked for it");
        if (++n > SCHEMA_LISTED_MAX)
            schema_refuse(s, "enum", "it has too many values");
        if (holds && !s->build->is_bad)
            add_value(s, v, (json_t *)(uintptr_t)l->item, next);
    }
    if (v->strings != NULL && !s->build->is_bad) {
        const struct program_text text = { words_of(s, v->strings), 0, PROGRAM_MANY };
        v->firsts[v->n++] = build_text(s->build, text, next);
    }
    if (v->n_words > 0 && !s->build->is_bad)
        v->firsts[v->n++] = build_raw(s->build, dfa_of_words(s->pile, v->words, v->n_words), next);
    if (!s->build->is_bad)
        first = build_either(s->build, v->firsts, v->n);
    mem_give(v);
    return first;
}

/* Returns whether a value without parts is excluded. */
static bool is_excluded(const struct schema_form *form, json_type type)
{
    for (const struct schema_list *v = form->not_values; v != NULL; v = v->next)
        if (json_typeof((const json_t *)v->item) == type)
            return true;
    return false;
}

uint32_t schema_form_node(struct schema *s, const struct schema_form *form, uint32_t next)
{
    static const struct {
        uint32_t type;
        json_type value;
        const char *text;
    } literals[] = { { TYPE_NULL, JSON_NULL, "null" },
                     { TYPE_BOOLEAN, JSON_TRUE, "true" },
                     { TYPE_BOOLEAN, JSON_FALSE, "false" } };
    uint32_t firsts[8], n = 0;
    if (form->has_values)
        return values_node(s, form, next);
    if ((is_excluded(form, JSON_OBJECT) && (form->types & TYPE_OBJECT) != 0) ||
        (is_excluded(form, JSON_ARRAY) && (form->types & TYPE_ARRAY) != 0))
        schema_refuse(s, "not", "it excludes an array or object");
    for (size_t i = 0; i < COUNT_OF(literals); i++)
        if ((form->types & literals[i].type) != 0 && !is_excluded(form, literals[i].value))
            firsts[n++] = build_literal(s->build, view_text(literals[i].text), next);
    if ((form->types & TYPE_NUMBER) != 0)
        firsts[n++] = number_node(s, form, next);
    if ((form->types & TYPE_STRING) != 0)
        firsts[n++] = string_node(s, form, next);
    if ((form->types & TYPE_ARRAY) != 0)
        firsts[n++] = array_node(s, form, next);
    if ((form->types & TYPE_OBJECT) != 0)
        firsts[n++] = schema_object_node(s, form, next);
    return build_either(s->build, firsts, n);
}
