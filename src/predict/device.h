/* Devices and models by name and figures, for the roofline, the planners and the simulator when
 * nothing was measured.
 *
 * Figures of devices are the vendors' (dense 16-bit tensor peak, memory bandwidth, bandwidth to a
 * neighbour in one direction). Shapes of models are their published configurations. */
#pragma once
#include "core/model_spec.h"

struct predict_device {
    const char *name, *summary;
    double flops_per_s;      /* 16-bit, dense */
    double bytes_per_s;      /* of its memory */
    double link_bytes_per_s; /* to another device of the node, one direction */
    double host_bytes_per_s; /* to the host's memory, one direction */
    int64_t memory_bytes;
    int32_t n_node; /* usual number in one machine */
};
const struct predict_device *predict_device_all(int *n);
const char *predict_device_names(void); /* for messages: "a100, a100-40g, ..." */
/* Returns NULL when there is none. */
const struct predict_device *predict_device_find(const char *name);

struct predict_model {
    const char *name;
    int32_t n_layers, width, n_heads, n_kv_heads, head_dim, ffn_width, n_vocabulary;
    int32_t n_positions_max;
    bool is_gated, is_tied;
};
const struct predict_model *predict_model_all(int *n);
const struct predict_model *predict_model_find(const char *name); /* "llama-2-7b", ... */
/* Sets the shape of a loaded model. name is kept, not copied. */
int64_t predict_model_n_parameters(const struct predict_model *model);  /* norms and biases apart */
int64_t predict_model_weights_bytes(const struct predict_model *model); /* 16-bit */
int64_t predict_model_kv_bytes_per_token(const struct predict_model *model); /* 16-bit */
/* Returns the multiplications and additions of one token's matrices, without the output matrix. */
double predict_model_flops_per_token(const struct predict_model *model);
/* Returns the same for one query against one earlier position, over all layers. */
double predict_model_flops_per_pair(const struct predict_model *model);
/* Returns the fewest devices (1, 2, 4, 8, ...) with enough memory for the weights and a `spare`
 * fraction (0.1) of it; 0 when n_node are too few. */
int32_t predict_model_tp_min(const struct predict_model *model, const struct predict_device *device,
                             double spare);
