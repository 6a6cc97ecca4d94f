/* Opens LoRA adapters: finds a pair of tensors for each matrix of the model, by the names that the
 * model's own file gives the matrices. */
#include "weights/adapter.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/mem.h"
#include "weights/adapter_config.h"
#include "weights/bind.h"
#include "weights/cut.h"
#include "weights/gguf.h"
#include "weights/gguf_meta.h"
#include "weights/safetensors.h"
#include <stdio.h>
#include <string.h>

#define PATH_BYTES_MAX 4352
#define PEFT_PREFIX    "base_model.model."

struct weights_adapter {
    bool is_hf, is_open;
    struct weights_gguf gguf;             /* unless is_hf */
    struct weights_safetensors set;       /* if is_hf */
    struct weights_adapter_config config; /* if is_hf */
    float alpha;                          /* unless is_hf */
    struct weights_adapter_pair *pairs;   /* (n_layers, WEIGHTS_ADAPTED_N) */
    int32_t n_layers, rank;
    uint64_t scales; /* their hash */
};

/* The matrices that a row of names stands for; their rows lie one above the other. */
struct target {
    int32_t layer;
    int n;
    uint8_t parts[3]; /* enum weights_adapted */
    bool is_by_heads;
    const char *module; /* the matrix's name without ".weight" */
};

struct finder {
    struct weights_adapter *adapter;
    struct weights_catalog *catalog; /* of the adapter */
    struct weights_naming naming;
    const struct model_spec *spec;
    const struct model_weights *model;
    struct fault *fault;
};

const struct tensor *weights_adapter_target(const struct model_weights *model, int32_t layer,
                                            enum weights_adapted matrix)
{
    const struct layer_weights *w = &model->layers[layer];
    const struct tensor *const all[WEIGHTS_ADAPTED_N] = { &w->q,    &w->k,  &w->v,   &w->o,
                                                          &w->gate, &w->up, &w->down };
    return all[matrix];
}

/* Sets the parts of a row of names. Returns false for a row of other tensors. */
static bool parts_of(const struct weights_name *row, struct target *target)
{
    static const struct {
        uint8_t role, n, parts[3];
    } roles[] = {
        { WEIGHTS_Q, 1, { WEIGHTS_ADAPTED_Q } },
        { WEIGHTS_K, 1, { WEIGHTS_ADAPTED_K } },
        { WEIGHTS_V, 1, { WEIGHTS_ADAPTED_V } },
        { WEIGHTS_O, 1, { WEIGHTS_ADAPTED_O } },
        { WEIGHTS_GATE, 1, { WEIGHTS_ADAPTED_GATE } },
        { WEIGHTS_UP, 1, { WEIGHTS_ADAPTED_UP } },
        { WEIGHTS_DOWN, 1, { WEIGHTS_ADAPTED_DOWN } },
        { WEIGHTS_QKV, 3, { WEIGHTS_ADAPTED_Q, WEIGHTS_ADAPTED_K, WEIGHTS_ADAPTED_V } },
        { WEIGHTS_GATE_UP, 2, { WEIGHTS_ADAPTED_GATE, WEIGHTS_ADAPTED_UP } },
    };
    for (size_t i = 0; i < COUNT_OF(roles) && !(row->flags & WEIGHTS_NAME_IGNORED); i++)
        if (roles[i].role == row->role) {
            target->n = roles[i].n;
            memcpy(target->parts, roles[i].parts, sizeof(target->parts));
            target->is_by_heads = row->flags & WEIGHTS_NAME_BY_HEADS;
            return true;
        }
    return false;
}

/* Finds a tensor of the pair. PEFT names modules of the library's model, whose names may begin with
 * either prefix of the table, whatever the model's own file uses. */
static struct weights_entry *find(const struct finder *f, const char *module, bool is_up)
{
    char name[2 * CATALOG_NAME_BYTES];
    if (f->adapter->is_hf)
        snprintf(name, sizeof(name), PEFT_PREFIX "%s.lora_%s.weight", module, is_up ? "B" : "A");
    else
        snprintf(name, sizeof(name), "%s.weight.lora_%s", module, is_up ? "b" : "a");
    return weights_catalog_find(f->catalog, name);
}

static enum status check_dims(const struct finder *f, const struct weights_entry *entry,
                              int64_t columns, int64_t rows)
{
    char found[96];
    if (entry->dtype == DTYPE_N)
        return fault_set(f->fault, STATUS_UNSUPPORTED,
                         "%s: tensor %s has type %s, which is not supported", f->catalog->label,
                         entry->name, entry->type);
    if (entry->dims[0] == columns && entry->dims[1] == rows && entry->dims[2] == 1 &&
        entry->dims[3] == 1)
        return STATUS_OK;
    weights_catalog_print_dims(entry, found, sizeof(found));
    return fault_set(f->fault, STATUS_BAD_INPUT,
                     "%s: tensor %s has shape %s, and the model needs (%lld, %lld): is the adapter "
                     "of another model?",
                     f->catalog->label, entry->name, found, (long long)rows, (long long)columns);
}

static int64_t rows_of(const struct finder *f, const struct target *target)
{
    int64_t n = 0;
    for (int i = 0; i < target->n; i++)
        n += weights_adapter_target(f->model, target->layer, target->parts[i])->n_rows;
    return n;
}

/* Cuts the fused rows of `up`, as the model's matrix was cut. */
static enum status place(const struct finder *f, const struct target *target,
                         const struct weights_adapter_pair *whole)
{
    struct weights_adapter_pair *pairs =
        f->adapter->pairs + (size_t)target->layer * WEIGHTS_ADAPTED_N;
    int32_t n_queries = f->spec->n_heads / f->spec->n_kv_heads;
    bool is_by_heads = target->n == 3 && target->is_by_heads && f->spec->n_kv_heads > 1;
    int64_t first = 0;
    for (int i = 0; i < target->n; i++) {
        struct weights_adapter_pair *pair = &pairs[target->parts[i]];
        int64_t n = weights_adapter_target(f->model, target->layer, target->parts[i])->n_rows;
        if (pair->down.data != NULL)
            return fault_set(f->fault, STATUS_UNSUPPORTED,
                             "%s: %s has a second pair of tensors in another form",
                             f->catalog->label, target->module);
        *pair = *whole;
        if (is_by_heads)
            pair->up = weights_cut_heads(&whole->up, f->spec, false, i == 0 ? 0 : n_queries + i - 1,
                                         i == 0 ? n_queries : 1, f->catalog->pile);
        else if (target->n > 1)
            pair->up = weights_cut(&whole->up, false, first, n);
        first += n;
    }
    return STATUS_OK;
}

static enum status scale_of(const struct finder *f, const char *module, int32_t rank, float *scale)
{
    struct weights_adapter *adapter = f->adapter;
    if (adapter->is_hf)
        return weights_adapter_config_scale(&adapter->config, module, rank, scale, f->fault);
    *scale = adapter->alpha != 0 ? adapter->alpha / (float)rank : 1.0f;
    return STATUS_OK;
}

/* Takes the pair of a target, if the adapter has one. */
static enum status take_pair(const struct finder *f, const struct target *target)
{
    struct weights_entry *down = find(f, target->module, false),
                         *up = find(f, target->module, true);
    if (down == NULL && up == NULL)
        return STATUS_OK;
    if (down == NULL || up == NULL)
        return fault_set(f->fault, STATUS_BAD_INPUT, "%s: tensor %s has no partner for %s",
                         f->catalog->label, (down != NULL ? down : up)->name,
                         down != NULL ? "the way up" : "the way down");
    int64_t rank = down->dims[1];
    if (rank > LIMIT_ADAPTER_RANK)
        return fault_set(f->fault, STATUS_TOO_LARGE,
                         "%s: tensor %s has rank %lld, and at most %d "
                         "is supported",
                         f->catalog->label, down->name, (long long)rank, LIMIT_ADAPTER_RANK);
    int64_t n_in = weights_adapter_target(f->model, target->layer, target->parts[0])->n_columns;
    enum status status = check_dims(f, down, n_in, rank);
    if (status == STATUS_OK)
        status = check_dims(f, up, rank, rows_of(f, target));
    struct weights_adapter_pair pair = { .scale = 0 };
    if (status == STATUS_OK)
        status = scale_of(f, target->module, (int32_t)rank, &pair.scale);
    if (status != STATUS_OK)
        return status;
    pair.down = weights_catalog_tensor(down);
    pair.up = weights_catalog_tensor(up);
    if (target->n > 1 && dtype_info(pair.up.dtype)->n_block != 1)
        return fault_set(f->fault, STATUS_UNSUPPORTED,
                         "%s: tensor %s is %s, here F32, F16 or BF16 are read", f->catalog->label,
                         up->name, up->type);
    down->is_used = up->is_used = true;
    f->adapter->rank = max_i32(f->adapter->rank, (int32_t)rank);
    f->adapter->scales = hash_fast(&pair.scale, sizeof(pair.scale), f->adapter->scales).low;
    return place(f, target, &pair);
}

/* Returns whether the model's own file has the matrix under this name, in any form. */
static bool is_in_model(const struct finder *f, const char *module)
{
    static const char *const ends[] = { ".weight", ".qweight", ".weight_packed" };
    char name[2 * CATALOG_NAME_BYTES];
    for (size_t i = 0; i < COUNT_OF(ends); i++) {
        snprintf(name, sizeof(name), "%s%s", module, ends[i]);
        if (weights_catalog_find(f->naming.catalog, name) != NULL)
            return true;
    }
    return false;
}

/* Takes the pairs of one row of names and one layer. */
static enum status take_row(const struct finder *f, const struct weights_name *row, int32_t layer)
{
    struct target target = { .layer = layer };
    char name[CATALOG_NAME_BYTES];
    if (!parts_of(row, &target))
        return STATUS_OK;
    weights_names_print(row->pattern, f->naming.prefix, layer, 0, name);
    size_t n = strlen(name), n_end = strlen(".weight");
    if (n <= n_end || strcmp(name + n - n_end, ".weight") != 0)
        return STATUS_OK;
    name[n - n_end] = '\0';
    target.module = name;
    bool is_there = is_in_model(f, name);
    for (int i = 0; i < target.n; i++)
        is_there =
            is_there && weights_adapter_target(f->model, layer, target.parts[i])->data != NULL;
    if (!is_there)
        return STATUS_OK;
    char other[CATALOG_NAME_BYTES];
    enum status status = take_pair(f, &target);
    for (size_t i = 0; f->adapter->is_hf && status == STATUS_OK && i < 2; i++) {
        const char *prefix = f->naming.prefixes[i];
        if (prefix == NULL || strcmp(prefix, f->naming.prefix) == 0)
            continue;
        weights_names_print(row->pattern, prefix, layer, 0, other);
        other[strlen(other) - n_end] = '\0';
        target.module = other;
        if (strcmp(other, name) != 0)
            status = take_pair(f, &target);
    }
    return status;
}

static enum status check_all_used(const struct finder *f)
{
    for (int32_t i = 0; i < f->catalog->n; i++)
        if (!f->catalog->at[i].is_used)
            return fault_set(f->fault, STATUS_UNSUPPORTED,
                             "%s: tensor %.100s is not of a matrix that adapters may change here: "
                             "those of attention and of feed-forwards without experts",
                             f->catalog->label, f->catalog->at[i].name);
    if (f->adapter->rank == 0)
        return fault_set(f->fault, STATUS_BAD_INPUT, "%s: it has no tensors", f->catalog->label);
    return STATUS_OK;
}

static enum status find_pairs(struct finder *f)
{
    const struct weights_name *row = f->naming.rows;
    enum status status = STATUS_OK;
    for (; row->pattern != NULL && status == STATUS_OK; row++)
        for (int32_t layer = 0; layer < f->spec->n_layers && status == STATUS_OK; layer++)
            status = take_row(f, row, layer);
    return status == STATUS_OK ? check_all_used(f) : status;
}

static enum status open_peft(struct weights_adapter *adapter, const char *path, struct fault *fault)
{
    enum status status = weights_adapter_config_open(&adapter->config, path, fault);
    if (status == STATUS_OK)
        status =
            weights_safetensors_open_file(&adapter->set, path, "adapter_model.safetensors", fault);
    adapter->is_open = status == STATUS_OK;
    return status;
}

static enum status check_text(const struct weights_gguf *gguf, const char *key, const char *wanted,
                              struct fault *fault)
{
    struct view found = { NULL, 0 };
    enum status status = weights_gguf_meta_text(gguf, key, &found, fault);
    if (status != STATUS_OK || view_equal_text(found, wanted))
        return status;
    return fault_set(fault, STATUS_UNSUPPORTED, "%s: %s is \"%.*s\", and only \"%s\" fits here",
                     gguf->label, key, (int)min_i64((int64_t)found.n, 60), found.at, wanted);
}

static enum status open_gguf(struct weights_adapter *adapter, const char *path,
                             const char *architecture, struct fault *fault)
{
    struct weights_gguf *gguf = &adapter->gguf;
    enum status status = weights_gguf_open(gguf, path, fault);
    if (status != STATUS_OK)
        return status;
    adapter->is_open = true;
    status = check_text(gguf, "general.type", "adapter", fault);
    if (status == STATUS_OK)
        status = check_text(gguf, "adapter.type", "lora", fault);
    if (status == STATUS_OK)
        status = check_text(gguf, "general.architecture", architecture, fault);
    if (status == STATUS_OK && weights_gguf_meta_find(gguf, "adapter.alora.invocation_tokens"))
        return fault_set(fault, STATUS_UNSUPPORTED,
                         "%s: an activated LoRA (adapter.alora.invocation_tokens) is not supported",
                         gguf->label);
    if (status == STATUS_OK)
        status = weights_gguf_meta_f32(gguf, "adapter.lora.alpha", &adapter->alpha, fault);
    if (status == STATUS_OK && !(adapter->alpha >= -1e6f && adapter->alpha <= 1e6f))
        return fault_set(fault, STATUS_BAD_INPUT,
                         "%s: adapter.lora.alpha is not a number from -1e6 to 1e6", gguf->label);
    return status;
}

enum status weights_adapter_open(struct weights_adapter **out, const char *path,
                                 const struct weights *model, struct fault *fault)
{
    char config[PATH_BYTES_MAX];
    struct weights_naming naming = weights_naming(model);
    const struct model_spec *spec = weights_spec(model);
    int n = snprintf(config, sizeof(config), "%s/adapter_config.json", path);
    *out = NULL;
    if (n < 0 || n >= (int)sizeof(config))
        return fault_set(fault, STATUS_BAD_INPUT, "the path of an adapter is too long");
    if (spec->latent.rank > 0 || spec->is_encoder)
        return fault_set(fault, STATUS_UNSUPPORTED, "%.120s: adapters of %s are not supported",
                         path,
                         spec->is_encoder ? "encoders" : "models with latent attention (MLA)");
    bool is_hf = file_exists(config);
    if (!is_hf && !file_exists(path))
        return fault_set(fault, STATUS_NOT_FOUND, "there is no adapter at %.150s", path);
    if (is_hf != naming.is_hf)
        return fault_set(fault, STATUS_UNSUPPORTED,
                         is_hf
                             ? "%.150s is an adapter of PEFT, and its model is a GGUF file: "
                               "convert it with llama.cpp's convert_lora_to_gguf.py"
                             : "%.150s is no directory with adapter_config.json, as an adapter of "
                               "a directory of safetensors has to be",
                         path);
    struct weights_adapter *adapter = mem_take(sizeof(*adapter));
    adapter->is_hf = is_hf;
    enum status status = is_hf ? open_peft(adapter, path, fault)
                               : open_gguf(adapter, path, naming.architecture, fault);
    if (status == STATUS_OK) {
        struct finder f = { adapter,
                            is_hf ? &adapter->set.catalog : &adapter->gguf.catalog,
                            naming,
                            spec,
                            weights_model(model),
                            fault };
        adapter->n_layers = spec->n_layers;
        adapter->pairs =
            mem_take(sizeof(*adapter->pairs) * (size_t)spec->n_layers * WEIGHTS_ADAPTED_N);
        status = find_pairs(&f);
    }
    if (status != STATUS_OK) {
        weights_adapter_close(adapter);
        return status;
    }
    *out = adapter;
    return STATUS_OK;
}

void weights_adapter_close(struct weights_adapter *adapter)
{
    if (adapter == NULL)
        return;
    if (adapter->is_open && adapter->is_hf)
        weights_safetensors_close(&adapter->set);
    else if (adapter->is_open)
        weights_gguf_close(&adapter->gguf);
    weights_adapter_config_close(&adapter->config);
    mem_give(adapter->pairs);
    mem_give(adapter);
}

const struct weights_adapter_pair *weights_adapter_at(const struct weights_adapter *adapter,
                                                      int32_t layer, enum weights_adapted matrix)
{
    CHECK(layer >= 0 && layer < adapter->n_layers);
    return &adapter->pairs[(size_t)layer * WEIGHTS_ADAPTED_N + matrix];
}

int32_t weights_adapter_rank(const struct weights_adapter *adapter)
{
    return adapter->rank;
}

uint64_t weights_adapter_hash(const struct weights_adapter *adapter)
{
    const struct weights_catalog *catalog =
        adapter->is_hf ? &adapter->set.catalog : &adapter->gguf.catalog;
    return weights_catalog_hash(catalog) + adapter->scales;
}

bool weights_adapter_is_whole(const struct weights_adapter *adapter)
{
    if (adapter->is_hf)
        return file_map_is_whole(&adapter->set.maps[0]);
    bool is_whole = true;
    for (uint32_t i = 0; i < adapter->gguf.n_parts; i++)
        is_whole = is_whole && file_map_is_whole(&adapter->gguf.maps[i]);
    return is_whole;
}
