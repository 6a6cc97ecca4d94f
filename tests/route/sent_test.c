/* Predictions within bounds, and lists by engine. */
#include "../test.h"
#include "base/mem.h"
#include "route/sent.h"

static void test_predicted(void **state)
{
    (void)state;
    const struct route_service service = { .n_output_mean = 40 };
    const struct route_view view = { .n_services = 1, .services = &service };
    struct route_request r = { .n_prompt = 100, .n_tokens = 100, .n_tokens_max = 150 };
    assert_int_equal(route_sent_predicted(&view, &r), 40); /* the mean of its service */
    r.n_predicted = 30;
    assert_int_equal(route_sent_predicted(&view, &r), 30);
    r.n_predicted = 300; /* whatever n_tokens_max says */
    assert_int_equal(route_sent_predicted(&view, &r), 300);
    r.n_predicted = 10;
    r.n_tokens = 120; /* it outran the prediction */
    assert_int_equal(route_sent_predicted(&view, &r), 30);
}

static void test_lists(void **state)
{
    (void)state;
    const struct route_limits limits = { 2, 5, 1 };
    void *memory = mem_take(route_sent_bytes(&limits));
    struct route_sent sent;
    route_sent_init(&sent, &limits, memory);
    for (uint32_t i = 0; i < 5; i++)
        route_sent_add(&sent, i % 2 == 0, i);
    route_sent_remove(&sent, 1, 2); /* from the middle */
    route_sent_remove(&sent, 1, 4); /* the first */
    route_sent_remove(&sent, 0, 1); /* the last */
    assert_int_equal(sent.first[1], 0);
    assert_int_equal(sent.links[0].next, ROUTE_NONE);
    assert_int_equal(sent.first[0], 3);
    assert_int_equal(sent.links[3].next, ROUTE_NONE);
    mem_give(memory);
}

static void test_limit(void **state)
{
    (void)state;
    const struct route_engine engine = { .n_requests_max = 9 };
    struct route_config config;
    route_config_init(&config);
    assert_int_equal(route_sent_limit(&config, &engine), 9);
    config.n_inflight_max = 4;
    assert_int_equal(route_sent_limit(&config, &engine), 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_predicted),
                                        cmocka_unit_test(test_lists),
                                        cmocka_unit_test(test_limit) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
