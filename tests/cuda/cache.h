/* A cache in emulated device memory whose blocks are shuffled, and a batch of sequences over it. */
#pragma once
#include "compute/pass.h"
#include "pieces.h"

struct cache_shape {
    enum dtype dtype;
    int32_t block_tokens, n_layers, n_kv_heads, head_dim;
    bool is_by_head;
};
struct cache_sequence {
    int32_t n_before, n_rows;
};
enum { CACHE_SEQUENCES = 6 };

struct cache {
    struct cache_shape shape;
    struct cuda_cache cuda;
    struct cuda_batch batch;
    struct compute_kv kv; /* the same cache, as the CPU sees it */
    uint32_t *blocks;     /* of sequence i: (n_tables, stride) from i * n_tables * stride on */
    uint32_t stride;
    int32_t n_tables, n_rows;
    int n_sequences;
    struct compute_sequence sequences[CACHE_SEQUENCES];
};

static inline void cache_shuffle(uint32_t *ids, uint32_t n, struct rng *rng)
{
    for (uint32_t i = 0; i < n; i++)
        ids[i] = i;
    for (uint32_t i = n; i > 1; i--) {
        uint32_t j = rng_below(rng, i), id = ids[i - 1];
        ids[i - 1] = ids[j];
        ids[j] = id;
    }
}

/* Bytes of the unit or block that the shape asks for, and of the padding that this test puts in. */
static inline void cache_sizes(struct cache *cache)
{
    const struct cache_shape *s = &cache->shape;
    size_t part = (size_t)s->block_tokens * (size_t)dtype_row_bytes(s->dtype, s->head_dim);
    size_t parts = s->is_by_head ? 2 : 2 * (size_t)s->n_layers * (size_t)s->n_kv_heads;
    cache->cuda = (struct cuda_cache){
        .block_bytes = (part * parts + 15) / 16 * 16,
        .blocks_per_unit = s->is_by_head ? 1 : 3,
        .block_tokens = s->block_tokens,
        .type = (int32_t)s->dtype,
        .n_kv_heads = s->n_kv_heads,
        .head_dim = s->head_dim,
        .is_by_head = s->is_by_head,
    };
    cache->cuda.unit_bytes = cache->cuda.block_bytes * cache->cuda.blocks_per_unit + 32;
}

static inline void cache_open(struct cache *cache, const struct cache_shape *shape,
                              const struct cache_sequence *given, int n, struct rng *rng)
{
    *cache = (struct cache){ .shape = *shape, .n_sequences = n };
    cache_sizes(cache);
    int32_t longest = 1, row = 0;
    for (int i = 0; i < n; i++)
        longest = max_i32(longest, given[i].n_before + given[i].n_rows);
    cache->stride = (uint32_t)((longest - 1) / shape->block_tokens + 1);
    cache->n_tables = shape->is_by_head ? shape->n_layers * shape->n_kv_heads : 1;
    uint32_t n_blocks = (uint32_t)(n * cache->n_tables) * cache->stride;
    uint32_t n_units = n_blocks / cache->cuda.blocks_per_unit + 1;
    cache->cuda.base = emulate_take(n_units * cache->cuda.unit_bytes);
    cache->blocks = emulate_take(n_blocks * sizeof(uint32_t));
    cache_shuffle(cache->blocks, n_blocks, rng);
    struct cuda_sequence *sequences = emulate_take((size_t)n * sizeof(*sequences));
    for (int i = 0; i < n; i++) {
        uint64_t at = (uint64_t)(i * cache->n_tables) * cache->stride;
        sequences[i] = (struct cuda_sequence){ at, cache->stride, row, given[i].n_before };
        cache->sequences[i] = (struct compute_sequence){ row, given[i].n_rows, given[i].n_before,
                                                         cache->blocks + at, cache->stride };
        row += given[i].n_rows;
    }
    cache->n_rows = row;
    int32_t *sequence_of = emulate_take((size_t)row * sizeof(int32_t));
    for (int i = 0; i < n; i++)
        for (int32_t r = 0; r < given[i].n_rows; r++)
            sequence_of[cache->sequences[i].first_row + r] = i;
    cache->batch = (struct cuda_batch){ sequences, sequence_of, cache->blocks };
    cache->kv = (struct compute_kv){
        .base = cache->cuda.base,
        .unit_bytes = cache->cuda.unit_bytes,
        .block_bytes = cache->cuda.block_bytes,
        .blocks_per_unit = cache->cuda.blocks_per_unit,
        .block_tokens = shape->block_tokens,
        .dtype = shape->dtype,
        .n_layers = shape->n_layers,
        .n_kv_heads = shape->n_kv_heads,
        .head_dim = shape->head_dim,
        .is_by_head = shape->is_by_head,
    };
}

static inline void cache_close(struct cache *cache)
{
    emulate_give(cache->cuda.base);
    emulate_give(cache->blocks);
    emulate_give((void *)(uintptr_t)cache->batch.sequences);
    emulate_give((void *)(uintptr_t)cache->batch.sequence_of);
}

/* The row of `head_dim` elements of one position as floats. */
static inline void cache_read(const struct cache *cache, int sequence, int layer, int part,
                              int head, int32_t position, float *out)
{
    const struct compute_kv *kv = &cache->kv;
    size_t n = (size_t)kv->block_tokens, t = (size_t)(position % kv->block_tokens);
    size_t n_dims = (size_t)kv->head_dim;
    const unsigned char *rows = compute_kv_rows(kv, &cache->sequences[sequence],
                                                position / kv->block_tokens, layer, part, head);
    for (size_t d = 0; d < n_dims; d++) {
        uint16_t half;
        if (kv->dtype == DTYPE_F32) {
            memcpy(&out[d], rows + (t * n_dims + d) * 4, 4);
            continue;
        }
        const unsigned char *at = kv->dtype == DTYPE_F16 ? rows + (t * n_dims + d) * 2
                                                         : rows + n * n_dims + 2 * (d / 32 * n + t);
        memcpy(&half, at, 2);
        out[d] = half_to_float(half);
        if (kv->dtype == DTYPE_Q8_0)
            out[d] *= (float)(int8_t)rows[t * n_dims + d];
    }
}
