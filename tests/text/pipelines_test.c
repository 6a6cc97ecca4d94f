/* Random tokenizer.json files and the library's answers, which tools/tokenizer_sample.py stored. */
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "serve/model_card.h"
#include "weights/hf_card.h"
#include "test.h"
#include <jansson.h>
#include <unistd.h>

#define SAMPLE SOURCE_ROOT "/tests/golden/data/tokenizers/pipelines.jsonl"

enum { MODELS_MAX = 64 };
static struct {
    json_t *models[MODELS_MAX], *texts;
    int n_models;
    char directory[64];
    int n_equal, n_refused, n_failed, n_texts;
} sample = { .directory = "/tmp/pipelines_test.XXXXXX" };

static struct view view_json(const json_t *text)
{
    return view_of(json_string_value(text), json_string_length(text));
}

static bool is_list(const json_t *wanted, const int32_t *ids, int32_t n)
{
    bool is_equal = n >= 0 && json_array_size(wanted) == (size_t)n;
    for (int32_t i = 0; i < n && is_equal; i++)
        is_equal = json_integer_value(json_array_get(wanted, (size_t)i)) == ids[i];
    return is_equal;
}

/* A row is [text, ids, ids with special tokens as text or null]. */
static bool encodes(const struct tokenizer *tokenizer, const json_t *row)
{
    struct view text =
        view_json(json_array_get(sample.texts, (size_t)json_integer_value(json_array_get(row, 0))));
    const json_t *wanted = json_array_get(row, 1), *as_text = json_array_get(row, 2);
    size_t n_max = tokenizer_ids_max(tokenizer, text.n);
    int32_t *ids = mem_take(n_max * sizeof(*ids));
    int32_t n = tokenizer_encode(tokenizer, text, TOKENIZER_PARSE_SPECIAL, ids, (int32_t)n_max);
    bool is_equal = is_list(wanted, ids, n);
    n = tokenizer_encode(tokenizer, text, 0, ids, (int32_t)n_max);
    is_equal = is_equal && is_list(json_is_null(as_text) ? wanted : as_text, ids, n);
    mem_give(ids);
    sample.n_texts++;
    if (!is_equal)
        print_error("differs: \"%.*s\"\n", (int)text.n, text.at);
    return is_equal;
}

/* A row is [ids, text, text without special tokens]. */
static bool decodes(const struct tokenizer *tokenizer, const json_t *row)
{
    const json_t *list = json_array_get(row, 0);
    size_t n = json_array_size(list);
    int32_t *ids = mem_take((n + 1) * sizeof(*ids));
    bool is_equal = true;
    struct str out;
    str_init(&out);
    for (size_t i = 0; i < n; i++)
        ids[i] = (int32_t)json_integer_value(json_array_get(list, i));
    for (size_t skips = 0; skips < 2; skips++) {
        str_clear(&out);
        str_add_text(&out, "");
        tokenizer_decode(tokenizer, ids, (int32_t)n, skips == 0, &out);
        is_equal = is_equal &&
                   view_equal(view_of(out.at, out.n), view_json(json_array_get(row, 1 + skips)));
    }
    if (!is_equal)
        print_error("reads \"%s\"\n", out.at);
    str_free(&out);
    mem_give(ids);
    return is_equal;
}

/* Writes the tokenizer.json of a line, with its assembled model. */
static void write_tokenizer(json_t *spec, char *path, size_t n_path)
{
    json_t *model = json_incref(json_object_get(spec, "model"));
    json_t *whole = json_deep_copy(sample.models[json_integer_value(json_array_get(model, 0))]);
    json_object_update(whole, json_array_get(model, 1));
    json_object_set_new(spec, "model", whole);
    json_decref(model);
    (void)snprintf(path, n_path, "%s/tokenizer.json", sample.directory);
    assert_int_equal(json_dump_file(spec, path, JSON_COMPACT), 0);
}

static void check_line(json_t *line)
{
    char path[128];
    struct fault fault = { "" };
    struct weights_hf_card hf;
    struct weights_card card;
    struct tokenizer *tokenizer = NULL;
    size_t i;
    const json_t *row;
    bool is_equal = true;
    write_tokenizer(json_object_get(line, "spec"), path, sizeof(path));
    enum status status = weights_hf_card_open(&hf, sample.directory, NULL, 0, &card, &fault);
    if (status == STATUS_OK)
        status = model_card_open_tokenizer(&tokenizer, &card, &fault);
    if (status == STATUS_OK) {
        json_array_foreach(json_object_get(line, "answers"), i, row)
            is_equal = encodes(tokenizer, row) && is_equal;
        json_array_foreach(json_object_get(line, "decoded"), i, row)
            is_equal = decodes(tokenizer, row) && is_equal;
    }
    sample.n_refused += status != STATUS_OK;
    sample.n_failed += !is_equal;
    sample.n_equal += status == STATUS_OK && is_equal;
    assert_true(status == STATUS_OK || fault.text[0] != '\0');
    tokenizer_close(tokenizer);
    weights_hf_card_close(&hf);
    unlink(path);
}

static void agrees_with_the_library(void **state)
{
    (void)state;
    char *content = NULL;
    size_t n_bytes = 0;
    FILE *file = fopen(SAMPLE, "r");
    assert_non_null(file);
    assert_non_null(mkdtemp(sample.directory));
    while (getline(&content, &n_bytes, file) > 0) {
        json_t *line = json_loads(content, 0, NULL);
        if (json_object_get(line, "model") != NULL && sample.n_models < MODELS_MAX)
            sample.models[sample.n_models++] = json_incref(json_object_get(line, "model"));
        else if (json_object_get(line, "texts") != NULL)
            sample.texts = json_incref(json_object_get(line, "texts"));
        else
            check_line(line);
        json_decref(line);
    }
    free(content);
    fclose(file);
    rmdir(sample.directory);
    for (int i = 0; i < sample.n_models; i++)
        json_decref(sample.models[i]);
    json_decref(sample.texts);
    print_message("%d tokenizers equal over %d texts, %d refused, %d different\n", sample.n_equal,
                  sample.n_texts, sample.n_refused, sample.n_failed);
    assert_int_equal(sample.n_failed, 0);
    assert_true(sample.n_equal >= 40 && sample.n_equal > 4 * sample.n_refused);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(agrees_with_the_library) };
    log_set(LOG_ERROR, false);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
