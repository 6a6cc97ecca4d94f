/* The judge: scores by hand, the same on any number of threads, remembered or not. */
#include "../place/small.h"
#include "schedule/lanes.h"
#include "sim/judge.h"

static struct small small;
static struct schedule_config config;
static struct sim_options sim;

static int open_small(void **state)
{
    (void)state;
    small_open(&small, 1, 4);
    small_add(&small, 10, 30);
    small_add(&small, 20, 40);
    small_add(&small, 10, 20);
    small_measure(&small);
    schedule_config_init(&config);
    sim = (struct sim_options){ .n_lanes = 1,
                                .n_requests_max = 64,
                                .n_tokens_max = 2048,
                                .block_tokens = 16,
                                .config = &config,
                                .policy = schedule_find("fcfs") };
    return 0;
}

static int close_small(void **state)
{
    (void)state;
    small_close(&small);
    return 0;
}

static struct sim_judge *open_judge(int n_threads)
{
    return sim_judge_open(&(struct sim_judge_options){
        .problem = &small.problem, .sim = &sim, .rule = { .scale = 5 }, .n_threads = n_threads });
}

static void alone(struct place_plan *plan)
{
    place_plan_init(plan, &small.problem, &small.pile);
    for (int32_t s = 0; s < 3; s++)
        place_group_add(place_plan_add_group(plan, &small.problem, s, 1), s);
}

static void together(struct place_plan *plan)
{
    place_plan_init(plan, &small.problem, &small.pile);
    struct place_group *group = place_plan_add_group(plan, &small.problem, 0, 4);
    for (int32_t s = 0; s < 3; s++)
        place_group_add(group, s);
}

static void a_light_load_is_served_in_its_solo_time(void **state)
{
    struct place_plan plan;
    const struct place_plan *plans[] = { &plan };
    struct place_service_score services[3];
    struct place_score score = { .services = services };
    struct sim_judge *judge = open_judge(0);
    struct place_judge face = sim_judge_face(judge);
    (void)state;
    alone(&plan);
    face.score(face.self, plans, 1, &small.problem.window, &score);
    assert_int_equal(score.n_placed, 3);
    assert_int_equal(score.n_met, 3);
    assert_int_equal(score.n_devices, 3);
    assert_true(score.cost_per_hour == 6);
    assert_true(score.attainment == 1);
    assert_int_equal(services[1].n, 40);
    assert_int_equal(services[1].n_done, 40);
    assert_true(score.normalized > 0.99 && score.normalized < 2);
    assert_true(score.p99_s >= score.latency_s);
    sim_judge_close(judge);
}

static void who_is_not_placed_waits_to_the_end(void **state)
{
    struct place_plan plan;
    const struct place_plan *plans[] = { &plan };
    struct place_service_score services[3];
    struct place_score score = { .services = services };
    struct sim_judge *judge = open_judge(0);
    struct place_judge face = sim_judge_face(judge);
    (void)state;
    alone(&plan);
    plan.n_groups = 2;
    face.score(face.self, plans, 1, &small.problem.window, &score);
    assert_int_equal(score.n_placed, 2);
    assert_int_equal(score.n_met, 2);
    assert_int_equal(services[2].n_done, 0);
    assert_int_equal(services[2].n_met, 0);
    assert_true(score.attainment == 70.0 / 90.0);
    double expected = 0; /* of 60 s, each from its arrival */
    for (int32_t i = 0; i < small.problem.window.n; i++)
        if (small.requests[i].service == 2)
            expected +=
                (60 - (double)small.requests[i].arrived_ns * 1e-9) / small.services[2].solo_s;
    assert_true(services[2].normalized > expected * 0.999999 &&
                services[2].normalized < expected * 1.000001);
    sim_judge_close(judge);
}

static void threads_and_memory_change_nothing(void **state)
{
    struct place_plan plan, shared, same;
    const struct place_plan *plans[] = { &plan, &shared, &same };
    struct place_score first[3] = { { 0 } }, second[3] = { { 0 } }, single = { 0 };
    struct sim_judge *one = open_judge(1), *many = open_judge(3);
    struct place_judge a = sim_judge_face(one), b = sim_judge_face(many);
    (void)state;
    alone(&plan);
    place_plan_init(&shared, &small.problem, &small.pile);
    place_plan_cut(&shared, &small.problem, 2);
    for (int32_t s = 0; s < 3; s++)
        place_group_add(&shared.groups[s % 2], s);
    place_group_add(&shared.groups[1], 0);
    place_plan_init(&same, &small.problem, &small.pile);
    place_plan_copy(&same, &shared);
    a.score(a.self, plans, 3, &small.problem.window, first);
    b.score(b.self, plans, 3, &small.problem.window, second);
    assert_memory_equal(first, second, sizeof(first));
    assert_memory_equal(&first[1], &first[2], sizeof(first[1]));
    struct sim_judge_work work = sim_judge_work_of(one);
    a.score(a.self, &plans[1], 1, &small.problem.window, &single);
    assert_memory_equal(&first[1], &single, sizeof(single));
    struct sim_judge_work after = sim_judge_work_of(one);
    assert_int_equal(after.n_requests, work.n_requests); /* nothing was simulated */
    assert_int_equal(after.n_known, work.n_known + 1);
    assert_int_equal(work.n_parts - work.n_known, 4); /* three alone, and one of two groups */
    sim_judge_close(one);
    sim_judge_close(many);
}

static void another_window_is_another_score(void **state)
{
    struct place_plan plan;
    const struct place_plan *plans[] = { &plan };
    struct place_score whole = { 0 }, half = { 0 };
    struct sim_judge *judge = open_judge(1);
    struct place_judge face = sim_judge_face(judge);
    struct place_window window = { small.requests, small.problem.window.n / 2, (int64_t)30e9 };
    (void)state;
    alone(&plan);
    face.score(face.self, plans, 1, &small.problem.window, &whole);
    face.score(face.self, plans, 1, &window, &half);
    struct sim_judge_work work = sim_judge_work_of(judge);
    assert_int_equal(work.n_known, 0);
    assert_int_equal(work.n_requests, small.problem.window.n + window.n);
    sim_judge_close(judge);
}

/* An expected plan is simulated before its score is requested, and counts as work when it is. */
static void what_is_expected_scores_the_same(void **state)
{
    enum { N = 6 };
    struct place_plan plan, other;
    const struct place_plan *plans[] = { &plan, &other };
    struct place_window windows[N];
    const struct place_window *at[N];
    struct sim_judge *asked = open_judge(2), *told = open_judge(2);
    struct place_judge a = sim_judge_face(asked), b = sim_judge_face(told);
    (void)state;
    alone(&plan);
    together(&other);
    for (int32_t i = 0; i < N; i++) {
        int32_t n = small.problem.window.n * (i + 1) / N;
        windows[i] = (struct place_window){ small.requests, n, small.problem.window.span_ns };
        at[i] = &windows[i];
    }
    b.begin(b.self);
    a.begin(a.self);
    b.expect(b.self, plans, 2, at, N);
    assert_int_equal(b.work(b.self), 0);
    for (int32_t round = 0; round < 3; round++) {
        for (int32_t i = 0; i < N; i++) {
            struct place_score first[2] = { { 0 } }, second[2] = { { 0 } };
            int64_t n_requests = sim_judge_work_of(told).n_requests;
            a.score(a.self, plans, 2, at[i], first);
            b.score(b.self, plans, 2, at[i], second);
            assert_memory_equal(first, second, sizeof(first));
            assert_true(a.work(a.self) > 0 && a.work(a.self) == b.work(b.self));
            assert_int_equal(sim_judge_work_of(told).n_requests, n_requests);
        }
    }
    assert_int_equal(sim_judge_work_of(asked).n_requests, sim_judge_work_of(told).n_requests);
    sim_judge_close(asked);
    sim_judge_close(told);
}

/* Under a policy with shares they make another plan, and another simulation. Under one without,
 * quotas and shares change nothing. */
static void shares_and_quotas_are_judged(void **state)
{
    struct place_plan plan, parted;
    const struct place_plan *plans[] = { &plan, &parted };
    struct place_score scores[2] = { { 0 } };
    (void)state;
    for (int i = 0; i < 2; i++) {
        sim.policy = schedule_find(i == 0 ? "adbs" : "fcfs");
        struct sim_judge *judge = open_judge(1);
        struct place_judge face = sim_judge_face(judge);
        together(&plan);
        together(&parted);
        parted.groups[0].members[0].share_percent = 30;
        parted.groups[0].members[1].share_percent = 60;
        parted.groups[0].members[0].kv_bytes = INT64_C(5) << 30;
        parted.groups[0].members[1].kv_bytes = INT64_C(1) << 30;
        face.score(face.self, plans, 2, &small.problem.window, scores);
        assert_int_equal(sim_judge_work_of(judge).n_known, 0); /* they are not taken for one */
        bool is_same = scores[0].normalized >= scores[1].normalized &&
                       scores[0].normalized <= scores[1].normalized;
        assert_int_equal(is_same, i == 1);
        sim_judge_close(judge);
    }
}

/* Under a policy with lanes a division is another simulation, and more concurrent services pay:
 * thirds beat one lane. Under one without it changes nothing. */
static void divisions_are_judged(void **state)
{
    struct place_plan plans[3];
    const struct place_plan *const asked[] = { &plans[0], &plans[1], &plans[2] };
    static const int32_t halves[] = { 1, 1 };
    struct schedule_lane lanes[3];
    struct place_score scores[3] = { { 0 } };
    (void)state;
    for (int i = 0; i < 3; i++) {
        together(&plans[i]);
        plans[i].groups[0].division = i; /* the policy's, one lane, thirds */
    }
    for (int i = 0; i < 2; i++) {
        sim.policy = schedule_find(i == 0 ? "value" : "fcfs");
        sim.n_lanes = i == 0 ? schedule_lanes_of_parts(halves, 2, lanes) : 1;
        sim.lanes = i == 0 ? lanes : NULL;
        struct sim_judge *judge = open_judge(1);
        struct place_judge face = sim_judge_face(judge);
        face.score(face.self, asked, 3, &small.problem.window, scores);
        assert_int_equal(sim_judge_work_of(judge).n_known, 0); /* they are not taken for one */
        if (i == 0) {
            assert_true(scores[2].normalized < 0.99 * scores[1].normalized);
            assert_true(scores[0].normalized < 0.99 * scores[1].normalized);
        } else {
            assert_true(scores[0].normalized <= scores[1].normalized &&
                        scores[1].normalized <= scores[2].normalized &&
                        scores[2].normalized <= scores[0].normalized);
        }
        sim_judge_close(judge);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_light_load_is_served_in_its_solo_time, open_small,
                                        close_small),
        cmocka_unit_test_setup_teardown(who_is_not_placed_waits_to_the_end, open_small,
                                        close_small),
        cmocka_unit_test_setup_teardown(threads_and_memory_change_nothing, open_small, close_small),
        cmocka_unit_test_setup_teardown(shares_and_quotas_are_judged, open_small, close_small),
        cmocka_unit_test_setup_teardown(divisions_are_judged, open_small, close_small),
        cmocka_unit_test_setup_teardown(another_window_is_another_score, open_small, close_small),
        cmocka_unit_test_setup_teardown(what_is_expected_scores_the_same, open_small, close_small),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
