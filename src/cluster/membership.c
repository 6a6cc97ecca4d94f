/* Joins a process to its cluster's store. */
#include "cluster/membership.h"

#include "base/time.h"
#include <stdio.h>
#include <string.h>

enum status cluster_membership_open(struct cluster_membership *m,
                                    const struct cluster_membership_options *o, struct fault *fault)
{
    char key[STORE_KEY_BYTES];
    int n = snprintf(key, sizeof key, "%smembers/%s/%s", o->prefix, o->kind, o->name);
    if (n >= (int)sizeof key)
        return fault_set(fault, STATUS_BAD_INPUT, "the name %.60s... of this %s is too long",
                         o->name, o->kind);
    CHECK(strlen(o->prefix) < sizeof m->prefix);
    m->store = o->store;
    snprintf(m->prefix, sizeof m->prefix, "%s", o->prefix);
    cluster_members_open(&m->members, m->prefix);
    cluster_member_open(&m->member, m->store, key, o->value, o->ttl_s, o->seed);
    m->store->watch(m->store->self, m->prefix);
    return STATUS_OK;
}

void cluster_membership_close(struct cluster_membership *m)
{
    if (m->store == NULL)
        return;
    cluster_member_close(&m->member);
    cluster_members_close(&m->members);
    m->store = NULL;
}

int64_t cluster_membership_step(struct cluster_membership *m, int64_t now_ns,
                                void (*also)(void *self, const struct store_news *news,
                                             int64_t now_ns),
                                void *self)
{
    struct store_news news;
    if (m->store == NULL)
        return TIME_NEVER;
    while (m->store->poll(m->store->self, &news)) {
        bool is_own = cluster_member_take(&m->member, &news, now_ns);
        cluster_members_take(&m->members, &news);
        if (also != NULL && !is_own)
            also(self, &news, now_ns);
    }
    return cluster_member_step(&m->member, now_ns);
}
