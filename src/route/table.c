/* The room's table of every router by name. */
#include "route/policies.h"

#include <string.h>

#define ROW(name) &route_##name,
static const struct route_policy *const routers[] = { ROUTE_POLICIES(ROW) };
#undef ROW

const struct route_policy *route_find(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(routers); i++) {
        if (strcmp(routers[i]->name, name) == 0)
            return routers[i];
    }
    return NULL;
}

const struct route_policy *const *route_all(int *n)
{
    *n = (int)COUNT_OF(routers);
    return routers;
}
