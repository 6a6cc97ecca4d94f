/* The state of a model over several engines, from given reports. */
#include "test.h"
#include "api/mirror_state.h"
#include "api/mirror.h"

static struct api_catalog no_models;

/* One engine serves it soon, so it is loading, although its load failed at the other. */
static void test_the_engine_nearest_to_serving_counts(void **state)
{
    (void)state;
    static struct api api = { .catalog = &no_models };
    api_mirror_open(&api);
    assert_true(api_mirror_set_engines(&api, 2));
    api.mirror.engines[0].n_services = api.mirror.engines[1].n_services = 1;
    api.mirror.engines[0].services[0].status = SERVICE_BROKEN;
    api.mirror.engines[1].services[0].status = SERVICE_LOADING;
    api.mirror.engines[1].services[0].progress_percent = 40;
    struct api_model_state all = api_mirror_state(&api, 0);
    assert_true(all.status == SERVICE_LOADING && all.percent == 40);
    assert_int_equal(api_mirror_state(&api, 3).status, SERVICE_UNLOADED);
    api_mirror_close(&api);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_engine_nearest_to_serving_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
