/* The services that an actor of a cluster knows. Within an actor a service is a number. In messages
 * it is a name: a 64-bit hash of its definition. So actors with different lists understand each
 * other. A message about a service that the receiver does not have finds none.
 *
 * The name hashes model file, adapters and settings (service_spec.identity), the public name, and
 * the life. A service that joins again later is a new one, and no message about the first counts
 * for it.
 *
 *   none --added--> THERE --removed: nothing of it is left--> none */
#pragma once
#include "base/map.h"
#include "core/service_spec.h"

struct cluster_roster {
    struct set there;
    int32_t n;                           /* the numbers that were ever used are below n */
    uint16_t lives[LIMIT_SERVICES];      /* of present services */
    uint64_t names[LIMIT_SERVICES];      /* of present services; 0 for the others */
    uint16_t n_adapters[LIMIT_SERVICES]; /* of present services */
    struct map by_name;
};

/* Returns the name of a service on the wire; never 0. */
uint64_t cluster_roster_name(const struct service_spec *spec);

void cluster_roster_init(struct cluster_roster *roster);
void cluster_roster_free(struct cluster_roster *roster);
/* Adds a service. The number must be unused, and no present service may have the same name. */
void cluster_roster_add(struct cluster_roster *roster, int service,
                        const struct service_spec *spec);
void cluster_roster_remove(struct cluster_roster *roster, int service);
/* Returns the number of the service with this name; -1 when it is absent. */
int cluster_roster_find(const struct cluster_roster *roster, uint64_t name);
