/* Services by number and by name. */
#include "cluster/roster.h"

#include "base/hash.h"
#include <string.h>

uint64_t cluster_roster_name(const struct service_spec *spec)
{
    struct {
        uint64_t identity, life;
        char name[LIMIT_NAME_BYTES];
    } what = { .identity = spec->identity, .life = spec->life };
    memcpy(what.name, spec->name, strnlen(spec->name, sizeof what.name - 1));
    uint64_t name = hash_fast(&what, sizeof what, 0).low;
    return name != 0 ? name : 1;
}

void cluster_roster_init(struct cluster_roster *roster)
{
    *roster = (struct cluster_roster){ 0 };
    map_init(&roster->by_name, LIMIT_SERVICES);
}

void cluster_roster_free(struct cluster_roster *roster)
{
    map_free(&roster->by_name);
}

void cluster_roster_add(struct cluster_roster *roster, int service, const struct service_spec *spec)
{
    CHECK(service >= 0 && service < LIMIT_SERVICES && !set_has(&roster->there, service));
    uint64_t name = cluster_roster_name(spec);
    CHECK(map_find(&roster->by_name, name) == MAP_NONE);
    CHECK(map_put(&roster->by_name, name, (uint32_t)service));
    set_add(&roster->there, service);
    roster->n = max_i32(roster->n, service + 1);
    roster->lives[service] = spec->life;
    roster->names[service] = name;
    roster->n_adapters[service] = spec->n_adapters;
}

void cluster_roster_remove(struct cluster_roster *roster, int service)
{
    if (!set_has(&roster->there, service))
        return;
    (void)map_remove(&roster->by_name, roster->names[service]);
    set_remove(&roster->there, service);
    roster->names[service] = 0;
}

int cluster_roster_find(const struct cluster_roster *roster, uint64_t name)
{
    uint32_t service = map_find(&roster->by_name, name);
    return service != MAP_NONE ? (int)service : -1;
}
