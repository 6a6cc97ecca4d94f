/* Definitions of deployed models: what operators may write, and what a hostile store may hold. */
#include "fleet/definition.h"

#include "base/mem.h"
#include "test.h"
#include <string.h>

#define HASH "26f0490d643f72b626f0490d643f72b626f0490d643f72b626f0490d643f72b6"

static void free_config(struct config *config)
{
    if (config != NULL)
        config_free(config);
    mem_give(config);
}

static void test_what_is_written_is_read(void **state)
{
    static const struct fleet_definition_words words[] = {
        { .path = "/models/a \"b\".gguf" },
        { .url = "https://x.example/a.gguf", .sha256 = HASH, .context = "512", .kv_type = "q8_0" },
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        struct config *config;
        struct fault fault;
        struct str value;
        uint16_t life;
        str_init(&value);
        assert_true(fleet_definition_is_given(&words[i]));
        assert_int_equal(fleet_definition_write(&value, "the \"model\"", &words[i], 7, &fault),
                         STATUS_OK);
        struct view view = view_of(value.at, value.n);
        assert_int_equal(fleet_definition_read("the \"model\"", view, &config, &life, &fault),
                         STATUS_OK);
        const struct config_model *model = &config->models[0];
        assert_int_equal(life, 7);
        assert_string_equal(model->name, "the \"model\"");
        assert_string_equal(model->path, i == 0 ? words[i].path : words[i].url);
        assert_int_equal(model->n_context, i == 0 ? 0 : 512);
        assert_true(i == 0 || strcmp(model->kv_type, "q8_0") == 0);
        assert_true(fleet_definition_is_equal(view, view));
        assert_false(fleet_definition_is_equal(view, view_text("{\"life\":7}")));
        assert_false(fleet_definition_is_equal(view, view_text("{")));
        free_config(config);
        str_free(&value);
    }
    assert_false(fleet_definition_is_given(&(struct fleet_definition_words){ 0 }));
    assert_true(fleet_definition_is_equal(view_text("{\"life\":1,\"path\":\"/a\"}"),
                                          view_text("{\"path\":\"/a\",\"life\":2}")));
}

static void test_bad_words(void **state)
{
    static const struct fleet_definition_words words[] = {
        { .sha256 = HASH },
        { .path = "/a", .url = "http://x/a", .sha256 = HASH },
        { .path = "http://x/a", .sha256 = HASH },
        { .url = "/a", .sha256 = HASH },
        { .url = "http://x/a" },
        { .path = "a.gguf" },
        { .path = "" },
        { .path = "/a", .sha256 = "26f0" },
        { .path = "/a", .context = "" },
        { .path = "/a", .context = "-1" },
        { .path = "/a", .context = "99999999999" },
        { .path = "/a", .kv_type = "f8" },
        { .path = "/\n" },
        { .path = "/\xff" },
        { .path = "/${env.HOME}" },
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        struct fault fault = { "" };
        struct str value;
        str_init(&value);
        assert_true(fleet_definition_write(&value, "m", &words[i], 7, &fault) != STATUS_OK);
        assert_true(fault.text[0] != '\0');
        str_free(&value);
    }
}

/* The store holds anything. No value is taken in part, and none ends the process. */
static void test_hostile_values(void **state)
{
    static const char *const values[] = {
        "",
        "{",
        "[]",
        "3",
        "null",
        "{}",
        "{\"life\":1}",
        "{\"path\":\"/a\"}",
        "{\"life\":0,\"path\":\"/a\"}",
        "{\"life\":65536,\"path\":\"/a\"}",
        "{\"life\":1.5,\"path\":\"/a\"}",
        "{\"life\":\"1\",\"path\":\"/a\"}",
        "{\"life\":1,\"life\":2,\"path\":\"/a\"}",
        "{\"life\":1,\"path\":\"/a\",\"path\":\"/b\"}",
        "{\"life\":1,\"path\":[\"/a\"]}",
        "{\"life\":1,\"path\":{\"a\":1}}",
        "{\"life\":1,\"path\":true}",
        "{\"life\":1,\"path\":null}",
        "{\"life\":1,\"path\":3}",
        "{\"life\":1,\"path\":\"/a\\u0000b\"}",
        "{\"life\":1,\"path\":\"/a\\nb: c\"}",
        "{\"life\":1,\"path\":\"/a\",\"profile\":\"/etc/passwd\"}",
        "{\"life\":1,\"path\":\"/a\",\"chat_template\":\"/etc/passwd\"}",
        "{\"life\":1,\"path\":\"/a\",\"aliases\":\"b\"}",
        "{\"life\":1,\"path\":\"/a\",\"ctx\":-1}",
        "{\"life\":1,\"path\":\"/a\",\"ctx\":\"x\"}",
        "{\"life\":1,\"path\":\"/a\",\"ctx\":9223372036854775807}",
        "{\"life\":1,\"path\":\"/a\",\"kv_type\":\"\"}",
        "{\"life\":1,\"path\":\"/a\",\"sha256\":\"zz\"}",
        "{\"life\":1,\"path\":\"http://x/${env.SHOAL_ADMIN_KEY}\",\"sha256\":\"" HASH "\"}",
        "{\"life\":1,\"path\":\"/a\"}trailing",
    };
    (void)state;
    struct config *config;
    struct fault fault;
    uint16_t life;
    for (size_t i = 0; i < COUNT_OF(values); i++) {
        fault.text[0] = '\0';
        assert_true(fleet_definition_read("m", view_text(values[i]), &config, &life, &fault) !=
                    STATUS_OK);
        assert_true(config == NULL && fault.text[0] != '\0');
    }
    static char longest[FLEET_DEFINITION_BYTES + 2];
    memset(longest, ' ', sizeof longest - 1);
    memcpy(longest, "{\"life\":1,\"path\":\"/a\"}", 22);
    assert_int_equal(fleet_definition_read("m", view_of(longest, FLEET_DEFINITION_BYTES), &config,
                                           &life, &fault),
                     STATUS_OK);
    free_config(config);
    assert_true(fleet_definition_read("m", view_text(longest), &config, &life, &fault) !=
                STATUS_OK);
    static const char *const names[] = { "", "a\nb", "\xff", "${env.HOME}", "a\x7f" };
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (fleet_definition_read(names[i], view_text("{\"life\":1,\"path\":\"/a\"}"), &config,
                                  &life, &fault) == STATUS_OK) {
            assert_string_equal(config->models[0].name, names[i]); /* as it is, if at all */
            free_config(config);
        }
    memset(longest, 'n', 200);
    longest[200] = '\0';
    assert_true(fleet_definition_read(longest, view_text("{\"life\":1,\"path\":\"/a\"}"), &config,
                                      &life, &fault) != STATUS_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_what_is_written_is_read),
                                        cmocka_unit_test(test_bad_words),
                                        cmocka_unit_test(test_hostile_values) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
