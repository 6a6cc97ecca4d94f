/* Switches and scales of further dense families in a Hugging Face config.json. */
#pragma once
#include "core/model_spec.h"
#include "weights/json.h"

/* Reads what the family of the spec has: multipliers (Granite), the scale of logits (Cohere), the
 * parallel feed-forward (GPT-NeoX, StableLM, Falcon), and layers without rotation (SmolLM3, Cohere
 * 2). Sizes, windows and the norm's epsilon must be read before. */
enum status weights_hf_dense(const struct weights_json_from *config,
                             struct model_spec *spec) MUST_USE;
