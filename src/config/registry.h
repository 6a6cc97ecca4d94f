/* The names that a configuration may use: a common view of the rooms' tables of policies. Help,
 * faults, the schema and the documents list names from here. */
#pragma once
#include "base/str.h"

enum config_registry {
    CONFIG_REGISTRY_NONE,
    CONFIG_REGISTRY_PRESETS,
    CONFIG_REGISTRY_SCHEDULERS,
    CONFIG_REGISTRY_ROUTERS,
    CONFIG_REGISTRY_PREDICTORS, /* those that a server may use */
    CONFIG_REGISTRY_SIMULATED,  /* predictors, those that only a simulation may use included */
    CONFIG_REGISTRY_POOLS,      /* kinds of KV pool */
    CONFIG_REGISTRY_PLANNERS,
    CONFIG_REGISTRY_LAYERS, /* planners of layers */
    CONFIG_REGISTRY_N,
};
/* The i-th row's name and what it is in a few words; NULL behind the last. */
const char *config_registry_name(enum config_registry which, int i);
const char *config_registry_summary(enum config_registry which, int i);
/* "fcfs, temporal, rr" */
void config_registry_add(enum config_registry which, struct str *out);
enum { CONFIG_REGISTRY_BYTES = 512 };
/* The same for faults: into text, which is returned. */
const char *config_registry_names(enum config_registry which, char text[CONFIG_REGISTRY_BYTES]);
