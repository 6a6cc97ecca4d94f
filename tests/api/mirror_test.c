/* Health by given reports and times: an engine that has work must make steps. */
#include "test.h"
#include "api/mirror.h"
#include "api/mirror_state.h"
#include "base/time.h"

static struct api_catalog no_models;

static void say(struct api *api, struct engine_report *report, int64_t now_s)
{
    api->mirror.pending[0] = (struct api_pending){ .id = 9, .kind = CONTROL_LIST };
    struct control_answer answer = { .id = 9, .n_engines = 1, .engines = report };
    api_mirror_take(api, &answer, now_s * TIME_NS_PER_S);
    api->mirror.pending[0] = (struct api_pending){ .id = 10, .kind = CONTROL_HEALTH };
    answer = (struct control_answer){ .id = 10, .is_healthy = true };
    api_mirror_take(api, &answer, now_s * TIME_NS_PER_S);
}

static bool is_well(const struct api *api, int64_t now_s)
{
    char why[160];
    return api_mirror_is_well(api, now_s * TIME_NS_PER_S, why, sizeof(why));
}

static void test_stuck_engine(void **state)
{
    (void)state;
    static struct api api = { .catalog = &no_models };
    static struct engine_report report;
    api_mirror_open(&api);
    report = (struct engine_report){ .n_steps = 5, .n_requests = 1 };
    for (int64_t s = 100; s < 130; s++)
        say(&api, &report, s);
    assert_true(is_well(&api, 130));
    say(&api, &report, 131);
    assert_false(is_well(&api, 131)); /* 31 s with a request and not one step */
    report.n_steps++;
    say(&api, &report, 132);
    assert_true(is_well(&api, 132));
    report.n_requests = 0;
    for (int64_t s = 133; s < 200; s++)
        say(&api, &report, s);
    assert_true(is_well(&api, 200));  /* an engine without work is not stuck */
    assert_false(is_well(&api, 231)); /* no answer for 31 s */
    api_mirror_close(&api);
}

/* The sentence names the engine that counts as ill. */
static void test_the_ill_engine_is_named(void **state)
{
    (void)state;
    static struct api api = { .catalog = &no_models };
    char why[160];
    api_mirror_open(&api);
    assert_true(api_mirror_set_engines(&api, 2));
    api.mirror.said_ns = 100 * TIME_NS_PER_S;
    api.mirror.is_healthy = false;
    for (int i = 0; i < 2; i++) {
        api.mirror.steps[i].moved_ns = 100 * TIME_NS_PER_S;
        api.mirror.engines[i] = (struct engine_report){ .engine = (uint16_t)i,
                                                        .is_healthy = true,
                                                        .now_ns = (100 - 7 * i) * TIME_NS_PER_S };
    }
    assert_false(api_mirror_is_well(&api, 100 * TIME_NS_PER_S, why, sizeof(why)));
    assert_string_equal(why, "engine 1 has not reported for 7 s");
    api.mirror.engines[0].is_healthy = false;
    assert_false(api_mirror_is_well(&api, 100 * TIME_NS_PER_S, why, sizeof(why)));
    assert_string_equal(why, "engine 0 has failed");
    api.options.stall_ns = 2 * TIME_NS_PER_S;
    api.mirror.is_healthy = true;
    assert_true(api_mirror_is_well(&api, 102 * TIME_NS_PER_S, why, sizeof(why)));
    api.mirror.said_ns = 103 * TIME_NS_PER_S;
    assert_false(api_mirror_is_well(&api, 103 * TIME_NS_PER_S, why, sizeof(why)));
    api_mirror_close(&api);
}

/* A failed load is remembered until a load succeeds, since reports only show that the model is not
 * there. */
static void test_a_failed_load_is_remembered(void **state)
{
    (void)state;
    static struct api api = { .catalog = &no_models };
    api_mirror_open(&api);
    assert_true(api_mirror_set_engines(&api, 1));
    api.mirror.engines[0].n_services = 1;
    struct service_change change = { .status = SERVICE_BROKEN, .fault = { "no such file" } };
    api_mirror_change(&api, &change);
    api.mirror.engines[0].services[0].status = SERVICE_UNLOADED; /* the next report */
    assert_int_equal(api_mirror_state(&api, 0).status, SERVICE_BROKEN);
    assert_string_equal(api.mirror.faults[0].text, "no such file");
    change = (struct service_change){ .status = SERVICE_LOADING };
    api_mirror_change(&api, &change);
    assert_int_equal(api_mirror_state(&api, 0).status, SERVICE_LOADING);
    change.status = SERVICE_LOADED;
    api_mirror_change(&api, &change);
    change.status = SERVICE_UNLOADED;
    api_mirror_change(&api, &change);
    assert_int_equal(api_mirror_state(&api, 0).status, SERVICE_UNLOADED);
    api_mirror_close(&api);
}

static bool take_ask(void *self, const struct control_ask *ask)
{
    int *n_asks = self;
    n_asks[ask->kind]++;
    return true;
}

static void test_many_loads_leave_room_for_health(void **state)
{
    (void)state;
    static struct api api = { .catalog = &no_models };
    int n_asks[8] = { 0 };
    api_mirror_open(&api);
    api.options.control = (struct control){ .self = n_asks, .ask = take_ask };
    api.is_nudged = true;
    for (int i = 0; i < 2 * API_PENDING_MAX; i++)
        api_mirror_ask(&api, CONTROL_LOAD, 0, NULL);
    api_mirror_sweep(&api, time_now_ns());
    assert_int_equal(n_asks[CONTROL_LOAD], API_PENDING_MAX - 2);
    assert_true(n_asks[CONTROL_LIST] == 1 && n_asks[CONTROL_HEALTH] == 1);
    api_mirror_close(&api);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_stuck_engine),
                                        cmocka_unit_test(test_the_ill_engine_is_named),
                                        cmocka_unit_test(test_a_failed_load_is_remembered),
                                        cmocka_unit_test(test_many_loads_leave_room_for_health) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
