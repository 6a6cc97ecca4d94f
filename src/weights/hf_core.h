/* The text part of a model that sees pictures too. */
#pragma once
#include "weights/json.h"
#include "weights/catalog.h"

struct weights_hf_core {
    const struct weights_json_node *config; /* of the text part, or the whole config.json */
    bool is_part;                           /* the file has other parts, which are not read */
};

/* Finds the configuration of the text part: that of gemma3 is under text_config. Says in the log
 * that a file's other parts are left out. */
enum status weights_hf_core(const struct weights_json_node *config, struct weights_hf_core *core,
                            struct fault *fault) MUST_USE;
/* Marks the tensors of the other parts as used, so that they are not missed in the text part. */
void weights_hf_core_skip(const struct weights_hf_core *core, struct weights_catalog *catalog);
