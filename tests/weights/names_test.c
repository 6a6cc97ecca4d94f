/* The table of names: each row set is complete and free of contradictions. */
#include "test.h"
#include "weights/names.h"

static const char *const names[] = { "llama", "mistral",     "qwen2", "qwen3", "phi3",
                                     "gemma", "gemma3_text", "gpt2",  "opt",   "chatglm" };

static void finds_every_architecture(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        const struct weights_architecture *hf = weights_names_find(names[i], true);
        assert_non_null(hf);
        assert_string_equal(hf->hf_name, names[i]);
        bool is_hf_only = strcmp(names[i], "opt") == 0 || strcmp(names[i], "mistral") == 0;
        assert_true((weights_names_find(hf->name, false) == NULL) == is_hf_only);
    }
    assert_null(weights_names_find("mamba", true));
    assert_null(weights_names_find("", false));
}

static void check_rows(const struct weights_names *set, const struct weights_architecture *row)
{
    bool has[WEIGHTS_ROLE_N] = { false };
    if (set->rows == NULL)
        return;
    assert_non_null(set->prefixes[0]);
    assert_int_equal(set->rows[0].role, WEIGHTS_TOKEN_EMBEDDING);
    for (const struct weights_name *name = set->rows; name->pattern != NULL; name++) {
        if (name->flags & WEIGHTS_NAME_IGNORED)
            continue;
        assert_true(name->role < WEIGHTS_ROLE_N && !has[name->role]);
        has[name->role] = true;
        bool is_layered = strstr(name->pattern, "%d") != NULL;
        assert_true(is_layered == (name->role >= WEIGHTS_ATTENTION_NORM));
        assert_true(strlen(name->pattern) < 100);
    }
    assert_true(has[WEIGHTS_OUTPUT] && has[WEIGHTS_O] && has[WEIGHTS_DOWN]);
    assert_true(has[WEIGHTS_QKV] != has[WEIGHTS_Q] && has[WEIGHTS_Q] == has[WEIGHTS_V]);
    assert_true(row->has_post_norms == has[WEIGHTS_ATTENTION_POST_NORM]);
    assert_true(row->has_post_norms == has[WEIGHTS_FFN_POST_NORM]);
    assert_true(!row->has_qk_norm || (has[WEIGHTS_Q_NORM] && has[WEIGHTS_K_NORM]));
    assert_true(row->is_gated == (has[WEIGHTS_GATE] || has[WEIGHTS_GATE_UP]));
    assert_true((row->gguf_position == POSITION_LEARNED) == has[WEIGHTS_POSITION_EMBEDDING]);
    assert_true((row->norm == NORM_LAYER) == has[WEIGHTS_OUTPUT_NORM_BIAS]);
}

static void rows_are_whole(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        const struct weights_architecture *row = weights_names_find(names[i], true);
        check_rows(&row->gguf, row);
        check_rows(&row->hf, row);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_every_architecture),
        cmocka_unit_test(rows_are_whole),
    };
    return cmocka_run_group_tests_name("weights/names", tests, NULL, NULL);
}
