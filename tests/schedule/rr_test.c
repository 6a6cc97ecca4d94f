/* Round robin: turns go on from what was started, and services without work cost none. */
#include "loop.h"
#include "test.h"
#include "base/time.h"

static void record(struct loop *loop, const struct batch *batch, void *self)
{
    (void)loop;
    char *trace = self;
    size_t n = strlen(trace);
    if (n < 60)
        trace[n] = (char)('A' + batch->service);
}

static void services_take_turns(void **state)
{
    (void)state;
    struct loop loop;
    struct loop_options options = { .policy = schedule_find("rr"),
                                    .n_services = 3,
                                    .unit_bytes = 1 << 16,
                                    .pool_bytes = 1 << 26,
                                    .n_requests_max = 100 };
    schedule_config_init(&options.config);
    for (int i = 0; i < 3; i++)
        options.services[i] = (struct loop_service){ .perf = loop_unit_perf(TIME_NS_PER_MS),
                                                     .bytes_per_token = 64,
                                                     .solo_ns = TIME_NS_PER_S };
    char trace[64] = { 0 };
    loop_open(&loop, &options);
    loop.on_batch = record;
    loop.on_batch_self = trace;
    (void)loop_add(&loop, 0, 0, 10, 4);
    (void)loop_add(&loop, 0, 0, 10, 4);
    (void)loop_add(&loop, 2, 0, 10, 4);
    loop_run(&loop);
    assert_string_equal(trace, "ACACACAC");
    loop_close(&loop);
}

static void a_refused_batch_keeps_its_turn(void **state)
{
    (void)state;
    const struct schedule_policy *rr = schedule_find("rr");
    struct schedule_limits limits = { 2, 4, 1 };
    struct schedule_config config;
    schedule_config_init(&config);
    _Alignas(64) unsigned char memory[1024];
    assert_true(rr->state_bytes(&limits) <= sizeof(memory));
    rr->open(memory, &limits, &config);
    unsigned char before[1024];
    memcpy(before, memory, sizeof(memory));
    struct batch batch = { .service = 1 };
    const struct schedule_service services[2] = { { 0 } };
    const struct schedule_view view = { .n_services = 2, .n_lanes = 1, .services = services };
    rr->saw(memory, &view, &(struct schedule_event){ .what = SCHEDULE_REFUSED, .batch = &batch });
    assert_memory_equal(before, memory, rr->state_bytes(&limits));
    rr->saw(memory, &view, &(struct schedule_event){ .what = SCHEDULE_STARTED, .batch = &batch });
    assert_memory_not_equal(before, memory, rr->state_bytes(&limits));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(services_take_turns),
        cmocka_unit_test(a_refused_batch_keeps_its_turn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
