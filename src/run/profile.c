/* Times a loaded model on small batches over a cache of its own, shortest first, until the budget
 * is spent. */
#include "run/profile.h"

#include "base/mem.h"
#include "base/time.h"

enum { PROFILE_BLOCK_TOKENS = 32, PROFILE_CONTEXT = 256, PROFILE_SAMPLES = 64 };

struct profiler {
    const struct run_model *model;
    struct compute_pass pass;
    struct compute_sequence *sequences;
    uint32_t *blocks;
    int32_t *ids, *positions, *logit_rows;
    void *workspace;
    int32_t n_rows_max, n_decodes_max;
    int64_t deadline_ns;
    struct perf_sample samples[PROFILE_SAMPLES];
    int n_samples;
};

/* A cache of n_decodes_max sequences of PROFILE_CONTEXT tokens, or one long prompt, whichever is
 * more. */
static void open_cache(struct profiler *p, enum dtype kv_dtype)
{
    const struct model_spec *spec = weights_spec(p->model->weights);
    int64_t token_bytes = model_spec_kv_bytes_per_token(spec, kv_dtype);
    int64_t n_tokens = max_i64((int64_t)p->n_decodes_max * PROFILE_CONTEXT, p->n_rows_max);
    int64_t n_blocks = div_up_i64(n_tokens, PROFILE_BLOCK_TOKENS);
    p->pass.kv = (struct compute_kv){
        .base = mem_take((size_t)(n_blocks * PROFILE_BLOCK_TOKENS * token_bytes)),
        .unit_bytes = (uint64_t)(PROFILE_BLOCK_TOKENS * token_bytes),
        .block_bytes = (uint64_t)(PROFILE_BLOCK_TOKENS * token_bytes),
        .blocks_per_unit = 1,
        .block_tokens = PROFILE_BLOCK_TOKENS,
        .dtype = kv_dtype,
        .n_layers = spec->n_layers,
        .n_kv_heads = spec->n_kv_heads,
        .head_dim = spec->head_dim,
    };
    p->blocks = mem_take(sizeof *p->blocks * (size_t)n_blocks);
    for (int64_t i = 0; i < n_blocks; i++)
        p->blocks[i] = (uint32_t)i;
}

static void open_rows(struct profiler *p)
{
    const struct compute_backend *backend = p->model->device->backend;
    int32_t n_vocabulary = p->model->program.n_vocabulary;
    size_t n = (size_t)max_i32(p->n_rows_max, p->n_decodes_max);
    p->sequences = mem_take(sizeof *p->sequences * (size_t)p->n_decodes_max);
    p->ids = mem_take(sizeof *p->ids * n);
    p->positions = mem_take(sizeof *p->positions * n);
    p->logit_rows = mem_take(sizeof *p->logit_rows * n);
    p->pass.logits = mem_take(sizeof(float) * (size_t)p->n_decodes_max * (size_t)n_vocabulary);
    p->workspace = mem_take(
        backend->workspace_bytes(backend->self, &p->model->program, (int32_t)n, p->n_decodes_max));
    for (size_t i = 0; i < n; i++)
        p->ids[i] = (int32_t)(i * 7919 % (size_t)n_vocabulary);
    p->pass.ids = p->ids;
    p->pass.positions = p->positions;
    p->pass.sequences = p->sequences;
    p->pass.logit_rows = p->logit_rows;
}

/* One pass of n_sequences sequences, each computing n_new tokens behind n_before; the better of two
 * runs is kept. */
static void measure(struct profiler *p, int32_t n_sequences, int32_t n_new, int32_t n_before)
{
    struct perf_load load = { 0 };
    p->pass.n_rows = n_sequences * n_new;
    p->pass.n_sequences = p->pass.n_logit_rows = n_sequences;
    for (int32_t i = 0; i < n_sequences; i++) {
        p->sequences[i] =
            (struct compute_sequence){ i * n_new, n_new, n_before,
                                       p->blocks + i * (PROFILE_CONTEXT / PROFILE_BLOCK_TOKENS) };
        p->logit_rows[i] = (i + 1) * n_new - 1;
        for (int32_t k = 0; k < n_new; k++)
            p->positions[i * n_new + k] = n_before + k;
    }
    if (n_new == 1)
        load = (struct perf_load){ .n_decodes = n_sequences,
                                   .n_decode_context = (int64_t)n_sequences * (n_before + 1) };
    else
        load = (struct perf_load){ .n_new = n_new,
                                   .n_new_squared = (int64_t)n_new * n_new,
                                   .n_new_context = (int64_t)n_new * n_before };

    int64_t best = INT64_MAX;
    for (int run = 0; run < 2 && (run == 0 || time_now_ns() < p->deadline_ns); run++) {
        int64_t begin = time_now_ns();
        run_device_run(p->model->device, &p->model->program, &p->pass, p->workspace);
        best = min_i64(best, time_now_ns() - begin);
    }
    CHECK(p->n_samples < PROFILE_SAMPLES);
    p->samples[p->n_samples++] = (struct perf_sample){ load, best * 1000 };
}

/* Where the fit is not determined: a line through the first prompt and the first decode. */
static void guess(const struct profiler *p, struct perf *out)
{
    int64_t decode_ps = p->samples[0].ps;
    int64_t prompt_ps = p->n_samples > 1 ? p->samples[1].ps : decode_ps;
    int64_t n_new = p->n_samples > 1 ? p->samples[1].load.n_new : 1;
    *out = (struct perf){ .floor_ps = decode_ps / 2,
                          .k1_ps = prompt_ps / n_new,
                          .c3_ps = { decode_ps, decode_ps },
                          .b_switch = INT32_MAX,
                          .prefill_scale = 1.0F,
                          .decode_scale = 1.0F };
}

static void close_profiler(struct profiler *p)
{
    mem_give(p->pass.kv.base);
    mem_give(p->pass.logits);
    mem_give(p->blocks);
    mem_give(p->sequences);
    mem_give(p->ids);
    mem_give(p->positions);
    mem_give(p->logit_rows);
    mem_give(p->workspace);
}

void run_profile(const struct run_model *model, const struct run_profile_options *options,
                 struct perf *out)
{
    static const struct {
        int32_t n_sequences, n_new, n_before;
    } plan[] = {
        { 1, 1, 31 },  { 1, 16, 0 },  { 1, 1, 255 },  { 2, 1, 31 },   { 1, 64, 0 },  { 4, 1, 31 },
        { 1, 32, 0 },  { 4, 1, 255 }, { 8, 1, 31 },   { 1, 128, 0 },  { 8, 1, 255 }, { 1, 64, 128 },
        { 16, 1, 31 }, { 1, 256, 0 }, { 16, 1, 255 }, { 32, 1, 127 },
    };
    struct profiler p = { .model = model,
                          .n_rows_max = options->n_rows_max,
                          .n_decodes_max = options->n_decodes_max };
    p.deadline_ns = time_now_ns() + options->budget_ns;
    open_cache(&p, options->kv_dtype);
    open_rows(&p);
    for (size_t i = 0; i < COUNT_OF(plan) && (i < 2 || time_now_ns() < p.deadline_ns); i++) {
        int32_t n_new = min_i32(plan[i].n_new, p.n_rows_max);
        int32_t n_before =
            min_i32(plan[i].n_before, weights_spec(model->weights)->n_positions_max - n_new - 1);
        if (plan[i].n_sequences <= p.n_decodes_max && n_before >= 0)
            measure(&p, plan[i].n_sequences, n_new, n_before);
    }
    if (!perf_fit(p.samples, p.n_samples, out))
        guess(&p, out);
    close_profiler(&p);
}
