/* The names of tensors of further dense families in Hugging Face and in GGUF files. */
#pragma once
#include "weights/name.h"

extern const struct weights_name weights_names_dense_hf_starcoder2[];
extern const struct weights_name weights_names_dense_hf_stablelm[];
extern const struct weights_name weights_names_dense_hf_phi[];
extern const struct weights_name weights_names_dense_hf_gpt_neox[];
extern const struct weights_name weights_names_dense_hf_falcon[];
extern const struct weights_name weights_names_dense_hf_cohere[]; /* and cohere2 */
extern const struct weights_name weights_names_dense_hf_olmo2[];  /* and olmo3 */
extern const struct weights_name weights_names_dense_hf_glm[];    /* and glm4 */
extern const struct weights_name weights_names_dense_hf_internlm2[];
extern const struct weights_name weights_names_dense_gguf_olmo2[];
extern const struct weights_name weights_names_dense_gguf_glm4[];
extern const struct weights_name weights_names_dense_hf_gemma2[];
extern const struct weights_name weights_names_dense_gguf_gemma2[];
extern const struct weights_name weights_names_dense_gguf_starcoder2[];
extern const struct weights_name weights_names_dense_gguf_stablelm[];
extern const struct weights_name weights_names_dense_gguf_phi2[];
extern const struct weights_name weights_names_dense_gguf_gptneox[];
extern const struct weights_name weights_names_dense_gguf_falcon[];
extern const struct weights_name weights_names_dense_gguf_cohere[];
