/* Options: every key has one, lists begin anew, and a fault is reported once. */
#include "test.h"

#include "config/options.h"
#include <fcntl.h>

enum { WORDS_MAX = 16 };
static struct config config;
static const char *plain[2];
static int n_plain;
static bool is_json;
static const char *extra;

static const struct options_extra extras[] = { { "extra", "one more", &extra, true },
                                               { "bare", "without a value", &extra, false } };
static const struct options_verb verb = { .doc = "Tests.",
                                          .arguments = "A\nB C",
                                          .has_config = true,
                                          .is_json = &is_json,
                                          .n_min = 0,
                                          .n_max = 2,
                                          .extras = extras,
                                          .n_extras = COUNT_OF(extras) };

static int set_up(void **state)
{
    (void)state;
    config_init(&config);
    is_json = false;
    extra = NULL;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    config_free(&config);
    return 0;
}

/* words: parted by spaces. */
static bool parse(const struct options_verb *of, const char *words)
{
    static char text[512];
    char *argv[WORDS_MAX] = { "shoal test" };
    int argc = 1;
    snprintf(text, sizeof text, "%s", words);
    for (char *word = strtok(text, " "); word; word = strtok(NULL, " "))
        argv[argc++] = word;
    return config_options_parse(of, argc, argv, &config, plain, &n_plain);
}

static void options_take_settings(void **state)
{
    (void)state;
    assert_true(parse(&verb, "--kv-bytes 2GiB one --slo-ttft-ms=40 --model a=b --json --model c"
                             " two --policy rr --extra more"));
    assert_int_equal(config.kv_bytes, INT64_C(2) << 30);
    assert_int_equal(config.ttft_ms, 40);
    assert_string_equal(config.policy, "rr");
    assert_int_equal(config.n_models, 2);
    assert_string_equal(config.models[1].name, "c");
    assert_true(is_json);
    assert_string_equal(extra, "more");
    assert_int_equal(n_plain, 2);
    assert_string_equal(plain[0], "one");
    assert_string_equal(plain[1], "two");
    assert_true(parse(&verb, "--bare"));
    assert_string_equal(extra, "");
}

static void options_lists_replace_the_files(void **state)
{
    struct fault fault;
    const char *text = "devices: [cpu]\nmodels: {a: {path: x, keep_alive: 1m}}\n";
    (void)state;
    assert_int_equal(config_parse(&config, "c", text, strlen(text), &fault), STATUS_OK);
    assert_true(parse(&verb, "--devices cpu:0 --keep-alive 5m --devices cpu:1"));
    assert_int_equal(config.n_devices, 2);
    assert_string_equal(config.devices[0], "cpu:0");
    assert_string_equal(config.devices[1], "cpu:1");
    assert_int_equal(config.models[0].keep_alive_ns, CONFIG_UNSET);
}

/* Returns the exit code of a wrong command line, and the first line that it prints on stderr. */
static int complaint(const struct options_verb *of, const char *words, char *out, size_t n_bytes)
{
    int ends[2], state;
    assert_int_equal(pipe(ends), 0);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        _exit(parse(of, words) ? 0 : 2);
    }
    close(ends[1]);
    ssize_t n = read(ends[0], out, n_bytes - 1);
    out[n > 0 ? n : 0] = '\0';
    out[strcspn(out, "\n")] = '\0';
    close(ends[0]);
    assert_int_equal(waitpid(child, &state, 0), child);
    assert_true(WIFEXITED(state));
    return WEXITSTATUS(state);
}

static void refuse(const struct options_verb *of, const char *words, const char *sentence)
{
    char text[512];
    assert_int_not_equal(complaint(of, words, text, sizeof text), 0);
    assert_string_equal(text, sentence);
}

static void options_say_what_is_wrong(void **state)
{
    struct options_verb one = verb;
    (void)state;
    one.n_min = 1;
    one.n_max = 1;
    refuse(&verb, "--max-batch none",
           "shoal: --max-batch: max_batch is \"none\", expected a whole number");
    refuse(&verb, "--model =x", "shoal: --model =x: the model's name is empty (NAME=PATH)");
    refuse(&verb, "--policy=", "shoal: --policy: policy is empty");
    refuse(&verb, "a b c", "shoal test: \"c\" is one argument too many");
    refuse(&one, "", "shoal test: expected A, or B C");
}

static void options_hand_the_first_sentence_over(void **state)
{
    struct fault fault = { { 0 } };
    struct options_verb told = verb;
    (void)state;
    told.fault = &fault;
    assert_false(parse(&told, "--max-batch none --policy="));
    assert_string_equal(fault.text, "--max-batch: max_batch is \"none\", expected a whole number");
    assert_false(parse(&told, "--model =x"));
    assert_string_equal(fault.text, "--model =x: the model's name is empty (NAME=PATH)");
}

static void options_without_settings_have_none(void **state)
{
    struct options_verb bare = { .doc = "Tests.", .arguments = "", .n_max = 1 };
    char text[512];
    (void)state;
    assert_true(parse(&bare, "a"));
    assert_int_not_equal(complaint(&bare, "--listen x", text, sizeof text), 0);
    assert_int_not_equal(complaint(&bare, "--json", text, sizeof text), 0);
    assert_non_null(strstr(text, "unrecognized option '--json'"));
}

/* A verb does not know options that it does not take. A name that is part of a listed one is not
 * listed. */
static void options_of_listed_keys(void **state)
{
    struct options_verb few = verb;
    char text[512];
    (void)state;
    few.keys = "memory kv_bytes log_json";
    assert_true(parse(&few, "--memory 1G --kv-bytes 2GiB --log-json true"));
    assert_int_equal(config.memory_bytes, INT64_C(1) << 30);
    assert_int_equal(config.kv_bytes, INT64_C(2) << 30);
    assert_true(config.log_json);
    assert_int_not_equal(complaint(&few, "--kv private", text, sizeof text), 0);
    assert_int_not_equal(complaint(&few, "--model a=b", text, sizeof text), 0);
    assert_non_null(strstr(text, "unrecognized option '--model'"));
}

#define OPTIONS_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        OPTIONS_TEST(options_take_settings),
        OPTIONS_TEST(options_lists_replace_the_files),
        OPTIONS_TEST(options_say_what_is_wrong),
        OPTIONS_TEST(options_hand_the_first_sentence_over),
        OPTIONS_TEST(options_without_settings_have_none),
        OPTIONS_TEST(options_of_listed_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
