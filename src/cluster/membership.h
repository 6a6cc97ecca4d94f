/* A process's part in its cluster's store: its own entry among the members, and what it knows of
 * the others. The store may be etcd, or the one in memory. */
#pragma once
#include "cluster/member.h"
#include "cluster/members.h"

enum { CLUSTER_PREFIX_BYTES = 128 };
struct cluster_membership {
    struct store *store; /* NULL: there is none; lent */
    char prefix[CLUSTER_PREFIX_BYTES];
    struct cluster_member member;
    struct cluster_members members;
};
struct cluster_membership_options {
    struct store *store;
    const char *prefix; /* "/shoal/NAME/", shorter than CLUSTER_PREFIX_BYTES */
    const char *kind;   /* "node", "gateway" or "manager" */
    const char *name, *value;
    int64_t ttl_s;
    uint64_t seed;
};
/* Joins as PREFIX members/KIND/NAME with this value, and watches the prefix. */
enum status cluster_membership_open(struct cluster_membership *membership,
                                    const struct cluster_membership_options *options,
                                    struct fault *fault) MUST_USE;
/* The store stays open, and its owner closes it. */
void cluster_membership_close(struct cluster_membership *membership);
/* Takes all news, and shows each to `also` (NULL: none). now_ns is a time of time_boot_ns, as is
 * the next wake that it returns. Does nothing without a store. */
int64_t cluster_membership_step(struct cluster_membership *membership, int64_t now_ns,
                                void (*also)(void *self, const struct store_news *news,
                                             int64_t now_ns),
                                void *self);
