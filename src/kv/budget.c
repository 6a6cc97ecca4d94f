/* The pool's arithmetic: how many blocks a service may still take, and what taking them changes.
 *
 * The same few lines answer a policy's copy and decide in kv_reserve, so a plan can't be promised
 * what the pool would refuse. Floors: a unit that is owed to another service is not free for this
 * one. The service's own floor is served first, even when the pool shrank below the sum of
 * floors. */
#include "kv/pool.h"

size_t kv_budget_bytes(int32_t n_services)
{
    return offsetof(struct kv_budget, services) +
           (size_t)n_services * sizeof(struct kv_budget_service);
}

int64_t kv_budget_units(const struct kv_budget *budget, int service)
{
    const struct kv_budget_service *s = &budget->services[service];
    int64_t own = max_i64(0, s->n_units_min - s->n_units);
    int64_t lent = budget->n_units_free - (budget->n_units_owed - own);
    int64_t n = max_i64(min_i64(own, budget->n_units_free), lent);
    return max_i64(0, min_i64(n, s->n_units_max - s->n_units));
}

static void take_units(struct kv_budget *budget, struct kv_budget_service *s, int64_t n)
{
    budget->n_units_free -= n;
    budget->n_units_owed -= min_i64(n, max_i64(0, s->n_units_min - s->n_units));
    s->n_units += n;
}

/* Takes units of a head-wise pool, which may lie anywhere. */
static bool RARE take_heads(struct kv_budget *budget, int service, int64_t n_units)
{
    struct kv_budget_service *s = &budget->services[service];
    if (n_units > kv_budget_units(budget, service))
        return false;
    int64_t n_idle = budget->n_units_free - budget->n_units_cached;
    take_units(budget, s, n_units);
    budget->n_units_cached -= max_i64(0, n_units - n_idle);
    return true;
}

/* Takes blocks of a pool whose units hold several blocks, or which has cached blocks. */
static bool RARE take_blocks(struct kv_budget *budget, int service, int64_t n_blocks)
{
    struct kv_budget_service *s = &budget->services[service];
    int64_t per_unit = s->blocks_per_unit;
    int64_t from_free = min_i64(n_blocks, s->n_blocks_free);
    int64_t n = n_blocks - from_free;
    if (n == 0) {
        s->n_blocks_free -= from_free;
        return true;
    }
    int64_t allowed = kv_budget_units(budget, service);
    int64_t idle = budget->n_units_free - budget->n_units_cached;
    int64_t n_idle = min_i64(div_up_i64(n, per_unit), min_i64(allowed, idle));
    int64_t left = max_i64(0, n_idle * per_unit - n);
    n -= n_idle * per_unit - left;
    int64_t from_cached = min_i64(n, s->n_blocks_cached);
    n -= from_cached;
    int64_t n_evicted = div_up_i64(n, per_unit);
    if (n_evicted > allowed - n_idle || n_evicted > budget->n_units_cached)
        return false;
    left += n_evicted * per_unit - n;
    take_units(budget, s, n_idle + n_evicted);
    budget->n_units_cached -= n_evicted;
    s->n_blocks_cached -= from_cached;
    s->n_blocks_free += left - from_free;
    return true;
}

bool kv_budget_take(struct kv_budget *budget, int service, int64_t n_blocks)
{
    CHECK(service >= 0 && service < budget->n_services && n_blocks >= 0);
    struct kv_budget_service *s = &budget->services[service];
    if (s->units_per_block > 1)
        return take_heads(budget, service, n_blocks * s->units_per_block);
    if (s->blocks_per_unit > 1 || budget->n_units_cached > 0 || s->n_blocks_cached > 0)
        return take_blocks(budget, service, n_blocks);
    if (n_blocks > kv_budget_units(budget, service))
        return false;
    take_units(budget, s, n_blocks);
    return true;
}

int64_t kv_budget_idle_blocks(const struct kv_budget *budget, int service)
{
    const struct kv_budget_service *s = &budget->services[service];
    int64_t idle = budget->n_units_free - budget->n_units_cached;
    return s->n_blocks_free + kv_blocks_in(s, min_i64(idle, kv_budget_units(budget, service)));
}

int64_t kv_budget_most_of(const struct kv_budget *budget, int service, int64_t n_units_open)
{
    const struct kv_budget_service *s = &budget->services[service];
    int64_t n_units = n_units_open - (budget->n_units_floors - s->n_units_min);
    n_units = max_i64(n_units, min_i64(s->n_units_min, n_units_open));
    return kv_blocks_in(s, max_i64(0, min_i64(n_units, s->n_units_max)));
}

int64_t kv_budget_most_blocks(const struct kv_budget *budget, int service)
{
    return kv_budget_most_of(budget, service, budget->n_units_open);
}
