/* Bodies by table: the values read, and the exact sentence of each refusal. */
#include "test.h"
#include "api/ask.h"

static bool parse(struct api_ask *ask, enum api_ask_kind kind, const char *body,
                  struct api_error *error)
{
    *error = (struct api_error){ 0 };
    return api_ask_parse(ask, kind, view_text(body), false, error);
}

static void test_defaults(void **state)
{
    (void)state;
    struct api_ask ask;
    struct api_error error;
    assert_true(parse(&ask, ASK_COMPLETION, "{\"prompt\":\"h\\u00e9\"}", &error));
    assert_true(ask.n == 1 && ask.n_tokens_max == -1 && ask.n_prompts == 1 && ask.model == NULL);
    assert_true(view_equal_text(ask.prompts[0].text, "h\xC3\xA9") && ask.prompts[0].ids == NULL);
    assert_true(ask.sampling.temperature == 1 && ask.sampling.top_p == 1);
    assert_true(ask.sampling.repetition_penalty == 1 && ask.sampling.n_top_logprobs == -1);
    assert_true(ask.add_special_tokens && ask.skips_special && !ask.has_seed && !ask.streams);
    api_ask_free(&ask);
}

static void test_every_field(void **state)
{
    (void)state;
    struct api_ask ask;
    struct api_error error;
    const char *body =
        "{\"model\":\"m\",\"prompt\":[[1,2],[3.0]],\"temperature\":0.5,\"top_p\":0.25,\"top_k\":-1,"
        "\"min_p\":0.125,\"frequency_penalty\":-1,\"presence_penalty\":2,\"repetition_penalty\":1."
        "5,"
        "\"min_tokens\":3,\"max_tokens\":7,\"n\":2,\"best_of\":2,\"priority\":-5,\"stream\":true,"
        "\"stream_options\":{\"include_usage\":true},\"ignore_eos\":true,\"seed\":-9,\"logprobs\":"
        "4,"
        "\"stop\":[\"a\",\"bc\"],\"stop_token_ids\":[5,6],\"logit_bias\":{\"7\":-100,\"8\":0.5},"
        "\"include_stop_str_in_output\":true,\"skip_special_tokens\":false,"
        "\"add_special_tokens\":false,\"user\":\"x\"}";
    assert_true(parse(&ask, ASK_COMPLETION, body, &error));
    assert_string_equal(ask.model, "m");
    assert_true(ask.n_prompts == 2 && ask.prompts[0].n_ids == 2 && ask.prompts[1].ids[0] == 3);
    assert_true(ask.sampling.temperature == 0.5f && ask.sampling.top_p == 0.25f);
    assert_true(ask.sampling.top_k == 0 && ask.sampling.min_p == 0.125f);
    assert_true(ask.sampling.frequency_penalty == -1 && ask.sampling.presence_penalty == 2);
    assert_true(ask.sampling.repetition_penalty == 1.5f && ask.sampling.n_tokens_min == 3);
    assert_true(ask.n_tokens_max == 7 && ask.n == 2 && ask.has_priority && ask.priority == -5);
    assert_true(ask.streams && ask.include_usage && ask.ignores_eos && ask.has_seed);
    assert_true(ask.seed == -9 && ask.sampling.n_top_logprobs == 4 && ask.wants_logprobs);
    assert_true(ask.n_stops == 2 && view_equal_text(ask.stops[1], "bc"));
    assert_true(ask.n_stop_ids == 2 && ask.stop_ids[1] == 6 && ask.n_biases == 2);
    assert_true(ask.biases[0].id == 7 && ask.biases[1].bias == 0.5f && ask.include_stop);
    assert_true(!ask.skips_special && !ask.add_special_tokens);
    assert_true(api_ask_check(&ask, 9, &error));
    assert_false(api_ask_check(&ask, 8, &error));
    assert_string_equal(error.text, "logit_bias: token id 8 is outside of the vocabulary (0 to 7)");
    api_ask_free(&ask);
}

static void test_chat(void **state)
{
    (void)state;
    struct api_ask ask;
    struct api_error error;
    const char *body =
        "{\"messages\":[{\"role\":\"system\",\"content\":\"be\"},{\"role\":\"user\",\"name\":\"u\","
        "\"content\":[{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"text\",\"text\":\"b\"}]},"
        "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"c\"}]}],"
        "\"max_tokens\":5,\"max_completion_tokens\":6,"
        "\"chat_template_kwargs\":{\"a\":[1,2]},\"reasoning_effort\":\"low\",\"logprobs\":true,"
        "\"top_logprobs\":3,\"tools\":[],\"tool_choice\":\"auto\","
        "\"functions\":[],\"function_call\":\"none\"}";
    assert_true(parse(&ask, ASK_CHAT, body, &error));
    assert_true(ask.n_messages == 3 && ask.n_tokens_max == 6 && ask.add_generation_prompt);
    assert_string_equal(ask.messages[1].content, "ab");
    assert_int_equal(ask.messages[1].n_parts, 2);
    assert_string_equal(ask.messages[1].parts[1], "b");
    assert_null(ask.messages[0].parts);
    assert_string_equal(ask.messages[1].name, "u");
    assert_null(ask.messages[2].content);
    assert_true(ask.messages[2].is_null);
    assert_string_equal(ask.messages[2].more_json, "{\"tool_calls\":[{\"id\":\"c\"}]}");
    assert_null(ask.messages[1].more_json);
    assert_string_equal(ask.kwargs_json, "{\"a\":[1,2],\"reasoning_effort\":\"low\"}");
    assert_int_equal(ask.sampling.n_top_logprobs, 3);
    api_ask_free(&ask);
}

/* Null, no content and a text are three cases. Further members stay with their message. */
static void test_contents(void **state)
{
    (void)state;
    static const struct {
        const char *message, *content, *more;
        bool is_null;
    } rows[] = {
        { "\"content\":null", NULL, NULL, true },
        { "\"name\":null", NULL, NULL, false },
        { "\"content\":\"\"", "", NULL, false },
        { "\"content\":[]", "", NULL, false },
        { "\"content\":\"a\",\"reasoning_content\":\"r\",\"refusal\":null", "a",
          "{\"reasoning_content\":\"r\"}", false },
        { "\"content\":\"a\",\"tool_calls\":[],\"x\":{\"y\":[1.5]}", "a", "{\"x\":{\"y\":[1.5]}}",
          false },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct api_ask ask;
        struct api_error error;
        char body[256];
        snprintf(body, sizeof(body), "{\"messages\":[{\"role\":\"user\",%s}]}", rows[i].message);
        assert_true(parse(&ask, ASK_CHAT, body, &error));
        const struct chat_message *message = &ask.messages[0];
        assert_true(message->is_null == rows[i].is_null);
        assert_true((message->content == NULL) == (rows[i].content == NULL));
        if (rows[i].content != NULL)
            assert_string_equal(message->content, rows[i].content);
        assert_true((message->more_json == NULL) == (rows[i].more == NULL));
        if (rows[i].more != NULL)
            assert_string_equal(message->more_json, rows[i].more);
        api_ask_free(&ask);
    }
}

static void test_sentences(void **state)
{
    (void)state;
    static const struct {
        enum api_ask_kind kind;
        const char *body, *param, *text;
    } rows[] = {
        { ASK_COMPLETION, "", "", "the body is empty, a JSON object was expected" },
        { ASK_COMPLETION, "[1]", "", "the body must be a JSON object" },
        { ASK_COMPLETION, "{\"prompt\":\"a\",\"n\":0}", "n",
          "n must be an integer between 1 and 128, got 0" },
        { ASK_COMPLETION, "{\"prompt\":\"a\",\"top_k\":\"x\"}", "top_k",
          "top_k must be an integer between -1 and 1048576" },
        { ASK_COMPLETION, "{\"prompt\":\"a\",\"temperature\":2.5}", "temperature",
          "temperature must be between 0 and 2, got 2.5" },
        { ASK_COMPLETION, "{\"prompt\":\"a\",\"top_p\":0}", "top_p",
          "top_p must be above 0 and at most 1" },
        { ASK_COMPLETION, "{\"prompt\":\"a\",\"stream\":1}", "stream",
          "stream must be true or false" },
        { ASK_COMPLETION, "{\"prompt\":\"a\",\"min_tokens\":9,\"max_tokens\":8}", "min_tokens",
          "min_tokens (9) is above max_tokens (8)" },
        { ASK_COMPLETION, "{\"prompt\":\"a\",\"best_of\":3}", "best_of",
          "best_of other than n is not supported (best_of 3, n 1)" },
        { ASK_COMPLETION, "{\"prompt\":\"a\",\"suffix\":\"b\"}", "suffix",
          "suffix is not supported" },
        { ASK_COMPLETION, "{\"prompt\":\"a\",\"repeat_penalty\":1.1}", "repeat_penalty",
          "repeat_penalty is not supported: it is called repetition_penalty here" },
        { ASK_COMPLETION, "{\"prompt\":[1,\"a\"]}", "prompt", "prompt: item 1 is not a token id" },
        { ASK_COMPLETION, "{\"prompt\":[\"a\",1]}", "prompt",
          "prompt: item 1 is neither a string nor an array" },
        { ASK_COMPLETION, "{\"prompt\":\"a\",\"stop\":[\"\"]}", "stop",
          "stop must hold strings that are not empty" },
        { ASK_CHAT,
          "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"}],\"thinking\":{\"type\":"
          "\"disabled\"}}",
          "thinking",
          "thinking.type must be \"enabled\" or absent: to turn reasoning off, set enable_thinking "
          "to false" },
        { ASK_CHAT,
          "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"}],\"reasoning\":{\"effort\":\"low\"}"
          "}",
          "reasoning",
          "reasoning.effort is not supported, only max_tokens: reasoning_effort and "
          "enable_thinking "
          "are fields of their own" },
        { ASK_CHAT, "{\"messages\":[{\"role\":\"me\"}]}", "messages",
          "messages[0].role must be system, developer, user, assistant or tool" },
        { ASK_CHAT, "{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"image_url\"}]}]}",
          "messages",
          "messages[0].content[0]: only parts of type \"text\" are supported, got \"image_url\"" },
        { ASK_CHAT, "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"}],\"tools\":[{}]}",
          "tools", "tools[0].type must be \"function\", got \"\"" },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct api_ask ask;
        struct api_error error;
        assert_false(parse(&ask, rows[i].kind, rows[i].body, &error));
        assert_string_equal(error.text, rows[i].text);
        assert_string_equal(error.param, rows[i].param);
        assert_int_equal(error.status, 400);
        api_ask_free(&ask);
    }
}

static void test_stop_strings_are_short(void **state)
{
    (void)state;
    for (int n = LIMIT_STOP_BYTES; n <= LIMIT_STOP_BYTES + 1; n++) {
        struct api_ask ask;
        struct api_error error;
        struct str body;
        str_init(&body);
        str_printf(&body, "{\"prompt\":\"a\",\"stop\":\"%0*d\"}", n, 0);
        assert_int_equal(parse(&ask, ASK_COMPLETION, body.at, &error), n == LIMIT_STOP_BYTES);
        if (n > LIMIT_STOP_BYTES)
            assert_string_equal(error.text,
                                "stop may hold strings of up to 1024 bytes, got one of 1025");
        api_ask_free(&ask);
        str_free(&body);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),  cmocka_unit_test(test_every_field),
        cmocka_unit_test(test_chat),      cmocka_unit_test(test_contents),
        cmocka_unit_test(test_sentences), cmocka_unit_test(test_stop_strings_are_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
