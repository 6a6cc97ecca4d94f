/* The table of models by shape, and figures that follow from a shape. */
#include "predict/device.h"
#include <string.h>

/* layers, width, heads, KV heads, head's dimension, inner width, vocabulary, positions, gated, tied
 */
static const struct predict_model models[] = {
    { "tinyllama-1.1b", 22, 2048, 32, 4, 64, 5632, 32000, 2048, true, false },
    { "llama-7b", 32, 4096, 32, 32, 128, 11008, 32000, 2048, true, false },
    { "llama-13b", 40, 5120, 40, 40, 128, 13824, 32000, 2048, true, false },
    { "llama-30b", 60, 6656, 52, 52, 128, 17920, 32000, 2048, true, false },
    { "llama-65b", 80, 8192, 64, 64, 128, 22016, 32000, 2048, true, false },
    { "llama-2-7b", 32, 4096, 32, 32, 128, 11008, 32000, 4096, true, false },
    { "llama-2-13b", 40, 5120, 40, 40, 128, 13824, 32000, 4096, true, false },
    { "llama-2-70b", 80, 8192, 64, 8, 128, 28672, 32000, 4096, true, false },
    { "llama-3-8b", 32, 4096, 32, 8, 128, 14336, 128256, 8192, true, false },
    { "llama-3.1-8b", 32, 4096, 32, 8, 128, 14336, 128256, 131072, true, false },
    { "llama-3-70b", 80, 8192, 64, 8, 128, 28672, 128256, 8192, true, false },
    { "llama-3.2-1b", 16, 2048, 32, 8, 64, 8192, 128256, 131072, true, true },
    { "llama-3.2-3b", 28, 3072, 24, 8, 128, 8192, 128256, 131072, true, true },
    { "opt-125m", 12, 768, 12, 12, 64, 3072, 50272, 2048, false, true },
    { "opt-1.3b", 24, 2048, 32, 32, 64, 8192, 50272, 2048, false, true },
    { "opt-6.7b", 32, 4096, 32, 32, 128, 16384, 50272, 2048, false, true },
    { "opt-13b", 40, 5120, 40, 40, 128, 20480, 50272, 2048, false, true },
    { "opt-30b", 48, 7168, 56, 56, 128, 28672, 50272, 2048, false, true },
    { "opt-66b", 64, 9216, 72, 72, 128, 36864, 50272, 2048, false, true },
    { "qwen2-0.5b", 24, 896, 14, 2, 64, 4864, 151936, 32768, true, true },
    { "qwen2-1.5b", 28, 1536, 12, 2, 128, 8960, 151936, 32768, true, true },
    { "qwen2-7b", 28, 3584, 28, 4, 128, 18944, 152064, 32768, true, false },
    { "qwen2-72b", 80, 8192, 64, 8, 128, 29568, 152064, 32768, true, false },
    { "qwen3-0.6b", 28, 1024, 16, 8, 128, 3072, 151936, 40960, true, true },
    { "qwen3-1.7b", 28, 2048, 16, 8, 128, 6144, 151936, 40960, true, true },
    { "qwen3-4b", 36, 2560, 32, 8, 128, 9728, 151936, 40960, true, true },
    { "qwen3-8b", 36, 4096, 32, 8, 128, 12288, 151936, 40960, true, false },
    { "qwen3-14b", 40, 5120, 40, 8, 128, 17408, 151936, 40960, true, false },
    { "qwen3-32b", 64, 5120, 64, 8, 128, 25600, 151936, 40960, true, false },
    { "chatglm2-6b", 28, 4096, 32, 2, 128, 13696, 65024, 32768, true, false },
    { "bloom-176b", 70, 14336, 112, 112, 128, 57344, 250880, 2048, false, true },
};

const struct predict_model *predict_model_all(int *n)
{
    *n = (int)COUNT_OF(models);
    return models;
}

const struct predict_model *predict_model_find(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(models); i++)
        if (strcmp(models[i].name, name) == 0)
            return &models[i];
    return NULL;
}

static int64_t layer_parameters(const struct predict_model *m)
{
    int64_t attention = (int64_t)m->width * m->head_dim * 2 * (m->n_heads + m->n_kv_heads);
    return attention + (int64_t)m->width * m->ffn_width * (m->is_gated ? 3 : 2);
}

int64_t predict_model_n_parameters(const struct predict_model *m)
{
    int64_t embedding = (int64_t)m->n_vocabulary * m->width;
    return m->n_layers * layer_parameters(m) + embedding * (m->is_tied ? 1 : 2);
}

int64_t predict_model_weights_bytes(const struct predict_model *model)
{
    return 2 * predict_model_n_parameters(model);
}

int64_t predict_model_kv_bytes_per_token(const struct predict_model *m)
{
    return INT64_C(4) * m->n_layers * m->n_kv_heads * m->head_dim;
}

double predict_model_flops_per_token(const struct predict_model *m)
{
    return 2.0 * m->n_layers * (double)layer_parameters(m);
}

double predict_model_flops_per_pair(const struct predict_model *m)
{
    return 4.0 * m->n_layers * m->n_heads * m->head_dim;
}

int32_t predict_model_tp_min(const struct predict_model *model, const struct predict_device *device,
                             double spare)
{
    double need = (double)predict_model_weights_bytes(model);
    for (int32_t tp = 1; tp <= device->n_node; tp *= 2)
        if (need <= (double)device->memory_bytes * tp * (1 - spare))
            return tp;
    return 0;
}
