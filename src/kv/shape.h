/* Cuts a unit of a merged pool for one service. Only the files of this room include it. */
#pragma once
#include "kv/kind.h"

/* Finds the cut that wastes least; *waste is the fraction that it loses. Returns false when no
 * block fits. */
bool kv_shape_cut(int64_t bytes_per_token, int64_t unit_bytes, struct kv_layout *layout,
                  double *waste);
