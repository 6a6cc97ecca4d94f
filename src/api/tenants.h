/* Tenants, which are known by the key that a request carries.
 *
 * A tenant is its name. Its number stays the same for the life of the process, even when its keys
 * change. Number 0 means that the request has no tenant's key: no key at all, the API key, or the
 * admin key.
 *
 * A hash of the tenant's name goes with its requests and salts the names of their KV blocks, so
 * that no other tenant's requests find them. The hash is the same at each gateway, whatever list a
 * gateway has. */
#pragma once
#include "api/http_parse.h"
#include "base/hash.h"
#include "core/limits.h"

enum { API_TENANTS_MAX = 1024, API_TENANT_KEYS_MAX = 256 };

struct api_tenants {
    char names[API_TENANTS_MAX]
              [LIMIT_NAME_BYTES];     /* all names ever seen; [i] has the number i + 1 */
    uint64_t hashes[API_TENANTS_MAX]; /* of the names; never 0 */
    int n_names;
    struct api_tenant_key {
        struct hash128 digest;
        uint16_t tenant;
    } keys[API_TENANT_KEYS_MAX];
    int n_keys;
};
/* Replaces the keys, each "NAME=KEY"; one name may have several. Keys that are malformed or too
 * many match no request. Returns how many are in force. */
int api_tenants_set(struct api_tenants *tenants, const char *const *texts, int n);
/* Returns the number of the tenant with this key; 0 when it is no tenant's. Takes constant time. */
uint16_t api_tenants_of(const struct api_tenants *tenants, const struct api_http_head *head);
/* Returns the hash of the name of the tenant with this number; 0 for 0. */
uint64_t api_tenants_hash(const struct api_tenants *tenants, uint16_t tenant);
