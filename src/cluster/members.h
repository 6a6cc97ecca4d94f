/* The members of a cluster and the operators' wishes, as the store's keys under a prefix say it.
 *
 *   PREFIX members/node/HOST:PORT   {"engines":2,"version":"0.1.0","bus":13}   under a lease
 *   PREFIX members/gateway/ID, PREFIX members/manager/ID                      under a lease
 *   PREFIX desired/models/NAME      copies: "2", "0" as many as requests want, "-1" none at all
 *   PREFIX desired/paused/NAME      "yes": it takes no new requests
 *   PREFIX desired/pins/NAME        "HOST:PORT" or "HOST:PORT ENGINE": it is there and nowhere else
 *   PREFIX desired/nodes/HOST:PORT  "cordon" nothing is loaded there, "drain" and models leave
 *   PREFIX placement                a line "broken CAUSE NAME<tab>WHY": no engine could load it
 *
 * Values come from outside: a node without a readable value, or with more engines than a machine
 * may have, is not among the members, and a wish that cannot be read is none. */
#pragma once
#include "core/limits.h"
#include "store/store.h"

enum {
    CLUSTER_MEMBER_ADDRESS_BYTES = 224,
    CLUSTER_MEMBER_REFUSED_MAX = 4,
    CLUSTER_MEMBER_WHY_BYTES = 200
};
/* A model that can't be used, and the reason: at a member whose list it is in, or, by the leading
 * manager, anywhere. */
struct cluster_members_refused {
    char name[LIMIT_NAME_BYTES];
    enum status cause;
    char why[CLUSTER_MEMBER_WHY_BYTES];
};
struct cluster_members_node {
    char address[CLUSTER_MEMBER_ADDRESS_BYTES]; /* HOST:PORT of its bus */
    int32_t n_engines;
    int64_t changed; /* the revision of its entry: a node that joins again has another one */
    int n_refused;
    struct cluster_members_refused refused[CLUSTER_MEMBER_REFUSED_MAX]; /* deployed models */
};
enum cluster_members_wish { CLUSTER_WISH_NONE, CLUSTER_WISH_CORDON, CLUSTER_WISH_DRAIN };
struct cluster_members_node_wish {
    char address[CLUSTER_MEMBER_ADDRESS_BYTES];
    enum cluster_members_wish wish;
};
struct cluster_members_model_wish {
    char name[LIMIT_NAME_BYTES];
    int n_copies;
    bool is_paused;
    char pin[CLUSTER_MEMBER_ADDRESS_BYTES]; /* HOST:PORT; "": it is not pinned */
    int pin_engine;                         /* of that node; -1: any */
};
struct cluster_members {
    char prefix[STORE_KEY_BYTES];
    bool is_listed, is_live; /* is_live: what is known is current */
    uint64_t n_changes;      /* counts changes of what follows */
    int n_nodes, n_node_wishes, n_model_wishes, n_broken;
    struct cluster_members_node *nodes; /* (n_nodes) and so on */
    struct cluster_members_node_wish *node_wishes;
    struct cluster_members_model_wish *model_wishes;
    struct cluster_members_refused *broken; /* (n_broken) models that no engine could load */
};
/* prefix: "/shoal/NAME/", of at most STORE_KEY_BYTES - 16 bytes. */
void cluster_members_open(struct cluster_members *members, const char *prefix);
void cluster_members_close(struct cluster_members *members);
/* Takes news of a store that watches the prefix. */
void cluster_members_take(struct cluster_members *members, const struct store_news *news);
/* Returns the index of the node with this address, or -1. */
int cluster_members_find(const struct cluster_members *members, const char *address);
enum cluster_members_wish cluster_members_wish(const struct cluster_members *members,
                                               const char *address);
/* Returns what operators want of this model; a wish without effect if they want nothing. */
struct cluster_members_model_wish cluster_members_model(const struct cluster_members *members,
                                                        const char *name);
/* Returns why no node has this deployed model; NULL: a node has it or will, or there is none. */
const char *cluster_members_why_refused(const struct cluster_members *members, const char *name);
/* Writes a member's value. refused: (n_refused) deployed models that it can't use; the first
 * CLUSTER_MEMBER_REFUSED_MAX are named. */
void cluster_members_write_node(struct str *out, int32_t n_engines, const char *version,
                                const struct cluster_members_refused *refused, int n_refused);
/* Writes the placement's line of a model that no engine could load. */
void cluster_members_write_broken(struct str *out, const struct cluster_members_refused *broken);
