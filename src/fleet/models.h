/* A manager's view of the configured models: their definitions and the memory that each needs,
 * estimated until an engine has loaded it. */
#pragma once
#include "serve/offer.h"

struct fleet_models {
    struct serve_offer offers[LIMIT_MODELS];
    struct service_spec services[LIMIT_MODELS];
    int64_t need_bytes[LIMIT_MODELS];
    int64_t kept_bytes; /* of each engine's memory, for a block of KV */
    int n;
};
/* Reads the models' files. */
enum status fleet_models_open(struct fleet_models *models, const struct config *config,
                              struct fault *fault) MUST_USE;
void fleet_models_close(struct fleet_models *models);
