/* The state of `value`. In a loop of random requests, its sums are those of a look at all requests,
 * and late requests stand behind those in time. Flights and lanes are noted by hand. */
#include "loop.h"
#include "scene.h"
#include "test.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/time.h"
#include "schedule/value_state.h"

static double distance(double a, double b)
{
    return a > b ? a - b : b - a;
}

static int64_t n_late, n_batches;

/* The sums of the running requests, from the same moment. */
static void check_sums(const struct value_state *state, const struct schedule_view *view,
                       int service)
{
    const struct schedule_value *sums = &state->services[service].running;
    const struct schedule_service *s = &view->services[service];
    struct schedule_value all = *sums;
    all.n = 0;
    all.h = all.hg = all.hga = all.hgaa = 0;
    for (uint32_t i = 0; i < s->n_running; i++) {
        const struct schedule_rank *rank = &state->ranks.slots[s->running[i]];
        schedule_value_add(&all, rank->attained_ps, rank->arrived_ns, 1);
    }
    assert_int_equal(sums->n, all.n);
    assert_true(distance(sums->h, all.h) <= 1e-9 * (1 + all.h));
    assert_true(distance(sums->hg, all.hg) <= 1e-9 * (1 + all.hg));
    assert_true(distance(sums->hgaa, all.hgaa) <= 1e-6 * (1 + all.hgaa));
}

/* A request is late, or in time and stands in the tree; the late come last. */
static void check_waiting(const struct value_state *state, const struct schedule_view *view,
                          int service)
{
    const struct value_service *own = &state->services[service];
    uint32_t n = 0, n_in_time = 0;
    uint64_t sum = 0;
    bool was_late = false;
    uint32_t slot = schedule_ranks_first_waiting(&state->ranks, view, service);
    for (; slot != SCHEDULE_NONE; slot = schedule_ranks_next_waiting(&state->ranks, view, slot)) {
        assert_true(!was_late || state->is_late[slot]);
        was_late = state->is_late[slot];
        n_late += was_late;
        n_in_time += !was_late;
        assert_true(was_late || state->in_time_nodes[slot].key >= state->next_late_ns);
        sum += (uint64_t)view->requests[slot].arrived_ns;
        n++;
    }
    assert_int_equal(n, view->services[service].n_waiting);
    assert_int_equal(own->in_time.n, n_in_time);
    assert_true(own->waiting_ns_sum == sum);
}

static void check(struct loop *loop, const struct batch *batch, void *self)
{
    (void)batch;
    (void)self;
    for (int i = 0; i < loop->view.n_services; i++) {
        check_sums(loop->state, &loop->view, i);
        check_waiting(loop->state, &loop->view, i);
    }
    n_batches++;
}

static void the_state_is_what_a_look_finds(void **state)
{
    (void)state;
    uint64_t seed = test_seed(1);
    int64_t n_preempts = 0;
    n_late = n_batches = 0;
    for (uint64_t round = 0; round < 10; round++) {
        struct rng rng;
        struct loop loop;
        struct loop_options options = { .policy = schedule_find("value"),
                                        .n_services = 2,
                                        .unit_bytes = 1 << 12,
                                        .pool_bytes = 10 << 12,
                                        .n_requests_max = 100 };
        rng_init(&rng, seed, round);
        schedule_config_init(&options.config);
        options.config.starve_ns_min = 200 * TIME_NS_PER_MS;
        options.config.chunk_tokens = round % 2 == 0 ? 0 : 32;
        for (int i = 0; i < 2; i++)
            options.services[i] = (struct loop_service){ .perf = loop_unit_perf(TIME_NS_PER_MS),
                                                         .bytes_per_token = 64,
                                                         .solo_ns = (1 + i) * 50 * TIME_NS_PER_MS,
                                                         .rate_per_s = 1,
                                                         .n_prompt_mean = 50,
                                                         .n_output_mean = 50 };
        loop_open(&loop, &options);
        loop.on_batch = check;
        double now = 0;
        for (int i = 0; i < 100; i++) {
            now += rng_exponential(&rng) * 8;
            (void)loop_add(&loop, (int)rng_below(&rng, 2), (int64_t)(now * 1e6),
                           1 + (int32_t)rng_below(&rng, 100), 1 + (int32_t)rng_below(&rng, 100));
        }
        loop_run(&loop);
        n_preempts += loop.n_preempts;
        loop_close(&loop);
    }
    print_message("%lld batches, %lld late, %lld preempted\n", (long long)n_batches,
                  (long long)n_late, (long long)n_preempts);
    assert_true(n_batches > 1000 && n_late > 1000 && n_preempts > 10);
}

/* Two requests run on a device of three lanes: a prompt of one is computed, the other decodes. */
static void flights_are_noted(void **state)
{
    (void)state;
    static struct scene s;
    scene_draw(&s, 1);
    struct schedule_limits limits = { 1, SCENE_SLOTS, 3 };
    struct value_state *own = mem_take(schedule_value_state_bytes(&limits));
    schedule_value_state_open(own, &limits, &s.config);
    s.view.n_lanes = 3;
    s.view.now_ns = 7;
    s.services[0].running = s.slots;
    s.services[0].perf = (struct perf){ .prefill_scale = 1, .decode_scale = 1, .b_switch = 1 };
    s.kv.services[0].block_tokens = 16;
    for (uint32_t slot = 0; slot < 2; slot++) {
        s.requests[slot] = (struct request){ .n_prompt = 9, .n_tokens = 9 + (int32_t)slot };
        s.requests[slot].n_computed = slot == 0 ? 0 : 9;
        schedule_value_state_arrived(own, &s.view, slot);
        struct batch_item item = { slot, 1, 0 };
        struct batch batch = { .n_items = 1, .items = &item, .lane = (uint16_t)(1 + slot) };
        s.services[0].n_running++;
        schedule_value_state_started(own, &s.view, &batch);
        assert_int_equal(own->flights.of_prompts, 2);
        assert_int_equal(own->flights.services[0].begun_ns[slot == 0], s.view.now_ns);
        assert_int_equal(own->flights.services[0].is_decoding, slot == 1);
        s.view.now_ns++;
    }
    for (uint32_t slot = 0; slot < 2; slot++) {
        struct batch_item item = { slot, 1, 0 };
        struct batch batch = { .n_items = 1, .items = &item, .lane = (uint16_t)(1 + slot) };
        s.requests[slot].n_computed = s.requests[slot].n_tokens++;
        schedule_value_state_done(own, &s.view,
                                  &(struct schedule_event){ .what = SCHEDULE_DONE,
                                                            .now_ns = s.view.now_ns,
                                                            .batch = &batch,
                                                            .n_steps = 1,
                                                            .n_new = &(int32_t){ 1 },
                                                            .n_computed = &(int32_t){ 1 } });
        assert_int_equal(own->flights.of_prompts, 0);
        assert_int_equal(own->flights.services[0].is_decoding, slot == 0);
    }
    mem_give(own);
}

/* Half of a GPU decodes in less than twice the time of all of it, half of the cores in twice. The
 * answer stays true until an event or a change of services. */
static void lanes_pay_on_gpus(void **state)
{
    (void)state;
    static struct scene s;
    scene_draw(&s, 1);
    struct schedule_limits limits = { 1, SCENE_SLOTS, 3 };
    struct value_state *own = mem_take(schedule_value_state_bytes(&limits));
    schedule_value_state_open(own, &limits, &s.config);
    s.view.n_lanes = 3;
    s.services[0] = (struct schedule_service){ .is_open = true,
                                               .perf = { .c3_ps = { 1000000, 1000000 },
                                                         .prefill_scale = 1,
                                                         .decode_scale = 1,
                                                         .b_switch = 1 },
                                               .weights_bytes = INT64_C(13476000000) };
    s.lanes[0] = (struct schedule_lane){ 1, 6, 1 };
    s.lanes[1] = s.lanes[2] = (struct schedule_lane){ 0.5F, 1, 1 };
    assert_true(schedule_value_state_lanes_pay(own, &s.view));
    s.lanes[1].n_gpus = 0;
    assert_false(schedule_value_state_lanes_pay(own, &s.view));
    s.view.n_changes = 1;
    schedule_value_state_note(own, &s.view, 0);
    assert_false(schedule_value_state_lanes_pay(own, &s.view));
    s.lanes[1].n_gpus = 1;
    s.view.n_changes = 2;
    schedule_value_state_note(own, &s.view, 0);
    assert_true(own->pay.service == 0 && own->pay.n_changes == 2);
    assert_true(own->pay.is_worth_it && schedule_value_state_lanes_pay(own, &s.view));
    s.services[0].is_open = false;
    s.view.n_changes = 3;
    assert_false(schedule_value_state_lanes_pay(own, &s.view));
    mem_give(own);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_state_is_what_a_look_finds),
        cmocka_unit_test(flights_are_noted),
        cmocka_unit_test(lanes_pay_on_gpus),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
