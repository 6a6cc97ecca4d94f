/* Compares devices that compute one model: each against the first, in turns, so that the machine's
 * speed changes for all alike. Prints the best time of a pass and its ratio.
 *
 *   bench_ranks MODEL DEVICE... , such as cpu:0-1 'group(cpu:0,cpu:1)' 'group(cpu:0=1,cpu:1=1)' */
#include "base/mem.h"
#include "base/time.h"
#include "group/group.h"
#include "run/meter.h"
#include <stdio.h>
#include <unistd.h>

enum { DEVICES_MAX = 4, N_TURNS = 9, N_ROWS_MAX = 512, N_SEQUENCES_MAX = 16 };

struct side {
    struct compute_device *device;
    struct run_model model;
    struct run_meter *meter;
};

static void must(enum status status, const struct fault *fault)
{
    if (status != STATUS_OK)
        base_refuse("bench_ranks: %s", fault->text);
}

static void open_side(struct side *side, const char *path, const char *text)
{
    static const struct run_meter_options meter = { .n_rows_max = N_ROWS_MAX,
                                                    .n_sequences_max = N_SEQUENCES_MAX,
                                                    .n_tokens_max = 1024 };
    struct device_spec *spec = mem_take(sizeof *spec);
    struct weights *weights;
    struct fault fault;
    must(device_parse(text, (int)sysconf(_SC_NPROCESSORS_ONLN), spec, &fault), &fault);
    if (spec->kind != DEVICE_CPU)
        base_refuse("bench_ranks: %s is no CPU device", text);
    must(group_open_cpu(spec, &side->device, &fault), &fault);
    must(weights_open(&weights, path, &fault), &fault);
    const struct run_model_options options = { .device = side->device, .kv_dtype = DTYPE_F16 };
    must(run_model_open(&side->model, weights, &options, &fault), &fault);
    side->meter = run_meter_open(&side->model, &meter);
    mem_give(spec);
}

int main(int argc, char **argv)
{
    static const struct run_meter_pass passes[] = {
        { 1, 1, 32 }, { 8, 1, 32 }, { 1, 32, 0 }, { 1, 128, 0 }, { 1, 512, 0 }
    };
    struct side sides[DEVICES_MAX];
    int n = argc - 2;
    if (n < 1 || n > DEVICES_MAX)
        base_refuse("usage: bench_ranks MODEL DEVICE... (up to %d)", DEVICES_MAX);
    for (int i = 0; i < n; i++)
        open_side(&sides[i], argv[1], argv[i + 2]);
    for (size_t k = 0; k < COUNT_OF(passes); k++) {
        int64_t best_ps[DEVICES_MAX];
        for (int turn = 0; turn < N_TURNS; turn++)
            for (int i = 0; i < n; i++) {
                if (!run_meter_fits(sides[i].meter, &passes[k]))
                    continue;
                struct perf_sample sample =
                    run_meter_step(sides[i].meter, &passes[k], 3, TIME_NEVER);
                best_ps[i] = turn == 0 ? sample.ps : min_i64(best_ps[i], sample.ps);
            }
        if (!run_meter_fits(sides[0].meter, &passes[k]))
            continue;
        printf("%2d sequences of %3d rows behind %2d:", passes[k].n_sequences, passes[k].n_new,
               passes[k].n_before);
        for (int i = 0; i < n; i++)
            printf("  %s %.1f us (%.2f)", argv[i + 2], (double)best_ps[i] / 1e6,
                   (double)best_ps[i] / (double)best_ps[0]);
        printf("\n");
    }
    for (int i = 0; i < n; i++) {
        run_meter_close(sides[i].meter);
        run_model_close(&sides[i].model);
        sides[i].device->close(sides[i].device->self);
    }
    return 0;
}
