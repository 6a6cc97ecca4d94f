/* Block tables: what requests hold, reservation and release. */
#include "kv/pool.h"
#include <string.h>

const uint32_t *kv_table(const struct kv *kv, uint32_t slot, int32_t *n_blocks)
{
    CHECK(slot < kv->options.n_requests_max);
    *n_blocks = kv->sizes[slot];
    return kv->is_counted ? NULL : kv_pool_table(kv, slot);
}

const int32_t *kv_table_sizes(const struct kv *kv)
{
    return kv->sizes;
}

const uint32_t *kv_table_heads(const struct kv *kv, uint32_t slot, uint32_t *stride)
{
    CHECK(slot < kv->options.n_requests_max);
    *stride = kv->table_stride;
    return kv->heads.tables == NULL
               ? NULL
               : kv->heads.tables + (size_t)slot * kv->heads.n_heads_max * kv->table_stride;
}

int64_t kv_table_bytes(const struct kv *kv, int64_t *most)
{
    *most = kv->n_entries_most * (int64_t)sizeof(uint32_t);
    return kv->n_entries * (int64_t)sizeof(uint32_t);
}

void kv_pool_add_entries(struct kv *kv, int service, int64_t n_blocks)
{
    kv->n_entries += n_blocks * kv->services[service].layout.units_per_block;
    kv->n_entries_most = max_i64(kv->n_entries_most, kv->n_entries);
}

bool kv_pool_is_closing(const struct kv *kv, uint32_t index)
{
    return kv->is_by_head ? kv_heads_is_closing(kv, index)
                          : kv->units[index / kv->stride].is_closing;
}

/* ---- Reservation. ---- */

static void extend(struct kv *kv, int service, uint32_t slot, int64_t n_blocks)
{
    int64_t n = n_blocks - kv->sizes[slot];
    if (n <= 0)
        return;
    CHECK(n_blocks <= kv->table_stride);
    CHECK(kv->sizes[slot] == 0 || kv->owners[slot] == service);
    kv->owners[slot] = (uint16_t)service;
    uint32_t *ids = kv->is_counted ? NULL : kv_pool_table(kv, slot) + kv->sizes[slot];
    if (kv->is_by_head && ids != NULL) {
        kv_heads_take(kv, service, ids, (uint32_t)n);
        kv_heads_name(kv, slot, kv->sizes[slot], n_blocks);
    } else if (ids != NULL) {
        kv_pool_take(kv, service, ids, (uint32_t)n);
    }
    if (ids != NULL)
        kv_pool_add_entries(kv, service, n);
    kv->sizes[slot] = (int32_t)n_blocks;
}

/* Returns the first round of a hold (from 1) in which single steps would take a block for it. */
static int32_t first_round(const struct kv_need *need, int32_t block_tokens)
{
    return 1 + (block_tokens - need->n_first % block_tokens) % block_tokens;
}

/* Takes the later rounds of a hold in the order of single steps: by round, then by item. Cutting
 * the hold short and trimming then leaves the very blocks that stepping would have taken. Every
 * item takes a block each block_tokens rounds, so one order of items repeats until all have theirs.
 */
static void extend_by_round(struct kv *kv, int service, const struct kv_need *needs, int n_needs)
{
    int32_t block_tokens = kv->services[service].layout.block_tokens, n_left = 0;
    uint16_t order[LIMIT_BATCH_ITEMS];
    CHECK(n_needs <= LIMIT_BATCH_ITEMS);
    for (int32_t round = 1; round <= block_tokens; round++)
        for (int i = 0; i < n_needs; i++)
            if (first_round(&needs[i], block_tokens) == round)
                order[n_left++] = (uint16_t)i;
    for (int32_t past = 0; n_left > 0; past += block_tokens) {
        int32_t n = n_left;
        n_left = 0;
        for (int32_t k = 0; k < n; k++) {
            const struct kv_need *need = &needs[order[k]];
            int32_t n_tokens = need->n_first + past + first_round(need, block_tokens);
            if (n_tokens > need->n_tokens)
                continue;
            extend(kv, service, need->slot, kv_blocks_for(n_tokens, block_tokens));
            order[n_left++] = order[k];
        }
    }
}

static int64_t blocks_lacking(const struct kv *kv, const struct kv_need *need, int32_t block_tokens)
{
    CHECK(need->slot < kv->options.n_requests_max && need->n_tokens >= 0);
    int64_t n = (int64_t)kv->sizes[need->slot] * block_tokens;
    return n >= need->n_tokens
               ? 0
               : kv_blocks_for(need->n_tokens, block_tokens) - kv->sizes[need->slot];
}

/* A head-wise pool evicts whole blocks, so it may free a few units more than were lacking. */
static bool counts_agree(const struct kv *kv, const struct kv_budget *a, int service)
{
    const struct kv_budget *b = &kv->budget;
    const struct kv_budget_service *s = &a->services[service], *t = &b->services[service];
    return a->n_units_free == b->n_units_free &&
           (a->n_units_cached == b->n_units_cached ||
            (kv->is_by_head && b->n_units_cached < a->n_units_cached)) &&
           a->n_units_owed == b->n_units_owed && s->n_units == t->n_units &&
           s->n_blocks_free == t->n_blocks_free && s->n_blocks_cached == t->n_blocks_cached;
}

bool kv_reserve(struct kv *kv, int service, const struct kv_need *needs, int n_needs)
{
    CHECK(kv_has_service(kv, service));
    int32_t block_tokens = kv->services[service].layout.block_tokens;
    int64_t n = 0;
    bool is_hold = false;
    for (int i = 0; i < n_needs; i++) {
        n += blocks_lacking(kv, &needs[i], block_tokens);
        is_hold |= needs[i].n_first != 0 && needs[i].n_first < needs[i].n_tokens;
    }
    if (n == 0)
        return true;
    struct kv_budget after;
    struct kv_budget *budget = kv->is_counted ? &kv->budget : &after;
    if (!kv->is_counted)
        kv_budget_copy(&after, &kv->budget);
    if (!kv_budget_take(budget, service, n))
        return false;
    if (kv->is_counted) {
        kv->services[service].stats.n_blocks_used += n;
        kv_pool_add_entries(kv, service, n);
    }
    for (int i = 0; i < n_needs; i++) {
        bool is_ahead = needs[i].n_first != 0 && !kv->is_counted;
        int32_t n_tokens =
            is_ahead ? min_i32(needs[i].n_first, needs[i].n_tokens) : needs[i].n_tokens;
        extend(kv, service, needs[i].slot, kv_blocks_for(n_tokens, block_tokens));
    }
    if (is_hold && !kv->is_counted)
        extend_by_round(kv, service, needs, n_needs);
    CHECK(kv->is_counted || counts_agree(kv, budget, service));
    return true;
}

/* Drops the last block first, so that the tail of a cached prefix is evicted before its head. */
static void shorten(struct kv *kv, uint32_t slot, int64_t n_blocks)
{
    int64_t n = kv->sizes[slot] - n_blocks;
    if (n <= 0)
        return;
    kv->sizes[slot] = (int32_t)n_blocks;
    if (kv->is_counted) {
        kv_count_put(kv, kv->owners[slot], n);
        return;
    }
    kv_pool_add_entries(kv, kv->owners[slot], -n);
    if (kv->is_by_head)
        kv_heads_put_all(kv, kv_pool_table(kv, slot) + n_blocks, (uint32_t)n);
    else
        kv_pool_put_all(kv, kv->owners[slot], kv_pool_table(kv, slot) + n_blocks, (uint32_t)n);
}

void kv_release(struct kv *kv, uint32_t slot)
{
    CHECK(slot < kv->options.n_requests_max);
    shorten(kv, slot, 0);
    if (kv->chains != NULL)
        kv->chains[slot].n_named = 0;
}

void kv_trim(struct kv *kv, uint32_t slot, int32_t n_tokens)
{
    CHECK(slot < kv->options.n_requests_max && n_tokens >= 0);
    if (kv->sizes[slot] == 0)
        return; /* its owner may have left the pool */
    int32_t block_tokens = kv->services[kv->owners[slot]].layout.block_tokens;
    CHECK(kv->chains == NULL || n_tokens / block_tokens >= (int32_t)kv->chains[slot].n_named);
    if ((int64_t)(kv->sizes[slot] - 1) * block_tokens >= n_tokens)
        shorten(kv, slot, kv_blocks_for(n_tokens, block_tokens));
}
