/* Reads one YAML document by libyaml. */
#include "config/yaml_doc.h"

#include "base/mem.h"
#include <string.h>

static enum status fault_at(struct fault *fault, enum status status, const char *name,
                            yaml_mark_t mark, const char *sentence)
{
    return fault_set(fault, status, "%.80s:%zu:%zu: %s", name, mark.line + 1, mark.column + 1,
                     sentence);
}

enum status yaml_doc_fault(struct fault *fault, const char *name, const yaml_node_t *node,
                           const char *sentence)
{
    return fault_at(fault, STATUS_BAD_INPUT, name, node->start_mark, sentence);
}

/* Refuses aliases, because a few lines of them can unfold to gigabytes. */
static enum status refuse_aliases(const char *name, const char *text, size_t n_bytes,
                                  struct fault *fault)
{
    yaml_parser_t parser;
    yaml_event_t event;
    enum status status = STATUS_OK;
    bool is_over = false;
    mem_need(yaml_parser_initialize(&parser));
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, n_bytes);
    while (!is_over && yaml_parser_parse(&parser, &event)) {
        is_over = event.type == YAML_STREAM_END_EVENT || event.type == YAML_ALIAS_EVENT;
        if (event.type == YAML_ALIAS_EVENT)
            status = fault_at(fault, STATUS_UNSUPPORTED, name, event.start_mark,
                              "aliases (*name) are not supported");
        yaml_event_delete(&event);
    }
    yaml_parser_delete(&parser);
    return status;
}

/* Returns whether this is a tab with only spaces before it in its line. */
static bool is_first_tab(const char *text, size_t n_bytes, yaml_mark_t mark)
{
    size_t at = 0;
    for (size_t line = 0; line < mark.line && at < n_bytes; at++)
        line += text[at] == '\n';
    size_t end = at + mark.column;
    while (at < end && at < n_bytes && text[at] == ' ')
        at++;
    return at == end && at < n_bytes && text[at] == '\t';
}

/* Makes a fault of libyaml's error and its place. For bytes that are not UTF-8 libyaml only gives
 * its position, and for tabs only that no token begins there. */
static enum status fault_of(const yaml_parser_t *parser, const char *name, const char *text,
                            size_t n_bytes, struct fault *fault)
{
    yaml_mark_t mark = parser->problem_mark;
    char problem[101];
    snprintf(problem, sizeof problem, "%s", parser->problem ? parser->problem : "not YAML");
    if (parser->error == YAML_READER_ERROR) {
        mark = (yaml_mark_t){ 0, 0, 0 };
        for (size_t i = 0; i < parser->problem_offset && i < n_bytes; i++) {
            mark.column = text[i] == '\n' ? 0 : mark.column + 1;
            mark.line += text[i] == '\n';
        }
    } else if (is_first_tab(text, n_bytes, mark)) {
        return fault_at(fault, STATUS_BAD_INPUT, name, mark,
                        "a tab: lines of YAML begin with spaces only");
    }
    return fault_at(fault, STATUS_BAD_INPUT, name, mark, problem);
}

yaml_node_t *yaml_doc_root(yaml_document_t *document)
{
    yaml_node_t *root = yaml_document_get_root_node(document);
    bool is_bare = root && root->type == YAML_SCALAR_NODE && root->data.scalar.length == 0;
    return is_bare ? NULL : root; /* "---" alone */
}

/* Refuses a second document. */
static enum status refuse_second(yaml_parser_t *parser, const char *name, const char *text,
                                 size_t n_bytes, struct fault *fault)
{
    yaml_document_t second;
    if (!yaml_parser_load(parser, &second))
        return fault_of(parser, name, text, n_bytes, fault);
    const yaml_node_t *root = yaml_doc_root(&second);
    enum status status = STATUS_OK;
    if (root)
        status = yaml_doc_fault(fault, name, root, "a second document begins here, expected one");
    yaml_document_delete(&second);
    return status;
}

enum status yaml_doc_open(yaml_document_t *document, const char *name, const char *text,
                          size_t n_bytes, struct fault *fault)
{
    yaml_parser_t parser;
    enum status status = refuse_aliases(name, text, n_bytes, fault);
    if (status != STATUS_OK)
        return status;
    mem_need(yaml_parser_initialize(&parser));
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, n_bytes);
    if (!yaml_parser_load(&parser, document)) {
        status = fault_of(&parser, name, text, n_bytes, fault);
    } else {
        status = refuse_second(&parser, name, text, n_bytes, fault);
        if (status != STATUS_OK)
            yaml_document_delete(document);
    }
    yaml_parser_delete(&parser);
    return status;
}

const char *yaml_doc_scalar(const yaml_node_t *node)
{
    if (!node || node->type != YAML_SCALAR_NODE ||
        memchr(node->data.scalar.value, '\0', node->data.scalar.length) != NULL)
        return NULL;
    return (const char *)node->data.scalar.value;
}

bool yaml_doc_is_repeated(yaml_document_t *document, const yaml_node_t *mapping,
                          const yaml_node_pair_t *pair, const char *name)
{
    for (const yaml_node_pair_t *p = mapping->data.mapping.pairs.start; p < pair; p++) {
        const char *other = yaml_doc_scalar(yaml_document_get_node(document, p->key));
        if (other && strcmp(other, name) == 0)
            return true;
    }
    return false;
}
