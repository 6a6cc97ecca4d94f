/* The last steps of binding, when all tensors have their roles. */
#pragma once
#include "core/model_weights.h"
#include "weights/catalog.h"

/* Swaps the norms of a falcon in GGUF, and ties the output to the embedding. Refuses a model that
 * lacks a tensor. Multiplies the output norm by the scale of logits. */
enum status weights_bind_end(const struct model_spec *spec, bool is_falcon,
                             struct weights_catalog *catalog, struct model_weights *model,
                             struct fault *fault) MUST_USE;
/* Checks a copy: some files repeat the embedding as the output matrix of a model that uses one
 * matrix for both. */
enum status weights_bind_end_copy(const struct tensor *embedding,
                                  const struct weights_entry *output,
                                  const struct weights_catalog *catalog,
                                  struct fault *fault) MUST_USE;
/* Checks the factors that divide the frequencies. */
enum status weights_bind_end_factors(const struct weights_entry *entry,
                                     const struct tensor *factors,
                                     const struct weights_catalog *catalog,
                                     struct fault *fault) MUST_USE;
