/* Finds the tables by their names. */
#include "sim/tables.h"

#include <string.h>

const struct sim_joint_table *sim_tables_find(const char *name)
{
    for (uint32_t i = 0; i < sim_tables_n_lengths; i++)
        if (strcmp(sim_tables_lengths[i].name, name) == 0)
            return &sim_tables_lengths[i];
    for (uint32_t i = 0; i < sim_tables_n_servegen; i++)
        if (strcmp(sim_tables_servegen[i].name, name) == 0)
            return &sim_tables_servegen[i];
    return NULL;
}

const struct sim_rate_table *sim_tables_find_rate(const char *name)
{
    for (uint32_t i = 0; i < sim_tables_n_rates; i++)
        if (strcmp(sim_tables_rates[i].name, name) == 0)
            return &sim_tables_rates[i];
    return NULL;
}
