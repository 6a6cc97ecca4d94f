/* Grows and shrinks a pool, and keeps memory behind its open units. */
#include "kv/parts.h"
#include "kv/pool.h"

/* Units below the target are open; those above that are still closing have had memory all along. */
static bool back_open(const struct kv *kv)
{
    return kv->memory.back == NULL ||
           kv->memory.back(kv->memory.self, 0, kv->n_units_target * kv->options.unit_bytes);
}

bool kv_lend(struct kv *kv, const struct kv_memory *memory)
{
    CHECK(!kv->options.is_virtual && kv_is_idle(kv));
    kv->memory = *memory;
    return back_open(kv) && memory->back(memory->self, kv->range_bytes, kv_range_bytes(kv));
}

int64_t kv_open_bytes(const struct kv *kv)
{
    return ((int64_t)kv->n_units_target + kv->n_units_closing) * kv->options.unit_bytes;
}

static bool is_closed(const struct kv *kv, uint32_t u)
{
    return (kv->is_by_head ? kv->heads.states[u] : kv->units[u].state) == KV_UNIT_CLOSED;
}

/* Hands back the memory between the units that are still held. */
static void forget_closed(const struct kv *kv)
{
    int64_t unit_bytes = kv->options.unit_bytes;
    uint32_t from = kv->n_units_target, left = kv->n_units_closing;
    if (kv->memory.drop == NULL)
        return;
    for (uint32_t u = from; left > 0; u++) {
        if (is_closed(kv, u))
            continue;
        kv->memory.drop(kv->memory.self, from * unit_bytes, u * unit_bytes);
        from = u + 1;
        left--;
    }
    kv->memory.drop(kv->memory.self, from * unit_bytes, kv->range_bytes);
}

static void open_some(struct kv *kv, int64_t n_opens)
{
    for (uint32_t u = kv->n_units_target; u < kv->n_units_used; u = ++kv->n_units_target) {
        if (kv->units[u].state != KV_UNIT_CLOSED)
            kv_pool_keep_unit(kv, u);
        else if (n_opens-- > 0)
            kv_pool_open_unit(kv, u);
        else
            return;
    }
    n_opens = min_i64(max_i64(n_opens, 0), kv->n_units_max - kv->n_units_target);
    kv->n_units_target += (uint32_t)n_opens;
    kv->budget.n_units_free += n_opens;
}

int64_t kv_most_blocks(const struct kv *kv, int service, int64_t n_units_open)
{
    struct kv_budget budget;
    if (kv->options.kind != KV_PRIVATE)
        return kv_budget_most_of(&kv->budget, service, n_units_open);
    kv_budget_copy(&budget, &kv->budget);
    budget.n_units_open = n_units_open;
    kv_parts_cut(kv, &budget);
    return kv_budget_most_blocks(&budget, service);
}

int64_t kv_grow(struct kv *kv, int64_t n_bytes)
{
    int64_t before = kv_open_bytes(kv), n_opens = n_bytes / kv->options.unit_bytes;
    if (kv->is_counted)
        kv_count_grow(kv, n_opens);
    else if (kv->is_by_head)
        kv_heads_grow(kv, n_opens);
    else
        open_some(kv, n_opens);
    kv_parts_tell(kv);
    if (kv->n_units_closed > 0)
        forget_closed(kv);
    kv->n_units_closed = 0;
    if (!back_open(kv)) /* what was opened is free, and closes at once */
        (void)kv_shrink(kv, kv_open_bytes(kv) - before);
    return kv_open_bytes(kv) - before;
}

int64_t kv_shrink(struct kv *kv, int64_t n_bytes)
{
    int64_t unit_bytes = kv->options.unit_bytes;
    int64_t n = div_up_i64(max_i64(n_bytes, 0), unit_bytes) - kv->n_units_closing;
    if (kv->is_counted)
        kv_count_shrink(kv, n);
    else if (kv->is_by_head)
        kv_heads_shrink(kv, n);
    for (; n > 0 && kv->n_units_target > 0 && kv->units != NULL; n--)
        kv_pool_close_unit(kv, --kv->n_units_target);
    kv_parts_tell(kv);
    int64_t closed = kv->n_units_closed * unit_bytes;
    kv->n_units_closed = 0;
    if (closed > 0)
        forget_closed(kv);
    return closed;
}

uint32_t kv_busy_closing(const struct kv *kv)
{
    if (kv->n_units_closing == 0)
        return KV_NONE;
    for (uint32_t slot = 0; slot < kv->options.n_requests_max; slot++) {
        if (kv->is_counted && kv->sizes[slot] > 0)
            return slot; /* whatever it gives back closes */
        for (int32_t i = 0; i < kv->sizes[slot] && !kv->is_counted; i++) {
            uint32_t index = kv_pool_index(kv, kv->owners[slot], kv_pool_table(kv, slot)[i]);
            if (kv_pool_is_closing(kv, index))
                return slot;
        }
    }
    return KV_NONE;
}
