/* The order of events is total: time, then kind, then sequence. */
#include "../test.h"
#include "base/rng.h"
#include "sim/events.h"

static void leave_in_order(void **state)
{
    struct sim_events events;
    struct rng rng;
    uint32_t n = 0;
    (void)state;
    rng_init(&rng, test_seed(1), 0);
    sim_events_init(&events, 4); /* it grows */
    struct sim_event last = { .time_ns = -1 };
    for (int i = 0; i < 20000; i++) {
        if (rng_below(&rng, 3) > 0) {
            struct sim_event event = { .time_ns = last.time_ns + rng_below(&rng, 20),
                                       .sequence = (uint64_t)i,
                                       .kind = (uint8_t)rng_below(&rng, 3) };
            if (sim_events_is_before(&event, &last))
                event.time_ns = last.time_ns + 1;
            sim_events_add(&events, &event);
            n++;
        } else if (n > 0) {
            struct sim_event event = *sim_events_first(&events);
            sim_events_remove_first(&events);
            assert_false(sim_events_is_before(&event, &last));
            last = event;
            n--;
        }
    }
    for (; n > 0; n--) {
        struct sim_event event = *sim_events_first(&events);
        sim_events_remove_first(&events);
        assert_false(sim_events_is_before(&event, &last));
        last = event;
    }
    assert_null(sim_events_first(&events));
    sim_events_free(&events);
}

static void arrivals_before_cancels_before_steps(void **state)
{
    const struct sim_event step = { .time_ns = 5, .sequence = 1, .kind = SIM_STEP };
    const struct sim_event cancel = { .time_ns = 5, .sequence = 9, .kind = SIM_CANCEL };
    const struct sim_event arrival = { .time_ns = 5, .sequence = 99, .kind = SIM_ARRIVAL };
    const struct sim_event later = { .time_ns = 6, .sequence = 0, .kind = SIM_ARRIVAL };
    (void)state;
    assert_true(sim_events_is_before(&arrival, &cancel) && sim_events_is_before(&cancel, &step));
    assert_true(sim_events_is_before(&step, &later) && !sim_events_is_before(&step, &step));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(leave_in_order),
        cmocka_unit_test(arrivals_before_cancels_before_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
