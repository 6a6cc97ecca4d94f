/* A model's file as serving needs it. `show` and `config check` use the same code, so they refuse
 * what `serve` refuses. */
#pragma once
#include "core/dtype.h"
#include "serve/model_card.h"

struct model_file_options {
    const char *name, *path;
    enum dtype kv_dtype;
    const struct model_template_options *template; /* NULL: the model's own chat template */
};
/* Opens the file, checks that keys and values can be cached as kv_dtype, and reads the card. On
 * failure nothing is left open. */
enum status model_file_open(struct weights **weights, struct model_card *card,
                            const struct model_file_options *options, struct fault *fault) MUST_USE;
