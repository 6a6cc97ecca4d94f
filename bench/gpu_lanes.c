/* Measures what a share of a GPU's processors gives, and how two different models slow each other
 * on two disjoint shares. Each figure is a line of JSON.
 *
 * gpu_lanes DEVICE MODEL_A MODEL_B SHARE [quick]
 *
 * Lane 1 has SHARE eighths of the processors and computes A, lane 2 has the others and computes B.
 * Prompts and decodes of each are timed alone, then beside a prompt and beside a decode of the
 * other, which runs again and again. The published figure of this kind is MuxServe's figure 3. */
#include "base/mem.h"
#include "base/team.h"
#include "base/time.h"
#include "cmd/gpu.h"
#include "compute/device.h"
#include "run/meter.h"
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EIGHTHS = 8, N_RUNS = 9, N_KINDS = 2 };
enum kind { DECODE, PROMPT };
static const char *const kind_names[] = { "decode", "prompt" };

struct side { /* a model on its lane */
    const char *path;
    int lane;
    struct run_model model;
    struct run_meter *meters[N_KINDS];
    struct run_meter_pass passes[N_KINDS];
    double alone_ms[N_KINDS];
};
struct beside { /* what runs again and again */
    struct side *side;
    enum kind kind;
    _Atomic int64_t n_done;
    _Atomic bool is_over;
};

static struct device_spec spec;
static struct compute_device *device;

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Medians of steps, in milliseconds. */
static double measure(struct side *s, enum kind kind)
{
    double ms[N_RUNS];
    for (int i = -1; i < N_RUNS; i++) {
        double took =
            (double)run_meter_step(s->meters[kind], &s->passes[kind], 1, TIME_NEVER).ps * 1e-9;
        if (i >= 0)
            ms[i] = took;
    }
    qsort(ms, N_RUNS, sizeof(ms[0]), by_value);
    return ms[N_RUNS / 2];
}

static void run_beside(void *arg)
{
    struct beside *b = arg;
    while (!atomic_load(&b->is_over)) {
        (void)run_meter_step(b->side->meters[b->kind], &b->side->passes[b->kind], 1, TIME_NEVER);
        atomic_fetch_add(&b->n_done, 1);
    }
}

static void print(const struct side *s, enum kind kind, const struct beside *beside, double ms)
{
    const struct run_meter_pass *pass = &s->passes[kind];
    int n = device->lanes[s->lane]->n_members, n_all = device->lanes[0]->n_members;
    double n_tokens = (double)pass->n_sequences * pass->n_new;
    printf("{\"what\": \"lane\", \"model\": \"%s\", \"kind\": \"%s\", \"processors\": %d, "
           "\"share\": %.4f, \"ms\": %.4f, \"tokens_per_s\": %.1f, ",
           s->path, kind_names[kind], n, (double)n / n_all, ms, n_tokens * 1e3 / ms);
    if (beside == NULL)
        printf("\"beside\": null}\n");
    else
        printf("\"beside\": \"%s\", \"beside_kind\": \"%s\", \"beside_steps\": %lld, "
               "\"slowdown\": %.4f}\n",
               beside->side->path, kind_names[beside->kind],
               (long long)atomic_load(&beside->n_done), ms / s->alone_ms[kind]);
    fflush(stdout);
}

static bool open_side(struct side *s, const char *path, int lane, bool is_quick)
{
    struct weights *weights;
    struct fault fault;
    const struct run_model_options load = { .device = device, .kv_dtype = DTYPE_F16 };
    *s = (struct side){ .path = path, .lane = lane };
    s->passes[DECODE] = (struct run_meter_pass){ is_quick ? 2 : 32, 1, is_quick ? 15 : 511 };
    s->passes[PROMPT] = (struct run_meter_pass){ 1, is_quick ? 20 : 1024, 0 };
    enum status status = weights_open(&weights, path, &fault);
    if (status == STATUS_OK)
        status = run_model_open(&s->model, weights, &load, &fault);
    if (status != STATUS_OK) {
        fprintf(stderr, "gpu_lanes: %s\n", fault.text);
        return false;
    }
    for (int k = 0; k < N_KINDS; k++) {
        const struct run_meter_pass *p = &s->passes[k];
        const struct run_meter_options options = { .n_rows_max = p->n_sequences * p->n_new,
                                                   .n_sequences_max = p->n_sequences,
                                                   .n_tokens_max = p->n_sequences *
                                                                   (p->n_before + p->n_new + 31),
                                                   .lane = lane };
        s->meters[k] = run_meter_open(&s->model, &options);
    }
    return true;
}

static void close_side(struct side *s)
{
    for (int k = 0; k < N_KINDS; k++)
        if (s->meters[k] != NULL)
            run_meter_close(s->meters[k]);
    if (s->meters[0] != NULL)
        run_model_close(&s->model);
}

static void measure_pair(struct side *s, struct side *other)
{
    for (int k = 0; k < N_KINDS; k++)
        for (int o = 0; o < N_KINDS; o++) {
            struct beside beside = { .side = other, .kind = (enum kind)o };
            struct thread *thread = thread_start("beside", run_beside, &beside);
            while (atomic_load(&beside.n_done) == 0)
                time_sleep_ns(TIME_NS_PER_MS);
            double ms = measure(s, (enum kind)k);
            print(s, (enum kind)k, &beside, ms);
            atomic_store(&beside.is_over, true);
            thread_join(thread);
        }
}

static void measure_all(struct side *sides)
{
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < N_KINDS; k++) {
            sides[i].alone_ms[k] = measure(&sides[i], (enum kind)k);
            print(&sides[i], (enum kind)k, NULL, sides[i].alone_ms[k]);
        }
    measure_pair(&sides[0], &sides[1]);
    measure_pair(&sides[1], &sides[0]);
}

int main(int argc, char **argv)
{
    static struct side sides[2];
    bool is_quick = argc == 6 && strcmp(argv[5], "quick") == 0;
    struct fault fault;
    int64_t share = 0;
    if ((argc != 5 && !is_quick) || !parse_i64(argv[4], &share) || share < 1 || share >= EIGHTHS) {
        fprintf(stderr, "usage: gpu_lanes DEVICE MODEL_A MODEL_B SHARE [quick]     SHARE: 1 to 7 "
                        "eighths\n");
        return 2;
    }
    struct lanes lanes = { .n = 3, .parts = { (int32_t)share, (int32_t)(EIGHTHS - share) } };
    enum status status = device_parse(argv[1], 1, &spec, &fault);
    if (status == STATUS_OK && spec.kind != DEVICE_CUDA)
        status = fault_set(&fault, STATUS_BAD_INPUT, "%s is no GPU: cuda:0 is one", argv[1]);
    if (status == STATUS_OK)
        status = gpu_open(&spec, &lanes, &device, &fault);
    if (status != STATUS_OK) {
        fprintf(stderr, "gpu_lanes: %s\n", fault.text);
        return 1;
    }
    bool is_open =
        open_side(&sides[0], argv[2], 1, is_quick) && open_side(&sides[1], argv[3], 2, is_quick);
    if (is_open)
        measure_all(sides);
    for (int i = 0; i < 2; i++)
        close_side(&sides[i]);
    device->close(device->self);
    return is_open ? 0 : 1;
}
