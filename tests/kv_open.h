/* A pool that is opened with all its services, as most tests want it. */
#pragma once
#include "kv/kv.h"

static inline struct kv *kv_open_with(const struct kv_options *options,
                                      const struct kv_service_options *services, int n)
{
    struct kv_options whole = *options;
    struct kv_layout layouts[KV_SERVICES_MAX] = { { 0 } };
    for (int i = 0; i < n; i++)
        layouts[i] = services[i].layout;
    whole.n_services_max = n;
    whole.bounds = kv_cut_bounds_of(layouts, n);
    struct kv *kv = kv_open(&whole);
    for (int i = 0; i < n; i++)
        kv_add_service(kv, i, &services[i]);
    return kv;
}
