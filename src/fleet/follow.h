/* Lets the models of a process follow the definitions in the store: gateways, nodes and managers
 * learn of a deployed model by their watch, read its file, and drop it when it is undeployed.
 *
 *   definition:  NEW --its file is read, the process is not changing--> JOINING --taken--> THERE
 *                 ^                                                        |
 *                 +--- after 30 s, or when the definition changes -- REFUSED (the reason is kept)
 *
 * A definition that is missing from a list counts as undeployed only in the history of the store in
 * which this process saw it. An etcd that was emptied or rolled back takes no model away. */
#pragma once
#include "cluster/members.h"
#include "fleet/definition.h"
#include "serve/offer.h"

struct fleet_definition;
struct fleet_follow {
    char prefix[STORE_KEY_BYTES];
    char nonce[64];              /* of the store's life; "": none is known */
    struct fleet_definition *of; /* (n) at most LIMIT_MODELS */
    int n;
    bool has_news, has_refusals; /* has_refusals: their list has changed */
    struct config *joining;      /* of the definition that is being taken; NULL: none */
    char joining_name[LIMIT_NAME_BYTES];
    int64_t again_ns;
};
/* The process whose models follow. */
struct fleet_follow_port {
    void *self;
    const struct config *config;
    const struct serve_offer *offers; /* (LIMIT_MODELS) */
    int64_t leave_ns; /* how long a model stays after its definition went, for requests that others
                         have accepted */
    bool (*is_busy)(void *self); /* a change of its models is under way */
    /* Begins to take the model, and to drop service `replaced` (-1: none) when it is there. The
     * model's texts stay until fleet_follow_joined, which the process has to call. */
    enum status (*join)(void *self, const struct config_model *model, uint16_t life, int replaced,
                        struct fault *fault);
    void (*leave)(void *self, int service);
};
void fleet_follow_open(struct fleet_follow *follow, const char *prefix);
void fleet_follow_close(struct fleet_follow *follow);
/* Takes news of the store, which watches the prefix. */
void fleet_follow_take(struct fleet_follow *follow, const struct store_news *news);
/* Begins at most one change. Returns the next wake, of the clock of now_ns. */
int64_t fleet_follow_step(struct fleet_follow *follow, const struct fleet_follow_port *port,
                          int64_t now_ns);
/* The change that `join` began has ended. */
void fleet_follow_joined(struct fleet_follow *follow, enum status status, const struct fault *fault,
                         int64_t now_ns);
/* Lists models that this process can't use. Returns how many. */
int fleet_follow_refused(const struct fleet_follow *follow,
                         struct cluster_members_refused out[CLUSTER_MEMBER_REFUSED_MAX]);
