/* The table of presets: every row names existing policies, and the list of names has it. */
#include "test.h"

#include "config/presets.h"
#include "predict/length.h"
#include "route/policy.h"
#include "schedule/policy.h"

/* Thresholds exist, and so does the predictor, which a server may use too. */
static void check_parts(const struct preset *preset)
{
    struct schedule_config schedule;
    struct route_config route;
    struct length_config lengths;
    struct fault fault;
    schedule_config_init(&schedule);
    route_config_init(&route);
    length_config_init(&lengths);
    for (int i = 0; preset->thresholds[i] != NULL; i++)
        assert_int_equal(schedule_config_set(&schedule, preset->thresholds[i], &fault), STATUS_OK);
    for (int i = 0; preset->router_thresholds[i] != NULL; i++)
        assert_int_equal(route_config_set(&route, preset->router_thresholds[i], &fault), STATUS_OK);
    if (preset->predictor == NULL)
        return;
    const struct length_predictor *predictor = length_parse(preset->predictor, &lengths);
    assert_non_null(predictor);
    assert_int_equal(predictor->hint, LENGTH_HINT_NONE);
}

static void presets_name_policies_that_exist(void **state)
{
    int n;
    const struct preset *presets = presets_all(&n);
    (void)state;
    assert_true(n > 0);
    assert_string_equal(presets[0].name, "default");
    for (int i = 0; i < n; i++) {
        assert_non_null(schedule_find(presets[i].policy));
        assert_non_null(route_find(presets[i].router));
        assert_ptr_equal(presets_find(presets[i].name), &presets[i]);
        assert_true(strlen(presets[i].summary) > 0);
        check_parts(&presets[i]);
    }
    assert_null(presets_find("none"));
}

static void presets_are_listed_in_order(void **state)
{
    char text[256];
    int n, at = 0;
    const struct preset *presets = presets_all(&n);
    (void)state;
    for (int i = 0; i < n; i++)
        at += snprintf(text + at, sizeof text - (size_t)at, "%s%s", i > 0 ? ", " : "",
                       presets[i].name);
    assert_string_equal(presets_names(), text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(presets_name_policies_that_exist),
        cmocka_unit_test(presets_are_listed_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
