/* Is there room for KV? Asked before a server starts that could answer nobody. */
#pragma once
#include "config/config.h"
#include "core/model_spec.h"
#include "kv/cut.h"

struct serve_kv { /* the pool of a server: of each engine the same */
    enum kv_kind kind;
    int64_t unit_bytes;
    struct kv_bounds bounds;                /* of all that may join */
    struct kv_layout layouts[LIMIT_MODELS]; /* of the configured models */
};
/* A pool of so many units has a block of the model, beside what is always the others' (kv.min); one
 * of fewer has none. layouts: (config->n_models), of units of unit_bytes. */
int64_t serve_kv_units(const struct config *config, enum kv_kind kind,
                       const struct kv_layout *layouts, int64_t unit_bytes, int model);
/* A token's KV in all layers of the model. */
struct kv_shape serve_kv_shape(const struct model_spec *spec, enum dtype dtype);
/* Chooses the unit of a pool of so many bytes, and how each of the configured models (shapes: one
 * each) cuts it; asks whether kv_bytes, and kv.max of each model, allow a block of every model. The
 * unit follows from the bytes, so that other models may join later; of the models it asks only that
 * a block of each fits, and that kv.max is many of them. */
enum status serve_kv_choose(const struct config *config, enum kv_kind kind, int64_t pool_bytes,
                            const struct kv_shape *shapes, struct serve_kv *out,
                            struct fault *fault) MUST_USE;
/* How a model that joins cuts those units. The fault says what is too large, and what to set. */
enum status serve_kv_join(const struct serve_kv *kv, const struct config *config,
                          const struct config_model *model, const struct kv_shape *shape,
                          struct kv_layout *layout, struct fault *fault) MUST_USE;
/* The second half of it alone. */
enum status serve_kv_check(const struct config *config, enum kv_kind kind,
                           const struct kv_layout *layouts, int64_t unit_bytes,
                           struct fault *fault) MUST_USE;
