/* A model file opened on a device, with one sequence and a cache of its own. */
#include "passes.h"

#include "base/mem.h"
#include "base/num.h"
#include <string.h>

enum status passes_open(struct passes *p, const char *path, struct compute_device *device,
                        enum dtype kv_dtype, int32_t n_tokens_max, struct fault *fault)
{
    struct weights *weights;
    *p = (struct passes){ .device = device, .n_tokens_max = n_tokens_max };
    const struct run_model_options options = { .device = device, .kv_dtype = kv_dtype };
    enum status status = weights_open(&weights, path, fault);
    if (status == STATUS_OK)
        status = run_model_open(&p->model, weights, &options, fault);
    if (status != STATUS_OK) {
        device->close(device->self);
        return status;
    }
    const struct model_spec *spec = weights_spec(p->model.weights);
    int64_t token_bytes = model_spec_kv_bytes_per_token(spec, kv_dtype);
    int64_t n_blocks = div_up_i64(n_tokens_max, PASSES_BLOCK_TOKENS);
    uint64_t block_bytes = (uint64_t)(PASSES_BLOCK_TOKENS * token_bytes);
    const struct compute_memory_options cache = { .n_bytes = n_blocks * (int64_t)block_bytes };
    struct compute_memory *memory;
    CHECK(device->memory_open(device->self, &cache, &memory, NULL) == STATUS_OK);
    p->kv = (struct compute_kv){ .memory = memory,
                                 .unit_bytes = block_bytes,
                                 .block_bytes = block_bytes,
                                 .blocks_per_unit = 1,
                                 .block_tokens = PASSES_BLOCK_TOKENS,
                                 .dtype = kv_dtype,
                                 .n_layers = spec->n_layers,
                                 .n_kv_heads = spec->n_kv_heads,
                                 .head_dim = spec->head_dim,
                                 .has_keys_only = spec->latent.rank > 0 };
    p->blocks = mem_take(sizeof *p->blocks * (size_t)n_blocks);
    for (int64_t i = 0; i < n_blocks; i++)
        p->blocks[i] = (uint32_t)(n_blocks - 1 - i); /* out of order on purpose */
    CHECK(device->workspace_open(device->self, device->lanes[0], &p->model.program,
                                 (struct compute_sizes){ n_tokens_max, n_tokens_max },
                                 &p->workspace, NULL) == STATUS_OK);
    p->positions = mem_take(sizeof(int32_t) * (size_t)n_tokens_max);
    p->logit_rows = mem_take(sizeof(int32_t) * (size_t)n_tokens_max);
    p->classes = mem_take((size_t)n_tokens_max);
    return STATUS_OK;
}

void passes_close(struct passes *p)
{
    p->device->workspace_close(p->device->self, p->workspace);
    p->device->memory_close(p->device->self, p->kv.memory);
    run_model_close(&p->model);
    p->device->close(p->device->self);
    mem_give(p->blocks);
    mem_give(p->positions);
    mem_give(p->logit_rows);
    mem_give(p->classes);
}

/* The same as passes_run, for rows whose classes are set. */
static void run(struct passes *p, const int32_t *ids, int32_t n_before, int32_t n_ids,
                int32_t n_logits, float *logits)
{
    const struct compute_sequence sequence = { 0, n_ids, n_before, p->blocks };
    for (int32_t i = 0; i < n_ids; i++)
        p->positions[i] = n_before + i;
    for (int32_t i = 0; i < n_logits; i++)
        p->logit_rows[i] = n_ids - n_logits + i;
    struct compute_pass pass = { .program = &p->model.program,
                                 .workspace = p->workspace,
                                 .n_rows = n_ids,
                                 .ids = ids,
                                 .classes = p->classes,
                                 .positions = p->positions,
                                 .n_sequences = 1,
                                 .sequences = &sequence,
                                 .kv = p->kv,
                                 .n_logit_rows = n_logits,
                                 .logit_rows = p->logit_rows,
                                 .logits = logits };
    CHECK(compute_device_wait(p->device, p->device->lanes[0], &pass.work) == COMPUTE_DONE);
}

void passes_run(struct passes *p, const int32_t *ids, int32_t n_before, int32_t n_ids,
                int32_t n_logits, float *logits)
{
    bool is_generated = n_before > 0 && n_ids == 1;
    memset(p->classes, is_generated ? COMPUTE_ROW_GENERATED : COMPUTE_ROW_PROMPT, (size_t)n_ids);
    run(p, ids, n_before, n_ids, n_logits, logits);
}

void passes_replay(struct passes *p, const int32_t *ids, int32_t n_before, int32_t n_ids,
                   float *logits)
{
    memset(p->classes, COMPUTE_ROW_GENERATED, (size_t)n_ids);
    run(p, ids, n_before, n_ids, n_ids, logits);
}

void passes_vectors(struct passes *p, const int32_t *ids, int32_t n_ids, int32_t n_rows,
                    float *vectors)
{
    int32_t width = weights_spec(p->model.weights)->width;
    const struct compute_sequence sequence = { 0, n_ids, 0, p->blocks, 0 };
    struct compute_vector *sums = mem_take(sizeof(*sums) * (size_t)n_rows);
    memset(vectors, 0, sizeof(*vectors) * (size_t)n_rows * (size_t)width);
    for (int32_t i = 0; i < n_rows; i++)
        sums[i] = (struct compute_vector){ n_ids - n_rows + i, 1, vectors + (int64_t)i * width };
    for (int32_t i = 0; i < n_ids; i++)
        p->positions[i] = i;
    struct compute_pass pass = { .program = &p->model.program,
                                 .workspace = p->workspace,
                                 .n_rows = n_ids,
                                 .ids = ids,
                                 .positions = p->positions,
                                 .n_sequences = 1,
                                 .sequences = &sequence,
                                 .kv = p->kv,
                                 .n_vectors = n_rows,
                                 .vectors = sums };
    CHECK(compute_device_wait(p->device, p->device->lanes[0], &pass.work) == COMPUTE_DONE);
    mem_give(sums);
}

static double bits_of(const float *logits, int32_t n, int32_t id)
{
    double best = (double)logits[0], sum = 0.0;
    for (int32_t i = 1; i < n; i++)
        best = (double)logits[i] > best ? (double)logits[i] : best;
    for (int32_t i = 0; i < n; i++)
        sum += num_exp((double)logits[i] - best);
    return (num_log(sum) + best - (double)logits[id]) * 1.4426950408889634;
}

double passes_bits(struct passes *p, const int32_t *ids, int32_t n_ids, int32_t n_window,
                   int32_t bos_id)
{
    int32_t n_vocabulary = passes_n_vocabulary(p);
    float *logits = mem_take(sizeof(float) * (size_t)n_vocabulary * (size_t)n_window);
    int32_t *rows = mem_take(sizeof(int32_t) * (size_t)n_window);
    double bits = 0.0;
    for (int32_t at = 0; at < n_ids; at += n_window) {
        int32_t n = min_i32(n_window, n_ids - at);
        rows[0] = bos_id;
        for (int32_t i = 1; i < n; i++)
            rows[i] = ids[at + i - 1];
        passes_run(p, rows, 0, n, n, logits);
        for (int32_t i = 0; i < n; i++)
            bits += bits_of(logits + (int64_t)i * n_vocabulary, n_vocabulary, ids[at + i]);
    }
    mem_give(rows);
    mem_give(logits);
    return bits;
}

int32_t passes_n_vocabulary(const struct passes *p)
{
    return p->model.program.n_vocabulary;
}
