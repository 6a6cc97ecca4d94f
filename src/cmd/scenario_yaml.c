/* Reads a scenario from YAML by the tables of its parts: unknown and repeated keys are errors, and
 * aliases are refused. */
#include "cmd/scenario.h"

#include <stdio.h>
#include <string.h>
#include <yaml.h>

struct walk {
    yaml_document_t document;
    struct scenario *scenario;
    const char *name;
    struct fault *fault;
};

static yaml_node_t *node_at(struct walk *walk, int index)
{
    return yaml_document_get_node(&walk->document, index);
}

static enum status bad(const struct walk *walk, const yaml_node_t *node, const char *what,
                       const char *which)
{
    return fault_set(walk->fault, STATUS_BAD_INPUT, "%.80s:%zu:%zu: %.80s%s%.60s", walk->name,
                     node->start_mark.line + 1, node->start_mark.column + 1, what,
                     which[0] != '\0' ? " " : "", which);
}

/* A scalar's text, owned by the scenario; NULL when it is none or holds a zero byte. */
static const char *text_of(struct walk *walk, const yaml_node_t *node)
{
    if (node->type != YAML_SCALAR_NODE ||
        memchr(node->data.scalar.value, '\0', node->data.scalar.length) != NULL)
        return NULL;
    return pile_text(&walk->scenario->pile, (const char *)node->data.scalar.value,
                     node->data.scalar.length);
}

static bool is_key(const char *written, const char *name)
{
    for (; *written != '\0' && *name != '\0'; written++, name++)
        if ((*written == '_' ? '-' : *written) != *name)
            return false;
    return *written == *name;
}

static enum status assign(struct walk *walk, const struct flags_row *row, const yaml_node_t *node)
{
    struct fault inner;
    const char *text = text_of(walk, node);
    if (text == NULL)
        return bad(walk, node, "expected one value at", row->name);
    if (flags_assign(row, text, &inner) != STATUS_OK)
        return bad(walk, node, inner.text, "");
    return STATUS_OK;
}

static enum status assign_row(struct walk *walk, const struct flags_row *row,
                              const yaml_node_t *node)
{
    enum status status = STATUS_OK;
    if (row->type != FLAGS_TEXTS || node->type != YAML_SEQUENCE_NODE)
        return assign(walk, row, node);
    for (const yaml_node_item_t *item = node->data.sequence.items.start;
         item < node->data.sequence.items.top && status == STATUS_OK; item++)
        status = assign(walk, row, node_at(walk, *item));
    return status;
}

static bool is_repeated(struct walk *walk, const yaml_node_t *mapping,
                        const yaml_node_pair_t *before, const char *name)
{
    for (const yaml_node_pair_t *p = mapping->data.mapping.pairs.start; p < before; p++) {
        const yaml_node_t *key = node_at(walk, p->key);
        if (key->type == YAML_SCALAR_NODE &&
            strcmp((const char *)key->data.scalar.value, name) == 0)
            return true;
    }
    return false;
}

typedef enum status other_key(struct walk *walk, const char *key, const yaml_node_t *key_node,
                              const yaml_node_t *value);

/* A mapping against rows; other hears of the keys that are in none, NULL: they are errors. */
static enum status walk_mapping(struct walk *walk, const yaml_node_t *mapping,
                                const struct flags_row *rows, int n_rows, other_key *other)
{
    if (mapping->type != YAML_MAPPING_NODE)
        return bad(walk, mapping, "expected a mapping (key: value)", "");
    for (const yaml_node_pair_t *p = mapping->data.mapping.pairs.start;
         p < mapping->data.mapping.pairs.top; p++) {
        const yaml_node_t *key_node = node_at(walk, p->key), *value = node_at(walk, p->value);
        const char *key = text_of(walk, key_node);
        enum status status = STATUS_OK;
        int i = 0;
        if (key == NULL)
            return bad(walk, key_node, "expected a text as key", "");
        if (is_repeated(walk, mapping, p, key))
            return bad(walk, key_node, "repeated key", key);
        while (i < n_rows && !is_key(key, rows[i].name))
            i++;
        bool is_list = value->type == YAML_SEQUENCE_NODE && strcmp(key, "engines") == 0;
        if (i < n_rows && !is_list)
            status = assign_row(walk, &rows[i], value);
        else if (other != NULL)
            status = other(walk, key, key_node, value);
        else
            status = bad(walk, key_node, "unknown key", key);
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

static enum status walk_service(struct walk *walk, const char *key, const yaml_node_t *key_node,
                                const yaml_node_t *value)
{
    struct scenario *s = walk->scenario;
    struct flags_row rows[SCENARIO_ROWS_MAX];
    if (s->n_services == LIMIT_SERVICES)
        return bad(walk, key_node, "more than 1024 services", "");
    if (key[0] == '\0' || strlen(key) >= LIMIT_NAME_BYTES)
        return bad(walk, key_node, "expected a service's name of 1 to 127 bytes", "");
    struct scenario_service *service = &s->services[s->n_services++];
    memset(service, 0, sizeof(*service));
    snprintf(service->name, sizeof(service->name), "%s", key);
    return walk_mapping(walk, value, rows, scenario_service_rows(service, rows), NULL);
}

static enum status walk_groups(struct walk *walk, const yaml_node_t *list)
{
    struct scenario *s = walk->scenario;
    struct flags_row rows[SCENARIO_ROWS_MAX];
    for (const yaml_node_item_t *item = list->data.sequence.items.start;
         item < list->data.sequence.items.top; item++) {
        const yaml_node_t *node = node_at(walk, *item);
        if (s->n_groups == SCENARIO_GROUPS_MAX)
            return bad(walk, node, "more than 64 groups of engines", "");
        struct scenario_group *group = &s->groups[s->n_groups++];
        *group = (struct scenario_group){ .count = 1, .tp = 1 };
        enum status status = walk_mapping(walk, node, rows, scenario_group_rows(group, rows), NULL);
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

static enum status walk_nodes(struct walk *walk, const yaml_node_t *list)
{
    struct scenario *s = walk->scenario;
    struct flags_row rows[SCENARIO_ROWS_MAX];
    if (list->type != YAML_SEQUENCE_NODE)
        return bad(walk, list, "expected a list of nodes (- {count: 4, device: a100})", "");
    for (const yaml_node_item_t *item = list->data.sequence.items.start;
         item < list->data.sequence.items.top; item++) {
        const yaml_node_t *node = node_at(walk, *item);
        if (s->n_nodes == SCENARIO_NODES_MAX)
            return bad(walk, node, "more than 64 kinds of nodes", "");
        struct scenario_node *own = &s->nodes[s->n_nodes++];
        *own = (struct scenario_node){ .count = 1 };
        enum status status = walk_mapping(walk, node, rows, scenario_node_rows(own, rows), NULL);
        if (status == STATUS_OK && own->device == NULL)
            status = bad(walk, node, "a node needs a device (device: a100)", "");
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

static enum status walk_top(struct walk *walk, const char *key, const yaml_node_t *key_node,
                            const yaml_node_t *value)
{
    if (strcmp(key, "engines") == 0 && value->type == YAML_SEQUENCE_NODE)
        return walk_groups(walk, value);
    if (strcmp(key, "nodes") == 0)
        return walk_nodes(walk, value);
    if (strcmp(key, "services") == 0)
        return walk_mapping(walk, value, NULL, 0, walk_service);
    return bad(walk, key_node, "unknown key", key);
}

/* Aliases are refused: a few lines of them can unfold to gigabytes. */
static bool has_alias(const char *text, size_t n_bytes)
{
    yaml_parser_t parser;
    yaml_event_t event;
    bool is_over = false, has = false;
    CHECK(yaml_parser_initialize(&parser));
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, n_bytes);
    while (!is_over && yaml_parser_parse(&parser, &event)) {
        has = has || event.type == YAML_ALIAS_EVENT;
        is_over = has || event.type == YAML_STREAM_END_EVENT;
        yaml_event_delete(&event);
    }
    yaml_parser_delete(&parser);
    return has;
}

enum status scenario_parse(struct scenario *scenario, const char *name, const char *text,
                           size_t n_bytes, struct fault *fault)
{
    struct walk walk = { .scenario = scenario, .name = name, .fault = fault };
    struct flags_row rows[SCENARIO_ROWS_MAX];
    enum status status = STATUS_OK;
    yaml_parser_t parser;
    if (has_alias(text, n_bytes))
        return fault_set(fault, STATUS_UNSUPPORTED, "%.80s: aliases are not supported", name);
    CHECK(yaml_parser_initialize(&parser));
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, n_bytes);
    if (!yaml_parser_load(&parser, &walk.document)) {
        status = fault_set(fault, STATUS_BAD_INPUT, "%.80s:%zu:%zu: %.100s", name,
                           parser.problem_mark.line + 1, parser.problem_mark.column + 1,
                           parser.problem != NULL ? parser.problem : "not YAML");
    } else {
        const yaml_node_t *root = yaml_document_get_root_node(&walk.document);
        if (root != NULL)
            status = walk_mapping(&walk, root, rows, scenario_rows(scenario, rows), walk_top);
        yaml_document_delete(&walk.document);
    }
    yaml_parser_delete(&parser);
    return status;
}
