/* Measures a GPU by whole steps of a model, through the device contract, beside the bandwidth of
 * its copies. Each point is a line of JSON.
 *
 * gpu_steps DEVICE copy MIB               copies within the device, to it and from it
 * gpu_steps DEVICE MODEL.gguf [quick]     decodes and prompts; quick: small ones
 *
 * A time is the median of several steps. A point that finds no room is written as skipped. The
 * plug-in lies beside the program. */
#include "base/mem.h"
#include "base/time.h"
#include "cmd/gpu.h"
#include "compute/device.h"
#include "core/dtype.h"
#include "run/meter.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { RUNS_MAX = 32, BLOCK_TOKENS = 32 };

struct bench {
    struct device_spec spec;
    struct compute_device *device;
    struct run_model model;
    const char *path;
    int64_t read_bytes, n_matrix_values; /* of a step: all matrices but the embedding */
};

static double process_cpu_s(void)
{
    struct rusage used;
    (void)getrusage(RUSAGE_SELF, &used);
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1e-6;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* ---- Copies. ---- */

static struct compute_memory *open_memory(struct bench *b, int64_t n_bytes, bool is_host)
{
    const struct compute_memory_options options = { .n_bytes = n_bytes, .is_host = is_host };
    struct compute_memory *memory = NULL;
    struct fault fault;
    if (b->device->memory_open(b->device->self, &options, &memory, &fault) != STATUS_OK)
        fprintf(stderr, "gpu_steps: %s\n", fault.text);
    return memory;
}

static bool measure_copy(struct bench *b, const char *what, struct compute_memory *from,
                         struct compute_memory *to)
{
    double seconds[RUNS_MAX];
    const struct copy_part part = { 0, 0, from->n_bytes };
    struct compute_copy copy = {
        .work = { .kind = COMPUTE_WORK_COPY }, .from = from, .to = to, .n_parts = 1, .parts = &part
    };
    for (int i = -2; i < RUNS_MAX; i++) {
        if (compute_device_wait(b->device, b->device->lanes[0], &copy.work) != COMPUTE_DONE) {
            fprintf(stderr, "gpu_steps: a copy failed\n");
            return false;
        }
        if (i >= 0)
            seconds[i] = (double)(copy.work.end_ns - copy.work.begin_ns) * 1e-9;
    }
    qsort(seconds, RUNS_MAX, sizeof(seconds[0]), by_value);
    double n = (double)from->n_bytes * (from->is_host || to->is_host ? 1 : 2);
    printf("{\"what\": \"copy\", \"kind\": \"%s\", \"bytes\": %lld, \"ms\": %.4f, "
           "\"gb_per_s\": %.1f, \"gb_per_s_best\": %.1f}\n",
           what, (long long)from->n_bytes, seconds[RUNS_MAX / 2] * 1e3,
           n * 1e-9 / seconds[RUNS_MAX / 2], n * 1e-9 / seconds[0]);
    fflush(stdout);
    return true;
}

static int measure_copies(struct bench *b, int64_t n_bytes)
{
    struct compute_memory *host = open_memory(b, n_bytes, true);
    struct compute_memory *one = open_memory(b, n_bytes, false);
    struct compute_memory *two = open_memory(b, n_bytes, false);
    bool is_well = host != NULL && one != NULL && two != NULL;
    if (is_well) {
        memset(host->base, 0x5A, (size_t)n_bytes);
        is_well = measure_copy(b, "to the device", host, one) &&
                  measure_copy(b, "from the device", one, host) &&
                  measure_copy(b, "within the device", one, two);
    }
    struct compute_memory *all[] = { host, one, two };
    for (size_t i = 0; i < COUNT_OF(all); i++)
        if (all[i] != NULL)
            b->device->memory_close(b->device->self, all[i]);
    return is_well ? 0 : 1;
}

/* ---- Steps. ---- */

static void count_tensor(struct bench *b, const struct tensor *t)
{
    if (t->data == NULL || t->n_rows <= 1)
        return;
    b->read_bytes += b->device->packed_bytes(b->device->self, t);
    b->n_matrix_values += (int64_t)t->n_rows * t->n_columns;
}

/* Counts what a decode reads. The output's matrix also belongs to a prompt's last row alone. */
static void count_tensors(struct bench *b)
{
    const struct model_weights *w = weights_model(b->model.weights);
    for (int32_t i = 0; i < weights_spec(b->model.weights)->n_layers; i++) {
        const struct layer_weights *l = &w->layers[i];
        const struct tensor *all[] = { &l->q, &l->k, &l->v, &l->o, &l->gate, &l->up, &l->down };
        for (size_t k = 0; k < COUNT_OF(all); k++)
            count_tensor(b, all[k]);
    }
    count_tensor(b, &w->output);
}

static bool open_model(struct bench *b)
{
    struct weights *weights;
    struct fault fault;
    const struct run_model_options options = { .device = b->device, .kv_dtype = DTYPE_F16 };
    int64_t begin_ns = time_now_ns();
    enum status status = weights_open(&weights, b->path, &fault);
    int64_t n_bytes = 0;
    if (status == STATUS_OK) {
        n_bytes = weights_file_bytes(weights);
        status = run_model_open(&b->model, weights, &options, &fault);
    }
    if (status != STATUS_OK) {
        fprintf(stderr, "gpu_steps: %s\n", fault.text);
        return false;
    }
    double seconds = (double)(time_now_ns() - begin_ns) * 1e-9;
    printf("{\"what\": \"load\", \"model\": \"%s\", \"bytes\": %lld, \"packed_bytes\": %lld, "
           "\"seconds\": %.3f, \"gb_per_s\": %.2f}\n",
           b->path, (long long)n_bytes, (long long)b->model.weights_bytes, seconds,
           (double)n_bytes * 1e-9 / seconds);
    fflush(stdout);
    count_tensors(b);
    return true;
}

struct point {
    struct run_meter_pass pass;
    int32_t block_tokens; /* 0: the meter's usual ones; the context: one block a sequence */
    bool is_shuffled;
    int n_runs;
};

static double flops_of(const struct bench *b, const struct run_meter_pass *pass)
{
    const struct model_spec *spec = weights_spec(b->model.weights);
    double n = pass->n_new, before = pass->n_before;
    double output = (double)spec->n_vocabulary * spec->width;
    double seen = n * before + n * (n + 1) / 2;
    return pass->n_sequences * (2 * n * ((double)b->n_matrix_values - output) + 2 * output +
                                4.0 * spec->n_layers * spec->n_heads * spec->head_dim * seen);
}

static void print_point(const struct bench *b, const struct point *p, const double *ms,
                        double cpu_ms)
{
    const struct run_meter_pass *pass = &p->pass;
    const struct model_spec *spec = weights_spec(b->model.weights);
    double median = ms[p->n_runs / 2];
    double n_tokens = (double)pass->n_sequences * pass->n_new;
    double kv_bytes = (double)pass->n_sequences * (pass->n_before + pass->n_new) *
                      (double)model_spec_kv_bytes_per_token(spec, b->model.kv_dtype);
    double n_bytes = (double)b->read_bytes + kv_bytes;
    printf("\"ms\": %.4f, \"ms_best\": %.4f, \"ms_worst\": %.4f, \"runs\": %d, "
           "\"tokens_per_s\": %.1f, \"read_bytes\": %.0f, \"gb_per_s\": %.1f, "
           "\"tflop_per_s\": %.2f, \"host_cpu_us\": %.1f}\n",
           median, ms[0], ms[p->n_runs - 1], p->n_runs, n_tokens * 1e3 / median, n_bytes,
           n_bytes * 1e-6 / median, flops_of(b, pass) * 1e-9 / median, cpu_ms * 1e3);
}

static void measure_point(struct bench *b, const struct point *p)
{
    const struct run_meter_pass *pass = &p->pass;
    int32_t n_all = pass->n_before + pass->n_new;
    int32_t block = p->block_tokens > 0 ? p->block_tokens : BLOCK_TOKENS;
    struct run_meter_options options = {
        .n_rows_max = pass->n_sequences * pass->n_new,
        .n_sequences_max = pass->n_sequences,
        .n_tokens_max = pass->n_sequences * (int32_t)(div_up_i64(n_all, block) * block),
        .block_tokens = block,
        .is_shuffled = p->is_shuffled
    };
    printf("{\"what\": \"%s\", \"model\": \"%s\", \"batch\": %d, \"context\": %d, \"new\": %d, "
           "\"block_tokens\": %d, \"shuffled\": %s, ",
           pass->n_new == 1 ? "decode" : "prompt", b->path, pass->n_sequences, pass->n_before,
           pass->n_new, block, p->is_shuffled ? "true" : "false");
    int64_t n_bytes = run_meter_bytes(&b->model, &options) + b->model.weights_bytes;
    if (n_all > weights_spec(b->model.weights)->n_positions_max || n_bytes > b->spec.memory_bytes) {
        printf("\"skipped\": \"it takes %lld bytes of %lld, and the model has %d positions\"}\n",
               (long long)n_bytes, (long long)b->spec.memory_bytes,
               weights_spec(b->model.weights)->n_positions_max);
        return;
    }
    struct run_meter *meter = run_meter_open(&b->model, &options);
    double ms[RUNS_MAX], cpu_s = 0;
    for (int i = -2; i < p->n_runs; i++) {
        if (i == 0)
            cpu_s = process_cpu_s();
        double took = (double)run_meter_step(meter, pass, 1, TIME_NEVER).ps * 1e-9;
        if (i >= 0)
            ms[i] = took;
    }
    double cpu_ms = (process_cpu_s() - cpu_s) * 1e3 / p->n_runs;
    qsort(ms, (size_t)p->n_runs, sizeof(ms[0]), by_value);
    print_point(b, p, ms, cpu_ms);
    fflush(stdout);
    run_meter_close(meter);
}

static const struct point points[] = {
    { { 1, 1, 1023 }, 0, false, 32 },    { { 8, 1, 1023 }, 0, false, 16 },
    { { 32, 1, 1023 }, 0, false, 16 },   { { 64, 1, 1023 }, 0, false, 16 },
    { { 1, 1, 8191 }, 0, false, 16 },    { { 1, 1, 8191 }, 0, true, 16 },
    { { 1, 1, 8191 }, 8192, false, 16 }, { { 8, 1, 8191 }, 0, false, 16 },
    { { 8, 1, 8191 }, 0, true, 16 },     { { 8, 1, 8191 }, 8192, false, 16 },
    { { 32, 1, 8191 }, 0, false, 8 },    { { 64, 1, 8191 }, 0, false, 8 },
    { { 1, 512, 0 }, 0, false, 8 },      { { 1, 2048, 0 }, 0, false, 8 },
};
static const struct point quick_points[] = {
    { { 1, 1, 15 }, 0, false, 2 },
    { { 2, 1, 63 }, 0, true, 2 },
    { { 2, 1, 63 }, 64, false, 2 },
    { { 1, 40, 0 }, 0, false, 2 },
};

static int measure_model(struct bench *b, bool is_quick)
{
    if (!open_model(b))
        return 1;
    const struct point *all = is_quick ? quick_points : points;
    size_t n = is_quick ? COUNT_OF(quick_points) : COUNT_OF(points);
    for (size_t i = 0; i < n; i++)
        measure_point(b, &all[i]);
    run_model_close(&b->model);
    return 0;
}

int main(int argc, char **argv)
{
    static struct bench b;
    struct lanes whole = { .n = 1 };
    struct fault fault;
    int64_t n_mib = 0;
    bool is_copy = argc == 4 && strcmp(argv[2], "copy") == 0 && parse_i64(argv[3], &n_mib);
    bool is_quick = argc == 4 && strcmp(argv[3], "quick") == 0;
    if (argc < 3 || (argc > 3 && !is_copy && !is_quick) || (is_copy && n_mib < 1)) {
        fprintf(stderr, "usage: gpu_steps DEVICE copy MIB | gpu_steps DEVICE MODEL [quick]\n");
        return 2;
    }
    enum status status = device_parse(argv[1], 1, &b.spec, &fault);
    if (status == STATUS_OK && b.spec.kind != DEVICE_CUDA)
        status = fault_set(&fault, STATUS_BAD_INPUT, "%s is no GPU: cuda:0 is one", argv[1]);
    if (status == STATUS_OK)
        status = gpu_open(&b.spec, &whole, &b.device, &fault);
    if (status != STATUS_OK) {
        fprintf(stderr, "gpu_steps: %s\n", fault.text);
        return 1;
    }
    b.path = argv[2];
    int code = is_copy ? measure_copies(&b, n_mib << 20) : measure_model(&b, is_quick);
    b.device->close(b.device->self);
    return code;
}
