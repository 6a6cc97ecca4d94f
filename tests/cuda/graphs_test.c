/* Decode steps that are recorded as graphs and run again.
 *
 * Steps of random batches give the same logits, bit for bit, with graphs and without: under any
 * order of streams, while contexts grow over pieces of attention, and when a workspace is used with
 * a cache at another place. Graphs take no more memory than a workspace says, and it comes back. */
#include "test.h"

#include "base/mem.h"
#include "base/rng.h"
#include "cuda/cuda.h"
#include "cuda/graphs.h"
#include "cuda/workspace.h"
#include "emulate/control.h"
#include "ops/toy.h"

enum { N_SEQUENCES = TOY_SEQUENCES_MAX, N_POSITIONS = 300, N_VOCABULARY = 41, N_CACHES = 2 };

static const struct toy_options options = { .dtype = DTYPE_Q8_0,
                                            .n_layers = 1,
                                            .width = 64,
                                            .n_heads = 2,
                                            .n_kv_heads = 1,
                                            .head_dim = 32,
                                            .ffn = 64,
                                            .n_vocabulary = N_VOCABULARY,
                                            .n_positions = N_POSITIONS,
                                            .n_rope_dims = 32,
                                            .is_gated = true,
                                            .act = ACT_SILU,
                                            .kv_dtype = DTYPE_F16 };

struct scene { /* one model, and caches with all sequences each */
    struct compute_device *device;
    struct toy toy;
    struct toy_model models[N_CACHES];
    struct compute_workspace *workspace;
    int32_t n_done[N_CACHES][N_SEQUENCES];
    float *logits; /* of all steps, one behind the other */
    int64_t n_logits;
};

static void open_scene(struct scene *s, uint64_t seed, bool is_plain)
{
    const struct cuda_options gpu = { .index = 0, .n_lanes = 1, .is_plain = is_plain };
    memset(s, 0, sizeof *s);
    emulate_seed(seed);
    emulate_seed_streams(seed);
    assert_int_equal(cuda_open(&gpu, &s->device, NULL), STATUS_OK);
    toy_init(&s->toy, &options, 3);
    toy_load(&s->models[0], &s->toy, s->device, 16);
    toy_load_heads(&s->models[1], &s->toy, s->device, 8);
    assert_int_equal(
        s->device->workspace_open(s->device->self, s->device->lanes[0], &s->models[0].program,
                                  (struct compute_sizes){ 270, 24 }, &s->workspace, NULL),
        STATUS_OK);
    s->logits = mem_take(sizeof(float) * N_VOCABULARY * 4096);
}

static void close_scene(struct scene *s)
{
    s->device->workspace_close(s->device->self, s->workspace);
    for (int i = 0; i < N_CACHES; i++)
        toy_unload(&s->models[i]);
    s->device->close(s->device->self);
    toy_free(&s->toy);
}

struct step { /* what one pass computes: some rows of each of some sequences */
    int32_t n_sequences, n_rows, n_logit_rows;
    struct compute_sequence sequences[N_SEQUENCES];
    int32_t ids[270], positions[270], logit_rows[270];
    uint8_t classes[270];
};

static void add_sequence(struct scene *s, struct step *step, int cache, int sequence, int32_t n)
{
    struct toy_model *model = &s->models[cache];
    int32_t *done = &s->n_done[cache][sequence];
    int32_t table = sequence * model->n_heads * model->blocks_per_sequence;
    step->sequences[step->n_sequences++] =
        (struct compute_sequence){ step->n_rows, n, *done, model->blocks + table,
                                   (uint32_t)model->blocks_per_sequence };
    bool is_prompt = *done == 0;
    for (int32_t i = 0; i < n; i++, (*done)++) {
        step->ids[step->n_rows] = toy_token(&s->toy, sequence, *done);
        step->positions[step->n_rows] = *done;
        step->classes[step->n_rows] = is_prompt ? COMPUTE_ROW_PROMPT : COMPUTE_ROW_GENERATED;
        if (!is_prompt || i == n - 1)
            step->logit_rows[step->n_logit_rows++] = step->n_rows;
        step->n_rows++;
    }
}

static void run_step(struct scene *s, const struct step *step, int cache)
{
    float *out = s->logits + s->n_logits;
    struct compute_pass pass = { .program = &s->models[0].program,
                                 .workspace = s->workspace,
                                 .n_rows = step->n_rows,
                                 .ids = step->ids,
                                 .classes = step->classes,
                                 .positions = step->positions,
                                 .n_sequences = step->n_sequences,
                                 .sequences = step->sequences,
                                 .kv = s->models[cache].kv,
                                 .n_logit_rows = step->n_logit_rows,
                                 .logit_rows = step->logit_rows,
                                 .logits = out };
    s->n_logits += (int64_t)step->n_logit_rows * N_VOCABULARY;
    assert_true(s->n_logits <= N_VOCABULARY * 4096);
    assert_int_equal(compute_device_wait(s->device, s->device->lanes[0], &pass.work), COMPUTE_DONE);
}

/* Prompts of several lengths, one of them just below the end of a piece. */
static void run_prompts(struct scene *s)
{
    struct step *step = mem_take(sizeof *step);
    for (int cache = 0; cache < N_CACHES; cache++) {
        for (int i = 0; i < N_SEQUENCES; i++) {
            memset(step, 0, sizeof *step);
            add_sequence(s, step, cache, i, i == 0 ? CUDA_PIECE - 3 : 1 + i);
            run_step(s, step, cache);
        }
    }
    mem_give(step);
}

/* Steps of 1 to 8 sequences with 1 or 2 rows each, now and then beside a prompt's row class. */
static void run_steps(struct scene *s, uint64_t seed, int n_steps)
{
    struct step *step = mem_take(sizeof *step);
    struct rng rng;
    rng_init(&rng, seed, 1);
    for (int i = 0; i < n_steps; i++) {
        int cache = i / 8 % N_CACHES, n = 1 + (int)rng_below(&rng, N_SEQUENCES);
        int first = (int)rng_below(&rng, N_SEQUENCES);
        memset(step, 0, sizeof *step);
        for (int k = 0; k < n; k++)
            add_sequence(s, step, cache, (first + k) % N_SEQUENCES,
                         1 + (int32_t)(rng_below(&rng, 4) == 0));
        if (rng_below(&rng, 5) == 0)
            step->classes[0] = COMPUTE_ROW_PROMPT;
        run_step(s, step, cache);
    }
    mem_give(step);
}

static float *logits_of(uint64_t seed, bool is_plain, int64_t *n_logits)
{
    struct scene s;
    open_scene(&s, seed, is_plain);
    run_prompts(&s);
    run_steps(&s, 7, 56);
    *n_logits = s.n_logits;
    close_scene(&s);
    return s.logits;
}

static void graphs_change_no_bit(void **state)
{
    int64_t n_plain, n;
    (void)state;
    float *plain = logits_of(1, true, &n_plain);
    assert_int_equal(emulate_count().n_replays, 0);
    for (uint64_t seed = test_seed(2); seed < test_seed(2) + 2; seed++) {
        uint64_t n_captures = emulate_count().n_captures, n_replays = emulate_count().n_replays;
        float *logits = logits_of(seed, false, &n);
        assert_int_equal(n, n_plain);
        assert_memory_equal(plain, logits, (size_t)n * sizeof(float));
        n_captures = emulate_count().n_captures - n_captures;
        n_replays = emulate_count().n_replays - n_replays;
        printf("%d graphs, run %d times\n", (int)n_captures, (int)n_replays);
        assert_true(n_captures >= 6 && n_replays >= 2 * n_captures);
        mem_give(logits);
    }
    mem_give(plain);
}

#ifndef TEST_GPU /* whose driver does not say what its graphs take */
/* Graphs stay within what is booked for a workspace, however many there are. */
static void graphs_stay_within_their_booking(void **state)
{
    struct scene s;
    (void)state;
    open_scene(&s, 4, false);
    const struct compute_sizes sizes = { 270, 24 };
    size_t before = emulate_mapped_bytes();
    int64_t booked =
        s.device->workspace_bytes(s.device->self, s.device->lanes[0], &s.models[0].program, sizes);
    run_prompts(&s);
    run_steps(&s, 8, 40);
    size_t grown = emulate_mapped_bytes() - before;
    assert_true(grown > 0 && (int64_t)grown < booked);
    struct cuda_graphs *graphs = &((struct cuda_workspace *)(void *)s.workspace)->graphs;
    for (int i = 0; i < CUDA_GRAPHS_MAX; i++)
        (void)cuda_graphs_find(graphs, &(struct cuda_graph_key){ .n_rows = 1000 + i });
    assert_true(emulate_mapped_bytes() < before + grown); /* graphs that gave way are closed */
    s.device->workspace_close(s.device->self, s.workspace);
    size_t after = emulate_mapped_bytes();
    assert_int_equal(s.device->workspace_open(s.device->self, s.device->lanes[0],
                                              &s.models[0].program, sizes, &s.workspace, NULL),
                     STATUS_OK);
    assert_int_equal(emulate_mapped_bytes(), before);
    assert_true(after < before);
    mem_give(s.logits);
    close_scene(&s);
}
#endif

static void a_full_table_closes_the_oldest_graph(void **state)
{
    struct cuda_graphs graphs = { 0 };
    struct cuda_graph_key key = { 1, CUDA_PIECE, { .n_kv_heads = 1 } };
    (void)state;
    for (int i = 0; i < CUDA_GRAPHS_MAX; i++) {
        key.n_rows = 1 + i;
        cuda_graphs_find(&graphs, &key)->is_warm = true;
    }
    key.n_rows = 1;
    assert_true(cuda_graphs_find(&graphs, &key)->is_warm); /* now the latest */
    key.n_positions_max = 2 * CUDA_PIECE;
    assert_false(cuda_graphs_find(&graphs, &key)->is_warm);
    key.n_positions_max = CUDA_PIECE;
    assert_true(cuda_graphs_find(&graphs, &key)->is_warm);
    key.n_rows = 2; /* made room */
    assert_false(cuda_graphs_find(&graphs, &key)->is_warm);
}

static void sizes_of_graphs(void **state)
{
    static const int32_t rows[][3] = { { 1, 64, 1 },   { 3, 64, 4 },    { 5, 64, 8 },
                                       { 9, 64, 16 },  { 9, 12, 12 },   { 13, 12, 0 },
                                       { 64, 64, 64 }, { 65, 512, 96 }, { 256, 512, 256 },
                                       { 257, 512, 0 } };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        assert_int_equal(cuda_graphs_rows(rows[i][0], rows[i][1]), rows[i][2]);
    assert_int_equal(cuda_graphs_positions(1), 256);
    assert_int_equal(cuda_graphs_positions(256), 256);
    assert_int_equal(cuda_graphs_positions(257), 512);
    assert_int_equal(cuda_graphs_positions(LIMIT_CONTEXT), LIMIT_CONTEXT);
    assert_int_equal(cuda_graphs_positions(LIMIT_CONTEXT + 1), LIMIT_CONTEXT + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(graphs_change_no_bit),
#ifndef TEST_GPU
        cmocka_unit_test(graphs_stay_within_their_booking),
#endif
        cmocka_unit_test(a_full_table_closes_the_oldest_graph),
        cmocka_unit_test(sizes_of_graphs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
