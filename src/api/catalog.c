/* Catalogs of models. Each lives until its last user is done. */
#include "api/catalog.h"

#include "base/mem.h"
#include <string.h>

void api_catalog_renew(struct api_catalog **newest, const struct api_model *const *models, int n)
{
    struct api_catalog *catalog = mem_take(sizeof(*catalog)), *before = *newest;
    CHECK(n >= 0 && n <= API_MODELS_MAX);
    *catalog = (struct api_catalog){ .older = before, .n_users = 1, .n = n };
    for (int i = 0; i < n; i++)
        catalog->models[i] = models[i];
    *newest = catalog;
    if (before != NULL)
        api_catalog_put(newest, before);
}

struct api_catalog *api_catalog_use(struct api_catalog *newest)
{
    newest->n_users++;
    return newest;
}

void api_catalog_put(struct api_catalog **newest, struct api_catalog *catalog)
{
    struct api_catalog **at = newest;
    if (catalog == NULL || --catalog->n_users > 0)
        return;
    while (*at != catalog)
        at = &(*at)->older;
    *at = catalog->older;
    mem_give(catalog);
}

bool api_catalog_has(const struct api_catalog *newest, const struct api_model *model)
{
    for (const struct api_catalog *c = newest; c != NULL; c = c->older)
        for (int i = 0; i < c->n; i++)
            if (c->models[i] == model)
                return true;
    return false;
}

static const struct api_model *find_only(const struct api_catalog *catalog, struct api_error *error)
{
    const struct api_model *only = NULL;
    int n = 0;
    for (int i = 0; i < catalog->n; i++) {
        if (catalog->models[i]->variant > 0)
            continue;
        only = catalog->models[i];
        n++;
    }
    if (n == 1)
        return only;
    api_error_set(error, ERROR_INVALID, "model", "model is missing, and this server has %d of them",
                  n);
    return NULL;
}

const struct api_model *api_catalog_find(const struct api_catalog *catalog, const char *name,
                                         struct api_error *error)
{
    if (name == NULL)
        return find_only(catalog, error);
    for (int i = 0; i < catalog->n; i++) {
        const struct api_model *model = catalog->models[i];
        if (strcmp(model->name, name) == 0)
            return model;
        for (int j = 0; j < model->n_aliases; j++)
            if (strcmp(model->aliases[j], name) == 0)
                return model;
    }
    api_error_set(error, ERROR_NO_MODEL, "model",
                  "the model \"%.200s\" does not exist here: GET /v1/models lists those that do",
                  name);
    return NULL;
}
