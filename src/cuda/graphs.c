/* The CUDA graphs of a workspace: see graphs.h. */
#include "cuda/graphs.h"

#include "base/base.h"
#include "core/limits.h"

/* An operation becomes about two kernels. NVIDIA states no size of a node: this one is assumed, and
 * to be measured on a GPU. */
enum { ROWS_MAX = 256, OP_NODES = 2, NODE_BYTES = 4096 };

int32_t cuda_graphs_rows(int32_t n_rows, int32_t n_rows_max)
{
    int32_t unit = n_rows <= 8 ? 1 : n_rows <= 64 ? 8 : 32;
    int32_t n = (n_rows + unit - 1) / unit * unit;
    while (n < 8 && (n & (n - 1)) != 0)
        n++;
    return n_rows > n_rows_max || n > ROWS_MAX ? 0 : min_i32(n, n_rows_max);
}

int32_t cuda_graphs_positions(int32_t n_positions)
{
    int64_t n = CUDA_PIECE;
    while (n < n_positions)
        n *= 2;
    return (int32_t)max_i64(min_i64(n, LIMIT_CONTEXT), n_positions);
}

static bool is_same_cache(const struct cuda_cache *a, const struct cuda_cache *b)
{
    return a->base == b->base && a->unit_bytes == b->unit_bytes &&
           a->block_bytes == b->block_bytes && a->blocks_per_unit == b->blocks_per_unit &&
           a->block_tokens == b->block_tokens && a->type == b->type &&
           a->n_kv_heads == b->n_kv_heads && a->head_dim == b->head_dim &&
           a->is_by_head == b->is_by_head;
}

static bool is_same(const struct cuda_graph_key *a, const struct cuda_graph_key *b)
{
    return a->n_rows == b->n_rows && a->n_positions_max == b->n_positions_max &&
           is_same_cache(&a->cache, &b->cache);
}

struct cuda_graph_slot *cuda_graphs_find(struct cuda_graphs *graphs,
                                         const struct cuda_graph_key *key)
{
    struct cuda_graph_slot *found = &graphs->slots[0];
    graphs->n_uses++;
    for (int i = 0; i < CUDA_GRAPHS_MAX; i++) {
        struct cuda_graph_slot *slot = &graphs->slots[i];
        if (slot->used > 0 && is_same(&slot->key, key)) {
            slot->used = graphs->n_uses;
            return slot;
        }
        if (slot->used < found->used)
            found = slot;
    }
    cuda_driver_graph_close(graphs->driver, found->graph);
    *found = (struct cuda_graph_slot){ .key = *key, .used = graphs->n_uses };
    return found;
}

int64_t cuda_graphs_bytes(int32_t n_ops)
{
    return (int64_t)CUDA_GRAPHS_MAX * n_ops * OP_NODES * NODE_BYTES;
}

void cuda_graphs_close(struct cuda_graphs *graphs)
{
    for (int i = 0; i < CUDA_GRAPHS_MAX; i++)
        cuda_driver_graph_close(graphs->driver, graphs->slots[i].graph);
}
