/* The configuration file: its values, and the sentence for each fault. */
#include "test.h"

#include "base/time.h"
#include "config/config.h"
#include <unistd.h>

static struct config config;

static int set_up(void **state)
{
    (void)state;
    setenv("CONFIG_TEST_KEY", "sesame", 1);
    unsetenv("CONFIG_TEST_NONE");
    config_init(&config);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    config_free(&config);
    return 0;
}

static void read_well(const char *text)
{
    struct fault fault = { { 0 } };
    enum status status = config_parse(&config, "c.yaml", text, strlen(text), &fault);
    if (status != STATUS_OK)
        print_message("%s\n", fault.text);
    assert_int_equal(status, STATUS_OK);
}

static void refuse(const char *text, const char *sentence)
{
    struct fault fault = { { 0 } };
    config_free(&config);
    config_init(&config);
    assert_int_not_equal(config_parse(&config, "c.yaml", text, strlen(text), &fault), STATUS_OK);
    assert_string_equal(fault.text, sentence);
}

/* As a shell's <(...) names a file that a program fills while the server reads it. */
static void config_may_come_through_a_pipe(void **state)
{
    (void)state;
    static const char text[] = "max_batch: 7\n";
    struct fault fault = { { 0 } };
    char path[32];
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    assert_int_equal(write(fds[1], text, sizeof(text) - 1), sizeof(text) - 1);
    close(fds[1]);
    snprintf(path, sizeof(path), "/dev/fd/%d", fds[0]);
    assert_int_equal(config_read(&config, path, &fault), STATUS_OK);
    assert_int_equal(config.n_batch_max, 7);
    close(fds[0]);
}

static void config_reads_a_whole_file(void **state)
{
    (void)state;
    read_well("listen: 0.0.0.0:80\n"
              "api_key: \"open ${env.CONFIG_TEST_KEY}!\"\n"
              "devices: [\"cpu:0\", \"cpu:1\"]\n"
              "memory: 1.5GiB\n"
              "chunk_tokens: 0\n"
              "drain: 200ms\n"
              "prefix_cache: false\n"
              "slo: {ttft_ms: 250}\n"
              "models:\n"
              "  org/name:Q4_K_M:\n"
              "    path: a.gguf\n"
              "    aliases: [gpt-4o, \"4\"]\n"
              "    ctx: 4096\n"
              "    priority: -3\n"
              "    slo: {tpot_ms: 50}\n"
              "    kv: {min: 1MiB, max: 2MiB}\n"
              "    keep_alive: -1\n"
              "    pinned: true\n"
              "    devices: [\"cpu:1\"]\n"
              "  b: {path: b}\n");
    assert_string_equal(config.listen, "0.0.0.0:80");
    assert_string_equal(config.api_key, "open sesame!");
    assert_int_equal(config.n_devices, 2);
    assert_string_equal(config.devices[1], "cpu:1");
    assert_int_equal(config.memory_bytes, INT64_C(3) << 29);
    assert_int_equal(config.chunk_tokens, 0);
    assert_int_equal(config.drain_ns, 200 * TIME_NS_PER_MS);
    assert_false(config.has_prefix_cache);
    assert_int_equal(config.ttft_ms, 250);
    assert_int_equal(config.n_models, 2);
    const struct config_model *a = &config.models[0], *b = &config.models[1];
    assert_string_equal(a->name, "org/name:Q4_K_M");
    assert_string_equal(a->path, "a.gguf");
    assert_int_equal(a->n_aliases, 2);
    assert_string_equal(a->aliases[1], "4");
    assert_int_equal(a->n_context, 4096);
    assert_int_equal(a->priority, -3);
    assert_int_equal(a->tpot_ms, 50);
    assert_int_equal(a->ttft_ms, -1);
    assert_int_equal(a->kv_bytes_min, 1 << 20);
    assert_int_equal(a->kv_bytes_max, 2 << 20);
    assert_true(a->keep_alive_ns < 0 && a->keep_alive_ns != CONFIG_UNSET);
    assert_true(a->is_pinned);
    assert_false(a->is_preloaded);
    assert_string_equal(a->devices[0], "cpu:1");
    assert_string_equal(b->path, "b");
    assert_int_equal(b->keep_alive_ns, CONFIG_UNSET);
}

static void config_empty_file_changes_nothing(void **state)
{
    (void)state;
    read_well("");
    read_well("# only a comment\n");
    read_well("---\n...\n");
    assert_string_equal(config.listen, "127.0.0.1:7411");
    assert_int_equal(config.n_models, 0);
}

static void config_names_line_and_column(void **state)
{
    (void)state;
    refuse("listen: a\nlisten_on: b\n",
           "c.yaml:2:1: unknown key \"listen_on\", did you mean listen?");
    refuse("listen: a\n\nlisten: b\n", "c.yaml:3:1: repeated key \"listen\"");
    refuse("slo:\n  ttft: 1\n", "c.yaml:2:3: unknown key \"slo.ttft\"");
    refuse("slo:\n  ttft_ms: 1\n  ttft_ms: 2\n", "c.yaml:3:3: repeated key \"ttft_ms\"");
    refuse("slo: 5\n", "c.yaml:1:6: expected a mapping (key: value)");
    refuse("- a\n", "c.yaml:1:1: expected a mapping (key: value)");
    refuse("listen: [a]\n", "c.yaml:1:9: expected one value at \"listen\"");
    refuse("devices: {a: b}\n", "c.yaml:1:10: expected a list at \"devices\"");
    refuse("devices: [a, [b]]\n", "c.yaml:1:14: expected a list of texts at \"devices\"");
    refuse("[a]: b\n", "c.yaml:1:1: expected a short text as key");
    refuse("\"a\\0b\": b\n", "c.yaml:1:1: expected a short text as key");
    refuse("models:\n  a: {path: x, size: 7}\n", "c.yaml:2:16: unknown key \"size\"");
    refuse("models:\n  a: {path: x}\n  a: {path: y}\n", "c.yaml:3:3: repeated model \"a\"");
    refuse("models:\n  a: {ctx: 4}\n", "c.yaml:2:3: no path for model \"a\"");
    refuse("models:\n  a: x.gguf\n", "c.yaml:2:6: expected a mapping (key: value)");
    refuse("models: [a]\n",
           "c.yaml:1:9: models: expected a mapping from a model's name to its settings");
    refuse("models:\n  '': {path: x}\n", "c.yaml:2:3: a model's name is empty");
    refuse("models:\n  a: {path: x, models: {}}\n", "c.yaml:2:16: unknown key \"models\"");
}

static void config_says_what_was_expected(void **state)
{
    (void)state;
    refuse("max_batch: many\n", "c.yaml:1:12: max_batch is \"many\", expected a whole number");
    refuse("max_batch: 0\n", "c.yaml:1:12: max_batch is 0, expected 1 to 1024");
    refuse("memory: 1.5 apples\n",
           "c.yaml:1:9: memory is \"1.5 apples\", expected bytes such as 512MiB");
    refuse("memory: -1\n", "c.yaml:1:9: memory is \"-1\", expected bytes such as 512MiB");
    refuse("max_body: 1\n", "c.yaml:1:11: max_body is 1, expected 1024 to 1073741824 bytes");
    refuse("drain: 2000h\n", "c.yaml:1:8: drain is 2000h, expected 0 to 86400 seconds");
    refuse("drain: soon\n", "c.yaml:1:8: drain is \"soon\", expected a duration such as 30s");
    refuse("modles: {}\n", "c.yaml:1:1: unknown key \"modles\", did you mean models?");
    refuse("kv-bytes: 1\n", "c.yaml:1:1: unknown key \"kv-bytes\", did you mean kv_bytes?");
    refuse("models:\n  a: {pth: x}\n", "c.yaml:2:7: unknown key \"pth\", did you mean path?");
    refuse("strict: yes\n", "c.yaml:1:9: strict is \"yes\", expected true or false");
    refuse("listen: ''\n", "c.yaml:1:9: listen is empty");
    refuse("api_key: ${env.CONFIG_TEST_NONE}\n",
           "c.yaml:1:10: the environment has no CONFIG_TEST_NONE");
    refuse("api_key: ${env.HOME\n", "c.yaml:1:10: ${env.HOME has no closing }");
    refuse("api_key: ${env.}\n", "c.yaml:1:10: the name in ${env.} is empty or too long");
    refuse("models:\n  a: {path: x, aliases: [1,2,3,4,5,6,7,8,9]}\n",
           "c.yaml:2:42: aliases has more than 8 entries");
}

static void config_refuses_what_is_not_one_plain_document(void **state)
{
    (void)state;
    refuse("listen: &a x\npreset: *a\n", "c.yaml:2:9: aliases (*name) are not supported");
    refuse("listen: a\n---\nlisten: b\n",
           "c.yaml:3:1: a second document begins here, expected one");
    refuse("listen: [a\n", "c.yaml:2:1: did not find expected ',' or ']'");
    refuse("listen: a: b\n", "c.yaml:1:10: mapping values are not allowed in this context");
    refuse("listen: a\npreset: \xff\n", "c.yaml:2:9: invalid leading UTF-8 octet");
}

static void config_bounds_size_and_models(void **state)
{
    struct fault fault;
    (void)state;
    assert_int_equal(config_parse(&config, "c.yaml", "", CONFIG_BYTES_MAX + 1, &fault),
                     STATUS_TOO_LARGE);
    assert_string_equal(fault.text, "c.yaml: larger than 1 MiB");
    char text[8192];
    int n = snprintf(text, sizeof text, "models:\n");
    for (int i = 0; i <= LIMIT_MODELS; i++)
        n += snprintf(text + n, sizeof text - (size_t)n, "  m%02d: {path: x}\n", i);
    refuse(text, "c.yaml:66:3: more than 64 models");
    n = snprintf(text, sizeof text, "models:\n  %0*d: {path: x}\n", LIMIT_NAME_BYTES, 1);
    refuse(text, "c.yaml:2:3: a model's name has 128 bytes, expected at most 127");
}

static void config_read_names_the_file(void **state)
{
    struct fault fault;
    (void)state;
    assert_int_equal(config_read(&config, "/nonexistent/c.yaml", &fault), STATUS_NOT_FOUND);
    assert_string_equal(fault.text, "/nonexistent/c.yaml: No such file or directory");
}

static void config_takes_models_by_name_or_path(void **state)
{
    struct fault fault;
    (void)state;
    assert_int_equal(config_add_model(&config, "a=x/y.gguf", &fault), STATUS_OK);
    assert_int_equal(config_add_model(&config, "x/y.gguf", &fault), STATUS_OK);
    assert_int_equal(config_add_model(&config, "x/dir", &fault), STATUS_OK);
    assert_string_equal(config.models[0].name, "a");
    assert_string_equal(config.models[0].path, "x/y.gguf");
    assert_true(config.models[0].is_preloaded);
    assert_string_equal(config.models[1].name, "y");
    assert_string_equal(config.models[2].name, "dir");
    assert_int_equal(config_add_model(&config, "=x", &fault), STATUS_BAD_INPUT);
    assert_string_equal(fault.text, "--model =x: the model's name is empty (NAME=PATH)");
    assert_int_equal(config_add_model(&config, "a=", &fault), STATUS_BAD_INPUT);
    assert_string_equal(fault.text, "--model a=: the model's path is empty (NAME=PATH)");
    config.n_models = LIMIT_MODELS;
    assert_int_equal(config_add_model(&config, "b=x", &fault), STATUS_TOO_LARGE);
    assert_string_equal(fault.text, "more than 64 models");
    config.n_models = 3;
}

static void config_outside_goes_before_the_file(void **state)
{
    struct fault fault;
    (void)state;
    read_well(
        "policy: rr\nslo: {ttft_ms: 100}\nkeep_alive: 1m\ndevices: [cpu]\n"
        "models: {a: {path: x, slo: {ttft_ms: 5, tpot_ms: 6}, keep_alive: 2m, profile: x.json}}\n");
    setenv("SHOAL_POLICY", "fcfs", 1);
    setenv("SHOAL_SLO_TTFT_MS", "70", 1);
    setenv("SHOAL_DEVICES", " cpu:0  cpu:1 ", 1);
    assert_int_equal(config_read_environment(&config, &fault), STATUS_OK);
    assert_string_equal(config.policy, "fcfs");
    assert_int_equal(config.ttft_ms, 70);
    assert_int_equal(config.models[0].ttft_ms, -1); /* so the global one counts */
    assert_int_equal(config.models[0].tpot_ms, 6);
    assert_int_equal(config.models[0].keep_alive_ns, 120 * TIME_NS_PER_S);
    assert_int_equal(config.n_devices, 2);
    assert_string_equal(config.devices[0], "cpu:0");
    assert_int_equal(config_set(&config, "slo-ttft-ms", "80", &fault), STATUS_OK);
    assert_int_equal(config_set(&config, "keep_alive", "3m", &fault), STATUS_OK);
    assert_int_equal(config_set(&config, "profile", "20ms", &fault), STATUS_OK);
    assert_string_equal(config.models[0].profile, "x.json");
    assert_int_equal(config.ttft_ms, 80);
    assert_int_equal(config.models[0].keep_alive_ns, CONFIG_UNSET);
    setenv("SHOAL_MAX_BATCH", "x", 1);
    assert_int_equal(config_read_environment(&config, &fault), STATUS_BAD_INPUT);
    assert_string_equal(fault.text,
                        "environment SHOAL_MAX_BATCH: max_batch is \"x\", expected a whole number");
    unsetenv("SHOAL_POLICY");
    unsetenv("SHOAL_SLO_TTFT_MS");
    unsetenv("SHOAL_DEVICES");
    unsetenv("SHOAL_MAX_BATCH");
}

static void check_variable(const char *name, const char *value, const char *sentence)
{
    struct fault fault = { { 0 } };
    setenv(name, value, 1);
    assert_int_equal(config_check_environment(&fault) == STATUS_OK, sentence == NULL);
    assert_string_equal(fault.text, sentence ? sentence : "");
    unsetenv(name);
}

static void config_knows_its_variables(void **state)
{
    (void)state;
    check_variable("SHOAL_MAX_BATCH", "7", NULL);
    check_variable("SHOAL_SLO_TTFT_MS", "7", NULL);
    check_variable("SHOAL_CPU_ISA", "generic", NULL);
    check_variable("SHOALS", "7", NULL);
    check_variable("MY_SHOAL_X", "7", NULL);
    check_variable("SHOAL_MAX_BTACH", "7",
                   "environment: SHOAL_MAX_BTACH is no setting, did you mean SHOAL_MAX_BATCH?");
    check_variable("SHOAL_CPU_ISO", "7",
                   "environment: SHOAL_CPU_ISO is no setting, did you mean SHOAL_CPU_ISA?");
    check_variable("SHOAL_SLO.TTFT_MS", "7",
                   "environment: SHOAL_SLO.TTFT_MS is no setting, did you mean SHOAL_SLO_TTFT_MS?");
    check_variable("SHOAL_", "",
                   "environment: SHOAL_ is no setting; `shoal config keys` lists them");
    check_variable("SHOAL_listen", "a",
                   "environment: SHOAL_listen is no setting; `shoal config keys` lists them");
}

static void config_lets_variables_of_services_be(void **state)
{
    (void)state;
    check_variable("SHOAL_SERVICE_HOST", "10.0.0.1", NULL);
    check_variable("SHOAL_SERVICE_PORT_HTTP", "7411", NULL);
    check_variable("SHOAL_PORT", "tcp://10.0.0.1:7411", NULL);
    check_variable("SHOAL_PORT_7411_TCP_ADDR", "10.0.0.1", NULL);
    check_variable("SHOAL_API_PORT_7411_TCP_PROTO", "tcp", NULL);
    check_variable("SHOAL_PORT", "7411",
                   "environment: SHOAL_PORT is no setting; `shoal config keys` lists them");
}

static void config_lists_from_outside_are_not_empty(void **state)
{
    struct fault fault;
    (void)state;
    read_well("tenants: [a=b]\n");
    assert_int_equal(config_set(&config, "tenants", " ", &fault), STATUS_BAD_INPUT);
    assert_string_equal(fault.text, "tenants is empty");
    assert_int_equal(config.n_tenants, 1);
}

static void config_set_refuses_unknown_keys(void **state)
{
    struct fault fault;
    (void)state;
    assert_int_equal(config_set(&config, "kv-bites", "1", &fault), STATUS_NOT_FOUND);
    assert_string_equal(fault.text, "there is no setting \"kv-bites\"");
    assert_int_equal(config_set(&config, "kv_min", "1", &fault), STATUS_NOT_FOUND);
}

#define CONFIG_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CONFIG_TEST(config_may_come_through_a_pipe),
        CONFIG_TEST(config_reads_a_whole_file),
        CONFIG_TEST(config_empty_file_changes_nothing),
        CONFIG_TEST(config_names_line_and_column),
        CONFIG_TEST(config_says_what_was_expected),
        CONFIG_TEST(config_refuses_what_is_not_one_plain_document),
        CONFIG_TEST(config_bounds_size_and_models),
        CONFIG_TEST(config_read_names_the_file),
        CONFIG_TEST(config_takes_models_by_name_or_path),
        CONFIG_TEST(config_outside_goes_before_the_file),
        CONFIG_TEST(config_knows_its_variables),
        CONFIG_TEST(config_lets_variables_of_services_be),
        CONFIG_TEST(config_lists_from_outside_are_not_empty),
        CONFIG_TEST(config_set_refuses_unknown_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
