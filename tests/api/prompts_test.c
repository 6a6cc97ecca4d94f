/* From bodies to ids: models by name, lengths with the arithmetic, empty prompts. */
#include "test.h"
#include "tests_toy.h"
#include "api/prompts.h"
#include "base/time.h"

static const char *const aliases[] = { "other" };
static struct api_model models[] = {
    { .name = "a/b",
      .aliases = aliases,
      .n_aliases = 1,
      .n_context_max = 20,
      .n_vocabulary = 260,
      .bos_id = TOY_BOS },
    { .name = "c", .n_context_max = 100, .n_vocabulary = 260, .bos_id = -1 },
};

static void make(struct api_prompts *prompts, enum api_ask_kind kind, const char *body)
{
    models[0].tokenizer = models[1].tokenizer = toy_tokenizer;
    models[0].chat_template = models[0].chat_fault == NULL ? toy_template : NULL;
    const struct api_options options = { .n_models = 2 };
    const struct api_catalog catalog = { .n = 2, .models = { &models[0], &models[1] } };
    static struct api_family family;
    family.kind = kind;
    (void)api_prompts_make(prompts, &family, view_text(body), NULL, &options, &catalog);
}

static void test_lengths(void **state)
{
    (void)state;
    static const struct {
        enum api_ask_kind kind;
        const char *body;
        int32_t n_prompt, n_tokens_max;
        const char *text;
    } rows[] = {
        { ASK_COMPLETION, "{\"model\":\"c\",\"prompt\":\"abc\"}", 4, 16, "" },
        { ASK_COMPLETION, "{\"model\":\"other\",\"prompt\":\"0123456789\"}", 11, 9, "" },
        { ASK_COMPLETION, "{\"model\":\"a/b\",\"prompt\":\"\",\"add_special_tokens\":false}", 1, 16,
          "" },
        { ASK_COMPLETION, "{\"model\":\"c\",\"prompt\":\"\",\"add_special_tokens\":false}", 0, 0,
          "the prompt has no tokens" },
        { ASK_CHAT,
          "{\"model\":\"a/b\",\"messages\":[{\"role\":\"user\",\"content\":\"\"}],"
          "\"add_generation_prompt\":false}",
          8, 12, "" },
        { ASK_COMPLETION, "{\"model\":\"a/b\",\"prompt\":\"01234\",\"max_tokens\":15}", 6, 15,
          "this model's maximum context length is 20 tokens, but 21 were requested: 6 in the "
          "prompt "
          "and 15 to generate" },
        { ASK_COMPLETION, "{\"model\":\"a/b\",\"prompt\":\"0123456789012345678901\"}", 0, 0,
          "this model's maximum context length is 20 tokens, but the prompt alone holds more" },
        { ASK_COMPLETION, "{\"model\":\"d\",\"prompt\":\"a\"}", 0, 0,
          "the model \"d\" does not exist here: GET /v1/models lists those that do" },
        { ASK_COMPLETION, "{\"prompt\":\"a\"}", 0, 0,
          "model is missing, and this server has 2 of them" },
        { ASK_CHAT, "{\"model\":\"c\",\"messages\":[{\"role\":\"user\",\"content\":\"\"}]}", 0, 0,
          "the model \"c\" has no chat template, use /v1/completions" },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct api_prompts prompts;
        make(&prompts, rows[i].kind, rows[i].body);
        assert_string_equal(prompts.error.text, rows[i].text);
        if (rows[i].text[0] == '\0') {
            assert_int_equal(prompts.of[0].n, rows[i].n_prompt);
            assert_int_equal(prompts.n_tokens_max, rows[i].n_tokens_max);
        }
        api_prompts_free(&prompts);
    }
}

/* A template that cannot be read is not a missing one: clients learn which construct is the
 * cause. */
static void test_a_template_that_cannot_be_used(void **state)
{
    (void)state;
    struct api_prompts prompts;
    models[0].chat_fault = "line 3: the tag 'include' is not supported";
    make(&prompts, ASK_CHAT,
         "{\"model\":\"a/b\",\"messages\":[{\"role\":\"user\",\"content\":\"a\"}]}");
    assert_string_equal(prompts.error.text,
                        "the chat template of the model \"a/b\" cannot be used: line 3: the tag "
                        "'include' is not supported; /v1/completions still works");
    assert_int_equal(prompts.error.status, 400);
    api_prompts_free(&prompts);
    make(&prompts, ASK_COMPLETION, "{\"model\":\"a/b\",\"prompt\":\"a\"}");
    assert_false(prompts.error.is_set);
    api_prompts_free(&prompts);
    models[0].chat_fault = NULL;
}

static void test_a_template_that_refuses(void **state)
{
    (void)state;
    struct api_prompts prompts;
    make(&prompts, ASK_CHAT,
         "{\"model\":\"a/b\",\"messages\":[{\"role\":\"tool\",\"content\":\"a\"}]}");
    assert_string_equal(prompts.error.text, "chat template: this toy knows no tools");
    api_prompts_free(&prompts);
}

/* The size of an answer is known before it begins. */
static void test_answers_of_too_many_bytes(void **state)
{
    (void)state;
    static const struct {
        const char *fields;
        int64_t n_echo_bytes;
        const char *text;
    } rows[] = {
        { "\"prompt\":\"abc\",\"n\":5,\"echo\":true", 15, "" },
        { "\"prompt\":[[97,98,99],[100]],\"n\":5,\"echo\":true", 20, "" },
        { "\"prompt\":\"abc\",\"n\":5", 0, "" },
        { "\"prompt\":\"a\\\"\\u0001\",\"n\":5,\"echo\":true", 45, "" },
        { "\"prompt\":\"%0*d\",\"n\":16,\"echo\":true", 8 << 20, "" },
        { "\"prompt\":\"%0*d\",\"n\":18,\"echo\":true", 9 << 20,
          "echo would repeat 9437184 bytes of prompts in one answer, and at most 8388608 are "
          "repeated" },
        { "\"prompt\":\"a\",\"n\":1,\"logprobs\":5,\"max_tokens\":1000000", 0, "" },
        { "\"prompt\":\"a\",\"n\":3,\"logprobs\":5,\"max_tokens\":1000000", 0,
          "logprobs of up to 3000000 tokens with 5 alternatives each are too much for one answer: "
          "at most 1118481 tokens, of all choices, may have so many" },
        { "\"prompt\":\"a\",\"n\":128,\"max_tokens\":1000000", 0, "" },
    };
    models[1].n_context_max = LIMIT_CONTEXT;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct api_prompts prompts;
        struct str body;
        str_init(&body);
        str_add_text(&body, "{\"model\":\"c\",\"add_special_tokens\":false,");
        const char *digits = strstr(rows[i].fields, "%0*d");
        if (digits != NULL) {
            str_add(&body, rows[i].fields, (size_t)(digits - rows[i].fields));
            str_printf(&body, "%0*d", 1 << 19, 0);
            str_add_text(&body, digits + strlen("%0*d"));
        } else {
            str_add_text(&body, rows[i].fields);
        }
        str_add_text(&body, "}");
        make(&prompts, ASK_COMPLETION, body.at);
        assert_string_equal(prompts.error.text, rows[i].text);
        assert_int_equal(prompts.n_echo_bytes, rows[i].n_echo_bytes);
        api_prompts_free(&prompts);
        str_free(&body);
    }
    models[1].n_context_max = 100;
}

/* Even a long text that occurs everywhere is found missing quickly. */
static void test_a_last_message_that_is_not_shown_is_missed_soon(void **state)
{
    (void)state;
    struct api_prompts prompts;
    struct str body;
    str_init(&body);
    str_printf(&body,
               "{\"model\":\"a/b\",\"continue_final_message\":true,\"messages\":["
               "{\"role\":\"user\",\"content\":\"%0*d\"},"
               "{\"role\":\"assistant\",\"content\":\"%0*d</think>%0*d\"}]}",
               4000000, 0, 2000000, 0, 2000000, 0);
    int64_t begun_ns = time_now_ns();
    make(&prompts, ASK_CHAT, body.at);
    assert_true(time_now_ns() - begun_ns < 20 * TIME_NS_PER_S);
    assert_string_equal(prompts.error.text,
                        "the model's chat template does not show the last message as it is");
    api_prompts_free(&prompts);
    str_free(&body);
}

static void test_a_last_message_is_continued(void **state)
{
    (void)state;
    struct api_prompts prompts;
    make(&prompts, ASK_CHAT,
         "{\"model\":\"a/b\",\"continue_final_message\":true,\"messages\":["
         "{\"role\":\"assistant\",\"content\":\" ab \"}]}");
    assert_string_equal(prompts.error.text, "");
    assert_int_equal(prompts.of[0].n, 1 + strlen("assistant:  ab"));
    api_prompts_free(&prompts);
    make(&prompts, ASK_CHAT,
         "{\"model\":\"a/b\",\"continue_final_message\":true,\"messages\":["
         "{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"ab\"},"
         "{\"type\":\"text\",\"text\":\"cd\"}]}]}");
    assert_string_equal(prompts.error.text, "");
    assert_int_equal(prompts.of[0].n, 1 + strlen("assistant: abcd"));
    api_prompts_free(&prompts);
    make(&prompts, ASK_CHAT,
         "{\"model\":\"a/b\",\"continue_final_message\":true,\"messages\":["
         "{\"role\":\"assistant\",\"content\":\" \"}]}");
    assert_string_equal(prompts.error.text,
                        "the model's chat template does not show the last message as it is");
    api_prompts_free(&prompts);
}

/* A prompt of text and one of ids: tokens, the client's stop ids before the model's, biases. */
static void test_bodies_are_as_they_are_submitted(void **state)
{
    (void)state;
    static const int32_t eog_ids[] = { TOY_EOS };
    static const int32_t tokens[][4] = { { TOY_BOS, 'a', 'b' }, { 'x', 'y', 'z', 7 } };
    static const int32_t n_tokens[] = { 3, 4 };
    static const char *const prompts_of[] = { "\"ab\"", "[120,121,122,7]" };
    char text[256];
    models[0].eog_ids = eog_ids;
    models[0].n_eog = 1;
    for (int i = 0; i < 4; i++) {
        bool ignores = i / 2 == 1;
        struct api_prompts prompts;
        snprintf(text, sizeof(text),
                 "{\"model\":\"a/b\",\"prompt\":%s,\"stop_token_ids\":[113,114],"
                 "\"logit_bias\":{\"65\":-3},\"ignore_eos\":%s,\"temperature\":0.5}",
                 prompts_of[i % 2], ignores ? "true" : "false");
        make(&prompts, ASK_COMPLETION, text);
        assert_string_equal(prompts.error.text, "");
        const struct request_body *body = prompts.of[0].body;
        assert_true(request_body_is_valid(body, body->n_bytes, 260));
        assert_int_equal(body->n_tokens, n_tokens[i % 2]);
        assert_int_equal(prompts.of[0].n, n_tokens[i % 2]);
        assert_memory_equal(request_body_tokens(body), tokens[i % 2],
                            sizeof(int32_t) * body->n_tokens);
        assert_int_equal(body->n_stop_ids, ignores ? 2 : 3);
        assert_int_equal(request_body_stop_ids(body)[0], 113);
        assert_int_equal(request_body_stop_ids(body)[1], 114);
        assert_true(ignores || request_body_stop_ids(body)[2] == TOY_EOS);
        assert_int_equal(body->n_biases, 1);
        assert_int_equal(request_body_biases(body)[0].id, 65);
        assert_true(body->sampling.temperature == 0.5F);
        api_prompts_sent(&prompts);
        assert_null(prompts.of[0].body);
        assert_int_equal(prompts.of[0].n, n_tokens[i % 2]); /* it is still counted */
        api_prompts_free(&prompts);
    }
    models[0].eog_ids = NULL;
    models[0].n_eog = 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_a_template_that_cannot_be_used),
        cmocka_unit_test(test_a_template_that_refuses),
        cmocka_unit_test(test_answers_of_too_many_bytes),
        cmocka_unit_test(test_a_last_message_that_is_not_shown_is_missed_soon),
        cmocka_unit_test(test_a_last_message_is_continued),
        cmocka_unit_test(test_bodies_are_as_they_are_submitted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
