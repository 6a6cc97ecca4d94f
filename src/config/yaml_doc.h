/* The single document of a YAML file, for configurations and scenarios: it takes checked text and
 * gives libyaml's nodes. Faults name the file, line and column. */
#pragma once
#include "base/status.h"
#include <yaml.h>

/* Opens it; aliases and a second document are refused. Close it by yaml_document_delete when the
 * status is STATUS_OK. The name stands in messages. */
enum status yaml_doc_open(yaml_document_t *document, const char *name, const char *text,
                          size_t n_bytes, struct fault *fault) MUST_USE;
/* NULL when it is empty. */
yaml_node_t *yaml_doc_root(yaml_document_t *document);
/* "NAME:LINE:COLUMN: sentence", as STATUS_BAD_INPUT. */
enum status yaml_doc_fault(struct fault *fault, const char *name, const yaml_node_t *node,
                           const char *sentence) MUST_USE;
/* Returns its text; NULL when it is not a scalar or contains a zero byte. */
const char *yaml_doc_scalar(const yaml_node_t *node);
/* Returns whether the mapping has a key of this name before the pair. */
bool yaml_doc_is_repeated(yaml_document_t *document, const yaml_node_t *mapping,
                          const yaml_node_pair_t *pair, const char *name);
