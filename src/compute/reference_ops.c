/* The naive backend: one thread, plain loops, the arithmetic of compute.h step by step.
 *
 * Weights are unpacked to floats, or to integers with a scale and a minimum per sub-block. A pass
 * walks the list of operations. Nothing is optimized here, since the fast backends are compared
 * with it bit for bit. */
#include "compute/reference_ops.h"

#include "compute/experts.h"
#include "compute/group.h"
#include "compute/halves.h"
#include "compute/quant.h"
#include "compute/vmath.h"
#include <string.h>

enum { PIECE = 256 };

struct state { /* of one pass */
    const struct compute_program *program;
    const struct compute_pass *pass;
    unsigned char *registers;
    float *scratch;  /* one row of activations or probabilities */
    float *logits;   /* (n_logit_rows, n_vocabulary) */
    int32_t *chosen; /* (n_rows, n_used) experts of each row */
    float *shares;   /* the same */
    bool *is_lost;   /* another rank is gone */
};

static int64_t stride_of(const struct compute_program *program, int reg)
{
    return (int64_t)align_up_u64((uint64_t)program->widths[reg], 16);
}

static int32_t rows_of(const struct state *s, int reg)
{
    if (compute_has_expert_rows(s->program, reg))
        return s->pass->n_rows * s->program->shapes.experts.n_used;
    return s->program->is_logit_rows[reg] ? s->pass->n_logit_rows : s->pass->n_rows;
}

/* Returns the floats before a register's rows, which are behind those of the registers before
 * it. */
static int64_t floats_before(const struct state *s, int reg)
{
    int64_t n = 0;
    for (int i = 0; i < reg; i++)
        n += rows_of(s, i) * stride_of(s->program, i);
    return n;
}

static float *row_at(const struct state *s, int reg, int32_t row)
{
    return (float *)(void *)s->registers + floats_before(s, reg) + row * stride_of(s->program, reg);
}

static const struct compute_weight *weight_at(const struct state *s, int32_t index)
{
    return index < 0 ? NULL : s->program->weights[index];
}

static int32_t scratch_floats(const struct compute_program *program)
{
    int32_t n = 3 * PIECE + 2 * program->head_dim;
    for (int i = 0; i < program->n_registers; i++)
        n = max_i32(n, program->widths[i] * 2);
    return n;
}

static float weight_value(const struct compute_weight *w, int64_t at)
{
    if (w->floats != NULL)
        return w->floats[at];
    float value = (float)w->values[at] * w->scales[at / w->n_sub];
    return w->minimums != NULL ? value + w->minimums[at / w->n_sub] : value;
}

static void run_embed(const struct state *s, const struct compute_op *op)
{
    const struct compute_weight *w = weight_at(s, op->weight), *w2 = weight_at(s, op->weight2);
    for (int32_t row = 0; row < s->pass->n_rows; row++) {
        float *out = row_at(s, op->dst, row);
        int64_t at = (int64_t)s->pass->ids[row] * w->n_columns;
        int64_t position = s->pass->positions[row] + op->n;
        for (int32_t k = 0; k < w->n_columns; k++) {
            out[k] = weight_value(w, at + k) * op->scale;
            if (w2 != NULL)
                out[k] += weight_value(w2, position * w2->n_columns + k);
        }
    }
}

static float sum_of_products(const float *x, const float *y, int32_t n)
{
    float partial[16] = { 0 };
    for (int32_t i = 0; i < n; i++)
        partial[i % 16] = vmath_fma(x[i], y[i], partial[i % 16]);
    return vmath_fold16(partial);
}

static void norm(const float *x, int32_t n, const float *weight, const float *bias, float epsilon,
                 bool is_layer, float *out)
{
    float mean = 0;
    if (is_layer) {
        float partial[16] = { 0 };
        for (int32_t i = 0; i < n; i++)
            partial[i % 16] += x[i];
        mean = vmath_fold16(partial) / (float)n;
    }
    for (int32_t i = 0; i < n; i++)
        out[i] = is_layer ? x[i] - mean : x[i];
    float square = sum_of_products(out, out, n) / (float)n;
    float inverse = 1.0f / __builtin_sqrtf(square + epsilon);
    for (int32_t i = 0; i < n; i++) {
        float t = out[i] * inverse;
        out[i] = bias != NULL ? vmath_fma(t, weight[i], bias[i]) : t * weight[i];
    }
}

static void run_norm(const struct state *s, const struct compute_op *op)
{
    const struct compute_weight *w = weight_at(s, op->weight), *b = weight_at(s, op->bias);
    for (int32_t row = 0; row < rows_of(s, op->dst); row++) {
        float *dst = row_at(s, op->dst, row);
        float *out = op->flags & COMPUTE_ADD_TO ? s->scratch : dst;
        norm(row_at(s, op->src, row), w->n_columns, w->floats, b != NULL ? b->floats : NULL,
             op->scale, op->flags & COMPUTE_NORM_LAYER, out);
        for (int32_t i = 0; i < w->n_columns && out != dst; i++)
            dst[i] += out[i];
    }
}

static void run_head_norm(const struct state *s, const struct compute_op *op)
{
    const struct compute_weight *w = weight_at(s, op->weight);
    for (int32_t row = 0; row < rows_of(s, op->dst); row++)
        for (int32_t head = 0; head < op->n; head++) {
            float *x = row_at(s, op->dst, row) + (int64_t)head * s->program->head_dim;
            norm(x, s->program->head_dim, w->floats, NULL, op->scale, false, x);
        }
}

static float dot_float(const struct compute_weight *w, int32_t output, const float *x)
{
    const float *weights = w->floats + (int64_t)output * w->n_columns;
    float acc = 0;
    if (w->is_tiled)
        return halves_add(acc, weights, w->dtype == DTYPE_F16, x, w->n_columns);
    for (int32_t k = 0; k < w->n_columns; k++)
        acc = vmath_fma(weights[k], x[k], acc);
    return acc;
}

/* q is the quantized row. Its scales, one per 32, are behind it. */
static float dot_integer(const struct compute_weight *w, int32_t output, const int8_t *q,
                         const float *x_scales)
{
    int64_t first = (int64_t)output * w->n_columns;
    float acc = 0;
    for (int32_t k = 0; k < w->n_columns; k += w->n_sub) {
        int32_t sum = 0, sum_q = 0;
        for (int32_t i = k; i < k + w->n_sub; i++) {
            sum += w->values[first + i] * q[i];
            sum_q += q[i];
        }
        float x_scale = x_scales[k / 32];
        float w_scale = vmath_finite(w->scales[(first + k) / w->n_sub]);
        acc = vmath_fma((float)sum * w_scale, x_scale, acc);
        if (w->minimums != NULL)
            acc = vmath_fma(w->minimums[(first + k) / w->n_sub], x_scale * (float)sum_q, acc);
    }
    return acc;
}

static float act_of(int act, float x)
{
    switch (act) {
    case ACT_SILU:
        return vmath_silu(x);
    case ACT_GELU_TANH:
        return vmath_gelu_tanh(x);
    case ACT_GELU_ERF:
        return vmath_gelu_erf(x);
    case ACT_TANH:
        return vmath_tanh(x);
    default:
        return vmath_relu(x);
    }
}

static void matmul_row(const struct state *s, const struct compute_op *op, const float *x,
                       float *out)
{
    const struct compute_weight *w = weight_at(s, op->weight), *b = weight_at(s, op->bias);
    float *x_scales = s->scratch;
    int8_t *q = (int8_t *)(s->scratch + w->n_columns / 32);
    if (w->floats == NULL)
        for (int32_t k = 0; k < w->n_columns; k += 32)
            x_scales[k / 32] = quant_activations(x + k, q + k);
    for (int32_t n = 0; n < w->n_rows; n++) {
        float value = w->floats != NULL ? dot_float(w, n, x) : dot_integer(w, n, q, x_scales);
        if (b != NULL)
            value += b->floats[n];
        if (op->flags & COMPUTE_HAS_ACT)
            value = act_of(op->act, value);
        if (op->cap > 0)
            value = vmath_cap(value, op->cap);
        out[n] = op->flags & COMPUTE_ADD_TO ? out[n] + value : value;
    }
}

static void run_matmul(const struct state *s, const struct compute_op *op)
{
    bool is_logits = op->kind == COMPUTE_LOGITS;
    if (is_logits && !compute_pass_wants_logits(s->pass))
        return;
    for (int32_t row = 0; row < rows_of(s, op->src); row++)
        matmul_row(s, op, row_at(s, op->src, row),
                   is_logits ? s->logits + (int64_t)row * s->program->n_vocabulary + op->n
                             : row_at(s, op->dst, row));
}

static void run_sum(const struct state *s, const struct compute_op *op)
{
    int32_t n_rows = rows_of(s, op->src), width = s->program->widths[op->src];
    const struct compute_weight *bias = weight_at(s, op->bias);
    float *sums = row_at(s, op->src, 0);
    /* Rows are without gaps, but for floats that fill a row up and are never read. */
    if (!compute_group_sum(s->program->rank->group, sums, sums,
                           n_rows * stride_of(s->program, op->src)))
        *s->is_lost = true;
    for (int32_t row = 0; row < n_rows; row++) {
        const float *x = row_at(s, op->src, row);
        float *out = row_at(s, op->dst, row);
        for (int32_t i = 0; i < width; i++) {
            float value = bias != NULL ? x[i] + bias->floats[i] : x[i];
            if (op->flags & COMPUTE_HAS_ACT)
                value = act_of(op->act, value);
            out[i] = op->flags & COMPUTE_ADD_TO ? out[i] + value : value;
        }
    }
}

static void run_meet(const struct state *s, const struct compute_op *op)
{
    (void)op;
    if (!compute_group_sum(s->program->rank->group, NULL, NULL, 0))
        *s->is_lost = true;
}

/* Hands all rows of a register on, or takes those that were handed on. */
static void run_handover(const struct state *s, const struct compute_op *op)
{
    struct compute_group_rank *group = s->program->rank->group;
    int reg = op->kind == COMPUTE_SEND ? op->src : op->dst;
    int64_t n_bytes = rows_of(s, reg) * stride_of(s->program, reg) * (int64_t)sizeof(float);
    bool is_well = op->kind == COMPUTE_SEND
                       ? compute_group_send(group, row_at(s, reg, 0), n_bytes)
                       : compute_group_receive(group, row_at(s, reg, 0), n_bytes);
    *s->is_lost = *s->is_lost || !is_well;
}

static void run_gate(const struct state *s, const struct compute_op *op)
{
    for (int32_t row = 0; row < rows_of(s, op->dst); row++) {
        float *out = row_at(s, op->dst, row);
        const float *x = row_at(s, op->src, row), *y = row_at(s, op->src2, row);
        for (int32_t i = 0; i < s->program->widths[op->dst]; i++)
            out[i] = op->act == ACT_SWIGLU_CLAMPED ? vmath_swiglu_clamped(x[i], y[i], op->cap)
                                                   : act_of(op->act, x[i]) * y[i];
    }
}

static void run_rope(const struct state *s, const struct compute_op *op)
{
    const struct compute_rope *rope = &s->program->ropes[op->rope];
    int32_t half = s->program->n_rope_dims / 2;
    bool is_pairs = op->flags & COMPUTE_ROPE_PAIRS;
    for (int32_t row = 0; row < s->pass->n_rows; row++)
        for (int32_t i = 0; i < half; i++) {
            float angle = (float)s->pass->positions[row] * rope->inverse_frequencies[i];
            float sine, cosine;
            vmath_sincos((double)angle, &sine, &cosine);
            sine *= rope->scale;
            cosine *= rope->scale;
            for (int32_t head = 0; head < op->n; head++) {
                float *x = row_at(s, op->dst, row) + (int64_t)head * s->program->head_dim;
                float *a = is_pairs ? x + 2 * i : x + i, *b = is_pairs ? a + 1 : a + half;
                float a0 = *a, b0 = *b;
                *a = vmath_fma(a0, cosine, -(b0 * sine));
                *b = vmath_fma(b0, cosine, a0 * sine);
            }
        }
}

/* Multiplies heads, each with its own matrix. */
static void run_heads(const struct state *s, const struct compute_op *op)
{
    int32_t n_from = s->program->widths[op->src] / op->n,
            n_to = s->program->widths[op->dst] / op->n;
    for (int32_t row = 0; row < rows_of(s, op->dst); row++)
        for (int32_t head = 0; head < op->n; head++) {
            struct compute_op own = { .weight = op->weight + head, .bias = -1 };
            const struct compute_weight *w = weight_at(s, own.weight);
            const float *x = row_at(s, op->src, row) + (int64_t)head * n_from;
            float *out = row_at(s, op->dst, row) + (int64_t)head * n_to;
            int32_t n_rest = n_from - w->n_columns;
            if (op->flags & COMPUTE_KEEPS_REST) {
                memcpy(out, x + w->n_columns, (size_t)n_rest * sizeof(float));
                matmul_row(s, &own, x, out + n_rest);
            } else {
                matmul_row(s, &own, x + n_rest, out);
            }
        }
}

/* ---- Experts. Row r's expert rows are r * n_used, and so on. ---- */

static void softmax(const float *logits, int32_t n, float *shares)
{
    float max = logits[0], partial[16] = { 0 };
    for (int32_t i = 1; i < n; i++)
        max = logits[i] > max ? logits[i] : max;
    for (int32_t i = 0; i < n; i++) {
        shares[i] = vmath_exp(logits[i] - max);
        partial[i % 16] += shares[i];
    }
    float inverse = 1.0f / vmath_fold16(partial);
    for (int32_t i = 0; i < n; i++)
        shares[i] *= inverse;
}

static void run_route(const struct state *s, const struct compute_op *op)
{
    const struct compute_experts *experts = &s->program->shapes.experts;
    const struct compute_weight *bias = weight_at(s, op->weight);
    for (int32_t row = 0; row < s->pass->n_rows; row++) {
        const float *logits = row_at(s, op->src, row);
        float *shares = s->scratch;
        if (!experts->is_sigmoid)
            softmax(logits, experts->n_experts, shares);
        for (int32_t i = 0; i < experts->n_experts && experts->is_sigmoid; i++)
            shares[i] = 1.0f / (1.0f + vmath_exp(-logits[i]));
        compute_experts_choose(experts, logits, bias != NULL ? bias->floats : NULL, shares,
                               s->chosen + row * experts->n_used,
                               s->shares + row * experts->n_used);
    }
}

static void run_spread(const struct state *s, const struct compute_op *op)
{
    for (int32_t i = 0; i < rows_of(s, op->dst); i++)
        memcpy(row_at(s, op->dst, i), row_at(s, op->src, i / s->program->shapes.experts.n_used),
               (size_t)s->program->widths[op->dst] * sizeof(float));
}

static void run_experts(const struct state *s, const struct compute_op *op)
{
    for (int32_t i = 0; i < rows_of(s, op->src); i++) {
        struct compute_op own = *op;
        own.weight += s->chosen[i];
        own.bias += own.bias >= 0 ? s->chosen[i] : 0;
        matmul_row(s, &own, row_at(s, op->src, i), row_at(s, op->dst, i));
    }
}

static void run_combine(const struct state *s, const struct compute_op *op)
{
    int32_t n_used = s->program->shapes.experts.n_used;
    for (int32_t row = 0; row < s->pass->n_rows; row++) {
        float *out = row_at(s, op->dst, row), *acc = s->scratch;
        int32_t width = s->program->widths[op->dst];
        for (int32_t k = 0; k < width; k++)
            acc[k] = 0;
        for (int32_t i = row * n_used; i < (row + 1) * n_used; i++) {
            const float *x = row_at(s, op->src, i);
            for (int32_t k = 0; k < width; k++)
                acc[k] = vmath_fma(s->shares[i], x[k], acc[k]);
        }
        for (int32_t k = 0; k < width; k++)
            out[k] = op->flags & COMPUTE_FROM_ZERO ? acc[k] : out[k] + acc[k];
    }
}

static void run_scale(const struct state *s, const struct compute_op *op)
{
    for (int32_t row = 0; row < s->pass->n_rows; row++) {
        float by = 1.0f / (1.0f + vmath_exp(-*row_at(s, op->src2, row)));
        const float *x = row_at(s, op->src, row);
        float *out = row_at(s, op->dst, row);
        for (int32_t k = 0; k < s->program->widths[op->dst]; k++)
            out[k] = vmath_fma(by, x[k], out[k]);
    }
}

/* One element of the cache, and for Q8_0 the scale of its 32. */
struct kv_element {
    unsigned char *at, *scale;
};

static struct kv_element kv_at(const struct state *s, const struct compute_sequence *sequence,
                               int layer, int part, int head, int32_t position, int32_t d)
{
    const struct compute_kv *kv = &s->pass->kv;
    unsigned char *rows =
        compute_kv_rows(kv, sequence, position / kv->block_tokens, layer, part, head);
    size_t t = (size_t)(position % kv->block_tokens), n = (size_t)kv->block_tokens;
    size_t i = t * (size_t)kv->head_dim + (size_t)d;
    unsigned char *scales = rows + n * (size_t)kv->head_dim;
    if (kv->dtype == DTYPE_Q8_0)
        return (struct kv_element){ rows + i, scales + 2 * ((size_t)d / 32 * n + t) };
    return (struct kv_element){ rows + i * (kv->dtype == DTYPE_F32 ? 4 : 2), NULL };
}

static float kv_load(const struct state *s, const struct compute_sequence *sequence, int layer,
                     int part, int head, int32_t position, int32_t d)
{
    struct kv_element from = kv_at(s, sequence, layer, part, head, position, d);
    float value, scale;
    if (from.scale == NULL) {
        quant_block_to_float(s->pass->kv.dtype, from.at, &value);
        return value;
    }
    quant_block_to_float(DTYPE_F16, from.scale, &scale);
    return (float)*(const int8_t *)from.at * scale;
}

/* 32 elements and their scale. */
static void store_q8_0(struct kv_element to, const float x[32])
{
    int8_t q[32];
    uint16_t scale = quant_cache_scale(half_from_float(quant_activations(x, q)));
    memcpy(to.at, q, 32);
    memcpy(to.scale, &scale, 2);
}

/* Stores the keys (part 0) or values (1) of one row. */
static void store_row(const struct state *s, const struct compute_op *op,
                      const struct compute_sequence *sequence, int32_t r, int part)
{
    const struct compute_kv *kv = &s->pass->kv;
    const float *x = row_at(s, part == 0 ? op->src : op->src2, sequence->first_row + r);
    int32_t n_block = dtype_info(kv->dtype)->n_block;
    if (kv->has_keys_only) {
        int32_t n = s->program->widths[op->src];
        memcpy(s->scratch, x, (size_t)n * sizeof(float));
        memcpy(s->scratch + n, row_at(s, op->src2, sequence->first_row + r),
               (size_t)s->program->widths[op->src2] * sizeof(float));
        x = s->scratch;
    }
    for (int32_t j = 0; j < s->program->n_kv_heads * kv->head_dim; j += n_block) {
        struct kv_element to = kv_at(s, sequence, op->layer, part, j / kv->head_dim,
                                     sequence->n_before + r, j % kv->head_dim);
        uint16_t half = half_from_float(x[j]);
        if (kv->dtype == DTYPE_Q8_0)
            store_q8_0(to, x + j);
        else if (kv->dtype == DTYPE_F32)
            memcpy(to.at, &x[j], 4);
        else
            memcpy(to.at, &half, 2);
    }
}

static void run_kv_store(const struct state *s, const struct compute_op *op)
{
    for (int32_t i = 0; i < s->pass->n_sequences; i++)
        for (int32_t r = 0; r < s->pass->sequences[i].n_rows; r++) {
            store_row(s, op, &s->pass->sequences[i], r, 0);
            if (!s->pass->kv.has_keys_only)
                store_row(s, op, &s->pass->sequences[i], r, 1);
        }
}

struct head { /* one query head of one row, and its positions */
    const struct compute_sequence *sequence;
    int layer, kv_head;
    int32_t first, last; /* positions that it sees, both included */
    float scale, cap;
    const float *q;
    const float *sink; /* NULL: none */
};

/* Returns the product of the query with the key of position t. k is a row for scratch. */
static float dot_key(const struct state *s, const struct head *h, int32_t t, float *k)
{
    const struct compute_kv *kv = &s->pass->kv;
    float acc = 0;
    if (kv->dtype != DTYPE_Q8_0) {
        for (int32_t d = 0; d < kv->head_dim; d++)
            k[d] = kv_load(s, h->sequence, h->layer, 0, h->kv_head, t, d);
        return sum_of_products(h->q, k, kv->head_dim);
    }
    for (int32_t d = 0; d < kv->head_dim; d += 32) {
        int8_t q[32];
        float scale, query_scale = quant_activations(h->q + d, q);
        int32_t sum = 0;
        struct kv_element key = kv_at(s, h->sequence, h->layer, 0, h->kv_head, t, d);
        for (int32_t i = 0; i < 32; i++)
            sum += (int32_t)q[i] * (int8_t)key.at[i];
        quant_block_to_float(DTYPE_F16, key.scale, &scale);
        acc = vmath_fma((float)sum * scale, query_scale, acc);
    }
    return acc;
}

/* Computes piece `piece` from scratch into o (head_dim), and its maximum and sum. */
static void attend_piece(const struct state *s, const struct head *h, int32_t piece, float *max,
                         float *sum, float *o)
{
    int32_t head_dim = s->program->head_dim, from = max_i32(piece * PIECE, h->first);
    int32_t to = min_i32(piece * PIECE + PIECE - 1, h->last);
    float *p = s->scratch, *k = p + PIECE, partial[16] = { 0 };
    for (int32_t t = from; t <= to; t++) {
        p[t - from] = dot_key(s, h, t, k) * h->scale;
        if (h->cap > 0)
            p[t - from] = vmath_cap(p[t - from], h->cap);
        *max = t == from || p[t - from] > *max ? p[t - from] : *max;
    }
    for (int32_t d = 0; d < head_dim; d++)
        o[d] = 0;
    for (int32_t t = from; t <= to; t++) {
        float e = vmath_exp(p[t - from] - *max);
        partial[t % 16] += e;
        for (int32_t d = 0; d < head_dim; d++)
            o[d] = vmath_fma(e, kv_load(s, h->sequence, h->layer, 1, h->kv_head, t, d), o[d]);
    }
    *sum = vmath_fold16(partial);
}

static void attend_head(const struct state *s, const struct head *h, float *out)
{
    int32_t head_dim = s->program->head_dim, first_piece = h->first / PIECE;
    float max = 0, sum = 0, *o2 = s->scratch + PIECE + max_i32(PIECE, head_dim);
    attend_piece(s, h, first_piece, &max, &sum, out);
    for (int32_t piece = first_piece + 1; piece <= h->last / PIECE; piece++) {
        float max2 = 0, sum2 = 0;
        attend_piece(s, h, piece, &max2, &sum2, o2);
        float top = max > max2 ? max : max2;
        float a = vmath_exp(max - top), b = vmath_exp(max2 - top);
        for (int32_t d = 0; d < head_dim; d++)
            out[d] = vmath_fma(o2[d], b, out[d] * a);
        sum = vmath_fma(sum2, b, sum * a);
        max = top;
    }
    float by = 1.0f / sum;
    if (h->sink != NULL) {
        float top = max > *h->sink ? max : *h->sink, a = vmath_exp(max - top);
        by = a * (1.0f / vmath_fma(sum, a, vmath_exp(*h->sink - top)));
    }
    for (int32_t d = 0; d < head_dim; d++)
        out[d] *= by;
}

static void run_attend(const struct state *s, const struct compute_op *op)
{
    const struct compute_program *program = s->program;
    const struct compute_weight *sinks = weight_at(s, op->weight);
    int32_t group = program->n_heads / program->n_kv_heads;
    for (int32_t i = 0; i < s->pass->n_sequences; i++) {
        const struct compute_sequence *sequence = &s->pass->sequences[i];
        for (int32_t r = 0; r < sequence->n_rows; r++)
            for (int32_t head = 0; head < program->n_heads; head++) {
                int32_t row = sequence->first_row + r, last = sequence->n_before + r;
                int64_t at = (int64_t)head * program->head_dim;
                struct head h = { sequence,
                                  op->layer,
                                  head / group,
                                  0,
                                  last,
                                  op->scale,
                                  op->cap,
                                  row_at(s, op->src, row) + at,
                                  sinks != NULL ? sinks->floats + head : NULL };
                if (op->flags & COMPUTE_SEES_ALL)
                    h.last = sequence->n_before + sequence->n_rows - 1;
                if (op->n > 0)
                    h.first = max_i32(0, last - op->n + 1);
                attend_head(s, &h, row_at(s, op->dst, row) + at);
            }
    }
}

static void run_take_rows(const struct state *s, const struct compute_op *op)
{
    for (int32_t i = 0; i < s->pass->n_logit_rows; i++)
        memcpy(row_at(s, op->dst, i), row_at(s, op->src, s->pass->logit_rows[i]),
               (size_t)s->program->widths[op->dst] * sizeof(float));
}

static void run_vectors(const struct state *s, const struct compute_op *op)
{
    for (int32_t i = 0; i < s->pass->n_vectors; i++) {
        const struct compute_vector *vector = &s->pass->vectors[i];
        for (int32_t r = 0; r < vector->n; r++)
            for (int32_t k = 0; k < s->program->widths[op->src]; k++)
                vector->sum[k] += row_at(s, op->src, vector->first + r)[k];
    }
}

bool compute_reference_ops_run(const struct compute_program *program,
                               const struct compute_pass *pass, unsigned char *workspace,
                               float *logits)
{
    static void (*const steps[])(const struct state *, const struct compute_op *) = {
        [COMPUTE_EMBED] = run_embed,         [COMPUTE_NORM] = run_norm,
        [COMPUTE_HEAD_NORM] = run_head_norm, [COMPUTE_MATMUL] = run_matmul,
        [COMPUTE_GATE] = run_gate,           [COMPUTE_ROPE] = run_rope,
        [COMPUTE_KV_STORE] = run_kv_store,   [COMPUTE_ATTEND] = run_attend,
        [COMPUTE_TAKE_ROWS] = run_take_rows, [COMPUTE_LOGITS] = run_matmul,
        [COMPUTE_ROUTE] = run_route,         [COMPUTE_SPREAD] = run_spread,
        [COMPUTE_EXPERTS] = run_experts,     [COMPUTE_COMBINE] = run_combine,
        [COMPUTE_SCALE] = run_scale,         [COMPUTE_VECTORS] = run_vectors,
        [COMPUTE_HEADS] = run_heads,         [COMPUTE_SUM] = run_sum,
        [COMPUTE_MEET] = run_meet,           [COMPUTE_SEND] = run_handover,
        [COMPUTE_RECEIVE] = run_handover,
    };
    bool is_lost = false;
    struct state s = { program, pass, workspace, NULL, logits, NULL, NULL, &is_lost };
    s.scratch = (float *)(void *)workspace + floats_before(&s, program->n_registers);
    s.shares = s.scratch + scratch_floats(program);
    s.chosen = (int32_t *)(void *)(s.shares + pass->n_rows * program->shapes.experts.n_used);
    for (int i = 0; i < program->n_ops; i++)
        steps[program->ops[i].kind](&s, &program->ops[i]);
    return !is_lost;
}

int64_t compute_reference_ops_bytes(const struct compute_program *program, int32_t n_rows,
                                    int32_t n_logit_rows)
{
    int32_t n_used = program->shapes.experts.n_used;
    int64_t n_floats = scratch_floats(program) + 2 * (int64_t)n_rows * n_used;
    for (int i = 0; i < program->n_registers; i++)
        n_floats += stride_of(program, i) * (program->is_logit_rows[i]             ? n_logit_rows
                                             : compute_has_expert_rows(program, i) ? n_rows * n_used
                                                                                   : n_rows);
    return n_floats * (int64_t)sizeof(float);
}
