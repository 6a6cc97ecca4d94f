/* The operations of a program as kernels on a stream: see ops.h. */
#include "cuda/ops.h"

#include "cuda/blas.h"

static struct cuda_rows rows_of(const struct cuda_ops *ops, int reg)
{
    const struct compute_program *program = ops->program;
    bool is_logit_rows = program->is_logit_rows[reg];
    return (struct cuda_rows){ cuda_ops_at(ops, ops->workspace->layout.registers[reg]),
                               cuda_workspace_stride(program, reg),
                               is_logit_rows ? ops->n_logit_rows : ops->n_rows,
                               program->widths[reg] };
}

static struct cuda_matrix matrix_of(const struct cuda_ops *ops, int32_t index)
{
    return index < 0 ? (struct cuda_matrix){ NULL, 0, 0, 0 } : ops->program->weights[index]->matrix;
}

/* A vector, which is packed as floats; NULL: it is absent. */
static const float *vector_of(const struct cuda_ops *ops, int32_t index)
{
    return (const float *)(const void *)matrix_of(ops, index).packed;
}

static bool run_embed(struct cuda_ops *ops, const struct compute_op *op)
{
    const struct cuda_embed embed = { .tokens = matrix_of(ops, op->weight),
                                      .positional = matrix_of(ops, op->weight2),
                                      .ids = ops->ids,
                                      .positions = ops->positions,
                                      .offset = op->n,
                                      .scale = op->scale,
                                      .dst = rows_of(ops, op->dst) };
    return cuda_kernels_embed(ops->stream, &embed);
}

static bool run_norm(struct cuda_ops *ops, const struct compute_op *op)
{
    const struct cuda_norm norm = { .src = rows_of(ops, op->src),
                                    .dst = rows_of(ops, op->dst),
                                    .weight = vector_of(ops, op->weight),
                                    .bias = vector_of(ops, op->bias),
                                    .epsilon = op->scale,
                                    .is_layer = op->flags & COMPUTE_NORM_LAYER,
                                    .adds = op->flags & COMPUTE_ADD_TO };
    return cuda_kernels_norm(ops->stream, &norm);
}

/* Brings the source into the form that a product of this class reads. */
static bool prepare(struct cuda_ops *ops, const struct cuda_product *product, int reg)
{
    enum cuda_prepared kind = cuda_matrix_wants(product->weight.type, product->row_class);
    if (kind == CUDA_PREPARED_FLOATS || (ops->prepared == reg && ops->kind == kind))
        return true;
    ops->prepared = reg;
    ops->kind = kind;
    return cuda_matrix_prepare(ops->stream, &product->src, kind,
                               (void *)(uintptr_t)product->prepared);
}

static bool multiply(struct cuda_ops *ops, const struct cuda_product *product,
                     const int32_t *host_rows)
{
    const struct cuda_workspace *w = ops->workspace;
    if (w->blas == NULL || !cuda_blas_takes(ops->blas, product))
        return cuda_matrix_product(ops->stream, product);
    return cuda_blas_product(ops->blas, ops->stream, product,
                             product->rows != NULL ? host_rows : NULL, w->blas->base);
}

static bool run_matmul(struct cuda_ops *ops, const struct compute_op *op)
{
    struct cuda_rows src = rows_of(ops, op->src);
    const struct cuda_split *split = &ops->splits[ops->program->is_logit_rows[op->src]];
    int32_t n_vocabulary = ops->program->n_vocabulary;
    const struct cuda_rows logits = { cuda_ops_at(ops, ops->workspace->layout.logits), n_vocabulary,
                                      src.n_rows, n_vocabulary };
    struct cuda_product product = { .weight = matrix_of(ops, op->weight),
                                    .bias = vector_of(ops, op->bias),
                                    .src = src,
                                    .dst =
                                        op->kind == COMPUTE_LOGITS ? logits : rows_of(ops, op->dst),
                                    .prepared = cuda_ops_at(ops, ops->workspace->layout.prepared),
                                    .act = op->act,
                                    .has_act = op->flags & COMPUTE_HAS_ACT,
                                    .adds = op->flags & COMPUTE_ADD_TO };
    for (int c = 0; c < 2; c++) {
        product.row_class = (enum cuda_class)c;
        product.n_rows = split->n[c];
        product.rows = split->n[c] < src.n_rows ? split->rows[c] : NULL;
        if (product.n_rows > 0 &&
            (!prepare(ops, &product, op->src) || !multiply(ops, &product, split->host[c])))
            return false;
    }
    return true;
}

static bool run_gate(struct cuda_ops *ops, const struct compute_op *op)
{
    const struct cuda_gate gate = { .src = rows_of(ops, op->src),
                                    .src2 = rows_of(ops, op->src2),
                                    .dst = rows_of(ops, op->dst),
                                    .act = op->act };
    return cuda_kernels_gate(ops->stream, &gate);
}

static struct cuda_heads heads_of(const struct cuda_ops *ops)
{
    return (struct cuda_heads){ .batch = ops->batch,
                                .n_rows = ops->n_rows,
                                .head_dim = ops->program->head_dim };
}

static bool run_head_norm(struct cuda_ops *ops, const struct compute_op *op)
{
    struct cuda_heads heads = heads_of(ops);
    heads.queries = rows_of(ops, op->dst);
    heads.queries.width = op->n * ops->program->head_dim;
    heads.query_weight = vector_of(ops, op->weight);
    heads.epsilon = op->scale;
    return cuda_kernels_heads(ops->stream, &heads);
}

static bool run_rope(struct cuda_ops *ops, const struct compute_op *op)
{
    struct cuda_heads heads = heads_of(ops);
    heads.queries = rows_of(ops, op->dst);
    heads.queries.width = op->n * ops->program->head_dim;
    heads.table = cuda_ops_at(ops, ops->workspace->layout.angles[op->rope]);
    heads.n_rope_dims = ops->program->n_rope_dims;
    heads.is_pairs = op->flags & COMPUTE_ROPE_PAIRS;
    return cuda_kernels_heads(ops->stream, &heads);
}

static bool run_kv_store(struct cuda_ops *ops, const struct compute_op *op)
{
    struct cuda_heads heads = heads_of(ops);
    heads.keys = rows_of(ops, op->src);
    heads.values = rows_of(ops, op->src2);
    heads.keys.width = heads.values.width = ops->cache.n_kv_heads * ops->cache.head_dim;
    heads.cache = ops->cache;
    heads.layer = op->layer;
    return cuda_kernels_heads(ops->stream, &heads);
}

/* Rows of one class in groups whose pieces find room in the scratch. */
static bool attend_groups(struct cuda_ops *ops, struct cuda_attend *attend,
                          const struct cuda_split *split, int row_class)
{
    const struct compute_program *program = ops->program;
    const struct cuda_workspace *w = ops->workspace;
    int64_t row_bytes = (int64_t)cuda_kernels_attend_bytes(1, program->n_heads, program->head_dim,
                                                           ops->n_positions_max);
    int64_t n_at_once = max_i64(1, min_i64(w->scratch_bytes / row_bytes, UINT16_MAX));
    if (!cuda_object_back(ops->driver, w->scratch, 0, max_i64(row_bytes, w->scratch_bytes)))
        return false;
    for (int32_t at = 0; at < split->n[row_class]; at += (int32_t)n_at_once) {
        attend->rows = split->rows[row_class] + at;
        attend->n_rows = (int32_t)min_i64(n_at_once, split->n[row_class] - at);
        if (!cuda_kernels_attend(ops->stream, attend))
            return false;
    }
    return true;
}

static bool run_attend(struct cuda_ops *ops, const struct compute_op *op)
{
    struct cuda_attend attend = { .queries = rows_of(ops, op->src),
                                  .dst = rows_of(ops, op->dst),
                                  .n_heads = ops->program->n_heads,
                                  .layer = op->layer,
                                  .window = op->n,
                                  .n_positions_max = ops->n_positions_max,
                                  .scale = op->scale,
                                  .batch = ops->batch,
                                  .cache = ops->cache,
                                  .scratch = (float *)(void *)ops->workspace->scratch->base,
                                  .n_processors = ops->n_processors };
    attend.queries.width = attend.dst.width = ops->program->n_heads * ops->program->head_dim;
    if (!attend_groups(ops, &attend, &ops->splits[0], CUDA_CLASS_FEW))
        return false;
    if (ops->cache.type == CUDA_F32) /* which tiles refuse */
        return attend_groups(ops, &attend, &ops->splits[0], CUDA_CLASS_MANY);
    for (int32_t at = 0; at < ops->n_tiles; at += CUDA_TILES_MAX)
        if (!cuda_kernels_attend_tiles(ops->stream, &attend, ops->tiles + at,
                                       min_i32(CUDA_TILES_MAX, ops->n_tiles - at)))
            return false;
    return true;
}

static bool run_take_rows(struct cuda_ops *ops, const struct compute_op *op)
{
    struct cuda_rows src = rows_of(ops, op->src), dst = rows_of(ops, op->dst);
    return cuda_kernels_take_rows(ops->stream, &src, ops->logit_rows, &dst);
}

/* Sines and cosines of all rows, for all layers. */
static bool run_angles(struct cuda_ops *ops)
{
    const struct cuda_workspace_layout *layout = &ops->workspace->layout;
    for (int i = 0; i < ops->program->n_ropes; i++) {
        const struct cuda_angles angles = { .positions = ops->positions,
                                            .inverse_frequencies =
                                                cuda_ops_at(ops, layout->frequencies[i]),
                                            .table = cuda_ops_at(ops, layout->angles[i]),
                                            .n_rows = ops->n_rows,
                                            .n_dims = ops->program->n_rope_dims,
                                            .scale = ops->program->ropes[i].scale };
        if (!cuda_kernels_angles(ops->stream, &angles))
            return false;
    }
    return true;
}

bool cuda_ops_run(struct cuda_ops *ops)
{
    static bool (*const steps[])(struct cuda_ops *, const struct compute_op *) = {
        [COMPUTE_EMBED] = run_embed,         [COMPUTE_NORM] = run_norm,
        [COMPUTE_HEAD_NORM] = run_head_norm, [COMPUTE_MATMUL] = run_matmul,
        [COMPUTE_GATE] = run_gate,           [COMPUTE_ROPE] = run_rope,
        [COMPUTE_KV_STORE] = run_kv_store,   [COMPUTE_ATTEND] = run_attend,
        [COMPUTE_TAKE_ROWS] = run_take_rows, [COMPUTE_LOGITS] = run_matmul,
    };
    ops->prepared = -1;
    bool is_well = run_angles(ops);
    for (int i = 0; i < ops->program->n_ops && is_well; i++) {
        const struct compute_op *op = &ops->program->ops[i];
        is_well = steps[op->kind](ops, op);
        if (op->kind != COMPUTE_LOGITS && op->dst == ops->prepared)
            ops->prepared = -1; /* it has changed */
    }
    return is_well;
}
