/* Tokens to text: when text is shown, stop strings over tokens, UTF-8 in pieces, logprobs held
 * too. */
#include "test.h"
#include "tests_toy.h"
#include "api/choice.h"

static bool add_text(struct api_choice *choice, const struct api_choice_rules *rules,
                     const char *text)
{
    struct token_logprobs logprobs = { .logprob = -1 };
    bool is_over = false;
    for (; *text != '\0' && !is_over; text++) {
        assert_true(api_choice_make_room(choice, rules, (unsigned char)*text));
        is_over = api_choice_add(choice, rules, (unsigned char)*text, &logprobs);
    }
    return is_over;
}

static void expect_shown(struct api_choice *choice, const struct api_choice_rules *rules,
                         const char *text)
{
    struct view shown = api_choice_show(choice, rules->stops);
    if (!view_equal_text(shown, text))
        fail_msg("\"%.*s\" was shown, not \"%s\"", (int)shown.n, shown.at, text);
}

static void test_holds_back(void **state)
{
    (void)state;
    struct api_stops stops = { .n = 2, .texts = { view_text("STOP"), view_text("\n\n") } };
    struct api_choice_rules rules = { .stops = &stops, .keeps_tokens = true };
    struct api_choice choice;
    size_t n;
    api_choice_init(&choice, toy_tokenizer, true);
    choice.is_open = true;
    assert_false(add_text(&choice, &rules, "ab ST"));
    expect_shown(&choice, &rules, "ab ");
    (void)api_choice_show_tokens(&choice, &n);
    assert_int_equal(n, 3); /* the held tokens are not returned either */
    assert_false(add_text(&choice, &rules, "AY\xF0\x9F"));
    expect_shown(&choice, &rules, "STAY");
    assert_false(add_text(&choice, &rules, "\x90\x9F\n"));
    expect_shown(&choice, &rules, "\xF0\x9F\x90\x9F");
    (void)api_choice_show_tokens(&choice, &n);
    assert_int_equal(n, 8);
    assert_true(add_text(&choice, &rules, "\n"));
    expect_shown(&choice, &rules, "");
    (void)api_choice_show_tokens(&choice, &n);
    assert_int_equal(n, 0);
    assert_string_equal(choice.finish_reason, "stop");
    assert_int_equal(choice.n_generated, 13);
    api_choice_free(&choice);
}

static void test_ends(void **state)
{
    (void)state;
    struct api_stops stops = { .n = 1, .texts = { view_text("zz") } };
    int32_t stop_ids[] = { 'q', TOY_EOS };
    struct api_choice_rules rules = { .stops = &stops,
                                      .stop_ids = stop_ids,
                                      .n_stop_ids = 2,
                                      .n_client_stop_ids = 1,
                                      .n_tokens_min = 3 };
    struct api_choice choice;
    api_choice_init(&choice, toy_tokenizer, true);
    choice.is_open = true;
    assert_false(add_text(&choice, &rules, "qzz")); /* it cannot end before min_tokens */
    assert_true(add_text(&choice, &rules, "aqb"));
    expect_shown(&choice, &rules, "qzza");
    assert_int_equal(choice.stop_id, 'q');
    api_choice_free(&choice);

    api_choice_init(&choice, toy_tokenizer, true);
    choice.is_open = true;
    assert_false(add_text(&choice, &rules, "abc\xF0\x9Fz"));
    expect_shown(&choice, &rules, "abc\xEF\xBF\xBD"); /* a broken letter; the z may begin a stop */
    api_choice_end(&choice, "length");
    expect_shown(&choice, &rules, "z");
    api_choice_free(&choice);
}

/* A stop string is found over any number of tokens, and a long answer is not searched again. */
static void test_finds_late_stops(void **state)
{
    (void)state;
    struct api_stops stops = { .n = 2, .texts = { view_text("STOP"), view_text("a longer one") } };
    struct api_choice_rules rules = { .stops = &stops };
    struct api_choice choice;
    api_choice_init(&choice, toy_tokenizer, true);
    choice.is_open = true;
    for (int i = 0; i < 300000; i++)
        assert_false(add_text(&choice, &rules, "x"));
    assert_false(add_text(&choice, &rules, "a longer STO"));
    assert_true(add_text(&choice, &rules, "P"));
    assert_int_equal(choice.text.n, 300000 + 9);
    assert_string_equal(choice.stop_text, "STOP");
    api_choice_free(&choice);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_holds_back),
                                        cmocka_unit_test(test_ends),
                                        cmocka_unit_test(test_finds_late_stops) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
