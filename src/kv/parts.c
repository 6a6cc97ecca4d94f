/* The parts of a private pool. See parts.h. */
#include "kv/parts.h"
#include "kv/pool.h"

void kv_parts_cut(const struct kv *kv, struct kv_budget *budget)
{
    int64_t sum = 0;
    budget->n_units_owed = budget->n_units_floors = 0;
    for (int i = 0; i < budget->n_services; i++)
        sum += kv->services[i].layout.bytes_per_token; /* 0 of one that is none */
    for (int i = 0; i < budget->n_services; i++) {
        struct kv_budget_service *s = &budget->services[i];
        int64_t part = kv->services[i].layout.bytes_per_token;
        int64_t n_units = part > 0 ? budget->n_units_open * part / sum : 0;
        s->n_units_min = s->n_units_max = min_i64(n_units, kv->services[i].n_units_most);
        budget->n_units_owed += max_i64(0, s->n_units_min - s->n_units);
        budget->n_units_floors += s->n_units_min;
    }
}

void kv_parts_tell(struct kv *kv)
{
    kv->budget.n_units_open = kv->n_units_target;
    if (kv->options.kind == KV_PRIVATE)
        kv_parts_cut(kv, &kv->budget);
}
