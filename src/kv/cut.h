/* Units and cuts of pools whose services come and go: the unit follows from bytes, and each service
 * cuts it for itself. (kv_choose, in kv/choose.h, chooses both for services that are all known.) */
#pragma once
#include "kv/kind.h"

enum { KV_CUT_HEAD_TOKENS = 16, KV_CUT_HEAD_TOKENS_STEP = 8, KV_CUT_HEAD_TOKENS_MAX = 64 };

/* The widest and narrowest cuts that a pool is laid out for: a service whose cut lies within them
 * may join while the pool is in use. */
struct kv_bounds {
    int32_t block_tokens_min, blocks_per_unit_max, units_per_block_min, units_per_block_max;
    int64_t page_bytes; /* of the host tier: a longer block finds no room there */
};
/* Those of n layouts, and of no other. */
struct kv_bounds kv_cut_bounds_of(const struct kv_layout *layouts, int n);
/* NULL, or why a service that is cut so can't be in a pool of these bounds and units. */
const char *kv_cut_refuse(enum kv_kind kind, const struct kv_bounds *bounds, int64_t unit_bytes,
                          const struct kv_layout *layout);
/* A pool whose services are not known when it is opened. The unit follows from the pool's bytes, so
 * that there are at most 4096 of them, each a power of two of 64 KiB to 64 MiB; head-wise, 16
 * tokens of a head of 128 dimensions in 16 bits. A unit holds least_bytes (the smallest block that
 * has to fit), and where that leaves 64 units, four such blocks. */
int64_t kv_cut_unit_bytes(enum kv_kind kind, int64_t pool_bytes, int64_t least_bytes);
/* The same where these n services are known. Larger blocks raise the unit. One of merged blocks is
 * small enough that the narrowest service can be cut into blocks of 16 tokens, unless the worst of
 * the services would then lose more than a tenth of it. Of eight sizes up to twice as large it is
 * the one that loses the worst of them the least. */
int64_t kv_cut_unit_for(enum kv_kind kind, int64_t pool_bytes, const struct kv_shape *shapes,
                        int n);
/* Bytes of the smallest block that a service can be cut into; head-wise, of one unit of it. */
int64_t kv_cut_least_bytes(enum kv_kind kind, const struct kv_shape *shape);
/* How one service cuts a unit of so many bytes so that it loses the least (*waste, a fraction).
 * False: not one block of 8 tokens fits. */
bool kv_cut_service(enum kv_kind kind, const struct kv_shape *shape, int64_t unit_bytes,
                    struct kv_layout *layout, double *waste) MUST_USE;
/* Bounds of all such cuts and of these layouts (n of them, 1 or more), whose longest block makes a
 * page of the host tier. Head-wise, no service may have more heads than they have. */
struct kv_bounds kv_cut_bounds_any(enum kv_kind kind, const struct kv_layout *layouts, int n);
/* Units of a block of a head-wise pool: layers * KV heads. */
int64_t kv_cut_heads_of(const struct kv_shape *shape);
