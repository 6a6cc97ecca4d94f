/* The last steps of binding, when all tensors have their roles. */
#pragma once
#include "core/model_weights.h"
#include "weights/catalog.h"

/* Swaps the norms of a falcon in GGUF, and ties the output to the embedding. */
void weights_bind_end_settle(const struct model_spec *spec, bool is_falcon,
                             struct model_weights *model);
/* Multiplies the output norm by the scale of logits. */
enum status weights_bind_end_scale(const struct model_spec *spec, struct weights_catalog *catalog,
                                   struct model_weights *model, struct fault *fault) MUST_USE;
