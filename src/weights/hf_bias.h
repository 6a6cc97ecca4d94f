/* Checks whether a Hugging Face file has the biases that its config.json requires. */
#pragma once
#include "core/model_weights.h"
#include "weights/json.h"

/* family is a value of model_type. Refuses biases that the library would ignore, and missing biases
 * that the library would add. */
enum status weights_hf_bias_check(const struct weights_json_from *config, const char *family,
                                  const struct model_weights *model) MUST_USE;
