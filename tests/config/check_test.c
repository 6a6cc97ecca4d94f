/* Checks over several keys: each fault, with its sentence. */
#include "test.h"

#include "config/config.h"
#include "config/registry.h"

static void check(const char *text, const char *sentence)
{
    static struct config config; /* large */
    struct fault fault = { { 0 } };
    config_init(&config);
    assert_int_equal(config_parse(&config, "c", text, strlen(text), &fault), STATUS_OK);
    enum status status = config_check(&config, &fault);
    assert_int_equal(status != STATUS_OK, sentence != NULL);
    assert_string_equal(fault.text, sentence ? sentence : "");
    config_free(&config);
}

/* The sentence about a name that a registry lacks. */
static void check_name(const char *text, const char *begins, enum config_registry which)
{
    char names[CONFIG_REGISTRY_BYTES], sentence[2 * CONFIG_REGISTRY_BYTES];
    snprintf(sentence, sizeof sentence, "%s; there are: %s%s", begins,
             which == CONFIG_REGISTRY_PLANNERS ? "none, " : "",
             config_registry_names(which, names));
    check(text, sentence);
}

static void config_check_is_content(void **state)
{
    (void)state;
    check("", NULL);
    check("policy: rr\nrouter: least\npreset: seallm\nkv_type: f32\nlog_level: warn\n", NULL);
    check("devices: [\"cpu:0\", \"cpu:1-2\"]\n"
          "models: {a: {path: x, aliases: [c], devices: [\"cpu:1-2\"]}, b: {path: x}}\n",
          NULL);
    check("models: {a: {path: x, devices: [cpu], kv: {min: 5, max: 5}}}\n", NULL);
}

static void config_check_knows_policies(void **state)
{
    (void)state;
    check_name("preset: x\n", "there is no preset \"x\"", CONFIG_REGISTRY_PRESETS);
    check("thresholds: [lease_tokens=32, has_leases=1]\n", NULL);
    check("thresholds: [lease_tokens=0]\n",
          "lease_tokens is a whole number from 1 to 1.04858e+06, not \"0\"");
    check_name("policy: x\n", "there is no policy \"x\"", CONFIG_REGISTRY_SCHEDULERS);
    check_name("router: x\n", "there is no router \"x\"", CONFIG_REGISTRY_ROUTERS);
    check_name("kv: x\n", "there is no KV pool \"x\"", CONFIG_REGISTRY_POOLS);
    check("kv: head-wise\n", NULL);
    check("slo: {tpot_ms: 3600000}\n", NULL); /* an hour */
    check_name("predictor: x\n", "there is no predictor \"x\", or none with that number",
               CONFIG_REGISTRY_PREDICTORS);
    check_name("predictor: quantile:2\n",
               "there is no predictor \"quantile:2\", or none with that number",
               CONFIG_REGISTRY_PREDICTORS);
    check("predictor: oracle\n", "predictor \"oracle\" needs lengths that only a simulation knows");
    check("predictor: quantile:0.95\n", NULL);
    check("kv_type: q8\n", "kv_type is \"q8\", expected f16, f32 or q8_0");
    check("models: {a: {path: x, kv_type: q8_0}}\n", NULL);
    check("speculation: eagle\n", "speculation is \"eagle\", expected off or lookup");
    check("models: {a: {path: x, speculation: lookup}}\n", NULL);
    check("models: {a: {path: x, speculation: mtp}}\n",
          "model a: speculation is \"mtp\", expected off or lookup");
    check("models: {a: {path: x, kv_type: f8}}\n",
          "model a: kv_type is \"f8\", expected f16, f32 or q8_0");
    check("log_level: loud\n", "log_level is \"loud\", expected debug, info, warn or error");
    check("tls_key: a\n", "tls_cert and tls_key come together");
}

static void config_check_knows_devices(void **state)
{
    (void)state;
    check("devices: [cpu, auto]\n", "devices: auto stands alone, since it takes all GPUs");
    check("devices: [gpu]\n", "device gpu: expected cpu, cpu: and cores, as in cpu:0-1, cuda:0, or "
                              "a group, as in group(cpu:0,cpu:1)");
    check("devices: [\"cpu:0\", \"cpu:0\"]\n", "device cpu:0 is listed twice");
    check("models: {a: {path: x, devices: [\"cpu:0\"]}}\n",
          "model a: cpu:0 is not one of the devices of this server");
}

static void config_check_reads_addresses_and_lanes(void **state)
{
    static const char *const wrong[] = { "127.0.0.1:99999", "x", "127.0.0.1:", ":a" };
    char text[64], sentence[160];
    (void)state;
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        snprintf(text, sizeof(text), "listen: \"%s\"\n", wrong[i]);
        snprintf(sentence, sizeof(sentence),
                 "listen: \"%s\" is not ADDRESS:PORT, with a port from 0 to 65535", wrong[i]);
        check(text, sentence);
    }
    check("listen: \"[::1]:0\"\nlanes: [1, 1000]\n", NULL);
    check("listen: \":7411\"\n", NULL);
    check("lanes: [0]\n", "lanes: \"0\" is no share from 1 to 1000");
    check("lanes: [1, x]\n", "lanes: \"x\" is no share from 1 to 1000");
}

static void config_check_wants_names_once(void **state)
{
    (void)state;
    check("models: {a: {path: x, aliases: [b]}, b: {path: x}}\n", "two models are named b");
    check("models: {a: {path: x}, b: {path: x, aliases: [a]}}\n", "model b: the alias a is taken");
    check("models: {a: {path: x, aliases: [a]}}\n", "model a: the alias a is taken");
    check("models: {a: {path: x, aliases: [b, b]}}\n", "model a: the alias b is taken");
    check("models: {a: {path: x, kv: {min: 6, max: 5}}}\n",
          "model a: kv.min is larger than kv.max");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(config_check_is_content),
        cmocka_unit_test(config_check_knows_policies),
        cmocka_unit_test(config_check_knows_devices),
        cmocka_unit_test(config_check_reads_addresses_and_lanes),
        cmocka_unit_test(config_check_wants_names_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
