/* Shapes of programs and passes beyond the plain ones. A zeroed record has none.
 *
 * The reference and the CPU devices route rows to experts, compute sinks, caps, clamped gates and
 * latent attention, and make vectors. Everything else is for future models and services. Each
 * device refuses a program with a shape that it lacks by its name, and fails a pass with one. */
#pragma once
#include "base/status.h"
#include "core/dtype.h"

/* Layers with equal keys and values. A model with different layers has several groups, each with
 * its own blocks. */
struct compute_kv_group {
    int32_t n_layers, n_kv_heads;
    int32_t key_dim, value_dim; /* of one head */
    int32_t window;             /* positions that are kept; 0: all */
    int64_t state_bytes; /* of a sequence, independent of its length (recurrent layers); 0: none */
    enum dtype dtype;
};
/* A mixture of experts: a row uses n_used of n_experts feed-forwards, in each layer that routes. */
struct compute_experts {
    int32_t n_experts, n_used;       /* 0, 0: none */
    bool is_scaled_to_one;           /* the shares of the chosen ones are divided by their sum */
    bool is_sigmoid;                 /* shares are sigmoids of logits, not a softmax */
    int32_t n_groups, n_groups_used; /* experts of the best groups only; 0 or 1: no groups */
    bool is_group_by_best;           /* a group counts as much as its best expert, not two */
    float scale;                     /* of shares in the end; 0 stands for 1 */
};
/* In rows of this adapter, matrix `weight` adds scale * up . (down . row). */
struct compute_adapter {
    int32_t weight, down, up; /* indices of weights: (n_inner, n_in), (n_out, n_inner) */
    float scale;
};
enum compute_output { COMPUTE_OUTPUT_LOGITS, COMPUTE_OUTPUT_VECTORS };

struct compute_shapes { /* of a program */
    int n_kv_groups;
    const struct compute_kv_group *kv_groups;
    struct compute_experts experts;
    bool has_sinks; /* operations have what their names say */
    bool has_caps;
    bool has_clamped_gates;
    bool has_latents; /* keys are the values, too; HEADS */
    int n_adapters;
    const struct compute_adapter *adapters;
    enum compute_output output; /* VECTORS: an encoder, which has no logits */
    bool sums_over_ranks;       /* SUM and MEET */
};
struct compute_shapes_known { /* by the device: see compute/device.h */
    bool has_experts, has_vectors, has_ranks;
};
/* Returns STATUS_UNSUPPORTED with the name of the first shape that is set and that the device
 * lacks. */
enum status compute_shapes_check(const struct compute_shapes *shapes, const char *device,
                                 struct compute_shapes_known known, struct fault *fault) MUST_USE;

struct compute_memory;
struct compute_rows_at { /* rows of floats in a memory object */
    struct compute_memory *memory;
    int64_t at;
};
struct compute_pass_shapes {  /* of a pass */
    const uint16_t *adapters; /* (n_rows) adapter of a row, from 1; 0: none */
    int n_taps;               /* copies of registers: */
    const struct compute_tap {
        int32_t op, row; /* behind this operation, this row of its result */
        struct compute_rows_at to;
    } * taps;
    int first_op, last_op;          /* the operations [first, last); 0, 0: all */
    struct compute_rows_at in, out; /* hidden rows ahead of the first, behind the last */
};
bool compute_shapes_are_plain(const struct compute_pass_shapes *shapes);
