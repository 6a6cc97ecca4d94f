/* The one document of a YAML file, as configurations and scenarios are: checked text in, libyaml's
 * nodes out. What is wrong is said with the file's name, line and column. */
#pragma once
#include "base/status.h"
#include <yaml.h>

/* Aliases and a second document are refused. To be closed by yaml_document_delete when the status
 * is STATUS_OK; name stands in messages. */
enum status yaml_doc_open(yaml_document_t *document, const char *name, const char *text,
                          size_t n_bytes, struct fault *fault) MUST_USE;
/* NULL when it is empty. */
yaml_node_t *yaml_doc_root(yaml_document_t *document);
/* "NAME:LINE:COLUMN: sentence", as STATUS_BAD_INPUT. */
enum status yaml_doc_fault(struct fault *fault, const char *name, const yaml_node_t *node,
                           const char *sentence) MUST_USE;
/* Its text; NULL when it is no scalar or holds a zero byte. */
const char *yaml_doc_scalar(const yaml_node_t *node);
/* Is there a key of this name before the pair? */
bool yaml_doc_is_repeated(yaml_document_t *document, const yaml_node_t *mapping,
                          const yaml_node_pair_t *pair, const char *name);
