/* The services that an actor of a cluster knows. Within an actor a service is a number; in messages
 * it is a name: a 64-bit hash of what it is. So actors with different lists understand each other,
 * and a message about a service that the receiver does not have finds none.
 *
 * The name hashes model file and settings (service_spec.identity), the public name, and the life:
 * a service that joins again later is another one, and no message about the first counts for it.
 *
 *   none --added--> THERE --removed: nothing of it is left--> none */
#pragma once
#include "base/map.h"
#include "core/service_spec.h"

struct cluster_roster {
    struct set there;
    int32_t n;                      /* the numbers that were ever used are below n */
    uint16_t lives[LIMIT_SERVICES]; /* of those that are there */
    uint64_t names[LIMIT_SERVICES]; /* of those that are there; 0 of the others */
    struct map by_name;
};

/* The name of a service on the wire; never 0. */
uint64_t cluster_roster_name(const struct service_spec *spec);

void cluster_roster_init(struct cluster_roster *roster);
void cluster_roster_free(struct cluster_roster *roster);
/* The number is none's, and no service that is there has the same name. */
void cluster_roster_add(struct cluster_roster *roster, int service,
                        const struct service_spec *spec);
void cluster_roster_remove(struct cluster_roster *roster, int service);
/* The number of the service with this name; -1 when it is not there. */
int cluster_roster_find(const struct cluster_roster *roster, uint64_t name);
