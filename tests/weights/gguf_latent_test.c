/* Latent attention that GGUF files describe, and refusals by name. */
#include "weights/refused.h"
#include "weights/build.h"
#include "base/mem.h"
#include "weights/gguf_spec.h"
#include <math.h>

#define NAME "deepseek2."

static uint32_t n_layers = 2, n_vocabulary = 6;

static enum status spec_of(void (*change)(struct build *), bool is_newer, struct model_spec *spec,
                           struct fault *fault)
{
    const struct {
        const char *key;
        uint32_t value;
    } keys[] = {
        { NAME "block_count", n_layers },        { NAME "embedding_length", 2 },
        { NAME "feed_forward_length", 96 },      { NAME "context_length", 256 },
        { NAME "attention.head_count", 4 },      { NAME "expert_count", 6 },
        { NAME "expert_used_count", 2 },         { NAME "expert_feed_forward_length", 32 },
        { NAME "leading_dense_block_count", 1 }, { NAME "rope.dimension_count", 8 },
    };
    struct build b;
    struct weights_gguf gguf;
    const struct weights_architecture *architecture;
    size_t n;
    build_init(&b);
    build_text(&b, "general.architecture", "deepseek2");
    for (size_t i = 0; i < COUNT_OF(keys); i++)
        build_u32(&b, keys[i].key, keys[i].value);
    build_f32(&b, NAME "attention.layer_norm_rms_epsilon", 1e-5f);
    build_u32(&b, is_newer ? NAME "attention.key_length_mla" : NAME "attention.key_length", 24);
    build_u32(&b, is_newer ? NAME "attention.value_length_mla" : NAME "attention.value_length", 12);
    build_tensor(&b, "token_embd.weight", 2, n_vocabulary);
    change(&b);
    unsigned char *bytes = build_end(&b, &n);
    assert_int_equal(weights_gguf_read(&gguf, bytes, n, fault), STATUS_OK);
    enum status status = weights_gguf_spec(&gguf, spec, &architecture, fault);
    weights_gguf_close(&gguf);
    mem_give(bytes);
    build_free(&b);
    return status;
}

static void add_rank(struct build *b)
{
    build_u32(b, NAME "attention.kv_lora_rank", 32);
}

static void add_yarn(struct build *b)
{
    add_rank(b);
    build_text(b, NAME "rope.scaling.type", "yarn");
    build_f32(b, NAME "rope.scaling.factor", 4.0f);
    build_f32(b, NAME "rope.scaling.yarn_log_multiplier", 0.08f);
}

static void reads_both_forms(void **state)
{
    (void)state;
    struct model_spec spec;
    struct fault fault = { 0 };
    for (int is_newer = 0; is_newer < 2; is_newer++) {
        assert_int_equal(spec_of(add_rank, is_newer == 1, &spec, &fault), STATUS_OK);
        assert_int_equal(spec.latent.rank, 32);
        assert_int_equal(spec.latent.key_dim, 16);
        assert_int_equal(spec.latent.value_dim, 12);
        assert_int_equal(spec.head_dim, 40);
        assert_int_equal(spec.n_rope_dims, 8);
        assert_true(spec.latent.norm_epsilon == 1e-5f && spec.score_divisor == 24.0f);
        assert_true(!spec.experts.is_sigmoid && spec.is_dense_layer[0] && !spec.is_dense_layer[1]);
    }
    assert_int_equal(spec_of(add_yarn, true, &spec, &fault), STATUS_OK);
    assert_true(fabs((double)spec.score_divisor * pow(1 + 0.08 * log(4), 4) - 24) < 1e-4);
    assert_true(spec.rope_scaling.attention_factor == 1.0f);
}

static void says_softmax(struct build *b)
{
    add_rank(b);
    build_u32(b, NAME "expert_gating_func", 1);
}

/* GLM-4.7-Flash uses sigmoids, and the first files of it lack the key. */
static void knows_a_family_by_its_sizes(void **state)
{
    (void)state;
    struct model_spec spec;
    struct fault fault = { 0 };
    n_vocabulary = 154880;
    for (n_layers = 46; n_layers <= 49; n_layers++) {
        bool is_known = n_layers == 47 || n_layers == 48;
        assert_int_equal(spec_of(add_rank, true, &spec, &fault), STATUS_OK);
        assert_int_equal(spec.experts.is_sigmoid, is_known);
        assert_int_equal(spec_of(says_softmax, true, &spec, &fault), STATUS_OK);
        assert_false(spec.experts.is_sigmoid);
    }
    n_layers = 2;
    n_vocabulary = 6;
}

static void no_rank(struct build *b)
{
    (void)b;
}
static void no_log(struct build *b)
{
    add_rank(b);
    build_text(b, NAME "rope.scaling.type", "yarn");
    build_f32(b, NAME "rope.scaling.factor", 4.0f);
}
static void linear(struct build *b)
{
    add_rank(b);
    build_text(b, NAME "rope.scaling.type", "linear");
    build_f32(b, NAME "rope.scaling.factor", 4.0f);
}
static void two_kv_heads(struct build *b)
{
    add_rank(b);
    build_u32(b, NAME "attention.head_count_kv", 2);
}
static void groups_of_shares(struct build *b)
{
    add_rank(b);
    build_u32(b, NAME "expert_group_count", 3);
    build_u32(b, NAME "expert_group_used_count", 1);
}
static void shares_of_those_chosen(struct build *b)
{
    add_rank(b);
    build_u32(b, NAME "expert_gating_func", 3);
}

static void refuses_by_name(void **state)
{
    (void)state;
    static const struct {
        void (*change)(struct build *);
        enum status status;
        const char *words;
    } rows[] = {
        { no_rank, STATUS_BAD_INPUT, "kv_lora_rank is missing" },
        { no_log, STATUS_UNSUPPORTED, "yarn_log_multiplier" },
        { linear, STATUS_UNSUPPORTED, "yarn_log_multiplier" },
        { two_kv_heads, STATUS_UNSUPPORTED, "head_count_kv is 2" },
        { groups_of_shares, STATUS_UNSUPPORTED, "expert_group_count is 3" },
        { shares_of_those_chosen, STATUS_UNSUPPORTED, "expert_gating_func is 3" },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct model_spec spec;
        struct fault fault = { 0 };
        assert_refused(spec_of(rows[i].change, true, &spec, &fault), rows[i].status, &fault,
                       rows[i].words);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_both_forms),
        cmocka_unit_test(knows_a_family_by_its_sizes),
        cmocka_unit_test(refuses_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
