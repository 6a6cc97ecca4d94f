/* Is there room for KV? Asked before a server starts that could answer nobody. */
#pragma once
#include "cmd/config.h"
#include "core/model_spec.h"
#include "kv/kind.h"

/* A pool of so many units has a block of the model, beside what is always the others' (kv.min); one
 * of fewer has none. layouts: (config->n_models), of units of unit_bytes. */
int64_t serve_kv_units(const struct config *config, enum kv_kind kind,
                       const struct kv_layout *layouts, int64_t unit_bytes, int model);
/* A token's KV in all layers of the model. */
struct kv_shape serve_kv_shape(const struct model_spec *spec, enum dtype dtype);
/* Cuts the pool of all models (shapes: one each) into units, and asks whether kv_bytes, and kv.max
 * of each model, allow a block of every model. */
enum status serve_kv_choose(const struct config *config, enum kv_kind kind,
                            const struct kv_shape *shapes, struct kv_layout *layouts,
                            int64_t *unit_bytes, struct fault *fault) MUST_USE;
/* The second half of it alone. */
enum status serve_kv_check(const struct config *config, enum kv_kind kind,
                           const struct kv_layout *layouts, int64_t unit_bytes,
                           struct fault *fault) MUST_USE;
