/* The loops of drawing in plain C, compiled once per instruction set. Loops over a block become
 * vectors, with selects instead of branches. */
#pragma once
#include "compute/draw.h"
#include <string.h>

enum { DRAW_BLOCK = COMPUTE_DRAW_BLOCK };

static inline float draw_highest(const float *x, int32_t n)
{
    float tops[DRAW_BLOCK];
    int32_t i = 0;
    for (int j = 0; j < DRAW_BLOCK; j++)
        tops[j] = -__builtin_inff();
    for (; i + DRAW_BLOCK <= n; i += DRAW_BLOCK)
        for (int j = 0; j < DRAW_BLOCK; j++)
            tops[j] = x[i + j] > tops[j] ? x[i + j] : tops[j];
    for (int j = 0; i + j < n; j++)
        tops[j] = x[i + j] > tops[j] ? x[i + j] : tops[j];
    for (int j = 1; j < DRAW_BLOCK; j++)
        tops[0] = tops[j] > tops[0] ? tops[j] : tops[0];
    return tops[0];
}

static inline void draw_tops(const float *x, int32_t n, float *tops)
{
    for (int32_t i = 0; i + DRAW_BLOCK * DRAW_BLOCK <= n; i += DRAW_BLOCK * DRAW_BLOCK) {
        for (int j = 0; j < DRAW_BLOCK; j++)
            tops[j] = -__builtin_inff();
        for (int k = 0; k < DRAW_BLOCK; k++, x += DRAW_BLOCK)
            for (int j = 0; j < DRAW_BLOCK; j++)
                tops[j] = x[j] > tops[j] ? x[j] : tops[j];
        tops += DRAW_BLOCK;
    }
}

/* Returns e^x for x in [-NEGLIGIBLE, 0], within 1e-6 of itself; for other x any value. n ln 2 is
 * subtracted in two parts, and the polynomial of the rest is Cephes' expf. */
static inline float draw_exp(float x)
{
    const float shift = 12582912.0F; /* 1.5 * 2^23: adding it rounds to an integer */
    float t = x * 1.44269504F + shift;
    float n = t - shift;
    float r = (x - n * 0.693359375F) + n * 2.12194440e-4F;
    float p = 1.9875691500e-4F;
    p = p * r + 1.3981999507e-3F;
    p = p * r + 8.3334519073e-3F;
    p = p * r + 4.1665795894e-2F;
    p = p * r + 1.6666665459e-1F;
    p = p * r + 5.0000001201e-1F;
    p = (p * (r * r) + r) + 1.0F;
    union {
        float f;
        uint32_t u;
    } bits = { .f = t }; /* t has n in its low bits, which become the exponent of 2^n */
    bits.u = (bits.u << 23) + 0x3F800000U;
    return p * bits.f;
}

/* Appends a block's candidates, whose ids begin at `first`. */
static inline void draw_weigh_block(const float *logits, struct compute_draw_limit limit,
                                    int32_t first, struct compute_draw_list *out)
{
    float distances[DRAW_BLOCK], *values_out = out->values + out->n;
    int32_t weights[DRAW_BLOCK], is_in[DRAW_BLOCK], n_in = 0, n = 0;
    int32_t *ids_out = out->ids + out->n, *weights_out = out->weights + out->n;
    for (int j = 0; j < DRAW_BLOCK; j++) {
        float distance = (logits[j] - limit.best) * limit.inverse;
        int32_t is_near = -(distance >= limit.distance) & -(logits[j] >= limit.logit);
        is_in[j] = is_near;
        n_in -= is_near;
        distances[j] = is_near ? distance : 0.0F;
    }
    if (n_in == 0)
        return;
    for (int j = 0; j < DRAW_BLOCK; j++)
        weights[j] = (int32_t)(draw_exp(distances[j]) * (float)COMPUTE_DRAW_ONE + 0.5F);
    out->n += n_in;
    if (n_in == DRAW_BLOCK) {
        for (int j = 0; j < DRAW_BLOCK; j++)
            ids_out[j] = first + j;
        memcpy(weights_out, weights, sizeof(weights));
        memcpy(values_out, logits, sizeof(weights));
        return;
    }
    for (int j = 0; j < DRAW_BLOCK; j++) {
        ids_out[n] = first + j;
        weights_out[n] = weights[j];
        values_out[n] = logits[j];
        n -= is_in[j];
    }
}

static inline int64_t draw_sum(const int32_t *weights, int32_t n)
{
    int64_t sum = 0;
    for (int32_t i = 0; i < n; i++)
        sum += weights[i];
    return sum;
}

static inline int64_t draw_weigh(const float *logits, int32_t n,
                                 const struct compute_draw_limit *limit,
                                 struct compute_draw_list *out)
{
    int32_t i = 0;
    out->n = 0;
    for (; i + DRAW_BLOCK <= n; i += DRAW_BLOCK)
        draw_weigh_block(logits + i, *limit, i, out);
    if (i < n) { /* behind the last: values that are never kept */
        float block[DRAW_BLOCK];
        for (int32_t j = 0; j < DRAW_BLOCK; j++)
            block[j] = i + j < n ? logits[i + j] : __builtin_nanf("");
        draw_weigh_block(block, *limit, i, out);
    }
    return draw_sum(out->weights, out->n);
}

static inline int64_t draw_split(const struct compute_draw_list *list, float low, float high,
                                 struct compute_draw_list *out)
{
    const int32_t *weights = list->weights;
    int32_t *weights_out = out->weights, n = 0;
    float *values_out = out->values;
    int64_t above = 0;
    for (int32_t i = 0; i < list->n; i++) {
        float value = list->values[i];
        above += -(value > high) & (weights != NULL ? weights[i] : 1);
        if (weights_out != NULL)
            weights_out[n] = weights[i];
        values_out[n] = value;
        n += (value >= low) & (value <= high);
    }
    out->n = n;
    return above;
}
