/* Election of the manager that leads: one candidate's state machine over a store.
 *
 *   FOLLOWING --the store shows no leader--> STANDING --won--> LEADING
 *       ^  ^                                     |                |
 *       |  +---------------- lost ---------------+                | (a)
 *       |                                                         v
 *       +----- old lease revoked, own stale key removed ----- RESIGNING
 *
 *   (a) its deadline passed, its key is gone, the store is BACK, or a node obeyed another
 *
 *   FOREIGN: the store's nonce is not the one that this candidate knows. It stands for nothing
 * until an operator adopts the new life of the cluster (store_leader_adopt).
 *
 * Three rules keep two leaders apart, and each holds without the others:
 *   1. A leader acts only before its deadline: the time at which the last good renewal was sent,
 *      plus the lease, less a margin, on a clock that runs while the machine sleeps. It never
 * renews a lease after that, since a store that restarts gives leases their full time again.
 *   2. Its writes to the store are conditional on the create revision of its key and the nonce
 * of the cluster's life (store_leader_guard).
 *   3. Its commands to nodes carry the nonce, its epoch and its id, and nodes refuse older epochs
 *      (store/fence.h). A new epoch is higher than the store's, its own, and all that nodes told it
 *      of, so a store that was rolled back repeats none.
 *
 * Keys under the prefix: "leader" (under a lease), "epoch", "nonce". */
#pragma once
#include "store/fence.h"
#include "store/store.h"

enum store_leader_state {
    STORE_FOLLOWING,
    STORE_STANDING,
    STORE_LEADING,
    STORE_RESIGNING,
    STORE_FOREIGN,
};

struct store_leader_options {
    struct store *store;
    const char *prefix;    /* "/shoal/prod/": of the cluster, copied */
    const char *name;      /* for people, in the leader key, copied */
    struct store_id id;    /* random, new for each start of a process */
    struct store_id nonce; /* of the cluster's life that it knows; all zero: none yet */
    int64_t ttl_s;         /* of its lease, >= 2 */
    uint64_t seed;         /* of lease ids and of the pause between attempts */
};
struct store_leader; /* private: in leader.c */

struct store_leader *store_leader_open(const struct store_leader_options *options);
void store_leader_close(struct store_leader *leader); /* its calls in flight are forgotten */

/* Goes on; returns when it wants to be called again at the latest. now_ns is a time of
 * time_boot_ns. */
int64_t store_leader_step(struct store_leader *leader, int64_t now_ns);
/* Takes news of its store: calls of its own, and every change under its prefix. True: the call was
 * its own. */
bool store_leader_take(struct store_leader *leader, const struct store_news *news, int64_t now_ns);

enum store_leader_state store_leader_state(const struct store_leader *leader);
/* True while it leads and its deadline lies ahead. Asked before each act. */
bool store_leader_may_act(const struct store_leader *leader, int64_t now_ns);
/* Returns the stamp of its commands, valid while it may act. */
struct store_stamp store_leader_stamp(const struct store_leader *leader);
/* Fills in the two conditions of a guarded change. */
void store_leader_guard(const struct store_leader *leader, struct store_condition guard[2]);
/* A node has obeyed this stamp last. A leader resigns, and stands again above it, if the epoch is
 * higher than its own, or is its own and another manager's: a store that was rolled back gave it
 * twice. */
void store_leader_heard(struct store_leader *leader, const struct store_stamp *kept);
/* An operator adopted this nonce as the cluster's life. It leaves FOREIGN if the store shows it.
 * Returns whether it did. */
bool store_leader_adopt(struct store_leader *leader, struct store_id nonce);
/* The nonce that it knows, to be kept on disk; all zero: none yet. */
struct store_id store_leader_nonce(const struct store_leader *leader);
