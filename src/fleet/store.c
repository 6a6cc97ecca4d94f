/* Joins a process to the cluster's store. */
#include "fleet/store.h"

#include "base/rng.h"
#include "base/time.h"
#include "config/config.h"
#include "etcd/etcd.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum status fleet_store_open_client(const struct config *config, struct store **out,
                                    char prefix[FLEET_STORE_PREFIX_BYTES], struct fault *fault)
{
    const struct etcd_options options = { .endpoints = config->store,
                                          .n_endpoints = config->n_store,
                                          .cert = config->store_cert,
                                          .key = config->store_key,
                                          .ca = config->store_ca };
    snprintf(prefix, FLEET_STORE_PREFIX_BYTES, "/shoal/%s/", config->cluster);
    *out = etcd_open(&options, fault);
    return *out != NULL ? STATUS_OK : STATUS_BAD_INPUT;
}

enum status fleet_store_open_fence(const struct config *config, const char *file,
                                   struct store_fence *out, struct fault *fault)
{
    char path[512];
    int n = snprintf(path, sizeof path, "%s/%s", config->state_dir, file);
    if (n >= (int)sizeof path)
        return fault_set(fault, STATUS_BAD_INPUT, "state_dir: the path is too long");
    if (mkdir(config->state_dir, 0700) != 0 && errno != EEXIST)
        return fault_set(fault, STATUS_IO, "state_dir %.120s cannot be made: %s", config->state_dir,
                         strerror(errno));
    return store_fence_open(out, path, fault);
}

enum status fleet_store_open(struct cluster_membership *m, const struct config *config,
                             const char *kind, const char *name, const char *value,
                             struct fault *fault)
{
    char prefix[FLEET_STORE_PREFIX_BYTES];
    struct cluster_membership_options options = { .prefix = prefix,
                                                  .kind = kind,
                                                  .name = name,
                                                  .value = value,
                                                  .ttl_s = config->store_lease_ns / TIME_NS_PER_S,
                                                  .seed = rng_system() };
    if (config->n_store == 0)
        return STATUS_OK;
    enum status status = fleet_store_open_client(config, &options.store, prefix, fault);
    if (status == STATUS_OK) {
        status = cluster_membership_open(m, &options, fault);
        if (status != STATUS_OK)
            options.store->close(options.store->self);
    }
    return status;
}

void fleet_store_close(struct cluster_membership *m)
{
    struct store *store = m->store;
    if (store == NULL)
        return;
    cluster_membership_close(m);
    store->close(store->self);
}
