/* Reads a scenario from YAML by the tables of its parts: unknown and repeated keys are errors. */
#include "scenario/scenario.h"

#include "base/near.h"
#include "config/yaml_doc.h"

#include <stdio.h>
#include <string.h>

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
    char sentence[256];
    snprintf(sentence, sizeof(sentence), "%.80s%s%.150s", what, which[0] != '\0' ? " " : "", which);
    return yaml_doc_fault(walk->fault, walk->name, node, sentence);
}

/* Returns a scalar's text, owned by the scenario; NULL when it is not a scalar or contains a zero
 * byte. */
static const char *text_of(struct walk *walk, const yaml_node_t *node)
{
    const char *text = yaml_doc_scalar(node);
    return text != NULL ? pile_text(&walk->scenario->pile, text, strlen(text)) : NULL;
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
        return yaml_doc_fault(walk->fault, walk->name, node, inner.text);
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

/* Rows are the keys that there are. */
static enum status bad_key(struct walk *walk, const yaml_node_t *node, const char *key,
                           const struct flags_row *rows, int n_rows)
{
    char question[NEAR_BYTES], which[160];
    struct near near = { .written = key };
    for (int i = 0; i < n_rows; i++)
        near_try(&near, rows[i].name);
    snprintf(which, sizeof(which), "%.60s%s", key, near_question(&near, question));
    return bad(walk, node, "unknown key", which);
}

typedef enum status other_key(struct walk *walk, const char *key, const yaml_node_t *key_node,
                              const yaml_node_t *value);

/* Reads a mapping against rows. Keys without a row go to other; NULL: they are errors. */
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
        if (yaml_doc_is_repeated(&walk->document, mapping, p, key))
            return bad(walk, key_node, "repeated key", key);
        while (i < n_rows && !is_key(key, rows[i].name))
            i++;
        bool is_list = value->type == YAML_SEQUENCE_NODE && strcmp(key, "engines") == 0;
        if (i < n_rows && !is_list)
            status = assign_row(walk, &rows[i], value);
        else if (other != NULL)
            status = other(walk, key, key_node, value);
        else
            status = bad_key(walk, key_node, key, rows, n_rows);
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

/* Refuses a service's own times beside measured ones, which would replace them. */
static enum status check_times(const struct walk *walk, const struct scenario_service *service,
                               const yaml_node_t *node, const struct flags_row *rows, int n_rows)
{
    if (service->profile == NULL && service->tables.n == 0)
        return STATUS_OK;
    for (int i = 0; i < n_rows; i++)
        if (rows[i].is_given != NULL && *rows[i].is_given)
            return bad(walk, node, "times are those of its profile or tables, which leave none to",
                       rows[i].name);
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
    int n_rows = scenario_service_rows(service, rows);
    enum status status = walk_mapping(walk, value, rows, n_rows, NULL);
    return status == STATUS_OK ? check_times(walk, service, value, rows, n_rows) : status;
}

static enum status walk_groups(struct walk *walk, const yaml_node_t *list)
{
    struct scenario *s = walk->scenario;
    struct flags_row rows[SCENARIO_ROWS_MAX];
    for (const yaml_node_item_t *item = list->data.sequence.items.start;
         item < list->data.sequence.items.top; item++) {
        const yaml_node_t *node = node_at(walk, *item);
        if (s->n_groups == SCENARIO_GROUPS_MAX)
            return bad(walk, node, "more than 1024 groups of engines", "");
        struct scenario_group *group = &s->groups[s->n_groups++];
        *group = (struct scenario_group){ .count = 1, .tp = 1 };
        enum status status = walk_mapping(walk, node, rows, scenario_group_rows(group, rows), NULL);
        bool is_of_chain = group->planner != NULL || group->links != NULL || group->n_batch > 0 ||
                           group->n_context > 0;
        if (status == STATUS_OK && is_of_chain && group->chain.n == 0)
            status = bad(walk, node, "planner, links, batch and tokens need a chain",
                         "(chain: [a100, v100])");
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
    struct flags_row rows[SCENARIO_ROWS_MAX];
    int n_rows = scenario_rows(walk->scenario, rows);
    return bad_key(walk, key_node, key, rows, n_rows);
}

enum status scenario_parse(struct scenario *scenario, const char *name, const char *text,
                           size_t n_bytes, struct fault *fault)
{
    struct walk walk = { .scenario = scenario, .name = name, .fault = fault };
    struct flags_row rows[SCENARIO_ROWS_MAX];
    enum status status = yaml_doc_open(&walk.document, name, text, n_bytes, fault);
    if (status != STATUS_OK)
        return status;
    const yaml_node_t *root = yaml_doc_root(&walk.document);
    if (root != NULL)
        status = walk_mapping(&walk, root, rows, scenario_rows(scenario, rows), walk_top);
    yaml_document_delete(&walk.document);
    return status;
}
