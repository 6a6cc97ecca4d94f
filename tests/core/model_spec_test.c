/* Specs: those that pass, those that each check refuses, and the sums that other code relies on. */
#include "test.h"
#include "core/model_spec.h"

static struct model_spec good_spec(void)
{
    return (struct model_spec){
        .architecture = "llama",
        .n_layers = 2,
        .width = 64,
        .n_heads = 4,
        .n_kv_heads = 2,
        .head_dim = 16,
        .ffn_width = 96,
        .n_vocabulary = 100,
        .n_positions_max = 256,
        .norm_epsilon = 1e-5f,
        .is_gated = true,
        .position = POSITION_ROPE_HALVES,
        .n_rope_dims = 16,
        .rope_base = 10000.0f,
        .embedding_scale = 1.0f,
        .logit_scale = 1.0f,
        .n_kv_groups = 1,
        .kv_groups = { { 2, 2, 16, 0 } },
    };
}

static void passes_good_ones(void **state)
{
    (void)state;
    struct fault fault = { 0 };
    struct model_spec spec = good_spec();
    assert_int_equal(model_spec_check(&spec, &fault), STATUS_OK);
    spec.rope_scaling = (struct rope_scaling){ ROPE_SCALING_LLAMA3, 8, 1, 4, 128 };
    assert_int_equal(model_spec_check(&spec, &fault), STATUS_OK);
    spec.position = POSITION_LEARNED;
    spec.rope_base = 0;
    spec.n_rope_dims = 0;
    assert_int_equal(model_spec_check(&spec, &fault), STATUS_OK);
}

static void layers_may_differ(void **state)
{
    (void)state;
    struct fault fault = { 0 };
    struct model_spec spec = good_spec();
    spec.n_layers = 7;
    spec.window = 32;
    spec.rope_base_full = 1e6f;
    model_spec_set_full(&spec, 3);
    model_spec_group(&spec);
    assert_int_equal(model_spec_check(&spec, &fault), STATUS_OK);
    assert_int_equal(spec.n_full_layers, 2);
    assert_int_equal(model_spec_window(&spec, 1), 32);
    assert_int_equal(model_spec_window(&spec, 5), 0);
    assert_int_equal(spec.kv_groups[0].window, 0); /* what some layers see is kept */
    spec.is_full_layer[0] = true;
    assert_int_equal(model_spec_check(&spec, &fault), STATUS_BAD_INPUT);
    assert_non_null(strstr(fault.text, "3 layers see everything"));
    model_spec_set_full(&spec, 0);
    model_spec_group(&spec);
    spec.rope_base_full = 0;
    assert_int_equal(model_spec_check(&spec, &fault), STATUS_OK);
    assert_int_equal(spec.kv_groups[0].window, 32);
    model_spec_set_full(&spec, 1);
    assert_int_equal(model_spec_check(&spec, &fault), STATUS_BAD_INPUT);
    assert_non_null(strstr(fault.text, "rope base"));
}

/* Sets one number of a good spec and expects these words. */
#define REFUSED(field, value, words)                                                               \
    do {                                                                                           \
        struct fault fault = { 0 };                                                                \
        struct model_spec spec = good_spec();                                                      \
        spec.field = (value);                                                                      \
        assert_int_equal(model_spec_check(&spec, &fault), STATUS_BAD_INPUT);                       \
        if (strstr(fault.text, words) == NULL)                                                     \
            print_error("%s\n", fault.text);                                                       \
        assert_non_null(strstr(fault.text, words));                                                \
    } while (0)

#define YARN(by, n, fast, slow)                                                                    \
    ((struct rope_scaling){ .kind = ROPE_SCALING_YARN,                                             \
                            .factor = (by),                                                        \
                            .n_positions_original = (n),                                           \
                            .beta_fast = (fast),                                                   \
                            .beta_slow = (slow) })

static void passes_yarn(void **state)
{
    (void)state;
    struct fault fault = { 0 };
    struct model_spec spec = good_spec();
    spec.rope_scaling = YARN(4, 128, 32, 1);
    assert_int_equal(model_spec_check(&spec, &fault), STATUS_OK);
    spec.rope_base = 1; /* its logarithm divides */
    assert_int_equal(model_spec_check(&spec, &fault), STATUS_BAD_INPUT);
    assert_non_null(strstr(fault.text, "the rope base is 1"));
}

static void refuses_by_name(void **state)
{
    (void)state;
    REFUSED(n_layers, 0, "number of layers is 0");
    REFUSED(n_layers, LIMIT_LAYERS + 1, "number of layers is 513");
    REFUSED(width, 0, "the width");
    REFUSED(n_heads, -1, "number of heads");
    REFUSED(n_kv_heads, 8, "number of KV heads");
    REFUSED(n_kv_heads, 3, "4 heads can't share 3");
    REFUSED(head_dim, 5000, "head dimension");
    REFUSED(ffn_width, 1 << 21, "feed-forward width");
    REFUSED(n_vocabulary, 0, "vocabulary");
    REFUSED(n_positions_max, LIMIT_CONTEXT + 1, "context length");
    REFUSED(window, -1, "window");
    REFUSED(norm_epsilon, 0.0f, "epsilon");
    REFUSED(norm_epsilon, 0.0f / 0.0f * 1.0f, "epsilon");
    REFUSED(embedding_scale, 0.0f, "embedding scale");
    REFUSED(score_divisor, -1.0f, "divisor of scores");
    REFUSED(rope_scaling, ((struct rope_scaling){ .attention_factor = -1 }),
            "attention factor is -1");
    REFUSED(rope_base, 0.5f, "rope base");
    REFUSED(n_rope_dims, 18, "rotated part");
    REFUSED(n_rope_dims, 7, "rotated part");
    REFUSED(n_rope_dims, 0, "rotated part");
    REFUSED(n_kv_groups, 0, "KV groups");
    REFUSED(kv_groups[0].n_layers, 1, "hold 1 layers");
    REFUSED(kv_groups[0].head_dim, 0, "KV group 0");
    REFUSED(rope_scaling.kind, ROPE_SCALING_LINEAR, "scaling factor");
    REFUSED(rope_scaling, ((struct rope_scaling){ ROPE_SCALING_LLAMA3, 8, 4, 1, 128 }),
            "frequency factors");
    REFUSED(rope_scaling, ((struct rope_scaling){ ROPE_SCALING_LLAMA3, 8, 1, 4, 0 }),
            "original context");
    REFUSED(rope_scaling, YARN(0, 128, 32, 1), "scaling factor is 0");
    REFUSED(rope_scaling, YARN(4, 0, 32, 1), "original context");
    REFUSED(rope_scaling, YARN(4, 128, 32, 64), "beta_fast and beta_slow are 32 and 64");
    REFUSED(rope_scaling, YARN(4, 128, 32, 0), "beta_fast and beta_slow are 32 and 0");
}

static void sums_up(void **state)
{
    (void)state;
    struct model_spec spec = good_spec();
    assert_int_equal(model_spec_kv_bytes_per_token(&spec, DTYPE_F16), 2 * 2 * 2 * 16 * 2);
    assert_int_equal(model_spec_kv_bytes_per_token(&spec, DTYPE_F32), 2 * 2 * 2 * 16 * 4);
    struct fault fault;
    assert_int_equal(model_spec_check_kv(&spec, "m", DTYPE_F16, &fault), STATUS_OK);
    assert_int_equal(model_spec_check_kv(&spec, "m", DTYPE_Q8_0, &fault), STATUS_UNSUPPORTED);
    assert_string_equal(fault.text,
                        "model m: its heads of 16 values can't be cached as Q8_0, which "
                        "takes multiples of 32");
    struct model_spec wide = spec;
    wide.kv_groups[0].head_dim = 64;
    assert_int_equal(model_spec_check_kv(&wide, "m", DTYPE_Q8_0, &fault), STATUS_OK);
    assert_int_equal(model_spec_kv_bytes_per_token(&wide, DTYPE_Q8_0), 2 * 2 * 2 * (64 + 4));
    double matrices = 2.0 * (64 * 64 * 2 + 2 * 64 * 32 + 3 * 64 * 96);
    assert_true(model_spec_flops_per_token(&spec) == 2.0 * matrices);
    spec.is_gated = false;
    assert_true(model_spec_flops_per_token(&spec) == 2.0 * (matrices - 2.0 * 64 * 96));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(passes_good_ones), cmocka_unit_test(layers_may_differ),
        cmocka_unit_test(passes_yarn),      cmocka_unit_test(refuses_by_name),
        cmocka_unit_test(sums_up),
    };
    return cmocka_run_group_tests_name("core/model_spec", tests, NULL, NULL);
}
