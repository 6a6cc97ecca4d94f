/* What a Hugging Face config.json says of sliding windows: how wide, and in which layers. */
#pragma once
#include "core/model_spec.h"
#include "weights/json.h"

/* Fills window, is_full_layer and n_full_layers; the other sizes are there already. */
enum status weights_hf_window(const struct weights_json_from *config,
                              struct model_spec *spec) MUST_USE;
