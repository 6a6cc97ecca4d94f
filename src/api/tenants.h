/* Tenants: whose key a request carries. A tenant is its name. It has a number, which it keeps while
 * its keys change, for the life of the process; 0 means that no tenant's key was sent: no key at
 * all, the API key, or the admin key.
 *
 * A hash of its name goes with its requests and salts the names of their KV blocks, so that no
 * other tenant's requests find them. It is the same at each gateway, whatever list a gateway has.
 */
#pragma once
#include "api/http_parse.h"
#include "base/hash.h"
#include "core/limits.h"

enum { API_TENANTS_MAX = 1024, API_TENANT_KEYS_MAX = 256 };

struct api_tenants {
    char names[API_TENANTS_MAX]
              [LIMIT_NAME_BYTES];     /* all that ever were; [i] has the number i + 1 */
    uint64_t hashes[API_TENANTS_MAX]; /* of the names; never 0 */
    int n_names;
    struct api_tenant_key {
        struct hash128 digest;
        uint16_t tenant;
    } keys[API_TENANT_KEYS_MAX];
    int n_keys;
};
/* The keys from now on, "NAME=KEY" each; several of one name are fine. Those that are malformed or
 * too many fit nobody; returns how many are in force. */
int api_tenants_set(struct api_tenants *tenants, const char *const *texts, int n);
/* The tenant whose key this is: its number; 0 = nobody's. In constant time. */
uint16_t api_tenants_of(const struct api_tenants *tenants, const struct api_http_head *head);
/* The hash of the name of the tenant with this number; 0 for 0. */
uint64_t api_tenants_hash(const struct api_tenants *tenants, uint16_t tenant);
