/* Measures our side: the machine's limits, and passes of a loaded model. */
#include "roofline/roofline.h"

#include "base/half.h"
#include "base/mem.h"
#include "base/memory_limit.h"
#include "base/rng.h"
#include "base/time.h"
#include "cpu/cpu.h"
#include "roofline/busy.h"
#include "run/forward.h"
#include "run/meter.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
    PROMPT = 512,
    BEHIND = 64,                 /* the prompt of a batched decode */
    PASSES_MAX = 31,             /* of one row in one round */
    ROUND_NS = 400000000,        /* about this long for one row in one round */
    ATTENTION_BYTES = 512 << 20, /* keys and values of one attention, unless one layer has more */
    READ_BYTES = 1 << 30,        /* at most, to find the bandwidth of a pass */
    SPARE_BYTES = 32 << 20       /* for stacks of threads and other small things */
};

struct roofline_meter {
    struct compute_device *device;
    struct run_model model;
    struct run_meter *meter;
    const struct roofline_machine *machine;
    const struct tensor **tensors;
};

void roofline_machine_measure(struct roofline_machine *m)
{
    int n = m->device.n_cores;
    for (int i = 0; i < 2; i++) {
        int n_threads = i == 0 ? 1 : n;
        cpu_limits_sizes(n_threads, &m->sizes);
        m->read[0][i] = cpu_limits_read(&m->device, n_threads, m->sizes.l2);
        m->read[1][i] = cpu_limits_read(&m->device, n_threads, m->sizes.l3);
        m->read[2][i] = cpu_limits_read(&m->device, n_threads, m->sizes.memory);
        for (int k = 0; k < CPU_LIMIT_N; k++)
            m->peak[k][i] = cpu_limits_peak(&m->device, n_threads, (enum cpu_limit)k);
    }
}

/* Returns the machine's present speeds for a pass of n_bytes. It uses the bandwidth of that
 * footprint, since data that is read repeatedly may lie in a cache. */
static struct roofline_speeds speeds_now(const struct roofline_machine *machine, double n_bytes)
{
    const struct device_spec *device = &machine->device;
    int64_t n = min_i64((int64_t)n_bytes, READ_BYTES);
    struct roofline_speeds speeds = { .read = cpu_limits_read(device, device->n_cores, n) };
    for (int i = 0; i < CPU_LIMIT_N; i++)
        speeds.peak[i] = cpu_limits_peak(device, device->n_cores, (enum cpu_limit)i);
    return speeds;
}

/* The work that a row times: a model's pass, or attention alone (no tensors). */
struct work {
    const struct roofline_machine *machine;
    const struct compute_program *program;
    const struct tensor *const *tensors;
};

static void set_limit(const struct work *w, struct roofline_row *row)
{
    struct roofline_speeds speeds = { .read = 1, .peak = { 1, 1, 1, 1 } };
    roofline_work_limit_of(w->program, w->tensors, &row->point, 2, &speeds, &row->limit);
    speeds = speeds_now(w->machine, row->limit.bytes);
    row->read = speeds.read;
    roofline_work_limit_of(w->program, w->tensors, &row->point, 2, &speeds, &row->limit);
}

/* Times a round of a row. A machine that is shared with others has other limits a second later (two
 * processors may share one core, as the host decides). So the limits are measured before and
 * after. */
static void time_round(const struct work *w, struct roofline_row *row, int round,
                       double (*seconds)(void *arg), void *arg)
{
    set_limit(w, row);
    struct roofline_limit limit = row->limit;
    struct busy before = roofline_busy_now();
    double s = row->ours[round] = seconds(arg);
    struct busy after = roofline_busy_now();
    row->others[round] = roofline_busy_others(&before, &after);
    set_limit(w, row);
    row->fractions[round] = 0.5 * (roofline_work_fraction(&row->point, &limit, s) +
                                   roofline_work_fraction(&row->point, &row->limit, s));
    row->n_rounds = round + 1;
}

PRINTF_LIKE(3, 4)
static void leave_out(struct roofline_model *model, const struct roofline_point *point,
                      const char *why, ...)
{
    struct roofline_left_out *row = &model->left_out[model->n_left_out++];
    va_list args;
    row->point = *point;
    va_start(args, why);
    vsnprintf(row->why, sizeof(row->why), why, args);
    va_end(args);
}

/* Returns whether there is memory for a row of n_bytes, and beside it for the n_read bytes that
 * find the bandwidth of its pass. */
static bool has_room(struct roofline_model *model, const struct roofline_point *point,
                     int64_t n_bytes, int64_t n_read)
{
    int64_t n_asked = n_bytes + min_i64(n_read, READ_BYTES) + SPARE_BYTES;
    int64_t n_left = memory_limit_left();
    if (n_asked > n_left)
        leave_out(model, point, "it takes %lld MiB of memory, %lld MiB are free",
                  (long long)(n_asked >> 20), (long long)(n_left >> 20));
    return n_asked <= n_left;
}

/* Adds a row, and makes the later meter large enough for it. */
static void add_row(const struct roofline_meter *m, struct roofline_model *model,
                    struct run_meter_options *options, struct roofline_point point)
{
    int32_t n_positions = point.n_before + point.n_new, n = point.n_sequences;
    int32_t n_most = weights_spec(m->model.weights)->n_positions_max;
    struct run_meter_options larger = {
        .n_rows_max = max_i32(options->n_rows_max, n * point.n_new),
        .n_sequences_max = max_i32(options->n_sequences_max, n),
        .n_tokens_max = max_i32(options->n_tokens_max, n * n_positions),
    };
    int64_t n_bytes = run_meter_bytes(&m->model, &larger);
    if (n_positions > n_most) {
        leave_out(model, &point, "it takes %d positions, the model has %d", n_positions, n_most);
    } else if (has_room(model, &point, n_bytes, model->packed_bytes + n_bytes)) {
        model->rows[model->n_rows++] = (struct roofline_row){ .point = point };
        *options = larger;
    }
}

static void open_rows(struct roofline_meter *m, const struct roofline_options *o,
                      struct roofline_model *model)
{
    struct run_meter_options options = { 1, 1, 1, 0 };
    static const int32_t batches[] = { 8, 32 };
    int32_t half = o->n_generated / 2;
    if (o->has_prefill)
        add_row(m, model, &options, (struct roofline_point){ ROOFLINE_PREFILL, 1, PROMPT, 0 });
    add_row(m, model, &options, (struct roofline_point){ ROOFLINE_DECODE, 1, 1, half });
    for (size_t i = 0; i < COUNT_OF(batches); i++)
        if (batches[i] <= o->n_batch_max)
            add_row(m, model, &options,
                    (struct roofline_point){ ROOFLINE_DECODE, batches[i], 1, BEHIND + half });
    if (o->n_depth > 0)
        add_row(m, model, &options,
                (struct roofline_point){ ROOFLINE_DECODE, 1, 1, o->n_depth + half });
    m->meter = run_meter_open(&m->model, &options);
}

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL && slash[1] != '\0' ? slash + 1 : path;
}

enum status roofline_meter_open(struct roofline_meter **out, const char *path,
                                const struct roofline_machine *machine,
                                const struct roofline_options *options,
                                struct roofline_model *model, struct fault *fault)
{
    struct weights *weights;
    enum status status = weights_open(&weights, path, fault);
    if (status != STATUS_OK)
        return status;
    struct roofline_meter *m = mem_take(sizeof(*m));
    const struct model_spec *spec = weights_spec(weights);
    int n_max = run_forward_tensors_max(spec);
    memset(model, 0, sizeof(*model));
    model->path = path;
    model->name = last_part(path);
    model->file_bytes = weights_file_bytes(weights);
    model->shape =
        (struct roofline_shape){ spec->n_layers, spec->n_heads, spec->n_kv_heads, spec->head_dim };
    m->machine = machine;
    m->device = cpu_open(&machine->device, cpu_isa_best());
    const struct run_model_options load = { .device = m->device, .kv_dtype = DTYPE_F16 };
    int64_t n_packed = run_model_packed_bytes(weights, m->device), n_left = memory_limit_left();
    int64_t begin_ns = time_now_ns();
    if (n_packed <= n_left) {
        status = run_model_open(&m->model, weights, &load, fault);
    } else {
        weights_close(weights);
        status = fault_set(fault, STATUS_TOO_LARGE,
                           "%.100s: it takes %lld MiB of memory, %lld MiB are free", model->name,
                           (long long)(n_packed >> 20), (long long)(n_left >> 20));
    }
    if (status != STATUS_OK) {
        m->device->close(m->device->self);
        mem_give(m);
        return status;
    }
    model->pack_s = (double)(time_now_ns() - begin_ns) * 1e-9;
    model->packed_bytes = m->model.weights_bytes;
    m->tensors = mem_take(sizeof(*m->tensors) * (size_t)n_max);
    (void)run_forward_tensors(spec, weights_model(m->model.weights), m->tensors, n_max);
    open_rows(m, options, model);
    *out = m;
    return STATUS_OK;
}

void roofline_meter_close(struct roofline_meter *m)
{
    run_meter_close(m->meter);
    run_model_close(&m->model);
    m->device->close(m->device->self);
    mem_give(m->tensors);
    mem_give(m);
}

struct timed {
    struct run_meter *meter;
    struct run_meter_pass pass;
};

static double time_passes(void *arg)
{
    const struct timed *t = arg;
    double s[PASSES_MAX];
    int n = 0;
    (void)run_meter_step(t->meter, &t->pass, 1, TIME_NEVER); /* caches and clock */
    int64_t end_ns = time_now_ns() + ROUND_NS;
    do
        s[n++] = (double)run_meter_step(t->meter, &t->pass, 1, TIME_NEVER).ps * 1e-12;
    while (n < PASSES_MAX && (n < 3 || time_now_ns() < end_ns));
    return roofline_work_median(s, n);
}

void roofline_meter_round(struct roofline_meter *m, struct roofline_model *model, int round)
{
    CHECK(round < ROOFLINE_ROUNDS);
    const struct work work = { m->machine, &m->model.program, m->tensors };
    for (int i = 0; i < model->n_rows; i++) {
        const struct roofline_point *point = &model->rows[i].point;
        struct timed timed = { m->meter, { point->n_sequences, point->n_new, point->n_before } };
        time_round(&work, &model->rows[i], round, time_passes, &timed);
    }
}

/* ---- Attention alone. ---- */

struct alone { /* a program that computes queries and attention, layer by layer */
    struct compute_program program;
    struct compute_op *ops;
    struct compute_packed query;
    int32_t widths[2];
    bool is_logit_rows[2];
    uint32_t *blocks;
    struct compute_sequence sequences[32];
    int32_t ids[32], positions[32];
    struct compute_device *device; /* that computes pass */
    struct compute_pass pass;
};

enum { BLOCK_TOKENS = 32 };

/* Fills keys and values with halves around 0, as real ones are. They come from a pool, since there
 * are many. */
static void fill_cache(unsigned char *to, size_t n_bytes)
{
    enum { POOL = 1 << 16 };
    uint16_t *pool = mem_take(POOL * sizeof(*pool));
    struct rng rng;
    rng_init(&rng, 1, 0);
    for (int i = 0; i < POOL; i++)
        pool[i] = half_from_float((float)rng_unit(&rng) - 0.5f);
    for (size_t at = 0; at < n_bytes; at += POOL * sizeof(*pool)) {
        size_t left = n_bytes - at;
        memcpy(to + at, pool, left < POOL * sizeof(*pool) ? left : POOL * sizeof(*pool));
    }
    mem_give(pool);
}

static void open_query(struct roofline_meter *m, struct alone *a, int32_t width)
{
    float *values = mem_take(sizeof(*values) * 2 * (size_t)width);
    for (int32_t i = 0; i < 2 * width; i++)
        values[i] = (float)(i % 17 - 8) * 0.05f;
    struct tensor tensor = { values, DTYPE_F32, 2, width, width * 4, false };
    const struct tensor *list[] = { &tensor };
    CHECK(compute_packed_open(&a->query, m->device, list, 1, NULL, NULL) == STATUS_OK &&
          compute_packed_add(&a->query, &tensor, false, NULL) == STATUS_OK);
    mem_give(values);
}

static void open_alone(struct roofline_meter *m, struct alone *a, int32_t n_layers)
{
    const struct compute_program *whole = &m->model.program;
    int32_t width = whole->n_heads * whole->head_dim;
    a->ops = mem_take(sizeof(*a->ops) * (size_t)(n_layers + 1));
    a->ops[0] = (struct compute_op){
        .kind = COMPUTE_EMBED, .weight = 0, .bias = -1, .weight2 = -1, .scale = 1
    };
    for (int32_t i = 0; i < n_layers; i++)
        a->ops[i + 1] = (struct compute_op){ .kind = COMPUTE_ATTEND,
                                             .layer = (uint16_t)i,
                                             .dst = 1,
                                             .weight = -1,
                                             .bias = -1,
                                             .weight2 = -1,
                                             .scale = 0.125f };
    a->widths[0] = a->widths[1] = width;
    open_query(m, a, width);
    a->program = *whole;
    a->program.n_ops = n_layers + 1;
    a->program.ops = a->ops;
    a->program.n_registers = 2;
    a->program.widths = a->widths;
    a->program.is_logit_rows = a->is_logit_rows;
    a->program.n_weights = 1;
    a->program.weights = a->query.weights;
    a->program.n_rope_dims = 0;
    a->program.n_ropes = 0;
}

static int32_t blocks_each(const struct roofline_point *point)
{
    return (int32_t)div_up_i64(point->n_before + 1, BLOCK_TOKENS);
}

/* Keys and values of one layer. */
static int64_t layer_bytes(const struct compute_program *program,
                           const struct roofline_point *point)
{
    return INT64_C(4) * program->n_kv_heads * program->head_dim * BLOCK_TOKENS *
           blocks_each(point) * point->n_sequences;
}

static struct compute_pass make_pass(struct alone *a, int32_t n_layers,
                                     const struct roofline_point *point)
{
    const struct compute_program *p = &a->program;
    int32_t n_blocks = blocks_each(point);
    size_t n_bytes = (size_t)(n_layers * layer_bytes(p, point));
    size_t block_bytes = n_bytes / (size_t)(n_blocks * point->n_sequences);
    const struct compute_memory_options options = { .n_bytes = (int64_t)n_bytes };
    struct compute_memory *cache;
    CHECK(a->device->memory_open(a->device->self, &options, &cache, NULL) == STATUS_OK);
    fill_cache(cache->base, n_bytes); /* the CPU's */
    a->blocks = mem_take(sizeof(*a->blocks) * (size_t)(n_blocks * point->n_sequences));
    for (int32_t i = 0; i < n_blocks * point->n_sequences; i++)
        a->blocks[i] = (uint32_t)i;
    for (int32_t i = 0; i < point->n_sequences; i++) {
        a->sequences[i] =
            (struct compute_sequence){ i, 1, point->n_before, a->blocks + i * n_blocks };
        a->ids[i] = i % 2;
        a->positions[i] = point->n_before;
    }
    return (struct compute_pass){ .program = p,
                                  .workspace = a->pass.workspace,
                                  .n_rows = point->n_sequences,
                                  .ids = a->ids,
                                  .positions = a->positions,
                                  .n_sequences = point->n_sequences,
                                  .sequences = a->sequences,
                                  .kv = { .memory = cache,
                                          .unit_bytes = block_bytes,
                                          .block_bytes = block_bytes,
                                          .blocks_per_unit = 1,
                                          .block_tokens = BLOCK_TOKENS,
                                          .dtype = DTYPE_F16,
                                          .n_layers = n_layers,
                                          .n_kv_heads = p->n_kv_heads,
                                          .head_dim = p->head_dim,
                                          .has_keys_only = p->shapes.has_latents } };
}

static double time_alone(void *arg)
{
    struct alone *a = arg;
    double s[PASSES_MAX];
    int n = 0;
    int64_t end_ns = 0;
    for (int i = -1; n < PASSES_MAX && (i < 3 || time_now_ns() < end_ns); i++) {
        const struct compute_work *work = &a->pass.work;
        (void)compute_device_wait(a->device, a->device->lanes[0], &a->pass.work);
        if (i < 0)
            end_ns = time_now_ns() + ROUND_NS / 2;
        else
            s[n++] = (double)(work->end_ns - work->begin_ns) * 1e-9;
    }
    return roofline_work_median(s, n);
}

static void measure_alone(struct roofline_meter *m, struct roofline_model *model,
                          const struct roofline_point *point)
{
    struct compute_device *device = m->device;
    const struct compute_sizes sizes = { point->n_sequences, 0 };
    int64_t layer = layer_bytes(&m->model.program, point);
    int32_t n_layers = (int32_t)min_i64(max_i64(ATTENTION_BYTES / layer, 1),
                                        weights_spec(m->model.weights)->n_layers);
    struct alone *a = mem_take(sizeof(*a));
    open_alone(m, a, n_layers);
    int64_t n_work = device->workspace_bytes(device->self, device->lanes[0], &a->program, sizes);
    if (has_room(model, point, n_layers * layer + n_work, n_layers * layer)) {
        const struct work work = { m->machine, &a->program, NULL };
        struct roofline_row *row = &model->attentions[model->n_attentions++];
        *row = (struct roofline_row){ .point = *point };
        a->device = device;
        CHECK(device->workspace_open(device->self, device->lanes[0], &a->program, sizes,
                                     &a->pass.workspace, NULL) == STATUS_OK);
        a->pass = make_pass(a, n_layers, point);
        time_round(&work, row, 0, time_alone, a);
    }
    device->workspace_close(device->self, a->pass.workspace);
    device->memory_close(device->self, a->pass.kv.memory);
    compute_packed_close(&a->query);
    mem_give(a->blocks);
    mem_give(a->ops);
    mem_give(a);
}

void roofline_meter_attention(struct roofline_meter *m, const struct roofline_options *options,
                              struct roofline_model *model)
{
    static const int32_t contexts[] = { 512, 4096, 16384 }, batches[] = { 1, 8, 32 };
    for (size_t c = 0; c < COUNT_OF(contexts); c++)
        for (size_t b = 0; b < COUNT_OF(batches) && batches[b] <= options->n_batch_max; b++) {
            const struct roofline_point point = { ROOFLINE_ATTENTION, batches[b], 1,
                                                  contexts[c] - 1 };
            measure_alone(m, model, &point);
        }
}
