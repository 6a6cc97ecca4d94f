/* The services that an actor of a cluster knows, by number. A number may be another service's once
 * the first has left everywhere; then its life is another one, and no message about the first
 * counts any more.
 *
 *   none --added--> THERE --removed: nothing of it is left--> none, of the next life */
#pragma once
#include "cluster/message.h"
#include "core/service_spec.h"

struct cluster_roster {
    struct set there;
    uint16_t lives[LIMIT_SERVICES]; /* of those that are there */
};

static inline void cluster_roster_add(struct cluster_roster *roster, int service, uint16_t life)
{
    CHECK(service >= 0 && service < LIMIT_SERVICES && !set_has(&roster->there, service));
    set_add(&roster->there, service);
    roster->lives[service] = life;
}

/* The service of a message, in the life that it has here. */
static inline void cluster_roster_name(const struct cluster_roster *roster,
                                       struct message_head *head, int service)
{
    head->service = (uint16_t)service;
    head->life = roster->lives[service];
}

static inline bool cluster_roster_has(const struct cluster_roster *roster, int service,
                                      uint16_t life)
{
    return set_has(&roster->there, service) && roster->lives[service] == life;
}

/* Rows of a report that are of no service here go. */
static inline void cluster_roster_sift(const struct cluster_roster *roster,
                                       struct engine_report *report)
{
    for (int s = 0; (s = set_next(&report->listed, s, report->n_services)) >= 0; s++) {
        if (cluster_roster_has(roster, s, report->services[s].life))
            continue;
        report->services[s] = (struct service_report){ 0 };
        set_remove(&report->listed, s);
    }
}
