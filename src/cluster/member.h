/* A process's entry among the members of its cluster: a key in the store under a lease.
 *
 *   NONE --lease granted--> LEASED --key put--> THERE --lease lost, key gone, store BACK--> NONE
 *                                               THERE --another value--> THERE, put again
 *
 * While the store is away, it tries again; serving does not wait for it. The lease is renewed every
 * third of its time. */
#pragma once
#include "store/store.h"

enum { CLUSTER_MEMBER_VALUE_BYTES = 4096 };
enum cluster_member_state { CLUSTER_MEMBER_NONE, CLUSTER_MEMBER_LEASED, CLUSTER_MEMBER_THERE };
struct cluster_member {
    struct store *store;
    char key[STORE_KEY_BYTES], value[CLUSTER_MEMBER_VALUE_BYTES];
    char next_value[CLUSTER_MEMBER_VALUE_BYTES]; /* while has_changed: put by the next call */
    int64_t ttl_s;
    enum cluster_member_state state;
    int64_t lease;
    int64_t again_ns; /* of the next call */
    bool is_calling;
    bool has_changed;
    uint64_t seed, n_leases;
    struct store_call call;
};
/* key and value are copied. */
void cluster_member_open(struct cluster_member *member, struct store *store, const char *key,
                         const char *value, int64_t ttl_s, uint64_t seed);
/* Changes the value, in the store as soon as it is reached. */
void cluster_member_set(struct cluster_member *member, const char *value);
/* Forgets the call in flight. Its entry goes when its lease ends. */
void cluster_member_close(struct cluster_member *member);
/* Takes news of the store, which watches the key. Returns true when the news was its call's. */
bool cluster_member_take(struct cluster_member *member, const struct store_news *news,
                         int64_t now_ns);
int64_t cluster_member_step(struct cluster_member *member, int64_t now_ns); /* next wake */
