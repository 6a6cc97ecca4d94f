/* A schema's rules: sets of schemas, each built once. */
#include "grammar/schema.h"

#include "base/hash.h"
#include "base/mem.h"
#include <stdlib.h>
#include <string.h>

void schema_refuse(struct schema *s, const char *keyword, const char *why)
{
    build_refuse(s->build, STATUS_UNSUPPORTED, "JSON Schema: %.60s: %.150s", keyword, why);
}

struct schema_list *schema_push(struct schema *s, struct schema_list *list, const void *item,
                                uint32_t flag)
{
    struct schema_list *first = pile_take(s->pile, sizeof(*first));
    *first = (struct schema_list){ item, flag, list };
    return first;
}

static uint64_t made_key(const json_t *node, int kind)
{
    return (uint64_t)(uintptr_t)node * 8 + (uint64_t)kind;
}

const json_t *schema_made(const struct schema *s, const json_t *node, int kind)
{
    uint32_t known = map_find(&s->made_of, made_key(node, kind));
    return known != MAP_NONE ? json_array_get(s->made, known) : NULL;
}

const json_t *schema_make(struct schema *s, const json_t *node, int kind, json_t *made)
{
    mem_need(made != NULL);
    if (!map_put(&s->made_of, made_key(node, kind), (uint32_t)json_array_size(s->made)))
        build_refuse(s->build, STATUS_TOO_LARGE,
                     "JSON Schema: its negations and choices take too many steps");
    json_array_append_new(s->made, made);
    return made;
}

/* ---- Sets. ---- */

struct schema_set schema_set_add(struct schema *s, struct schema_set set, const json_t *node)
{
    uint32_t at = 0;
    while (at < set.n && (uintptr_t)set.nodes[at] < (uintptr_t)node)
        at++;
    if (at < set.n && set.nodes[at] == node)
        return set;
    const json_t **nodes = pile_take(s->pile, sizeof(const json_t *) * (set.n + 1));
    for (uint32_t i = 0; i < set.n; i++)
        nodes[i + (i >= at)] = set.nodes[i];
    nodes[at] = node;
    return (struct schema_set){ set.n + 1, nodes };
}

struct schema_set schema_set_of(struct schema *s, const json_t *node)
{
    return schema_set_add(s, (struct schema_set){ 0, NULL }, node);
}

uint32_t schema_rule(struct schema *s, struct schema_set set)
{
    size_t n_bytes = sizeof(const json_t *) * set.n;
    uint64_t hash = hash_fast(set.n > 0 ? (const void *)set.nodes : "", n_bytes, 1).low;
    uint32_t known = map_find(&s->rule_of, hash);
    if (known != MAP_NONE)
        return s->rules[known].rule;
    if (s->n_rules == SCHEMA_RULES_MAX) {
        build_refuse(s->build, STATUS_TOO_LARGE, "JSON Schema: it needs more than %d rules",
                     SCHEMA_RULES_MAX);
        return 0;
    }
    if (s->n_rules == s->n_rules_max) {
        uint32_t more = s->n_rules_max * 2 + 64;
        s->rules = mem_grow(s->rules, sizeof(*s->rules) * s->n_rules_max, sizeof(*s->rules) * more);
        s->n_rules_max = more;
    }
    s->rules[s->n_rules] = (struct schema_rule){ set, build_rule(s->build) };
    CHECK(map_put(&s->rule_of, hash, s->n_rules));
    return s->rules[s->n_rules++].rule;
}

struct firsts {
    struct schema *schema;
    uint32_t *firsts, n, n_max;
};

static void take_form(void *arg, const struct schema_form *form)
{
    struct firsts *f = arg;
    if (f->n == f->n_max) {
        uint32_t more = f->n_max * 2 + 16;
        f->firsts = mem_grow(f->firsts, 4 * (size_t)f->n_max, 4 * (size_t)more);
        f->n_max = more;
    }
    if (f->n == SCHEMA_FORMS_MAX)
        build_refuse(f->schema->build, STATUS_TOO_LARGE,
                     "JSON Schema: one of its schemas has more than %d alternatives",
                     SCHEMA_FORMS_MAX);
    else
        f->firsts[f->n++] = schema_form_node(f->schema, form, f->schema->build->return_node);
}

static void build_rules(struct schema *s)
{
    struct firsts f = { .schema = s };
    for (; s->n_built < s->n_rules && !s->build->is_bad; s->n_built++) {
        struct schema_rule rule = s->rules[s->n_built];
        f.n = 0;
        schema_forms(s, rule.set, take_form, &f);
        uint32_t first = build_either(s->build, f.firsts, f.n);
        s->build->program->rules[rule.rule] = first;
    }
    mem_give(f.firsts);
}

/* ---- The whole. ---- */

static int find_draft(const json_t *root)
{
    const char *uri = json_string_value(json_object_get(root, "$schema"));
    if (uri == NULL)
        return 2020;
    if (strstr(uri, "draft-04") != NULL || strstr(uri, "draft-03") != NULL)
        return 4;
    if (strstr(uri, "draft-06") != NULL)
        return 6;
    return strstr(uri, "draft-07") != NULL ? 7 : 2020;
}

static json_t *parse(struct build *b, struct view text)
{
    json_error_t fault;
    size_t flags = JSON_DECODE_ANY | JSON_REJECT_DUPLICATES;
    json_t *root = json_loadb(text.at, text.n, flags, &fault);
    if (root == NULL && json_error_code(&fault) == json_error_numeric_overflow)
        root = json_loadb(text.at, text.n, flags | JSON_DECODE_INT_AS_REAL, &fault);
    if (root == NULL)
        build_refuse(b, STATUS_BAD_INPUT,
                     "JSON Schema: it is not valid JSON: %.120s (line %d, column %d)", fault.text,
                     fault.line, fault.column);
    if (root != NULL && !json_is_object(root) && !json_is_boolean(root)) {
        build_refuse(b, STATUS_BAD_INPUT, "JSON Schema: it must be an object, true or false");
        json_decref(root);
        root = NULL;
    }
    return root;
}

uint32_t schema_read(struct build *b, struct view text)
{
    json_t *root = parse(b, text);
    if (root == NULL)
        return 0;
    struct schema s = { .build = b, .pile = &b->program->pile, .root = root };
    s.draft = find_draft(root);
    s.made = json_array();
    mem_need(s.made != NULL);
    map_init(&s.rule_of, SCHEMA_RULES_MAX + 1);
    map_init(&s.patterns, 1024);
    map_init(&s.made_of, SCHEMA_RULES_MAX);
    s.pattern_dfas = mem_take(sizeof(struct dfa *) * 1024);
    schema_refs_open(&s);
    uint32_t rule = 0;
    if (!b->is_bad)
        rule = schema_rule(&s, schema_set_of(&s, root));
    build_rules(&s);
    schema_refs_close(&s);
    map_free(&s.rule_of);
    map_free(&s.patterns);
    map_free(&s.made_of);
    mem_give(s.pattern_dfas);
    mem_give(s.rules);
    json_decref(s.made);
    json_decref(root);
    return b->is_bad ? 0 : rule;
}
