/* Bodies that ask for embeddings and scores: each form, and the sentence of each refusal. */
#include "test.h"
#include "api/embed_ask.h"

typedef bool reader(struct api_ask *ask, const struct api_fields *fields, bool is_strict);

static bool read_body(struct api_ask *ask, reader *form, const char *body, bool is_strict,
                      struct api_error *error)
{
    json_t *object = json_loads(body, 0, NULL);
    assert_non_null(object);
    *error = (struct api_error){ 0 };
    json_incref(object);
    bool is_read = api_ask_read(ask, ASK_EMBED, object, is_strict, error) &&
                   form(ask, &(struct api_fields){ object, error }, is_strict);
    json_decref(object);
    assert_int_equal(is_read, !error->is_set);
    return is_read;
}

static void test_texts(void **state)
{
    (void)state;
    struct api_ask ask;
    struct api_error error;
    assert_true(read_body(&ask, api_embed_ask_openai, "{\"model\":\"m\",\"input\":[\"a\",\"bc\"]}",
                          true, &error));
    assert_int_equal(ask.n_prompts, 2);
    assert_true(view_equal_text(ask.prompts[1].text, "bc"));
    assert_int_equal(api_embed_n_pairs(&ask), 0);
    assert_int_equal(ask.n_tokens_max, 0);
    assert_true(ask.add_special_tokens);
    api_ask_free(&ask);
    assert_true(read_body(&ask, api_embed_ask_openai,
                          "{\"input\":[[1,2],[3]],\"dimensions\":8,\"encoding_format\":\"base64\"}",
                          false, &error));
    assert_int_equal(ask.prompts[0].n_ids, 2);
    assert_true(api_embed_of(&ask)->is_base64 && api_embed_of(&ask)->dimensions == 8);
    api_ask_free(&ask);
}

static void test_pairs(void **state)
{
    (void)state;
    struct api_ask ask;
    struct api_error error;
    assert_true(read_body(&ask, api_embed_ask_rerank,
                          "{\"query\":\"q\",\"documents\":[\"a\",{\"text\":\"b\"}],\"top_n\":1}",
                          true, &error));
    assert_int_equal(api_embed_n_pairs(&ask), 2);
    assert_int_equal(api_embed_of(&ask)->n_first, 1);
    assert_int_equal(api_embed_of(&ask)->n_top, 1);
    assert_true(view_equal_text(ask.prompts[2].text, "b"));
    api_ask_free(&ask);
    assert_true(read_body(&ask, api_embed_ask_score,
                          "{\"text_1\":[\"a\",\"b\"],\"text_2\":[\"c\",\"d\"]}", true, &error));
    assert_int_equal(api_embed_n_pairs(&ask), 2);
    api_ask_free(&ask);
}

static void test_refusals(void **state)
{
    (void)state;
    static const struct {
        reader *form;
        bool is_strict;
        const char *body, *param, *words;
    } rows[] = {
        { api_embed_ask_openai, false, "{}", "input", "input must be a string" },
        { api_embed_ask_openai, false, "{\"input\":\"a\",\"dimensions\":0}", "dimensions", "1" },
        { api_embed_ask_openai, false, "{\"input\":\"a\",\"encoding_format\":\"hex\"}",
          "encoding_format", "hex" },
        { api_embed_ask_openai, false, "{\"input\":\"a\",\"input_type\":\"query\"}", "input_type",
          "put the instruction" },
        { api_embed_ask_openai, false, "{\"input\":\"a\",\"normalize\":false}", "normalize",
          "the model's files say" },
        { api_embed_ask_score, false,
          "{\"text_1\":\"a\",\"text_2\":\"b\",\"use_activation\":false}", "use_activation",
          "not supported" },
        { api_embed_ask_score, true,
          "{\"text_1\":\"a\",\"text_2\":\"b\",\"encoding_format\":\"base64\"}", "encoding_format",
          "unknown field" },
        { api_embed_ask_openai, true, "{\"input\":\"a\",\"query\":\"a\"}", "query",
          "unknown field" },
        { api_embed_ask_openai, false, "{\"input\":\"a\",\"priority\":99999}", "priority",
          "priority" },
        { api_embed_ask_ollama, false, "{\"input\":[1]}", "input", "a string or an array" },
        { api_embed_ask_ollama, false, "{\"input\":\"a\",\"options\":5}", "options", "an object" },
        { api_embed_ask_ollama_one, false, "{\"prompt\":[\"a\"]}", "prompt", "must be a string" },
        { api_embed_ask_rerank, false, "{\"query\":\"a\",\"documents\":\"b\"}", "documents",
          "array" },
        { api_embed_ask_rerank, false, "{\"query\":\"a\",\"documents\":[{\"id\":1}]}", "documents",
          "item 0" },
        { api_embed_ask_rerank, false, "{\"query\":\"a\",\"documents\":[\"b\"],\"top_n\":-1}",
          "top_n", "top_n" },
        { api_embed_ask_rerank, false,
          "{\"query\":\"a\",\"documents\":[\"b\"],\"rank_fields\":[\"x\"]}", "rank_fields",
          "not supported" },
        { api_embed_ask_score, false, "{\"text_1\":[\"a\",\"b\"],\"text_2\":\"c\"}", "text_1",
          "text_1 has 2 texts and text_2 has 1" },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct api_ask ask;
        struct api_error error;
        assert_false(read_body(&ask, rows[i].form, rows[i].body, rows[i].is_strict, &error));
        assert_string_equal(error.param, rows[i].param);
        assert_non_null(strstr(error.text, rows[i].words));
        api_ask_free(&ask);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests_name("api/embed_ask", tests, NULL, NULL);
}
