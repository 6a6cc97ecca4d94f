/* Mixtures of experts: rows are routed, and expert rows lie expert by expert, so that each expert's
 * matrices are multiplied with a small batch.
 *
 * An expert's rows begin at a multiple of CPU_GROUP_ROWS, as groups of rows need it. The places
 * between are never read or written. */
#include "cpu/experts.h"

#include "compute/experts.h"
#include "compute/vmath.h"
#include "cpu/pass.h"
#include <string.h>

static const struct compute_experts *experts_of(const struct cpu_pass *p)
{
    return &p->program->shapes.experts;
}

static int32_t *chosen_at(const struct cpu_pass *p, int32_t row)
{
    int32_t *first = (int32_t *)(void *)(p->workspace + p->layout.chosen);
    return first + (int64_t)row * experts_of(p)->n_used;
}

static float *shares_at(const struct cpu_pass *p, int32_t row)
{
    float *first = (float *)(void *)(p->workspace + p->layout.shares);
    return first + (int64_t)row * experts_of(p)->n_used;
}

/* Returns the places of a row's expert rows in their registers. */
static int32_t *places_at(const struct cpu_pass *p, int32_t row)
{
    int32_t *first = (int32_t *)(void *)(p->workspace + p->layout.places);
    return first + (int64_t)row * experts_of(p)->n_used;
}

int64_t cpu_experts_rows(const struct compute_program *program, int32_t n_rows)
{
    const struct compute_experts *experts = &program->shapes.experts;
    int64_t n = (int64_t)n_rows * experts->n_used;
    return n + min_i64(n, experts->n_experts) * (CPU_GROUP_ROWS - 1);
}

void cpu_experts_route(const struct cpu_pass *p, const struct compute_op *op,
                       struct cpu_share share, float *scratch)
{
    int32_t n = experts_of(p)->n_experts;
    const struct compute_weight *bias = cpu_pass_weight(p, op->weight);
    CHECK(n <= CPU_PIECE);
    for (int32_t row = share.from; row < share.to; row++) {
        const float *logits = cpu_pass_row(p, op->src, row);
        if (experts_of(p)->is_sigmoid) {
            for (int32_t i = 0; i < n; i++)
                scratch[i] = 1.0f / (1.0f + vmath_exp(-logits[i]));
        } else {
            float max;
            memcpy(scratch, logits, (size_t)n * sizeof(*scratch));
            float sum = p->kernels->softmax(scratch, 0, n - 1, &max);
            p->kernels->scale(scratch, 1.0f / sum, scratch, n);
        }
        compute_experts_choose(experts_of(p), logits, bias != NULL ? bias->vector : NULL, scratch,
                               chosen_at(p, row), shares_at(p, row));
    }
}

void cpu_experts_sort(const struct cpu_pass *p)
{
    struct cpu_experts_order *order = cpu_pass_order(p);
    const int32_t *chosen = chosen_at(p, 0);
    int32_t *places = places_at(p, 0), *rows = cpu_pass_expert_rows(p);
    int32_t *sources = (int32_t *)(void *)(p->workspace + p->layout.sources);
    int32_t n = p->pass->n_rows * experts_of(p)->n_used, at = 0;
    int32_t counts[LIMIT_EXPERTS] = { 0 }, starts[LIMIT_EXPERTS];
    *order = (struct cpu_experts_order){ 0 };
    for (int32_t i = 0; i < n; i++)
        counts[chosen[i]]++;
    for (int32_t id = 0; id < experts_of(p)->n_experts; id++) {
        if (counts[id] == 0)
            continue;
        order->experts[order->n++] = (struct cpu_expert){ id, at, counts[id] };
        order->n_rows_most = max_i32(order->n_rows_most, counts[id]);
        at = (int32_t)align_up_u64((uint64_t)(at + counts[id]), CPU_GROUP_ROWS);
    }
    for (int32_t i = 0, k = 0; i < order->n; i++) {
        starts[order->experts[i].id] = k;
        for (int32_t row = 0; row < order->experts[i].n_rows; row++)
            rows[k++] = order->experts[i].first_row + row;
    }
    for (int32_t i = 0; i < n; i++) {
        int32_t nth = starts[chosen[i]]++;
        sources[nth] = i / experts_of(p)->n_used;
        places[i] = rows[nth];
    }
}

void cpu_experts_combine(const struct cpu_pass *p, const struct compute_op *op,
                         struct cpu_share share, float *scratch)
{
    int32_t n_used = experts_of(p)->n_used, width = p->program->widths[op->dst];
    for (int32_t row = share.from; row < share.to; row++) {
        const int32_t *places = places_at(p, row);
        const float *shares = shares_at(p, row);
        memset(scratch, 0, (size_t)width * sizeof(*scratch));
        for (int32_t i = 0; i < n_used; i++)
            p->kernels->add_scaled(cpu_pass_row(p, op->src, places[i]), shares[i], scratch, width);
        float *out = cpu_pass_row(p, op->dst, row);
        if (op->flags & COMPUTE_FROM_ZERO)
            memcpy(out, scratch, (size_t)width * sizeof(*out));
        else
            p->kernels->add(scratch, out, width);
    }
}

void cpu_experts_scale(const struct cpu_pass *p, const struct compute_op *op,
                       struct cpu_share share)
{
    for (int32_t row = share.from; row < share.to; row++) {
        float by = 1.0f / (1.0f + vmath_exp(-*cpu_pass_row(p, op->src2, row)));
        p->kernels->add_scaled(cpu_pass_row(p, op->src, row), by, cpu_pass_row(p, op->dst, row),
                               p->program->widths[op->dst]);
    }
}
