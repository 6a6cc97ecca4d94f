/* LoRA adapters: PEFT directories (adapter_config.json, adapter_model.safetensors) and GGUF files.
 *
 * An adapter adds scale * up . (down . x) to what a matrix of its model makes of x. Opening it
 * checks each shape against the model, and refuses by name what would be ignored. Nothing is
 * copied: tensors point into the mapped file, which stays open until close.
 *
 * Sources: LoRA (Hu et al. 2021, section 4.1); PEFT's LoraConfig; llama.cpp's GGUF adapters. */
#pragma once
#include "weights/weights.h"

enum weights_adapted { /* the matrices of a layer that an adapter may have a pair for */
                       WEIGHTS_ADAPTED_Q,
                       WEIGHTS_ADAPTED_K,
                       WEIGHTS_ADAPTED_V,
                       WEIGHTS_ADAPTED_O,
                       WEIGHTS_ADAPTED_GATE,
                       WEIGHTS_ADAPTED_UP,
                       WEIGHTS_ADAPTED_DOWN,
                       WEIGHTS_ADAPTED_N
};
struct weights_adapter_pair {
    struct tensor down, up; /* (rank, n_in), (n_out, rank); down.data NULL: there is no pair */
    float scale;
};
struct weights_adapter;

/* Opens the adapter at a path for a model, which it reads only here. */
enum status weights_adapter_open(struct weights_adapter **out, const char *path,
                                 const struct weights *model, struct fault *fault) MUST_USE;
void weights_adapter_close(struct weights_adapter *adapter); /* NULL is fine */
const struct weights_adapter_pair *weights_adapter_at(const struct weights_adapter *adapter,
                                                      int32_t layer, enum weights_adapted matrix);
/* Returns the highest rank of its pairs: 1 to LIMIT_ADAPTER_RANK. */
int32_t weights_adapter_rank(const struct weights_adapter *adapter);
/* Returns 64 bits over names, shapes, types, scales and a sample of the content of all tensors. */
uint64_t weights_adapter_hash(const struct weights_adapter *adapter);
/* Returns false when its file was changed after it was opened. */
bool weights_adapter_is_whole(const struct weights_adapter *adapter);
/* Returns the matrix of the model that a pair adds to. Its data is NULL when the layer has none. */
const struct tensor *weights_adapter_target(const struct model_weights *model, int32_t layer,
                                            enum weights_adapted matrix);
