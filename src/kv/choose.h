/* The unit of a pool whose services are all known, and how each of them cuts it. */
#pragma once
#include "kv/shape.h"

/* As kv_choose_layout for a head-wise pool (docs/ALGORITHMS.md 6.11). A unit is 16 tokens of the
 * largest head, keys and values. Smaller heads put more tokens into it, a multiple of 8. */
int64_t kv_choose_heads(int n_services, const struct kv_shape *shapes, struct kv_layout *layouts,
                        double *waste);
/* Either, by kind. */
int64_t kv_choose(enum kv_kind kind, int n_services, const struct kv_shape *shapes,
                  int64_t unit_bytes_max, struct kv_layout *layouts, double *waste);
