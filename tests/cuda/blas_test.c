/* cuBLASLt for prompt rows, by libraries that stand for it: one whose rows depend on nothing else
 * is used, and one whose rows depend on their number is not. */
#include "test.h"

#include "base/mem.h"
#include "base/rng.h"
#include "cuda/blas.h"
#include "cuda/cuda.h"
#include "emulate/control.h"
#include "ops/toy.h"
#include <math.h>

enum { N_ROWS = 150, N_SEQUENCES = 2 };

static const struct toy_options options = { .n_layers = 1,
                                            .width = 64,
                                            .n_heads = 4,
                                            .n_kv_heads = 2,
                                            .head_dim = 16,
                                            .ffn = 96,
                                            .n_vocabulary = 44,
                                            .n_positions = 160,
                                            .n_rope_dims = 16,
                                            .is_gated = true,
                                            .dtype = DTYPE_BF16,
                                            .act = ACT_SILU,
                                            .kv_dtype = DTYPE_F16 };

struct outcome {
    float *logits;
    uint32_t arithmetic;
    uint64_t n_launches;
};

/* Runs both sequences: each in one pass, or in passes of a few rows that are mixed. */
static struct outcome run(const struct toy *toy, const char *library, bool is_mixed)
{
    const struct cuda_options gpu = { .index = 0, .n_lanes = 1 };
    struct outcome o = { .logits = mem_take(toy_logits_count(toy) * sizeof(float)) };
    struct compute_device *device;
    struct toy_model model;
    emulate_library(library);
    assert_int_equal(cuda_open(&gpu, &device, NULL), STATUS_OK);
    o.arithmetic = device->arithmetic;
    toy_load(&model, toy, device, 32);
    if (!is_mixed)
        for (int i = 0; i < N_SEQUENCES; i++)
            toy_run(&model, &(struct toy_item){ i, 0, N_ROWS }, 1, o.logits);
    for (int32_t at = 0; at < N_ROWS && is_mixed; at += 30)
        toy_run(&model, (struct toy_item[]){ { 0, at, 30 }, { 1, at, 30 } }, 2, o.logits);
    toy_unload(&model);
    device->close(device->self);
    emulate_library(NULL);
    return o;
}

static bool are_equal(const struct toy *toy, const struct outcome *a, const struct outcome *b)
{
    for (int s = 0; s < N_SEQUENCES; s++) {
        int64_t first = (int64_t)s * toy->options.n_positions * toy->options.n_vocabulary;
        size_t n = (size_t)(N_ROWS * toy->options.n_vocabulary) * sizeof(float);
        if (memcmp(a->logits + first, b->logits + first, n) != 0)
            return false;
    }
    return true;
}

static bool are_close(const struct toy *toy, const struct outcome *a, const struct outcome *b)
{
    float error = 0, square = 0;
    for (int64_t i = 0; i < (int64_t)N_ROWS * toy->options.n_vocabulary; i++) {
        error += (a->logits[i] - b->logits[i]) * (a->logits[i] - b->logits[i]);
        square += a->logits[i] * a->logits[i];
    }
    return sqrtf(error / square) < 0.01f;
}

static void give(struct outcome *all, int n)
{
    for (int i = 0; i < n; i++)
        mem_give(all[i].logits);
}

/* Its sums have another order than our kernel's, so its bits show that it was used. */
static void an_honest_library_computes_prompts(void **state)
{
    struct toy toy;
    (void)state;
    toy_init(&toy, &options, 3);
    struct outcome o[] = { run(&toy, NULL, false), run(&toy, HONEST, false),
                           run(&toy, HONEST, true) };
    assert_false(are_equal(&toy, &o[0], &o[1]));
    assert_true(are_close(&toy, &o[0], &o[1]));
    assert_true(are_equal(&toy, &o[1], &o[2]));
    assert_int_not_equal(o[0].arithmetic, o[1].arithmetic);
    give(o, 3);
    toy_free(&toy);
}

static void a_library_whose_rows_depend_on_their_number_is_left(void **state)
{
    struct toy toy;
    (void)state;
    toy_init(&toy, &options, 3);
    struct outcome o[] = { run(&toy, NULL, false), run(&toy, MOODY, false),
                           run(&toy, MOODY, true) };
    assert_true(are_equal(&toy, &o[0], &o[1]));
    assert_true(are_equal(&toy, &o[0], &o[2]));
    give(o, 3);
    toy_free(&toy);
}

/* Versions of the library have arithmetics of their own. */
static void versions_are_told_apart(void **state)
{
    struct toy toy;
    (void)state;
    toy_init(&toy, &options, 3);
    struct outcome o[] = { run(&toy, HONEST, true), run(&toy, MOODY, true),
                           run(&toy, HONEST, true) };
    assert_int_not_equal(o[0].arithmetic, o[1].arithmetic);
    assert_int_equal(o[0].arithmetic, o[2].arithmetic);
    give(o, 3);
    toy_free(&toy);
}

static void a_file_that_is_no_library_is_not_used(void **state)
{
    struct toy toy;
    (void)state;
    toy_init(&toy, &options, 3);
    struct outcome o[] = { run(&toy, NULL, true), run(&toy, "/dev/null", true) };
    assert_true(are_equal(&toy, &o[0], &o[1]));
    assert_int_equal(o[0].arithmetic, o[1].arithmetic);
    give(o, 2);
    toy_free(&toy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_honest_library_computes_prompts),
        cmocka_unit_test(a_library_whose_rows_depend_on_their_number_is_left),
        cmocka_unit_test(versions_are_told_apart),
        cmocka_unit_test(a_file_that_is_no_library_is_not_used),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
