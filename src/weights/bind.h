/* Finds the tensors of a model by role. */
#pragma once
#include "core/model_weights.h"
#include "weights/catalog.h"
#include "weights/names.h"

/* Fills model from the sealed catalog; its layers are in the catalog's pile. Each tensor's shape is
 * checked against the spec. A tensor without a role is refused, because it would change the
 * answer. */
enum status weights_bind(const struct weights_architecture *architecture, bool is_hf,
                         const struct model_spec *spec, struct weights_catalog *catalog,
                         struct model_weights *model, struct fault *fault) MUST_USE;
/* Returns the prefix that names in this catalog begin with. */
const char *weights_bind_prefix(const struct weights_architecture *architecture, bool is_hf,
                                const struct weights_catalog *catalog);
/* Returns the entry of a role of the whole model, or NULL. Its shape gives the size of the
 * vocabulary. */
struct weights_entry *weights_bind_entry(const struct weights_architecture *architecture,
                                         bool is_hf, enum weights_role role,
                                         const struct weights_catalog *catalog);
