/* One ledger of a device group's bytes. Weights, activation peaks and the KV pool are taken from
 * it, and reserved before use.
 *
 * Invariant: sum of entries <= total. Two models can never be promised the same byte. One thread
 * (the engine's) owns it. */
#pragma once
#include "core/limits.h"

enum { KV_SERVICES_MAX = 1024 }; /* services that one pool, engine and scheduler can tell apart */

struct ledger {
    int64_t total_bytes, pool_bytes;
    int64_t models_bytes; /* sum of the two below */
    int n_services;
    struct ledger_model {
        int64_t weights_bytes, activation_bytes;
    } * models; /* (n_services) lent */
};
/* models: zeros, kept as long as the ledger. */
void ledger_init(struct ledger *ledger, int64_t total_bytes, struct ledger_model *models,
                 int n_services);
int64_t ledger_free_bytes(const struct ledger *ledger); /* not promised to any model */
/* Books a model's weights and activation peak. Returns false when fewer bytes are free. */
bool ledger_take_model(struct ledger *ledger, int service, int64_t weights_bytes,
                       int64_t activation_bytes) MUST_USE;
void ledger_put_model(struct ledger *ledger, int service);
bool ledger_set_pool(struct ledger *ledger,
                     int64_t pool_bytes) MUST_USE; /* grows or shrinks the pool's entry */
