/* Chooses units and cuts of pools whose services come and go. */
#include "kv/cut.h"

#include "kv/shape.h"

enum { POOL_UNITS = 4096, POOL_UNITS_MIN = 64 };
/* Larger units would have blocks of more than 16 tokens, which find fewer shared prefixes. */
enum { UNIT_TOKENS_MAX = KV_UNIT_BLOCKS_MAX * 16 };
#define POOL_UNIT_BYTES_MIN ((int64_t)65536)
#define POOL_UNIT_BYTES_MAX ((int64_t)64 << 20)
#define WASTE_MUCH          0.1   /* worth longer blocks */
#define WASTE_WORTH         0.005 /* a larger unit is worth this */
enum { HEADS_FEW = 16 };   /* heads of a small model: each block of this many units has a record */
enum { HEAD_BYTES = 512 }; /* keys and values of 128 dims in 16 bits */

int64_t kv_cut_heads_of(const struct kv_shape *shape)
{
    int64_t n = shape->n_heads > 0 ? shape->n_heads : shape->bytes_per_token / HEAD_BYTES;
    return max_i64(1, min_i64(n, KV_BLOCK_UNITS_MAX));
}

int64_t kv_cut_least_bytes(enum kv_kind kind, const struct kv_shape *shape)
{
    int64_t n_units = kind == KV_HEADS ? kv_cut_heads_of(shape) : 1;
    return KV_BLOCK_TOKENS_MIN * div_up_i64(shape->bytes_per_token, n_units);
}

int64_t kv_cut_unit_bytes(enum kv_kind kind, int64_t pool_bytes, int64_t least_bytes)
{
    int64_t unit_bytes = kind == KV_HEADS ? KV_CUT_HEAD_TOKENS * HEAD_BYTES : POOL_UNIT_BYTES_MIN;
    bool is_merged = kind != KV_HEADS;
    while (is_merged && unit_bytes < POOL_UNIT_BYTES_MAX && unit_bytes < pool_bytes / POOL_UNITS)
        unit_bytes *= 2;
    while (unit_bytes < least_bytes)
        unit_bytes *= 2;
    while (is_merged && unit_bytes < 4 * least_bytes &&
           2 * unit_bytes <= pool_bytes / POOL_UNITS_MIN)
        unit_bytes *= 2;
    return unit_bytes;
}

static bool cut_heads(const struct kv_shape *shape, int64_t unit_bytes, struct kv_layout *layout,
                      double *waste)
{
    int64_t n_heads = kv_cut_heads_of(shape), bytes = shape->bytes_per_token;
    int64_t n_tokens = unit_bytes / div_up_i64(bytes, n_heads);
    n_tokens = min_i64(n_tokens / KV_CUT_HEAD_TOKENS_STEP * KV_CUT_HEAD_TOKENS_STEP,
                       KV_CUT_HEAD_TOKENS_MAX);
    if (n_tokens == 0)
        return false;
    *layout = (struct kv_layout){ bytes, (int32_t)n_tokens, 1, n_tokens * bytes, (int32_t)n_heads };
    *waste = 1 - (double)(n_tokens * bytes) / (double)(unit_bytes * n_heads);
    return true;
}

bool kv_cut_service(enum kv_kind kind, const struct kv_shape *shape, int64_t unit_bytes,
                    struct kv_layout *layout, double *waste)
{
    if (shape->bytes_per_token <= 0 || shape->bytes_per_token > unit_bytes * KV_BLOCK_UNITS_MAX)
        return false;
    return kind == KV_HEADS ? cut_heads(shape, unit_bytes, layout, waste)
                            : kv_shape_cut(shape->bytes_per_token, unit_bytes, layout, waste);
}

/* Returns the largest fraction of a unit that one service loses; 1 if a service does not fit. */
static double worst_waste(enum kv_kind kind, const struct kv_shape *shapes, int n,
                          int64_t unit_bytes)
{
    struct kv_layout layout;
    double worst = 0, waste;
    for (int i = 0; i < n; i++) {
        if (!kv_cut_service(kind, &shapes[i], unit_bytes, &layout, &waste))
            return 1;
        worst = waste > worst ? waste : worst;
    }
    return worst;
}

int64_t kv_cut_unit_for(enum kv_kind kind, int64_t pool_bytes, const struct kv_shape *shapes, int n)
{
    int64_t least = 0, full = INT64_MAX;
    for (int i = 0; i < n; i++) {
        least = max_i64(least, kv_cut_least_bytes(kind, &shapes[i]));
        full = min_i64(full, shapes[i].bytes_per_token * UNIT_TOKENS_MAX);
    }
    int64_t unit_bytes = kv_cut_unit_bytes(kind, pool_bytes, least);
    if (kind == KV_HEADS || n == 0)
        return unit_bytes;
    while (unit_bytes > full && unit_bytes / 2 >= max_i64(least, POOL_UNIT_BYTES_MIN))
        unit_bytes /= 2;
    int64_t best = unit_bytes;
    double best_waste = worst_waste(kind, shapes, n, best);
    for (int eighths = 9; eighths < 16; eighths++) {
        int64_t larger = unit_bytes / 8 * eighths;
        bool may_be_larger = larger <= full || best_waste > WASTE_MUCH;
        double waste = may_be_larger ? worst_waste(kind, shapes, n, larger) : 1;
        if (waste < best_waste - WASTE_WORTH) {
            best = larger;
            best_waste = waste;
        }
    }
    return best;
}

struct kv_bounds kv_cut_bounds_of(const struct kv_layout *layouts, int n)
{
    struct kv_bounds bounds = { .block_tokens_min = INT32_MAX,
                                .blocks_per_unit_max = 1,
                                .units_per_block_min = KV_BLOCK_UNITS_MAX,
                                .units_per_block_max = 1 };
    for (int i = 0; i < n; i++) {
        int32_t n_units = max_i32(layouts[i].units_per_block, 1);
        bounds.block_tokens_min = min_i32(bounds.block_tokens_min, layouts[i].block_tokens);
        bounds.blocks_per_unit_max =
            max_i32(bounds.blocks_per_unit_max, layouts[i].blocks_per_unit);
        bounds.units_per_block_min = min_i32(bounds.units_per_block_min, n_units);
        bounds.units_per_block_max = max_i32(bounds.units_per_block_max, n_units);
        bounds.page_bytes = max_i64(bounds.page_bytes, layouts[i].block_bytes);
    }
    return bounds;
}

struct kv_bounds kv_cut_bounds_any(enum kv_kind kind, const struct kv_layout *layouts, int n)
{
    struct kv_bounds bounds = kv_cut_bounds_of(layouts, n);
    bounds.block_tokens_min = min_i32(bounds.block_tokens_min, KV_BLOCK_TOKENS_MIN);
    if (kind == KV_HEADS)
        bounds.units_per_block_min = min_i32(bounds.units_per_block_min, HEADS_FEW);
    else
        bounds.blocks_per_unit_max = KV_UNIT_BLOCKS_MAX;
    return bounds;
}

const char *kv_cut_refuse(enum kv_kind kind, const struct kv_bounds *bounds, int64_t unit_bytes,
                          const struct kv_layout *layout)
{
    int32_t n_units = max_i32(layout->units_per_block, 1);
    bool is_right = kind == KV_HEADS ? layout->blocks_per_unit == 1 : n_units == 1;
    if (!is_right || layout->blocks_per_unit < 1 || layout->block_tokens < 1 ||
        layout->block_bytes < 1 || layout->bytes_per_token < 1)
        return "its cut is none of a pool of this kind";
    if (layout->block_tokens < bounds->block_tokens_min)
        return "its blocks have fewer tokens than the pool's tables are made for";
    if (layout->blocks_per_unit > bounds->blocks_per_unit_max)
        return "it cuts a unit into more blocks than the pool is made for";
    if (n_units < bounds->units_per_block_min || n_units > bounds->units_per_block_max)
        return "its layers and heads are more, or fewer, than the pool's tables are made for";
    if (layout->block_bytes > unit_bytes * n_units / layout->blocks_per_unit)
        return "its block has more bytes than the pool's units";
    return NULL;
}
