/* Opens the adapters that a configuration names. */
#include "serve/adapters.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/str.h"
#include <string.h>

static const char *path_of(const char *name_and_path)
{
    return strchr(name_and_path, '=') + 1; /* config/text.c checked it */
}

/* Checks each file against the model. Without a device only the headers are read. */
static enum status check_files(struct serve_adapters *adapters, const struct weights *weights,
                               struct compute_device *device, struct fault *fault)
{
    enum status status = STATUS_OK;
    if (device != NULL)
        status = run_adapters_open(&adapters->sizes, &adapters->files, weights, device, fault);
    for (int i = 0; i < adapters->files.n && status == STATUS_OK; i++) {
        struct weights_adapter *file;
        if (device != NULL) {
            adapters->files.hashes[i] = run_adapters_hash(adapters->sizes, i + 1);
            continue;
        }
        status =
            weights_adapter_open(&file, run_adapters_path(&adapters->files, i), weights, fault);
        if (status != STATUS_OK)
            break;
        adapters->files.hashes[i] = weights_adapter_hash(file);
        weights_adapter_close(file);
    }
    return status;
}

enum status serve_adapters_open(struct serve_adapters **out, const struct config_model *model,
                                const struct weights *weights, struct compute_device *device,
                                struct fault *fault)
{
    struct fault own;
    *out = NULL;
    if (model->n_adapters == 0)
        return STATUS_OK;
    struct serve_adapters *adapters = mem_take(sizeof(*adapters));
    enum status status = STATUS_OK;
    for (int i = 0; i < model->n_adapters && status == STATUS_OK; i++)
        if (!run_adapters_add_file(&adapters->files, path_of(model->adapters[i])))
            status = fault_set(&own, STATUS_TOO_LARGE, "their paths have more than %d bytes",
                               RUN_ADAPTERS_TEXT_BYTES);
    if (status == STATUS_OK)
        status = check_files(adapters, weights, device, &own);
    if (status == STATUS_OK) {
        *out = adapters;
        return STATUS_OK;
    }
    serve_adapters_close(adapters);
    return fault_set(fault, status, "model %.60s: adapters: %.180s", model->name, own.text);
}

void serve_adapters_close(struct serve_adapters *adapters)
{
    if (adapters == NULL)
        return;
    run_adapters_close(adapters->sizes);
    mem_give(adapters);
}

void serve_adapters_describe(struct serve_adapters *adapters, const struct config_model *model,
                             const struct api_model *of)
{
    for (int i = 0; adapters != NULL && i < adapters->files.n; i++) {
        size_t n_name = strcspn(model->adapters[i], "=");
        struct str name;
        str_init(&name);
        str_add_text(&name, model->name);
        str_add_text(&name, ":");
        str_add(&name, model->adapters[i], n_name);
        CHECK(name.n < LIMIT_NAME_BYTES); /* config/check.c */
        memcpy(adapters->names[i], name.at, name.n);
        str_free(&name);
        adapters->models[i] = *of;
        adapters->models[i].name = adapters->names[i];
        adapters->models[i].parent = of->name;
        adapters->models[i].variant = (uint16_t)(i + 1);
        adapters->models[i].aliases = NULL;
        adapters->models[i].n_aliases = 0;
        adapters->models[i].path = run_adapters_path(&adapters->files, i);
    }
}

uint64_t serve_adapters_hash(const struct serve_adapters *adapters, uint64_t hash)
{
    for (int i = 0; adapters != NULL && i < adapters->files.n; i++) {
        hash = hash_fast(adapters->names[i], strlen(adapters->names[i]), hash).low;
        hash = hash_fast(&adapters->files.hashes[i], sizeof(uint64_t), hash).low;
    }
    return hash;
}
