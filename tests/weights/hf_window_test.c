/* Windows per family and layer, as the newest transformers applies them, and refusals. */
#include "weights/refused.h"
#include "base/mem.h"
#include "weights/hf_spec.h"

static enum status spec_of(const char *text, struct model_spec *spec, struct fault *fault)
{
    struct weights_json json;
    const struct weights_architecture *architecture;
    assert_int_equal(
        weights_json_parse(&json, mem_copy_text(text), strlen(text), "config.json", fault),
        STATUS_OK);
    enum status status = weights_hf_spec(json.nodes, spec, &architecture, fault);
    weights_json_close(&json);
    return status;
}

#define KIN(family, more)                                                                          \
    "{\"model_type\":\"" family "\",\"num_hidden_layers\":4,\"hidden_size\":64,"                   \
    "\"num_attention_heads\":4,\"num_key_value_heads\":4,\"intermediate_size\":96,"                \
    "\"max_position_embeddings\":256,\"vocab_size\":512" more "}"
#define FULL    "\"full_attention\""
#define SLIDING "\"sliding_attention\""
#define MIXED   ",\"layer_types\":[" FULL "," SLIDING "," FULL "," SLIDING "]"
#define ALL(of) ",\"layer_types\":[" of "," of "," of "," of "]"

/* Letters of layers: f sees all positions, s only those in the window. */
static void reads_windows(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int window;
        const char *layers;
    } rows[] = {
        { KIN("llama", ""), 0, "ffff" },
        { KIN("llama", ",\"sliding_window\":null"), 0, "ffff" },
        { KIN("llama", ",\"sliding_window\":256"), 0, "ffff" }, /* the whole context */
        { KIN("llama", ALL(FULL)), 0, "ffff" },
        { KIN("mistral", ",\"sliding_window\":128"), 128, "ssss" },
        { KIN("mistral", ",\"sliding_window\":null"), 0, "ffff" },
        { KIN("mistral", ""), 4096, "ssss" },
        { KIN("mistral", ",\"sliding_window\":64" ALL(SLIDING)), 64, "ssss" },
        { KIN("mistral", ",\"sliding_window\":64,\"max_window_layers\":2"), 64, "ssss" },
        { KIN("mistral", ",\"sliding_window\":null,\"use_sliding_window\":false"), 0, "ffff" },
        { KIN("phi3", ""), 0, "ffff" },
        { KIN("phi3", ",\"sliding_window\":31"), 31, "ssss" },
        { KIN("qwen2", ",\"sliding_window\":64,\"max_window_layers\":0"), 0, "ffff" },
        { KIN("qwen2", ",\"sliding_window\":64,\"use_sliding_window\":true"), 0, "ffff" },
        { KIN("qwen2", ",\"sliding_window\":null,\"use_sliding_window\":true,"
                       "\"max_window_layers\":0"),
          0, "ffff" },
        { KIN("qwen2", ",\"sliding_window\":64,\"use_sliding_window\":true,"
                       "\"max_window_layers\":0"),
          64, "ssss" },
        { KIN("qwen2", ",\"sliding_window\":64,\"use_sliding_window\":true,"
                       "\"max_window_layers\":3"),
          64, "fffs" },
        { KIN("qwen3", ",\"sliding_window\":64,\"use_sliding_window\":true,"
                       "\"max_window_layers\":0" MIXED),
          64, "fsfs" },
        { KIN("qwen2", ",\"use_sliding_window\":true,\"max_window_layers\":1"), 4096, "fsss" },
        { KIN("qwen2", ALL(FULL)), 0, "ffff" },
        { KIN("gemma3_text", ""), 4096, "ssss" }, /* the sixth layer is not there */
        { KIN("gemma3_text", ",\"sliding_window\":16,\"sliding_window_pattern\":2"), 16, "sfsf" },
        { KIN("gemma3_text", ",\"sliding_window\":16,\"_sliding_window_pattern\":2"), 16, "ssss" },
        { KIN("gemma3_text", ",\"sliding_window\":16,\"sliding_window_pattern\":2" MIXED), 16,
          "fsfs" },
        { KIN("gemma3_text", ",\"sliding_window\":null,\"sliding_window_pattern\":1"), 0, "ffff" },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct model_spec spec;
        struct fault fault = { 0 };
        if (spec_of(rows[i].text, &spec, &fault) != STATUS_OK)
            fail_msg("%s: %s", rows[i].text, fault.text);
        assert_int_equal(spec.window, rows[i].window);
        for (int layer = 0; layer < 4; layer++)
            assert_int_equal(model_spec_window(&spec, layer),
                             rows[i].layers[layer] == 's' ? rows[i].window : 0);
        bool is_mixed = strchr(rows[i].layers, 'f') != NULL && strchr(rows[i].layers, 's') != NULL;
        assert_int_equal(spec.kv_groups[0].window, is_mixed ? 0 : rows[i].window);
    }
}

/* Layers of gemma3 rotate by bases of their own; those of qwen by one. */
static void rotates_by_layer(void **state)
{
    (void)state;
    struct model_spec spec;
    struct fault fault = { 0 };
    assert_int_equal(
        spec_of(KIN("qwen2",
                    ",\"sliding_window\":64,\"use_sliding_window\":true,\"rope_theta\":7e4,"
                    "\"max_window_layers\":2,\"rope_scaling\":{\"type\":\"linear\","
                    "\"factor\":2}"),
                &spec, &fault),
        STATUS_OK);
    assert_true(spec.n_full_layers == 2 && spec.rope_base == 7e4f && spec.rope_base_full == 7e4f);
    assert_true(spec.rope_scaling.factor == 2 && spec.rope_scaling_full.factor == 2);
    assert_int_equal(spec_of(KIN("gemma3_text", MIXED
                                 ",\"rope_parameters\":{\"full_attention\":{\"rope_theta\":7e5,"
                                 "\"rope_type\":\"default\"},\"sliding_attention\":{"
                                 "\"rope_theta\":3e4,\"rope_type\":\"default\"}}"),
                             &spec, &fault),
                     STATUS_OK);
    assert_true(spec.is_full_layer[0] && !spec.is_full_layer[1]);
    assert_true(spec.rope_base == 3e4f && spec.rope_base_full == 7e5f);
}

static void refuses_by_name(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum status status;
        const char *words;
    } rows[] = {
        { KIN("llama", ",\"sliding_window\":64"), STATUS_UNSUPPORTED,
          "sliding_window is 64, and llama has no window" },
        { KIN("gemma", ",\"sliding_window\":64"), STATUS_UNSUPPORTED, "sliding_window is 64" },
        { KIN("llama", MIXED), STATUS_UNSUPPORTED,
          "layer_types lists 2 of 4 layers with a window" },
        { KIN("llama", ALL(SLIDING)), STATUS_UNSUPPORTED, "layer_types lists 4 of 4" },
        { KIN("llama", ",\"layer_types\":[" FULL "]"), STATUS_BAD_INPUT,
          "layer_types has 1 elements for 4 layers" },
        { KIN("llama", ALL("\"linear_attention\"")), STATUS_UNSUPPORTED,
          "layer_types lists \"linear_attention\"" },
        { KIN("llama", ALL("7")), STATUS_UNSUPPORTED, "layer_types lists 7" },
        { KIN("mistral", ",\"sliding_window\":64" MIXED), STATUS_UNSUPPORTED,
          "layer_types lists 2 of 4 layers" },
        { KIN("mistral", ",\"sliding_window\":64" ALL(FULL)), STATUS_UNSUPPORTED,
          "layer_types lists 0 of 4 layers" },
        { KIN("mistral", ",\"sliding_window\":null" ALL(SLIDING)), STATUS_UNSUPPORTED,
          "layer_types lists 4 of 4 layers" },
        { KIN("mistral", ",\"sliding_window\":64,\"use_sliding_window\":false"), STATUS_UNSUPPORTED,
          "use_sliding_window is false and sliding_window is 64" },
        { KIN("mistral", ",\"sliding_window\":0"), STATUS_UNSUPPORTED, "sliding_window is 0" },
        { KIN("mistral", ",\"sliding_window\":-1"), STATUS_BAD_INPUT, "sliding_window is -1" },
        { KIN("qwen2", ",\"sliding_window\":64" MIXED), STATUS_UNSUPPORTED,
          "use_sliding_window is not true" },
        { KIN("qwen2", ",\"sliding_window\":null,\"use_sliding_window\":true" MIXED),
          STATUS_UNSUPPORTED, "sliding_window is null" },
        { KIN("gemma3_text", ",\"sliding_window\":null"), STATUS_UNSUPPORTED,
          "sliding_window is null" },
        { KIN("gemma3_text", ",\"sliding_window_pattern\":0"), STATUS_BAD_INPUT,
          "sliding_window_pattern is 0" },
        { KIN("gemma3_text", ALL("\"chunked_attention\"")), STATUS_UNSUPPORTED,
          "chunked_attention" },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct model_spec spec;
        struct fault fault = { 0 };
        assert_refused(spec_of(rows[i].text, &spec, &fault), rows[i].status, &fault, rows[i].words);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_windows),
        cmocka_unit_test(rotates_by_layer),
        cmocka_unit_test(refuses_by_name),
    };
    return cmocka_run_group_tests_name("weights/hf_window", tests, NULL, NULL);
}
