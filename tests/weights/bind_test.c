/* Roles: every tensor is found, cut when it is fused, and refused by name when it doesn't fit. */
#include "weights/refused.h"
#include "weights/build.h"
#include "base/file.h"
#include "weights/bind.h"
#include "weights/gguf_spec.h"
#include "weights/hf_spec.h"
#include "weights/json.h"
#include "weights/safetensors.h"
#include <math.h>

static const char *source_root = ".";

struct bound {
    struct weights_gguf gguf;
    struct model_spec spec;
    struct model_weights model;
    unsigned char *bytes;
};

static enum status bind_built(struct build *b, struct bound *o, struct fault *fault)
{
    const struct weights_architecture *architecture;
    size_t n;
    o->bytes = build_end(b, &n);
    build_free(b);
    assert_int_equal(weights_gguf_read(&o->gguf, o->bytes, n, fault), STATUS_OK);
    enum status status = weights_gguf_spec(&o->gguf, &o->spec, &architecture, fault);
    return status != STATUS_OK
               ? status
               : weights_bind(architecture, false, &o->spec, &o->gguf.catalog, &o->model, fault);
}

static void close_bound(struct bound *o)
{
    weights_gguf_close(&o->gguf);
    mem_give(o->bytes);
}

static void binds_llama(void **state)
{
    (void)state;
    struct build b;
    struct bound o;
    struct fault fault = { 0 };
    build_init(&b);
    build_llama_values(&b);
    build_llama_tensors(&b);
    build_vector(&b, "rope_freqs.weight", (const float[]){ 1, 8 }, 2);
    assert_int_equal(bind_built(&b, &o, &fault), STATUS_OK);
    const struct layer_weights *layer = &o.model.layers[0];
    assert_int_equal(layer->k.n_rows, 8);
    assert_int_equal(layer->k.n_columns, 16);
    assert_int_equal(layer->k.row_bytes, 64);
    assert_int_equal(layer->down.n_rows, BUILD_WIDTH);
    assert_int_equal(layer->down.n_columns, BUILD_FFN);
    assert_int_equal(layer->attention_norm.n_rows, 1);
    assert_int_equal(o.model.rope_factors.n_columns, 2);
    assert_null(layer->q_bias.data);
    assert_ptr_not_equal(o.model.output.data, o.model.token_embedding.data);
    close_bound(&o);
}

/* Builds a model of width 8 with 2 heads and fused matrices that are cut. */
static void build_fused(struct build *b, const char *architecture, bool is_gated, uint32_t n_kv)
{
    static const char *const keys[] = { "block_count",          "embedding_length",
                                        "feed_forward_length",  "context_length",
                                        "attention.head_count", "attention.head_count_kv" };
    uint32_t values[] = { 1, 8, 12, 16, 2, n_kv };
    char key[64];
    build_init(b);
    build_text(b, "general.architecture", architecture);
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        snprintf(key, sizeof(key), "%s.%s", architecture, keys[i]);
        build_u32(b, key, values[i]);
    }
    bool is_gpt2 = strcmp(architecture, "gpt2") == 0;
    snprintf(key, sizeof(key), "%s.attention.layer_norm_%sepsilon", architecture,
             is_gpt2 ? "" : "rms_");
    build_f32(b, key, 1e-5f);
    uint64_t n_qkv = 8 + 2 * 4 * (uint64_t)n_kv;
    build_tensor(b, "token_embd.weight", 8, 6);
    build_tensor(b, "output_norm.weight", 8, 0);
    build_tensor(b, "blk.0.attn_norm.weight", 8, 0);
    build_tensor(b, "blk.0.attn_qkv.weight", 8, n_qkv);
    if (strcmp(architecture, "phi3") != 0)
        build_tensor(b, "blk.0.attn_qkv.bias", n_qkv, 0);
    build_tensor(b, "blk.0.attn_output.weight", 8, 8);
    build_tensor(b, "blk.0.ffn_norm.weight", 8, 0);
    build_tensor(b, "blk.0.ffn_up.weight", 8, is_gated ? 24 : 12);
    build_tensor(b, "blk.0.ffn_down.weight", 12, 8);
}

static float at(const struct tensor *tensor, int row, int column)
{
    float x;
    size_t offset = tensor->is_transposed ? (size_t)(column * tensor->row_bytes) + 4 * (size_t)row
                                          : (size_t)(row * tensor->row_bytes) + 4 * (size_t)column;
    memcpy(&x, (const char *)tensor->data + offset, sizeof(x));
    return x;
}

static void cuts_rows(void **state)
{
    (void)state;
    struct build b;
    struct bound o;
    struct fault fault = { 0 };
    build_fused(&b, "chatglm", true, 1);
    assert_int_equal(bind_built(&b, &o, &fault), STATUS_OK);
    const struct layer_weights *layer = &o.model.layers[0];
    assert_int_equal(layer->q.n_rows, 8);
    assert_int_equal(layer->k.n_rows, 4);
    assert_true(at(&layer->q, 1, 0) == 8.0f);
    assert_true(at(&layer->k, 0, 3) == 8 * 8 + 3.0f);
    assert_true(at(&layer->v, 2, 1) == (8 + 4 + 2) * 8 + 1.0f);
    assert_int_equal(layer->k_bias.n_columns, 4);
    assert_true(at(&layer->k_bias, 0, 1) == 9.0f);
    assert_true(at(&layer->v_bias, 0, 0) == 12.0f);
    assert_true(at(&layer->gate, 0, 0) == 0.0f && layer->gate.n_rows == 12);
    assert_true(at(&layer->up, 0, 0) == 12 * 8.0f && layer->up.n_rows == 12);
    assert_true(o.spec.is_tied);
    assert_ptr_equal(o.model.output.data, o.model.token_embedding.data);
    close_bound(&o);
}

static const float short_factors[] = { 1, 2 }, long_factors[] = { 3, 4 };

/* The context chooses one of the two sets of factors. */
static void chooses_factors(void **state)
{
    (void)state;
    for (uint32_t is_long = 0; is_long < 2; is_long++) {
        struct build b;
        struct bound o;
        struct fault fault = { 0 };
        build_fused(&b, "phi3", true, 1);
        build_u32(&b, "phi3.rope.scaling.original_context_length", is_long ? 8 : 16);
        build_f32(&b, "phi3.rope.scaling.attn_factor", 1.25f);
        build_vector(&b, "rope_factors_short.weight", short_factors, 2);
        build_vector(&b, "rope_factors_long.weight", long_factors, 2);
        assert_int_equal(bind_built(&b, &o, &fault), STATUS_OK);
        assert_int_equal(o.spec.rope_scaling.kind, ROPE_SCALING_LONG);
        assert_true(o.spec.rope_scaling.attention_factor == 1.25f);
        assert_true(o.spec.rope_scaling.is_long == (is_long == 1));
        assert_true(at(&o.model.rope_factors, 0, 1) == (is_long ? 4 : 2));
        close_bound(&o);
    }
}

static void refuses_factors(void **state)
{
    (void)state;
    static const float wrong[] = { 1, 0, 1, -1, 1, INFINITY, 1, NAN };
    for (size_t i = 0; i < COUNT_OF(wrong); i += 2) {
        struct build b;
        struct bound o;
        struct fault fault = { 0 };
        build_fused(&b, "phi3", true, 1);
        build_vector(&b, "rope_factors_short.weight", wrong + i, 2);
        build_vector(&b, "rope_factors_long.weight", long_factors, 2);
        assert_refused(bind_built(&b, &o, &fault), STATUS_BAD_INPUT, &fault, "holds the factor");
        close_bound(&o);
    }
    struct build b;
    struct bound o;
    struct fault fault = { 0 };
    build_fused(&b, "phi3", true, 1);
    build_vector(&b, "rope_factors_long.weight", long_factors, 2);
    assert_refused(bind_built(&b, &o, &fault), STATUS_BAD_INPUT, &fault,
                   "rope_factors_short.weight is missing");
    close_bound(&o);
    build_fused(&b, "phi3", true, 1);
    build_vector(&b, "rope_factors_short.weight", short_factors, 1);
    build_vector(&b, "rope_factors_long.weight", long_factors, 2);
    assert_refused(bind_built(&b, &o, &fault), STATUS_BAD_INPUT, &fault, "has shape (1)");
    close_bound(&o);
}

static const struct {
    const char *name;
    int rows, columns;
} conv_rows[] = {
    { "wte.weight", 6, 8 },
    { "wpe.weight", 16, 8 },
    { "ln_f.weight", 8, 0 },
    { "ln_f.bias", 8, 0 },
    { "h.0.ln_1.weight", 8, 0 },
    { "h.0.ln_1.bias", 8, 0 },
    { "h.0.attn.c_attn.weight", 8, 24 },
    { "h.0.attn.c_attn.bias", 24, 0 },
    { "h.0.attn.c_proj.weight", 8, 8 },
    { "h.0.attn.c_proj.bias", 8, 0 },
    { "h.0.ln_2.weight", 8, 0 },
    { "h.0.ln_2.bias", 8, 0 },
    { "h.0.mlp.c_fc.weight", 8, 32 },
    { "h.0.mlp.c_fc.bias", 32, 0 },
    { "h.0.mlp.c_proj.weight", 32, 8 },
    { "h.0.mlp.c_proj.bias", 8, 0 },
    { "h.0.attn.bias", 1, 16 },
};

/* The same numbers stored the other way round, as Conv1D does. */
static void cuts_columns(void **state)
{
    (void)state;
    struct str header;
    struct weights_safetensors set;
    struct weights_json config;
    struct model_spec spec;
    struct model_weights model;
    const struct weights_architecture *architecture;
    struct fault fault = { 0 };
    int offset = 0;
    size_t n;
    str_init(&header);
    for (size_t i = 0; i < COUNT_OF(conv_rows); i++) {
        int count = conv_rows[i].rows * (conv_rows[i].columns > 0 ? conv_rows[i].columns : 1);
        str_printf(&header, "%s\"%s\":{\"dtype\":\"F32\",\"shape\":[%d", i == 0 ? "{" : ",",
                   conv_rows[i].name, conv_rows[i].rows);
        if (conv_rows[i].columns > 0)
            str_printf(&header, ",%d", conv_rows[i].columns);
        str_printf(&header, "],\"data_offsets\":[%d,%d]}", offset, offset + 4 * count);
        offset += 4 * count;
    }
    str_add_text(&header, "}");
    while (header.n % 8 != 0)
        str_add_char(&header, ' ');
    unsigned char *bytes = build_safetensors(header.at, (size_t)offset, &n);
    assert_int_equal(weights_safetensors_read(&set, bytes, n, &fault), STATUS_OK);
    const char *text = "{\"model_type\":\"gpt2\",\"n_layer\":1,\"n_embd\":8,\"n_head\":2,"
                       "\"n_positions\":16,\"vocab_size\":6}";
    assert_int_equal(
        weights_json_parse(&config, mem_copy_text(text), strlen(text), "config.json", &fault),
        STATUS_OK);
    assert_int_equal(weights_hf_spec(config.nodes, &spec, &architecture, &fault), STATUS_OK);
    assert_int_equal(weights_bind(architecture, true, &spec, &set.catalog, &model, &fault),
                     STATUS_OK);
    const struct layer_weights *layer = &model.layers[0];
    const unsigned char *whole = weights_catalog_find(&set.catalog, conv_rows[6].name)->data;
    assert_true(layer->k.is_transposed && layer->k.n_rows == 8 && layer->k.n_columns == 8);
    assert_int_equal(layer->k.row_bytes, 4 * 24);
    assert_ptr_equal(layer->q.data, whole);
    assert_ptr_equal(layer->k.data, whole + 4 * 8);
    assert_ptr_equal(layer->v.data, whole + 4 * 16);
    assert_true(layer->up.is_transposed && layer->up.n_rows == 32 && layer->up.n_columns == 8);
    assert_true(layer->down.n_rows == 8 && layer->down.n_columns == 32);
    weights_json_close(&config);
    weights_safetensors_close(&set);
    mem_give(bytes);
    str_free(&header);
}

static void names_what_is_missing(void **state)
{
    (void)state;
    static const char *const names[] = { "output_norm.weight", "blk.0.attn_q.weight",
                                         "blk.0.ffn_down.weight", "blk.0.ffn_norm.weight" };
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        struct build b;
        struct bound o;
        struct fault fault = { 0 };
        build_init(&b);
        b.without = names[i];
        build_llama_values(&b);
        build_llama_tensors(&b);
        assert_refused(bind_built(&b, &o, &fault), STATUS_BAD_INPUT, &fault, names[i]);
        assert_non_null(strstr(fault.text, "is missing"));
        close_bound(&o);
    }
}

static const struct {
    const char *name;
    int n_columns, n_rows;
} layer_rows[] = {
    { "attn_norm.weight", 16, 0 }, { "attn_q.weight", 16, 16 },      { "attn_k.weight", 16, 8 },
    { "attn_v.weight", 16, 8 },    { "attn_output.weight", 16, 16 }, { "ffn_norm.weight", 16, 0 },
    { "ffn_gate.weight", 16, 24 }, { "ffn_up.weight", 16, 24 },      { "ffn_down.weight", 24, 16 },
};
static const struct {
    const char *name;
    int n_columns;
} bias_rows[] = {
    { "attn_q.bias", 16 },      { "attn_k.bias", 8 },    { "attn_v.bias", 8 },
    { "attn_output.bias", 16 }, { "ffn_gate.bias", 24 }, { "ffn_up.bias", 24 },
    { "ffn_down.bias", 16 },
};

static void build_layer_row(struct build *b, int layer, const char *rest, int n_columns, int n_rows)
{
    char name[64];
    snprintf(name, sizeof(name), "blk.%d.%s", layer, rest);
    build_tensor(b, name, (uint64_t)n_columns, (uint64_t)n_rows);
}

/* Builds three layers, with this bias in those that have their bit set. */
static void bind_biased(size_t bias, unsigned layers, const char *missing)
{
    struct build b;
    struct bound o;
    struct fault fault = { 0 };
    build_init(&b);
    b.without = "llama.block_count";
    build_llama_values(&b);
    b.without = NULL;
    build_u32(&b, "llama.block_count", 3);
    build_llama_tensors(&b);
    for (int layer = 0; layer < 3; layer++) {
        for (size_t i = 0; i < COUNT_OF(layer_rows) && layer > 0; i++)
            build_layer_row(&b, layer, layer_rows[i].name, layer_rows[i].n_columns,
                            layer_rows[i].n_rows);
        if (layers & 1u << layer)
            build_layer_row(&b, layer, bias_rows[bias].name, bias_rows[bias].n_columns, 0);
    }
    enum status status = bind_built(&b, &o, &fault);
    if (missing != NULL)
        assert_refused(status, STATUS_BAD_INPUT, &fault, missing);
    else
        assert_int_equal(status, STATUS_OK);
    close_bound(&o);
}

static void has_a_bias_in_all_layers_or_in_none(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(bias_rows); i++) {
        bind_biased(i, 0, NULL);
        bind_biased(i, 7, NULL);
        for (unsigned layers = 1; layers < 7; layers++) {
            char missing[96];
            int first = layers & 1 ? layers & 2 ? 2 : 1 : 0;
            snprintf(missing, sizeof(missing), "tensor blk.%d.%s is missing", first,
                     bias_rows[i].name);
            bind_biased(i, layers, missing);
        }
    }
}

static void add_shape(struct build *b)
{
    build_tensor(b, "blk.0.attn_k.weight", BUILD_WIDTH, 7);
}
static void add_swapped(struct build *b)
{
    build_tensor(b, "blk.0.attn_k.weight", 8, BUILD_WIDTH);
}
static void add_three(struct build *b)
{
    uint64_t dims[3] = { BUILD_WIDTH, 4, 2 };
    build_row(b, "blk.0.attn_k.weight", 0, 3, dims, 0);
}
static void add_iq(struct build *b)
{
    uint64_t dims[2] = { BUILD_WIDTH, 8 };
    build_row(b, "blk.0.attn_k.weight", 21, 2, dims, 0);
}
static void add_unknown_type(struct build *b)
{
    uint64_t dims[2] = { BUILD_WIDTH, 8 };
    build_row(b, "blk.0.attn_k.weight", 4711, 2, dims, 0);
}
static void add_stranger(struct build *b)
{
    build_tensor(b, "blk.0.attn_k.weight", BUILD_WIDTH, 8);
    build_tensor(b, "blk.0.ffn_gate_inp.weight", 4, 4);
}
static void add_second_layer(struct build *b)
{
    build_tensor(b, "blk.0.attn_k.weight", BUILD_WIDTH, 8);
    build_tensor(b, "blk.1.attn_k.weight", BUILD_WIDTH, 8);
}

static void refuses_by_name(void **state)
{
    (void)state;
    static const struct {
        void (*add)(struct build *);
        enum status status;
        const char *words;
    } rows[] = {
        { add_shape, STATUS_BAD_INPUT, "attn_k.weight has shape (7, 16), expected (8, 16)" },
        { add_swapped, STATUS_BAD_INPUT, "has shape (16, 8), expected (8, 16)" },
        { add_three, STATUS_BAD_INPUT, "has shape (2, 4, 16), expected (8, 16)" },
        { add_iq, STATUS_UNSUPPORTED, "attn_k.weight has type IQ3_S" },
        { add_unknown_type, STATUS_UNSUPPORTED, "attn_k.weight has type an unknown type" },
        { add_stranger, STATUS_UNSUPPORTED, "ffn_gate_inp.weight is not part of" },
        { add_second_layer, STATUS_UNSUPPORTED, "blk.1.attn_k.weight is not part of" },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct build b;
        struct bound o;
        struct fault fault = { 0 };
        build_init(&b);
        b.without = "blk.0.attn_k.weight";
        build_llama_values(&b);
        build_llama_tensors(&b);
        b.without = NULL;
        rows[i].add(&b);
        assert_refused(bind_built(&b, &o, &fault), rows[i].status, &fault, rows[i].words);
        close_bound(&o);
    }
}

/* Builds a glm4moe of one layer without experts, with or without norms of queries and of keys. */
static enum status bind_glm(bool has_q_norm, bool has_k_norm, struct fault *fault)
{
    static const struct {
        const char *key;
        uint32_t value;
    } keys[] = {
        { "block_count", 1 },
        { "embedding_length", 16 },
        { "feed_forward_length", 24 },
        { "context_length", 16 },
        { "attention.head_count", 4 },
        { "attention.head_count_kv", 2 },
        { "expert_count", 2 },
        { "expert_used_count", 1 },
        { "expert_feed_forward_length", 8 },
        { "leading_dense_block_count", 1 },
    };
    struct build b;
    struct bound o;
    char key[64];
    build_init(&b);
    build_text(&b, "general.architecture", "glm4moe");
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        snprintf(key, sizeof(key), "glm4moe.%s", keys[i].key);
        build_u32(&b, key, keys[i].value);
    }
    build_f32(&b, "glm4moe.attention.layer_norm_rms_epsilon", 1e-5f);
    build_tensor(&b, "token_embd.weight", 16, 6);
    build_tensor(&b, "output_norm.weight", 16, 0);
    for (size_t i = 0; i < COUNT_OF(layer_rows); i++) {
        const char *name = layer_rows[i].name;
        build_layer_row(&b, 0,
                        strcmp(name, "ffn_norm.weight") == 0 ? "post_attention_norm.weight" : name,
                        layer_rows[i].n_columns, layer_rows[i].n_rows);
    }
    if (has_q_norm)
        build_layer_row(&b, 0, "attn_q_norm.weight", 4, 0);
    if (has_k_norm)
        build_layer_row(&b, 0, "attn_k_norm.weight", 4, 0);
    enum status status = bind_built(&b, &o, fault);
    close_bound(&o);
    return status;
}

static void has_both_norms_of_heads_or_none(void **state)
{
    (void)state;
    struct fault fault = { 0 };
    assert_int_equal(bind_glm(true, true, &fault), STATUS_OK);
    assert_int_equal(bind_glm(false, false, &fault), STATUS_OK);
    assert_refused(bind_glm(true, false, &fault), STATUS_UNSUPPORTED, &fault, "queries or keys");
    assert_refused(bind_glm(false, true, &fault), STATUS_UNSUPPORTED, &fault, "queries or keys");
}

/* Binds the golden gpt-oss, whose experts are in MXFP4, with one more tensor in each layer. */
static enum status bind_gpt_oss(const char *name, const char *shape, size_t n_data,
                                struct fault *fault)
{
    char path[1024];
    struct str header;
    struct weights_safetensors set;
    struct weights_json config;
    struct model_spec spec;
    struct model_weights model;
    const struct weights_architecture *architecture;
    struct file_map file;
    uint64_t n_header;
    size_t n;
    snprintf(path, sizeof(path), "%s/tests/golden/data/gpt_oss_mxfp4/model.safetensors",
             source_root);
    assert_int_equal(file_map_open(&file, path, fault), STATUS_OK);
    memcpy(&n_header, file.at, sizeof(n_header));
    const char *old = (const char *)file.at + 8;
    size_t n_old = file.n_bytes - 8 - n_header;
    str_init(&header);
    str_add_char(&header, '{');
    size_t end = n_old;
    for (int layer = 0; layer < 3; layer++, end += n_data)
        str_printf(&header,
                   "\"model.layers.%d.mlp.experts.%s\":{\"dtype\":\"F32\",\"shape\":%s,"
                   "\"data_offsets\":[%zu,%zu]},",
                   layer, name, shape, end, end + n_data);
    str_add(&header, old + 1, n_header - 1);
    while (header.n % 8 != 0)
        str_add_char(&header, ' ');
    unsigned char *bytes = build_safetensors(header.at, end, &n);
    assert_int_equal(weights_safetensors_read(&set, bytes, n, fault), STATUS_OK);
    snprintf(path, sizeof(path), "%s/tests/golden/data/gpt_oss_mxfp4/config.json", source_root);
    assert_int_equal(weights_json_open(&config, path, 1 << 16, "config.json", fault), STATUS_OK);
    assert_int_equal(weights_hf_spec(config.nodes, &spec, &architecture, fault), STATUS_OK);
    enum status status = weights_bind(architecture, true, &spec, &set.catalog, &model, fault);
    weights_json_close(&config);
    weights_safetensors_close(&set);
    file_map_close(&file);
    mem_give(bytes);
    str_free(&header);
    return status;
}

/* One of two tensors with the same weights would be ignored. */
static void refuses_weights_that_come_twice(void **state)
{
    (void)state;
    struct fault fault = { 0 };
    assert_refused(bind_gpt_oss("down_proj", "[6,32,64]", 4 * 6 * 32 * 64, &fault),
                   STATUS_UNSUPPORTED, &fault, "weights that another tensor has too");
    assert_refused(bind_gpt_oss("gate_up_proj", "[6,64,64]", 4 * 6 * 64 * 64, &fault),
                   STATUS_UNSUPPORTED, &fault, "weights that another tensor has too");
}

int main(int argc, char **argv)
{
    if (argc > 1)
        source_root = argv[1];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(binds_llama),
        cmocka_unit_test(cuts_rows),
        cmocka_unit_test(chooses_factors),
        cmocka_unit_test(refuses_factors),
        cmocka_unit_test(cuts_columns),
        cmocka_unit_test(names_what_is_missing),
        cmocka_unit_test(has_a_bias_in_all_layers_or_in_none),
        cmocka_unit_test(has_both_norms_of_heads_or_none),
        cmocka_unit_test(refuses_by_name),
        cmocka_unit_test(refuses_weights_that_come_twice),
    };
    return cmocka_run_group_tests_name("weights/bind", tests, NULL, NULL);
}
