/* The policies described for people, from the rooms' own tables: in Markdown, as `shoal config
 * policies` prints them and the documents have them. */
#pragma once
#include "base/str.h"

enum config_policies {
    CONFIG_POLICIES_PRESETS,
    CONFIG_POLICIES_SCHEDULERS,
    CONFIG_POLICIES_THRESHOLDS, /* of schedulers */
    CONFIG_POLICIES_ROUTERS,
    CONFIG_POLICIES_ROUTER_THRESHOLDS,
    CONFIG_POLICIES_PREDICTORS,
    CONFIG_POLICIES_POOLS,
    CONFIG_POLICIES_PLANNERS,
    CONFIG_POLICIES_LAYERS,
    CONFIG_POLICIES_N,
};
void config_policies_table(enum config_policies which, struct str *out);
/* All tables, each under a heading. */
void config_policies_print(struct str *out);
