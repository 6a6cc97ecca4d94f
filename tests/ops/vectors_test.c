/* Vectors of texts: attention over the whole text, sums of rows of the stream and of logit rows,
 * the tanh. The same bits on the reference and on each instruction set, with one thread and more,
 * in one pass and in several. */
#include "test.h"

#include "base/mem.h"
#include "cpu/cpu.h"
#include "toy.h"

enum { X = 0, LAST_N = 9, N_TEXTS = 4, WIDTH_MAX = 96, ROWS_MAX = 700, OPS_MAX = 98 };

static const int32_t lengths[N_TEXTS] = { 5, 260, 17, 1 };

static const struct toy_options options = { .n_layers = 1,
                                            .width = 72,
                                            .n_heads = 3,
                                            .n_kv_heads = 3,
                                            .head_dim = 24,
                                            .ffn = 101,
                                            .n_vocabulary = 50,
                                            .n_positions = 264,
                                            .is_layer_norm = true,
                                            .has_bias = true,
                                            .is_learned = true,
                                            .act = ACT_TANH,
                                            .kv_dtype = DTYPE_F32 };

/* Makes the texts' program: all rows see all of theirs if sees_all, and sums are of register
 * `source`. */
static struct compute_program program_of(struct toy_model *model, struct compute_op ops[OPS_MAX],
                                         bool sees_all, int source)
{
    struct compute_program program = model->program;
    int n = 0;
    for (int i = 0; i < program.n_ops; i++) {
        ops[n] = program.ops[i];
        if (ops[n].kind == COMPUTE_ATTEND && sees_all)
            ops[n].flags |= COMPUTE_SEES_ALL;
        n++;
        if (ops[n - 1].kind == COMPUTE_TAKE_ROWS && source == X) { /* the sums come ahead of it */
            ops[n] = ops[n - 1];
            ops[n - 1] = (struct compute_op){
                .kind = COMPUTE_VECTORS, .src = X, .weight = -1, .bias = -1, .weight2 = -1
            };
            n++;
        }
    }
    if (source != X)
        ops[n++] = (struct compute_op){ .kind = COMPUTE_VECTORS,
                                        .src = (uint16_t)source,
                                        .weight = -1,
                                        .bias = -1,
                                        .weight2 = -1 };
    program.ops = ops;
    program.n_ops = n;
    return program;
}

struct rows {
    int32_t ids[ROWS_MAX], positions[ROWS_MAX], logit_rows[ROWS_MAX];
    struct compute_ask asks[ROWS_MAX];
    struct compute_sequence sequences[N_TEXTS];
    struct compute_vector vectors[N_TEXTS];
};

/* Runs positions [from, to) of texts [first, end) in one pass, and adds them to their sums. */
static void run_some(struct toy_model *model, const struct compute_program *program, int first,
                     int end, int32_t from, int32_t to, float sums[N_TEXTS][WIDTH_MAX])
{
    static struct rows r;
    struct compute_pass pass = { .program = program,
                                 .ids = r.ids,
                                 .positions = r.positions,
                                 .sequences = r.sequences,
                                 .kv = model->kv,
                                 .logit_rows = r.logit_rows,
                                 .asks = r.asks,
                                 .vectors = r.vectors };
    for (int t = first; t < end; t++) {
        int32_t n = min_i32(lengths[t], to) - from;
        if (n <= 0)
            continue;
        r.sequences[pass.n_sequences++] =
            (struct compute_sequence){ pass.n_rows, n, from,
                                       model->blocks + t * model->blocks_per_sequence,
                                       (uint32_t)model->blocks_per_sequence };
        r.vectors[pass.n_vectors++] = (struct compute_vector){ pass.n_rows, n, sums[t] };
        for (int32_t i = 0; i < n; i++, pass.n_rows++) {
            r.ids[pass.n_rows] = toy_token(model->toy, t, from + i);
            r.positions[pass.n_rows] = from + i;
            r.logit_rows[pass.n_rows] = pass.n_rows;
            r.asks[pass.n_rows] = (struct compute_ask){ .kind = COMPUTE_ASK_VECTOR };
        }
    }
    pass.n_logit_rows = pass.n_rows;
    if (pass.n_rows > 0)
        toy_compute(model->device, &pass);
}

/* Sums of all texts on a device, in passes of at most `step` positions of each. */
static void sum_up(struct compute_device *device, const struct toy *toy, bool sees_all, int source,
                   int32_t step, float sums[N_TEXTS][WIDTH_MAX])
{
    struct toy_model model;
    struct compute_op ops[OPS_MAX];
    toy_load(&model, toy, device, 16);
    struct compute_program program = program_of(&model, ops, sees_all, source);
    memset(sums, 0, sizeof(float) * N_TEXTS * WIDTH_MAX);
    for (int32_t from = 0; from < options.n_positions; from += step)
        run_some(&model, &program, 0, N_TEXTS, from, from + step, sums);
    toy_unload(&model);
}

static void check_same(float a[N_TEXTS][WIDTH_MAX], float b[N_TEXTS][WIDTH_MAX], const char *name)
{
    for (int t = 0; t < N_TEXTS; t++)
        for (int k = 0; k < options.width; k++)
            if (memcmp(&a[t][k], &b[t][k], sizeof(float)) != 0 || !(a[t][k] == a[t][k]))
                fail_msg("%s: text %d, number %d: %.9g, expected %.9g", name, t, k, (double)b[t][k],
                         (double)a[t][k]);
}

/* The reference's sums for a toy, in both arithmetics. They are computed when they are first
 * needed. */
struct wanted {
    bool is_known;
    float stream[N_TEXTS][WIDTH_MAX], last[N_TEXTS][WIDTH_MAX];
};

static void check_device(struct compute_device *device, const struct toy *toy,
                         struct wanted wanted[2])
{
    static float got[N_TEXTS][WIDTH_MAX];
    struct wanted *want = &wanted[device->arithmetic == COMPUTE_ARITHMETIC_CPU_TILES];
    if (!want->is_known) {
        struct compute_device *reference = compute_reference_open(device->arithmetic);
        sum_up(reference, toy, true, X, options.n_positions, want->stream);
        sum_up(reference, toy, false, LAST_N, options.n_positions, want->last);
        reference->close(reference->self);
        want->is_known = true;
    }
    sum_up(device, toy, true, X, options.n_positions, got);
    check_same(want->stream, got, device->name);
    sum_up(device, toy, false, LAST_N, options.n_positions, got);
    check_same(want->last, got, device->name);
    sum_up(device, toy, false, LAST_N, 37, got); /* a causal text may come in pieces */
    check_same(want->last, got, device->name);
}

static void devices_make_the_same_vectors(void **state)
{
    static const enum dtype dtypes[] = { DTYPE_F32, DTYPE_BF16 };
    (void)state;
    for (size_t d = 0; d < COUNT_OF(dtypes); d++) {
        static struct wanted wanted[2];
        struct toy toy;
        struct toy_options own = options;
        own.dtype = dtypes[d];
        memset(wanted, 0, sizeof(wanted));
        toy_init(&toy, &own, 5);
        for (int i = 0; i < 2 * ((int)cpu_isa_best() + 1); i++) {
            struct device_spec spec = { .kind = DEVICE_CPU, .n_cores = i % 2 == 0 ? 1 : 3 };
            for (int core = 0; core < spec.n_cores; core++)
                spec.cores[core] = core % (int)sysconf(_SC_NPROCESSORS_ONLN);
            struct compute_device *device = cpu_open(&spec, (enum cpu_isa)(i / 2));
            check_device(device, &toy, wanted);
            device->close(device->self);
        }
        toy_free(&toy);
    }
}

/* A text sees its own rows alone, and what it sees does not depend on others of the pass. */
static void texts_do_not_see_each_other(void **state)
{
    (void)state;
    static float together[N_TEXTS][WIDTH_MAX], alone[N_TEXTS][WIDTH_MAX];
    struct device_spec spec = { .kind = DEVICE_CPU, .n_cores = 1 };
    struct compute_device *device = cpu_open(&spec, cpu_isa_best());
    struct toy toy;
    struct toy_model model;
    struct compute_op ops[OPS_MAX];
    toy_init(&toy, &options, 5);
    sum_up(device, &toy, true, X, options.n_positions, together);
    toy_load(&model, &toy, device, 16);
    struct compute_program program = program_of(&model, ops, true, X);
    memset(alone, 0, sizeof(alone));
    for (int t = 0; t < N_TEXTS; t++)
        run_some(&model, &program, t, t + 1, 0, options.n_positions, alone);
    check_same(together, alone, "alone");
    toy_unload(&model);
    device->close(device->self);
    toy_free(&toy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(devices_make_the_same_vectors),
        cmocka_unit_test(texts_do_not_see_each_other),
    };
    return cmocka_run_group_tests_name("ops/vectors", tests, NULL, NULL);
}
