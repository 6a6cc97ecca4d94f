/* A process's part in the cluster's store: its client of etcd, its own entry among the members, and
 * what it knows of the others. */
#pragma once
#include "cluster/member.h"
#include "cluster/members.h"
#include "store/fence.h"

struct config;
enum { FLEET_STORE_PREFIX_BYTES = 128 };
struct fleet_store {
    struct store *store; /* NULL: none is configured */
    char prefix[FLEET_STORE_PREFIX_BYTES];
    struct cluster_member member;
    struct cluster_members members;
};
/* Opens the client alone, without a watch. */
enum status fleet_store_open_client(const struct config *config, struct store **out,
                                    char prefix[FLEET_STORE_PREFIX_BYTES],
                                    struct fault *fault) MUST_USE;
/* Opens the memory of managers in this file of state_dir, which is made if it is not there. */
enum status fleet_store_open_fence(const struct config *config, const char *file,
                                   struct store_fence *out, struct fault *fault) MUST_USE;
/* Joins as PREFIX members/KIND/NAME with this value. Does nothing without a store. */
enum status fleet_store_open(struct fleet_store *store, const struct config *config,
                             const char *kind, const char *name, const char *value,
                             struct fault *fault) MUST_USE;
void fleet_store_close(struct fleet_store *store);
/* Takes all news, and shows each to `also` (NULL: none). now_ns is a time of time_boot_ns, as is
 * the next wake that it returns. */
int64_t fleet_store_step(struct fleet_store *store, int64_t now_ns,
                         void (*also)(void *self, const struct store_news *news, int64_t now_ns),
                         void *self);
