/* A pool that only counts: it is virtual, no two of its blocks share a unit, and nothing is ever
 * cached.
 *
 * No plan and no report can tell its blocks apart, so a service holds a number of blocks and not a
 * list. Taking and giving back n blocks costs the same as one. All counts equal those of the pool
 * that names its blocks (a test runs both side by side). There is one freedom: when units must
 * close, those that are given back first do. */
#include "kv/pool.h"

void kv_count_put(struct kv *kv, int service, int64_t n)
{
    int64_t n_units = n * kv->services[service].layout.units_per_block;
    int64_t n_closed = min_i64(n_units, kv->n_units_closing);
    CHECK(n_units <= kv->budget.services[service].n_units);
    kv_pool_add_units(kv, service, -n_units);
    kv_pool_add_entries(kv, service, -n);
    kv->services[service].stats.n_blocks_used -= n;
    kv->budget.n_units_free += n_units - n_closed;
    kv->n_units_closing -= (uint32_t)n_closed;
    kv->n_units_closed += (uint32_t)n_closed;
}

void kv_count_grow(struct kv *kv, int64_t n_units)
{
    int64_t n_kept = min_i64(kv->n_units_closing, kv->n_units_max - kv->n_units_target);
    kv->n_units_closing -= (uint32_t)n_kept;
    kv->n_units_target += (uint32_t)n_kept;
    int64_t n_opened = min_i64(max_i64(n_units, 0), kv->n_units_max - kv->n_units_target);
    kv->n_units_target += (uint32_t)n_opened;
    kv->budget.n_units_free += n_opened;
}

void kv_count_shrink(struct kv *kv, int64_t n_units)
{
    int64_t n = max_i64(0, min_i64(n_units, kv->n_units_target));
    int64_t n_free = min_i64(n, kv->budget.n_units_free);
    kv->budget.n_units_free -= n_free;
    kv->n_units_closed += (uint32_t)n_free;
    kv->n_units_closing += (uint32_t)(n - n_free);
    kv->n_units_target -= (uint32_t)n;
}

bool kv_count_is_sound(const struct kv *kv)
{
    const struct kv_budget *budget = &kv->budget;
    int64_t held[KV_SERVICES_MAX] = { 0 }, n_held = 0, owed = 0, floors = 0;
    for (uint32_t slot = 0; slot < kv->options.n_requests_max; slot++) {
        if (kv->sizes[slot] < 0 || kv->owners[slot] >= kv->options.n_services_max)
            return false;
        held[kv->owners[slot]] += kv->sizes[slot];
    }
    for (int i = 0; i < budget->n_services; i++) {
        const struct kv_budget_service *s = &budget->services[i];
        int64_t n_units = held[i] * kv->services[i].layout.units_per_block;
        owed += max_i64(0, s->n_units_min - s->n_units);
        floors += s->n_units_min;
        n_held += n_units;
        if (s->n_units != n_units || s->n_blocks_free != 0 || s->n_blocks_cached != 0 ||
            kv->services[i].stats.n_blocks_used != held[i])
            return false;
    }
    return budget->n_units_owed == owed && budget->n_units_floors == floors &&
           budget->n_units_cached == 0 && budget->n_units_free >= 0 &&
           budget->n_units_open == kv->n_units_target &&
           budget->n_units_free + n_held == kv->n_units_target + kv->n_units_closing;
}
