/* What a kind of KV pool costs: decode steps of one model over merged blocks, head-wise units and a
 * private cache, in turn, so that whatever else the machine does falls on all of them.
 *
 * Each kind has its own pool, in which another model's requests came and went between the blocks of
 * the measured ones, which grew side by side: what tables name lies where it falls. The private
 * cache is a pool of this model alone, of blocks of 16 tokens. Attention alone and whole steps, for
 * several depths and batches; of each pair of runs the ratio to the private cache, its median and
 * the interval that holds it with 95%. Keys and values are read again only when SET_BYTES of others
 * were read between.
 *
 * bench_kv MODEL [threads [seconds of each row]] */
#include "base/mem.h"
#include "base/rng.h"
#include "base/time.h"
#include "cpu/cpu.h"
#include "kv/kv.h"
#include "run/model.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SET_BYTES = 64 << 20, SETS_MAX = 24, BATCH_MAX = 32, TIMES_MAX = 400, CONTEXT_MAX = 4096 };
#define POOL_BYTES_MAX (INT64_C(700) << 20)
/* The model beside it: 22 layers of 4 KV heads of 64 dims, as a llama of 1.1B has them. */
enum { OTHER_BYTES = 2 * 22 * 4 * 64 * 2, OTHER_HEADS = 22 * 4 };

struct pool {
    const char *name;
    enum kv_kind kind;
    struct kv *kv;
    struct compute_memory *memory;
    double s[TIMES_MAX];
};
struct bench {
    struct compute_device *device;
    struct run_model model;
    struct compute_program attention; /* the model's, of which nothing but attention is left */
    struct compute_op ops[256];
    int32_t ids[BATCH_MAX], positions[BATCH_MAX], logit_rows[BATCH_MAX];
    float *logits;
    struct compute_workspace *workspace;
    struct pool pools[3];
    double seconds;
};

/* One pool for n sequences of `context` positions, which grow side by side. */
static void open_pool(struct bench *b, struct pool *pool, uint32_t n, int32_t context)
{
    const struct model_spec *spec = weights_spec(b->model.weights);
    const struct kv_shape shapes[2] = { { model_spec_kv_bytes_per_token(spec, DTYPE_F16),
                                          spec->n_layers * spec->n_kv_heads },
                                        { OTHER_BYTES, OTHER_HEADS } };
    struct kv_layout layouts[2];
    double waste;
    bool is_private = pool->kind == KV_PRIVATE;
    int n_services = is_private ? 1 : 2;
    int64_t unit = kv_choose(pool->kind, 2, shapes, 16 << 20, layouts, &waste);
    if (is_private) {
        unit = 16 * shapes[0].bytes_per_token;
        layouts[0] = (struct kv_layout){ shapes[0].bytes_per_token, 16, 1, unit, 1 };
    }
    int64_t bytes = (int64_t)n * (context + 64) * shapes[0].bytes_per_token;
    bytes = (bytes + bytes / 4 + (32 << 20) + 64 * unit) / unit * unit; /* the other's */
    pool->kv = kv_open(&(struct kv_options){ .kind = is_private ? KV_MERGED : pool->kind,
                                             .pool_bytes_max = bytes,
                                             .pool_bytes = bytes,
                                             .unit_bytes = unit,
                                             .n_services_max = n_services,
                                             .bounds = kv_cut_bounds_of(layouts, n_services),
                                             .n_requests_max = n + 8,
                                             .n_tokens_max = CONTEXT_MAX + 64 });
    for (int i = 0; i < n_services; i++)
        kv_add_service(pool->kv, i, &(struct kv_service_options){ .layout = layouts[i] });
    const struct compute_memory_options options = { .n_bytes = kv_range_bytes(pool->kv),
                                                    .is_reserved = true };
    CHECK(b->device->memory_open(b->device->self, &options, &pool->memory, NULL) == STATUS_OK);
    uint16_t *halves = (uint16_t *)(void *)pool->memory->base; /* the CPU's */
    for (uint64_t i = 0; i < (uint64_t)bytes / 2; i++) /* around 0, as keys and values are */
        halves[i] = (uint16_t)((i * 2654435761 >> 7 & 0x83FF) | 0x3000);
    struct rng rng;
    rng_init(&rng, 7, n);
    for (int32_t at = 0; at < context; at += 16) {
        for (uint32_t slot = 0; slot < n; slot++) {
            struct kv_need need = { slot, min_i32(at + 16, context), 0 };
            struct kv_need other = { n + rng_below(&rng, 8), 16 + (at & 63), 0 };
            CHECK(kv_reserve(pool->kv, 0, &need, 1));
            if (is_private || rng_below(&rng, n) > 0)
                continue;
            kv_release(pool->kv, other.slot);
            (void)!kv_reserve(pool->kv, 1, &other, 1);
        }
    }
    for (uint32_t slot = n; slot < n + 8; slot++)
        kv_release(pool->kv, slot);
    CHECK(kv_is_sound(pool->kv));
}

static double time_step(struct bench *b, const struct pool *pool, bool is_whole, uint32_t first,
                        int32_t batch, int32_t context)
{
    const struct model_spec *spec = weights_spec(b->model.weights);
    const struct kv_layout *layout = kv_layout(pool->kv, 0);
    struct compute_sequence sequences[BATCH_MAX];
    for (int32_t i = 0; i < batch; i++) {
        int32_t n;
        uint32_t slot = first + (uint32_t)i;
        sequences[i] = (struct compute_sequence){ i, 1, context - 1, kv_table(pool->kv, slot, &n) };
        if (pool->kind == KV_HEADS)
            sequences[i].blocks = kv_table_heads(pool->kv, slot, &sequences[i].stride);
        b->positions[i] = context - 1;
        b->logit_rows[i] = i;
    }
    struct compute_pass pass = { .program = is_whole ? &b->model.program : &b->attention,
                                 .workspace = b->workspace,
                                 .n_rows = batch,
                                 .ids = b->ids,
                                 .positions = b->positions,
                                 .n_sequences = batch,
                                 .sequences = sequences,
                                 .kv = { .memory = pool->memory,
                                         .unit_bytes = (uint64_t)kv_unit_bytes(pool->kv),
                                         .block_bytes = (uint64_t)layout->block_bytes,
                                         .blocks_per_unit = (uint32_t)layout->blocks_per_unit,
                                         .block_tokens = layout->block_tokens,
                                         .dtype = DTYPE_F16,
                                         .n_layers = spec->n_layers,
                                         .n_kv_heads = spec->n_kv_heads,
                                         .head_dim = spec->head_dim,
                                         .is_by_head = pool->kind == KV_HEADS },
                                 .n_logit_rows = is_whole ? batch : 0,
                                 .logit_rows = b->logit_rows,
                                 .logits = b->logits };
    CHECK(compute_device_wait(b->device, b->device->lanes[0], &pass.work) == COMPUTE_DONE);
    return (double)(pass.work.end_ns - pass.work.begin_ns) * 1e-9;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double quantile(double *sorted, int n, double q)
{
    return sorted[(int)(q * (n - 1) + 0.5)];
}

/* The three in turn; the first of the pools is what the others are compared with. */
static void measure(struct bench *b, bool is_whole, int32_t batch, int32_t context, int n_sets)
{
    int n = 0;
    int64_t until = time_now_ns() + (int64_t)(b->seconds * 1e9);
    for (int i = 0; n < TIMES_MAX && (n < 7 || time_now_ns() < until); i++) {
        for (int k = 0; k < 3; k++) { /* each is first as often as last */
            struct pool *pool = &b->pools[(k + i) % 3];
            uint32_t first = (uint32_t)(i % n_sets * batch);
            double s = time_step(b, pool, is_whole, first, batch, context);
            if (i > 0) /* the first one warms up */
                pool->s[n] = s;
        }
        n += i > 0;
    }
    printf("%-9s %5d %5d |", is_whole ? "step" : "attention", context, batch);
    for (int k = 1; k < 3; k++) {
        double ratios[TIMES_MAX];
        for (int i = 0; i < n; i++)
            ratios[i] = b->pools[k].s[i] / b->pools[0].s[i];
        qsort(ratios, (size_t)n, sizeof(*ratios), by_value);
        double half = 0.98 / sqrt((double)n); /* of the median's 95% interval, in ranks */
        printf(" %s %+6.2f%% (%+.2f to %+.2f) |", b->pools[k].name,
               100 * (quantile(ratios, n, 0.5) - 1),
               100 * (quantile(ratios, n, fmax(0.5 - half, 0)) - 1),
               100 * (quantile(ratios, n, fmin(0.5 + half, 1)) - 1));
    }
    qsort(b->pools[0].s, (size_t)n, sizeof(double), by_value);
    printf(" private %9.4f ms, %d pairs\n", 1e3 * quantile(b->pools[0].s, n, 0.5), n);
    fflush(stdout);
}

static void measure_load(struct bench *b, int32_t batch, int32_t context)
{
    const struct model_spec *spec = weights_spec(b->model.weights);
    int64_t set_bytes = batch * context * model_spec_kv_bytes_per_token(spec, DTYPE_F16);
    int n_sets = (int)max_i64(1, min_i64(SETS_MAX, div_up_i64(SET_BYTES, set_bytes)));
    if (set_bytes * n_sets > POOL_BYTES_MAX || context > spec->n_positions_max)
        return;
    for (int k = 0; k < 3; k++)
        open_pool(b, &b->pools[k], (uint32_t)(n_sets * batch), context);
    measure(b, false, batch, context, n_sets);
    measure(b, true, batch, context, n_sets);
    printf("          block tables of the batch:");
    for (int k = 0; k < 3; k++) {
        int64_t most, n_bytes = kv_table_bytes(b->pools[k].kv, &most) / n_sets;
        printf(" %s %lld bytes%s", b->pools[k].name, (long long)n_bytes, k < 2 ? "," : "\n");
        b->device->memory_close(b->device->self, b->pools[k].memory);
        kv_close(b->pools[k].kv);
    }
}

static void keep_attention(struct bench *b)
{
    int n = 0;
    b->attention = b->model.program;
    for (int i = 0; i < b->model.program.n_ops; i++)
        if (b->model.program.ops[i].kind == COMPUTE_ATTEND && n < (int)COUNT_OF(b->ops))
            b->ops[n++] = b->model.program.ops[i];
    b->attention.ops = b->ops;
    b->attention.n_ops = n;
}

int main(int argc, char **argv)
{
    static struct bench b;
    static const int32_t contexts[] = { 512, 4096 }, batches[] = { 1, 4, 8, 32 };
    struct device_spec device = { .kind = DEVICE_CPU, .n_cores = 2, .cores = { 0, 1 } };
    struct weights *weights;
    struct fault fault;
    if (argc < 2)
        return fprintf(stderr, "usage: %s MODEL [threads [seconds of each row]]\n", argv[0]), 2;
    device.n_cores = argc > 2 && atoi(argv[2]) == 1 ? 1 : 2;
    b.seconds = argc > 3 ? atof(argv[3]) : 2;
    b.device = cpu_open(&device, cpu_isa_best());
    const struct run_model_options load = { .device = b.device, .kv_dtype = DTYPE_F16 };
    if (weights_open(&weights, argv[1], &fault) != STATUS_OK ||
        run_model_open(&b.model, weights, &load, &fault) != STATUS_OK)
        return fprintf(stderr, "%s\n", fault.text), 1;
    keep_attention(&b);
    CHECK(b.device->workspace_open(b.device->self, b.device->lanes[0], &b.model.program,
                                   (struct compute_sizes){ BATCH_MAX, BATCH_MAX }, &b.workspace,
                                   NULL) == STATUS_OK);
    b.logits = mem_take(sizeof(float) * BATCH_MAX * (size_t)b.model.program.n_vocabulary);
    b.pools[0] = (struct pool){ .name = "private", .kind = KV_PRIVATE };
    b.pools[1] = (struct pool){ .name = "merged", .kind = KV_MERGED };
    b.pools[2] = (struct pool){ .name = "head-wise", .kind = KV_HEADS };
    printf("%s, %d threads, %s: time over that of a private cache, median (95%% interval)\n",
           argv[1], device.n_cores, b.device->name);
    for (size_t c = 0; c < COUNT_OF(contexts); c++)
        for (size_t n = 0; n < COUNT_OF(batches); n++)
            measure_load(&b, batches[n], contexts[c]);
    b.device->workspace_close(b.device->self, b.workspace);
    mem_give(b.logits);
    run_model_close(&b.model);
    b.device->close(b.device->self);
    return 0;
}
