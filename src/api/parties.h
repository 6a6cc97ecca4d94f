/* Parties: those who share the server. A party is a tenant, or the address of a client that shows
 * no tenant's key.
 *
 * Each has an account of the memory that it holds, and counts of its connections and requests. What
 * is large is bounded by base/fair.h: none may hold more than seven times what is free. An eighth
 * of the memory is not for large things at all, so that short requests always find some. */
#pragma once
#include "api/addresses.h"
#include "base/fair.h"
#include "base/mem.h"

enum { API_PARTY_SMALL_BYTES = 64 << 10 }; /* a body or answer is large above it */

struct api_party {
    struct mem_account account; /* what it holds of the memory for HTTP */
    uint64_t key;
    int32_t n_users; /* connections, exchanges and calls that point here */
    int32_t n_connections, n_idle, n_seats;
    bool is_proxy; /* speaks for others */
};
struct api_parties;

/* n_max parties at once; house: the account of them all (NULL: none). */
struct api_parties *api_parties_open(uint32_t n_max, struct mem_account *house);
void api_parties_close(struct api_parties *parties); /* when nothing is charged to any */
/* The party of this address or tenant (from 1), with one more user. Where there are too many, they
 * share one. */
struct api_party *api_parties_take_address(struct api_parties *parties,
                                           const struct api_address *address);
struct api_party *api_parties_take_tenant(struct api_parties *parties, uint16_t tenant);
void api_parties_use(struct api_party *party);                              /* one more user */
void api_parties_put(struct api_parties *parties, struct api_party *party); /* one less */
/* Bytes that the party may take for something large now; INT64_MAX: nothing is bounded. */
int64_t api_parties_room(const struct api_parties *parties, const struct api_party *party);
/* The same for a party that holds n_own bytes and is alone. */
int64_t api_parties_room_alone(const struct api_parties *parties, int64_t n_own);
/* The house's memory is used up. */
bool api_parties_is_full(const struct api_parties *parties);
