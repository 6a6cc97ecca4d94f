/* adapter_config.json: scales of modules, and the refusal of what would be ignored. */
#include "weights/refused.h"
#include "weights/adapter_config.h"

static char directory[64];

static int set_up(void **state)
{
    (void)state;
    snprintf(directory, sizeof(directory), "/tmp/shoal-adapter-test-XXXXXX");
    return mkdtemp(directory) != NULL ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    return rmdir(directory);
}

static enum status open_text(struct weights_adapter_config *config, const char *text,
                             struct fault *fault)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/adapter_config.json", directory);
    FILE *file = fopen(path, "wb");
    assert_true(file != NULL && fwrite(text, 1, strlen(text), file) == strlen(text));
    fclose(file);
    enum status status = weights_adapter_config_open(config, directory, fault);
    unlink(path);
    return status;
}

static void scales(void **state)
{
    static const struct {
        const char *text, *module;
        int32_t rank;
        float scale; /* 0: the rank is refused */
    } rows[] = {
        { "{\"peft_type\":\"LORA\"}", "a.q", 8, 1.0f },
        { "{\"r\":4,\"lora_alpha\":8}", "a.q", 4, 2.0f },
        { "{\"r\":4,\"lora_alpha\":8}", "a.q", 5, 0 },
        { "{\"r\":4,\"lora_alpha\":-3.5}", "a.q", 4, -0.875f },
        { "{\"r\":16,\"lora_alpha\":8,\"use_rslora\":true}", "a.q", 16, 2.0f },
        { "{\"r\":4,\"lora_alpha\":8,\"rank_pattern\":{\"q\":2}}", "layers.1.q", 2, 4.0f },
        { "{\"r\":4,\"lora_alpha\":8,\"rank_pattern\":{\"q\":2}}", "layers.1.xq", 4, 2.0f },
        { "{\"r\":4,\"lora_alpha\":8,\"rank_pattern\":{\"q\":2}}", "layers.1.q", 4, 0 },
        { "{\"r\":4,\"lora_alpha\":8,\"rank_pattern\":{\"1.q\":2,\"q\":3}}", "layers.1.q", 2,
          4.0f },
        { "{\"r\":4,\"lora_alpha\":8,\"alpha_pattern\":{\"layers.1.q\":2}}", "layers.1.q", 4,
          0.5f },
        { "{\"r\":4,\"lora_alpha\":8,\"alpha_pattern\":{\"layers.1.q\":2}}", "xlayers.1.q", 4,
          2.0f },
        { "{\"r\":1,\"lora_alpha\":1,\"modules_to_save\":null,\"use_dora\":false,\"corda_config\":{"
          "}"
          ",\"target_modules\":[\"q\"],\"new_key\":[]}",
          "q", 1, 1.0f },
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct weights_adapter_config config;
        struct fault fault = { 0 };
        float scale = 0;
        if (open_text(&config, rows[i].text, &fault) != STATUS_OK)
            fail_msg("%s: %s", rows[i].text, fault.text);
        enum status status =
            weights_adapter_config_scale(&config, rows[i].module, rows[i].rank, &scale, &fault);
        if (rows[i].scale == 0)
            assert_refused(status, STATUS_BAD_INPUT, &fault, "rank");
        else
            assert_true(status == STATUS_OK && scale == rows[i].scale);
        weights_adapter_config_close(&config);
    }
}

static void refusals(void **state)
{
    static const struct {
        const char *text;
        enum status status;
        const char *words;
    } rows[] = {
        { "[]", STATUS_BAD_INPUT, "isn't an object" },
        { "{", STATUS_BAD_INPUT, "adapter_config.json" },
        { "{\"peft_type\":\"IA3\"}", STATUS_UNSUPPORTED, "peft_type is \"IA3\"" },
        { "{\"bias\":\"lora_only\"}", STATUS_UNSUPPORTED, "bias" },
        { "{\"use_dora\":true}", STATUS_UNSUPPORTED, "use_dora" },
        { "{\"modules_to_save\":[\"lm_head\"]}", STATUS_UNSUPPORTED, "modules_to_save" },
        { "{\"lora_bias\":true}", STATUS_UNSUPPORTED, "lora_bias" },
        { "{\"new_key\":1}", STATUS_UNSUPPORTED, "new_key" },
        { "{\"init_lora_weights\":\"pissa_niter_4\"}", STATUS_UNSUPPORTED, "pissa_niter_4" },
        { "{\"r\":0}", STATUS_BAD_INPUT, "r " },
        { "{\"r\":257}", STATUS_BAD_INPUT, "r " },
        { "{\"r\":\"8\"}", STATUS_BAD_INPUT, "r " },
        { "{\"lora_alpha\":\"8\"}", STATUS_BAD_INPUT, "lora_alpha" },
        { "{\"lora_alpha\":1e300}", STATUS_BAD_INPUT, "lora_alpha" },
        { "{\"lora_alpha\":NaN}", STATUS_BAD_INPUT, "lora_alpha" },
        { "{\"rank_pattern\":[1]}", STATUS_BAD_INPUT, "rank_pattern" },
        { "{\"rank_pattern\":{\"q\":300}}", STATUS_BAD_INPUT, "rank_pattern" },
        { "{\"rank_pattern\":{\"\":3}}", STATUS_UNSUPPORTED, "rank_pattern" },
        { "{\"alpha_pattern\":{\"^q\":3}}", STATUS_UNSUPPORTED, "alpha_pattern" },
        { "{\"alpha_pattern\":{\"q\":true}}", STATUS_BAD_INPUT, "alpha_pattern" },
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct weights_adapter_config config;
        struct fault fault = { 0 };
        assert_refused(open_text(&config, rows[i].text, &fault), rows[i].status, &fault,
                       rows[i].words);
        weights_adapter_config_close(&config);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(scales), cmocka_unit_test(refusals) };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
