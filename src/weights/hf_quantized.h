/* The quantization of safetensors, as config.json describes it. */
#pragma once
#include "weights/json.h"
#include <stdbool.h>

enum { WEIGHTS_SCHEMES_MAX = 8 };

enum weights_quantized {
    WEIGHTS_PLAIN,
    WEIGHTS_MXFP4, /* gpt-oss, whose table of names has it */
    WEIGHTS_FP8,
    WEIGHTS_GPTQ,
    WEIGHTS_AWQ,
    WEIGHTS_COMPRESSED, /* compressed-tensors */
};

/* How some of the matrices are quantized. 0 rows or columns of a group: all of the matrix. */
struct weights_scheme {
    bool is_float, is_packed, is_symmetric; /* packed: in words */
    int32_t n_bits;
    int64_t row_group, group;
};
struct weights_quantization {
    enum weights_quantized method;
    int32_t zero_added; /* GPTQ: to a stored zero point */
    bool is_ordered;    /* GPTQ: columns may be in another order, which g_idx has to show */
    int32_t n_schemes;
    struct weights_scheme schemes[WEIGHTS_SCHEMES_MAX];
};

/* Reads quantization_config, or compression_config. Refuses each method and setting by name that
 * would need another computation. Lists of modules that stay as they are, are not read, since the
 * tensors of a module show its form. */
enum status weights_hf_quantized(const struct weights_json_from *config, const char *family,
                                 struct weights_quantization *out) MUST_USE;
