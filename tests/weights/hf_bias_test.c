/* Compares the biases of a file with those that its config.json requires. */
#include "weights/refused.h"
#include "base/mem.h"
#include "weights/hf_bias.h"

/* Letters of the biases that are there: q k v o g u d. */
static enum status checked(const char *family, const char *config, const char *biases,
                           struct fault *fault)
{
    struct weights_json json;
    struct layer_weights layer = { 0 };
    struct model_weights model = { .layers = &layer };
    const struct {
        char letter;
        struct tensor *bias;
    } rows[] = {
        { 'q', &layer.q_bias },    { 'k', &layer.k_bias },    { 'v', &layer.v_bias },
        { 'o', &layer.o_bias },    { 'g', &layer.gate_bias }, { 'u', &layer.up_bias },
        { 'd', &layer.down_bias },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (strchr(biases, rows[i].letter) != NULL)
            rows[i].bias->data = "x";
    assert_int_equal(
        weights_json_parse(&json, mem_copy_text(config), strlen(config), "config.json", fault),
        STATUS_OK);
    struct weights_json_from from = { json.nodes, "config.json", fault };
    enum status status = weights_hf_bias_check(&from, family, &model);
    weights_json_close(&json);
    return status;
}

static void accepts_what_config_says(void **state)
{
    (void)state;
    static const struct {
        const char *family, *config, *biases;
    } rows[] = {
        { "llama", "{}", "" },
        { "llama", "{\"attention_bias\":true}", "qkvo" },
        { "llama", "{\"attention_bias\":false,\"mlp_bias\":true}", "gud" },
        { "mistral", "{}", "" },
        { "qwen2", "{}", "qkv" },
        { "qwen3", "{\"attention_bias\":true}", "qkvo" },
        { "phi3", "{}", "" },
        { "gemma", "{\"attention_bias\":true}", "qkvo" },
        { "gpt2", "{}", "qkvoud" },
        { "opt", "{}", "qkvoud" },
        { "opt", "{\"enable_bias\":false}", "" },
        { "chatglm", "{}", "" },
        { "chatglm", "{\"add_qkv_bias\":true}", "qkv" },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct fault fault = { 0 };
        if (checked(rows[i].family, rows[i].config, rows[i].biases, &fault) != STATUS_OK)
            fail_msg("%s %s: %s", rows[i].family, rows[i].config, fault.text);
    }
}

static void refuses_by_name(void **state)
{
    (void)state;
    static const struct {
        const char *family, *config, *biases, *words;
    } rows[] = {
        { "llama", "{}", "qkvo", "attention_bias is false, but q_bias is there in the file" },
        { "llama", "{\"attention_bias\":true}", "qkv",
          "attention_bias is true, but o_bias is missing in the file" },
        { "llama", "{\"mlp_bias\":true}", "", "mlp_bias is true, but gate_bias is missing" },
        { "mistral", "{}", "qkv", "q_bias is there, and mistral has none" },
        { "qwen2", "{}", "", "q_bias is missing, and qwen2 has one" },
        { "qwen2", "{}", "qkvo", "o_bias is there, and qwen2 has none" },
        { "opt", "{\"enable_bias\":false}", "d", "enable_bias is false, but down_bias is there" },
        { "opt", "{}", "qkvou", "enable_bias is true, but down_bias is missing" },
        { "chatglm", "{}", "qkv", "add_qkv_bias is false, but q_bias is there" },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct fault fault = { 0 };
        assert_refused(checked(rows[i].family, rows[i].config, rows[i].biases, &fault),
                       STATUS_UNSUPPORTED, &fault, rows[i].words);
    }
    struct fault fault = { 0 };
    assert_refused(checked("llama", "{\"mlp_bias\":3}", "", &fault), STATUS_BAD_INPUT, &fault,
                   "mlp_bias isn't true or false (it is 3)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accepts_what_config_says),
        cmocka_unit_test(refuses_by_name),
    };
    return cmocka_run_group_tests_name("weights/hf_bias", tests, NULL, NULL);
}
