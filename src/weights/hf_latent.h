/* Latent attention (MLA) in a Hugging Face config.json. */
#pragma once
#include "core/model_spec.h"
#include "weights/json.h"

/* Sets the heads of a family with latent attention (DeepSeek-V2, V3), their rotation's form, and
 * the divisor of scores. Other families stay as they are. Sizes must be read before. */
enum status weights_hf_latent(const struct weights_json_from *config,
                              struct model_spec *spec) MUST_USE;
