/* Encoders (BERT, RoBERTa, XLM-RoBERTa): what config.json says beside the sizes. */
#pragma once
#include "core/model_spec.h"
#include "weights/json.h"

/* Does nothing for other architectures. */
enum status weights_hf_encoder(const struct weights_json_from *config,
                               struct model_spec *spec) MUST_USE;
