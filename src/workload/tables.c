/* Finds the tables by their names. */
#include "workload/tables.h"

#include <string.h>

const struct workload_joint_table *workload_tables_find(const char *name)
{
    for (uint32_t i = 0; i < workload_tables_n_lengths; i++)
        if (strcmp(workload_tables_lengths[i].name, name) == 0)
            return &workload_tables_lengths[i];
    for (uint32_t i = 0; i < workload_tables_n_servegen; i++)
        if (strcmp(workload_tables_servegen[i].name, name) == 0)
            return &workload_tables_servegen[i];
    return NULL;
}

const struct workload_rate_table *workload_tables_find_rate(const char *name)
{
    for (uint32_t i = 0; i < workload_tables_n_rates; i++)
        if (strcmp(workload_tables_rates[i].name, name) == 0)
            return &workload_tables_rates[i];
    return NULL;
}
