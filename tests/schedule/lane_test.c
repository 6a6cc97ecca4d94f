/* Lanes: which may start, and how fast they are. And when copying a request out beats computing it
 * again. */
#include "test.h"
#include "schedule/lanes.h"

static void a_lane_is_free_when_no_busy_one_is_in_its_way(void **state)
{
    (void)state;
    bool busy[3] = { false, true, false };
    /* The whole device, and two halves that get along. */
    struct schedule_lane lanes[3] = { { 1, 6 }, { 0.5F, 1 }, { 0.5F, 1 } };
    struct schedule_view view = { .n_lanes = 3, .lanes = lanes, .lane_is_busy = busy };
    assert_false(schedule_lane_is_free(&view, 0));
    assert_false(schedule_lane_is_free(&view, 1));
    assert_true(schedule_lane_is_free(&view, 2));
    busy[1] = false;
    assert_true(schedule_lane_is_free(&view, 0));
    busy[0] = true;
    assert_false(schedule_lane_is_free(&view, 1));
    assert_false(schedule_lane_is_free(&view, 2));
}

/* Half of a GPU with LLaMA-7B: appendix A's factors, 1.64 and 1.10; half of the cores: twice. */
static void a_share_is_as_slow_as_was_measured(void **state)
{
    (void)state;
    struct schedule_service s = { .perf = { .k1_ps = 1000,
                                            .c3_ps = { 7000, 7000 },
                                            .b_switch = 64,
                                            .prefill_scale = 1,
                                            .decode_scale = 1 },
                                  .weights_bytes = INT64_C(13476000000) };
    struct schedule_lane lane = { .share = 0.5F, .n_gpus = 1 };
    struct perf_load prompt = { .n_new = 100, .n_new_squared = 10000 };
    struct perf_load decode = { .n_decodes = 1, .n_decode_context = 50 };
    struct perf perf = schedule_lane_perf(&s, &lane);
    assert_int_equal(perf_step_ps(&perf, &prompt), 164000);
    assert_int_equal(perf_step_ps(&perf, &decode), 7700);
    lane.n_gpus = 0;
    perf = schedule_lane_perf(&s, &lane);
    assert_int_equal(perf_step_ps(&perf, &prompt), 200000);
    assert_int_equal(perf_step_ps(&perf, &decode), 14000);
    lane.share = 1;
    perf = schedule_lane_perf(&s, &lane);
    assert_int_equal(perf_step_ps(&perf, &prompt), 100000);
}

/* 1000 tokens of 1000 bytes go out and back at 1 GB/s in 2 ms: worth it when computing them takes
 * longer, and when the host has room. */
static void swapping_pays_when_computing_again_takes_longer(void **state)
{
    (void)state;
    struct request r = { .n_computed = 1000, .n_tokens = 1001 };
    struct schedule_service s = { .perf = { .k1_ps = 2100000, .prefill_scale = 1 },
                                  .kv_bytes_per_token = 1000 };
    struct schedule_view view = {
        .requests = &r, .services = &s, .swap_bytes_free = 1000000, .swap_bytes_per_s = 1000000000
    };
    assert_true(schedule_swap_pays(&view, 0)); /* 2.1 ms */
    s.perf.k1_ps = 1900000;
    assert_false(schedule_swap_pays(&view, 0));
    s.perf.k1_ps = 2100000;
    view.swap_bytes_free = 999999;
    assert_false(schedule_swap_pays(&view, 0));
    view.swap_bytes_free = 1000000;
    view.swap_bytes_per_s = 0;
    assert_false(schedule_swap_pays(&view, 0));
}

/* Shares of 40, 90 and 40: lanes of their own, and one of 80 that fits beside 40. */
static void shares_become_lanes(void **state)
{
    static const int32_t shares[] = { 40, 0, 90, 100, 40 }, none[] = { 0, 100 };
    struct schedule_lane lanes[LIMIT_LANES];
    (void)state;
    assert_int_equal(schedule_lanes_of_shares(none, 2, lanes), 0);
    assert_int_equal(schedule_lanes_of_shares(shares, 5, lanes), 5);
    assert_true(lanes[0].share >= 1 && lanes[1].share < 0.41F && lanes[2].share > 0.89F);
    assert_true(lanes[4].share > 0.79F && lanes[4].share < 0.81F);
    assert_int_equal(lanes[0].conflicts, 30);
    assert_int_equal(lanes[1].conflicts, 1 | 4); /* 130 points with the large one */
    assert_int_equal(lanes[2].conflicts, 1 | 2 | 8 | 16);
    assert_int_equal(lanes[4].conflicts, 1 | 4);
    static const int32_t many[] = { 30, 30, 30, 30, 30, 30, 30, 30, 30 };
    assert_int_equal(schedule_lanes_of_shares(many, 9, lanes), LIMIT_LANES);
}

static void parts_are_in_proportion_beside_the_whole(void **state)
{
    (void)state;
    static const int32_t parts[] = { 3, 2, 1 };
    struct schedule_lane lanes[LIMIT_LANES];
    assert_int_equal(schedule_lanes_of_parts(parts, 3, lanes), 4);
    assert_true(lanes[0].share >= 1 && lanes[0].conflicts == 0xE);
    for (int i = 0; i < 3; i++) {
        assert_int_equal((int)(lanes[i + 1].share * 600 + 0.5F), 100 * parts[i]);
        assert_int_equal(lanes[i + 1].conflicts, 1);
    }
    assert_int_equal(schedule_lanes_of_parts(parts, 0, lanes), 1);
    assert_int_equal(lanes[0].conflicts, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lane_is_free_when_no_busy_one_is_in_its_way),
        cmocka_unit_test(shares_become_lanes),
        cmocka_unit_test(a_share_is_as_slow_as_was_measured),
        cmocka_unit_test(parts_are_in_proportion_beside_the_whole),
        cmocka_unit_test(swapping_pays_when_computing_again_takes_longer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
