/* Files of sentence-transformers: poolings, and what is refused. */
#include "weights/refused.h"
#include "weights/hf_pooling.h"
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char directory[64];

static void write_file(const char *name, const char *text)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/%s", directory, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static int open_directory(void **state)
{
    char path[128];
    (void)state;
    snprintf(directory, sizeof(directory), "/tmp/pooling_test_XXXXXX");
    assert_non_null(mkdtemp(directory));
    snprintf(path, sizeof(path), "%s/1_Pooling", directory);
    assert_int_equal(mkdir(path, 0700), 0);
    return 0;
}

static int close_directory(void **state)
{
    static const char *const names[] = { "1_Pooling/config.json", "1_Pooling", "modules.json",
                                         "." };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        char path[128];
        snprintf(path, sizeof(path), "%s/%s", directory, names[i]);
        (void)!unlink(path);
        (void)!rmdir(i + 1 < COUNT_OF(names) ? path : directory);
    }
    return 0;
}

#define MODULE(kind, path)                                                                         \
    "{\"type\":\"sentence_transformers.models." kind "\",\"path\":\"" path "\"}"
#define POOLING MODULE("Pooling", "1_Pooling")

static void reads_poolings(void **state)
{
    (void)state;
    static const struct {
        const char *modules, *config;
        enum pooling_kind pooling;
        bool is_given, is_normalized;
    } rows[] = {
        { "[" MODULE("Transformer", "") "," POOLING "]", "{\"pooling_mode_mean_tokens\":true}",
          POOLING_MEAN, true, false },
        { "[" POOLING "," MODULE("Normalize", "2_N") "]",
          "{\"pooling_mode_mean_tokens\":false,\"pooling_mode_cls_token\":true}", POOLING_FIRST,
          true, true },
        { "[" POOLING "]", "{\"pooling_mode_lasttoken\":true}", POOLING_LAST, true, false },
        { "[" MODULE("Transformer", "") "]", "{}", POOLING_LAST, false, false },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct model_spec spec = { .pooling = POOLING_LAST };
        struct fault fault = { "" };
        write_file("modules.json", rows[i].modules);
        write_file("1_Pooling/config.json", rows[i].config);
        assert_int_equal(weights_hf_pooling(directory, &spec, &fault), STATUS_OK);
        assert_int_equal(spec.pooling, rows[i].pooling);
        assert_int_equal(spec.is_pooling_given, rows[i].is_given);
        assert_int_equal(spec.is_normalized, rows[i].is_normalized);
    }
}

static void refuses_others(void **state)
{
    (void)state;
    static const struct {
        const char *modules, *config;
        enum status status;
        const char *words;
    } rows[] = {
        { "{}", "{}", STATUS_BAD_INPUT, "modules.json: not a list" },
        { "[5]", "{}", STATUS_UNSUPPORTED, "modules.json" },
        { "[" MODULE("Dense", "2_Dense") "]", "{}", STATUS_UNSUPPORTED, "Dense\" is not" },
        { "[" MODULE("Pooling", "../1_Pooling") "]", "{}", STATUS_BAD_INPUT, "not a folder" },
        { "[" MODULE("Pooling", "/etc") "]", "{}", STATUS_BAD_INPUT, "not a folder" },
        { "[" MODULE("Pooling", "..") "]", "{}", STATUS_BAD_INPUT, "not a folder" },
        { "[" MODULE("Pooling", "absent") "]", "{}", STATUS_NOT_FOUND, "absent/config.json" },
        { "[" POOLING "]", "{}", STATUS_UNSUPPORTED, "no pooling mode" },
        { "[" POOLING "]", "{\"pooling_mode_max_tokens\":true}", STATUS_UNSUPPORTED,
          "pooling_mode_max_tokens" },
        { "[" POOLING "]", "{\"pooling_mode_mean_tokens\":true,\"pooling_mode_cls_token\":true}",
          STATUS_UNSUPPORTED, "more than one" },
        { "[" POOLING "]", "{\"pooling_mode_mean_tokens\":1}", STATUS_BAD_INPUT,
          "pooling_mode_mean_tokens" },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct model_spec spec = { .pooling = POOLING_LAST };
        struct fault fault = { "" };
        write_file("modules.json", rows[i].modules);
        write_file("1_Pooling/config.json", rows[i].config);
        assert_refused(weights_hf_pooling(directory, &spec, &fault), rows[i].status, &fault,
                       rows[i].words);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_poolings),
        cmocka_unit_test(refuses_others),
    };
    return cmocka_run_group_tests_name("weights/hf_pooling", tests, open_directory,
                                       close_directory);
}
