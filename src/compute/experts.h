/* The choice of the experts that a row uses. */
#pragma once
#include "compute/shapes.h"

/* Chooses by the router's logits (n_experts), or by shares + bias if there is a bias (n_experts).
 * `shares` (n_experts) has the softmax or the sigmoids of all logits. Writes (n_used) the chosen
 * experts, ascending, and their shares. */
void compute_experts_choose(const struct compute_experts *experts, const float *logits,
                            const float *bias, const float *shares, int32_t *chosen,
                            float *chosen_shares);
