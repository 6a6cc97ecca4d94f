/* Kernels in plain C for any processor: a complete table, not tuned for speed. */
#include "cpu/lanes.h"

static float element(enum dtype dtype, const unsigned char *p)
{
    float value;
    quant_block_to_float(dtype, p, &value);
    return value;
}

static void matmul_float(const struct cpu_tile *tile, enum dtype dtype, size_t n_bytes)
{
    for (int32_t row = 0; row < tile->n_rows; row++)
        for (int32_t panel = 0; panel < tile->n_panels; panel++) {
            const unsigned char *p = tile->panels + (size_t)panel * tile->panel_bytes;
            const float *x = tile->x + (size_t)row * tile->x_stride;
            float *out = tile->out + (row * CPU_TILE_PANELS + panel) * CPU_PANEL;
            float acc[CPU_PANEL] = { 0 };
            if (tile->is_continued)
                memcpy(acc, out, sizeof(acc));
            for (int32_t k = 0; k < tile->n_columns; k++)
                for (size_t o = 0; o < CPU_PANEL; o++, p += n_bytes)
                    acc[o] = vmath_fma(element(dtype, p), x[k], acc[o]);
            memcpy(out, acc, sizeof(acc));
        }
}

static void matmul_f32(const struct cpu_tile *tile)
{
    matmul_float(tile, DTYPE_F32, 4);
}
static void matmul_f16(const struct cpu_tile *tile)
{
    matmul_float(tile, DTYPE_F16, 2);
}
static void matmul_bf16(const struct cpu_tile *tile)
{
    matmul_float(tile, DTYPE_BF16, 2);
}

static void matmul_f8(const struct cpu_tile *tile)
{
    for (int32_t row = 0; row < tile->n_rows; row++)
        for (int32_t panel = 0; panel < tile->n_panels; panel++) {
            const unsigned char *p = tile->panels + (size_t)panel * tile->panel_bytes;
            const float *x = tile->x + (size_t)row * tile->x_stride;
            float *out = tile->out + (row * CPU_TILE_PANELS + panel) * CPU_PANEL;
            float acc[CPU_PANEL] = { 0 }, scales[CPU_PANEL];
            if (tile->is_continued)
                memcpy(acc, out, sizeof(acc));
            for (int32_t k = 0; k < tile->n_columns; k++) {
                if (k % CPU_F8_UNIT == 0) {
                    memcpy(scales, p, CPU_F8_HEAD);
                    p += CPU_F8_HEAD;
                }
                for (int32_t o = 0; o < CPU_PANEL; o++, p++)
                    acc[o] = vmath_fma(half_to_float(f8_to_half(*p)) * scales[o], x[k], acc[o]);
            }
            memcpy(out, acc, sizeof(acc));
        }
}

/* Sums value * q over `n` k from k0 of the block, per output. */
static inline void dot(struct cpu_form form, const unsigned char *weights, const int8_t *q, int k0,
                       int n, int32_t sum[CPU_PANEL])
{
    memset(sum, 0, CPU_PANEL * sizeof(*sum));
    for (int k = k0; k < k0 + n; k += 4)
        for (int o = 0; o < CPU_PANEL; o++)
            for (int j = 0; j < 4; j++)
                sum[o] += cpu_form_value(form, weights + 4 * o + j, k / 4) * q[k + j];
}

static inline float half_at(struct cpu_form form, const unsigned char *p)
{
    uint16_t half;
    memcpy(&half, p, 2);
    return form.has_bf16 ? bf16_to_float(half) : half_to_float(half);
}

/* Adds the scaled sums of one block of 32 at p to acc. unit holds the halves. */
static inline void block(struct cpu_form form, const unsigned char *unit, const unsigned char *p,
                         const struct cpu_block *x, float acc[CPU_PANEL])
{
    const unsigned char *weights = p + cpu_form_scales(form);
    for (int sub = 0; sub < 32 / form.n_sub; sub++) {
        int32_t sum[CPU_PANEL], sum_q = cpu_block_sum(x, sub);
        if (form.n_sub == 32)
            sum_q += cpu_block_sum(x, 1);
        dot(form, weights, x->q, sub * form.n_sub, form.n_sub, sum);
        float x_sum = x->scale * (float)sum_q;
        for (int o = 0; o < CPU_PANEL; o++) {
            float scale = vmath_finite(half_at(form, unit + 2 * o));
            float minimum = form.has_minimum ? half_at(form, unit + 32 + 2 * o) : 0.0f;
            if (form.n_unit == 256) {
                scale *= (float)(int8_t)p[o];
                minimum = form.has_minimum ? -(minimum * (float)(int8_t)p[16 + o]) : 0.0f;
            }
            acc[o] = vmath_fma((float)sum[o] * scale, x->scale, acc[o]);
            if (form.has_minimum)
                acc[o] = vmath_fma(minimum, x_sum, acc[o]);
        }
        p += form.has_minimum ? 32 : 16;
    }
}

static inline void matmul_integer(const struct cpu_tile *tile, struct cpu_form form)
{
    for (int32_t row = 0; row < tile->n_rows; row++)
        for (int32_t panel = 0; panel < tile->n_panels; panel++) {
            const unsigned char *p = tile->panels + (size_t)panel * tile->panel_bytes;
            const struct cpu_block *x = tile->blocks + (size_t)row * tile->block_stride;
            float *out = tile->out + (row * CPU_TILE_PANELS + panel) * CPU_PANEL;
            float acc[CPU_PANEL] = { 0 };
            if (tile->is_continued)
                memcpy(acc, out, sizeof(acc));
            for (int32_t k = 0; k < tile->n_columns; k += form.n_unit) {
                const unsigned char *unit = p;
                p += cpu_form_head(form);
                for (int32_t i = 0; i < form.n_unit; i += 32, x++) {
                    block(form, unit, p, x, acc);
                    p += cpu_form_scales(form) + cpu_form_weights(form);
                }
            }
            memcpy(out, acc, sizeof(acc));
        }
}

#define MATMUL(name, form)                                                                         \
    static void name(const struct cpu_tile *tile)                                                  \
    {                                                                                              \
        matmul_integer(tile, form);                                                                \
    }
MATMUL(matmul_q8_0, CPU_FORM_Q8_0)
MATMUL(matmul_q4_0, CPU_FORM_Q4_0)
MATMUL(matmul_q4_1, CPU_FORM_Q4_1)
MATMUL(matmul_q5_0, CPU_FORM_Q5_0)
MATMUL(matmul_q5_1, CPU_FORM_Q5_1)
MATMUL(matmul_q2_k, CPU_FORM_Q2_K)
MATMUL(matmul_q3_k, CPU_FORM_Q3_K)
MATMUL(matmul_q4_k, CPU_FORM_Q4_K)
MATMUL(matmul_q5_k, CPU_FORM_Q5_K)
MATMUL(matmul_q6_k, CPU_FORM_Q6_K)
MATMUL(matmul_iq4_nl, CPU_FORM_IQ4_NL)
MATMUL(matmul_iq4_xs, CPU_FORM_IQ4_XS)
MATMUL(matmul_mxfp4, CPU_FORM_MXFP4)
MATMUL(matmul_ternary, CPU_FORM_TQ)

static void quantize(const float *x, int32_t n, struct cpu_block *blocks)
{
    for (struct cpu_block *b = blocks; b < blocks + n / 32; b++, x += 32) {
        b->scale = quant_activations(x, b->q);
        memset(b->sums, 0, sizeof(b->sums));
        for (int i = 0; i < 32; i++)
            b->sums[i / 16][i % 4 / 2] = (int16_t)(b->sums[i / 16][i % 4 / 2] + b->q[i]);
        cpu_block_finish(b);
    }
}

static void to_half(const float *x, int32_t n, uint16_t *out)
{
    for (int32_t i = 0; i < n; i++)
        out[i] = half_from_float(x[i]);
}

static float scale_at(const struct cpu_run *run, int32_t t, int32_t block)
{
    return half_to_float(run->scales[(size_t)block * run->scale_stride + (size_t)t]);
}

static float kv_at(const struct cpu_run *run, int32_t t, int32_t d)
{
    size_t at = (size_t)t * (size_t)run->head_dim + (size_t)d;
    if (run->dtype == DTYPE_Q8_0)
        return (float)(int8_t)run->rows[at] * scale_at(run, t, d / 32);
    return element(run->dtype, run->rows + at * (run->dtype == DTYPE_F16 ? 2 : 4));
}

static void scores(const struct cpu_run *run, const float *queries, float scale)
{
    for (int32_t t = 0; t < run->n; t++) {
        for (int32_t d = 0; d < run->head_dim; d++)
            run->scratch[d] = kv_at(run, t, d);
        for (int32_t i = 0; i < run->n_queries; i++) {
            float partial[16] = { 0 };
            for (int32_t d = 0; d < run->head_dim; d++)
                partial[d % 16] =
                    vmath_fma(queries[i * run->stride + d], run->scratch[d], partial[d % 16]);
            run->probabilities[i * CPU_PIECE + t] = vmath_fold16(partial) * scale;
        }
    }
}

static void scores_q8_0(const struct cpu_run *run, const struct cpu_block *queries, float scale)
{
    for (int32_t t = 0; t < run->n; t++)
        for (int32_t i = 0; i < run->n_queries; i++) {
            const unsigned char *key = run->rows + (size_t)t * (size_t)run->head_dim;
            const struct cpu_block *query = queries + i * cpu_run_blocks(run);
            float acc = 0;
            for (int32_t b = 0; b < run->head_dim / 32; b++, query++) {
                int32_t sum = 0;
                for (int32_t d = 0; d < 32; d++)
                    sum += (int32_t)query->q[d] * (int8_t)*key++;
                acc = vmath_fma((float)sum * scale_at(run, t, b), query->scale, acc);
            }
            run->probabilities[i * CPU_PIECE + t] = acc * scale;
        }
}

static void mix(const struct cpu_run *run, float *out)
{
    for (int32_t t = 0; t < run->n; t++)
        for (int32_t d = 0; d < run->head_dim; d++) {
            float value = kv_at(run, t, d);
            for (int32_t i = 0; i < run->n_queries; i++) {
                float *o = out + i * run->stride + d;
                *o = vmath_fma(run->probabilities[i * CPU_PIECE + t], value, *o);
            }
        }
}

const struct cpu_kernels cpu_generic = {
    .name = "cpu-generic",
    .matmul = {
        [DTYPE_F32] = matmul_f32,   [DTYPE_F16] = matmul_f16,   [DTYPE_BF16] = matmul_bf16,
        [DTYPE_Q8_0] = matmul_q8_0, [DTYPE_Q4_0] = matmul_q4_0, [DTYPE_Q4_1] = matmul_q4_1,
        [DTYPE_Q5_0] = matmul_q5_0, [DTYPE_Q5_1] = matmul_q5_1, [DTYPE_Q2_K] = matmul_q2_k,
        [DTYPE_Q3_K] = matmul_q3_k, [DTYPE_Q4_K] = matmul_q4_k, [DTYPE_Q5_K] = matmul_q5_k,
        [DTYPE_Q6_K] = matmul_q6_k, [DTYPE_IQ4_NL] = matmul_iq4_nl,
        [DTYPE_IQ4_XS] = matmul_iq4_xs, [DTYPE_MXFP4] = matmul_mxfp4,
        [DTYPE_TQ1_0] = matmul_ternary, [DTYPE_TQ2_0] = matmul_ternary,
        [DTYPE_F8_E4M3] = matmul_f8,
    },
    .quantize = quantize,
    .norm = lanes_norm,
    .rotate_halves = lanes_rotate_halves,
    .rotate_pairs = lanes_rotate_pairs,
    .act = lanes_act,
    .multiply = lanes_multiply,
    .cap = lanes_cap,
    .swiglu_clamped = lanes_swiglu_clamped,
    .add = lanes_add,
    .add_scaled = lanes_add_scaled,
    .scale = lanes_scale,
    .to_half = to_half,
    .scores = scores,
    .scores_q8_0 = scores_q8_0,
    .softmax = lanes_softmax,
    .mix = mix,
    .merge = lanes_merge,
    .draw = &compute_draw_plain,
};
