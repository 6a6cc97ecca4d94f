/* Measures what adapters cost: batches of one row each for 32 sequences, with an adapter in turn
 * and without any, alternately. ./dev check adapters runs it.
 *
 * usage: run_adapters_speed MODEL CORES RATIO_MAX ADAPTER... */
#include "passes.h"

#include "base/mem.h"
#include "base/time.h"
#include "cpu/cpu.h"
#include <stdio.h>
#include <stdlib.h>

enum { N_ROWS = 32, N_BEFORE = 127, N_ROUNDS = 31, BLOCKS_EACH = 8 };

struct batch_of {
    struct compute_sequence sequences[N_ROWS];
    uint32_t tables[N_ROWS][BLOCKS_EACH];
    int32_t ids[N_ROWS], positions[N_ROWS], rows[N_ROWS];
    uint16_t adapters[N_ROWS];
    uint8_t classes[N_ROWS];
};

static int64_t measure(struct passes *p, struct batch_of *b, bool is_adapted)
{
    struct compute_pass pass = { .program = &p->model.program,
                                 .workspace = p->workspace,
                                 .n_rows = N_ROWS,
                                 .ids = b->ids,
                                 .classes = b->classes,
                                 .positions = b->positions,
                                 .n_sequences = N_ROWS,
                                 .sequences = b->sequences,
                                 .kv = p->kv,
                                 .n_logit_rows = N_ROWS,
                                 .logit_rows = b->rows };
    if (is_adapted)
        pass.shapes.adapters = b->adapters;
    int64_t begun_ns = time_now_ns();
    CHECK(compute_device_wait(p->device, p->device->lanes[0], &pass.work) == COMPUTE_DONE);
    return time_now_ns() - begun_ns;
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

int main(int n, char **words)
{
    struct run_adapter_files files = { .n = 0 };
    struct device_spec cpu = { .kind = DEVICE_CPU };
    static struct batch_of b;
    static struct passes p;
    struct fault fault;
    int64_t times[2][N_ROUNDS];
    if (n < 5)
        return 2;
    cpu.n_cores = atoi(words[2]);
    for (int i = 0; i < cpu.n_cores; i++)
        cpu.cores[i] = i;
    for (int i = 4; i < n; i++)
        CHECK(run_adapters_add_file(&files, words[i]));
    if (passes_open_adapted(&p, words[1], &files, cpu_open(&cpu, cpu_isa_best()),
                            N_ROWS * BLOCKS_EACH * PASSES_BLOCK_TOKENS, &fault) != STATUS_OK) {
        fprintf(stderr, "%s\n", fault.text);
        return 2;
    }
    for (int32_t i = 0; i < N_ROWS; i++) {
        for (uint32_t k = 0; k < BLOCKS_EACH; k++)
            b.tables[i][k] = (uint32_t)i * BLOCKS_EACH + k;
        b.sequences[i] = (struct compute_sequence){ i, 1, N_BEFORE, b.tables[i], BLOCKS_EACH };
        b.ids[i] = 300 + 7 * i;
        b.positions[i] = N_BEFORE;
        b.rows[i] = i;
        b.adapters[i] = (uint16_t)(1 + i % files.n);
        b.classes[i] = COMPUTE_ROW_GENERATED;
    }
    for (int round = 0; round < N_ROUNDS; round++)
        for (int k = 0; k < 2; k++)
            times[k][round] = measure(&p, &b, k == 1);
    for (int k = 0; k < 2; k++)
        qsort(times[k], N_ROUNDS, sizeof(times[k][0]), by_value);
    double none = (double)times[0][N_ROUNDS / 2], adapted = (double)times[1][N_ROUNDS / 2];
    printf("%d sequences: %.2f ms without adapters, %.2f ms with %d of rank %d: ratio %.3f\n",
           N_ROWS, none * 1e-6, adapted * 1e-6, files.n,
           p.model.program.widths[p.model.program.n_registers - 1], adapted / none);
    passes_close(&p);
    return adapted <= atof(words[3]) * none ? 0 : 1;
}
