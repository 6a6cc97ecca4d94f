/* Makes a house a member of a cluster with a store. */
#include "cmd/wire_cluster.h"

#include "base/rng.h"
#include "base/time.h"
#include "cmd/verbs.h"
#include "cmd/wire_house.h"
#include "cmd/wire_wishes.h"
#include <stdio.h>

enum status wire_cluster_open_fence(struct house *house, struct fault *fault)
{
    return fleet_store_open_fence(&house->config, "obeyed", &house->fence, fault);
}

enum status wire_cluster_join(struct house *house, struct fault *fault)
{
    char name[FLEET_BUS_NODE_NAMES];
    const struct config *config = &house->config;
    enum status status = STATUS_OK;
    struct str value;
    if (config->n_store == 0)
        return STATUS_OK;
    bool is_node = house->node != NULL;
    if (is_node)
        status = fleet_bus_own_address(&house->others, config, name, fault);
    else
        snprintf(name, sizeof name, "%016llx", (unsigned long long)rng_system());
    str_init(&value);
    cluster_members_write_node(&value, house->n_engines, SHOAL_VERSION);
    if (status == STATUS_OK)
        status = fleet_store_open(&house->store, config, is_node ? "node" : "gateway", name,
                                  value.at, fault);
    str_free(&value);
    return status;
}

int64_t wire_cluster_step(struct house *house, int64_t now_ns)
{
    if (house->store.store == NULL)
        return TIME_NEVER;
    int64_t boot_ns = time_boot_ns();
    int64_t wake_ns = cluster_membership_step(&house->store, boot_ns, NULL, NULL);
    cluster_peers_follow(&house->others.peers, &house->store.members);
    wire_wishes_step(house);
    return wake_ns == TIME_NEVER ? TIME_NEVER : now_ns + max_i64(wake_ns - boot_ns, 0);
}
