/* Cards from directories: the data of each file, and the precedence of files. */
#include "weights/refused.h"
#include "base/file.h"
#include "base/mem.h"
#include "weights/hf_card.h"
#include <sys/stat.h>

static char directory[] = "/tmp/hf_card_test.XXXXXX";

static const char *const names[] = {
    "tokenizer.json",      "tokenizer_config.json",   "generation_config.json",
    "chat_template.jinja", "special_tokens_map.json", "vocab.json",
    "merges.txt",          "tokenizer.model",         "special_tokens_map.json",
    "added_tokens.json"
};

static void put(const char *name, const char *text)
{
    char path[512];
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

static enum status open_with(const char *config, int32_t n_vocabulary, struct weights_hf_card *hf,
                             struct weights_card *card, struct fault *fault)
{
    struct weights_json json = { 0 };
    if (config != NULL)
        assert_int_equal(
            weights_json_parse(&json, mem_copy_text(config), strlen(config), "config.json", fault),
            STATUS_OK);
    enum status status = weights_hf_card_open(hf, directory, json.nodes, n_vocabulary, card, fault);
    weights_json_close(&json);
    return status;
}

#define TOKENIZER                                                                                  \
    "{\"pre_tokenizer\":{\"type\":\"ByteLevel\"},\"added_tokens\":["                               \
    "{\"id\":3,\"content\":\"<|im_end|>\",\"special\":true},"                                      \
    "{\"id\":4,\"content\":\"<s>\",\"special\":true}],"                                            \
    "\"model\":{\"vocab\":{\"a\":0,\"b\":1,\"ab\":2},\"merges\":[\"a b\"]}}"

static void joins_the_files(void **state)
{
    (void)state;
    struct weights_hf_card hf;
    struct weights_card card;
    struct fault fault = { 0 };
    put("tokenizer.json", TOKENIZER);
    put("tokenizer_config.json", "{\"bos_token\":\"<s>\",\"eos_token\":{\"content\":\"b\"},"
                                 "\"add_bos_token\":true,\"pad_token\":\"<none>\","
                                 "\"chat_template\":\"{{ a }}\"}");
    put("generation_config.json", "{\"eos_token_id\":[1,0,77]}");
    assert_int_equal(open_with("{\"eos_token_id\":2}", 0, &hf, &card, &fault), STATUS_OK);
    assert_int_equal(card.n_tokens, 6); /* <none> gets the next id, as in transformers */
    assert_true(card.bos_id == 4 && card.add_bos);
    assert_true(card.steps->n_before == 1 && card.steps->before[0] == 4);
    assert_int_equal(card.steps->n_added, 4); /* b is found in texts since it is named */
    assert_int_equal(card.eos_id, 1);
    assert_int_equal(card.pad_id, 5);
    assert_int_equal(card.n_eog, 4); /* 1, then 2 of the config, 0, and <|im_end|> */
    assert_int_equal(card.eog_ids[0], 1);
    assert_int_equal(card.eog_ids[3], 3);
    assert_int_equal(card.types[1], 3); /* named as a special token */
    assert_string_equal(card.chat_template, "{{ a }}");
    assert_string_equal(card.specials_json,
                        "{\"bos_token\":\"<s>\",\"eos_token\":\"b\",\"pad_token\":\"<none>\"}");
    weights_hf_card_close(&hf);
    put("chat_template.jinja", "{{ j }}");
    assert_int_equal(open_with(NULL, 0, &hf, &card, &fault), STATUS_OK);
    assert_string_equal(card.chat_template, "{{ j }}");
    weights_hf_card_close(&hf);
}

/* A pipe without a writer must not block. */
static void refuses_what_is_no_file(void **state)
{
    char path[512];
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        struct weights_hf_card hf;
        struct weights_card card;
        struct fault fault = { 0 };
        if (strcmp(names[i], "vocab.json") == 0)
            put("merges.txt", "");
        else if (strcmp(names[i], "merges.txt") == 0)
            put("vocab.json", "{}");
        else if (strncmp(names[i], "tokenizer.", 10) != 0)
            put("tokenizer.json", TOKENIZER);
        snprintf(path, sizeof(path), "%s/%s", directory, names[i]);
        assert_int_equal(mkfifo(path, 0600), 0);
        assert_refused(open_with(NULL, 0, &hf, &card, &fault), STATUS_BAD_INPUT, &fault, path);
        assert_non_null(strstr(fault.text, "is not a regular file"));
        empty_directory(state);
    }
}

/* The files of older directories, which name tokens that tokenizer.json does not. */
static void reads_older_files(void **state)
{
    (void)state;
    struct weights_hf_card hf;
    struct weights_card card;
    struct fault fault = { 0 };
    put("tokenizer.json", TOKENIZER);
    put("special_tokens_map.json", "{\"eos_token\":\"ab\",\"pad_token\":{\"content\":\"<p>\"}}");
    put("added_tokens.json", "{\"<p>\":5,\"<s>\":4}");
    assert_int_equal(open_with(NULL, 0, &hf, &card, &fault), STATUS_OK);
    assert_int_equal(card.n_tokens, 6);
    assert_true(card.eos_id == 2 && card.pad_id == 5);
    assert_int_equal(card.steps->n_added, 4);
    assert_true(card.steps->added[2].id == 5 && card.steps->added[2].flags == ADDED_SPECIAL);
    assert_true(card.steps->added[3].id == 2 && card.steps->added[3].flags == ADDED_SPECIAL);
    weights_hf_card_close(&hf);
    put("added_tokens.json", "{\"<p>\":9}");
    assert_refused(open_with(NULL, 0, &hf, &card, &fault), STATUS_UNSUPPORTED, &fault,
                   "\"<p>\" has id 9, but its place in the vocabulary is 5");
}

static void takes_ids_from_config(void **state)
{
    (void)state;
    struct weights_hf_card hf;
    struct weights_card card;
    struct fault fault = { 0 };
    put("tokenizer.json", TOKENIZER);
    put("tokenizer_config.json", "{\"chat_template\":[{\"name\":\"tool_use\",\"template\":\"t\"},"
                                 "{\"name\":\"default\",\"template\":\"d\"}]}");
    assert_int_equal(open_with("{\"eos_token_id\":[2,3],\"bos_token_id\":4,\"pad_token_id\":99}", 0,
                               &hf, &card, &fault),
                     STATUS_OK);
    assert_int_equal(card.eos_id, 2);
    assert_int_equal(card.bos_id, 4);
    assert_int_equal(card.pad_id, -1);
    assert_false(card.add_bos);
    assert_string_equal(card.chat_template, "d");
    weights_hf_card_close(&hf);
}

static void leaves_off_what_has_no_row(void **state)
{
    (void)state;
    struct weights_hf_card hf;
    struct weights_card card;
    struct fault fault = { 0 };
    put("tokenizer.json", TOKENIZER);
    put("tokenizer_config.json", "{\"bos_token\":\"<s>\",\"add_bos_token\":true}");
    assert_int_equal(open_with(NULL, 4, &hf, &card, &fault), STATUS_OK);
    assert_int_equal(card.n_tokens, 4);
    assert_true(card.bos_id == -1 && !card.add_bos);
    assert_true(card.steps->n_added == 1 && card.steps->added[0].id == 3);
    weights_hf_card_close(&hf);
    /* A token of the model can't be left off, since texts become it. */
    assert_refused(open_with(NULL, 2, &hf, &card, &fault), STATUS_BAD_INPUT, &fault,
                   "model.vocab has the id 2, but the embedding has only 2 rows");
}

static void reads_vocab_and_merges(void **state)
{
    (void)state;
    struct weights_hf_card hf;
    struct weights_card card;
    struct fault fault = { 0 };
    put("vocab.json", "{\"a\":0,\"\\\"\":1,\"a\\\"\":2,\"</s>\":3}");
    put("merges.txt", "#version: 0.2\r\na \"\r\n");
    put("tokenizer_config.json", "{\"add_bos_token\":true,\"bos_token\":{\"content\":\"</s>\"}}");
    assert_int_equal(open_with(NULL, 0, &hf, &card, &fault), STATUS_OK);
    assert_int_equal(card.tokenizer, WEIGHTS_TOKENIZER_BPE);
    assert_int_equal(card.steps->n_merges, 1);
    assert_int_equal(card.steps->merges[0][2], 2);
    assert_true(card.steps->splitters[0].kind == STEP_BYTE_LEVEL && card.steps->has_decoder);
    assert_true(card.bos_id == 3 && card.add_bos && card.types[3] == 3);
    weights_hf_card_close(&hf);
}

static void does_without(void **state)
{
    (void)state;
    struct weights_hf_card hf;
    struct weights_card card;
    struct fault fault = { 0 };
    assert_int_equal(open_with(NULL, 0, &hf, &card, &fault), STATUS_OK);
    assert_int_equal(card.tokenizer, WEIGHTS_TOKENIZER_NONE);
    weights_hf_card_close(&hf);
    put("chat_template.jinja", "\xff");
    assert_refused(open_with(NULL, 0, &hf, &card, &fault), STATUS_BAD_INPUT, &fault, "template");
}

static void refuses_by_name(void **state)
{
    (void)state;
    static const struct {
        const char *name, *text, *words;
    } rows[] = {
        { "tokenizer_config.json", "{", "tokenizer_config.json: not valid JSON" },
        { "tokenizer_config.json", "{\"add_bos_token\":1}", "add_bos_token isn't true" },
        { "generation_config.json", "[", "generation_config.json: not valid JSON" },
        { "tokenizer.json", "x", "tokenizer.json: not valid JSON" },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct weights_hf_card hf;
        struct weights_card card;
        struct fault fault = { 0 };
        empty_directory(NULL);
        put("tokenizer.json", TOKENIZER);
        put(rows[i].name, rows[i].text);
        assert_refused(open_with(NULL, 0, &hf, &card, &fault), STATUS_BAD_INPUT, &fault,
                       rows[i].words);
    }
    empty_directory(NULL);
    struct weights_hf_card hf;
    struct weights_card card;
    struct fault fault = { 0 };
    put("tokenizer.model", "nonsense");
    assert_refused(open_with(NULL, 0, &hf, &card, &fault), STATUS_BAD_INPUT, &fault,
                   "tokenizer.model");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(joins_the_files, empty_directory),
        cmocka_unit_test_teardown(refuses_what_is_no_file, empty_directory),
        cmocka_unit_test_teardown(reads_older_files, empty_directory),
        cmocka_unit_test_teardown(takes_ids_from_config, empty_directory),
        cmocka_unit_test_teardown(leaves_off_what_has_no_row, empty_directory),
        cmocka_unit_test_teardown(reads_vocab_and_merges, empty_directory),
        cmocka_unit_test_teardown(does_without, empty_directory),
        cmocka_unit_test_teardown(refuses_by_name, empty_directory),
    };
    return cmocka_run_group_tests_name("weights/hf_card", tests, make_directory, remove_directory);
}
