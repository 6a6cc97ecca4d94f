/* Tokenizers of whole directories: the stored sample of tests/text/sentencepiece_agreement.py, and
 * the cases beside the repository. */
#include "base/file.h"
#include "base/mem.h"
#include "serve/model_card.h"
#include "weights/hf_card.h"
#include "test.h"
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *source_root;

static int digit(char c)
{
    return c >= 'a' ? c - 'a' + 10 : c - '0';
}

/* Returns the bytes of a text in hexadecimal; the caller frees them. */
static struct view bytes_of(const json_t *text)
{
    const char *hex = json_string_value(text);
    size_t n = json_string_length(text) / 2;
    char *bytes = mem_take(n + 1);
    for (size_t i = 0; i < n; i++)
        bytes[i] = (char)(digit(hex[2 * i]) * 16 + digit(hex[2 * i + 1]));
    return view_of(bytes, n);
}

static void give(struct view bytes)
{
    mem_give((void *)(uintptr_t)bytes.at);
}

/* Known ids decode to the library's text. */
static void decode_as_stored(const struct tokenizer *tokenizer, const int32_t *ids, int32_t n,
                             struct view expected)
{
    struct detokenizer detokenizer;
    struct str out;
    str_init(&out);
    detokenizer_init(&detokenizer, tokenizer, false);
    for (int32_t i = 0; i < n; i++)
        detokenizer_add(&detokenizer, ids[i], &out);
    detokenizer_end(&detokenizer, &out);
    assert_true(view_equal(view_of(out.at != NULL ? out.at : "", out.n), expected));
    str_free(&out);
}

static void encode_as_stored(const struct tokenizer *tokenizer, const json_t *row)
{
    struct view text = bytes_of(json_array_get(row, 0)), back = bytes_of(json_array_get(row, 2));
    const json_t *expected = json_array_get(row, 1);
    int32_t ids[4096], n = tokenizer_encode(tokenizer, text, 0, ids, (int32_t)COUNT_OF(ids));
    assert_int_equal(n, json_array_size(expected));
    for (int32_t i = 0; i < n; i++)
        assert_int_equal(ids[i], json_integer_value(json_array_get(expected, (size_t)i)));
    decode_as_stored(tokenizer, ids, n, back);
    give(text);
    give(back);
}

static void check_model(const char *directory, const json_t *line)
{
    char path[256];
    struct fault fault = { "" };
    struct weights_hf_card hf;
    struct weights_card card;
    struct tokenizer *tokenizer = NULL;
    struct view model = bytes_of(json_array_get(line, 0));
    snprintf(path, sizeof(path), "%s/tokenizer.model", directory);
    assert_int_equal(file_write(path, model.at, model.n, NULL), STATUS_OK);
    give(model);
    assert_int_equal(weights_hf_card_open(&hf, directory, NULL, 0, &card, &fault), STATUS_OK);
    assert_int_equal(model_card_open_tokenizer(&tokenizer, &card, &fault), STATUS_OK);
    size_t i;
    json_t *row;
    json_array_foreach(json_array_get(line, 1), i, row)
        encode_as_stored(tokenizer, row);
    tokenizer_close(tokenizer);
    weights_hf_card_close(&hf);
    unlink(path);
}

static void models_are_as_in_sentencepiece(void **state)
{
    (void)state;
    char directory[] = "/tmp/model_card.XXXXXX", path[1024];
    assert_non_null(mkdtemp(directory));
    snprintf(path, sizeof(path), "%s/tests/text/sentencepiece_sample.jsonl", source_root);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    int n = 0;
    json_t *line;
    for (; (line = json_loadf(file, JSON_DISABLE_EOF_CHECK, NULL)) != NULL; n++) {
        check_model(directory, line);
        json_decref(line);
    }
    (void)fclose(file);
    assert_true(n > 5);
    assert_int_equal(rmdir(directory), 0);
}

/* The tokenizer of the directory gives the text its expected ids, or is refused. */
static void check_case(const struct tokenizer *tokenizer, const json_t *row)
{
    const json_t *expected = json_object_get(row, "ids"), *text = json_object_get(row, "text");
    unsigned flags = TOKENIZER_PARSE_SPECIAL;
    if (json_is_true(json_object_get(row, "add_special_tokens")))
        flags |= TOKENIZER_ADD_SPECIAL;
    int32_t ids[4096];
    int32_t n =
        tokenizer_encode(tokenizer, view_of(json_string_value(text), json_string_length(text)),
                         flags, ids, (int32_t)COUNT_OF(ids));
    assert_int_equal(n, json_array_size(expected));
    for (int32_t i = 0; i < n; i++)
        assert_int_equal(ids[i], json_integer_value(json_array_get(expected, (size_t)i)));
}

static void cases_are_met(void **state)
{
    (void)state;
    char folder[1024], path[1200], last[256] = "";
    struct weights_hf_card hf = { 0 };
    struct weights_card card;
    struct tokenizer *tokenizer = NULL;
    struct fault fault = { "" };
    snprintf(folder, sizeof(folder), "%s/../shared/cases/tokenizers", source_root);
    if (!file_is_directory(folder))
        TEST_SKIP("no ../shared beside the repository");
    snprintf(path, sizeof(path), "%s/expected.jsonl", folder);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    json_t *row;
    while ((row = json_loadf(file, JSON_DISABLE_EOF_CHECK, NULL)) != NULL) {
        const char *name = json_string_value(json_object_get(row, "dir"));
        if (strcmp(name, last) != 0) {
            tokenizer_close(tokenizer);
            weights_hf_card_close(&hf);
            tokenizer = NULL;
            snprintf(last, sizeof(last), "%s", name);
            snprintf(path, sizeof(path), "%s/%s", folder, name);
            if (weights_hf_card_open(&hf, path, NULL, 0, &card, &fault) != STATUS_OK ||
                model_card_open_tokenizer(&tokenizer, &card, &fault) != STATUS_OK)
                print_message("%s is refused: %s\n", name, fault.text);
        }
        if (tokenizer != NULL)
            check_case(tokenizer, row);
        json_decref(row);
    }
    (void)fclose(file);
    tokenizer_close(tokenizer);
    weights_hf_card_close(&hf);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(models_are_as_in_sentencepiece),
        cmocka_unit_test(cases_are_met),
    };
    source_root = argc > 1 ? argv[1] : ".";
    return cmocka_run_group_tests(tests, NULL, NULL);
}
