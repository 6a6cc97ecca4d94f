/* Toy models: made, loaded, run. */
#include "toy.h"

#include "base/half.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/rng.h"
#include "compute/quant.h"
#include <string.h>

enum { X, N, Q, K, V, A, G, U, LAST, LAST_N, ROUTER, SHARE, E, EG, EU, ED, LQ, LV };

/* Sets the offsets of a type's halves; -1: none. */
static void offsets_of_halves(enum dtype dtype, int *d, int *m)
{
    static const int at[DTYPE_N][2] = {
        [DTYPE_F32] = { -1, -1 },   [DTYPE_F16] = { -1, -1 },   [DTYPE_BF16] = { -1, -1 },
        [DTYPE_Q8_0] = { 0, -1 },   [DTYPE_Q4_0] = { 0, -1 },   [DTYPE_Q4_1] = { 0, 2 },
        [DTYPE_Q5_0] = { 0, -1 },   [DTYPE_Q5_1] = { 0, 2 },    [DTYPE_Q2_K] = { 80, 82 },
        [DTYPE_Q3_K] = { 108, -1 }, [DTYPE_Q4_K] = { 0, 2 },    [DTYPE_Q5_K] = { 0, 2 },
        [DTYPE_Q6_K] = { 208, -1 }, [DTYPE_IQ4_NL] = { 0, -1 }, [DTYPE_IQ4_XS] = { 0, -1 },
        [DTYPE_MXFP4] = { -1, -1 }, [DTYPE_TQ1_0] = { 52, -1 }, [DTYPE_TQ2_0] = { 64, -1 },
    };
    *d = at[dtype][0];
    *m = at[dtype][1];
}

/* Returns a scale that makes a row of a few hundred products result in about 1. */
static uint16_t random_half(struct rng *rng, enum dtype dtype)
{
    double size = dtype_info(dtype)->n_block == 256 ? 0.0002 : 0.004;
    if (dtype == DTYPE_TQ1_0 || dtype == DTYPE_TQ2_0)
        size = 0.03;
    if (dtype == DTYPE_IQ4_NL || dtype == DTYPE_IQ4_XS)
        size /= 20;
    double sign = dtype_info(dtype)->n_block == 256 || rng_below(rng, 2) == 0 ? 1 : -1;
    return half_from_float((float)(sign * size * (0.2 + rng_unit(rng))));
}

static void fill_integers(enum dtype dtype, unsigned char *data, int64_t n_blocks, struct rng *rng)
{
    int d, m;
    int32_t block_bytes = dtype_info(dtype)->block_bytes;
    offsets_of_halves(dtype, &d, &m);
    for (int64_t i = 0; i < n_blocks; i++, data += block_bytes) {
        for (int32_t j = 0; j < block_bytes; j++)
            data[j] = (unsigned char)rng_u64(rng);
        uint16_t half = random_half(rng, dtype);
        if (dtype == DTYPE_MXFP4)
            data[0] = (unsigned char)(118 + rng_below(rng, 4));
        else
            memcpy(data + d, &half, 2);
        half = random_half(rng, dtype);
        if (m >= 0)
            memcpy(data + m, &half, 2);
    }
}

/* Scales that make a row of a few hundred products about 1, and no NaN. */
static void fill_f8(unsigned char *data, int64_t n_blocks, struct rng *rng)
{
    for (int64_t i = 0; i < n_blocks; i++) {
        float scale = (float)(0.0004 * (0.2 + rng_unit(rng)));
        memcpy(data, &scale, sizeof(scale));
        data += sizeof(scale);
        for (int j = 0; j < 128; j++, data++) {
            *data = (unsigned char)rng_u64(rng);
            *data = f8_is_nan(*data) ? 0 : *data;
        }
    }
}

static void fill_floats(enum dtype dtype, unsigned char *data, int64_t n, double size,
                        struct rng *rng)
{
    for (int64_t i = 0; i < n; i++) {
        float value = (float)(rng_normal(rng) * size);
        uint16_t half = dtype == DTYPE_F16 ? half_from_float(value) : bf16_from_float(value);
        if (dtype == DTYPE_F32)
            memcpy(data + i * 4, &value, 4);
        else
            memcpy(data + i * 2, &half, 2);
    }
}

struct tensor toy_tensor(enum dtype dtype, int32_t n_rows, int32_t n_columns, uint64_t seed)
{
    struct rng rng;
    rng_init(&rng, seed, 7);
    struct tensor tensor = { .dtype = dtype, .n_rows = n_rows, .n_columns = n_columns };
    tensor.row_bytes = dtype_row_bytes(dtype, n_columns);
    CHECK(tensor.row_bytes > 0);
    unsigned char *data = mem_take((size_t)(tensor.row_bytes * n_rows));
    int64_t n = (int64_t)n_rows * n_columns;
    if (dtype == DTYPE_F8_E4M3)
        fill_f8(data, n / dtype_info(dtype)->n_block, &rng);
    else if (dtype_info(dtype)->is_integer)
        fill_integers(dtype, data, n / dtype_info(dtype)->n_block, &rng);
    else
        fill_floats(dtype, data, n, n_rows == 1 ? 1.0 : 1.0 / num_sqrt(n_columns), &rng);
    tensor.data = data;
    return tensor;
}

static int32_t add_tensor(struct toy *toy, enum dtype dtype, int32_t n_rows, int32_t n_columns)
{
    CHECK(toy->n_tensors < TOY_WEIGHTS_MAX);
    uint64_t seed = toy->seed * 1000 + (uint64_t)toy->n_tensors;
    struct tensor tensor = toy_tensor(dtype, n_rows, n_columns, seed);
    if (toy->options.is_transposed && n_rows > 1 && dtype_info(dtype)->n_block == 1) {
        /* The same bytes read the other way round are another random matrix. */
        tensor.is_transposed = true;
        tensor.row_bytes = dtype_row_bytes(dtype, n_rows);
    }
    toy->tensors[toy->n_tensors] = tensor;
    return toy->n_tensors++;
}

static struct compute_op *add_op(struct toy *toy, int kind, int dst, int src, int layer)
{
    struct compute_op *op = &toy->ops[toy->n_ops++];
    *op = (struct compute_op){ .kind = (uint8_t)kind,
                               .layer = (uint16_t)layer,
                               .dst = (uint16_t)dst,
                               .src = (uint16_t)src,
                               .weight = -1,
                               .bias = -1,
                               .weight2 = -1,
                               .scale = 1.0f };
    return op;
}

static struct compute_op *add_matmul(struct toy *toy, int kind, int dst, int src, int32_t n_rows,
                                     int32_t n_columns)
{
    struct compute_op *op = add_op(toy, kind, dst, src, 0);
    op->weight = add_tensor(toy, toy->options.dtype, n_rows, n_columns);
    if (toy->options.has_bias)
        op->bias = add_tensor(toy, DTYPE_F32, 1, n_rows);
    return op;
}

static void add_norm(struct toy *toy, int dst, int src)
{
    struct compute_op *op = add_op(toy, COMPUTE_NORM, dst, src, 0);
    op->weight = add_tensor(toy, DTYPE_F32, 1, toy->options.width);
    if (toy->options.is_layer_norm) {
        op->bias = add_tensor(toy, DTYPE_F32, 1, toy->options.width);
        op->flags = COMPUTE_NORM_LAYER;
    }
    op->scale = 1e-5f;
}

/* Adds a matrix times src to X, or the norm of that. */
static void add_residual(struct toy *toy, int src, int32_t n_columns)
{
    int dst = toy->options.has_post_norms ? N : X;
    struct compute_op *op =
        add_matmul(toy, COMPUTE_MATMUL, dst, src, toy->options.width, n_columns);
    if (dst == X) {
        op->flags = COMPUTE_ADD_TO;
        return;
    }
    add_norm(toy, X, N);
    toy->ops[toy->n_ops - 1].flags |= COMPUTE_ADD_TO;
}

static void add_heads(struct toy *toy, int reg, int32_t n_heads, bool is_other)
{
    const struct toy_options *o = &toy->options;
    if (o->has_qk_norm) {
        struct compute_op *op = add_op(toy, COMPUTE_HEAD_NORM, reg, reg, 0);
        op->weight = add_tensor(toy, DTYPE_F32, 1, o->head_dim);
        op->n = n_heads;
        op->scale = 1e-6f;
    }
    if (o->is_learned)
        return;
    struct compute_op *op = add_op(toy, COMPUTE_ROPE, reg, reg, 0);
    op->n = n_heads;
    op->flags = o->is_pairs ? COMPUTE_ROPE_PAIRS : 0;
    op->rope = is_other;
}

/* Adds a matrix per expert, with one operation for all. */
static void add_experts(struct toy *toy, int dst, int src, int32_t n_rows, int32_t n_columns)
{
    struct compute_op *op = add_op(toy, COMPUTE_EXPERTS, dst, src, 0);
    op->weight = toy->n_tensors;
    for (int32_t e = 0; e < toy->options.n_experts; e++)
        (void)add_tensor(toy, toy->options.dtype, n_rows, n_columns);
    if (!toy->options.has_expert_bias)
        return;
    op->bias = toy->n_tensors;
    for (int32_t e = 0; e < toy->options.n_experts; e++)
        (void)add_tensor(toy, DTYPE_F32, 1, n_rows);
}

/* Adds experts, and a share of the feed-forward beside them. */
static void add_mixture(struct toy *toy)
{
    const struct toy_options *o = &toy->options;
    add_norm(toy, N, X);
    add_matmul(toy, COMPUTE_MATMUL, ROUTER, N, o->n_experts, o->width);
    struct compute_op *route = add_op(toy, COMPUTE_ROUTE, ROUTER, ROUTER, 0);
    if (o->router.is_sigmoid)
        route->weight = add_tensor(toy, DTYPE_F32, 1, o->n_experts);
    add_op(toy, COMPUTE_SPREAD, E, N, 0);
    add_experts(toy, EG, E, o->ffn, o->width);
    add_experts(toy, EU, E, o->ffn, o->width);
    struct compute_op *gate = add_op(toy, COMPUTE_GATE, EG, EG, 0);
    gate->src2 = EU;
    gate->act = (uint8_t)(o->is_clamped ? ACT_SWIGLU_CLAMPED : o->act);
    gate->cap = o->is_clamped ? 0.4f : 0;
    add_experts(toy, ED, EG, o->width, o->ffn);
    add_op(toy, COMPUTE_COMBINE, X, ED, 0);
    struct compute_op *share = add_op(toy, COMPUTE_MATMUL, SHARE, N, 0);
    share->weight = add_tensor(toy, DTYPE_F32, 1, o->width);
    add_op(toy, COMPUTE_SCALE, X, N, 0)->src2 = SHARE;
}

/* Adds a matrix per head. */
static void add_per_head(struct toy *toy, int dst, int src, int32_t n_rows, int32_t n_columns)
{
    struct compute_op *op = add_op(toy, COMPUTE_HEADS, dst, src, 0);
    op->n = toy->options.n_heads;
    op->weight = toy->n_tensors;
    for (int32_t head = 0; head < op->n; head++)
        (void)add_tensor(toy, toy->options.dtype, n_rows, n_columns);
}

/* Adds queries and keys of latent attention. */
static void add_latents(struct toy *toy)
{
    const struct toy_options *o = &toy->options;
    int32_t q_width = o->n_heads * (o->key_dim + o->n_rope_dims);
    add_matmul(toy, COMPUTE_MATMUL, LQ, N, q_width, o->width);
    add_matmul(toy, COMPUTE_MATMUL, K, N, o->n_rope_dims, o->width);
    add_matmul(toy, COMPUTE_MATMUL, V, N, o->rank, o->width);
    add_per_head(toy, Q, LQ, o->rank, o->key_dim);
    toy->ops[toy->n_ops - 1].flags = COMPUTE_KEEPS_REST;
}

static void add_layer(struct toy *toy, int layer)
{
    const struct toy_options *o = &toy->options;
    bool is_other = o->is_mixed && layer % 2 == 1;
    int32_t q_width = o->n_heads * o->head_dim, kv_width = o->n_kv_heads * o->head_dim;
    add_norm(toy, N, X);
    if (o->rank > 0) {
        add_latents(toy);
    } else {
        add_matmul(toy, COMPUTE_MATMUL, Q, N, q_width, o->width);
        add_matmul(toy, COMPUTE_MATMUL, K, N, kv_width, o->width);
        add_matmul(toy, COMPUTE_MATMUL, V, N, kv_width, o->width);
    }
    add_heads(toy, Q, o->n_heads, is_other);
    add_heads(toy, K, o->n_kv_heads, is_other);
    add_op(toy, COMPUTE_KV_STORE, K, K, layer)->src2 = V;
    struct compute_op *attend = add_op(toy, COMPUTE_ATTEND, A, Q, layer);
    attend->n = is_other ? 0 : o->window;
    attend->scale = 0.3f;
    attend->cap = o->cap;
    if (o->has_sinks)
        attend->weight = add_tensor(toy, DTYPE_F32, 1, o->n_heads);
    if (o->rank > 0) {
        add_per_head(toy, LV, A, o->value_dim, o->rank);
        q_width = o->n_heads * o->value_dim;
    }
    add_residual(toy, o->rank > 0 ? LV : A, q_width);
    if (o->n_experts > 0)
        add_mixture(toy);
    add_norm(toy, N, X);
    struct compute_op *inner = add_matmul(toy, COMPUTE_MATMUL, G, N, o->ffn, o->width);
    if (o->is_gated) {
        add_matmul(toy, COMPUTE_MATMUL, U, N, o->ffn, o->width);
        struct compute_op *gate = add_op(toy, COMPUTE_GATE, G, G, 0);
        gate->src2 = U;
        gate->act = (uint8_t)o->act;
    } else {
        inner->flags = COMPUTE_HAS_ACT;
        inner->act = (uint8_t)o->act;
    }
    add_residual(toy, G, o->ffn);
}

void toy_init(struct toy *toy, const struct toy_options *options, uint64_t seed)
{
    *toy = (struct toy){ .options = *options, .seed = seed };
    const struct toy_options *o = &toy->options;
    struct compute_op *embed = add_op(toy, COMPUTE_EMBED, X, X, 0);
    embed->weight = add_tensor(toy, o->dtype, o->n_vocabulary, o->width);
    embed->scale = 1.5f;
    if (o->is_learned) {
        embed->weight2 = add_tensor(toy, DTYPE_F32, o->n_positions + 2, o->width);
        embed->n = 2;
    }
    for (int layer = 0; layer < o->n_layers; layer++) {
        int first = toy->n_ops;
        add_layer(toy, layer);
        for (int i = first; i < toy->n_ops; i++)
            toy->ops[i].layer = (uint16_t)layer;
    }
    add_op(toy, COMPUTE_TAKE_ROWS, LAST, X, 0);
    add_norm(toy, LAST_N, LAST);
    add_matmul(toy, COMPUTE_LOGITS, LAST_N, LAST_N, o->n_vocabulary, o->width)->cap = o->cap;
    const int32_t widths[TOY_REGISTERS] = { o->width,
                                            o->width,
                                            o->n_heads * o->head_dim,
                                            o->rank > 0 ? o->n_rope_dims
                                                        : o->n_kv_heads * o->head_dim,
                                            o->rank > 0 ? o->rank : o->n_kv_heads * o->head_dim,
                                            o->n_heads * o->head_dim,
                                            o->ffn,
                                            o->ffn,
                                            o->width,
                                            o->width,
                                            max_i32(o->n_experts, 1),
                                            1,
                                            o->width,
                                            o->ffn,
                                            o->ffn,
                                            o->width,
                                            o->n_heads * (o->key_dim + o->n_rope_dims),
                                            max_i32(o->n_heads * o->value_dim, 1) };
    memcpy(toy->widths, widths, sizeof(widths));
    toy->is_logit_rows[LAST] = toy->is_logit_rows[LAST_N] = true;
    for (int i = E; i <= ED; i++)
        toy->is_expert_rows[i] = true;
    toy->frequencies = mem_take((size_t)o->n_rope_dims * sizeof(float));
    for (int32_t i = 0; i < o->n_rope_dims / 2; i++) {
        toy->frequencies[i] = (float)num_exp(-9.0 * i / o->n_rope_dims);
        toy->frequencies[o->n_rope_dims / 2 + i] = toy->frequencies[i] * 0.37f;
    }
}

void toy_free(struct toy *toy)
{
    for (int i = 0; i < toy->n_tensors; i++)
        mem_give((void *)(uintptr_t)toy->tensors[i].data);
    mem_give(toy->frequencies);
}

/* Makes a cache of shuffled blocks, in units of 3 that are not side by side; by head, of shuffled
 * units. */
static void make_cache(struct toy_model *model, int32_t block_tokens, bool is_by_head)
{
    const struct toy_options *o = &model->toy->options;
    struct compute_kv *kv = &model->kv;
    *kv = (struct compute_kv){ .blocks_per_unit = 3,
                               .block_tokens = block_tokens,
                               .dtype = o->kv_dtype,
                               .n_layers = o->n_layers,
                               .n_kv_heads = o->n_kv_heads,
                               .head_dim = o->head_dim,
                               .is_by_head = is_by_head,
                               .has_keys_only = o->rank > 0 };
    kv->block_bytes = compute_kv_offset(kv, o->n_layers, 0, 0);
    model->n_heads = is_by_head ? o->n_layers * o->n_kv_heads : 1;
    if (is_by_head)
        kv->block_bytes /= (uint64_t)model->n_heads;
    kv->unit_bytes = align_up_u64(kv->block_bytes * (is_by_head ? 1 : 3) + 64, 64);
    model->blocks_per_sequence = (int32_t)div_up_i64(o->n_positions, block_tokens);
    uint32_t n = (uint32_t)(model->blocks_per_sequence * model->n_heads) * TOY_SEQUENCES_MAX;
    size_t n_bytes = (size_t)(is_by_head ? n : n / 3 + 1) * kv->unit_bytes;
    const struct compute_memory_options options = { .n_bytes = (int64_t)n_bytes };
    CHECK(model->device->memory_open(model->device->self, &options, &kv->memory, NULL) ==
          STATUS_OK);
    if (kv->memory->is_host) /* others are full of NaN as long as tests run on emulated ones */
        memset(kv->memory->base, 0xFF, n_bytes);
    model->blocks = mem_take(n * sizeof(*model->blocks));
    struct rng rng;
    rng_init(&rng, 5, (uint64_t)block_tokens);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t j = rng_below(&rng, i + 1);
        model->blocks[i] = model->blocks[j];
        model->blocks[j] = i;
    }
}

static struct compute_shapes toy_shapes(const struct toy_options *o)
{
    struct compute_shapes shapes = { .experts = o->router,
                                     .has_sinks = o->has_sinks,
                                     .has_latents = o->rank > 0,
                                     .has_caps = o->cap > 0,
                                     .has_clamped_gates = o->is_clamped };
    shapes.experts.n_experts = o->n_experts;
    shapes.experts.n_used = o->n_used;
    shapes.experts.is_scaled_to_one = o->is_scaled_to_one;
    return shapes;
}

struct compute_program toy_program(const struct toy *toy, const struct compute_packed *packed)
{
    const struct toy_options *o = &toy->options;
    return (struct compute_program){
        .n_ops = toy->n_ops,
        .ops = toy->ops,
        .n_registers = o->n_experts > 0 || o->rank > 0 ? TOY_REGISTERS : ROUTER,
        .widths = toy->widths,
        .is_logit_rows = toy->is_logit_rows,
        .is_expert_rows = o->n_experts > 0 ? toy->is_expert_rows : NULL,
        .shapes = toy_shapes(o),
        .n_weights = packed->n,
        .weights = packed->weights,
        .n_heads = o->n_heads,
        .n_kv_heads = o->n_kv_heads,
        .head_dim = o->head_dim,
        .n_rope_dims = o->n_rope_dims,
        .n_ropes = o->is_mixed ? 2 : 1,
        .n_vocabulary = o->n_vocabulary,
        .ropes = { { toy->frequencies, 1.0f }, { toy->frequencies + o->n_rope_dims / 2, 1.21f } }
    };
}

static void load(struct toy_model *model, const struct toy *toy, struct compute_device *device,
                 int32_t block_tokens, bool is_by_head)
{
    static const struct compute_packed none;
    struct tensor tensors[TOY_WEIGHTS_MAX];
    *model = (struct toy_model){ .toy = toy, .device = device, .program = toy_program(toy, &none) };
    model->program.n_weights = toy->n_tensors;
    memcpy(tensors, toy->tensors, sizeof tensors);
    struct fault fault;
    if (device->split != NULL &&
        device->split(device->self, &model->program, tensors, &fault) != STATUS_OK)
        base_refuse("a toy can't be split: %s", fault.text);
    toy_pack(&model->packed, device, tensors, toy->n_tensors);
    model->program = toy_program(toy, &model->packed);
    make_cache(model, block_tokens, is_by_head);
}

void toy_load(struct toy_model *model, const struct toy *toy, struct compute_device *device,
              int32_t block_tokens)
{
    load(model, toy, device, block_tokens, false);
}

void toy_load_heads(struct toy_model *model, const struct toy *toy, struct compute_device *device,
                    int32_t block_tokens)
{
    load(model, toy, device, block_tokens, true);
}

void toy_unload(struct toy_model *model)
{
    compute_packed_close(&model->packed);
    model->device->memory_close(model->device->self, model->kv.memory);
    mem_give(model->blocks);
}

int32_t toy_token(const struct toy *toy, int sequence, int32_t position)
{
    uint64_t bits = rng_at(toy->seed, (uint64_t)sequence, (uint64_t)position);
    return (int32_t)(bits % (uint64_t)toy->options.n_vocabulary);
}

size_t toy_logits_count(const struct toy *toy)
{
    return (size_t)TOY_SEQUENCES_MAX * (size_t)toy->options.n_positions *
           (size_t)toy->options.n_vocabulary;
}

void toy_pack(struct compute_packed *packed, struct compute_device *device,
              const struct tensor *tensors, int n)
{
    const struct tensor **list = mem_take((size_t)n * sizeof(*list));
    for (int i = 0; i < n; i++)
        list[i] = &tensors[i];
    CHECK(compute_packed_open(packed, device, list, n, NULL, NULL) == STATUS_OK);
    for (int i = 0; i < n; i++)
        CHECK(compute_packed_add(packed, &tensors[i], false, NULL) == STATUS_OK);
    mem_give(list);
}

void toy_compute(struct compute_device *device, struct compute_pass *pass)
{
    enum { MARGIN = 64 };
    const struct compute_sizes sizes = { pass->n_rows, pass->n_logit_rows };
    CHECK(device->workspace_open(device->self, device->lanes[0], pass->program, sizes,
                                 &pass->workspace, NULL) == STATUS_OK);
    const struct compute_memory *memory = pass->workspace->memory;
    bool is_host = memory != NULL && memory->is_host;
    /* Logits come last, and this pass has its own. */
    int64_t n_logits = (int64_t)sizes.n_logit_rows * pass->program->n_vocabulary;
    if (is_host)
        memset(memory->base, 0xFF, (size_t)memory->n_bytes);
    CHECK(compute_device_wait(device, device->lanes[0], &pass->work) == COMPUTE_DONE);
    for (int64_t i = 0; is_host && i < min_i64(n_logits * 4, MARGIN) && pass->logits != NULL; i++)
        CHECK(memory->base[memory->n_bytes - n_logits * 4 + i] == 0xFF);
    device->workspace_close(device->self, pass->workspace);
}

void toy_run(struct toy_model *model, const struct toy_item *items, int n_items, float *logits)
{
    const struct toy *toy = model->toy;
    struct compute_sequence sequences[TOY_SEQUENCES_MAX * 4];
    int32_t n_rows = 0, row = 0, n_vocabulary = toy->options.n_vocabulary;
    for (int i = 0; i < n_items; i++)
        n_rows += items[i].n_rows;
    int32_t *ids = mem_take((size_t)n_rows * 3 * sizeof(int32_t));
    int32_t *positions = ids + n_rows, *logit_rows = positions + n_rows;
    uint8_t *classes = mem_take((size_t)n_rows);
    float *out = mem_take((size_t)n_rows * (size_t)n_vocabulary * sizeof(float));
    for (int i = 0; i < n_items; i++) {
        int32_t table = items[i].sequence * model->n_heads * model->blocks_per_sequence;
        sequences[i] = (struct compute_sequence){ row, items[i].n_rows, items[i].n_before,
                                                  model->blocks + table,
                                                  (uint32_t)model->blocks_per_sequence };
        for (int32_t r = 0; r < items[i].n_rows; r++, row++) {
            positions[row] = items[i].n_before + r;
            ids[row] = toy_token(toy, items[i].sequence, positions[row]);
            classes[row] = toy_class(positions[row]);
            logit_rows[row] = row;
        }
    }
    struct compute_pass pass = { .program = &model->program,
                                 .n_rows = n_rows,
                                 .ids = ids,
                                 .classes = classes,
                                 .positions = positions,
                                 .n_sequences = n_items,
                                 .sequences = sequences,
                                 .kv = model->kv,
                                 .n_logit_rows = n_rows,
                                 .logit_rows = logit_rows,
                                 .logits = out };
    toy_compute(model->device, &pass);
    for (int i = 0; i < n_items; i++) {
        int64_t to = (int64_t)items[i].sequence * toy->options.n_positions + items[i].n_before;
        memcpy(logits + to * n_vocabulary, out + (int64_t)sequences[i].first_row * n_vocabulary,
               (size_t)items[i].n_rows * (size_t)n_vocabulary * sizeof(float));
    }
    mem_give(out);
    mem_give(classes);
    mem_give(ids);
}

/* ---- A single product. ---- */

void toy_multiply(const struct compute_packed *packed, const struct toy_product *product,
                  int32_t n_rows, float *logits)
{
    static const struct compute_op ops[] = {
        { .kind = COMPUTE_EMBED, .weight = 0, .bias = -1, .weight2 = -1, .scale = 1 },
        { .kind = COMPUTE_LOGITS, .weight = 1, .bias = -1, .weight2 = -1 },
    };
    static const bool is_logit_rows[] = { false };
    size_t n = (size_t)n_rows * sizeof(int32_t);
    int32_t *ids = mem_take(n), *rows = mem_take(n), *positions = mem_take(n);
    for (int32_t i = 0; i < n_rows; i++) {
        rows[i] = i;
        ids[i] = i % product->n_distinct;
    }
    struct compute_program program = { .n_ops = 2,
                                       .ops = ops,
                                       .n_registers = 1,
                                       .widths = &product->n_columns,
                                       .is_logit_rows = is_logit_rows,
                                       .n_weights = 2,
                                       .weights = packed->weights,
                                       .n_heads = 1,
                                       .n_kv_heads = 1,
                                       .head_dim = 16,
                                       .n_vocabulary = product->n_outputs };
    struct compute_pass pass = { .program = &program,
                                 .n_rows = n_rows,
                                 .ids = ids,
                                 .positions = positions,
                                 .n_logit_rows = n_rows,
                                 .logit_rows = rows,
                                 .logits = logits };
    toy_compute(packed->device, &pass);
    mem_give(ids);
    mem_give(rows);
    mem_give(positions);
}
