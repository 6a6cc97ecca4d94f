/* The matrices that latent attention has for each head. */
#pragma once
#include "core/model_weights.h"
#include "weights/name.h"

/* Returns whether the role is that of a matrix of each head. */
bool weights_bind_latent_has(uint8_t role);
/* Returns whether heads have matrices of this role already. */
bool weights_bind_latent_is_there(uint8_t role, const struct latent_weights *latents);
/* Places views of a tensor of all heads. WEIGHTS_KV_B has rows of keys and of values for each head
 * and must be of floats; WEIGHTS_K_B and WEIGHTS_V_B have one of the two. */
void weights_bind_latent(const struct model_spec *spec, const struct tensor *whole,
                         enum weights_role role, struct latent_weights *latents);
/* Cuts the fused matrix of the latent and of the key's rotated part behind it. */
void weights_bind_latent_key(const struct model_spec *spec, const struct tensor *whole,
                             struct layer_weights *layer);
