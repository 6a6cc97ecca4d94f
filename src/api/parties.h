/* The parties that share the server. A party is a tenant, or the address of a client that sends no
 * tenant's key.
 *
 * Each party has an account of the memory that it holds, and counts of its connections and
 * requests. Large bodies and answers are bounded by base/fair.h: no party may hold more than seven
 * times what is free. An eighth of the memory is reserved for small ones, so that short requests
 * are served while large ones wait. */
#pragma once
#include "api/addresses.h"
#include "base/fair.h"
#include "base/mem.h"

enum { API_PARTY_SMALL_BYTES = 64 << 10 }; /* larger bodies and answers count as large */

struct api_party {
    struct mem_account account; /* the memory that it holds */
    uint64_t key;
    int32_t n_users; /* connections, exchanges and calls that point here */
    int32_t n_connections, n_idle, n_seats;
    bool is_proxy; /* a trusted proxy: it forwards for other clients */
};
struct api_parties;

/* Opens a table of n_max parties. root is the parent of their accounts (NULL: memory is not
 * bounded). */
struct api_parties *api_parties_open(uint32_t n_max, struct mem_account *root);
void api_parties_close(
    struct api_parties *parties); /* by now nothing may be charged to a party any more */
/* Returns the party of this address or tenant (tenants count from 1), with one more user. When the
 * table is full, further parties share one entry. */
struct api_party *api_parties_take_address(struct api_parties *parties,
                                           const struct api_address *address);
struct api_party *api_parties_take_tenant(struct api_parties *parties, uint16_t tenant);
void api_parties_use(struct api_party *party);                              /* one more user */
void api_parties_put(struct api_parties *parties, struct api_party *party); /* one user less */
/* Returns the bytes that the party may take now for large bodies and answers; INT64_MAX: no
 * bound. */
int64_t api_parties_room(const struct api_parties *parties, const struct api_party *party);
/* Returns the same for a party that holds n_own bytes while no other party holds any. */
int64_t api_parties_room_alone(const struct api_parties *parties, int64_t n_own);
/* Returns whether the root account is at its limit. */
bool api_parties_is_full(const struct api_parties *parties);
