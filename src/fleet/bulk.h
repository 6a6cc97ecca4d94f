/* The way of bulk data between the engines of a house and to other nodes, as the configuration has
 * it: the exchange of engines that are threads, and the door (bulk/door.h). */
#pragma once
#include "base/status.h"
#include "cluster/message.h"

struct bulk_door;
struct bulk_pulls;
struct config;
struct exchange;

struct fleet_bulk {
    struct exchange *exchange; /* of engines that are threads; NULL: none */
    struct bulk_pulls *pulls;
    struct bulk_files *files;     /* that other nodes may have; NULL: none */
    struct bulk_door *door;       /* NULL: there is no other process to reach */
    struct bulk_door *child_door; /* the same, for engines that are processes; NULL: they have no KV
                                     to hand over */
};
enum status fleet_bulk_open(struct fleet_bulk *bulk, const struct config *config, int n_engines,
                            struct fault *fault) MUST_USE;
void fleet_bulk_close(struct fleet_bulk *bulk); /* engines are closed */
struct cluster_place fleet_bulk_place(const struct fleet_bulk *bulk);
/* For a node: notes where the KV of a request is. self: struct fleet_bulk. */
void fleet_bulk_learn(void *self, uint64_t ticket, const struct cluster_place *place);
