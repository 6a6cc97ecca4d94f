/* How one service cuts a unit of a merged pool. For the files of this room alone. */
#pragma once
#include "kv/kind.h"

/* The cut that wastes least; *waste is the fraction that it loses. False: no block fits. */
bool kv_shape_cut(int64_t bytes_per_token, int64_t unit_bytes, struct kv_layout *layout,
                  double *waste);
