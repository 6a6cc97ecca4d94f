/* Computes the least pool that has a block of every model. */
#include "serve/kv.h"

#include "config/chosen.h"

#include "base/log.h"

enum { KV_MAX_UNITS = 64 };

/* Units of one block. */
static int64_t block_units(const struct kv_layout *layout)
{
    return max_i32(layout->units_per_block, 1);
}

/* Returns the units that always belong to the model, as kv_open computes them. */
static int64_t floor_units(const struct config_model *model, int64_t unit_bytes)
{
    int64_t n = div_up_i64(model->kv_bytes_min, unit_bytes);
    return model->kv_bytes_max > 0 ? min_i64(n, model->kv_bytes_max / unit_bytes) : n;
}

int64_t serve_kv_units(const struct config *config, enum kv_kind kind,
                       const struct kv_layout *layouts, int64_t unit_bytes, int model)
{
    int64_t n_block = block_units(&layouts[model]), n_others = 0, all = 0;
    for (int i = 0; i < config->n_models; i++) {
        all += layouts[i].bytes_per_token;
        if (i != model)
            n_others += floor_units(&config->models[i], unit_bytes);
    }
    if (kind == KV_PRIVATE) /* parts by bytes per token */
        return div_up_i64(n_block * all, layouts[model].bytes_per_token);
    bool has_own = floor_units(&config->models[model], unit_bytes) >= n_block;
    return has_own ? n_block : n_others + n_block;
}

enum status serve_kv_check(const struct config *config, enum kv_kind kind,
                           const struct kv_layout *layouts, int64_t unit_bytes, struct fault *fault)
{
    int64_t most = 0;
    int largest = 0;
    for (int i = 0; i < config->n_models; i++) {
        const struct config_model *model = &config->models[i];
        int64_t n_bytes = serve_kv_units(config, kind, layouts, unit_bytes, i) * unit_bytes;
        int64_t block_bytes = block_units(&layouts[i]) * unit_bytes;
        if (model->kv_bytes_max > 0 && model->kv_bytes_max < block_bytes)
            return fault_set(fault, STATUS_TOO_LARGE,
                             "model %.80s: kv.max is %lld bytes, and needs to be %lld at least",
                             model->name, (long long)model->kv_bytes_max, (long long)block_bytes);
        largest = n_bytes > most ? i : largest;
        most = max_i64(most, n_bytes);
    }
    if (config->kv_bytes == 0 || config->kv_bytes >= most)
        return STATUS_OK;
    return fault_set(fault, STATUS_TOO_LARGE,
                     "kv_bytes is %lld, and model %.80s needs %lld at least to answer anything",
                     (long long)config->kv_bytes, config->models[largest].name, (long long)most);
}

enum dtype serve_kv_dtype(const struct config *config, const struct config_model *model,
                          const struct model_spec *spec)
{
    return spec->is_encoder ? DTYPE_F32 : chosen_kv_dtype(config, model);
}

struct kv_shape serve_kv_shape(const struct model_spec *spec, enum dtype dtype)
{
    return (struct kv_shape){ model_spec_kv_bytes_per_token(spec, dtype),
                              spec->n_layers * spec->n_kv_heads };
}

static enum status cut(const struct serve_kv *kv, const char *name, const struct kv_shape *shape,
                       struct kv_layout *layout, struct fault *fault)
{
    double waste;
    if (!kv_cut_service(kv->kind, shape, kv->unit_bytes, layout, &waste))
        return fault_set(
            fault, STATUS_TOO_LARGE,
            "model %.80s: %d tokens of its KV are %lld bytes, and the KV pool's units, "
            "which were chosen at the start, have %lld: a restart with the model in "
            "the configuration makes larger ones",
            name, KV_BLOCK_TOKENS_MIN, (long long)kv_cut_least_bytes(kv->kind, shape),
            (long long)kv->unit_bytes);
    log_line(LOG_DEBUG, "serve", "%s: KV in blocks of %d tokens, %.1f%% of a unit are lost", name,
             (int)layout->block_tokens, waste * 100.0);
    return STATUS_OK;
}

enum status serve_kv_choose(const struct config *config, enum kv_kind kind, int64_t pool_bytes,
                            const struct kv_shape *shapes, struct serve_kv *out,
                            struct fault *fault)
{
    enum status status = STATUS_OK;
    if (config->kv_bytes > 0)
        pool_bytes = min_i64(pool_bytes, config->kv_bytes);
    for (int i = 0; i < config->n_models; i++) {
        if (config->models[i].kv_bytes_max > 0) /* which has many units */
            pool_bytes =
                min_i64(pool_bytes / KV_MAX_UNITS, config->models[i].kv_bytes_max) * KV_MAX_UNITS;
    }
    out->kind = kind;
    out->unit_bytes = kv_cut_unit_for(kind, pool_bytes, shapes, config->n_models);
    log_line(LOG_DEBUG, "serve", "KV pool: %s, units of %lld bytes", kv_kind_name(kind),
             (long long)out->unit_bytes);
    for (int i = 0; i < config->n_models && status == STATUS_OK; i++)
        status = cut(out, config->models[i].name, &shapes[i], &out->layouts[i], fault);
    if (status != STATUS_OK)
        return status;
    out->bounds = kv_cut_bounds_any(kind, out->layouts, config->n_models);
    return serve_kv_check(config, kind, out->layouts, out->unit_bytes, fault);
}

/* Checks that a block of it fits beside what always belongs to the others. */
static enum status check_joined(const struct serve_kv *kv, const struct config *config,
                                const struct config_model *model, const struct kv_layout *layout,
                                struct fault *fault)
{
    int64_t block_bytes = block_units(layout) * kv->unit_bytes, least = block_bytes;
    for (int i = 0; i < config->n_models; i++)
        least += floor_units(&config->models[i], kv->unit_bytes) * kv->unit_bytes;
    if (model->kv_bytes_max > 0 && model->kv_bytes_max < block_bytes)
        return fault_set(fault, STATUS_TOO_LARGE,
                         "model %.80s: kv.max is %lld bytes, and needs to be %lld at least",
                         model->name, (long long)model->kv_bytes_max, (long long)block_bytes);
    if (config->kv_bytes == 0 || config->kv_bytes >= least)
        return STATUS_OK;
    return fault_set(fault, STATUS_TOO_LARGE,
                     "kv_bytes is %lld, and model %.80s needs %lld at least to answer anything",
                     (long long)config->kv_bytes, model->name, (long long)least);
}

enum status serve_kv_join(const struct serve_kv *kv, const struct config *config,
                          const struct config_model *model, const struct kv_shape *shape,
                          struct kv_layout *layout, struct fault *fault)
{
    const char *name = model->name;
    if (kv->kind == KV_PRIVATE)
        return fault_set(fault, STATUS_UNSUPPORTED,
                         "model %.80s: with kv: private each model has a part of the pool that is "
                         "fixed at the start, so that none can join",
                         name);
    if (model->kv_bytes_min > 0)
        return fault_set(fault, STATUS_UNSUPPORTED,
                         "model %.80s: kv.min is laid out at the start, and none can be given to a "
                         "model that joins: leave it out, or restart",
                         name);
    enum status status = cut(kv, name, shape, layout, fault);
    if (status == STATUS_OK)
        status = check_joined(kv, config, model, layout, fault);
    const char *why =
        status == STATUS_OK ? kv_cut_refuse(kv->kind, &kv->bounds, kv->unit_bytes, layout) : NULL;
    return why == NULL ? status
                       : fault_set(fault, STATUS_TOO_LARGE,
                                   "model %.80s: %s: a restart with the model in the configuration "
                                   "makes them so",
                                   name, why);
}
