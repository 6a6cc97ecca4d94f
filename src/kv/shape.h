/* How a unit of a merged pool is cut into blocks. */
#pragma once
#include "kv/kind.h"

/* Cuts a unit for one service. Returns false when no block fits. *waste: the fraction lost. */
bool kv_shape_cut(int64_t bytes_per_token, int64_t unit_bytes, struct kv_layout *layout,
                  double *waste);
/* Chooses the unit and each service's cut so that the worst waste is least (docs/ALGORITHMS.md
 * D-10). The choices are block_tokens in {8, 16, 32}, with at most KV_UNIT_BLOCKS_MAX blocks a
 * unit. The unit has at most unit_bytes_max, unless one block of 8 tokens of the largest model
 * needs more. Returns the unit's bytes, a multiple of 64; *waste is the worst fraction lost. */
int64_t kv_choose_layout(int n_services, const int64_t *bytes_per_token, int64_t unit_bytes_max,
                         struct kv_layout *layouts, double *waste);
