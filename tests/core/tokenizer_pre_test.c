/* The table of split patterns: names are found whole, and no row is empty or has two. */
#include "test.h"
#include "core/tokenizer_pre.h"

static void names_are_found_whole(void **state)
{
    (void)state;
    static const char *const known[] = { "gpt-2",        "llama-bpe",       "llama3",      "qwen2",
                                         "deepseek-llm", "deepseek-coder",  "deepseek-v3", "smollm",
                                         "tekken",       "gpt-4o",          "chatglm-bpe", "viking",
                                         "seed-coder",   "deepseek-r1-qwen" };
    static const char *const unknown[] = { "",     "gpt",    "gpt-2 phi-2", "llama", "default",
                                           "qwen", "gpt-2x", " ",           NULL };
    for (size_t i = 0; i < COUNT_OF(known); i++) {
        const struct tokenizer_pre *pre = tokenizer_pre_find(known[i]);
        assert_non_null(pre);
        assert_non_null(pre->stages[0]);
        assert_null(pre->stages[TOKENIZER_PRE_STAGES_MAX - 1]);
    }
    for (size_t i = 0; i < COUNT_OF(unknown); i++)
        assert_null(tokenizer_pre_find(unknown[i]));
}

static void settings_follow_the_name(void **state)
{
    (void)state;
    assert_true(tokenizer_pre_find("falcon3")->adds_bos);
    assert_true(tokenizer_pre_find("falcon3")->ignores_merges);
    assert_false(tokenizer_pre_find("smaug-bpe")->ignores_merges);
    assert_true(tokenizer_pre_find("qwen2")->normalizes_nfc);
    assert_ptr_equal(tokenizer_pre_find("llama-bpe"), tokenizer_pre_find("llama3"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_found_whole),
        cmocka_unit_test(settings_follow_the_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
