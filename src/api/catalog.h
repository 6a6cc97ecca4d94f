/* The models that clients may name.
 *
 * Each change of the models makes a new catalog. A request that works with an old catalog, on any
 * thread, keeps it until the request is done. All functions are for the I/O thread alone, except
 * api_catalog_find. */
#pragma once
#include "api/api_options.h"
#include "api/error.h"

struct api_catalog {
    struct api_catalog *older;
    int32_t n_users;
    int n;
    const struct api_model *models[API_MODELS_MAX];
};

/* Puts a new catalog in front of *newest, with one user: the caller. The catalog before it loses
 * that user. */
void api_catalog_renew(struct api_catalog **newest, const struct api_model *const *models, int n);
struct api_catalog *api_catalog_use(struct api_catalog *newest);
void api_catalog_put(struct api_catalog **newest, struct api_catalog *catalog);
/* Returns whether the model is in a catalog that is in use. */
bool api_catalog_has(const struct api_catalog *newest, const struct api_model *model);
/* Finds a model by id or alias. A NULL name finds the only model, if there is just one (adapters
 * do not count). Returns
 * NULL with the error set when there is no such model. */
const struct api_model *api_catalog_find(const struct api_catalog *catalog, const char *name,
                                         struct api_error *error);
