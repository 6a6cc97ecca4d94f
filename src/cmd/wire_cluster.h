/* A house as a member of a cluster: its entry in the store, the nodes that it learns of there, and
 * a node's memory of managers. For wire.c alone. Without a store nothing is done. */
#pragma once
#include "base/status.h"

struct house;
/* Opens a node's memory of the managers that it obeyed, on disk. */
enum status wire_cluster_open_fence(struct house *house, struct fault *fault) MUST_USE;
/* Registers the process in the store. */
enum status wire_cluster_join(struct house *house, struct fault *fault) MUST_USE;
/* Returns the next wake, of the clock of now_ns; the store's leases run on another one. */
int64_t wire_cluster_step(struct house *house, int64_t now_ns);
