/* The rows of a static batch. See pads.h. */
#include "run/pads.h"

#include "base/mem.h"
#include "kv/kv.h"

int32_t run_pads_parts(const struct batch *batch)
{
    return batch_n_rows(batch) + batch->n_items;
}

struct run_part run_pads_part(const struct batch *batch, int32_t width, int32_t part)
{
    int32_t item = part / 2;
    if (item >= batch->n_items)
        return (struct run_part){ -1, max_i32(batch->pads.row_tokens - width, 0), width };
    int32_t n = batch->items[item].n_tokens;
    if (part % 2 == 0)
        return (struct run_part){ item, 0, n };
    return (struct run_part){ -1, 0, max_i32(width - n, 0) };
}

/* Returns a table for rows [n_before, n_end) of padding. The rows write to blocks of their own, and
 * what they read before is the read-only block. Returns NULL when too few blocks are left in this
 * pass. */
static struct run_table table_of(struct run_filling *f, int32_t n_before, int32_t n_end)
{
    uint32_t n_read = (uint32_t)(n_before / f->block_tokens);
    uint32_t n = (uint32_t)kv_blocks_for(n_end, f->block_tokens);
    if (f->pads.n - f->pads.n_used < n - n_read ||
        f->pads.n_table + (size_t)n * f->n_heads > f->slot->n_pad_table_max)
        return (struct run_table){ .blocks = NULL };
    uint32_t *blocks = f->slot->pad_table + f->pads.n_table;
    f->pads.n_table += (size_t)n * f->n_heads;
    for (uint32_t head = 0; head < f->n_heads; head++)
        for (uint32_t k = 0; k < n; k++) {
            uint32_t pad = k < n_read ? 0 : f->pads.n_used + k - n_read;
            blocks[head * n + k] = f->pads.first + pad * f->n_heads + head;
        }
    f->pads.n_used += n - n_read;
    return (struct run_table){ blocks, n };
}

int32_t run_pads_add(struct run_filling *f, int32_t n_before, int32_t n)
{
    n = min_i32(n, f->block_tokens);
    struct run_table table = table_of(f, n_before, n_before + n);
    if (table.blocks == NULL) { /* the rows before took all of them */
        CHECK(f->slot->pass.n_sequences > 0);
        return 0;
    }
    run_filling_add(f, n_before, n, table, NULL);
    f->lane->n_pad_rows += n;
    return n;
}

/* The table of pads must hold at least the longest row. */
void run_pads_begin(struct run_filling *f)
{
    struct run_lane *lane = f->lane;
    struct run_lane_slot *slot = f->slot;
    int32_t n_lanes = lane->options.device->n_lanes;
    size_t n_most = (size_t)(f->batch->pads.row_tokens / f->block_tokens + 3) * f->n_heads;
    size_t n = n_most * (size_t)max_i32(f->batch->pads.n_rows, 1);
    n = n < n_most + (1u << 20) ? n : n_most + (1u << 20);
    if (n > slot->n_pad_table_max) {
        slot->pad_table =
            mem_grow(slot->pad_table, slot->n_pad_table_max * sizeof(*slot->pad_table),
                     n * sizeof(*slot->pad_table));
        slot->n_pad_table_max = n;
    }
    int64_t n_pads = kv_aside(lane->shared->view.kv, f->batch->service, &f->pads.first) / n_lanes;
    f->pads.width = batch_width(f->batch);
    f->pads.n = (uint32_t)n_pads;
    f->pads.n_used = 1;
    f->pads.first += f->pads.n * (uint32_t)lane->index * f->n_heads;
    CHECK(f->pads.n >= 3); /* the read-only one, and a row's two */
}
