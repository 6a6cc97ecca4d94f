/* Joins a process to its cluster's etcd (cluster/membership.h). */
#pragma once
#include "cluster/membership.h"
#include "store/fence.h"

struct config;
enum { FLEET_STORE_PREFIX_BYTES = CLUSTER_PREFIX_BYTES };
/* Opens the client alone, without a watch. */
enum status fleet_store_open_client(const struct config *config, struct store **out,
                                    char prefix[FLEET_STORE_PREFIX_BYTES],
                                    struct fault *fault) MUST_USE;
/* Opens the memory of managers in this file of state_dir, which is made if it is not there. */
enum status fleet_store_open_fence(const struct config *config, const char *file,
                                   struct store_fence *out, struct fault *fault) MUST_USE;
/* Joins as PREFIX members/KIND/NAME with this value. Does nothing without a configured store. */
enum status fleet_store_open(struct cluster_membership *membership, const struct config *config,
                             const char *kind, const char *name, const char *value,
                             struct fault *fault) MUST_USE;
/* Closes the store, too. */
void fleet_store_close(struct cluster_membership *membership);
