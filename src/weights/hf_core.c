/* Only Gemma 3's files are read so, since their output matrix is known to be the embedding. */
#include "weights/hf_core.h"
#include "base/log.h"
#include <string.h>

#define LABEL "config.json"

/* Keys beside text_config that would change the text part. */
static enum status check_whole(const struct weights_json_node *config, struct fault *fault)
{
    static const char *const keys[] = { "quantization_config", "compression_config" };
    const struct weights_json_from from = { config, LABEL, fault };
    bool is_tied = true;
    for (size_t i = 0; i < COUNT_OF(keys); i++)
        if (weights_json_find(config, keys[i]) != NULL)
            return fault_set(fault, STATUS_UNSUPPORTED,
                             LABEL ": %s beside a text_config is not supported: take the "
                                   "checkpoint in F16 or BF16, or a GGUF file",
                             keys[i]);
    enum status status = weights_json_bool(&from, "tie_word_embeddings", &is_tied);
    if (status == STATUS_OK && !is_tied)
        return fault_set(fault, STATUS_UNSUPPORTED,
                         LABEL ": tie_word_embeddings is false beside a text_config, and only true "
                               "is supported");
    return status;
}

enum status weights_hf_core(const struct weights_json_node *config, struct weights_hf_core *core,
                            struct fault *fault)
{
    const struct weights_json_node *text = weights_json_find(config, "text_config");
    *core = (struct weights_hf_core){ config, false };
    if (!weights_json_is_text(weights_json_find(config, "model_type"), "gemma3"))
        return STATUS_OK;
    if (text == NULL || text->kind != WEIGHTS_JSON_OBJECT ||
        !weights_json_is_text(weights_json_find(text, "model_type"), "gemma3_text"))
        return fault_set(fault, STATUS_UNSUPPORTED,
                         LABEL ": model_type is gemma3, but there is no text_config with the "
                               "model_type gemma3_text");
    enum status status = check_whole(config, fault);
    if (status != STATUS_OK)
        return status;
    *core = (struct weights_hf_core){ text, true };
    log_line(LOG_WARN, "weights", LABEL ": the model sees pictures, and text alone is served");
    return STATUS_OK;
}

void weights_hf_core_skip(const struct weights_hf_core *core, struct weights_catalog *catalog)
{
    static const char *const parts[] = { "vision_tower.", "multi_modal_projector.",
                                         "model.vision_tower.", "model.multi_modal_projector." };
    for (int32_t i = 0; i < catalog->n && core->is_part; i++)
        for (size_t k = 0; k < COUNT_OF(parts); k++)
            if (strncmp(catalog->at[i].name, parts[k], strlen(parts[k])) == 0)
                catalog->at[i].is_used = true;
}
