/* Finds the tensors of a model by role. */
#pragma once
#include "core/model_weights.h"
#include "weights/catalog.h"
#include "weights/names.h"

/* Fills model from the sealed catalog; layers come from its pile. Each tensor's shape is checked
 * against the spec, and tensors that no role knows are refused: they would change the answer. */
enum status weights_bind(const struct weights_architecture *architecture, bool is_hf,
                         const struct model_spec *spec, struct weights_catalog *catalog,
                         struct model_weights *model, struct fault *fault) MUST_USE;
/* The entry of a role of the whole model, or NULL: its shape tells the vocabulary. */
struct weights_entry *weights_bind_entry(const struct weights_architecture *architecture,
                                         bool is_hf, enum weights_role role,
                                         const struct weights_catalog *catalog);
