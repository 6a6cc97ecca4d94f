/* Work: of a usual request, of a prompt, of the rest of a request, and the last time to begin. */
#include "test.h"
#include "base/rng.h"
#include "schedule/work.h"

static void a_service_without_data_has_a_usual_request(void **state)
{
    (void)state;
    struct schedule_service service = { .perf = { .c1_ps = 1000000,
                                                  .c3_ps = { 5000, 5000 },
                                                  .prefill_scale = 1,
                                                  .decode_scale = 1,
                                                  .b_switch = INT32_MAX } };
    assert_int_equal(schedule_work_usual_ps(&service), (1000000 + 127 * 5000) / 1000 * 1000);
    service.solo_ns = 40;
    service.solo_deviation_ns = 10;
    assert_int_equal(schedule_work_usual_ps(&service), 50000);
    service.solo_ns = INT64_MAX / 4; /* nonsense does not overflow */
    assert_true(schedule_work_usual_ps(&service) > 0);
}

static void draw_service(struct rng *rng, struct schedule_service *service)
{
    *service = (struct schedule_service){
        .perf = { .c1_ps = rng_below(rng, 100000),
                  .k1_ps = rng_below(rng, 1000),
                  .q1_ps = rng_below(rng, 10),
                  .c3_ps = { 1 + rng_below(rng, 100000), 1 + rng_below(rng, 100000) },
                  .c2_ps = { rng_below(rng, 1000), rng_below(rng, 1000) },
                  .k2_ps = { rng_below(rng, 100), rng_below(rng, 100) },
                  .b_switch = 4,
                  .prefill_scale = 1,
                  .decode_scale = 1 },
        .n_output_mean = 1 + rng_below(rng, 50),
        .solo_ns = 1,
    };
}

/* The work left of a request is the sum of its steps alone, by the short form as by the long
 * one. */
static void what_is_left_is_the_sum_of_the_steps(void **state)
{
    (void)state;
    struct rng rng;
    rng_init(&rng, test_seed(1), 0);
    for (int round = 0; round < 2000; round++) {
        struct schedule_service service;
        draw_service(&rng, &service);
        struct schedule_view view = { .n_services = 1, .services = &service };
        struct schedule_price price = schedule_work_price(&service), none = { .is_plain = false };
        assert_true(price.is_plain);
        int32_t n_prompt = 1 + (int32_t)rng_below(&rng, 100);
        int32_t n_out = (int32_t)rng_below(&rng, 30);
        struct request r = { .n_prompt = n_prompt,
                             .n_tokens = n_prompt + n_out,
                             .n_computed = n_prompt + n_out - 1,
                             .n_predicted = (int32_t)rng_below(&rng, 60) };
        int64_t n_all = r.n_predicted > 0 ? r.n_predicted : (int64_t)service.n_output_mean;
        int64_t n_left = max_i64(n_all - n_out, 1), sum_ps = 0;
        for (int64_t i = 0; i < n_left; i++)
            sum_ps += perf_decode_span_ps(&service.perf, 1, r.n_tokens + i, 1);
        assert_int_equal(schedule_work_remaining_ps(&price, &view, &r), sum_ps);
        assert_int_equal(schedule_work_remaining_ps(&none, &view, &r), sum_ps);
        r.n_computed = 0; /* its prompt is to be computed, too */
        assert_int_equal(schedule_work_remaining_ps(&price, &view, &r),
                         max_i64(perf_solo_ps(&service.perf, r.n_tokens, n_left), 1));
    }
}

static void a_prompt_costs_its_tokens_and_their_squares(void **state)
{
    (void)state;
    struct perf perf = { .c1_ps = 1000, .k1_ps = 10, .q1_ps = 1024, .prefill_scale = 1 };
    assert_int_equal(schedule_work_prefill_ps(&perf, 60), 1000 + 600 + 3600);
    assert_int_equal(schedule_work_prefill_ps(&perf, 100), 1000 + 1000 + 10000);
}

/* A step takes 2 ns. A request that arrived at 100 has five left. */
static void it_has_to_begin_in_time_for_its_deadline(void **state)
{
    (void)state;
    struct schedule_service service = {
        .perf = { .c3_ps = { 2000, 2000 }, .b_switch = 4, .prefill_scale = 1, .decode_scale = 1 },
        .solo_ns = 1
    };
    struct schedule_view view = { .n_services = 1, .services = &service };
    struct schedule_price price = schedule_work_price(&service);
    struct request r = { .n_prompt = 3, .n_tokens = 3, .n_computed = 2, .n_predicted = 5 };
    r.arrived_ns = 100;
    assert_int_equal(schedule_work_begin_by_ns(&price, &view, &r), INT64_MAX);
    r.deadline_ns = TIME_NEVER;
    assert_int_equal(schedule_work_begin_by_ns(&price, &view, &r), INT64_MAX);
    r.deadline_ns = 150;
    assert_int_equal(schedule_work_begin_by_ns(&price, &view, &r), 140);
    r.deadline_ns = 105; /* it cannot be met: not before the arrival */
    assert_int_equal(schedule_work_begin_by_ns(&price, &view, &r), 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_service_without_data_has_a_usual_request),
        cmocka_unit_test(what_is_left_is_the_sum_of_the_steps),
        cmocka_unit_test(a_prompt_costs_its_tokens_and_their_squares),
        cmocka_unit_test(it_has_to_begin_in_time_for_its_deadline),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
