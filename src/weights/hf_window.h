/* The sliding windows that a Hugging Face config.json describes: their width, and their layers. */
#pragma once
#include "core/model_spec.h"
#include "weights/json.h"

/* Fills window, is_full_layer and n_full_layers. The other sizes must be set already. */
enum status weights_hf_window(const struct weights_json_from *config,
                              struct model_spec *spec) MUST_USE;
