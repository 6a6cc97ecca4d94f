/* Presets: a named row of policies, after docs/ALGORITHMS.md section 7.4. */
#pragma once
#include "kv/kv.h"

struct preset {
    const char *name, *summary;
    const char *policy, *router;
    const char *predictor;            /* of output lengths; NULL: the usual one */
    enum kv_kind kv;                  /* of the pools */
    const char *thresholds[8];        /* of the scheduler: schedule_config_set; NULL ends */
    const char *router_thresholds[8]; /* route_config_set */
};
const struct preset *presets_all(int *n);
const struct preset *presets_find(const char *name);
const char *presets_names(void); /* "default, seallm, ..." */
