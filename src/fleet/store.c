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

enum status fleet_store_open(struct fleet_store *s, const struct config *config, const char *kind,
                             const char *name, const char *value, struct fault *fault)
{
    char key[STORE_KEY_BYTES];
    if (config->n_store == 0)
        return STATUS_OK;
    enum status status = fleet_store_open_client(config, &s->store, s->prefix, fault);
    if (status != STATUS_OK)
        return status;
    int n = snprintf(key, sizeof key, "%smembers/%s/%s", s->prefix, kind, name);
    if (n >= (int)sizeof key) {
        s->store->close(s->store->self);
        s->store = NULL;
        return fault_set(fault, STATUS_BAD_INPUT, "the name %.60s... of this %s is too long", name,
                         kind);
    }
    cluster_members_open(&s->members, s->prefix);
    cluster_member_open(&s->member, s->store, key, value, config->store_lease_ns / TIME_NS_PER_S,
                        rng_system());
    s->store->watch(s->store->self, s->prefix);
    return STATUS_OK;
}

void fleet_store_close(struct fleet_store *s)
{
    if (s->store == NULL)
        return;
    cluster_member_close(&s->member);
    cluster_members_close(&s->members);
    s->store->close(s->store->self);
    s->store = NULL;
}

int64_t fleet_store_step(struct fleet_store *s, int64_t now_ns,
                         void (*also)(void *self, const struct store_news *news, int64_t now_ns),
                         void *self)
{
    struct store_news news;
    if (s->store == NULL)
        return TIME_NEVER;
    while (s->store->poll(s->store->self, &news)) {
        bool is_own = cluster_member_take(&s->member, &news, now_ns);
        cluster_members_take(&s->members, &news);
        if (also != NULL && !is_own)
            also(self, &news, now_ns);
    }
    return cluster_member_step(&s->member, now_ns);
}
