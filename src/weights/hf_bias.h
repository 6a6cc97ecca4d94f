/* Whether the biases of a Hugging Face file are those that its config.json says. */
#pragma once
#include "core/model_weights.h"
#include "weights/json.h"

/* family: a value of model_type. Refuses biases that the library would leave out, and their absence
 * where the library would add some. */
enum status weights_hf_bias_check(const struct weights_json_from *config, const char *family,
                                  const struct model_weights *model) MUST_USE;
