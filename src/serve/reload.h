/* What a running server may take over from settings that were read again. */
#pragma once
#include "config/config.h"

/* May the fresh settings follow the old ones? A fault names what changes with a restart only, or
 * which key would be lost. Keys, tenants, certificate files, log_level, log_json, keyless,
 * model_dirs and models change while a server runs; the last key, and the admin key, go away only
 * where keyless says so. What a planner alone reads of a model stays, since it plans at the start;
 * so do models under a placement of a file. */
enum status serve_reload_check(const struct config *old, const struct config *fresh,
                               struct fault *fault) MUST_USE;
/* Which models are others. One that changed is among both. */
struct serve_reload_models {
    int n_adds, n_removes;
    int adds[LIMIT_MODELS];    /* indices of the fresh ones */
    int removes[LIMIT_MODELS]; /* of the old ones */
};
void serve_reload_models(const struct config *old, const struct config *fresh,
                         struct serve_reload_models *out);
