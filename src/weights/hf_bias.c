/* Biases: their tensors are optional in the table of names. A key of config.json, or the family,
 * determines whether they must be there. */
#include "weights/hf_bias.h"
#include "weights/keys.h"

#define LAYER(field)                                                                               \
    {                                                                                              \
        offsetof(struct layer_weights, field), #field                                              \
    }

static const struct matrix {
    size_t bias_at; /* offset of the struct tensor in a layer */
    const char *name;
} matrices[] = {
    LAYER(q_bias),    LAYER(k_bias),  LAYER(v_bias),    LAYER(o_bias),
    LAYER(gate_bias), LAYER(up_bias), LAYER(down_bias),
};
enum { QKV = 7, O = 8, GATE = 16, UP = 32, DOWN = 64, ALL = 127 }; /* bits along matrices */

static const struct rule {
    const char *families;
    const char *key; /* NULL: the family determines it */
    bool usual;
    unsigned matrices;
} rules[] = {
    { "llama qwen3 gemma gemma2 gemma3_text olmoe qwen3_moe", "attention_bias", false, QKV | O },
    { "gpt_oss", "attention_bias", true, QKV | O },
    { "granitemoe granitemoeshared", "attention_bias", false, QKV | O },
    { "granitemoe granitemoeshared glm4_moe", NULL, false, GATE | UP | DOWN },
    { "glm4_moe", "attention_bias", false, QKV },
    { "glm4_moe", NULL, false, O },
    { "gpt_oss", NULL, false, GATE | UP | DOWN },
    { "deepseek_v2 deepseek_v3", NULL, false, ALL },
    { "granite olmo2 olmo3 cohere cohere2 smollm3", "attention_bias", false, QKV | O },
    { "glm glm4", "attention_bias", true, QKV },
    { "glm glm4", NULL, false, O | GATE | UP | DOWN },
    { "gpt_neox", "attention_bias", true, QKV | O },
    { "gpt_neox", NULL, true, UP | DOWN },
    { "stablelm", "use_qkv_bias", false, QKV },
    { "stablelm", NULL, false, O | GATE | UP | DOWN },
    { "starcoder2", "use_bias", true, QKV | O | UP | DOWN },
    { "falcon", "bias", false, QKV | O | UP | DOWN },
    { "internlm2", "bias", true, QKV | O },
    { "phi", NULL, true, QKV | O | UP | DOWN },
    { "olmo2 olmo3 cohere cohere2 internlm2", NULL, false, GATE | UP | DOWN },
    { "llama granite smollm3", "mlp_bias", false, GATE | UP | DOWN },
    { "mistral phi3 mixtral", NULL, false, ALL },
    { "qwen2", NULL, true, QKV },
    { "qwen2_moe", "qkv_bias", true, QKV },
    { "qwen2 qwen2_moe", NULL, false, O | GATE | UP | DOWN },
    { "qwen3 gemma gemma2 gemma3_text olmoe qwen3_moe", NULL, false, GATE | UP | DOWN },
    { "gpt2", NULL, true, QKV | O | UP | DOWN },
    { "bert roberta xlm-roberta", NULL, true, QKV | O | UP | DOWN },
    { "opt", "enable_bias", true, QKV | O | UP | DOWN },
    { "chatglm", "add_qkv_bias", false, QKV },
    { "chatglm", NULL, false, O | GATE | UP | DOWN },
};

static enum status refuse(const struct weights_json_from *config, const struct rule *rule,
                          const char *family, bool wants, const char *name)
{
    if (rule->key == NULL)
        return fault_set(config->fault, STATUS_UNSUPPORTED, "safetensors: %s is %s, and %s has %s",
                         name, wants ? "missing" : "there", family, wants ? "one" : "none");
    return fault_set(config->fault, STATUS_UNSUPPORTED,
                     "config.json: %s is %s, but %s is %s in the file", rule->key,
                     wants ? "true" : "false", name, wants ? "missing" : "there");
}

enum status weights_hf_bias_check(const struct weights_json_from *config, const char *family,
                                  const struct model_weights *model)
{
    for (size_t i = 0; i < COUNT_OF(rules); i++) {
        const struct rule *rule = &rules[i];
        bool wants = rule->usual;
        if (!weights_keys_hold(rule->families, ' ', view_text(family)))
            continue;
        enum status status =
            rule->key != NULL ? weights_json_bool(config, rule->key, &wants) : STATUS_OK;
        if (status != STATUS_OK)
            return status;
        for (size_t m = 0; m < COUNT_OF(matrices); m++) {
            const char *layer = (const char *)&model->layers[0]; /* all layers have the same */
            const struct tensor *bias = (const void *)(layer + matrices[m].bias_at);
            if ((rule->matrices >> m & 1) != 0 && (bias->data != NULL) != wants)
                return refuse(config, rule, family, wants, matrices[m].name);
        }
    }
    return STATUS_OK;
}
