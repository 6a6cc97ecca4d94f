/* The models that clients may name. When they change there is a new catalog; a request that works
 * with the old one, on any thread, keeps it until it is done. All of these are for the I/O thread
 * alone, but for api_catalog_find. */
#pragma once
#include "api/api.h"
#include "api/error.h"

struct api_catalog {
    struct api_catalog *older;
    int32_t n_users;
    int n;
    const struct api_model *models[LIMIT_MODELS];
};

/* A new one in front of *newest, which has one user: the caller. The one before loses it. */
void api_catalog_renew(struct api_catalog **newest, const struct api_model *const *models, int n);
struct api_catalog *api_catalog_use(struct api_catalog *newest);
void api_catalog_put(struct api_catalog **newest, struct api_catalog *catalog);
/* Is the model in a catalog that is in use? */
bool api_catalog_has(const struct api_catalog *newest, const struct api_model *model);
/* By id or alias; NULL name: the only model there is. NULL with the error set. */
const struct api_model *api_catalog_find(const struct api_catalog *catalog, const char *name,
                                         struct api_error *error);
