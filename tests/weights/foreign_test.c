/* Files and directories that are not what the user took them for. */
#include "weights/refused.h"
#include "base/file.h"
#include "weights/foreign.h"
#include "weights/json.h"
#include "base/mem.h"

static char directory[64];

static int set_up(void **state)
{
    (void)state;
    snprintf(directory, sizeof(directory), "/tmp/shoal-foreign-test-XXXXXX");
    return mkdtemp(directory) != NULL ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    return rmdir(directory);
}

#define POINTER "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 7\n"

static void names_pointers(void **state)
{
    (void)state;
    struct fault fault = { 0 };
    struct weights_json json;
    assert_refused(weights_foreign_pointer(view_text(POINTER), "m.gguf", &fault), STATUS_BAD_INPUT,
                   &fault, "m.gguf is a Git LFS pointer");
    assert_refused(
        weights_json_parse(&json, mem_copy_text(POINTER), strlen(POINTER), "c.json", &fault),
        STATUS_BAD_INPUT, &fault, "c.json is a Git LFS pointer");
    assert_int_equal(weights_foreign_pointer(view_text("version 2"), "x", &fault), STATUS_OK);
    assert_int_equal(weights_foreign_pointer(view_of("", 0), "x", &fault), STATUS_OK);
}

static void names_formats(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t n;
        const char *words;
    } rows[] = {
        { "\x40\0\0\0\0\0\0\0{\"a\"", 12, "safetensors" },
        { "PK\3\4....", 8, "PyTorch" },
        { "\x80\2}q", 4, "pickle" },
        { "tjgg\3\0\0\0", 8, "GGML" },
        { "algg\1\0\0\0", 8, "LoRA" },
        { "<!DOCTYPE html>", 15, "web page" },
        { "FUGG", 4, "big-endian" },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        assert_non_null(
            strstr(weights_foreign_kind(view_of(rows[i].bytes, rows[i].n)), rows[i].words));
    assert_string_equal(weights_foreign_kind(view_text("GGUF")), "");
    assert_string_equal(weights_foreign_kind(view_of("PK", 2)), "");
}

static void put(const char *name)
{
    char path[512];
    struct fault fault;
    snprintf(path, sizeof(path), "%s/%s", directory, name);
    assert_int_equal(file_write(path, "x", 1, &fault), STATUS_OK);
}

static void drop(const char *name)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/%s", directory, name);
    assert_int_equal(unlink(path), 0);
}

static void names_directories(void **state)
{
    (void)state;
    static const struct {
        const char *first, *second; /* files; NULL: none */
        bool is_weights;            /* checks for weights, else for the directory */
        const char *words;          /* NULL: no objection */
    } rows[] = {
        { "config.json", "model.safetensors", false, NULL },
        { NULL, NULL, false, NULL },
        { "config.json", "adapter_config.json", false, "an adapter (adapter_config.json)" },
        { "adapter_model.bin", NULL, false, "an adapter (adapter_model.bin)" },
        { "config.json", "a.lora", false, "an adapter (a.lora)" },
        { "b.gguf", "a.gguf", false, "GGUF file in it (a.gguf)" },
        { "config.json", "a.gguf", false, NULL },
        { "params.json", NULL, false, "holds params.json, but no config.json" },
        { "config.json", "pytorch_model.bin", true, "holds pytorch_model.bin, but no model" },
        { "config.json", "tf_model.h5", true, "holds tf_model.h5" },
        { "config.json", "other.safetensors", true, "holds other.safetensors" },
        { "config.json", NULL, true, "holds no model.safetensors" },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct fault fault = { 0 };
        const char *files[] = { rows[i].first, rows[i].second };
        for (size_t f = 0; f < COUNT_OF(files) && files[f] != NULL; f++)
            put(files[f]);
        enum status status = rows[i].is_weights ? weights_foreign_weights(directory, &fault)
                                                : weights_foreign_directory(directory, &fault);
        if (rows[i].words == NULL)
            assert_int_equal(status, STATUS_OK);
        else
            assert_refused(status, status, &fault, rows[i].words);
        assert_int_equal(status == STATUS_OK, rows[i].words == NULL);
        for (size_t f = 0; f < COUNT_OF(files) && files[f] != NULL; f++)
            drop(files[f]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_pointers),
        cmocka_unit_test(names_formats),
        cmocka_unit_test(names_directories),
    };
    return cmocka_run_group_tests_name("weights/foreign", tests, set_up, tear_down);
}
