/* The interface: opens the model at a path and provides its data until it is closed. */
#include "weights/weights.h"
#include "weights/apart.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/mem.h"
#include "weights/bind.h"
#include "weights/foreign.h"
#include "weights/gguf.h"
#include "weights/gguf_card.h"
#include "weights/gguf_keys.h"
#include "weights/gguf_spec.h"
#include "weights/hf_bias.h"
#include "weights/hf_core.h"
#include "weights/hf_card.h"
#include "weights/hf_pooling.h"
#include "weights/hf_keys.h"
#include "weights/hf_rope.h"
#include "weights/hf_spec.h"
#include "weights/safetensors.h"
#include <stdio.h>
#include <string.h>

#define CONFIG_BYTES_MAX ((size_t)4 << 20)

struct weights {
    bool is_hf;
    struct weights_gguf gguf;       /* unless is_hf */
    struct weights_safetensors set; /* if is_hf */
    struct weights_hf_card hf_card; /* if is_hf */
    char format[32];
    const struct weights_architecture *architecture;
    const char *prefix; /* of its names of tensors */
    struct model_spec spec;
    struct model_weights model;
    struct weights_card card;
    struct weights_unknown unknown;
    struct weights_quantization quantization; /* if is_hf */
};

static const struct weights_catalog *catalog_of(const struct weights *weights)
{
    return weights->is_hf ? &weights->set.catalog : &weights->gguf.catalog;
}

static enum status bind(struct weights *weights, const struct weights_architecture *architecture,
                        struct fault *fault)
{
    struct weights_catalog *catalog =
        weights->is_hf ? &weights->set.catalog : &weights->gguf.catalog;
    weights->architecture = architecture;
    weights->prefix = weights_bind_prefix(architecture, weights->is_hf, catalog);
    return weights_bind(architecture, weights->is_hf, &weights->spec, catalog, &weights->model,
                        fault);
}

static enum status open_gguf(struct weights *weights, const char *path, struct fault *fault)
{
    const struct weights_architecture *architecture;
    enum status status = weights_gguf_open(&weights->gguf, path, fault);
    if (status != STATUS_OK)
        return status;
    snprintf(weights->format, sizeof(weights->format), "GGUF v%u", weights->gguf.version);
    status = weights_gguf_spec(&weights->gguf, &weights->spec, &architecture, fault);
    if (status == STATUS_OK)
        weights_gguf_keys_unknown(&weights->gguf, weights_names_gguf(architecture),
                                  architecture->name, &weights->gguf.pile, &weights->unknown);
    if (status == STATUS_OK)
        status = bind(weights, architecture, fault);
    if (status == STATUS_OK)
        status = weights_catalog_count(&weights->gguf.catalog, &weights->spec.n_parameters, fault);
    if (status == STATUS_OK)
        status =
            weights_gguf_card(&weights->gguf, weights->spec.n_vocabulary, &weights->card, fault);
    if (status != STATUS_OK)
        weights_gguf_close(&weights->gguf);
    return status;
}

static enum status bind_hf(struct weights *weights, const char *path,
                           const struct weights_hf_core *core,
                           const struct weights_architecture *architecture, struct fault *fault)
{
    const struct weights_json_node *config = core->config;
    const struct weights_json_from from = { config, "config.json", fault };
    enum status status = weights_hf_quantized(&from, architecture->hf_name, &weights->quantization);
    if (status == STATUS_OK)
        status = weights_safetensors_open(&weights->set, path, fault);
    weights->set.catalog.quantization = &weights->quantization;
    if (status == STATUS_OK)
        weights_apart_begin(&weights->set.catalog);
    if (status == STATUS_OK)
        weights_hf_core_skip(core, &weights->set.catalog);
    if (status == STATUS_OK)
        status = bind(weights, architecture, fault);
    if (status == STATUS_OK)
        status = weights_apart_check(&weights->set.catalog, fault);
    if (status == STATUS_OK)
        status = weights_catalog_count(&weights->set.catalog, &weights->spec.n_parameters, fault);
    if (status == STATUS_OK)
        weights_hf_keys_unknown(config, architecture->hf_name, &weights->set.pile,
                                &weights->unknown);
    if (status == STATUS_OK)
        status = weights_hf_bias_check(&from, architecture->hf_name, &weights->model);
    if (status == STATUS_OK)
        status = weights_hf_rope_factors(config, &weights->spec, weights->set.catalog.pile,
                                         &weights->model.rope_factors, fault);
    return status;
}

static enum status open_hf(struct weights *weights, const char *path, struct fault *fault)
{
    char config_path[4352];
    struct weights_json config = { 0 };
    struct weights_hf_core core;
    const struct weights_architecture *architecture;
    int n = snprintf(config_path, sizeof(config_path), "%s/config.json", path);
    if (n < 0 || n >= (int)sizeof(config_path))
        return fault_set(fault, STATUS_BAD_INPUT, "the path is too long");
    snprintf(weights->format, sizeof(weights->format), "safetensors");
    enum status status = weights_foreign_directory(path, fault);
    if (status == STATUS_OK)
        status = weights_json_open(&config, config_path, CONFIG_BYTES_MAX, "config.json", fault);
    if (status == STATUS_OK)
        status = weights_hf_core(config.nodes, &core, fault);
    if (status == STATUS_OK)
        status = weights_hf_spec(core.config, &weights->spec, &architecture, fault);
    if (status == STATUS_OK)
        status = weights_hf_pooling(path, &weights->spec, fault);
    if (status == STATUS_OK)
        status = bind_hf(weights, path, &core, architecture, fault);
    if (status == STATUS_OK)
        status = weights_hf_card_open(&weights->hf_card, path, config.nodes,
                                      weights->spec.n_vocabulary, &weights->card, fault);
    weights_json_close(&config);
    if (status != STATUS_OK)
        weights_safetensors_close(&weights->set);
    return status;
}

/* Names the card after its file when the model has no name of its own. */
static void name_card(struct weights_card *card, const char *path)
{
    if (card->name[0] != '\0')
        return;
    size_t end = strlen(path);
    while (end > 1 && path[end - 1] == '/')
        end--;
    size_t start = end;
    while (start > 0 && path[start - 1] != '/')
        start--;
    if (end - start > 5 && memcmp(path + end - 5, ".gguf", 5) == 0)
        end -= 5;
    if (utf8_is_valid(view_of(path + start, end - start)) && end - start < sizeof(card->name))
        snprintf(card->name, sizeof(card->name), "%.*s", (int)(end - start), path + start);
}

/* Models whose files say nothing: the last position of a decoder, the mean of an encoder. */
static void settle_pooling(struct model_spec *spec)
{
    if (spec->is_pooling_given)
        return;
    spec->pooling = spec->is_encoder ? POOLING_MEAN : POOLING_LAST;
    spec->is_normalized = true;
}

enum status weights_open(struct weights **out, const char *path, struct fault *fault)
{
    struct weights *weights = mem_take(sizeof(*weights));
    weights->is_hf = file_is_directory(path);
    enum status status =
        weights->is_hf ? open_hf(weights, path, fault) : open_gguf(weights, path, fault);
    *out = NULL;
    if (status != STATUS_OK) {
        mem_give(weights);
        return status;
    }
    name_card(&weights->card, path);
    settle_pooling(&weights->spec);
    *out = weights;
    return STATUS_OK;
}

void weights_close(struct weights *weights)
{
    if (weights == NULL)
        return;
    if (weights->is_hf) {
        weights_hf_card_close(&weights->hf_card);
        weights_safetensors_close(&weights->set);
    } else {
        weights_gguf_close(&weights->gguf);
    }
    mem_give(weights);
}

const struct model_spec *weights_spec(const struct weights *weights)
{
    return &weights->spec;
}

const struct model_weights *weights_model(const struct weights *weights)
{
    return &weights->model;
}

struct weights_naming weights_naming(const struct weights *weights)
{
    const struct weights_architecture *architecture = weights->architecture;
    const struct weights_names *names = weights->is_hf ? &architecture->hf : &architecture->gguf;
    return (struct weights_naming){ .is_hf = weights->is_hf,
                                    .architecture = weights_names_gguf(architecture),
                                    .prefix = weights->prefix,
                                    .prefixes = { names->prefixes[0], names->prefixes[1] },
                                    .rows = names->rows,
                                    .catalog = catalog_of(weights) };
}

const struct weights_card *weights_card(const struct weights *weights)
{
    return &weights->card;
}

const struct weights_unknown *weights_unknown_keys(const struct weights *weights)
{
    return &weights->unknown;
}

const char *weights_format(const struct weights *weights)
{
    return weights->format;
}

int64_t weights_file_bytes(const struct weights *weights)
{
    const struct weights_catalog *catalog = catalog_of(weights);
    uint64_t n_bytes = 0;
    for (int32_t i = 0; i < catalog->n; i++)
        n_bytes += catalog->at[i].n_bytes;
    return n_bytes < INT64_MAX ? (int64_t)n_bytes : INT64_MAX;
}

static uint64_t hash_rope(float base, const struct rope_scaling *scaling, uint64_t hash)
{
    char text[256];
    int n = snprintf(text, sizeof(text), "%a %d %a %a %a %d %a %d", (double)base,
                     (int)scaling->kind, (double)scaling->factor, (double)scaling->low_freq_factor,
                     (double)scaling->high_freq_factor, scaling->n_positions_original,
                     (double)scaling->attention_factor, scaling->is_long);
    CHECK(n > 0 && n < (int)sizeof(text));
    hash = hash_fast(text, (size_t)n, hash).low;
    if (scaling->kind != ROPE_SCALING_YARN)
        return hash;
    n = snprintf(text, sizeof(text), "%a %a %d", (double)scaling->beta_fast,
                 (double)scaling->beta_slow, scaling->is_untruncated);
    CHECK(n > 0 && n < (int)sizeof(text));
    return hash_fast(text, (size_t)n, hash).low;
}

static uint64_t hash_experts(const struct expert_spec *experts, uint64_t hash)
{
    const int32_t all[] = { experts->n_experts, experts->n_used, experts->width,
                            experts->is_scaled_to_one };
    hash = hash_fast(all, sizeof(all), hash).low;
    if (!experts->is_sigmoid && experts->n_groups <= 1 && experts->scale == 0)
        return hash;
    char text[96];
    int n = snprintf(text, sizeof(text), "%d %d %d %a", experts->is_sigmoid, experts->n_groups,
                     experts->n_groups_used, (double)experts->scale);
    CHECK(n > 0 && n < (int)sizeof(text));
    return hash_fast(text, (size_t)n, hash).low;
}

/* Adds what only some families have, so that the hashes of the others stay. */
static uint64_t hash_layers(const struct model_spec *spec, uint64_t hash)
{
    const bool bits[] = { spec->is_parallel, spec->has_no_pre_norms };
    bool is_unrotated = false;
    for (int32_t i = 0; i < spec->n_layers; i++)
        is_unrotated = is_unrotated || spec->is_unrotated_layer[i];
    if (bits[0] || bits[1])
        hash = hash_fast(bits, sizeof(bits), hash).low;
    if (is_unrotated)
        hash = hash_fast(spec->is_unrotated_layer, sizeof(spec->is_unrotated_layer), hash).low;
    const float caps[] = { spec->score_cap, spec->logit_cap, spec->act_limit };
    if (caps[0] != 0 || caps[1] != 0 || caps[2] != 0)
        hash = hash_fast(caps, sizeof(caps), hash).low;
    if (spec->n_dense_layers > 0)
        hash = hash_fast(spec->is_dense_layer, sizeof(spec->is_dense_layer), hash).low;
    const int32_t vector[] = { spec->pooling, spec->is_normalized, spec->n_types, spec->n_labels };
    if (spec->is_encoder || spec->pooling != POOLING_LAST || !spec->is_normalized)
        hash = hash_fast(vector, sizeof(vector), hash).low;
    if (spec->logit_scale != 1.0f)
        hash = hash_fast(&spec->logit_scale, sizeof(spec->logit_scale), hash).low;
    return hash;
}

/* Adds the spec to the hash: the same weights with another rotation are another model. */
static uint64_t hash_spec(const struct weights *weights, uint64_t hash)
{
    char text[256];
    const struct model_spec *spec = &weights->spec;
    const struct rope_scaling *scaling = &spec->rope_scaling;
    const struct tensor *factors = &weights->model.rope_factors;
    int n = snprintf(text, sizeof(text), "%s %d %d %d %d %d %d %d %a %a %d %a %a %a %d %a",
                     spec->architecture, spec->n_heads, spec->n_kv_heads, spec->window,
                     (int)spec->act, (int)spec->position, spec->n_rope_dims, spec->position_offset,
                     (double)spec->norm_epsilon, (double)spec->rope_base, (int)scaling->kind,
                     (double)scaling->factor, (double)scaling->low_freq_factor,
                     (double)scaling->high_freq_factor, scaling->n_positions_original,
                     (double)spec->embedding_scale);
    CHECK(n > 0 && n < (int)sizeof(text));
    hash = hash_fast(text, (size_t)n, hash).low;
    if (spec->experts.n_experts > 0)
        hash = hash_experts(&spec->experts, hash);
    if (spec->score_divisor != 0)
        hash = hash_fast(&spec->score_divisor, sizeof(spec->score_divisor), hash).low;
    bool has_attention = scaling->attention_factor != 0 && scaling->attention_factor != 1.0f;
    if (scaling->kind == ROPE_SCALING_LONG || scaling->kind == ROPE_SCALING_YARN || has_attention)
        hash = hash_rope(spec->rope_base, scaling, hash);
    if (scaling->kind == ROPE_SCALING_LONG)
        hash = hash_fast(factors->data, (size_t)factors->row_bytes, hash).low;
    hash = hash_layers(spec, hash);
    if (spec->n_full_layers == 0)
        return hash;
    hash = hash_fast(spec->is_full_layer, sizeof(spec->is_full_layer), hash).low;
    return hash_rope(spec->rope_base_full, &spec->rope_scaling_full, hash);
}

/* Adds what the values of quantized parts depend on, and the type that they are computed in. */
static uint64_t hash_quantization(const struct weights_quantization *q, uint64_t hash)
{
    const int32_t method[] = { (int32_t)q->method, q->zero_added };
    hash = hash_fast(method, sizeof(method), hash).low;
    for (int i = 0; i < q->n_schemes; i++) {
        const struct weights_scheme *scheme = &q->schemes[i];
        const int64_t all[] = { scheme->is_float, scheme->is_packed, scheme->is_symmetric,
                                scheme->n_bits,   scheme->row_group, scheme->group };
        hash = hash_fast(all, sizeof(all), hash).low;
    }
    return hash;
}

uint64_t weights_hash(const struct weights *weights)
{
    uint64_t hash = hash_spec(weights, 0);
    if (weights->quantization.method > WEIGHTS_MXFP4)
        hash = hash_quantization(&weights->quantization, hash);
    return hash + weights_catalog_hash(catalog_of(weights));
}

static uint64_t stamp_of(const struct file_map *maps, uint32_t n)
{
    uint64_t stamp = 0;
    for (uint32_t i = 0; maps != NULL && i < n; i++) {
        const int64_t facts[] = { (int64_t)maps[i].n_bytes, maps[i].changed_ns };
        stamp = hash_fast(facts, sizeof facts, stamp).low;
    }
    return stamp;
}

uint64_t weights_stamp(const struct weights *weights)
{
    const uint64_t both[] = { stamp_of(weights->gguf.maps, weights->gguf.n_parts),
                              stamp_of(weights->set.maps, weights->set.n_parts) };
    return hash_fast(both, sizeof both, 0).low;
}

bool weights_are_whole(const struct weights *weights)
{
    bool are_whole = true;
    for (uint32_t i = 0; weights->gguf.maps != NULL && i < weights->gguf.n_parts; i++)
        are_whole = are_whole && file_map_is_whole(&weights->gguf.maps[i]);
    for (uint32_t i = 0; i < weights->set.n_parts; i++)
        are_whole = are_whole && file_map_is_whole(&weights->set.maps[i]);
    return are_whole;
}

static bool drop_in(const struct file_map *map, uintptr_t start, size_t n_bytes)
{
    uintptr_t base = (uintptr_t)map->at;
    if (map->at == NULL || start < base || start - base > map->n_bytes ||
        n_bytes > map->n_bytes - (start - base))
        return false;
    file_map_drop(map, start - base, n_bytes);
    return true;
}

static void drop_bytes(const struct weights *weights, const void *data, size_t n_bytes)
{
    for (uint32_t i = 0; weights->gguf.maps != NULL && i < weights->gguf.n_parts; i++)
        if (drop_in(&weights->gguf.maps[i], (uintptr_t)data, n_bytes))
            return;
    for (uint32_t i = 0; i < weights->set.n_parts; i++)
        if (drop_in(&weights->set.maps[i], (uintptr_t)data, n_bytes))
            return;
}

/* A matrix whose rows take turns with another one's gives back the pages of both. The other one
 * may read them again. */
void weights_drop(const struct weights *weights, const struct tensor *tensor)
{
    int64_t n_stored = tensor->is_transposed ? tensor->n_columns : tensor->n_rows;
    int64_t row =
        dtype_row_bytes(tensor->dtype, tensor->is_transposed ? tensor->n_rows : tensor->n_columns);
    if (tensor->data == NULL || n_stored < 1)
        return;
    if (tensor->apart != NULL) {
        struct weights_apart_piece pieces[2];
        int n = weights_apart_pieces(tensor, pieces);
        for (int i = 0; i < n; i++)
            drop_bytes(weights, pieces[i].at, pieces[i].n_bytes);
        return;
    }
    if (row != tensor->row_bytes && !(tensor->is_alternate && 2 * row == tensor->row_bytes))
        return; /* some columns of each row: it shares its pages */
    drop_bytes(weights, tensor->data, (size_t)((n_stored - 1) * tensor->row_bytes + row));
}
