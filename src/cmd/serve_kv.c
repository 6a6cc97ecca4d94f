/* Reckons what a pool has to have before it has a block of every model. */
#include "cmd/serve_kv.h"

#include "base/log.h"

static const int64_t UNIT_BYTES_MAX = INT64_C(16) << 20; /* of a merged block */

/* Units of one block. */
static int64_t block_units(const struct kv_layout *layout)
{
    return max_i32(layout->units_per_block, 1);
}

/* Units that are always the model's own, as kv_open has them. */
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

struct kv_shape serve_kv_shape(const struct model_spec *spec, enum dtype dtype)
{
    return (struct kv_shape){ model_spec_kv_bytes_per_token(spec, dtype),
                              spec->n_layers * spec->n_kv_heads };
}

enum status serve_kv_choose(const struct config *config, enum kv_kind kind,
                            const struct kv_shape *shapes, struct kv_layout *layouts,
                            int64_t *unit_bytes, struct fault *fault)
{
    double waste;
    *unit_bytes = kv_choose(kind, config->n_models, shapes, UNIT_BYTES_MAX, layouts, &waste);
    log_line(LOG_DEBUG, "serve", "KV pool: %s, units of %lld bytes waste at most %.1f%%",
             kv_kind_name(kind), (long long)*unit_bytes, waste * 100.0);
    return serve_kv_check(config, kind, layouts, *unit_bytes, fault);
}
