/* The head-wise pool (MuxServe, sections 3.3 and 3.4): a block is one unit for every head of every
 * layer, wherever units are free.
 *
 * All units are alike. So models of unlike shapes lose nothing if their heads have one size, and no
 * unit has to wait until its other blocks are free. The cost is larger tables and scattered memory:
 * a request's table has an entry for each head of each layer of a block.
 *
 * Free units are a list through `next`, last in, first out. The units of a block are such a list
 * too, in the order of layers and then heads. Taking a block cuts a piece off the free list, and
 * giving it back puts the piece on again. History decides which units those are, but no plan or
 * report depends on it. A cached block counts as free units for any service that needs them, as
 * CACHED units do in the merged pool. */
#include "base/mem.h"
#include "kv/pool.h"
#include <sys/mman.h>

static int32_t width_of(const struct kv *kv, int service)
{
    return kv->services[service].layout.units_per_block;
}

/* ---- Opening. ---- */

static void open_tables(struct kv *kv)
{
    struct kv_heads *heads = &kv->heads;
    heads->table_bytes = (int64_t)kv->options.n_requests_max * heads->n_heads_max *
                         kv->table_stride * (int64_t)sizeof(*heads->tables);
    if (!kv->options.is_virtual)
        heads->tables = (void *)kv_range_take(heads->table_bytes);
    if (heads->tables != NULL) /* each request touches each row's start: small pages suffice */
        (void)madvise((void *)heads->tables, (size_t)heads->table_bytes, MADV_NOHUGEPAGE);
}

void kv_heads_open(struct kv *kv)
{
    struct kv_heads *heads = &kv->heads;
    heads->first_free = heads->oldest = heads->newest = KV_NONE;
    heads->n_heads_max = (uint32_t)kv->options.bounds.units_per_block_max;
    heads->n_free_blocks = heads->n_blocks_max;
    heads->next = mem_take(kv->n_units_max * sizeof(*heads->next));
    heads->before = mem_take(kv->n_units_max * sizeof(*heads->before));
    heads->states = mem_take(kv->n_units_max);
    heads->first_units = mem_take(heads->n_blocks_max * sizeof(*heads->first_units));
    heads->services = mem_take(heads->n_blocks_max * sizeof(*heads->services));
    heads->free_blocks = mem_take(heads->n_blocks_max * sizeof(*heads->free_blocks));
    for (uint32_t i = 0; i < heads->n_blocks_max; i++) {
        heads->free_blocks[i] = heads->n_blocks_max - 1 - i;
        heads->first_units[i] = KV_NONE;
    }
    open_tables(kv);
}

void kv_heads_close(struct kv *kv)
{
    struct kv_heads *heads = &kv->heads;
    if (heads->tables != NULL)
        kv_range_give((void *)heads->tables, heads->table_bytes);
    mem_give(heads->next);
    mem_give(heads->before);
    mem_give(heads->states);
    mem_give(heads->first_units);
    mem_give(heads->services);
    mem_give(heads->free_blocks);
}

/* ---- Cached blocks, least recently used first. ---- */

static void unlink_block(struct kv *kv, uint32_t b)
{
    struct kv_block *block = &kv->blocks[b];
    if (block->older != KV_NONE)
        kv->blocks[block->older].newer = block->newer;
    else
        kv->heads.oldest = block->newer;
    if (block->newer != KV_NONE)
        kv->blocks[block->newer].older = block->older;
    else
        kv->heads.newest = block->older;
}

static void link_block(struct kv *kv, uint32_t b)
{
    struct kv_block *block = &kv->blocks[b];
    block->older = kv->heads.newest;
    block->newer = KV_NONE;
    if (kv->heads.newest != KV_NONE)
        kv->blocks[kv->heads.newest].newer = b;
    else
        kv->heads.oldest = b;
    kv->heads.newest = b;
}

/* ---- Units. ---- */

bool kv_heads_is_closing(const struct kv *kv, uint32_t b)
{
    const struct kv_heads *heads = &kv->heads;
    int32_t n = width_of(kv, heads->services[b]);
    if (kv->n_units_closing == 0)
        return false;
    for (uint32_t u = heads->first_units[b]; n > 0; u = heads->next[u], n--)
        if (u >= kv->n_units_target)
            return true;
    return false;
}

/* Puts the list of units [first, last] before all free units. */
static void join_free(struct kv_heads *heads, uint32_t first, uint32_t last)
{
    heads->next[last] = heads->first_free;
    heads->before[first] = KV_NONE;
    if (heads->first_free != KV_NONE)
        heads->before[heads->first_free] = last;
    heads->first_free = first;
}

/* Gives the units of an unreferenced block back. They go to the free list in their order, except
 * that units waiting to close are closed. Returns how many became free. */
static int64_t give_units(struct kv *kv, uint32_t b)
{
    struct kv_heads *heads = &kv->heads;
    uint32_t first = KV_NONE, last = KV_NONE, u = heads->first_units[b];
    int64_t n_free = 0;
    for (int32_t n = width_of(kv, heads->services[b]); n > 0; n--) {
        uint32_t next = heads->next[u];
        CHECK(heads->states[u] == KV_UNIT_ACTIVE);
        if (u >= kv->n_units_target) {
            heads->states[u] = KV_UNIT_CLOSED;
            kv->n_units_closing--;
            kv->n_units_closed++;
        } else {
            heads->states[u] = KV_UNIT_FREE;
            heads->before[u] = last;
            if (last != KV_NONE)
                heads->next[last] = u;
            else
                first = u;
            last = u;
            n_free++;
        }
        u = next;
    }
    if (last != KV_NONE) {
        join_free(heads, first, last);
    }
    heads->first_units[b] = KV_NONE;
    heads->free_blocks[heads->n_free_blocks++] = b;
    return n_free;
}

/* ---- Blocks. ---- */

static void evict(struct kv *kv, uint32_t b)
{
    int service = kv->heads.services[b];
    struct kv_stats *stats = &kv->services[service].stats;
    CHECK(kv->blocks[b].n_refs == 0);
    kv_pool_unpublish(kv, b);
    unlink_block(kv, b);
    stats->n_blocks_cached--;
    stats->n_evicted++;
    kv->budget.n_units_cached -= width_of(kv, service);
    kv->budget.n_units_free -= width_of(kv, service);
    kv->budget.n_units_free += give_units(kv, b);
}

static uint32_t take_block(struct kv *kv, int service)
{
    struct kv_heads *heads = &kv->heads;
    CHECK(heads->n_free_blocks > 0);
    uint32_t b = heads->free_blocks[--heads->n_free_blocks], u = heads->first_free, last = KV_NONE;
    heads->first_units[b] = u;
    heads->services[b] = (uint16_t)service;
    for (int32_t n = width_of(kv, service); n > 0; n--) {
        CHECK(u != KV_NONE);
        heads->states[u] = KV_UNIT_ACTIVE;
        last = u;
        u = heads->next[u];
    }
    heads->next[last] = KV_NONE;
    heads->first_free = u;
    if (u != KV_NONE)
        heads->before[u] = KV_NONE;
    if (kv->blocks != NULL)
        kv->blocks[b].n_refs = 1;
    return b;
}

void kv_heads_take(struct kv *kv, int service, uint32_t *ids, uint32_t n)
{
    int64_t n_units = (int64_t)n * width_of(kv, service);
    while (kv->budget.n_units_free - kv->budget.n_units_cached < n_units) {
        CHECK(kv->heads.oldest != KV_NONE);
        evict(kv, kv->heads.oldest);
    }
    for (uint32_t i = 0; i < n; i++)
        ids[i] = take_block(kv, service);
    kv->budget.n_units_free -= n_units;
    kv_pool_add_units(kv, service, n_units);
    kv->services[service].stats.n_blocks_used += n;
}

bool kv_heads_share(struct kv *kv, uint32_t b)
{
    int service = kv->heads.services[b];
    struct kv_stats *stats = &kv->services[service].stats;
    CHECK(kv->blocks[b].is_published);
    if (kv->blocks[b].n_refs == 0) {
        int32_t width = width_of(kv, service);
        if (kv_budget_units(&kv->budget, service) < width)
            return false;
        unlink_block(kv, b);
        kv->budget.n_units_free -= width;
        kv->budget.n_units_cached -= width;
        kv_pool_add_units(kv, service, width);
        stats->n_blocks_cached--;
        stats->n_blocks_used++;
    }
    kv->blocks[b].n_refs++;
    return true;
}

static void put_block(struct kv *kv, uint32_t b)
{
    int service = kv->heads.services[b];
    struct kv_stats *stats = &kv->services[service].stats;
    if (kv->blocks != NULL) {
        CHECK(kv->blocks[b].n_refs > 0);
        if (--kv->blocks[b].n_refs > 0)
            return;
    }
    stats->n_blocks_used--;
    kv_pool_add_units(kv, service, -width_of(kv, service));
    if (kv->blocks != NULL && kv_heads_is_closing(kv, b))
        kv_pool_unpublish(kv, b);
    if (kv->blocks != NULL && kv->blocks[b].is_published) {
        link_block(kv, b);
        stats->n_blocks_cached++;
        kv->budget.n_units_cached += width_of(kv, service);
        kv->budget.n_units_free += width_of(kv, service);
        return;
    }
    kv->budget.n_units_free += give_units(kv, b);
}

void kv_heads_put_all(struct kv *kv, const uint32_t *ids, uint32_t n)
{
    while (n-- > 0)
        put_block(kv, ids[n]);
}

void kv_heads_name(struct kv *kv, uint32_t slot, int64_t at, int64_t end)
{
    struct kv_heads *heads = &kv->heads;
    const uint32_t *blocks = kv->table_blocks + (size_t)slot * kv->table_stride;
    if (heads->tables == NULL)
        return;
    for (; at < end; at++) {
        uint32_t u = heads->first_units[blocks[at]];
        uint32_t *entry = heads->tables + (size_t)slot * heads->n_heads_max * kv->table_stride + at;
        for (int32_t n = width_of(kv, heads->services[blocks[at]]); n > 0; n--) {
            *entry = u;
            entry += kv->table_stride;
            u = heads->next[u];
        }
    }
}

void kv_heads_forget(struct kv *kv, int service)
{
    for (uint32_t b = kv->heads.oldest, next; b != KV_NONE; b = next) {
        next = kv->blocks[b].newer;
        if (kv->heads.services[b] == service)
            evict(kv, b);
    }
    for (uint32_t b = 0; b < kv->heads.n_blocks_max; b++)
        if (kv->heads.first_units[b] != KV_NONE && kv->heads.services[b] == service)
            kv_pool_unpublish(kv, b);
}

/* ---- Growing and shrinking. ---- */

void kv_heads_grow(struct kv *kv, int64_t n_units)
{
    struct kv_heads *heads = &kv->heads;
    uint32_t from = kv->n_units_target;
    for (; kv->n_units_target < kv->n_units_max; kv->n_units_target++) {
        if (heads->states[kv->n_units_target] == KV_UNIT_ACTIVE)
            kv->n_units_closing--;
        else if (n_units-- <= 0)
            break;
    }
    for (uint32_t u = kv->n_units_target; u-- > from;) { /* so that the lowest is taken first */
        if (heads->states[u] != KV_UNIT_CLOSED)
            continue;
        heads->states[u] = KV_UNIT_FREE;
        join_free(heads, u, u);
        kv->budget.n_units_free++;
    }
}

static void close_free(struct kv *kv, uint32_t u)
{
    struct kv_heads *heads = &kv->heads;
    if (heads->before[u] != KV_NONE)
        heads->next[heads->before[u]] = heads->next[u];
    else
        heads->first_free = heads->next[u];
    if (heads->next[u] != KV_NONE)
        heads->before[heads->next[u]] = heads->before[u];
    heads->states[u] = KV_UNIT_CLOSED;
    kv->budget.n_units_free--;
    kv->n_units_closed++;
}

void kv_heads_shrink(struct kv *kv, int64_t n_units)
{
    struct kv_heads *heads = &kv->heads;
    uint32_t from = kv->n_units_target;
    kv->n_units_target -= (uint32_t)max_i64(0, min_i64(n_units, from));
    if (kv->n_units_target == from)
        return;
    for (uint32_t u = kv->n_units_target; u < from; u++)
        kv->n_units_closing += heads->states[u] == KV_UNIT_ACTIVE;
    for (uint32_t b = heads->oldest, next; b != KV_NONE; b = next) {
        next = kv->blocks[b].newer;
        if (kv_heads_is_closing(kv, b))
            evict(kv, b);
    }
    for (uint32_t u = kv->n_units_target; u < from; u++)
        if (heads->states[u] == KV_UNIT_FREE)
            close_free(kv, u);
}

/* ---- The self-check. ---- */

/* Marks the units of a block: its own, and those in the tables of its requests. */
static bool mark_units(const struct kv *kv, uint32_t b, uint8_t *is_seen)
{
    const struct kv_heads *heads = &kv->heads;
    uint32_t u = heads->first_units[b];
    for (int32_t n = width_of(kv, heads->services[b]); n > 0; n--, u = heads->next[u]) {
        if (u >= kv->n_units_max || heads->states[u] != KV_UNIT_ACTIVE || is_seen[u])
            return false;
        is_seen[u] = 1;
    }
    return u == KV_NONE;
}

static bool check_table(const struct kv *kv, uint32_t slot, uint32_t *n_refs)
{
    const struct kv_heads *heads = &kv->heads;
    const uint32_t *blocks = kv->table_blocks + (size_t)slot * kv->table_stride;
    if (kv->sizes[slot] < 0 || kv->sizes[slot] > (int32_t)kv->table_stride)
        return false;
    for (int32_t i = 0; i < kv->sizes[slot]; i++) {
        uint32_t b = blocks[i];
        if (b >= heads->n_blocks_max || heads->first_units[b] == KV_NONE ||
            heads->services[b] != kv->owners[slot])
            return false;
        n_refs[b]++;
        uint32_t stride, u = heads->first_units[b];
        const uint32_t *entry = kv_table_heads(kv, slot, &stride);
        for (int32_t k = 0; entry != NULL && k < width_of(kv, heads->services[b]); k++) {
            if (entry[(size_t)k * stride + (size_t)i] != u)
                return false;
            u = heads->next[u];
        }
    }
    return true;
}

/* Checks one block against its references, and adds what it holds to the counts. */
static bool check_block(const struct kv *kv, uint32_t b, uint32_t n_refs, uint8_t *is_seen,
                        struct kv_budget *counts, struct kv_stats *stats)
{
    const struct kv_heads *heads = &kv->heads;
    if (heads->first_units[b] == KV_NONE)
        return n_refs == 0;
    int service = heads->services[b];
    int32_t width = width_of(kv, service);
    if (!mark_units(kv, b, is_seen))
        return false;
    stats[service].n_blocks_used += n_refs > 0;
    stats[service].n_blocks_cached += n_refs == 0;
    if (n_refs > 0)
        counts->services[service].n_units += width;
    else
        counts->n_units_cached += width;
    if (kv->blocks == NULL)
        return n_refs == 1;
    const struct kv_block *block = &kv->blocks[b];
    if (block->n_refs != n_refs || (n_refs == 0 && !block->is_published) ||
        (n_refs == 0 && kv_heads_is_closing(kv, b)))
        return false;
    return !block->is_published || map_find(&kv->index, block->name.low) == b;
}

static bool lists_are_sound(const struct kv *kv, const struct kv_budget *counts, uint8_t *is_seen)
{
    const struct kv_heads *heads = &kv->heads;
    int64_t n_free = 0, n_cached = 0, n_open = 0, n_closing = 0;
    uint32_t last = KV_NONE;
    for (uint32_t u = heads->first_free; u != KV_NONE; u = heads->next[u], n_free++) {
        if (u >= kv->n_units_target || heads->states[u] != KV_UNIT_FREE || is_seen[u] ||
            heads->before[u] != last)
            return false;
        is_seen[u] = 1;
        last = u;
    }
    for (uint32_t u = 0; u < kv->n_units_max; u++) {
        if (is_seen[u] == (heads->states[u] == KV_UNIT_CLOSED))
            return false;
        n_open += is_seen[u] && u < kv->n_units_target;
        n_closing += is_seen[u] && u >= kv->n_units_target;
    }
    for (uint32_t b = heads->oldest; b != KV_NONE; b = kv->blocks[b].newer) {
        n_cached += width_of(kv, heads->services[b]);
        if (kv->blocks[b].n_refs != 0 || n_cached > kv->n_units_max)
            return false;
    }
    return n_open == kv->n_units_target && n_closing == kv->n_units_closing &&
           n_cached == counts->n_units_cached && n_cached == kv->budget.n_units_cached &&
           n_free + n_cached == kv->budget.n_units_free;
}

bool kv_heads_are_sound(const struct kv *kv)
{
    const struct kv_budget *budget = &kv->budget;
    uint32_t *n_refs = mem_take((kv->heads.n_blocks_max + 1) * sizeof(*n_refs));
    uint8_t *is_seen = mem_take(kv->n_units_max + 1);
    struct kv_budget counts = { 0 };
    struct kv_stats stats[KV_SERVICES_MAX] = { 0 };
    bool is_sound = true;
    int64_t owed = 0, floors = 0;
    for (uint32_t slot = 0; is_sound && slot < kv->options.n_requests_max; slot++)
        is_sound = check_table(kv, slot, n_refs);
    for (uint32_t b = 0; is_sound && b < kv->heads.n_blocks_max; b++)
        is_sound = check_block(kv, b, n_refs[b], is_seen, &counts, stats);
    is_sound = is_sound && lists_are_sound(kv, &counts, is_seen);
    for (int i = 0; is_sound && i < budget->n_services; i++) {
        const struct kv_budget_service *s = &budget->services[i];
        const struct kv_stats *held = &kv->services[i].stats;
        owed += max_i64(0, s->n_units_min - s->n_units);
        floors += s->n_units_min;
        is_sound = s->n_units == counts.services[i].n_units && s->n_blocks_free == 0 &&
                   s->n_blocks_cached == 0 && held->n_blocks_used == stats[i].n_blocks_used &&
                   held->n_blocks_cached == stats[i].n_blocks_cached;
    }
    mem_give(n_refs);
    mem_give(is_seen);
    return is_sound && budget->n_units_owed == owed && budget->n_units_floors == floors &&
           budget->n_units_open == kv->n_units_target;
}
