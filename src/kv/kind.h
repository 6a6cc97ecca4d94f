/* The kinds of pool (kv/kv.h describes them), and how each cuts its memory for its services. */
#pragma once
#include "base/base.h"

enum { KV_BLOCK_TOKENS_MIN = 8, KV_UNIT_BLOCKS_MAX = 64, KV_BLOCK_UNITS_MAX = 1 << 16 };
enum { KV_UNITS_MAX = 1 << 24, KV_HEAD_UNITS_MAX = 1 << 28 }; /* of a pool; head-wise */

enum kv_kind { KV_MERGED, KV_HEADS, KV_PRIVATE, KV_KINDS };
const char *kv_kind_name(enum kv_kind kind); /* "merged", "head-wise", "private" */
bool kv_kind_find(const char *name, enum kv_kind *kind);
const char *kv_kind_names(void); /* all names, for help and faults */

/* How a service cuts its units, or combines them. */
struct kv_layout {
    int64_t bytes_per_token; /* of the model, all layers */
    int32_t block_tokens;
    int32_t blocks_per_unit;
    int64_t block_bytes;     /* block_tokens * bytes_per_token */
    int32_t units_per_block; /* in a head-wise pool layers * KV heads; else 0 or 1 */
};
/* Returns the bytes of memory that a token takes, including what the cut loses. */
static inline int64_t kv_token_bytes(const struct kv_layout *layout, int64_t unit_bytes)
{
    return unit_bytes * (layout->units_per_block > 1 ? layout->units_per_block : 1) /
           ((int64_t)layout->blocks_per_unit * layout->block_tokens);
}
/* Chooses the unit and each service's cut so that the worst waste is least (docs/ALGORITHMS.md
 * D-10). The choices are block_tokens in {8, 16, 32}, with at most KV_UNIT_BLOCKS_MAX blocks a
 * unit. The unit has at most unit_bytes_max, unless one block of 8 tokens of the largest model
 * needs more. Returns the unit's bytes, a multiple of 64; *waste is the worst fraction lost. */
int64_t kv_choose_layout(int n_services, const int64_t *bytes_per_token, int64_t unit_bytes_max,
                         struct kv_layout *layouts, double *waste);

/* Does the same for a head-wise pool (docs/ALGORITHMS.md 6.11). A unit is 16 tokens of the largest
 * head, keys and values. Smaller heads put more tokens into it, a multiple of 8. */
struct kv_shape {
    int64_t bytes_per_token; /* of the model, all layers */
    int32_t n_heads;         /* layers * KV heads; 0: heads of 512 bytes a token (128 of 16 bits) */
};
int64_t kv_choose_heads(int n_services, const struct kv_shape *shapes, struct kv_layout *layouts,
                        double *waste);
/* Either, by kind. */
int64_t kv_choose(enum kv_kind kind, int n_services, const struct kv_shape *shapes,
                  int64_t unit_bytes_max, struct kv_layout *layouts, double *waste);

/* Returns the most bytes that a pool may have. Here unit_bytes > 0. */
static inline int64_t kv_bytes_most(enum kv_kind kind, int64_t unit_bytes)
{
    int64_t n_units = kind == KV_HEADS ? KV_HEAD_UNITS_MAX : KV_UNITS_MAX;
    return unit_bytes <= INT64_MAX / n_units ? unit_bytes * n_units : INT64_MAX;
}
