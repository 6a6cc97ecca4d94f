/* The text part of a model that sees pictures. */
#include "weights/refused.h"
#include "base/mem.h"
#include "weights/hf_core.h"

static enum status core_of(const char *text, bool *is_part, char type[32], struct fault *fault)
{
    struct weights_json json;
    struct weights_hf_core core;
    const char *name = "";
    assert_int_equal(
        weights_json_parse(&json, mem_copy_text(text), strlen(text), "config.json", fault),
        STATUS_OK);
    enum status status = weights_hf_core(json.nodes, &core, fault);
    if (status == STATUS_OK) {
        const struct weights_json_from from = { core.config, "config.json", fault };
        assert_int_equal(weights_json_text(&from, "model_type", &name), STATUS_OK);
        *is_part = core.is_part;
    }
    snprintf(type, 32, "%s", name);
    weights_json_close(&json);
    return status;
}

#define TEXT "\"text_config\":{\"model_type\":\"gemma3_text\"}"

static void finds_the_text_part(void **state)
{
    (void)state;
    struct fault fault = { 0 };
    char type[32];
    bool is_part;
    assert_int_equal(core_of("{\"model_type\":\"gemma3\"," TEXT "}", &is_part, type, &fault),
                     STATUS_OK);
    assert_true(is_part);
    assert_string_equal(type, "gemma3_text");
    assert_int_equal(core_of("{\"model_type\":\"llama\"," TEXT "}", &is_part, type, &fault),
                     STATUS_OK);
    assert_true(!is_part);
    assert_string_equal(type, "llama");
}

static void refuses_by_name(void **state)
{
    (void)state;
    static const struct {
        const char *text, *words;
    } rows[] = {
        { "{\"model_type\":\"gemma3\"}", "no text_config" },
        { "{\"model_type\":\"gemma3\",\"text_config\":[]}", "no text_config" },
        { "{\"model_type\":\"gemma3\",\"text_config\":{\"model_type\":\"llama\"}}",
          "no text_config" },
        { "{\"model_type\":\"gemma3\",\"tie_word_embeddings\":false," TEXT "}",
          "tie_word_embeddings is false" },
        { "{\"model_type\":\"gemma3\",\"quantization_config\":{}," TEXT "}",
          "quantization_config" },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct fault fault = { 0 };
        char type[32];
        bool is_part;
        assert_refused(core_of(rows[i].text, &is_part, type, &fault), STATUS_UNSUPPORTED, &fault,
                       rows[i].words);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_the_text_part),
        cmocka_unit_test(refuses_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
