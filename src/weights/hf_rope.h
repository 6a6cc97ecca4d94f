/* What a Hugging Face config.json says of how its model rotates queries and keys. */
#pragma once
#include "base/pile.h"
#include "core/model_spec.h"
#include "core/tensor.h"
#include "weights/json.h"

/* Fills what the spec says of rotations; its sizes and layers are there already. */
enum status weights_hf_rope(const struct weights_json_from *config,
                            struct model_spec *spec) MUST_USE;
/* *out becomes the divisors of the frequencies that the config lists, in the pile; it stays when
 * spec.rope_scaling isn't of that kind. */
enum status weights_hf_rope_factors(const struct weights_json_node *config,
                                    const struct model_spec *spec, struct pile *pile,
                                    struct tensor *out, struct fault *fault) MUST_USE;
