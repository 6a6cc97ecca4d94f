/* PEFT's adapter_config.json: what it says of each adapted module, and the refusal of what would be
 * ignored (DoRA, biases, saved modules and other keys). */
#pragma once
#include "weights/json.h"

struct weights_adapter_config {
    struct weights_json json;
    int64_t rank;
    double alpha;
    bool has_root_scale; /* use_rslora: alpha is divided by the root of the rank */
    const struct weights_json_node *ranks, *alphas; /* objects by module, or NULL */
};

/* Reads the file in an adapter's directory. */
enum status weights_adapter_config_open(struct weights_adapter_config *config,
                                        const char *directory, struct fault *fault) MUST_USE;
void weights_adapter_config_close(struct weights_adapter_config *config);
/* Sets the scale of a module's pair, whose tensors have this rank. Refuses another rank than the
 * configuration's. */
enum status weights_adapter_config_scale(const struct weights_adapter_config *config,
                                         const char *module, int32_t rank, float *scale,
                                         struct fault *fault) MUST_USE;
