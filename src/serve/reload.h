/* Decides which settings a running server may take over from a second read. */
#pragma once
#include "config/config.h"

/* Checks whether the fresh settings may follow the old ones. A fault names a change that needs a
 * restart, or a key that would be lost. Keys, tenants, certificate files, log_level, log_json,
 * keyless, model_dirs and models change while a server runs. The last key, and the admin key, may
 * only be removed if keyless permits it. Fields of a model that only a planner reads must stay,
 * since it plans at the start. Models under a placement from a file must stay too. */
enum status serve_reload_check(const struct config *old, const struct config *fresh,
                               struct fault *fault) MUST_USE;
/* Lists the models that differ. A changed model is in both lists. */
struct serve_reload_models {
    int n_adds, n_removes;
    int adds[LIMIT_MODELS];    /* indices of the fresh ones */
    int removes[LIMIT_MODELS]; /* of the old ones */
};
void serve_reload_models(const struct config *old, const struct config *fresh,
                         struct serve_reload_models *out);
