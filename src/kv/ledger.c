/* One ledger of a device group's bytes. */
#include "kv/ledger.h"
#include <string.h>

void ledger_init(struct ledger *ledger, int64_t total_bytes, struct ledger_model *models,
                 int n_services)
{
    *ledger = (struct ledger){ .total_bytes = max_i64(total_bytes, 0),
                               .n_services = n_services,
                               .models = models };
}

int64_t ledger_free_bytes(const struct ledger *ledger)
{
    return ledger->total_bytes - ledger->pool_bytes - ledger->models_bytes;
}

bool ledger_take_model(struct ledger *ledger, int service, int64_t weights_bytes,
                       int64_t activation_bytes)
{
    CHECK(service >= 0 && service < ledger->n_services);
    CHECK(weights_bytes >= 0 && activation_bytes >= 0);
    CHECK(ledger->models[service].weights_bytes == 0 &&
          ledger->models[service].activation_bytes == 0);
    int64_t free_bytes = ledger_free_bytes(ledger);
    if (weights_bytes > free_bytes || activation_bytes > free_bytes - weights_bytes)
        return false;
    ledger->models_bytes += weights_bytes + activation_bytes;
    ledger->models[service].weights_bytes = weights_bytes;
    ledger->models[service].activation_bytes = activation_bytes;
    return true;
}

void ledger_put_model(struct ledger *ledger, int service)
{
    CHECK(service >= 0 && service < ledger->n_services);
    ledger->models_bytes -=
        ledger->models[service].weights_bytes + ledger->models[service].activation_bytes;
    ledger->models[service].weights_bytes = 0;
    ledger->models[service].activation_bytes = 0;
}

bool ledger_set_pool(struct ledger *ledger, int64_t pool_bytes)
{
    CHECK(pool_bytes >= 0);
    if (pool_bytes - ledger->pool_bytes > ledger_free_bytes(ledger))
        return false;
    ledger->pool_bytes = pool_bytes;
    return true;
}
