/* The LoRA adapters of a configured model. */
#pragma once
#include "api/api_options.h"
#include "config/config.h"
#include "run/adapters.h"

struct serve_adapters {
    struct run_adapter_files files;
    char names[LIMIT_ADAPTERS][LIMIT_NAME_BYTES]; /* MODEL:NAME */
    struct api_model models[LIMIT_ADAPTERS];      /* as clients see them */
    struct run_adapters *sizes; /* what their headers say; NULL without a device */
};
/* Opens the header of each adapter that the model has, checks it, and notes its hash. *out is NULL
 * when it has none. device NULL: there is none here. */
enum status serve_adapters_open(struct serve_adapters **out, const struct config_model *model,
                                const struct weights *weights, struct compute_device *device,
                                struct fault *fault) MUST_USE;
void serve_adapters_close(struct serve_adapters *adapters); /* NULL is fine */
/* Describes the adapters to clients: as their model, under their own names. */
void serve_adapters_describe(struct serve_adapters *adapters, const struct config_model *model,
                             const struct api_model *of);
/* Returns a hash that also covers the adapters (NULL: none). */
uint64_t serve_adapters_hash(const struct serve_adapters *adapters, uint64_t hash);
