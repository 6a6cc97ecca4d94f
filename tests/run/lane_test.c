/* A lane's bits do not depend on how many cores it has: the same passes on all of the device, on
 * its shares, and on several of them at once. */
#include "test.h"

#include "base/mem.h"
#include "base/rng.h"
#include "base/team.h"
#include "cpu/cpu.h"
#include "run/model.h"
#include "compute/sampler.h"

#include <string.h>

enum { N_PROMPT = 37, N_DECODES = 20, N_TOKENS = N_PROMPT + N_DECODES, BLOCK_TOKENS = 8 };

struct side { /* one lane's own cache and results */
    const struct run_model *model;
    int lane;
    struct compute_memory *cache;
    uint32_t blocks[N_TOKENS / BLOCK_TOKENS + 1];
    float *logits; /* (1 + N_DECODES, n_vocabulary) */
    struct compute_workspace *workspace;
    int32_t ids[N_TOKENS], positions[N_TOKENS], logit_row;
};

static const struct device_spec whole = { .kind = DEVICE_CPU, .n_cores = 2, .cores = { 0, 1 } };

static void open_model(struct run_model *model, struct compute_device **out, const char *name)
{
    char path[512];
    struct weights *weights;
    struct fault fault;
    struct compute_device *device = *out = cpu_open(&whole, cpu_isa_best());
    const struct run_model_options options = { .device = device, .kv_dtype = DTYPE_F16 };
    for (int core = 0; core < 2; core++) {
        const struct device_spec part = { .kind = DEVICE_CPU, .n_cores = 1, .cores = { core } };
        cpu_add_lane(device, &part);
    }
    snprintf(path, sizeof path, "%s/tests/golden/data/%s", SOURCE_ROOT, name);
    assert_int_equal(weights_open(&weights, path, &fault), STATUS_OK);
    assert_int_equal(run_model_open(model, weights, &options, &fault), STATUS_OK);
}

static void open_side(struct side *side, const struct run_model *model, int lane)
{
    const struct model_spec *spec = weights_spec(model->weights);
    struct compute_device *device = model->device;
    size_t n_blocks = COUNT_OF(side->blocks), n_vocabulary = (size_t)spec->n_vocabulary;
    const struct compute_memory_options cache = {
        .n_bytes = (int64_t)n_blocks * BLOCK_TOKENS * model_spec_kv_bytes_per_token(spec, DTYPE_F16)
    };
    *side = (struct side){ .model = model, .lane = lane };
    assert_int_equal(device->memory_open(device->self, &cache, &side->cache, NULL), STATUS_OK);
    side->logits = mem_take((1 + N_DECODES) * n_vocabulary * sizeof(float));
    assert_int_equal(device->workspace_open(device->self, device->lanes[lane], &model->program,
                                            (struct compute_sizes){ N_TOKENS, 1 }, &side->workspace,
                                            NULL),
                     STATUS_OK);
    for (uint32_t i = 0; i < n_blocks; i++)
        side->blocks[i] = i;
    for (int32_t i = 0; i < N_TOKENS; i++) {
        side->ids[i] = (int32_t)(rng_at(5, 0, (uint64_t)i) % n_vocabulary);
        side->positions[i] = i;
    }
}

static void close_side(struct side *side)
{
    struct compute_device *device = side->model->device;
    device->memory_close(device->self, side->cache);
    device->workspace_close(device->self, side->workspace);
    mem_give(side->logits);
}

static void step(struct side *side, int32_t n_before, int32_t n_rows, float *logits)
{
    const struct model_spec *spec = weights_spec(side->model->weights);
    uint64_t block_bytes =
        (uint64_t)(BLOCK_TOKENS * model_spec_kv_bytes_per_token(spec, DTYPE_F16));
    const struct compute_sequence sequence = { 0, n_rows, n_before, side->blocks };
    side->logit_row = n_rows - 1;
    struct compute_device *device = side->model->device;
    struct compute_pass pass = {
        .program = &side->model->program,
        .workspace = side->workspace,
        .n_rows = n_rows,
        .ids = side->ids + n_before,
        .positions = side->positions + n_before,
        .n_sequences = 1,
        .sequences = &sequence,
        .kv = { .memory = side->cache,
                .unit_bytes = block_bytes,
                .block_bytes = block_bytes,
                .blocks_per_unit = 1,
                .block_tokens = BLOCK_TOKENS,
                .dtype = DTYPE_F16,
                .n_layers = spec->n_layers,
                .n_kv_heads = spec->n_kv_heads,
                .head_dim = spec->head_dim },
        .n_logit_rows = 1,
        .logit_rows = &side->logit_row,
        .logits = logits,
    };
    assert_int_equal(compute_device_wait(device, device->lanes[side->lane], &pass.work),
                     COMPUTE_DONE);
}

static void run_side(void *arg)
{
    struct side *side = arg;
    int32_t n_vocabulary = side->model->program.n_vocabulary;
    step(side, 0, N_PROMPT, side->logits);
    for (int32_t i = 0; i < N_DECODES; i++)
        step(side, N_PROMPT + i, 1, side->logits + (int64_t)(i + 1) * n_vocabulary);
}

static void lanes_agree_bit_for_bit(void **state)
{
    static const char *const names[] = { "llama3", "qwen2", "gpt2" };
    (void)state;
    for (size_t m = 0; m < COUNT_OF(names); m++) {
        struct compute_device *device;
        struct run_model model;
        struct side sides[3];
        struct thread *threads[3];
        open_model(&model, &device, names[m]);
        size_t n_bytes = (1 + N_DECODES) * (size_t)model.program.n_vocabulary * sizeof(float);
        for (int lane = 0; lane < 3; lane++) {
            open_side(&sides[lane], &model, lane);
            threads[lane] = thread_start("side", run_side, &sides[lane]);
        }
        for (int lane = 0; lane < 3; lane++)
            thread_join(threads[lane]);
        assert_memory_equal(sides[0].logits, sides[1].logits, n_bytes);
        assert_memory_equal(sides[0].logits, sides[2].logits, n_bytes);
        for (int lane = 0; lane < 3; lane++)
            close_side(&sides[lane]);
        run_model_close(&model);
        device->close(device->self);
    }
}

/* A model books activations for all of its lanes together. */
static void activation_is_summed_over_lanes(void **state)
{
    struct compute_device *device;
    struct run_model model;
    (void)state;
    open_model(&model, &device, "llama3");
    int64_t sum = run_model_peak_bytes(model.weights, device, 64, 8), each = 0;
    for (int lane = 0; lane < 3; lane++) {
        struct compute_device alone = *device;
        alone.n_lanes = 1;
        alone.lanes[0] = device->lanes[lane];
        each += run_model_peak_bytes(model.weights, &alone, 64, 8);
    }
    assert_true(sum == each && sum > 0);
    run_model_close(&model);
    device->close(device->self);
}

/* Members without a row draw nothing and have no memory to draw with. */
static void one_row_is_drawn_by_one_member(void **state)
{
    struct compute_device *device;
    struct run_model model;
    int64_t n_bytes[4];
    (void)state;
    open_model(&model, &device, "llama3");
    int32_t n_vocabulary = model.program.n_vocabulary;
    for (int32_t n_rows = 1; n_rows <= 3; n_rows++)
        n_bytes[n_rows] = device->workspace_bytes(device->self, device->lanes[0], &model.program,
                                                  (struct compute_sizes){ 64, n_rows });
    /* Two members: the third row adds its own memory, but no sampler. */
    assert_int_equal(n_bytes[2] - n_bytes[1] - (n_bytes[3] - n_bytes[2]),
                     (int64_t)compute_sampler_bytes(n_vocabulary));
    run_model_close(&model);
    device->close(device->self);
}

static uint64_t arithmetic_of(struct compute_device *device, const char *name, enum dtype kv_dtype)
{
    char path[512];
    struct weights *weights;
    struct run_model model;
    struct fault fault;
    const struct run_model_options options = { .device = device, .kv_dtype = kv_dtype };
    snprintf(path, sizeof path, "%s/tests/golden/data/%s", SOURCE_ROOT, name);
    assert_int_equal(weights_open(&weights, path, &fault), STATUS_OK);
    assert_int_equal(run_model_open(&model, weights, &options, &fault), STATUS_OK);
    uint64_t arithmetic = model.arithmetic;
    run_model_close(&model);
    return arithmetic;
}

/* The file, the kernels, the types and the ranks: one number tells whether all are equal. */
static void arithmetics_have_names(void **state)
{
    struct compute_device *device = cpu_open(&whole, cpu_isa_best());
    struct compute_device *other = compute_reference_open(device->arithmetic);
    uint64_t usual = arithmetic_of(device, "llama3", DTYPE_F16);
    (void)state;
    assert_true(usual == arithmetic_of(device, "llama3", DTYPE_F16));
    assert_true(usual == arithmetic_of(other, "llama3", DTYPE_F16)); /* it has the same bits */
    assert_true(usual != arithmetic_of(device, "llama3", DTYPE_F32));
    assert_true(usual != arithmetic_of(device, "qwen2", DTYPE_F16));
    other->arithmetic++;
    assert_true(usual != arithmetic_of(other, "llama3", DTYPE_F16));
    other->arithmetic--;
    other->n_ranks++;
    assert_true(usual != arithmetic_of(other, "llama3", DTYPE_F16));
    device->close(device->self);
    other->close(other->self);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lanes_agree_bit_for_bit),
        cmocka_unit_test(activation_is_summed_over_lanes),
        cmocka_unit_test(one_row_is_drawn_by_one_member),
        cmocka_unit_test(arithmetics_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
