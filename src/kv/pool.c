/* Units and blocks: tracks which request and service hold them, in constant time.
 *
 * A change of an ACTIVE unit is always leave - change - enter: leave takes the unit out of its
 * service's counts and sets, enter puts it back as it is then. Every choice (which unit, which
 * block) is the lowest number of the best kind, so it depends on what is held and not on
 * history. */
#include "kv/pool.h"

static uint64_t all_blocks(const struct kv *kv, const struct kv_unit *unit)
{
    int n = kv->services[unit->service].layout.blocks_per_unit;
    return n == 64 ? UINT64_MAX : (UINT64_C(1) << n) - 1;
}

static uint64_t bit_of(const struct kv *kv, uint32_t index)
{
    return UINT64_C(1) << (index % kv->stride);
}

/* ---- Lists: cached blocks of a service's ACTIVE units, and CACHED units. ---- */

static void block_unlink(struct kv *kv, uint32_t index)
{
    struct kv_block *block = &kv->blocks[index];
    struct kv_service *service = &kv->services[kv->units[index / kv->stride].service];
    if (block->older != KV_NONE)
        kv->blocks[block->older].newer = block->newer;
    else
        service->oldest = block->newer;
    if (block->newer != KV_NONE)
        kv->blocks[block->newer].older = block->older;
    else
        service->newest = block->older;
}

static void block_link(struct kv *kv, uint32_t index)
{
    struct kv_block *block = &kv->blocks[index];
    struct kv_service *service = &kv->services[kv->units[index / kv->stride].service];
    block->older = service->newest;
    block->newer = KV_NONE;
    if (service->newest != KV_NONE)
        kv->blocks[service->newest].newer = index;
    else
        service->oldest = index;
    service->newest = index;
}

static void unit_unlink(struct kv *kv, uint32_t u)
{
    struct kv_unit *unit = &kv->units[u];
    if (unit->older != KV_NONE)
        kv->units[unit->older].newer = unit->newer;
    else
        kv->oldest_unit = unit->newer;
    if (unit->newer != KV_NONE)
        kv->units[unit->newer].older = unit->older;
    else
        kv->newest_unit = unit->older;
}

static void unit_link(struct kv *kv, uint32_t u)
{
    struct kv_unit *unit = &kv->units[u];
    unit->older = kv->newest_unit;
    unit->newer = KV_NONE;
    if (kv->newest_unit != KV_NONE)
        kv->units[kv->newest_unit].newer = u;
    else
        kv->oldest_unit = u;
    kv->newest_unit = u;
}

/* ---- Counts. ---- */

void kv_pool_add_units(struct kv *kv, int service, int64_t n)
{
    struct kv_budget_service *s = &kv->budget.services[service];
    kv->budget.n_units_owed -= max_i64(0, s->n_units_min - s->n_units);
    s->n_units += n;
    kv->budget.n_units_owed += max_i64(0, s->n_units_min - s->n_units);
}

static void count_blocks(struct kv *kv, const struct kv_unit *unit, int sign)
{
    struct kv_budget_service *s = &kv->budget.services[unit->service];
    s->n_blocks_free += sign * unit->n_free;
    if (unit->cached_mask != 0)
        s->n_blocks_cached += sign * __builtin_popcountll(unit->cached_mask);
}

static void leave(struct kv *kv, uint32_t u)
{
    struct kv_unit *unit = &kv->units[u];
    if (unit->is_closing)
        return;
    count_blocks(kv, unit, -1);
    int n = unit->n_free;
    if (n == 0)
        return;
    struct kv_service *service = &kv->services[unit->service];
    kv_bits_remove(&service->partial[n], u);
    if (service->partial[n].n_members == 0)
        service->partial_counts &= ~(UINT64_C(1) << n);
}

static void enter(struct kv *kv, uint32_t u)
{
    struct kv_unit *unit = &kv->units[u];
    if (unit->is_closing)
        return;
    count_blocks(kv, unit, 1);
    int n = unit->n_free;
    if (n == 0)
        return;
    struct kv_service *service = &kv->services[unit->service];
    kv_bits_add(&service->partial[n], u);
    service->partial_counts |= UINT64_C(1) << n;
}

/* ---- Units. ---- */

void kv_pool_open_unit(struct kv *kv, uint32_t u)
{
    CHECK(kv->units[u].state == KV_UNIT_CLOSED);
    kv->units[u].state = KV_UNIT_FREE;
    kv_bits_add(&kv->free, u);
    kv->budget.n_units_free++;
}

/* Takes the lowest FREE unit out of the set. Units that were never used are above all others, and
 * are written before they are read. A page that is read first is mapped twice, and the second
 * mapping interrupts every core that runs this process. */
static uint32_t take_free(struct kv *kv)
{
    uint32_t u = kv_bits_first(&kv->free);
    if (u != KV_BITS_NONE) {
        kv_bits_remove(&kv->free, u);
        return u;
    }
    CHECK(kv_pool_n_fresh(kv) > 0);
    if (kv->n_units_used == kv->n_units_room) {
        uint32_t n = (uint32_t)min_i64(2 * (int64_t)kv->n_units_room, kv->n_units_max);
        kv->units =
            mem_grow(kv->units, kv->n_units_room * sizeof(*kv->units), n * sizeof(*kv->units));
        kv->n_units_room = n;
    }
    kv->units[kv->n_units_used] = (struct kv_unit){ .state = KV_UNIT_FREE };
    return kv->n_units_used++;
}

static void activate(struct kv *kv, uint32_t u, int service)
{
    struct kv_unit *unit = &kv->units[u];
    unit->state = KV_UNIT_ACTIVE;
    unit->service = (uint16_t)service;
    unit->free_mask = all_blocks(kv, unit);
    unit->n_free = (uint8_t)kv->services[service].layout.blocks_per_unit;
    unit->cached_mask = 0;
    kv->budget.n_units_free--;
    kv_pool_add_units(kv, service, 1);
}

/* CACHED -> ACTIVE. The caller then references one of its blocks and enters it. */
static void revive(struct kv *kv, uint32_t u)
{
    struct kv_unit *unit = &kv->units[u];
    unit_unlink(kv, u);
    unit->state = KV_UNIT_ACTIVE;
    kv->budget.n_units_free--;
    kv->budget.n_units_cached--;
    kv_pool_add_units(kv, unit->service, 1);
    for (uint64_t mask = unit->cached_mask; mask != 0; mask &= mask - 1)
        block_link(kv, u * kv->stride + (uint32_t)__builtin_ctzll(mask));
}

/* ACTIVE (left, without references) -> CACHED, FREE or CLOSED. */
static void rest(struct kv *kv, uint32_t u)
{
    struct kv_unit *unit = &kv->units[u];
    kv_pool_add_units(kv, unit->service, -1);
    if (unit->is_closing) {
        unit->is_closing = false;
        unit->state = KV_UNIT_CLOSED;
        kv->n_units_closing--;
        kv->n_units_closed++;
        return;
    }
    kv->budget.n_units_free++;
    if (unit->cached_mask == 0) {
        unit->state = KV_UNIT_FREE;
        kv_bits_add(&kv->free, u);
        return;
    }
    for (uint64_t mask = unit->cached_mask; mask != 0; mask &= mask - 1)
        block_unlink(kv, u * kv->stride + (uint32_t)__builtin_ctzll(mask));
    unit->state = KV_UNIT_CACHED;
    kv->budget.n_units_cached++;
    unit_link(kv, u);
}

void kv_pool_close_unit(struct kv *kv, uint32_t u)
{
    if (u >= kv->n_units_used) {
        kv->budget.n_units_free--;
        kv->n_units_closed++;
        return;
    }
    struct kv_unit *unit = &kv->units[u];
    for (uint64_t mask = unit->cached_mask; mask != 0; mask &= mask - 1)
        if (unit->state == KV_UNIT_CACHED || unit->state == KV_UNIT_ACTIVE)
            kv_pool_evict(kv, u * kv->stride + (uint32_t)__builtin_ctzll(mask));
    if (unit->state == KV_UNIT_FREE) {
        kv_bits_remove(&kv->free, u);
        kv->budget.n_units_free--;
        unit->state = KV_UNIT_CLOSED;
        kv->n_units_closed++;
    } else if (unit->state == KV_UNIT_ACTIVE && !unit->is_closing) {
        leave(kv, u);
        unit->is_closing = true;
        kv->n_units_closing++;
    }
}

void kv_pool_keep_unit(struct kv *kv, uint32_t u)
{
    CHECK(kv->units[u].is_closing);
    kv->units[u].is_closing = false;
    kv->n_units_closing--;
    enter(kv, u);
}

/* ---- Blocks. ---- */

void kv_pool_unpublish(struct kv *kv, uint32_t index)
{
    struct kv_block *block = &kv->blocks[index];
    if (!block->is_published)
        return;
    CHECK(map_remove(&kv->index, block->name.low));
    block->is_published = false;
}

void kv_pool_evict(struct kv *kv, uint32_t index)
{
    uint32_t u = index / kv->stride;
    struct kv_unit *unit = &kv->units[u];
    struct kv_service *service = &kv->services[unit->service];
    CHECK(unit->cached_mask & bit_of(kv, index));
    kv_pool_unpublish(kv, index);
    service->stats.n_blocks_cached--;
    service->stats.n_evicted++;
    if (unit->state == KV_UNIT_ACTIVE) {
        block_unlink(kv, index);
        leave(kv, u);
    }
    unit->cached_mask &= ~bit_of(kv, index);
    unit->free_mask |= bit_of(kv, index);
    unit->n_free++;
    if (unit->state == KV_UNIT_ACTIVE) {
        enter(kv, u);
    } else if (unit->cached_mask == 0) {
        unit_unlink(kv, u);
        unit->state = KV_UNIT_FREE;
        kv->budget.n_units_cached--;
        kv_bits_add(&kv->free, u);
    }
}

/* Takes up to n blocks of a unit that was left. Returns how many. */
static uint32_t use_blocks(struct kv *kv, uint32_t u, uint32_t *ids, uint32_t n)
{
    struct kv_unit *unit = &kv->units[u];
    struct kv_service *service = &kv->services[unit->service];
    uint32_t per_unit = (uint32_t)service->layout.blocks_per_unit, k = 0;
    for (; k < n && unit->free_mask != 0; k++) {
        uint32_t i = (uint32_t)__builtin_ctzll(unit->free_mask);
        unit->free_mask &= unit->free_mask - 1;
        ids[k] = u * per_unit + i;
        if (kv->blocks != NULL)
            kv->blocks[u * kv->stride + i].n_refs = 1;
    }
    unit->n_free = (uint8_t)(unit->n_free - k);
    service->stats.n_blocks_used += k;
    enter(kv, u);
    return k;
}

/* Finds the unit that gives the next block, and takes it out of its counts. */
static uint32_t find_unit(struct kv *kv, int service)
{
    struct kv_service *s = &kv->services[service];
    if (s->partial_counts != 0) {
        uint32_t u = kv_bits_first(&s->partial[__builtin_ctzll(s->partial_counts)]);
        leave(kv, u);
        return u;
    }
    bool may_grow = kv_budget_units(&kv->budget, service) > 0;
    if (!may_grow || (kv->free.n_members == 0 && kv_pool_n_fresh(kv) == 0)) {
        if (s->oldest != KV_NONE) {
            uint32_t index = s->oldest;
            kv_pool_evict(kv, index);
            leave(kv, index / kv->stride);
            return index / kv->stride;
        }
        CHECK(may_grow && kv->oldest_unit != KV_NONE);
        uint32_t u = kv->oldest_unit;
        for (uint64_t mask = kv->units[u].cached_mask; mask != 0; mask &= mask - 1)
            kv_pool_evict(kv, u * kv->stride + (uint32_t)__builtin_ctzll(mask));
    }
    uint32_t u = take_free(kv);
    activate(kv, u, service);
    return u;
}

void kv_pool_take(struct kv *kv, int service, uint32_t *ids, uint32_t n)
{
    while (n > 0) {
        uint32_t n_used = use_blocks(kv, find_unit(kv, service), ids, n);
        ids += n_used;
        n -= n_used;
    }
}

bool kv_pool_share(struct kv *kv, uint32_t index)
{
    uint32_t u = index / kv->stride;
    struct kv_unit *unit = &kv->units[u];
    struct kv_block *block = &kv->blocks[index];
    CHECK(block->is_published);
    if (block->n_refs == 0) {
        struct kv_stats *stats = &kv->services[unit->service].stats;
        if (unit->state == KV_UNIT_CACHED) {
            if (kv_budget_units(&kv->budget, unit->service) == 0)
                return false;
            revive(kv, u);
        } else {
            leave(kv, u);
        }
        block_unlink(kv, index);
        unit->cached_mask &= ~bit_of(kv, index);
        enter(kv, u);
        stats->n_blocks_cached--;
        stats->n_blocks_used++;
    }
    block->n_refs++;
    return true;
}

/* Puts the unit back into the counts, or to rest when it has no reference. */
static void enter_or_rest(struct kv *kv, uint32_t u)
{
    struct kv_unit *unit = &kv->units[u];
    if ((unit->free_mask | unit->cached_mask) == all_blocks(kv, unit))
        rest(kv, u);
    else
        enter(kv, u);
}

void kv_pool_put(struct kv *kv, uint32_t index)
{
    uint32_t u = index / kv->stride;
    struct kv_unit *unit = &kv->units[u];
    struct kv_block *block = &kv->blocks[index];
    CHECK(block->n_refs > 0);
    if (--block->n_refs > 0)
        return;
    leave(kv, u);
    struct kv_stats *stats = &kv->services[unit->service].stats;
    stats->n_blocks_used--;
    if (unit->is_closing)
        kv_pool_unpublish(kv, index);
    if (block->is_published) {
        unit->cached_mask |= bit_of(kv, index);
        block_link(kv, index);
        stats->n_blocks_cached++;
    } else {
        unit->free_mask |= bit_of(kv, index);
        unit->n_free++;
    }
    enter_or_rest(kv, u);
}

void kv_pool_put_all(struct kv *kv, int service, const uint32_t *ids, uint32_t n)
{
    struct kv_service *s = &kv->services[service];
    if (kv->blocks != NULL) {
        while (n-- > 0)
            kv_pool_put(kv, kv_pool_index(kv, service, ids[n]));
        return;
    }
    uint32_t per_unit = (uint32_t)s->layout.blocks_per_unit;
    s->stats.n_blocks_used -= n;
    while (n > 0) { /* those of one unit at once */
        uint32_t u = ids[n - 1] / per_unit, first = u * per_unit;
        struct kv_unit *unit = &kv->units[u];
        leave(kv, u);
        for (; n > 0 && ids[n - 1] - first < per_unit; n--) {
            uint64_t bit = UINT64_C(1) << (ids[n - 1] - first);
            CHECK((unit->free_mask & bit) == 0);
            unit->free_mask |= bit;
            unit->n_free++;
        }
        enter_or_rest(kv, u);
    }
}
