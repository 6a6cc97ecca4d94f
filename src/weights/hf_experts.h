/* From config.json to a mixture of experts. */
#pragma once
#include "core/model_spec.h"
#include "weights/json.h"

/* Fills spec->experts, for families that have experts. */
enum status weights_hf_experts(const struct weights_json_from *config,
                               struct model_spec *spec) MUST_USE;
