/* Chat templates and special tokens of a Hugging Face directory: the data of each file. */
#include "weights/refused.h"
#include "base/file.h"
#include "base/mem.h"
#include "weights/hf_template.h"
#include <sys/stat.h>

static char directory[] = "/tmp/hf_template_test.XXXXXX";

#define MORE "additional_chat_templates"

static const char *const names[] = { "chat_template.jinja",     "chat_template.json",
                                     "special_tokens_map.json", MORE "/rag.jinja",
                                     MORE "/tool_use.jinja",    MORE "/note.txt" };

static void put(const char *name, const char *text)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/" MORE, directory);
    if (strncmp(name, MORE, strlen(MORE)) == 0)
        (void)mkdir(path, 0700);
    snprintf(path, sizeof(path), "%s/%s", directory, name);
    assert_int_equal(file_write(path, text, strlen(text), NULL), STATUS_OK);
}

static int empty_directory(void **state)
{
    char path[512];
    (void)state;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        snprintf(path, sizeof(path), "%s/%s", directory, names[i]);
        unlink(path);
    }
    snprintf(path, sizeof(path), "%s/" MORE, directory);
    rmdir(path);
    return 0;
}

static int make_directory(void **state)
{
    (void)state;
    return mkdtemp(directory) != NULL ? 0 : -1;
}

static int remove_directory(void **state)
{
    empty_directory(state);
    return rmdir(directory);
}

static enum status read_card(const char *settings, struct pile *pile, struct weights_card *card,
                             struct fault *fault)
{
    struct weights_json json = { 0 };
    *card = (struct weights_card){ 0 };
    pile_init(pile);
    if (settings != NULL)
        assert_int_equal(weights_json_parse(&json, mem_copy_text(settings), strlen(settings),
                                            "tokenizer_config.json", fault),
                         STATUS_OK);
    enum status status = weights_hf_template(directory, json.nodes, pile, card, fault);
    weights_json_close(&json);
    return status;
}

/* "name=text ..." of all templates. */
static void assert_templates(const char *settings, const char *expected)
{
    struct pile pile;
    struct weights_card card;
    struct fault fault = { "" };
    struct str found;
    str_init(&found);
    assert_int_equal(read_card(settings, &pile, &card, &fault), STATUS_OK);
    for (int32_t i = 0; i < card.n_templates; i++)
        str_printf(&found, "%s%s=%s", i > 0 ? " " : "", card.templates[i].name,
                   card.templates[i].text);
    assert_string_equal(found.at != NULL ? found.at : "", expected);
    str_free(&found);
    pile_free(&pile);
}

static const char text_setting[] = "{\"chat_template\":\"S\"}";
static const char list_setting[] =
    "{\"chat_template\":[{\"name\":\"tool_use\",\"template\":\"T\"},{\"name\":\"default\","
    "\"template\":\"D\"},{\"name\":5,\"template\":\"x\"},{\"name\":\"y\"},7]}";

static void settings_hold_a_text_or_a_list(void **state)
{
    (void)state;
    assert_templates(NULL, "");
    assert_templates("{\"chat_template\":null}", "");
    assert_templates("{\"chat_template\":5}", "");
    assert_templates(text_setting, "default=S");
    assert_templates(list_setting, "tool_use=T default=D");
}

static void files_come_before_settings(void **state)
{
    (void)state;
    put("chat_template.json", "{\"chat_template\":\"P\"}");
    assert_templates(NULL, "default=P");
    assert_templates(text_setting, "default=S");
    put(MORE "/tool_use.jinja", "U");
    put(MORE "/rag.jinja", "R");
    put(MORE "/note.txt", "no template");
    assert_templates(text_setting, "rag=R tool_use=U");
    put("chat_template.jinja", "J");
    assert_templates(list_setting, "default=J rag=R tool_use=U");
}

static void assert_specials(const char *settings, const char *expected)
{
    struct pile pile;
    struct weights_card card;
    struct fault fault = { "" };
    assert_int_equal(read_card(settings, &pile, &card, &fault), STATUS_OK);
    assert_string_equal(card.specials_json != NULL ? card.specials_json : "none", expected);
    pile_free(&pile);
}

static void special_tokens_have_names(void **state)
{
    (void)state;
    assert_specials(NULL, "none");
    assert_specials("{\"bos_token\":null,\"eos_token\":\"\"}", "none");
    assert_specials("{\"pad_token\":\"<p>\",\"bos_token\":\"<s>\",\"eos_token\":{\"content\":"
                    "\"</s>\",\"lstrip\":false},\"unk_token\":\"u\",\"sep_token\":\"s\","
                    "\"cls_token\":\"c\",\"mask_token\":\"m\"}",
                    "{\"bos_token\":\"<s>\",\"eos_token\":\"</s>\",\"unk_token\":\"u\","
                    "\"sep_token\":\"s\",\"pad_token\":\"<p>\",\"cls_token\":\"c\","
                    "\"mask_token\":\"m\"}");
    assert_specials("{\"additional_special_tokens\":[\"<a>\",{\"content\":\"<b>\"}],"
                    "\"extra_special_tokens\":{\"image_token\":\"<i>\"}}",
                    "{\"additional_special_tokens\":[\"<a>\",\"<b>\"],\"image_token\":\"<i>\"}");
    put("special_tokens_map.json",
        "{\"bos_token\":\"<map>\",\"additional_special_tokens\":[\"x\"]}");
    assert_specials(NULL, "{\"bos_token\":\"<map>\",\"additional_special_tokens\":[\"x\"]}");
    assert_specials("{\"bos_token\":\"<s>\",\"additional_special_tokens\":[]}",
                    "{\"bos_token\":\"<s>\"}");
}

static void refuses_by_name(void **state)
{
    (void)state;
    static const struct {
        const char *name, *text, *words;
    } rows[] = {
        { "chat_template.jinja", "\xff",
          "chat_template.jinja: the chat template isn't valid UTF-8" },
        { "chat_template.json", "{", "chat_template.json: not valid JSON" },
        { "special_tokens_map.json", "{", "special_tokens_map.json: not valid JSON" },
        { MORE "/rag.jinja", "\xff", MORE ": the chat template isn't valid UTF-8" },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct pile pile;
        struct weights_card card;
        struct fault fault = { "" };
        empty_directory(NULL);
        put(rows[i].name, rows[i].text);
        assert_refused(read_card(NULL, &pile, &card, &fault), STATUS_BAD_INPUT, &fault,
                       rows[i].words);
        pile_free(&pile);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(settings_hold_a_text_or_a_list, empty_directory),
        cmocka_unit_test_teardown(files_come_before_settings, empty_directory),
        cmocka_unit_test_teardown(special_tokens_have_names, empty_directory),
        cmocka_unit_test_teardown(refuses_by_name, empty_directory),
    };
    return cmocka_run_group_tests_name("weights/hf_template", tests, make_directory,
                                       remove_directory);
}
