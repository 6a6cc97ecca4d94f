/* Attention alone, through the whole backend, against the machine's limits measured in the same
 * run.
 *
 * Each figure is the median of passes that do nothing but attend, over all layers of a model's
 * shape. Caches are as in a decode step: the keys and values of one pass are out of them by the
 * time they are read again (successive passes read other sequences, at least COLD_BYTES in all).
 * Two limits: the bytes of keys and values over the read bandwidth, and the products (4 * head_dim
 * a query and position) over the peak of float FMA; the fraction is of the higher one.
 *
 * attention [threads] [decode|prefill|all] [shape|all] [keys] [batch] [block tokens] [f16|q8_0];
 * SHOAL_CPU_ISA names another instruction set */
#include "base/half.h"
#include "base/mem.h"
#include "base/time.h"
#include "compute/packed.h"
#include "cpu/cpu.h"
#include "cpu/limits.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COLD_BYTES  ((int64_t)192 << 20)
#define CACHE_BYTES ((int64_t)2 << 30)
enum { PASSES_MAX = 63, SETS_MAX = 64, LAYERS_MAX = 22, BATCH_MAX = 32, ROWS_MAX = 512 };

struct shape {
    const char *name;
    int32_t n_layers, n_heads, n_kv_heads, head_dim;
};
static const struct shape shapes[] = { { "160m", 12, 12, 12, 64 },
                                       { "1b1", 22, 32, 4, 64 },
                                       { "7b", 8, 32, 8, 128 } };

struct bench {
    struct compute_device *device;
    struct compute_packed embedding;
    int n_threads;
    int32_t block_tokens;
    enum dtype dtype; /* of the cache */
    struct device_spec spec;
    struct cpu_limits_sizes sizes;
    double bandwidth, peak;
    struct compute_memory *cache;
    size_t n_filled; /* bytes of it */
    uint32_t *blocks;
    struct compute_workspace *workspace;
    int64_t workspace_bytes;
};

struct load {
    int32_t context, batch, n_rows; /* n_rows of each sequence, the last ones of the context */
};

/* Seconds of one pass over sequences [set * batch, set * batch + batch). */
static double time_pass(struct bench *b, const struct shape *shape, int32_t n_layers,
                        const struct load *load, struct compute_kv *kv, int set)
{
    enum { Q, A };
    struct compute_op ops[1 + LAYERS_MAX] = {
        { .kind = COMPUTE_EMBED, .weight2 = -1, .scale = 1 }
    };
    for (int32_t i = 0; i < n_layers; i++)
        ops[1 + i] = (struct compute_op){
            .kind = COMPUTE_ATTEND, .dst = A, .src = Q, .layer = (uint16_t)i, .scale = 0.125f
        };
    const int32_t widths[] = { shape->n_heads * shape->head_dim, shape->n_heads * shape->head_dim };
    const bool is_logit_rows[] = { false, false };
    struct compute_program program = { .n_ops = 1 + n_layers,
                                       .ops = ops,
                                       .n_registers = 2,
                                       .widths = widths,
                                       .is_logit_rows = is_logit_rows,
                                       .n_weights = 1,
                                       .weights = b->embedding.weights,
                                       .n_heads = shape->n_heads,
                                       .n_kv_heads = shape->n_kv_heads,
                                       .head_dim = shape->head_dim,
                                       .n_vocabulary = 2 };
    static int32_t ids[BATCH_MAX * ROWS_MAX], positions[BATCH_MAX * ROWS_MAX];
    struct compute_sequence sequences[BATCH_MAX];
    int32_t per_sequence = (int32_t)div_up_i64(load->context, kv->block_tokens);
    for (int32_t i = 0; i < load->batch; i++)
        sequences[i] =
            (struct compute_sequence){ i * load->n_rows, load->n_rows, load->context - load->n_rows,
                                       b->blocks +
                                           (size_t)(set * load->batch + i) * (size_t)per_sequence };
    struct compute_device *device = b->device;
    struct compute_pass pass = { .program = &program,
                                 .n_rows = load->batch * load->n_rows,
                                 .ids = ids,
                                 .positions = positions,
                                 .n_sequences = load->batch,
                                 .sequences = sequences,
                                 .kv = *kv };
    const struct compute_sizes sizes = { pass.n_rows, 0 };
    int64_t n_bytes = device->workspace_bytes(device->self, device->lanes[0], &program, sizes);
    if (b->workspace == NULL || n_bytes > b->workspace_bytes ||
        pass.n_rows > b->workspace->sizes.n_rows) {
        device->workspace_close(device->self, b->workspace);
        CHECK(device->workspace_open(device->self, device->lanes[0], &program, sizes, &b->workspace,
                                     NULL) == STATUS_OK);
        b->workspace_bytes = n_bytes;
    }
    pass.workspace = b->workspace;
    CHECK(compute_device_wait(device, device->lanes[0], &pass.work) == COMPUTE_DONE);
    return (double)(pass.work.end_ns - pass.work.begin_ns) * 1e-9;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Halves that are small numbers whatever dtype reads them. */
static void fill(struct bench *b, size_t n_bytes)
{
    uint16_t *halves = (uint16_t *)(void *)b->cache->base;
    for (size_t i = b->n_filled / 2; i < n_bytes / 2; i++) /* around 0, as keys and values are */
        halves[i] = (uint16_t)((i * 2654435761u >> 7 & 0x83FF) | 0x3000);
    b->n_filled = n_bytes > b->n_filled ? n_bytes : b->n_filled;
}

/* Blocks of `n` sequences, far from each other's neighbours as in a pool that has been in use. */
static void deal_blocks(struct bench *b, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        b->blocks[i] = (uint32_t)((uint64_t)i * 7919 % n);
}

static void measure(struct bench *b, const struct shape *shape, const struct load *load)
{
    int64_t row_bytes = /* a layer's */
        2 * shape->n_kv_heads * dtype_row_bytes(b->dtype, shape->head_dim);
    int64_t per_sequence = div_up_i64(load->context, b->block_tokens) * b->block_tokens;
    int64_t tokens = load->batch * per_sequence;
    int32_t n_layers =
        (int32_t)max_i64(1, min_i64(shape->n_layers, CACHE_BYTES / (tokens * row_bytes)));
    int64_t set_bytes = tokens * row_bytes * n_layers;
    int n_sets = (int)max_i64(1, min_i64(SETS_MAX, div_up_i64(COLD_BYTES, set_bytes)));
    struct compute_kv kv = { .memory = b->cache,
                             .blocks_per_unit = 1,
                             .block_tokens = b->block_tokens,
                             .dtype = b->dtype,
                             .n_layers = n_layers,
                             .n_kv_heads = shape->n_kv_heads,
                             .head_dim = shape->head_dim };
    kv.unit_bytes = kv.block_bytes = (uint64_t)(row_bytes * n_layers * b->block_tokens);
    deal_blocks(b, (uint32_t)(tokens / b->block_tokens * n_sets));
    fill(b, (size_t)(set_bytes * n_sets));
    b->bandwidth = cpu_limits_read(&b->spec, b->n_threads, b->sizes.memory);
    double visible = 0, times[PASSES_MAX]; /* positions that rows see, one by one */
    for (int32_t r = 0; r < load->n_rows; r++)
        visible += (double)(load->context - r) * load->batch;
    double flops = 4.0 * shape->n_heads * shape->head_dim * visible * n_layers;
    double bytes = (double)row_bytes * load->context * load->batch * n_layers;
    int n = 0;
    for (double spent = -1; n < 5 || (n < PASSES_MAX && spent < 1.0);) {
        double s = time_pass(b, shape, n_layers, load, &kv, n % n_sets);
        if (spent < 0) { /* the first warms up */
            spent = 0;
            continue;
        }
        times[n++] = s;
        spent += s;
    }
    qsort(times, (size_t)n, sizeof(times[0]), by_value);
    double s = times[n / 2], by_bytes = bytes / b->bandwidth, by_products = flops / b->peak;
    double limit = by_bytes > by_products ? by_bytes : by_products;
    printf("%-5s %6d %5d %5d | %9.3f ms %6.1f GB/s %6.1f Gflop/s | bytes at %4.1f GB/s %9.3f, "
           "products %9.3f ms | %3.0f%% of %s\n",
           shape->name, load->context, load->batch, load->n_rows, s * 1e3, bytes / s * 1e-9,
           flops / s * 1e-9, b->bandwidth * 1e-9, by_bytes * 1e3, by_products * 1e3,
           100 * limit / s, by_bytes > by_products ? "bandwidth" : "products");
    fflush(stdout);
}

static void open_bench(struct bench *b)
{
    b->spec =
        (struct device_spec){ .kind = DEVICE_CPU, .n_cores = b->n_threads, .cores = { 0, 1 } };
    cpu_limits_sizes(b->n_threads, &b->sizes);
    b->peak = cpu_limits_peak(&b->spec, b->n_threads, CPU_LIMIT_FLOAT);
    b->device = cpu_open(&b->spec, CPU_ISA_N - 1);
    const struct compute_memory_options options = { .n_bytes = CACHE_BYTES + (64 << 20),
                                                    .is_reserved = true };
    CHECK(b->device->memory_open(b->device->self, &options, &b->cache, NULL) == STATUS_OK);
    b->blocks = mem_take(((size_t)8 << 20) * sizeof(uint32_t));
}

static void pack_embedding(struct bench *b, int32_t width)
{
    float *row = mem_take(2 * (size_t)width * sizeof(float));
    for (int32_t i = 0; i < 2 * width; i++)
        row[i] = (float)(i * 37 % 64 - 32) / 32.0f;
    struct tensor tensor = { row, DTYPE_F32, 2, width, width * 4, false };
    const struct tensor *list[] = { &tensor };
    CHECK(compute_packed_open(&b->embedding, b->device, list, 1, NULL, NULL) == STATUS_OK &&
          compute_packed_add(&b->embedding, &tensor, false, NULL) == STATUS_OK);
    mem_give(row);
}

/* Whether the argument asks for this one. */
static bool is_asked(int argc, char **argv, int at, const char *name)
{
    return argc <= at || strcmp(argv[at], "all") == 0 || strcmp(argv[at], name) == 0;
}

static bool is_asked_number(int argc, char **argv, int at, int32_t number)
{
    char text[16];
    snprintf(text, sizeof(text), "%d", number);
    return is_asked(argc, argv, at, text);
}

int main(int argc, char **argv)
{
    static const int32_t contexts[] = { 512, 4096, 16384 }, batches[] = { 1, 2, 4, 8, 32 };
    struct bench b = { .n_threads = argc > 1 ? atoi(argv[1]) : 2,
                       .block_tokens = argc > 6 ? atoi(argv[6]) : 16,
                       .dtype = argc > 7 && strcmp(argv[7], "q8_0") == 0 ? DTYPE_Q8_0 : DTYPE_F16 };
    CHECK(b.n_threads >= 1 && b.n_threads <= 2 && b.block_tokens >= 1);
    open_bench(&b);
    printf("%s, %d threads, blocks of %d of %s, float FMA %.0f Gflop/s\n", b.device->name,
           b.n_threads, b.block_tokens, dtype_info(b.dtype)->name, b.peak * 1e-9);
    printf("shape   keys batch  rows\n");
    for (size_t i = 0; i < COUNT_OF(shapes); i++) {
        if (!is_asked(argc, argv, 3, shapes[i].name))
            continue;
        pack_embedding(&b, shapes[i].n_heads * shapes[i].head_dim);
        for (size_t j = 0; j < COUNT_OF(contexts); j++) {
            if (!is_asked_number(argc, argv, 4, contexts[j]))
                continue;
            for (size_t k = 0; is_asked(argc, argv, 2, "decode") && k < COUNT_OF(batches); k++)
                if (is_asked_number(argc, argv, 5, batches[k]))
                    measure(&b, &shapes[i], &(struct load){ contexts[j], batches[k], 1 });
            if (is_asked(argc, argv, 2, "prefill"))
                measure(&b, &shapes[i], &(struct load){ contexts[j], 1, ROWS_MAX });
        }
        compute_packed_close(&b.embedding);
    }
    b.device->workspace_close(b.device->self, b.workspace);
    b.device->memory_close(b.device->self, b.cache);
    b.device->close(b.device->self);
    mem_give(b.blocks);
    return 0;
}
