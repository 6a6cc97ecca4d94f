/* Settings from all sources together, and keys from files. */
#include "test.h"

#include "base/file.h"
#include "serve/settings.h"
#include <sys/stat.h>

static char folder[] = "/tmp/settings_XXXXXX";
static struct config config;

static const char *path_of(const char *name)
{
    static char path[2][128];
    static int at;
    at = !at;
    snprintf(path[at], sizeof path[at], "%s/%s", folder, name);
    return path[at];
}

static void write_bytes(const char *name, const char *bytes, size_t n)
{
    struct fault fault;
    assert_int_equal(file_write(path_of(name), bytes, n, &fault), STATUS_OK);
}

static int set_up(void **state)
{
    (void)state;
    return mkdtemp(folder) != NULL ? 0 : 1;
}

static int tear_down(void **state)
{
    (void)state;
    for (const char *const *name = (const char *const[]){ "key", "c", "pipe", NULL }; *name; name++)
        unlink(path_of(*name));
    return rmdir(folder);
}

/* Reads all with the words (at most 7). Returns the sentence, "" when there is none. */
static const char *open_settings(bool is_reload, const char *const *words)
{
    static struct fault fault;
    static char texts[8][256];
    char *argv[9] = { NULL };
    int n = 1;
    snprintf(texts[0], sizeof texts[0], "shoal test");
    for (; words[n - 1]; n++)
        snprintf(texts[n], sizeof texts[n], "%s", words[n - 1]);
    for (int i = 0; i < n; i++)
        argv[i] = texts[i];
    const struct serve_words given = { "", n, argv };
    fault.text[0] = '\0';
    enum status status = serve_settings_open(&config, &given, is_reload, &fault);
    assert_int_equal(status == STATUS_OK, fault.text[0] == '\0');
    return fault.text;
}

static const char *with_key_file(const char *bytes, size_t n, bool is_reload)
{
    write_bytes("key", bytes, n);
    const char *const words[] = { "--model", "a=x", "--api-key-file", path_of("key"), NULL };
    return open_settings(is_reload, words);
}

#define WITH_KEY_FILE(text, is_reload) with_key_file(text, sizeof(text) - 1, is_reload)

static void settings_take_the_first_line_of_a_key_file(void **state)
{
    (void)state;
    for (int is_reload = 0; is_reload < 2; is_reload++) {
        assert_string_equal(WITH_KEY_FILE("secret", is_reload), "");
        assert_string_equal(config.api_key, "secret");
        config_free(&config);
        assert_string_equal(WITH_KEY_FILE("secret\r\nmore\n", is_reload), "");
        assert_string_equal(config.api_key, "secret");
        config_free(&config);
    }
}

static void settings_refuse_a_key_file_without_a_key(void **state)
{
    (void)state;
    for (int is_reload = 0; is_reload < 2; is_reload++) {
        const char *const parts[] = { " is empty",
                                      " is empty",
                                      "begins or ends with a space",
                                      "a control character (U+0000) at byte 1",
                                      "a control character (U+0000) at byte 4",
                                      "a character outside ASCII (U+FEFF) at byte 1",
                                      "larger than 4096 bytes" };
        char big[5000];
        memset(big, 'k', sizeof big);
        const struct {
            const char *at;
            size_t n;
        } contents[] = { { "", 0 },          { "\nsecret\n", 8 }, { "secret ", 7 },
                         { "\0\0\0", 3 },    { "sec\0ret", 7 },   { "\xEF\xBB\xBFkey", 6 },
                         { big, sizeof big } };
        for (size_t i = 0; i < COUNT_OF(contents); i++) {
            const char *said = with_key_file(contents[i].at, contents[i].n, is_reload);
            if (strstr(said, parts[i]) == NULL || strstr(said, path_of("key")) == NULL)
                fail_msg("case %zu: %s", i, said);
            config_free(&config);
        }
    }
}

static void settings_know_one_place_for_a_key(void **state)
{
    (void)state;
    write_bytes("key", "secret", 6);
    const char *const words[] = { "--model",          "a=x",          "--admin-key", "other",
                                  "--admin-key-file", path_of("key"), NULL };
    assert_string_equal(open_settings(false, words), "both admin_key and admin_key_file are set, "
                                                     "and only one of them can be the key");
    config_free(&config);
}

static void settings_need_models(void **state)
{
    (void)state;
    for (int is_reload = 0; is_reload < 2; is_reload++) {
        write_bytes("c", "", 0);
        assert_string_equal(open_settings(is_reload, (const char *const[]){ path_of("c"), NULL }),
                            "no models: give --model NAME=PATH or a configuration");
        config_free(&config);
        write_bytes("c", "models: {a: {path: x}}\npolicy: rr\n", 34);
        assert_string_equal(
            open_settings(is_reload,
                          (const char *const[]){ path_of("c"), "--policy", "fcfs", NULL }),
            "");
        assert_string_equal(config.policy, "fcfs");
        config_free(&config);
        assert_string_equal(
            open_settings(is_reload,
                          (const char *const[]){ path_of("c"), "--policy", "best", NULL }),
            "there is no policy \"best\"; see shoal serve --help");
        config_free(&config);
    }
}

static void settings_are_reread_from_regular_files_only(void **state)
{
    char sentence[200];
    (void)state;
    assert_int_equal(mkfifo(path_of("pipe"), 0600), 0);
    snprintf(sentence, sizeof sentence, "%s is not a regular file", path_of("pipe"));
    assert_string_equal(open_settings(true, (const char *const[]){ path_of("pipe"), NULL }),
                        sentence);
    config_free(&config);
    const char *const words[] = { "--model", "a=x", "--api-key-file", path_of("pipe"), NULL };
    assert_string_equal(open_settings(true, words), sentence);
    config_free(&config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings_take_the_first_line_of_a_key_file),
        cmocka_unit_test(settings_refuse_a_key_file_without_a_key),
        cmocka_unit_test(settings_know_one_place_for_a_key),
        cmocka_unit_test(settings_need_models),
        cmocka_unit_test(settings_are_reread_from_regular_files_only),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
