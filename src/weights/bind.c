/* From tensors by name to tensors by role. Each tensor is looked up, its shape is compared with the
 * spec, and fused matrices are cut.
 *
 * A fused matrix (q over k over v, gate over up) is cut between rows, so blocks stay whole. In a
 * transposed one (GPT-2's Conv1D) its rows are columns, and a part begins some columns further in.
 * So only types of one element per block may be stored transposed. */
#include "weights/bind.h"
#include "weights/apart.h"
#include "weights/bind_end.h"
#include "weights/bind_latent.h"
#include "weights/cut.h"
#include <stdio.h>
#include <string.h>

enum extent {
    ONE,
    WIDTH,
    Q,
    KV,
    Q_NORM, /* a head, or all heads together */
    K_NORM,
    FFN,
    VOCABULARY,
    POSITIONS,
    ROPE,
    QKV,
    FFN_TWICE,
    HEADS,
    EXPERTS,
    EXPERT_FFN,
    EXPERT_FFN_TWICE,
    TYPES,
    LABELS,
    Q_SOURCE, /* that queries are made of */
    Q_RANK,
    RANK,
    RANK_ROPE, /* a latent and the key's rotated part */
    KEY_DIM,
    VALUE_DIM,
    KEYS_VALUES, /* of all heads */
    VALUES,
};

#define MODEL(field)  offsetof(struct model_weights, field)
#define LAYER(field)  offsetof(struct layer_weights, field)
#define EXPERT(field) offsetof(struct expert_weights, field)

static const struct {
    size_t at; /* offset of the struct tensor, in the model, a layer or an expert */
    uint8_t rows, columns;
} roles[WEIGHTS_ROLE_N] = {
    [WEIGHTS_TOKEN_EMBEDDING] = { MODEL(token_embedding), VOCABULARY, WIDTH },
    [WEIGHTS_POSITION_EMBEDDING] = { MODEL(position_embedding), POSITIONS, WIDTH },
    [WEIGHTS_TYPE_EMBEDDING] = { 0, TYPES, WIDTH },
    [WEIGHTS_EMBEDDING_NORM] = { MODEL(embedding_norm), ONE, WIDTH },
    [WEIGHTS_EMBEDDING_NORM_BIAS] = { MODEL(embedding_norm_bias), ONE, WIDTH },
    [WEIGHTS_POOLER] = { MODEL(pooler), WIDTH, WIDTH },
    [WEIGHTS_POOLER_BIAS] = { MODEL(pooler_bias), ONE, WIDTH },
    [WEIGHTS_LABELS] = { MODEL(labels), LABELS, WIDTH },
    [WEIGHTS_LABELS_BIAS] = { MODEL(labels_bias), ONE, LABELS },
    [WEIGHTS_OUTPUT_NORM] = { MODEL(output_norm), ONE, WIDTH },
    [WEIGHTS_OUTPUT_NORM_BIAS] = { MODEL(output_norm_bias), ONE, WIDTH },
    [WEIGHTS_OUTPUT] = { MODEL(output), VOCABULARY, WIDTH },
    [WEIGHTS_OUTPUT_BIAS] = { MODEL(output_bias), ONE, VOCABULARY },
    [WEIGHTS_ROPE_FACTORS] = { MODEL(rope_factors), ONE, ROPE },
    [WEIGHTS_ROPE_FACTORS_LONG] = { MODEL(rope_factors), ONE, ROPE },
    [WEIGHTS_ATTENTION_NORM] = { LAYER(attention_norm), ONE, WIDTH },
    [WEIGHTS_ATTENTION_NORM_BIAS] = { LAYER(attention_norm_bias), ONE, WIDTH },
    [WEIGHTS_Q] = { LAYER(q), Q, Q_SOURCE },
    [WEIGHTS_K] = { LAYER(k), KV, WIDTH },
    [WEIGHTS_V] = { LAYER(v), KV, WIDTH },
    [WEIGHTS_Q_BIAS] = { LAYER(q_bias), ONE, Q },
    [WEIGHTS_K_BIAS] = { LAYER(k_bias), ONE, KV },
    [WEIGHTS_V_BIAS] = { LAYER(v_bias), ONE, KV },
    [WEIGHTS_Q_NORM] = { LAYER(q_norm), ONE, Q_NORM },
    [WEIGHTS_K_NORM] = { LAYER(k_norm), ONE, K_NORM },
    [WEIGHTS_O] = { LAYER(o), WIDTH, VALUES },
    [WEIGHTS_O_BIAS] = { LAYER(o_bias), ONE, WIDTH },
    [WEIGHTS_FFN_NORM] = { LAYER(ffn_norm), ONE, WIDTH },
    [WEIGHTS_FFN_NORM_BIAS] = { LAYER(ffn_norm_bias), ONE, WIDTH },
    [WEIGHTS_GATE] = { LAYER(gate), FFN, WIDTH },
    [WEIGHTS_UP] = { LAYER(up), FFN, WIDTH },
    [WEIGHTS_GATE_BIAS] = { LAYER(gate_bias), ONE, FFN },
    [WEIGHTS_UP_BIAS] = { LAYER(up_bias), ONE, FFN },
    [WEIGHTS_DOWN] = { LAYER(down), WIDTH, FFN },
    [WEIGHTS_DOWN_BIAS] = { LAYER(down_bias), ONE, WIDTH },
    [WEIGHTS_QKV] = { 0, QKV, WIDTH },
    [WEIGHTS_QKV_BIAS] = { 0, ONE, QKV },
    [WEIGHTS_GATE_UP] = { 0, FFN_TWICE, WIDTH },
    [WEIGHTS_ATTENTION_POST_NORM] = { LAYER(attention_post_norm), ONE, WIDTH },
    [WEIGHTS_FFN_POST_NORM] = { LAYER(ffn_post_norm), ONE, WIDTH },
    [WEIGHTS_SINKS] = { LAYER(sinks), ONE, HEADS },
    [WEIGHTS_Q_A] = { LAYER(q_a), Q_RANK, WIDTH },
    [WEIGHTS_Q_A_NORM] = { LAYER(q_a_norm), ONE, Q_RANK },
    [WEIGHTS_KV_A] = { LAYER(k), RANK_ROPE, WIDTH },
    [WEIGHTS_LATENT_NORM] = { LAYER(latent_norm), ONE, RANK },
    [WEIGHTS_KV_B] = { 0, KEYS_VALUES, RANK },
    [WEIGHTS_K_B] = { 0, RANK, KEY_DIM },
    [WEIGHTS_V_B] = { 0, VALUE_DIM, RANK },
    [WEIGHTS_ROUTER_BIAS] = { LAYER(router_bias), ONE, EXPERTS },
    [WEIGHTS_CHOICE_BIAS] = { LAYER(choice_bias), ONE, EXPERTS },
    [WEIGHTS_ROUTER] = { LAYER(router), EXPERTS, WIDTH },
    [WEIGHTS_SHARED_GATE] = { LAYER(shared_gate), ONE, WIDTH },
    [WEIGHTS_EXPERT_GATE] = { EXPERT(gate), EXPERT_FFN, WIDTH },
    [WEIGHTS_EXPERT_UP] = { EXPERT(up), EXPERT_FFN, WIDTH },
    [WEIGHTS_EXPERT_DOWN] = { EXPERT(down), WIDTH, EXPERT_FFN },
    [WEIGHTS_EXPERT_GATE_BIAS] = { EXPERT(gate_bias), ONE, EXPERT_FFN },
    [WEIGHTS_EXPERT_UP_BIAS] = { EXPERT(up_bias), ONE, EXPERT_FFN },
    [WEIGHTS_EXPERT_DOWN_BIAS] = { EXPERT(down_bias), ONE, WIDTH },
    [WEIGHTS_EXPERT_GATE_UP] = { 0, EXPERT_FFN_TWICE, WIDTH },
    [WEIGHTS_EXPERT_GATE_UP_BIAS] = { 0, ONE, EXPERT_FFN_TWICE },
};

/* Fused roles, with the roles of their parts in order. WEIGHTS_ROLE_N ends a short row. */
static const struct {
    uint8_t role, parts[3];
} fused[] = {
    { WEIGHTS_QKV, { WEIGHTS_Q, WEIGHTS_K, WEIGHTS_V } },
    { WEIGHTS_QKV_BIAS, { WEIGHTS_Q_BIAS, WEIGHTS_K_BIAS, WEIGHTS_V_BIAS } },
    { WEIGHTS_GATE_UP, { WEIGHTS_GATE, WEIGHTS_UP, WEIGHTS_ROLE_N } },
    { WEIGHTS_EXPERT_GATE_UP, { WEIGHTS_EXPERT_GATE, WEIGHTS_EXPERT_UP, WEIGHTS_ROLE_N } },
    { WEIGHTS_EXPERT_GATE_UP_BIAS,
      { WEIGHTS_EXPERT_GATE_BIAS, WEIGHTS_EXPERT_UP_BIAS, WEIGHTS_ROLE_N } },
};

struct binder {
    const struct model_spec *spec;
    struct weights_catalog *catalog;
    struct model_weights *model;
    const char *prefix;
    struct fault *fault;
    int layer; /* that is bound now */
    bool is_hf;
};

static int32_t ffn_width(const struct binder *b)
{
    return b->spec->is_dense_layer[b->layer] ? b->spec->dense_width : b->spec->ffn_width;
}

static int64_t size_of(const struct binder *b, uint8_t extent)
{
    const struct model_spec *spec = b->spec;
    const struct latent_spec *latent = &spec->latent;
    int64_t q = (int64_t)spec->n_heads *
                (latent->rank > 0 ? latent->key_dim + spec->n_rope_dims : spec->head_dim);
    int64_t kv = (int64_t)spec->n_kv_heads * spec->head_dim;
    switch ((enum extent)extent) {
    case ONE:
        return 1;
    case WIDTH:
        return spec->width;
    case Q:
        return q;
    case KV:
        return kv;
    case Q_NORM:
        return spec->norms_heads_together ? q : spec->head_dim;
    case K_NORM:
        return spec->norms_heads_together ? kv : spec->head_dim;
    case FFN:
        return ffn_width(b);
    case VOCABULARY:
        return spec->n_vocabulary;
    case POSITIONS:
        return (int64_t)spec->n_positions_max + spec->position_offset;
    case ROPE:
        return spec->n_rope_dims / 2;
    case QKV:
        return q + 2 * kv;
    case FFN_TWICE:
        return 2 * (int64_t)ffn_width(b);
    case HEADS:
        return spec->n_heads;
    case EXPERTS:
        return spec->experts.n_experts;
    case EXPERT_FFN:
        return spec->experts.width;
    case EXPERT_FFN_TWICE:
        return 2 * (int64_t)spec->experts.width;
    case TYPES:
        return spec->n_types;
    case LABELS:
        return spec->n_labels;
    case Q_SOURCE:
        return latent->query_rank > 0 ? latent->query_rank : spec->width;
    case Q_RANK:
        return latent->query_rank;
    case RANK:
        return latent->rank;
    case RANK_ROPE:
        return (int64_t)latent->rank + spec->n_rope_dims;
    case KEY_DIM:
        return latent->key_dim;
    case VALUE_DIM:
        return latent->value_dim;
    case KEYS_VALUES:
        return (int64_t)spec->n_heads * (latent->key_dim + latent->value_dim);
    case VALUES:
        return latent->rank > 0 ? (int64_t)spec->n_heads * latent->value_dim : q;
    }
    return 0;
}

/* The layer and the expert that a tensor belongs to. */
struct owner {
    int layer, expert;
};

static const struct weights_names *names_of(const struct weights_architecture *architecture,
                                            bool is_hf)
{
    return is_hf ? &architecture->hf : &architecture->gguf;
}

/* Returns the prefix with which the token embedding is found; the first prefix when there is
 * none. */
static const char *find_prefix(const struct weights_names *names,
                               const struct weights_catalog *catalog)
{
    char name[CATALOG_NAME_BYTES];
    CHECK(names->rows[0].role == WEIGHTS_TOKEN_EMBEDDING);
    for (size_t i = 0; i < COUNT_OF(names->prefixes) && names->prefixes[i] != NULL; i++) {
        weights_names_print(names->rows[0].pattern, names->prefixes[i], 0, 0, name);
        if (weights_catalog_find(catalog, name) != NULL)
            return names->prefixes[i];
    }
    return names->prefixes[0];
}

const char *weights_bind_prefix(const struct weights_architecture *architecture, bool is_hf,
                                const struct weights_catalog *catalog)
{
    return find_prefix(names_of(architecture, is_hf), catalog);
}

struct weights_entry *weights_bind_entry(const struct weights_architecture *architecture,
                                         bool is_hf, enum weights_role role,
                                         const struct weights_catalog *catalog)
{
    char name[CATALOG_NAME_BYTES];
    const struct weights_names *names = names_of(architecture, is_hf);
    const char *prefix = find_prefix(names, catalog);
    for (const struct weights_name *row = names->rows; row->pattern != NULL; row++)
        if (row->role == role && !(row->flags & WEIGHTS_NAME_IGNORED)) {
            weights_names_print(row->pattern, prefix, 0, 0, name);
            return weights_catalog_find(catalog, name);
        }
    return NULL;
}

static struct tensor *place_of(struct binder *b, uint8_t role, struct owner owner)
{
    struct layer_weights *layer = &b->model->layers[owner.layer];
    char *base = role >= WEIGHTS_EXPERT_GATE      ? (char *)&layer->experts[owner.expert]
                 : role >= WEIGHTS_ATTENTION_NORM ? (char *)layer
                                                  : (char *)b->model;
    return (struct tensor *)(void *)(base + roles[role].at);
}

/* `n_stacked` matrices are in one tensor; 1: it is the matrix itself. */
static enum status check_shape(struct binder *b, const struct weights_entry *entry,
                               const struct weights_name *row, int32_t n_stacked)
{
    uint8_t role = row->role;
    bool is_transposed = row->flags & WEIGHTS_NAME_TRANSPOSED;
    int64_t rows = size_of(b, roles[role].rows);
    int64_t columns = size_of(b, roles[role].columns);
    int64_t inner = is_transposed ? rows : columns, outer = is_transposed ? columns : rows;
    bool is_vector = roles[role].rows == ONE;
    int n_dims_max = (is_vector ? 1 : 2) + (n_stacked > 1);
    bool fits = entry->dims[0] == inner && entry->n_dims > 0 &&
                entry->dims[1] == (is_vector ? n_stacked : outer) &&
                (is_vector || entry->dims[2] == n_stacked);
    for (int i = n_dims_max; i < CATALOG_DIMS; i++)
        fits = fits && entry->dims[i] == 1;
    if (fits)
        return STATUS_OK;
    char found[96], expected[96];
    weights_catalog_print_dims(entry, found, sizeof(found));
    if (is_vector && n_stacked > 1)
        snprintf(expected, sizeof(expected), "(%d, %lld)", n_stacked, (long long)inner);
    else if (is_vector)
        snprintf(expected, sizeof(expected), "(%lld)", (long long)inner);
    else if (n_stacked > 1)
        snprintf(expected, sizeof(expected), "(%d, %lld, %lld)", n_stacked, (long long)outer,
                 (long long)inner);
    else
        snprintf(expected, sizeof(expected), "(%lld, %lld)", (long long)outer, (long long)inner);
    return fault_set(b->fault, STATUS_BAD_INPUT, "%s: tensor %s has shape %s, expected %s",
                     b->catalog->label, entry->name, found, expected);
}

/* Replaces the table of positions by one that has a part for each type of tokens: the sums of both
 * embeddings. It is in the catalog's pile. */
static enum status add_types(struct binder *b, const struct weights_entry *entry,
                             const struct tensor *types)
{
    struct tensor *positions = &b->model->position_embedding;
    if (positions->data == NULL || dtype_info(positions->dtype)->n_block != 1 ||
        dtype_info(types->dtype)->n_block != 1)
        return fault_set(b->fault, STATUS_UNSUPPORTED,
                         "%s: tensor %s and the table of positions are read in F32, F16 and BF16 "
                         "alone",
                         b->catalog->label, entry->name);
    *positions = weights_cut_sums(positions, types, b->catalog->pile);
    return STATUS_OK;
}

/* Separates queries, keys and values that lie by KV heads. */
static void place_by_heads(struct binder *b, const struct tensor *whole, bool is_vector,
                           const uint8_t parts[3], struct owner owner)
{
    int32_t n_queries = b->spec->n_heads / b->spec->n_kv_heads;
    *place_of(b, parts[0], owner) =
        weights_cut_heads(whole, b->spec, is_vector, 0, n_queries, b->catalog->pile);
    *place_of(b, parts[1], owner) =
        weights_cut_heads(whole, b->spec, is_vector, n_queries, 1, b->catalog->pile);
    *place_of(b, parts[2], owner) =
        weights_cut_heads(whole, b->spec, is_vector, n_queries + 1, 1, b->catalog->pile);
}

/* Places the matrices or the biases of one expert. */
static void place_expert(struct binder *b, const struct tensor *whole,
                         const struct weights_name *row, struct owner owner)
{
    bool is_bias = row->role == WEIGHTS_EXPERT_GATE_UP_BIAS;
    if (!is_bias && row->role != WEIGHTS_EXPERT_GATE_UP) {
        *place_of(b, row->role, owner) = *whole;
        return;
    }
    int64_t n = b->spec->experts.width;
    for (int part = 0; part < 2; part++) {
        int role = (is_bias ? WEIGHTS_EXPERT_GATE_BIAS : WEIGHTS_EXPERT_GATE) + part;
        bool is_alternate = row->flags & WEIGHTS_NAME_ALTERNATE;
        *place_of(b, (uint8_t)role, owner) =
            !is_alternate ? weights_cut(whole, is_bias, part * n, n)
            : is_bias     ? weights_cut_each_second(whole, part, b->catalog->pile)
                          : weights_cut_alternate(whole, part);
    }
}

/* Cuts a tensor that has the matrices, or the biases, of all experts. */
static void place_experts(struct binder *b, const struct tensor *whole,
                          const struct weights_name *row, struct owner owner)
{
    bool is_turned = row->flags & WEIGHTS_NAME_TRANSPOSED;
    int32_t n = whole->n_rows / b->spec->experts.n_experts; /* stored rows of an expert */
    for (owner.expert = 0; owner.expert < b->spec->experts.n_experts; owner.expert++) {
        struct tensor own = weights_cut(whole, false, (int64_t)owner.expert * n, n);
        own.is_transposed = is_turned;
        if (is_turned) {
            own.n_rows = whole->n_columns;
            own.n_columns = n;
        }
        place_expert(b, &own, row, owner);
    }
}

static enum status place_stacked(struct binder *b, const struct weights_entry *entry,
                                 const struct weights_name *row, struct owner owner)
{
    struct tensor whole = weights_catalog_tensor(entry);
    bool is_vector = roles[row->role].rows == ONE, is_turned = row->flags & WEIGHTS_NAME_TRANSPOSED;
    CHECK(whole.data != NULL);
    if ((is_vector || is_turned) && dtype_info(whole.dtype)->n_block != 1)
        return fault_set(b->fault, STATUS_UNSUPPORTED,
                         "%s: tensor %s is %s, here F32, F16 or BF16 are read", b->catalog->label,
                         entry->name, entry->type);
    place_experts(b, &whole, row, owner);
    return STATUS_OK;
}

/* Places the matrices of latent attention that each head has. */
static enum status place_latents(struct binder *b, const struct weights_entry *entry, uint8_t role,
                                 int layer)
{
    struct tensor whole = weights_catalog_tensor(entry);
    CHECK(whole.data != NULL);
    if (role == WEIGHTS_KV_B && dtype_info(whole.dtype)->n_block != 1)
        return fault_set(b->fault, STATUS_UNSUPPORTED,
                         "%s: tensor %s is %s, here F32, F16 or BF16 are read: take a newer "
                         "conversion of the model, which has attn_k_b and attn_v_b",
                         b->catalog->label, entry->name, entry->type);
    weights_bind_latent(b->spec, &whole, (enum weights_role)role, b->model->layers[layer].latents);
    return STATUS_OK;
}

/* Places the experts of MXFP4. */
static enum status place_blocks(struct binder *b, struct weights_entry *blocks,
                                const struct weights_name *row, struct owner owner)
{
    struct tensor whole;
    const int64_t size[] = { size_of(b, roles[row->role].rows),
                             size_of(b, roles[row->role].columns) };
    enum status status =
        weights_apart_mxfp4(b->catalog, blocks, b->spec->experts.n_experts, size, &whole, b->fault);
    if (status == STATUS_OK)
        place_experts(b, &whole, row, owner);
    return status;
}

/* Returns the row of fused roles of a role, or their number. */
static size_t fused_row(uint8_t role)
{
    size_t i = 0;
    while (i < COUNT_OF(fused) && fused[i].role != role)
        i++;
    return i;
}

/* Cuts a fused matrix, or vector, into its parts. */
static void place_fused(struct binder *b, const struct tensor *whole, uint8_t role,
                        struct owner owner)
{
    const uint8_t *parts = fused[fused_row(role)].parts;
    bool is_vector = roles[role].rows == ONE;
    int64_t first = 0;
    for (int part = 0; part < 3 && parts[part] != WEIGHTS_ROLE_N; part++) {
        int64_t n = size_of(b, is_vector ? roles[parts[part]].columns : roles[parts[part]].rows);
        *place_of(b, parts[part], owner) = weights_cut(whole, is_vector, first, n);
        first += n;
    }
}

/* A device multiplies all experts of a layer in one way. */
static enum status check_alike(struct binder *b, const char *name, enum dtype dtype, uint8_t role,
                               int layer)
{
    enum dtype first = place_of(b, role, (struct owner){ layer, 0 })->dtype;
    if (dtype == first)
        return STATUS_OK;
    return fault_set(b->fault, STATUS_UNSUPPORTED,
                     "%s: tensor %s has type %s, but expert 0 of its layer has %s",
                     b->catalog->label, name, dtype_info(dtype)->name, dtype_info(first)->name);
}

/* The matrices of latent attention's keys and values are read the other way round, as floats. */
static enum status place_apart_latent(struct binder *b, const char *name,
                                      const struct tensor *whole, uint8_t role, int layer)
{
    struct layer_weights *w = &b->model->layers[layer];
    if (role == WEIGHTS_KV_A) {
        weights_bind_latent_key(b->spec, whole, w);
        return STATUS_OK;
    }
    if (whole->dtype != DTYPE_F8_E4M3)
        return fault_set(b->fault, STATUS_UNSUPPORTED,
                         "%s: tensor %s is quantized, here F32, F16, BF16 or F8_E4M3 are read",
                         b->catalog->label, name);
    const struct tensor floats = weights_apart_floats(whole, b->catalog->pile);
    weights_bind_latent(b->spec, &floats, (enum weights_role)role, w->latents);
    return STATUS_OK;
}

/* Places a matrix that lies in quantized parts. */
static enum status place_apart(struct binder *b, const char *name, const struct weights_name *row,
                               struct owner owner)
{
    const int64_t size[] = { size_of(b, roles[row->role].rows),
                             size_of(b, roles[row->role].columns) };
    struct tensor whole;
    enum status status = weights_apart_find(b->catalog, name, size, &whole, b->fault);
    if (status != STATUS_OK)
        return status;
    if (row->role >= WEIGHTS_EXPERT_GATE && owner.expert > 0)
        status = check_alike(b, name, whole.dtype, row->role, owner.layer);
    if (status == STATUS_OK && (row->role == WEIGHTS_KV_A || row->role == WEIGHTS_KV_B))
        return place_apart_latent(b, name, &whole, row->role, owner.layer);
    bool is_fused = fused_row(row->role) < COUNT_OF(fused);
    if (status == STATUS_OK && !is_fused)
        *place_of(b, row->role, owner) = whole;
    else if (status == STATUS_OK && (row->flags & WEIGHTS_NAME_BY_HEADS) != 0 &&
             b->spec->n_kv_heads > 1)
        status = fault_set(b->fault, STATUS_UNSUPPORTED,
                           "%s: tensor %s is fused by heads, where quantized parts are not "
                           "supported",
                           b->catalog->label, name);
    else if (status == STATUS_OK)
        place_fused(b, &whole, row->role, owner);
    return status;
}

static enum status place(struct binder *b, const struct weights_entry *entry, uint8_t role,
                         struct owner owner, uint8_t flags)
{
    bool is_transposed = flags & WEIGHTS_NAME_TRANSPOSED, is_less = flags & WEIGHTS_NAME_LESS_ONE;
    bool is_factors = role == WEIGHTS_ROPE_FACTORS || role == WEIGHTS_ROPE_FACTORS_LONG;
    struct tensor whole = weights_catalog_tensor(entry);
    CHECK(whole.data != NULL); /* its shape was compared with a checked spec */
    if (role == WEIGHTS_TYPE_EMBEDDING)
        return add_types(b, entry, &whole);
    if (role == WEIGHTS_KV_A) {
        weights_bind_latent_key(b->spec, &whole, &b->model->layers[owner.layer]);
        return STATUS_OK;
    }
    bool is_vector = roles[role].rows == ONE;
    size_t i = fused_row(role);
    bool is_plain = dtype_info(whole.dtype)->n_block == 1;
    bool has_to_be_plain =
        is_transposed || is_less || is_factors || (is_vector && i < COUNT_OF(fused));
    if (has_to_be_plain && !is_plain)
        return fault_set(b->fault, STATUS_UNSUPPORTED,
                         "%s: tensor %s is %s, here F32, F16 or BF16 are read", b->catalog->label,
                         entry->name, entry->type);
    if (is_transposed) {
        int32_t n_stored = whole.n_rows;
        whole.n_rows = whole.n_columns;
        whole.n_columns = n_stored;
        whole.is_transposed = true;
    }
    if (i == COUNT_OF(fused)) {
        *place_of(b, role, owner) =
            is_less ? weights_cut_plus_one(&whole, b->catalog->pile) : whole;
        return is_factors ? weights_bind_end_factors(entry, &whole, b->catalog, b->fault)
                          : STATUS_OK;
    }
    if ((flags & WEIGHTS_NAME_BY_HEADS) != 0 && b->spec->n_kv_heads > 1) {
        place_by_heads(b, &whole, is_vector, fused[i].parts, owner);
        return STATUS_OK;
    }
    place_fused(b, &whole, role, owner);
    return STATUS_OK;
}

/* Returns whether a row names matrices that quantized parts may stand for, one a name. */
static bool is_matrix(const struct weights_name *row)
{
    bool is_stacked = row->role >= WEIGHTS_EXPERT_GATE && weights_names_n_numbers(row->pattern) < 2;
    return row->flags == (row->flags &
                          (WEIGHTS_NAME_OPTIONAL | WEIGHTS_NAME_BY_HEADS | WEIGHTS_NAME_DENSE)) &&
           roles[row->role].rows != ONE && row->role != WEIGHTS_TYPE_EMBEDDING && !is_stacked;
}

/* Returns whether the tensor must be there. No architecture has an optional tensor in only some of
 * its layers. */
static bool is_needed(const struct binder *b, const struct weights_name *row, int n_layers)
{
    char name[CATALOG_NAME_BYTES];
    bool is = !(row->flags & WEIGHTS_NAME_OPTIONAL) || row->role == WEIGHTS_OUTPUT;
    for (int layer = 0; layer < n_layers && !is; layer++) {
        weights_names_print(row->pattern, b->prefix, layer, 0, name);
        is = weights_catalog_find(b->catalog, name) != NULL ||
             (is_matrix(row) && weights_apart_has(b->catalog, name));
    }
    return is;
}

/* Returns whether the role is the one of the two sets of factors that this model does not use. */
static bool is_other_factors(const struct model_spec *spec, uint8_t role)
{
    return role == (spec->rope_scaling.is_long ? WEIGHTS_ROPE_FACTORS : WEIGHTS_ROPE_FACTORS_LONG);
}

/* Refuses a second tensor with the same weights: one of the two would be ignored. */
static enum status check_once(struct binder *b, const char *name, uint8_t role, struct owner owner)
{
    uint8_t first = role;
    for (size_t i = 0; i < COUNT_OF(fused); i++)
        first = fused[i].role == role ? fused[i].parts[0] : first;
    const struct latent_weights *latents = b->model->layers[owner.layer].latents;
    if (role == WEIGHTS_TYPE_EMBEDDING ||
        (weights_bind_latent_has(role) ? !weights_bind_latent_is_there(role, latents)
                                       : place_of(b, first, owner)->data == NULL))
        return STATUS_OK;
    return fault_set(b->fault, STATUS_UNSUPPORTED,
                     "%s: tensor %s has weights that another tensor has too; remove one of the two",
                     b->catalog->label, name);
}

static enum status bind_row(struct binder *b, const struct weights_name *row, struct owner owner,
                            bool has_to_be)
{
    char name[CATALOG_NAME_BYTES];
    weights_names_print(row->pattern, b->prefix, owner.layer, owner.expert, name);
    struct weights_entry *entry = weights_catalog_find(b->catalog, name);
    bool is_apart = (row->flags & WEIGHTS_NAME_IGNORED) == 0 && is_matrix(row) &&
                    weights_apart_has(b->catalog, name);
    if (entry != NULL && !is_apart)
        entry->is_used = true;
    if (row->flags & WEIGHTS_NAME_IGNORED)
        return STATUS_OK;
    if (row->role == WEIGHTS_OUTPUT && b->spec->is_tied)
        return entry == NULL
                   ? STATUS_OK
                   : weights_bind_end_copy(&b->model->token_embedding, entry, b->catalog, b->fault);
    if (is_other_factors(b->spec, row->role))
        return STATUS_OK;
    if (entry == NULL && !is_apart)
        return has_to_be ? fault_set(b->fault, STATUS_BAD_INPUT, "%s: tensor %s is missing",
                                     b->catalog->label, name)
                         : STATUS_OK;
    enum status status = check_once(b, name, row->role, owner);
    if (status != STATUS_OK)
        return status;
    if (is_apart)
        return place_apart(b, name, row, owner);
    if (row->flags & WEIGHTS_NAME_BLOCKS)
        return place_blocks(b, entry, row, owner);
    if (entry->dtype == DTYPE_N)
        return fault_set(b->fault, STATUS_UNSUPPORTED,
                         "%s: tensor %s has type %s, which is not supported", b->catalog->label,
                         name, entry->type);
    bool is_stacked = row->role >= WEIGHTS_EXPERT_GATE && weights_names_n_numbers(row->pattern) < 2;
    bool has_heads = row->role == WEIGHTS_K_B || row->role == WEIGHTS_V_B;
    int32_t n_stacked = is_stacked ? b->spec->experts.n_experts : has_heads ? b->spec->n_heads : 1;
    status = check_shape(b, entry, row, n_stacked);
    if (status == STATUS_OK && weights_bind_latent_has(row->role))
        return place_latents(b, entry, row->role, owner.layer);
    if (status == STATUS_OK && row->role >= WEIGHTS_EXPERT_GATE && owner.expert > 0)
        status = check_alike(b, name, entry->dtype, row->role, owner.layer);
    if (status != STATUS_OK || !is_stacked)
        return status != STATUS_OK ? status : place(b, entry, row->role, owner, row->flags);
    return place_stacked(b, entry, row, owner);
}

/* Returns whether the tensor belongs to a layer behind the last, which predicts further tokens. */
static bool is_ignored(const struct binder *b, const char *name)
{
    char prefix[CATALOG_NAME_BYTES];
    for (int32_t i = 0; i < b->spec->n_ignored_layers; i++) {
        int32_t layer = b->spec->n_layers + i;
        int n = snprintf(prefix, sizeof(prefix), b->is_hf ? "%slayers.%d." : "%sblk.%d.",
                         b->is_hf ? b->prefix : "", layer);
        if (strncmp(name, prefix, (size_t)n) == 0)
            return true;
    }
    return false;
}

static enum status check_all_used(const struct binder *b)
{
    for (int32_t i = 0; i < b->catalog->n; i++)
        if (!b->catalog->at[i].is_used && !is_ignored(b, b->catalog->at[i].name))
            return fault_set(b->fault, STATUS_UNSUPPORTED,
                             "%s: tensor %s is not part of the architecture %s", b->catalog->label,
                             b->catalog->at[i].name, b->spec->architecture);
    return STATUS_OK;
}

/* Returns whether a row names tensors of this layer, which may have no experts. */
static bool is_of_layer(const struct binder *b, const struct weights_name *row, int layer)
{
    const struct model_spec *spec = b->spec;
    uint8_t role = row->role;
    bool is_dense = spec->experts.n_experts > 0 && spec->is_dense_layer[layer];
    bool is_ffn = role == WEIGHTS_GATE || role == WEIGHTS_UP || role == WEIGHTS_DOWN ||
                  role == WEIGHTS_GATE_UP;
    if (role >= WEIGHTS_ROUTER)
        return !is_dense;
    if (!is_ffn || spec->experts.n_experts == 0)
        return true;
    if (row->flags & WEIGHTS_NAME_DENSE)
        return is_dense;
    return !is_dense && spec->ffn_width > 0;
}

/* Binds the tensors of all layers and experts that a row names. */
static enum status bind_all(struct binder *b, const struct weights_name *row)
{
    int n_layers = weights_names_n_numbers(row->pattern) > 0 ? b->spec->n_layers : 1;
    int n_experts = weights_names_n_numbers(row->pattern) > 1 ? b->spec->experts.n_experts : 1;
    bool has_to_be = is_needed(b, row, n_layers);
    struct owner owner;
    for (owner.layer = 0; owner.layer < n_layers; owner.layer++) {
        b->layer = owner.layer;
        if (weights_names_n_numbers(row->pattern) > 0 && !is_of_layer(b, row, owner.layer))
            continue;
        for (owner.expert = 0; owner.expert < n_experts; owner.expert++) {
            enum status status = bind_row(b, row, owner, has_to_be);
            if (status != STATUS_OK)
                return status;
        }
    }
    return STATUS_OK;
}

enum status weights_bind(const struct weights_architecture *architecture, bool is_hf,
                         const struct model_spec *spec, struct weights_catalog *catalog,
                         struct model_weights *model, struct fault *fault)
{
    const struct weights_names *names = names_of(architecture, is_hf);
    struct binder b = { spec, catalog, model, find_prefix(names, catalog), fault, 0, is_hf };
    *model = (struct model_weights){ 0 };
    model->layers = pile_take(catalog->pile, (size_t)spec->n_layers * sizeof(*model->layers));
    for (int32_t i = 0; i < spec->n_layers && spec->experts.n_experts > 0; i++)
        model->layers[i].experts = pile_take(catalog->pile, (size_t)spec->experts.n_experts *
                                                                sizeof(struct expert_weights));
    for (int32_t i = 0; i < spec->n_layers && spec->latent.rank > 0; i++)
        model->layers[i].latents =
            pile_take(catalog->pile, (size_t)spec->n_heads * sizeof(*model->layers[i].latents));
    for (const struct weights_name *row = names->rows; row->pattern != NULL; row++) {
        enum status status = bind_all(&b, row);
        if (status != STATUS_OK)
            return status;
    }
    bool is_falcon = !is_hf && strcmp(architecture->name, "falcon") == 0;
    enum status status = check_all_used(&b);
    return status != STATUS_OK ? status : weights_bind_end(spec, is_falcon, catalog, model, fault);
}
