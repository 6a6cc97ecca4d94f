/* Units and cuts of pools whose services come and go. The unit follows from bytes, and each service
 * cuts it for itself. (If all services are known, kv_choose in kv/kind.h chooses both.) */
#pragma once
#include "kv/kind.h"

enum { KV_CUT_HEAD_TOKENS = 16, KV_CUT_HEAD_TOKENS_STEP = 8, KV_CUT_HEAD_TOKENS_MAX = 64 };

/* The widest and narrowest cuts that a pool is laid out for. A service with a cut within these
 * bounds may join while the pool is in use. */
struct kv_bounds {
    int32_t block_tokens_min, blocks_per_unit_max, units_per_block_min, units_per_block_max;
    int64_t page_bytes; /* of the host tier, which has no room for a longer block */
};
/* Those of n layouts, and of no other. */
struct kv_bounds kv_cut_bounds_of(const struct kv_layout *layouts, int n);
/* Returns NULL if a service with this cut may be in a pool of these bounds and units; else the
 * reason why not. */
const char *kv_cut_refuse(enum kv_kind kind, const struct kv_bounds *bounds, int64_t unit_bytes,
                          const struct kv_layout *layout);
/* Returns the unit's bytes for a pool whose services are not known when it is opened. The unit
 * follows from the pool's bytes, so that there are at most 4096 units. Each is a power of two of 64
 * KiB to 64 MiB; head-wise, 16 tokens of a head of 128 dimensions in 16 bits. A unit holds
 * least_bytes (the smallest block that has to fit). It holds four such blocks if the pool still has
 * 64 units then. */
int64_t kv_cut_unit_bytes(enum kv_kind kind, int64_t pool_bytes, int64_t least_bytes);
/* Does the same when these n services are known. Larger blocks raise the unit. A unit of merged
 * blocks is small enough that the narrowest service can be cut into blocks of 16 tokens, unless the
 * worst service would then lose more than a tenth of it. Among eight sizes up to twice as large,
 * the chosen one has the least loss for the worst service. */
int64_t kv_cut_unit_for(enum kv_kind kind, int64_t pool_bytes, const struct kv_shape *shapes,
                        int n);
/* Returns the bytes of the smallest block that a service can be cut into; head-wise, of one of its
 * units. */
int64_t kv_cut_least_bytes(enum kv_kind kind, const struct kv_shape *shape);
/* Cuts a unit of unit_bytes for one service so that it loses the least (*waste, a fraction).
 * Returns false when not even one block of 8 tokens fits. */
bool kv_cut_service(enum kv_kind kind, const struct kv_shape *shape, int64_t unit_bytes,
                    struct kv_layout *layout, double *waste) MUST_USE;
/* Returns bounds that cover all such cuts and these n layouts (1 or more). The longest block of the
 * layouts makes a page of the host tier. Head-wise, no service may have more heads than these
 * layouts have. */
struct kv_bounds kv_cut_bounds_any(enum kv_kind kind, const struct kv_layout *layouts, int n);
/* Returns the units of a block of a head-wise pool: layers * KV heads. */
int64_t kv_cut_heads_of(const struct kv_shape *shape);
