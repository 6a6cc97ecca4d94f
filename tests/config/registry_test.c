/* Names of policies: every registry has rows with summaries, its list has each once, and the rooms
 * know every name. */
#include "test.h"

#include "config/presets.h"
#include "config/registry.h"
#include "place/layers.h"
#include "place/planner.h"
#include "predict/length.h"
#include "route/policy.h"
#include "schedule/policy.h"

static bool is_known(enum config_registry which, const char *name)
{
    enum kv_kind kind;
    switch (which) {
    case CONFIG_REGISTRY_PRESETS:
        return presets_find(name) != NULL;
    case CONFIG_REGISTRY_SCHEDULERS:
        return schedule_find(name) != NULL;
    case CONFIG_REGISTRY_ROUTERS:
        return route_find(name) != NULL;
    case CONFIG_REGISTRY_PREDICTORS:
        return length_find(name) != NULL && length_find(name)->hint == LENGTH_HINT_NONE;
    case CONFIG_REGISTRY_SIMULATED:
        return length_find(name) != NULL;
    case CONFIG_REGISTRY_POOLS:
        return kv_kind_find(name, &kind);
    case CONFIG_REGISTRY_PLANNERS:
        return place_planner_find(name) != NULL;
    case CONFIG_REGISTRY_LAYERS:
        return layers_find(name) != NULL;
    default:
        return false;
    }
}

static void every_row_is_known_and_listed(void **state)
{
    (void)state;
    for (int r = CONFIG_REGISTRY_NONE + 1; r < CONFIG_REGISTRY_N; r++) {
        enum config_registry which = (enum config_registry)r;
        char names[CONFIG_REGISTRY_BYTES];
        struct str list;
        int n = 0;
        for (; config_registry_name(which, n) != NULL; n++) {
            assert_true(is_known(which, config_registry_name(which, n)));
            assert_true(strlen(config_registry_summary(which, n)) > 5);
        }
        assert_true(n >= 3);
        str_init(&list);
        config_registry_add(which, &list);
        assert_string_equal(config_registry_names(which, names), list.at);
        for (int i = 0; i < n; i++) { /* the list is the names in their order */
            const char *name = config_registry_name(which, i);
            const char *at = i == 0 ? list.at : strstr(list.at, ", ") + 2;
            assert_int_equal(strncmp(at, name, strlen(name)), 0);
            memmove(list.at, at, strlen(at) + 1);
        }
        str_free(&list);
    }
    assert_null(config_registry_name(CONFIG_REGISTRY_NONE, 0));
}

static void a_server_is_offered_no_oracle(void **state)
{
    char names[CONFIG_REGISTRY_BYTES];
    (void)state;
    assert_null(strstr(config_registry_names(CONFIG_REGISTRY_PREDICTORS, names), "oracle"));
    assert_non_null(strstr(names, "conditional"));
    assert_non_null(strstr(config_registry_names(CONFIG_REGISTRY_SIMULATED, names), "oracle"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_is_known_and_listed),
        cmocka_unit_test(a_server_is_offered_no_oracle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
