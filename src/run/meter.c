/* Times passes of a loaded model. */
#include "run/meter.h"

#include "base/mem.h"
#include "base/time.h"
#include <string.h>

enum { BLOCK_TOKENS = 32, SHUFFLE_STEP = 7919 /* a prime */ };

struct run_meter {
    const struct run_model *model;
    struct run_meter_options options;
    int32_t n_positions_max, n_blocks, n_filled; /* the table's first n_filled were written */
    struct compute_pass pass;
    struct compute_sequence *sequences;
    uint32_t *blocks;
    int32_t *ids, *positions, *logit_rows;
    uint8_t *decodes;             /* classes of the rows of a decode */
    struct compute_memory *zeros; /* of a block */
};

static int32_t block_tokens_of(const struct run_meter_options *options)
{
    return options->block_tokens > 0 ? options->block_tokens : BLOCK_TOKENS;
}

/* A sequence's last block may be half empty. */
static int32_t n_blocks_of(const struct run_meter_options *options)
{
    return (int32_t)div_up_i64(options->n_tokens_max, block_tokens_of(options)) +
           options->n_sequences_max;
}

static int64_t block_bytes_of(const struct run_model *model,
                              const struct run_meter_options *options)
{
    return block_tokens_of(options) *
           model_spec_kv_bytes_per_token(weights_spec(model->weights), model->kv_dtype);
}

static struct compute_lane *lane_of(const struct run_model *model,
                                    const struct run_meter_options *options)
{
    return model->device->lanes[options->lane];
}

static struct compute_sizes sizes_of(const struct run_meter_options *options)
{
    return (struct compute_sizes){ max_i32(options->n_rows_max, options->n_sequences_max),
                                   options->n_sequences_max };
}

/* Returns the bytes of its cache, a block of zeros to fill that with, and the workspace of
 * passes. */
int64_t run_meter_bytes(const struct run_model *model, const struct run_meter_options *options)
{
    struct compute_device *device = model->device;
    return (n_blocks_of(options) + 1) * block_bytes_of(model, options) +
           device->workspace_bytes(device->self, lane_of(model, options), &model->program,
                                   sizes_of(options));
}

static struct compute_memory *open_memory(struct compute_device *device, int64_t n_bytes,
                                          bool is_host)
{
    const struct compute_memory_options options = { .n_bytes = n_bytes, .is_host = is_host };
    struct compute_memory *memory;
    if (device->memory_open(device->self, &options, &memory, NULL) != STATUS_OK)
        mem_refuse((size_t)n_bytes);
    return memory;
}

static void open_cache(struct run_meter *m)
{
    const struct model_spec *spec = weights_spec(m->model->weights);
    int64_t block_bytes = block_bytes_of(m->model, &m->options);
    m->n_blocks = n_blocks_of(&m->options);
    m->zeros = open_memory(m->model->device, block_bytes, true);
    m->pass.kv = (struct compute_kv){
        .memory = open_memory(m->model->device, m->n_blocks * block_bytes, false),
        .unit_bytes = (uint64_t)block_bytes,
        .block_bytes = (uint64_t)block_bytes,
        .blocks_per_unit = 1,
        .block_tokens = block_tokens_of(&m->options),
        .dtype = m->model->kv_dtype,
        .n_layers = spec->n_layers,
        .n_kv_heads = spec->n_kv_heads,
        .head_dim = spec->head_dim,
        .has_keys_only = spec->latent.rank > 0,
    };
    m->blocks = mem_take(sizeof *m->blocks * (size_t)m->n_blocks);
    int64_t step = m->options.is_shuffled && m->n_blocks % SHUFFLE_STEP != 0 ? SHUFFLE_STEP : 1;
    for (int32_t i = 0; i < m->n_blocks; i++)
        m->blocks[i] = (uint32_t)(i * step % m->n_blocks);
    m->n_positions_max = spec->n_positions_max;
}

struct run_meter *run_meter_open(const struct run_model *model,
                                 const struct run_meter_options *options)
{
    struct run_meter *m = mem_take(sizeof *m);
    struct compute_device *device = model->device;
    struct compute_sizes sizes = sizes_of(options);
    size_t n = (size_t)sizes.n_rows;
    m->model = model;
    m->options = *options;
    open_cache(m);
    m->sequences = mem_take(sizeof *m->sequences * (size_t)options->n_sequences_max);
    m->ids = mem_take(sizeof *m->ids * n);
    m->positions = mem_take(sizeof *m->positions * n);
    m->logit_rows = mem_take(sizeof *m->logit_rows * n);
    m->decodes = mem_take(n);
    memset(m->decodes, COMPUTE_ROW_GENERATED, n);
    if (device->workspace_open(device->self, lane_of(model, options), &model->program, sizes,
                               &m->pass.workspace, NULL) != STATUS_OK)
        mem_refuse(0);
    for (size_t i = 0; i < n; i++)
        m->ids[i] = (int32_t)(i * 7919 % (size_t)model->program.n_vocabulary);
    m->pass.program = &model->program;
    m->pass.ids = m->ids;
    m->pass.positions = m->positions;
    m->pass.sequences = m->sequences;
    m->pass.logit_rows = m->logit_rows;
    return m;
}

void run_meter_close(struct run_meter *m)
{
    struct compute_device *device = m->model->device;
    device->workspace_close(device->self, m->pass.workspace);
    device->memory_close(device->self, m->pass.kv.memory);
    device->memory_close(device->self, m->zeros);
    mem_give(m->blocks);
    mem_give(m->sequences);
    mem_give(m->ids);
    mem_give(m->positions);
    mem_give(m->logit_rows);
    mem_give(m->decodes);
    mem_give(m);
}

static int32_t blocks_each(const struct run_meter *m, const struct run_meter_pass *pass)
{
    return (int32_t)div_up_i64(pass->n_before + pass->n_new, block_tokens_of(&m->options));
}

bool run_meter_fits(const struct run_meter *m, const struct run_meter_pass *pass)
{
    return pass->n_sequences > 0 && pass->n_new > 0 && pass->n_before >= 0 &&
           pass->n_sequences <= m->options.n_sequences_max &&
           (int64_t)pass->n_sequences * pass->n_new <=
               max_i32(m->options.n_rows_max, m->options.n_sequences_max) &&
           (int64_t)pass->n_sequences * blocks_each(m, pass) <= m->n_blocks &&
           pass->n_before + pass->n_new <= m->n_positions_max;
}

static struct perf_load load_of(const struct run_meter_pass *pass)
{
    int64_t n = pass->n_sequences, n_new = pass->n_new;
    if (n_new == 1)
        return (struct perf_load){ .n_decodes = pass->n_sequences,
                                   .n_decode_context = n * (pass->n_before + 1) };
    return (struct perf_load){ .n_new = (int32_t)(n * n_new),
                               .n_new_squared = n * n_new * n_new,
                               .n_new_context = n * n_new * pass->n_before };
}

/* Writes the cache. Memory that was never written is one page of zeros for every reader, so a
 * decode would find all keys and values in the first-level cache. */
static void fill_cache(struct run_meter *m, int32_t n_blocks)
{
    struct compute_device *device = m->model->device;
    int64_t n_bytes = block_bytes_of(m->model, &m->options);
    for (; m->n_filled < n_blocks; m->n_filled++) {
        const struct copy_part part = { 0, m->blocks[m->n_filled] * n_bytes, n_bytes };
        struct compute_copy copy = { .work = { .kind = COMPUTE_WORK_COPY },
                                     .from = m->zeros,
                                     .to = m->pass.kv.memory,
                                     .n_parts = 1,
                                     .parts = &part };
        (void)compute_device_wait(device, lane_of(m->model, &m->options), &copy.work);
    }
}

struct perf_sample run_meter_step(struct run_meter *m, const struct run_meter_pass *pass,
                                  int n_runs, int64_t deadline_ns)
{
    int64_t best_ns = INT64_MAX;
    CHECK(run_meter_fits(m, pass));
    fill_cache(m, pass->n_sequences * blocks_each(m, pass));
    m->pass.n_rows = pass->n_sequences * pass->n_new;
    m->pass.n_sequences = m->pass.n_logit_rows = pass->n_sequences;
    m->pass.classes = pass->n_new == 1 ? m->decodes : NULL; /* a GPU has kernels for each class */
    for (int32_t i = 0; i < pass->n_sequences; i++) {
        m->sequences[i] = (struct compute_sequence){ i * pass->n_new, pass->n_new, pass->n_before,
                                                     m->blocks + i * blocks_each(m, pass) };
        m->logit_rows[i] = (i + 1) * pass->n_new - 1;
        for (int32_t k = 0; k < pass->n_new; k++)
            m->positions[i * pass->n_new + k] = pass->n_before + k;
    }
    for (int run = 0; run < n_runs && (run == 0 || time_now_ns() < deadline_ns); run++) {
        (void)compute_device_wait(m->model->device, lane_of(m->model, &m->options), &m->pass.work);
        best_ns = min_i64(best_ns, m->pass.work.end_ns - m->pass.work.begin_ns);
    }
    return (struct perf_sample){ load_of(pass), best_ns * 1000 };
}
