/* The table of split patterns: every row compiles, names are found whole. */
#include "test.h"
#include "text/patterns.h"
#include "text/regex.h"

static void every_pattern_compiles(void **state)
{
    (void)state;
    static const char *const names[] = {
        "gpt-2",       "llama-bpe",   "qwen2",  "qwen35", "deepseek-llm", "deepseek-coder",
        "deepseek-v3", "starcoder",   "falcon", "tekken", "gpt-4o",       "bailingmoe",
        "bloom",       "chatglm-bpe", "phi-2",  "opt",    "llama3",
    };
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        int n_stages = 0;
        bool is_known = false;
        const char *const *stages = text_patterns_find(names[i], &n_stages, &is_known);
        assert_true(is_known && n_stages > 0);
        for (int k = 0; k < n_stages; k++) {
            struct regex regex;
            struct fault fault = { "" };
            if (regex_open(&regex, view_text(stages[k]), &fault) != STATUS_OK)
                fail_msg("%s: %s", names[i], fault.text);
            regex_close(&regex);
        }
    }
}

static void unknown_names_get_the_default(void **state)
{
    (void)state;
    static const char *const unknown[] = { "", "gpt", "gpt-2 gpt2", "llama", NULL };
    int n_stages;
    bool is_known;
    const char *const *stages = text_patterns_find("gpt-2", &n_stages, &is_known);
    for (size_t i = 0; i < COUNT_OF(unknown); i++) {
        assert_ptr_equal(text_patterns_find(unknown[i], &n_stages, &is_known), stages);
        assert_false(is_known);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pattern_compiles),
        cmocka_unit_test(unknown_names_get_the_default),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
