/* The table of engine schedulers. */
#include "schedule/policies.h"
#include <string.h>

#define ROW(name) &schedule_##name,
static const struct schedule_policy *const policies[] = { SCHEDULE_POLICIES(ROW) };
#undef ROW

const struct schedule_policy *const *schedule_all(int *n)
{
    *n = (int)COUNT_OF(policies);
    return policies;
}

const struct schedule_policy *schedule_find(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(policies); i++)
        if (strcmp(policies[i]->name, name) == 0)
            return policies[i];
    return NULL;
}
