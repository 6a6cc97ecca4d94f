/* The sizes of the model in a Hugging Face config.json. */
#pragma once
#include "core/model_spec.h"
#include "weights/json.h"
#include "weights/names.h"

/* Fills and checks the spec (n_parameters stays 0). *architecture is set to its row in the
 * table. */
enum status weights_hf_spec(const struct weights_json_node *config, struct model_spec *spec,
                            const struct weights_architecture **architecture,
                            struct fault *fault) MUST_USE;
