/* The tables of policies, seen alike. See registry.h. */
#include "config/registry.h"

#include "config/presets.h"
#include "place/layers.h"
#include "place/planner.h"
#include "predict/length.h"
#include "route/policy.h"
#include "schedule/policy.h"
#include <stdio.h>

struct row {
    const char *name, *summary;
};
static const struct row behind = { NULL, NULL };

static struct row preset_row(int i)
{
    int n;
    const struct preset *all = presets_all(&n);
    return i < n ? (struct row){ all[i].name, all[i].summary } : behind;
}

static struct row scheduler_row(int i)
{
    int n;
    const struct schedule_policy *const *all = schedule_all(&n);
    return i < n ? (struct row){ all[i]->name, all[i]->summary } : behind;
}

static struct row router_row(int i)
{
    int n;
    const struct route_policy *const *all = route_all(&n);
    return i < n ? (struct row){ all[i]->name, all[i]->summary } : behind;
}

static struct row simulated_row(int i)
{
    int n;
    const struct length_predictor *const *all = length_all(&n);
    return i < n ? (struct row){ all[i]->name, all[i]->summary } : behind;
}

static struct row predictor_row(int i)
{
    int n, k = 0;
    const struct length_predictor *const *all = length_all(&n);
    for (; k < n && (all[k]->hint != LENGTH_HINT_NONE || i > 0); k++)
        i -= all[k]->hint == LENGTH_HINT_NONE;
    return simulated_row(k);
}

static struct row pool_row(int i)
{
    if (i >= KV_KINDS)
        return behind;
    return (struct row){ kv_kind_name((enum kv_kind)i), kv_kind_summary((enum kv_kind)i) };
}

static struct row planner_row(int i)
{
    int n;
    const struct place_planner *const *all = place_planner_all(&n);
    return i < n ? (struct row){ all[i]->name, all[i]->summary } : behind;
}

static struct row layers_row(int i)
{
    int n;
    const struct layers_planner *all = layers_planners(&n);
    return i < n ? (struct row){ all[i].name, all[i].summary } : behind;
}

static struct row row_of(enum config_registry which, int i)
{
    static struct row (*const rows[])(int i) = {
        [CONFIG_REGISTRY_PRESETS] = preset_row,      [CONFIG_REGISTRY_SCHEDULERS] = scheduler_row,
        [CONFIG_REGISTRY_ROUTERS] = router_row,      [CONFIG_REGISTRY_PREDICTORS] = predictor_row,
        [CONFIG_REGISTRY_SIMULATED] = simulated_row, [CONFIG_REGISTRY_POOLS] = pool_row,
        [CONFIG_REGISTRY_PLANNERS] = planner_row,    [CONFIG_REGISTRY_LAYERS] = layers_row,
    };
    return which > CONFIG_REGISTRY_NONE && which < CONFIG_REGISTRY_N ? rows[which](i) : behind;
}

const char *config_registry_name(enum config_registry which, int i)
{
    return row_of(which, i).name;
}

const char *config_registry_summary(enum config_registry which, int i)
{
    return row_of(which, i).summary;
}

void config_registry_add(enum config_registry which, struct str *out)
{
    for (int i = 0; config_registry_name(which, i) != NULL; i++)
        str_printf(out, "%s%s", i > 0 ? ", " : "", config_registry_name(which, i));
}

const char *config_registry_names(enum config_registry which, char text[CONFIG_REGISTRY_BYTES])
{
    struct str names;
    str_init(&names);
    config_registry_add(which, &names);
    snprintf(text, CONFIG_REGISTRY_BYTES, "%s", names.n > 0 ? names.at : "");
    str_free(&names);
    return text;
}
