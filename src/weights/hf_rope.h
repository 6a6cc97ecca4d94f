/* The rotation of queries and keys that a Hugging Face config.json describes. */
#pragma once
#include "base/pile.h"
#include "core/model_spec.h"
#include "core/tensor.h"
#include "weights/json.h"

/* Returns the object with the scaling; NULL: none. An older file's rope_scaling precedes
 * rope_parameters. */
const struct weights_json_node *weights_hf_rope_scaling(const struct weights_json_node *config);
/* Fills the rotations of the spec. Its sizes and layers must be set already. */
enum status weights_hf_rope(const struct weights_json_from *config,
                            struct model_spec *spec) MUST_USE;
/* Sets out to the divisors of the frequencies that the config lists, in the pile. out stays as it
 * is when spec.rope_scaling is of another kind. */
enum status weights_hf_rope_factors(const struct weights_json_node *config,
                                    const struct model_spec *spec, struct pile *pile,
                                    struct tensor *out, struct fault *fault) MUST_USE;
