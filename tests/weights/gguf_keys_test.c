/* The table of GGUF's keys: its rows agree with each other, and the check obeys them. */
#include "weights/refused.h"
#include "weights/build.h"
#include "weights/gguf_keys.h"

static const char *const architectures =
    "llama qwen2 qwen3 phi3 gemma gemma2 gemma3 gpt2 chatglm granite olmo2 internlm2 glm4 smollm3 "
    "starcoder2 stablelm phi2 gptneox falcon command-r cohere2 mixtral olmoe qwen2moe qwen3moe "
    "gpt-oss granitemoe glm4moe deepseek2";

/* Returns the check's result for a file with this number under this key. type is GGUF_F32 or an
 * array of it. */
static enum status checked(struct view architecture, const char *name, float number, bool is_array,
                           struct fault *fault)
{
    struct build b;
    struct weights_gguf gguf;
    char key[128], text[32];
    size_t n;
    build_init(&b);
    snprintf(text, sizeof(text), "%.*s", (int)architecture.n, architecture.at);
    snprintf(key, sizeof(key), "%s.%s", text, name);
    if (is_array)
        build_f32s(&b, key, (const float[]){ number, number }, 2);
    else
        build_f32(&b, key, number);
    unsigned char *bytes = build_end(&b, &n);
    assert_int_equal(weights_gguf_read(&gguf, bytes, n, fault), STATUS_OK);
    enum status status = weights_gguf_keys_check(&gguf, text, text, fault);
    weights_gguf_close(&gguf);
    mem_give(bytes);
    build_free(&b);
    return status;
}

static void check_row(const struct weights_key *row, struct view architecture)
{
    char words[128];
    struct fault fault = { 0 };
    bool is_fixed = row->use == WEIGHTS_KEY_FIXED;
    snprintf(words, sizeof(words), "%s is ", row->name);
    for (int is_array = 0; is_array < 2; is_array++) {
        enum status status = checked(architecture, row->name, 0.125f, is_array == 1, &fault);
        if (is_fixed)
            assert_refused(status, STATUS_UNSUPPORTED, &fault, words);
        else
            assert_int_equal(status, STATUS_OK);
        double usual;
        char text[32];
        snprintf(text, sizeof(text), "%.*s", is_fixed ? (int)strcspn(row->only, "|") : 0,
                 is_fixed ? row->only : "");
        if (is_fixed && parse_f64(text, &usual))
            assert_int_equal(checked(architecture, row->name, (float)usual, is_array == 1, &fault),
                             STATUS_OK);
    }
}

static void heeds_every_row(void **state)
{
    (void)state;
    const struct weights_key *rows = weights_gguf_keys();
    for (const struct weights_key *row = rows; row->name != NULL; row++) {
        const char *families = architectures;
        while (families[0] != '\0') {
            struct view family = view_of(families, strcspn(families, " "));
            families += family.n + (families[family.n] == ' ');
            if (!weights_keys_are_of(row->families, family))
                continue;
            assert_ptr_equal(weights_keys_find(rows, family, view_text(row->name)), row);
            check_row(row, family);
        }
    }
}

/* A name that is in no list here would be a row that no file reaches. */
static void names_known_families(void **state)
{
    (void)state;
    for (const struct weights_key *row = weights_gguf_keys(); row->name != NULL; row++) {
        const char *families = row->families != NULL ? row->families : "";
        families += families[0] == '!';
        while (families[0] != '\0') {
            struct view family = view_of(families, strcspn(families, " "));
            assert_true(weights_keys_hold(architectures, ' ', family));
            families += family.n + (families[family.n] == ' ');
        }
    }
}

static void leaves_the_rest_alone(void **state)
{
    (void)state;
    struct fault fault = { 0 };
    assert_int_equal(checked(view_text("llama"), "something.new", 3, false, &fault), STATUS_OK);
    assert_int_equal(checked(view_text("llam"), "a.logit_scale", 3, false, &fault), STATUS_OK);
    assert_refused(checked(view_text("llama"), "expert_count", 8, false, &fault),
                   STATUS_UNSUPPORTED, &fault, "llama.expert_count is 8, and only 0 is supported");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(heeds_every_row),
        cmocka_unit_test(names_known_families),
        cmocka_unit_test(leaves_the_rest_alone),
    };
    return cmocka_run_group_tests_name("weights/gguf_keys", tests, NULL, NULL);
}
