/* Architectures: the computation of each, and the names of its tensors in GGUF and Hugging Face
 * files. */
#pragma once
#include "core/model_spec.h"
#include "weights/name.h"

struct weights_names {
    const char *prefixes[4];         /* the token embedding is under the first that fits */
    const struct weights_name *rows; /* a NULL pattern ends them; NULL: not in this format */
};

struct weights_architecture {
    const char *name;    /* GGUF's general.architecture, unless gguf_name is set */
    const char *hf_name; /* config.json's model_type */
    enum norm_kind norm;
    enum act_kind act;
    bool is_gated, has_qk_norm;
    enum position_kind gguf_position, hf_position;
    struct weights_names gguf, hf;
    bool has_post_norms, scales_embedding; /* scales by the square root of the width */
    bool norms_heads_together, has_no_pre_norms, is_parallel, has_sinks;
    const char *gguf_name; /* of an architecture that GGUF files call as another one */
};

/* Returns general.architecture of GGUF files, with which their keys begin. */
static inline const char *weights_names_gguf(const struct weights_architecture *architecture)
{
    return architecture->gguf_name != NULL ? architecture->gguf_name : architecture->name;
}
/* Returns NULL when there is no such row. */
const struct weights_architecture *weights_names_find(const char *name, bool is_hf);
/* Returns why an architecture that a user may expect here is not supported; "" when there is no
 * special reason. */
const char *weights_names_refusal(const char *name, bool is_hf);
/* Writes the name of a tensor of this layer and expert (CATALOG_NAME_BYTES). */
void weights_names_print(const char *pattern, const char *prefix, int layer, int expert,
                         char *name);
/* Returns how many numbers a name has: a layer's, and an expert's. */
int weights_names_n_numbers(const char *pattern);
