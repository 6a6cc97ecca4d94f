/* The file of a model: a path of this machine, or one that is fetched from a store or other nodes.
 */
#pragma once
#include "config/config.h"
#include "fetch/fetch.h"

struct serve_file {
    const char *path;          /* of this machine; the model's own, or in `fetched` */
    struct fetch_file fetched; /* fd -1: it was not */
};
/* Finds the file, or fetches it, which may take long, and keeps it from being evicted until it is
 * closed. A path of this machine is checked against its SHA-256, if one is configured. */
enum status serve_file_open(struct serve_file *out, const struct config *config,
                            const struct config_model *model, struct fault *fault) MUST_USE;
void serve_file_close(struct serve_file *file);
/* Does the same without fetching or reading anything. NOT_FOUND, without a sentence: the file has
 * to be fetched. */
enum status serve_file_check(struct serve_file *out, const struct config *config,
                             const struct config_model *model, struct fault *fault) MUST_USE;
