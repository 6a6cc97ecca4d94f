/* The checkers see what they are there for. */
#include "../test.h"
#include "base/time.h"
#include "sim/state.h"

static struct sim_client client = { .is_live = true };
static struct route_request request = {
    .id = 5, .epoch = 1, .n_tokens = 10, .n_tokens_max = 20, .deadline_ns = 200
};

static const char *verdict(const struct service_event *event)
{
    struct sim_report report = { 0 };
    struct sim sim = {
        .report = &report, .clock_ns = 100, .clients = &client, .requests = &request
    };
    sim_check_event(&sim, &client, event, sim.clock_ns);
    return report.wrong;
}

static void sees_wrong_events(void **state)
{
    const struct service_event good = {
        .id = 5, .epoch = 1, .what = SERVICE_TOKENS, .position = 10, .n_tokens = 10
    };
    (void)state;
    assert_null(verdict(&good));
    struct service_event event = good;
    event.n_tokens = 11;
    assert_non_null(verdict(&event));
    event = good;
    event.position = 9;
    assert_non_null(verdict(&event));
    event = good;
    event.epoch = 0;
    assert_non_null(verdict(&event));
    event = good;
    event.id = 6;
    assert_non_null(verdict(&event));
    event = good;
    event.what = SERVICE_ENDED;
    static const uint8_t whys[] = { SERVICE_LENGTH, SERVICE_CANCELLED, SERVICE_DEADLINE };
    for (size_t i = 0; i < COUNT_OF(whys); i++) {
        event.why = whys[i];
        assert_non_null(verdict(&event));
    }
    request.n_tokens = event.position = 20;
    event.why = SERVICE_LENGTH;
    assert_null(verdict(&event));
    client.is_live = false;
    assert_non_null(verdict(&event));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(sees_wrong_events) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
