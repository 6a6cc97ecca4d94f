/* The table of config.json's keys: its rows agree with each other, and the check obeys them. */
#include "weights/refused.h"
#include "base/mem.h"
#include "weights/hf_keys.h"
#include "weights/hf_spec.h"

static enum status spec_of(const char *text, struct model_spec *spec, struct fault *fault)
{
    struct weights_json json;
    const struct weights_architecture *architecture;
    assert_int_equal(
        weights_json_parse(&json, mem_copy_text(text), strlen(text), "config.json", fault),
        STATUS_OK);
    enum status status = weights_hf_spec(json.nodes, spec, &architecture, fault);
    weights_json_close(&json);
    return status;
}

#define SIZES                                                                                      \
    "\"num_hidden_layers\":2,\"hidden_size\":64,\"num_attention_heads\":4,"                        \
    "\"intermediate_size\":96,\"max_position_embeddings\":256,\"vocab_size\":512"
#define GEMMA(more)  "{\"model_type\":\"gemma\",\"num_key_value_heads\":1," SIZES more "}"
#define GEMMA3(more) "{\"model_type\":\"gemma3_text\",\"num_key_value_heads\":1," SIZES more "}"
#define OPT(more)                                                                                  \
    "{\"model_type\":\"opt\",\"num_hidden_layers\":2,\"hidden_size\":64,"                          \
    "\"num_attention_heads\":4,\"ffn_dim\":96,\"max_position_embeddings\":256,"                    \
    "\"vocab_size\":512" more "}"
#define GPT2(more)                                                                                 \
    "{\"model_type\":\"gpt2\",\"n_layer\":2,\"n_embd\":64,\"n_head\":4,\"n_positions\":256,"       \
    "\"vocab_size\":512" more "}"
#define CHATGLM(more)                                                                              \
    "{\"model_type\":\"chatglm\",\"num_layers\":2,\"hidden_size\":64,"                             \
    "\"num_attention_heads\":4,\"kv_channels\":16,\"ffn_hidden_size\":96,"                         \
    "\"seq_length\":256,\"padded_vocab_size\":512" more "}"

static const char *start_of(struct view family)
{
    static const struct {
        const char *family, *text;
    } rows[] = {
        { "gpt2", GPT2("") },          { "opt", OPT("") },
        { "chatglm", CHATGLM("") },    { "gemma", GEMMA("") },
        { "gemma3_text", GEMMA3("") },
    };
    static char text[1024];
    bool is_latent = weights_keys_hold("deepseek_v2 deepseek_v3", ' ', family); /* no groups */
    static const char more[] = ",\"moe_intermediate_size\":32,"
                               "\"shared_expert_intermediate_size\":64,"
                               "\"shared_intermediate_size\":64";
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (view_equal_text(family, rows[i].family))
            return rows[i].text;
    bool is_mixed = weights_keys_hold("qwen2_moe qwen3_moe glm4_moe granitemoeshared", ' ', family);
    snprintf(text, sizeof(text),
             "{\"model_type\":\"%.*s\",\"num_key_value_heads\":%d," SIZES "%s%s}", (int)family.n,
             family.at, is_latent ? 4 : 2, is_mixed || is_latent ? more : "",
             is_latent ? ",\"num_experts_per_tok\":2,\"first_k_dense_replace\":1" : "");
    return text;
}

/* A config of this family with one more key. */
static enum status with_key(struct view family, const char *key, const char *value,
                            struct fault *fault)
{
    char text[2048];
    struct model_spec spec;
    const char *start = start_of(family);
    snprintf(text, sizeof(text), "%.*s,\"%s\":%s}", (int)strlen(start) - 1, start, key, value);
    return spec_of(text, &spec, fault);
}

static const char *const all =
    "llama mistral qwen2 qwen3 phi3 gemma gemma2 gemma3_text gpt2 opt chatglm granite smollm3 "
    "cohere cohere2 gpt_neox stablelm falcon internlm2 olmo2 olmo3 glm glm4 starcoder2 phi mixtral "
    "olmoe qwen2_moe qwen3_moe gpt_oss granitemoe granitemoeshared glm4_moe deepseek_v2 "
    "deepseek_v3 bert roberta "
    "xlm-roberta";

/* For each row of the table in each of its families: the values that it allows pass, and the
 * refusal of others names key and value. */
static void heeds_every_fixed_key(void **state)
{
    (void)state;
    static const char *const others[] = { "true", "0.125", "\"x\"", "[1]", "{\"a\":1}", "false" };
    int n_refused = 0;
    for (const struct weights_key *row = weights_hf_keys(); row->name != NULL; row++) {
        const char *families = all;
        while (row->use == WEIGHTS_KEY_FIXED && families[0] != '\0') {
            struct fault fault = { 0 };
            struct view family = view_of(families, strcspn(families, " "));
            families += family.n + (families[family.n] == ' ');
            if (!weights_keys_are_of(row->families, family))
                continue;
            for (size_t i = 0; i < COUNT_OF(others); i++) {
                char words[128];
                if (weights_keys_hold(row->only, '|', view_text(others[i])))
                    continue;
                snprintf(words, sizeof(words), "config.json: %s is ", row->name);
                assert_refused(with_key(family, row->name, others[i], &fault), STATUS_UNSUPPORTED,
                               &fault, words);
                n_refused++;
            }
            for (const char *only = row->only; only != NULL;) {
                char value[32];
                size_t n = strcspn(only, "|");
                bool is_word = weights_keys_hold("null|true|false", '|', view_of(only, n));
                bool is_text = !is_word && only[0] >= 'a' && only[0] <= 'z';
                const char *quote = is_text ? "\"" : "";
                snprintf(value, sizeof(value), "%s%.*s%s", quote, (int)n, only, quote);
                if (with_key(family, row->name, value, &fault) != STATUS_OK)
                    fail_msg("%s", fault.text);
                only = only[n] == '|' ? only + n + 1 : NULL;
            }
        }
    }
    assert_true(n_refused > 1000);
}

/* A name that is in no list here would be a row that no file reaches. */
static void names_known_families(void **state)
{
    (void)state;
    for (const struct weights_key *row = weights_hf_keys(); row->name != NULL; row++) {
        const char *families = row->families != NULL ? row->families : "";
        families += families[0] == '!';
        while (families[0] != '\0') {
            struct view family = view_of(families, strcspn(families, " "));
            assert_true(weights_keys_hold(all, ' ', family));
            families += family.n + (families[family.n] == ' ');
        }
    }
}

/* No key has two rows for one family. */
static void rows_agree(void **state)
{
    (void)state;
    const struct weights_key *rows = weights_hf_keys();
    for (const struct weights_key *a = rows; a->name != NULL; a++) {
        assert_true((a->use == WEIGHTS_KEY_FIXED) == (a->only != NULL));
        for (const struct weights_key *b = rows; b < a; b++) {
            const char *families = all;
            if (strcmp(a->name, b->name) != 0)
                continue;
            while (families[0] != '\0') {
                struct view family = view_of(families, strcspn(families, " "));
                assert_false(weights_keys_are_of(a->families, family) &&
                             weights_keys_are_of(b->families, family));
                families += family.n + (families[family.n] == ' ');
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_known_families),
        cmocka_unit_test(rows_agree),
        cmocka_unit_test(heeds_every_fixed_key),
    };
    return cmocka_run_group_tests_name("weights/hf_keys", tests, NULL, NULL);
}
