/* Objects: one automaton over the keys, whose tags tell which schema the value has. */
#include "grammar/schema.h"

#include "base/mem.h"
#include <string.h>

enum { KEY_PATTERNS_MAX = 24, OTHERS_MAX = 256, HASHED_MIN_MAX = 16 };

struct keys {
    struct schema *s;
    const struct schema_form *form;
    json_t *names; /* an object: name to index */
    uint32_t n_words, n_required;
    struct view *words;
    uint32_t n_patterns, n_names;
    const struct dfa *patterns[KEY_PATTERNS_MAX + 8]; /* then those of propertyNames */
    const json_t *pattern_of[KEY_PATTERNS_MAX];       /* the schema that has it */
    const json_t *pattern_value[KEY_PATTERNS_MAX];
    uint32_t n_others;
    uint32_t others[OTHERS_MAX]; /* sets of patterns that a key may match */
    bool has_too_many;
};

static void add_name(struct keys *k, const char *name)
{
    if (json_object_get(k->names, name) == NULL)
        json_object_set_new(k->names, name, json_integer(k->n_words++));
}

/* Lists the names: required ones first. */
static void find_names(struct keys *k)
{
    const struct schema_form *form = k->form;
    const char *name;
    json_t *value;
    size_t i;
    for (const struct schema_list *l = form->required; l != NULL; l = l->next)
        add_name(k, l->item);
    k->n_required = k->n_words;
    for (const struct schema_list *l = form->needs_of; l != NULL; l = l->next)
        add_name(k, l->item);
    for (const struct schema_list *l = form->needs; l != NULL; l = l->next)
        json_array_foreach((json_t *)(uintptr_t)l->item, i, value)
            if (json_is_string(value))
                add_name(k, json_string_value(value));
    for (const struct schema_list *l = form->objects; l != NULL; l = l->next)
        json_object_foreach(json_object_get(l->item, "properties"), name, value)
            add_name(k, name);
    k->words = pile_take(k->s->pile, sizeof(*k->words) * (k->n_words + 1));
    uint32_t n = 0;
    json_object_foreach(k->names, name, value)
        k->words[n++] = view_text(name);
}

static int32_t choose_any(const void *arg, const int32_t *tags, uint32_t n)
{
    (void)arg;
    for (uint32_t i = 0; i < n; i++)
        if (tags[i] >= 0)
            return 0;
    return -1;
}

/* ---- propertyNames. ---- */

struct name_dfas {
    struct schema *s;
    const struct dfa *dfas[16];
    uint32_t n;
    bool has_all;
};

static int32_t choose_both(const void *arg, const int32_t *tags, uint32_t n)
{
    (void)arg;
    return n == 2 && tags[0] >= 0 && tags[1] >= 0 ? 0 : -1;
}

static void take_name_form(void *arg, const struct schema_form *form)
{
    struct name_dfas *names = arg;
    struct schema *s = names->s;
    const uint32_t all[2] = { 0, DFA_LAST };
    if ((form->types & TYPE_STRING) == 0)
        return;
    struct dfa *dfa = NULL;
    if (form->has_values) {
        struct view words[64];
        uint32_t n = 0;
        for (const struct schema_list *v = form->values; v != NULL; v = v->next) {
            bool is_sure = true;
            struct schema_form others = *form;
            others.has_values = false;
            if (!json_is_string((const json_t *)v->item) ||
                !schema_holds(s, &others, v->item, &is_sure))
                continue;
            if (n == COUNT_OF(words) || !is_sure)
                schema_refuse(s, "propertyNames", "its enum is not supported");
            else
                words[n++] = view_text(json_string_value(v->item));
        }
        dfa = dfa_of_words(s->pile, words, n);
    } else {
        dfa = schema_strings(s, form);
        names->has_all |= dfa == NULL && form->length_min == 0 && form->length_max == PROGRAM_MANY;
        if (form->length_min > 0 || form->length_max != PROGRAM_MANY) {
            struct expr *any = expr_set(s->pile, dfa_set_of(s->pile, all, 1));
            const struct dfa *both[2] = {
                dfa != NULL ? dfa : s->build->all,
                form->length_min > 2000 ||
                        (form->length_max > 2000 && form->length_max != PROGRAM_MANY)
                    ? NULL
                    : expr_dfa(s->pile,
                               expr_repeat(s->pile, any, form->length_min, form->length_max), false)
            };
            dfa = both[1] != NULL ? dfa_product(s->pile, both, 2, choose_both, NULL) : NULL;
            if (dfa == NULL)
                schema_refuse(s, "propertyNames", "its lengths need too many states");
        }
    }
    if (names->n == COUNT_OF(names->dfas))
        schema_refuse(s, "propertyNames", "it has too many alternatives");
    else if (dfa != NULL)
        names->dfas[names->n++] = dfa;
}

static void find_key_schemas(struct keys *k)
{
    struct schema *s = k->s;
    for (const struct schema_list *l = k->form->names; l != NULL && !s->build->is_bad;
         l = l->next) {
        struct name_dfas names = { .s = s };
        schema_forms(s, schema_set_of(s, l->item), take_name_form, &names);
        if (names.has_all || s->build->is_bad)
            continue;
        const struct dfa *dfa = names.n == 0 ? dfa_of_words(s->pile, NULL, 0)
                                : names.n == 1
                                    ? names.dfas[0]
                                    : dfa_product(s->pile, names.dfas, names.n, choose_any, NULL);
        if (k->n_names == 8 || dfa == NULL)
            schema_refuse(s, "propertyNames", "too many of them are joined");
        else
            k->patterns[k->n_patterns + k->n_names++] = dfa;
    }
}

static void find_patterns(struct keys *k)
{
    struct schema *s = k->s;
    const char *pattern;
    json_t *value;
    for (const struct schema_list *l = k->form->objects; l != NULL; l = l->next) {
        json_object_foreach(json_object_get(l->item, "patternProperties"), pattern, value) {
            if (k->n_patterns == KEY_PATTERNS_MAX) {
                schema_refuse(s, "patternProperties", "too many patterns are joined");
                return;
            }
            const struct dfa *dfa = schema_pattern(s, pattern);
            if (dfa == NULL)
                return;
            k->pattern_of[k->n_patterns] = l->item;
            k->pattern_value[k->n_patterns] = value;
            k->patterns[k->n_patterns++] = dfa;
        }
    }
    find_key_schemas(k);
}

/* Returns the schemas of a value, by its key's name (NULL: another) and the patterns that match. */
static struct schema_set value_set(const struct keys *k, const char *name, uint32_t matched)
{
    struct schema_set set = { 0, NULL };
    for (const struct schema_list *l = k->form->objects; l != NULL; l = l->next) {
        const json_t *rest = json_object_get(l->item, "additionalProperties");
        const json_t *own =
            name != NULL ? json_object_get(json_object_get(l->item, "properties"), name) : NULL;
        bool is_matched = own != NULL;
        if (own != NULL)
            set = schema_set_add(k->s, set, own);
        for (uint32_t p = 0; p < k->n_patterns; p++) {
            if (k->pattern_of[p] != l->item || (matched >> p & 1) == 0)
                continue;
            set = schema_set_add(k->s, set, k->pattern_value[p]);
            is_matched = true;
        }
        if (!is_matched && rest != NULL)
            set = schema_set_add(k->s, set, rest);
    }
    return set;
}

/* Returns a key's tag: its word, or n_words and the place of its set of patterns. */
static int32_t choose_key(const void *arg, const int32_t *tags, uint32_t n)
{
    struct keys *k = (void *)(uintptr_t)arg;
    uint32_t matched = 0, i = 0;
    for (uint32_t p = 0; p < k->n_patterns; p++)
        matched |= (uint32_t)(tags[1 + p] >= 0) << p;
    for (uint32_t p = 1 + k->n_patterns; p < n; p++)
        if (tags[p] < 0)
            return -1;
    if (tags[0] >= 0)
        return tags[0];
    while (i < k->n_others && k->others[i] != matched)
        i++;
    if (i == OTHERS_MAX) {
        k->has_too_many = true;
        return -1;
    }
    if (i == k->n_others)
        k->others[k->n_others++] = matched;
    return (int32_t)(k->n_words + i);
}

/* Returns whether no other keys than the words are allowed. */
static bool is_closed(const struct keys *k)
{
    bool is_closed = false;
    for (const struct schema_list *l = k->form->objects; l != NULL; l = l->next)
        is_closed |= json_is_false(json_object_get(l->item, "additionalProperties"));
    return is_closed && k->n_patterns == 0 && k->n_names == 0;
}

static struct dfa *keys_dfa(struct keys *k)
{
    const struct dfa *dfas[1 + COUNT_OF(k->patterns)];
    struct pile *pile = k->s->pile;
    struct dfa *words = dfa_of_words(pile, k->words, k->n_words);
    if (words == NULL || is_closed(k))
        return words;
    dfas[0] = words;
    for (uint32_t i = 0; i < k->n_patterns + k->n_names; i++)
        dfas[1 + i] = k->patterns[i];
    return dfa_product(pile, dfas, 1 + k->n_patterns + k->n_names, choose_key, k);
}

/* ---- What a whole object needs. ---- */

static uint32_t tag_of(const struct keys *k, const char *name)
{
    return (uint32_t)json_integer_value(json_object_get(k->names, name));
}

static void find_needs(struct keys *k, struct program_object *object)
{
    struct schema *s = k->s;
    uint32_t n = 0;
    for (const struct schema_list *l = k->form->needs; l != NULL; l = l->next)
        n++;
    struct program_needs *needs = pile_take(s->pile, sizeof(*needs) * (n + 1));
    const struct schema_list *of = k->form->needs_of;
    for (const struct schema_list *l = k->form->needs; l != NULL; l = l->next, of = of->next) {
        struct program_needs *one = &needs[object->n_needs++];
        one->tag = tag_of(k, of->item);
        for (size_t i = 0; i < json_array_size(l->item); i++) {
            const char *name = json_string_value(json_array_get(l->item, i));
            uint32_t tag = name != NULL ? tag_of(k, name) : 0;
            if (name == NULL || tag >= object->n_tracked || one->tag >= object->n_tracked) {
                schema_refuse(s, "dependencies", "it has too many properties, or a wrong name");
                return;
            }
            one->others[tag / 64] |= UINT64_C(1) << tag % 64;
        }
    }
    object->needs = needs;
    if (object->n_needs > 0 && object->max != PROGRAM_MANY)
        schema_refuse(s, "maxProperties", "it is not supported beside dependencies");
}

/* Sets how keys are counted for minProperties. */
static void count_keys(struct keys *k, struct program_object *object)
{
    uint32_t limit = PROGRAM_TRACKED_MAX;
    if (object->min <= k->n_required)
        object->min = 0;
    if (object->min > 1 && !is_closed(k)) {
        object->counts_others = true;
        limit = 64;
        if (k->n_patterns + k->n_names > 0 || object->min > HASHED_MIN_MAX)
            schema_refuse(k->s, "minProperties",
                          "above 1 it is supported only up to 16, and without patterns of names");
    }
    if (is_closed(k) && object->min > k->n_words)
        object->max = 0; /* there is no such object */
    object->n_tracked = k->n_words < limit ? k->n_words : limit;
    if (k->n_required > limit)
        schema_refuse(k->s, "required", "it names more than 128 properties");
    if (object->min > 1 && k->n_words > limit)
        schema_refuse(k->s, "minProperties", "it stands beside too many properties");
}

uint32_t schema_object_node(struct schema *s, const struct schema_form *form, uint32_t next)
{
    struct keys *k = mem_take(sizeof(*k));
    struct program_object object = { .min = form->keys_min, .max = form->keys_max };
    uint32_t first = 0, n = 0;
    k->s = s;
    k->form = form;
    k->names = json_object();
    mem_need(k->names != NULL);
    find_names(k);
    find_patterns(k);
    count_keys(k, &object);
    if (!s->build->is_bad)
        object.keys = keys_dfa(k);
    if (k->has_too_many)
        schema_refuse(s, "patternProperties", "keys match too many sets of patterns");
    object.n_tags = k->n_words + k->n_others;
    object.rules = pile_take(s->pile, sizeof(*object.rules) * (object.n_tags + 1));
    for (const char *name = NULL; n < k->n_words && !s->build->is_bad; n++) {
        uint32_t matched = 0;
        name = k->words[n].at;
        for (uint32_t p = 0; p < k->n_patterns; p++)
            matched |= (uint32_t)(dfa_match(k->patterns[p], k->words[n]) >= 0) << p;
        object.rules[n] = schema_rule(s, value_set(k, name, matched));
        if (n < k->n_required && object.keys != NULL && dfa_match(object.keys, k->words[n]) < 0) {
            object.min = 1; /* it can't be there, so there is no such object */
            object.max = 0;
        }
        if (n < k->n_required)
            object.required[n / 64] |= UINT64_C(1) << n % 64;
    }
    for (uint32_t i = 0; i < k->n_others && !s->build->is_bad; i++)
        object.rules[k->n_words + i] = schema_rule(s, value_set(k, NULL, k->others[i]));
    if (!s->build->is_bad)
        find_needs(k, &object);
    if (!s->build->is_bad)
        first = build_object(s->build, object, next);
    json_decref(k->names);
    mem_give(k);
    return first;
}
