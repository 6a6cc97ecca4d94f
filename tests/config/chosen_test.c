/* A configuration's policies: those of the preset, replaced by its own settings, within the limits
 * of the executor. */
#include "../test.h"
#include "config/chosen.h"
#include <string.h>

static struct chosen chosen_by(const char *text)
{
    static struct config config;
    struct chosen chosen;
    struct fault fault;
    config_init(&config);
    assert_int_equal(config_parse(&config, "c", text, strlen(text), &fault), STATUS_OK);
    chosen_of(&config, &chosen);
    config_free(&config);
    return chosen;
}

static void presets_and_what_replaces_them(void **state)
{
    (void)state;
    struct chosen usual = chosen_by(""), mux = chosen_by("preset: muxserve\n");
    assert_string_equal(usual.policy->name, "value");
    assert_true(usual.schedule.promotes_slack && usual.kv_kind == KV_MERGED);
    assert_string_equal(mux.policy->name, "adbs");
    assert_string_equal(mux.router->name, "static");
    assert_int_equal(mux.kv_kind, KV_HEADS);
    struct chosen bins = chosen_by("preset: s3\n"); /* a complete baseline */
    assert_string_equal(bins.policy->name, "cohort");
    assert_string_equal(bins.router->name, "s3");
    assert_string_equal(bins.predictor->name, "bucket");
    struct chosen own = chosen_by("preset: muxserve\npolicy: rr\nrouter: jsq\nkv: private\n"
                                  "kv_type: f32\nthresholds: [starve_factor=7]\n");
    assert_string_equal(own.policy->name, "rr");
    assert_string_equal(own.router->name, "jsq");
    assert_true(own.kv_kind == KV_PRIVATE);
    assert_true(own.schedule.starve_factor > 6.9 && own.schedule.starve_factor < 7.1);
}

static void a_model_may_have_its_own_type_of_kv(void **state)
{
    (void)state;
    static const char text[] =
        "kv_type: q8_0\nmodels: {a: {path: x}, b: {path: y, kv_type: f32}}\n";
    struct config config;
    struct fault fault;
    config_init(&config);
    const struct config_model usual = { .path = "x" };
    assert_int_equal(chosen_kv_dtype(&config, &usual), DTYPE_F16);
    assert_int_equal(config_parse(&config, "t", text, strlen(text), &fault), STATUS_OK);
    assert_int_equal(chosen_kv_dtype(&config, &config.models[0]), DTYPE_Q8_0);
    assert_int_equal(chosen_kv_dtype(&config, &config.models[1]), DTYPE_F32);
    assert_int_equal(config_set(&config, "kv-type", "f16", &fault), STATUS_OK);
    assert_int_equal(chosen_kv_dtype(&config, &config.models[1]), DTYPE_F16);
    config_free(&config);
}

static void a_model_may_have_its_own_speculation(void **state)
{
    (void)state;
    static const char text[] =
        "speculation: lookup\nmodels: {a: {path: x}, b: {path: y, speculation: off}}\n";
    struct config config;
    struct fault fault;
    config_init(&config);
    const struct config_model usual = { .path = "x" };
    assert_int_equal(chosen_speculation(&config, &usual), SPECULATION_OFF);
    assert_int_equal(config_parse(&config, "t", text, strlen(text), &fault), STATUS_OK);
    assert_int_equal(chosen_speculation(&config, &config.models[0]), SPECULATION_LOOKUP);
    assert_int_equal(chosen_speculation(&config, &config.models[1]), SPECULATION_OFF);
    assert_int_equal(config_set(&config, "speculation", "off", &fault), STATUS_OK);
    assert_int_equal(chosen_speculation(&config, &config.models[0]), SPECULATION_OFF);
    config_free(&config);
}

static void a_model_may_have_its_own_template(void **state)
{
    (void)state;
    const char *text = "default_chat_template: chatml\ntemplate_time: 2026-01-31\nmodels:\n"
                       "  a:\n    path: x\n    chat_template: a.jinja\n"
                       "  b:\n    path: y\n";
    struct config config;
    struct fault fault;
    config_init(&config);
    assert_int_equal(config_parse(&config, "t", text, strlen(text), &fault), STATUS_OK);
    struct model_template_options a = chosen_template(&config, &config.models[0]);
    assert_string_equal(a.wanted, "a.jinja");
    assert_string_equal(a.fallback, "chatml");
    assert_string_equal(a.time, "2026-01-31");
    assert_null(chosen_template(&config, &config.models[1]).wanted);
    config_free(&config);
}

static void batches_are_bounded(void **state)
{
    (void)state;
    struct chosen small = chosen_by("preset: scls\nmax_batch: 3\nmax_batch_tokens: 64\n"
                                    "chunk_tokens: 100\n");
    assert_int_equal(small.schedule.n_seqs_max, 3);
    assert_int_equal(small.schedule.static_n_seqs_max, 3);
    assert_int_equal(small.route.n_batch, 3);
    assert_int_equal(small.schedule.chunk_tokens, 64);
    assert_int_equal(small.schedule.n_rounds_max, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(presets_and_what_replaces_them),
        cmocka_unit_test(a_model_may_have_its_own_type_of_kv),
        cmocka_unit_test(a_model_may_have_its_own_speculation),
        cmocka_unit_test(a_model_may_have_its_own_template),
        cmocka_unit_test(batches_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
