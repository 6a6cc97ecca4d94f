/* Tenants by name and by key. */
#include "api/tenants.h"
#include "api/headers.h"
#include <string.h>

/* Returns the number of a name, a new one for a new name; 0 = no room. */
static uint16_t number_of(struct api_tenants *tenants, struct view name)
{
    for (int i = 0; i < tenants->n_names; i++)
        if (view_equal_text(name, tenants->names[i]))
            return (uint16_t)(i + 1);
    if (tenants->n_names == API_TENANTS_MAX || name.n == 0 || name.n >= LIMIT_NAME_BYTES)
        return 0;
    memcpy(tenants->names[tenants->n_names], name.at, name.n);
    tenants->names[tenants->n_names][name.n] = '\0';
    tenants->hashes[tenants->n_names] = hash_secure("tenant", 6, name.at, name.n).low | 1;
    return (uint16_t)++tenants->n_names;
}

int api_tenants_set(struct api_tenants *tenants, const char *const *texts, int n)
{
    tenants->n_keys = 0;
    for (int i = 0; i < n && tenants->n_keys < API_TENANT_KEYS_MAX; i++) {
        const char *sign = strchr(texts[i], '=');
        if (sign == NULL || sign[1] == '\0')
            continue;
        uint16_t tenant = number_of(tenants, view_of(texts[i], (size_t)(sign - texts[i])));
        if (tenant != 0)
            tenants->keys[tenants->n_keys++] =
                (struct api_tenant_key){ hash_secure("", 0, sign + 1, strlen(sign + 1)), tenant };
    }
    return tenants->n_keys;
}

uint64_t api_tenants_hash(const struct api_tenants *tenants, uint16_t tenant)
{
    CHECK(tenant <= tenants->n_names);
    return tenant > 0 ? tenants->hashes[tenant - 1] : 0;
}

uint16_t api_tenants_of(const struct api_tenants *tenants, const struct api_http_head *head)
{
    struct hash128 sent[2];
    uint16_t tenant = 0;
    if (tenants->n_keys == 0)
        return 0;
    api_headers_keys(head, sent);
    for (int i = 0; i < tenants->n_keys; i++) { /* all of them, whichever matches */
        const struct api_tenant_key *key = &tenants->keys[i];
        bool is_first = hash_equal_const_time(&key->digest, &sent[0], sizeof(sent[0]));
        bool is_second = hash_equal_const_time(&key->digest, &sent[1], sizeof(sent[1]));
        if (tenant == 0 && (is_first || is_second))
            tenant = key->tenant;
    }
    return tenant;
}
