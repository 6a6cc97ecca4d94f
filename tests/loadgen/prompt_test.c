/* Prompts and bodies: the bytes sent have the intended meaning. */
#include "../test.h"
#include "loadgen/prompt.h"
#include <jansson.h>

static void ids_stay_in_the_vocabulary(void **state)
{
    (void)state;
    for (int32_t token = 0; token < 40000; token += 7) {
        int32_t id = loadgen_prompt_id(token, 256);
        assert_true(id >= 3 && id < 256);
        assert_int_equal(loadgen_prompt_id(token, 4), 3);
    }
}

static void words_are_as_many_and_seeded(void **state)
{
    const int32_t tokens[] = { 0, 1, 256, 5 };
    struct str text;
    (void)state;
    str_init(&text);
    loadgen_prompt_text(tokens, 4, 6, &text);
    assert_string_equal(text.at, "the of the in the of"); /* from the start again */
    str_free(&text);
}

static void a_body_is_json(void **state)
{
    const int32_t tokens[] = { 0, 300 };
    struct str body;
    (void)state;
    for (int form = LOADGEN_TEXT; form <= LOADGEN_CHAT; form++) {
        const struct loadgen_ask ask = { .model = "a\"b",
                                         .form = (enum loadgen_form)form,
                                         .tokens = tokens,
                                         .n_prompt = 2,
                                         .n_output = 9,
                                         .n_tokens_max = 9,
                                         .seed = 77,
                                         .ignores_eos = form == 1 };
        str_init(&body);
        loadgen_prompt_body(&ask, "x\ny", 256, &body);
        json_t *root = json_loadb(body.at, body.n, JSON_REJECT_DUPLICATES, NULL);
        assert_string_equal(json_string_value(json_object_get(root, "model")), "a\"b");
        const json_t *prompt = json_object_get(root, "prompt");
        const json_t *said = json_array_get(json_object_get(root, "messages"), 0);
        if (form == LOADGEN_CHAT) {
            assert_string_equal(json_string_value(json_object_get(said, "role")), "user");
            assert_string_equal(json_string_value(json_object_get(said, "content")), "x\ny");
            assert_null(prompt);
        } else if (form == LOADGEN_TEXT)
            assert_string_equal(json_string_value(prompt), "x\ny");
        else
            assert_int_equal(json_integer_value(json_array_get(prompt, 1)), 50); /* 3 + 300 % 253 */
        assert_int_equal(json_integer_value(json_object_get(root, "max_tokens")), 9);
        assert_int_equal(json_is_true(json_object_get(root, "ignore_eos")), form == 1);
        assert_true(json_is_true(json_object_get(root, "stream")));
        assert_null(json_object_get(root, "min_tokens"));
        json_decref(root);
        str_free(&body);
    }
}

/* The bound is the same for many requests, so a predictor of lengths cannot read an answer's length
 * from it. */
static void an_answer_ends_by_a_token_that_must_come(void **state)
{
    const int32_t token = 0;
    struct str body;
    (void)state;
    for (int32_t n_output = 1; n_output < 4; n_output++) {
        const struct loadgen_ask ask = { .model = "m",
                                         .form = LOADGEN_IDS,
                                         .tokens = &token,
                                         .n_prompt = 1,
                                         .n_output = n_output,
                                         .n_tokens_max = 500,
                                         .ends_by_stop = true,
                                         .ignores_eos = true };
        str_init(&body);
        loadgen_prompt_body(&ask, "", 256, &body);
        json_t *root = json_loadb(body.at, body.n, JSON_REJECT_DUPLICATES, NULL);
        const json_t *bias = json_object_get(root, "logit_bias");
        const json_t *ids = json_object_get(root, "stop_token_ids");
        assert_int_equal(json_integer_value(json_object_get(root, "max_tokens")), 500);
        assert_int_equal(json_integer_value(json_object_get(root, "min_tokens")), n_output - 1);
        assert_true(json_array_size(ids) == 1 && json_object_size(bias) == 1);
        assert_int_equal(json_integer_value(json_array_get(ids, 0)), LOADGEN_PROMPT_STOP);
        assert_int_equal(json_integer_value(json_object_get(bias, "3")), 100);
        assert_true(json_is_true(json_object_get(root, "ignore_eos")));
        json_decref(root);
        str_free(&body);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_stay_in_the_vocabulary),
        cmocka_unit_test(words_are_as_many_and_seeded),
        cmocka_unit_test(a_body_is_json),
        cmocka_unit_test(an_answer_ends_by_a_token_that_must_come),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
