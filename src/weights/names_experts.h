/* Tables of the names of tensors, for mixtures of experts. A NULL pattern ends each. */
#pragma once
#include "weights/name.h"

extern const struct weights_name weights_names_experts_gguf_mixtral[];
extern const struct weights_name weights_names_experts_gguf_qwen2moe[];
extern const struct weights_name weights_names_experts_gguf_qwen3moe[];
extern const struct weights_name weights_names_experts_hf_mixtral[];
extern const struct weights_name weights_names_experts_hf_qwen2_moe[];
extern const struct weights_name weights_names_experts_hf_qwen3_moe[];
extern const struct weights_name weights_names_experts_hf_gpt_oss[];
extern const struct weights_name weights_names_experts_gguf_gpt_oss[];
extern const struct weights_name weights_names_experts_hf_granitemoe[];
extern const struct weights_name weights_names_experts_gguf_granitemoe[];
extern const struct weights_name weights_names_experts_hf_deepseek_v2[];
extern const struct weights_name weights_names_experts_hf_deepseek_v3[];
extern const struct weights_name weights_names_experts_gguf_deepseek2[];
extern const struct weights_name weights_names_experts_hf_glm4_moe[];
extern const struct weights_name weights_names_experts_gguf_glm4moe[];
