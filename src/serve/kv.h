/* Checks whether there is room for KV, before a server starts that could answer no request. */
#pragma once
#include "config/config.h"
#include "core/model_spec.h"
#include "kv/cut.h"

struct serve_kv { /* the pool of a server, the same for each engine */
    enum kv_kind kind;
    int64_t unit_bytes;
    struct kv_bounds bounds;                /* of all that may join */
    struct kv_layout layouts[LIMIT_MODELS]; /* of the configured models */
};
/* Returns the least units with which a pool has a block of the model, beside what always belongs to
 * the others (kv.min). layouts: (config->n_models), of units of unit_bytes. */
int64_t serve_kv_units(const struct config *config, enum kv_kind kind,
                       const struct kv_layout *layouts, int64_t unit_bytes, int model);
/* Returns a token's KV in all layers of the model. */
struct kv_shape serve_kv_shape(const struct model_spec *spec, enum dtype dtype);
/* Returns the type of the model's keys and values: the configured one, and F32 for an encoder,
 * whose keys and values live as long as a pass. */
enum dtype serve_kv_dtype(const struct config *config, const struct config_model *model,
                          const struct model_spec *spec);
/* Chooses the unit of a pool of pool_bytes, and each configured model's cut (shapes: one each).
 * Checks that kv_bytes, and kv.max of each model, allow a block of every model. The unit follows
 * from the bytes, so that other models may join later. For the present models it only makes sure
 * that a block of each fits, and that kv.max is many of them. */
enum status serve_kv_choose(const struct config *config, enum kv_kind kind, int64_t pool_bytes,
                            const struct kv_shape *shapes, struct serve_kv *out,
                            struct fault *fault) MUST_USE;
/* Cuts those units for a model that joins. The fault names what is too large, and what to set. */
enum status serve_kv_join(const struct serve_kv *kv, const struct config *config,
                          const struct config_model *model, const struct kv_shape *shape,
                          struct kv_layout *layout, struct fault *fault) MUST_USE;
/* Does only the second half of it, the check. */
enum status serve_kv_check(const struct config *config, enum kv_kind kind,
                           const struct kv_layout *layouts, int64_t unit_bytes,
                           struct fault *fault) MUST_USE;
