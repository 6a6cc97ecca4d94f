/* Checks the pool: every count and every list is compared with a count from scratch. */
#include "base/mem.h"
#include "kv/pool.h"
#include <string.h>

/* Counts the references to every block from the tables. Returns false when a table names an
 * impossible block. */
static bool count_references(const struct kv *kv, uint32_t *n_refs)
{
    for (uint32_t slot = 0; slot < kv->options.n_requests_max; slot++) {
        int service = kv->owners[slot];
        const uint32_t *blocks = kv->table_blocks + (size_t)slot * kv->table_stride;
        if (kv->sizes[slot] < 0 || kv->sizes[slot] > (int32_t)kv->table_stride)
            return false;
        for (int32_t i = 0; i < kv->sizes[slot]; i++) {
            uint32_t index = kv_pool_index(kv, service, blocks[i]);
            if (index / kv->stride >= kv->n_units_used ||
                kv->units[index / kv->stride].state != KV_UNIT_ACTIVE ||
                kv->units[index / kv->stride].service != service)
                return false;
            n_refs[index]++;
        }
    }
    return true;
}

/* Checks one unit against the references, and adds what it holds to the counts. */
static bool check_unit(const struct kv *kv, uint32_t u, const uint32_t *n_refs,
                       struct kv_budget *counts, struct kv_stats *stats)
{
    const struct kv_unit *unit = &kv->units[u];
    bool is_open = u < kv->n_units_target;
    if (unit->state == KV_UNIT_CLOSED || unit->state == KV_UNIT_FREE) {
        counts->n_units_free += unit->state == KV_UNIT_FREE;
        return kv_bits_has(&kv->free, u) == (unit->state == KV_UNIT_FREE) && !unit->is_closing &&
               unit->cached_mask == 0 && is_open == (unit->state == KV_UNIT_FREE);
    }
    if (kv_bits_has(&kv->free, u) || unit->is_closing == is_open)
        return false;
    bool is_active = unit->state == KV_UNIT_ACTIVE;
    int n_free = 0, n_cached = 0, n_used = 0;
    int n = kv->services[unit->service].layout.blocks_per_unit;
    for (int i = 0; i < n; i++) {
        uint32_t index = u * kv->stride + (uint32_t)i;
        bool is_free = unit->free_mask >> i & 1, is_cached = unit->cached_mask >> i & 1;
        n_free += is_free;
        n_cached += is_cached;
        n_used += n_refs[index] > 0;
        if (is_free + is_cached + (n_refs[index] > 0) != 1)
            return false;
        if (kv->blocks == NULL) {
            if (n_refs[index] > 1)
                return false;
            continue;
        }
        const struct kv_block *block = &kv->blocks[index];
        if (block->n_refs != n_refs[index])
            return false;
        if ((is_cached && !block->is_published) || (is_free && block->is_published))
            return false;
        if (block->is_published && map_find(&kv->index, block->name.low) != index)
            return false;
    }
    if (n_free != unit->n_free)
        return false;
    struct kv_budget_service *s = &counts->services[unit->service];
    stats[unit->service].n_blocks_used += n_used;
    stats[unit->service].n_blocks_cached += n_cached;
    counts->n_units_free += !is_active;
    counts->n_units_cached += !is_active;
    s->n_units += is_active;
    if (is_active && !unit->is_closing) {
        s->n_blocks_free += n_free;
        s->n_blocks_cached += n_cached;
        if (n_free > 0 && !kv_bits_has(&kv->services[unit->service].partial[n_free], u))
            return false;
    }
    return is_active ? n_used > 0 && (!unit->is_closing || n_cached == 0)
                     : n_used == 0 && n_cached > 0;
}

static bool lists_are_sound(const struct kv *kv)
{
    int64_t n = 0;
    for (uint32_t u = kv->oldest_unit; u != KV_NONE; u = kv->units[u].newer, n++)
        if (kv->units[u].state != KV_UNIT_CACHED || n > kv->n_units_max)
            return false;
    if (n != kv->budget.n_units_cached)
        return false;
    for (int i = 0; i < kv->budget.n_services; i++) {
        const struct kv_service *service = &kv->services[i];
        n = 0;
        for (uint32_t b = service->oldest; b != KV_NONE; b = kv->blocks[b].newer, n++)
            if (kv->units[b / kv->stride].state != KV_UNIT_ACTIVE ||
                kv->units[b / kv->stride].service != i || kv->blocks[b].n_refs != 0 ||
                n > kv->budget.services[i].n_blocks_cached)
                return false;
        if (n != kv->budget.services[i].n_blocks_cached)
            return false;
    }
    return true;
}

static bool counts_are_sound(const struct kv *kv, const struct kv_budget *counts,
                             const struct kv_stats *stats)
{
    const struct kv_budget *budget = &kv->budget;
    int64_t owed = 0, floors = 0, published = 0;
    for (int i = 0; i < budget->n_services; i++) {
        const struct kv_budget_service *a = &budget->services[i], *b = &counts->services[i];
        const struct kv_stats *held = &kv->services[i].stats;
        owed += max_i64(0, a->n_units_min - a->n_units);
        floors += a->n_units_min;
        if (a->n_blocks_free != b->n_blocks_free || a->n_blocks_cached != b->n_blocks_cached ||
            a->n_units != b->n_units || held->n_blocks_used != stats[i].n_blocks_used ||
            held->n_blocks_cached != stats[i].n_blocks_cached)
            return false;
        published += held->n_blocks_cached;
    }
    return budget->n_units_owed == owed && budget->n_units_floors == floors &&
           budget->n_units_free == counts->n_units_free &&
           budget->n_units_cached == counts->n_units_cached &&
           budget->n_units_open == kv->n_units_target && kv->index.n >= published &&
           kv->free.n_members + kv_pool_n_fresh(kv) ==
               counts->n_units_free - counts->n_units_cached;
}

bool kv_is_sound(const struct kv *kv)
{
    if (kv->is_counted)
        return kv_count_is_sound(kv);
    if (kv->is_by_head)
        return kv_heads_are_sound(kv);
    uint32_t *n_refs = mem_take((size_t)kv->n_units_used * kv->stride * sizeof(*n_refs));
    struct kv_budget counts = { .n_units_free = kv_pool_n_fresh(kv) };
    struct kv_stats stats[KV_SERVICES_MAX] = { 0 };
    bool is_sound = count_references(kv, n_refs);
    uint32_t n_closing = 0;
    for (uint32_t u = 0; is_sound && u < kv->n_units_used; u++) {
        is_sound = check_unit(kv, u, n_refs, &counts, stats);
        n_closing += kv->units[u].is_closing;
    }
    mem_give(n_refs);
    return is_sound && n_closing == kv->n_units_closing && lists_are_sound(kv) &&
           counts_are_sound(kv, &counts, stats);
}

bool kv_is_idle(const struct kv *kv)
{
    for (int i = 0; i < kv->budget.n_services; i++)
        if (kv->services[i].stats.n_blocks_used != 0 || kv->budget.services[i].n_units != 0)
            return false;
    return kv->host.n_free == kv->host.n_pages;
}
