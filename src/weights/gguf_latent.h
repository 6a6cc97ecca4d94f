/* Latent attention (MLA) in GGUF files: the architecture deepseek2. */
#pragma once
#include "core/model_spec.h"
#include "weights/gguf.h"

/* Sets the heads. Sizes must be read before. */
enum status weights_gguf_latent_heads(const struct weights_gguf *gguf, struct model_spec *spec,
                                      struct fault *fault) MUST_USE;
/* Sets the divisor of scores, when rotation and epsilon have been read. Nothing changes in models
 * without latents. */
enum status weights_gguf_latent_scores(const struct weights_gguf *gguf, struct model_spec *spec,
                                       struct fault *fault) MUST_USE;
