/* The central pools: when they fetch, which engines they give batches, which requests come back;
 * random lives. */
#include "../test.h"
#include "base/rng.h"
#include "base/time.h"
#include "route/compose.h"
#include "world.h"

static const char *const rows[] = { "pm",       "ab",      "lb",   "scls",   "fifo",
                                    "slo-odbs", "slo-dbs", "odbs", "slo-dp", "s3" };

/* No constants but a decode step of 10 ms: 128 steps are 1.27 s whatever the batch. */
static const struct perf flat = { .c3_ps = { 10000000000, 10000000000 },
                                  .prefill_scale = 1,
                                  .decode_scale = 1 };
/* A batch takes as long as its requests one after the other: cutting costs nothing. */
static const struct perf linear = { .k1_ps = 1000000000, /* 1 ms a token of prompt */
                                    .prefill_scale = 1,
                                    .decode_scale = 1 };

static struct world *open_with(const char *router, int n_engines, const struct perf *perf)
{
    struct world *w = world_new(n_engines, 1, 256);
    w->services[0].perf = *perf;
    world_open(w, router);
    return w;
}

/* Batches of other gateways count as load of their engine, and as its requests. */
static void test_others_count(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        const struct route_others others = { .n = i == 2 ? 256 : 1,
                                             .load = INT64_C(9000000000000) };
        struct world *w = open_with("scls", 2, &flat);
        w->view.now_ns = 3 * TIME_NS_PER_S;
        for (int e = 0; e < 2 && i > 0; e++) {
            w->engines[e].others = &others;
            w->engines[e].n_others = others.n;
            w->engines[e].load_others = e == 0 ? others.load : 0;
        }
        world_arrive(w, 0, 10, 10);
        assert_int_equal(world_send(w), i < 2);
        assert_int_equal(w->engine_of[0], i == 1);
        if (i < 2)
            assert_true(w->sent[0].load > 0 && w->sent[0].load < ROUTE_LOAD_MAX);
        world_close(w);
    }
}

/* Fetches come every 3 s from the first on, whether or not requests wait. */
static void test_interval(void **state)
{
    (void)state;
    struct world *w = open_with("lb", 2, &flat);
    int64_t start_ns = 10 * TIME_NS_PER_S;
    w->view.now_ns = start_ns;
    world_arrive(w, 0, 10, 10);
    world_send(w);
    assert_int_equal(w->plan.wake_ns, 12 * TIME_NS_PER_S); /* a multiple of 3 s from 0 */
    w->view.now_ns = 12 * TIME_NS_PER_S;
    assert_int_equal(world_send(w), 1);
    w->view.now_ns += TIME_NS_PER_S;
    world_arrive(w, 0, 10, 10);
    assert_int_equal(world_send(w), 0);
    assert_int_equal(w->plan.wake_ns, 15 * TIME_NS_PER_S);
    w->view.now_ns = 15 * TIME_NS_PER_S;
    assert_int_equal(world_send(w), 1);
    assert_int_equal(w->sent[0].n_lease, 128);
    assert_int_equal(w->engine_of[0], 0);
    assert_int_equal(w->engine_of[1], 1); /* engine 0 has 1.27 s to do */
    world_close(w);
}

/* scls alone waits longer the more there is to do: half of the least load, when above 3 s. */
static void test_interval_follows_the_load(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct world *w = open_with(i == 0 ? "lb" : "scls", 1, &linear);
        w->view.now_ns = 3 * TIME_NS_PER_S;
        for (int k = 0; k < 10; k++)
            world_arrive(w, 0, 1000, 10); /* 10 s of work */
        assert_int_equal(world_send(w), 10);
        w->view.now_ns += TIME_NS_PER_S;
        world_arrive(w, 0, 1000, 10);
        world_send(w);
        assert_int_equal(w->plan.wake_ns, (i == 0 ? 6 : 8) * TIME_NS_PER_S);
        world_close(w);
    }
}

/* One long batch and three short ones: in turn both engines get two, by load the long one stands
 * alone. */
static void test_offload(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct world *w = open_with(i == 0 ? "ab" : "lb", 2, &linear);
        w->config.n_batch = 1;
        w->view.now_ns = 3 * TIME_NS_PER_S;
        static const int32_t inputs[] = { 100, 110, 120, 900 };
        w->services[0].kv_bytes_per_token = 1;
        for (int e = 0; e < 2; e++)
            w->engines[e].kv_bytes = 1200; /* no request fits beside the long one */
        for (int k = 0; k < 4; k++)
            world_arrive(w, 0, inputs[k], 10);
        w->services[0].perf.c1_ps = 0;
        assert_int_equal(world_send(w), 4);
        int n_beside = 0;
        for (int k = 0; k < 3; k++)
            n_beside += w->engine_of[k] == w->engine_of[3];
        assert_true(i == 0 || n_beside == 0);
        world_close(w);
    }
}

/* Slices come home with their tokens and are held again. The load falls by the estimate, not by the
 * measured time, so that nothing is left over when all have gone. */
static void test_slices_come_back(void **state)
{
    (void)state;
    struct world *w = open_with("scls", 2, &linear);
    w->view.now_ns = 3 * TIME_NS_PER_S;
    for (int k = 0; k < 6; k++)
        world_arrive(w, 0, 100, 300);
    assert_int_equal(world_send(w), 6);
    for (int life = 0; life < 4; life++) {
        for (uint32_t k = 0; k < 6; k++) {
            if (w->is_sent[k] && life < 3) {
                w->requests[k].n_tokens += 128;
                world_return(w, k, SERVICE_LEASE_OVER);
            } else if (w->is_sent[k]) {
                world_end(w, k);
            }
        }
        w->view.now_ns += 20 * TIME_NS_PER_S;
        assert_int_equal(world_send(w), life < 3 ? 6 : 0);
    }
    assert_int_equal(w->held.n, 0);
    uint32_t slot = world_arrive(w, 0, 100, 10); /* both loads are 0 again */
    w->view.now_ns += 20 * TIME_NS_PER_S;
    assert_int_equal(world_send(w), 1);
    assert_int_equal(w->engine_of[slot], 0);
    world_close(w);
}

/* The bus takes one request of a batch now and the other when the first has ended. The batch is
 * still the same one, and when all have gone no load is left over. */
static void test_sent_in_pieces(void **state)
{
    (void)state;
    struct world *w = open_with("lb", 2, &linear);
    w->view.now_ns = 3 * TIME_NS_PER_S;
    world_arrive(w, 0, 100, 10);
    world_arrive(w, 0, 100, 10);
    world_plan(w);
    assert_int_equal(w->plan.n_choices, 2);
    struct route_choice late = w->choices[1];
    late.engine = w->choices[0].engine;
    late.cohort = w->choices[0].cohort;
    world_sent(w, &w->choices[0]);
    world_end(w, w->choices[0].slot);
    world_sent(w, &late);
    uint32_t other = world_arrive(w, 0, 500, 10);
    w->view.now_ns += 20 * TIME_NS_PER_S;
    assert_int_equal(world_send(w), 1);
    assert_int_equal(w->engine_of[other], 1); /* the late one is at work on the first */
    world_end(w, late.slot);
    world_end(w, other);
    for (int i = 0; i < 2; i++) { /* neither has a load: in turn */
        uint32_t slot = world_arrive(w, 0, 100, 10);
        w->view.now_ns += 20 * TIME_NS_PER_S;
        assert_int_equal(world_send(w), 1);
        assert_int_equal(w->engine_of[slot], i);
    }
    world_close(w);
}

static void test_caps(void **state)
{
    (void)state;
    static const char *const names[] = { "pm", "ab", "fifo" };
    for (int i = 0; i < 3; i++) {
        struct world *w = open_with(names[i], 4, &flat);
        w->view.now_ns = 3 * TIME_NS_PER_S;
        for (int k = 0; k < 36; k++)
            world_arrive(w, 0, 10, 10);
        assert_int_equal(world_send(w), 36);
        assert_int_equal(w->sent[0].n_cohort, i == 1 ? 36 : 12);
        world_close(w);
    }
    /* D-20: not one giant batch while engines are idle. */
    struct world *w = world_new(4, 1, 256);
    w->services[0].perf = flat;
    w->config.spreads_small = true;
    world_open(w, "scls");
    w->view.now_ns = 3 * TIME_NS_PER_S;
    for (int k = 0; k < 10; k++)
        world_arrive(w, 0, 10, 10);
    assert_int_equal(world_send(w), 10);
    for (int e = 0; e < 4; e++)
        assert_in_range(w->engines[e].n_sent, 1, 3);
    world_close(w);
}

/* UELLM's variants by hand: SLOs of 5 and 6 s, lengths of 100 and 200. The whole cost of both in a
 * batch is 1 (6 + 5) 2 + 1.2 (200 + 100) 2 = 22 + 720. slo-dbs has the first term, odbs the
 * second. */
static void test_uellm_weights(void **state)
{
    (void)state;
    static const struct {
        const char *router;
        double enough;
    } cases[] = { { "slo-odbs", 742 }, { "slo-dbs", 22 }, { "odbs", 720 } };
    for (int i = 0; i < 2 * (int)COUNT_OF(cases); i++) {
        struct world *w = world_new(2, 1, 256);
        w->services[0].perf = linear;
        w->config.cost = ROUTE_COST_TEXT;
        w->config.cost_max = cases[i / 2].enough - (i % 2 == 0 ? 0 : 0.5);
        world_open(w, cases[i / 2].router);
        for (int k = 0; k < 2; k++) {
            uint32_t slot = world_arrive(w, 0, 10, 100 + 100 * k);
            w->requests[slot].deadline_ns = w->view.now_ns + (5 + k) * TIME_NS_PER_S;
        }
        assert_int_equal(world_send(w), 2);
        assert_int_equal(w->sent[0].n_cohort, i % 2 == 0 ? 2 : 1);
        world_close(w);
    }
}

/* Those that compose when an engine is idle: a batch for each idle engine, the earliest deadline
 * first. The other requests wait and are composed anew. */
static void test_idle(void **state)
{
    (void)state;
    struct world *w = world_new(2, 1, 256);
    w->services[0].perf = linear;
    w->config.length_weight = 0;
    w->config.cost = ROUTE_COST_CODE;
    w->config.n_odbs_batch = 2;
    world_open(w, "slo-odbs");
    for (uint32_t k = 0; k < 6; k++) {
        uint32_t slot = world_arrive(w, 0, 10, 10);
        w->requests[slot].deadline_ns = (100 - (int64_t)k) * TIME_NS_PER_S;
    }
    assert_int_equal(world_send(w), 4);
    assert_int_equal(w->plan.wake_ns, TIME_NEVER);
    for (int k = 0; k < 6; k++)
        assert_int_equal(w->is_sent[k], k >= 2);
    assert_int_equal(w->engine_of[5], 0);
    assert_int_equal(w->engine_of[4], 0);
    assert_int_equal(w->sent[5].cohort, 1);
    assert_int_equal(w->sent[5].n_cohort, 2);
    assert_int_equal(w->sent[5].n_lease, 60); /* prediction and margin */
    world_end(w, 5);
    assert_int_equal(world_send(w), 0); /* its batch is not over */
    w->requests[4].n_tokens += 60;
    world_return(w, 4, SERVICE_LEASE_OVER); /* cut, so it comes back with its deadline */
    assert_int_equal(world_send(w), 2);
    assert_true(w->is_sent[4] && w->is_sent[1]);
    world_close(w);
}

/* S^3 reserves each its own prediction, and doubles it when it was too short. */
static void test_s3_doubles(void **state)
{
    (void)state;
    struct world *w = open_with("s3", 1, &linear);
    world_arrive(w, 0, 100, 20);
    world_send(w);
    assert_int_equal(w->sent[0].n_lease, 20);
    w->requests[0].n_tokens += 20;
    world_return(w, 0, SERVICE_LEASE_OVER);
    world_send(w);
    assert_int_equal(w->sent[0].n_lease, 20); /* 40 in all */
    w->requests[0].n_tokens += 20;
    world_return(w, 0, SERVICE_LEASE_OVER);
    world_send(w);
    assert_int_equal(w->sent[0].n_lease, 40); /* 80 in all */
    world_close(w);
}

/* ---- Max-min is LPT: within 4/3 - 1/(3 m) of the best makespan. ---- */

static int64_t best_makespan(const int64_t *times, int n, int n_engines)
{
    int64_t best = INT64_MAX;
    int n_all = 1;
    for (int i = 0; i < n; i++)
        n_all *= n_engines;
    for (int code = 0; code < n_all; code++) {
        int64_t loads[3] = { 0 }, most = 0;
        for (int i = 0, rest = code; i < n; i++, rest /= n_engines)
            loads[rest % n_engines] += times[i];
        for (int e = 0; e < n_engines; e++)
            most = max_i64(most, loads[e]);
        best = min_i64(best, most);
    }
    return best;
}

static void test_lpt_bound(void **state)
{
    (void)state;
    struct rng rng;
    rng_init(&rng, 8, 0);
    for (int round = 0; round < 100; round++) {
        int n = 2 + (int)rng_below(&rng, 6), n_engines = 2 + (int)rng_below(&rng, 2);
        struct world *w = world_new(n_engines, 1, 256);
        int64_t times[8], loads[3] = { 0 }, most = 0;
        w->services[0].perf = linear;
        w->services[0].kv_bytes_per_token = 1;
        w->config.kv_bytes = 250; /* no request fits twice beside the slice */
        w->config.block_tokens = 1;
        world_open(w, "lb");
        w->view.now_ns = 3 * TIME_NS_PER_S;
        for (int i = 0; i < n; i++) {
            int32_t l = 60 + (int32_t)rng_below(&rng, 60);
            times[i] = l;
            world_arrive(w, 0, l, 10);
        }
        assert_int_equal(world_send(w), n);
        for (int i = 0; i < n; i++) {
            assert_int_equal(w->sent[i].n_cohort, 1);
            loads[w->engine_of[i]] += times[i];
        }
        for (int e = 0; e < n_engines; e++)
            most = max_i64(most, loads[e]);
        assert_true(3 * n_engines * most <=
                    (4 * n_engines - 1) * best_makespan(times, n, n_engines));
        world_close(w);
    }
}

/* Random lives: plans are legal (world_plan asks), no request is lost, and the same seed gives the
 * same plans. At the end of each life, every request can still be sent. */
static uint64_t play(const char *router, uint64_t seed)
{
    struct world *w = world_new(5, 3, 20);
    struct rng rng;
    uint64_t sum = 0;
    rng_init(&rng, seed, 0);
    for (int s = 0; s < 3; s++) {
        w->services[s].perf = s == 0 ? flat : linear;
        w->services[s].kv_bytes_per_token = 2;
    }
    w->config.kv_bytes = 8000;
    w->engines[2].services = (struct set){ { 1 } };
    w->engines[4].services = (struct set){ { 6 } };
    world_open(w, router);
    for (int i = 0; i < 800; i++) {
        w->view.now_ns += rng_below(&rng, 500000000);
        uint32_t slot = w->n_requests > 0 ? rng_below(&rng, w->n_requests) : 0;
        uint32_t dice = rng_below(&rng, 8);
        int e = (int)rng_below(&rng, 5);
        if (dice < 3) {
            world_arrive(w, (int)rng_below(&rng, 3), 1 + (int32_t)rng_below(&rng, 900),
                         (int32_t)rng_below(&rng, 300));
        } else if (w->n_requests > 0 && w->is_sent[slot]) {
            w->requests[slot].n_tokens += (int32_t)rng_below(&rng, 100);
            if (dice < 6)
                world_end(w, slot);
            else
                world_return(w, slot, SERVICE_LEASE_OVER);
        } else if (dice == 7) {
            w->engines[e].is_open = !w->engines[e].is_open;
            world_engine(w, e);
        }
        world_send(w);
    }
    for (int e = 0; e < 5; e++) {
        w->engines[e].is_open = true;
        world_engine(w, e);
    }
    for (int i = 0; i < 400 && w->held.n > 0; i++) {
        for (uint32_t slot = 0; slot < w->n_requests; slot++)
            if (w->is_sent[slot])
                world_end(w, slot);
        w->view.now_ns += 100 * TIME_NS_PER_S;
        world_send(w);
    }
    assert_int_equal(w->held.n, 0);
    for (uint32_t i = 0; i < w->n_requests; i++)
        sum = sum * 31 + w->engine_of[i] + w->sent[i].cohort;
    world_close(w);
    return sum;
}

static void test_random_lives(void **state)
{
    (void)state;
    for (size_t row = 0; row < COUNT_OF(rows); row++) {
        for (uint64_t seed = 0; seed < 8; seed++)
            assert_true(play(rows[row], seed) == play(rows[row], seed));
    }
}

/* Keys at their extremes: the largest weights, deadlines as far away and as long over as there are,
 * predictions of a whole context. A request that does not fit is cut, and the order stays. */
static void test_keys_at_their_extremes(void **state)
{
    (void)state;
    static const char *const routers[] = { "slo-odbs", "slo-dbs", "slo-dp", "odbs" };
    for (size_t k = 0; k < COUNT_OF(routers); k++) {
        struct fault fault;
        struct world *w = world_new(1, 1, 256);
        w->services[0].perf = linear;
        w->config.n_odbs_batch = 1;
        assert_int_equal(route_config_set(&w->config, "slo_weight=1e6", &fault), STATUS_OK);
        assert_int_equal(route_config_set(&w->config, "length_weight=1e6", &fault), STATUS_OK);
        assert_int_equal(route_config_set(&w->config, "slo_weight=1000001", &fault),
                         STATUS_BAD_INPUT);
        world_open(w, routers[k]);
        w->view.now_ns = TIME_NS_PER_S;
        static const int64_t deadlines_ns[] = { INT64_MAX - 1, INT64_C(4000000000000000000),
                                                2 * TIME_NS_PER_S, -INT64_C(4000000000000000000) };
        for (int i = 0; i < 4; i++) {
            uint32_t slot = world_arrive(w, 0, 10, LIMIT_CONTEXT);
            w->requests[slot].deadline_ns = deadlines_ns[i];
        }
        int place[4], n = 0;
        while (n < 4) {
            world_plan(w);
            assert_true(w->plan.n_choices > 0);
            struct route_choice choice = w->choices[0];
            place[choice.slot] = n++;
            world_sent(w, &choice);
            world_end(w, choice.slot);
        }
        if (strcmp(routers[k], "odbs") != 0) /* that one does not look at deadlines */
            assert_true(place[2] < place[1] && place[2] < place[0]);
        if (strcmp(routers[k], "slo-dp") != 0) /* and that one puts late ones last */
            assert_true(place[3] < place[0] || strcmp(routers[k], "odbs") == 0);
        world_close(w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_interval),
        cmocka_unit_test(test_others_count),
        cmocka_unit_test(test_interval_follows_the_load),
        cmocka_unit_test(test_offload),
        cmocka_unit_test(test_slices_come_back),
        cmocka_unit_test(test_sent_in_pieces),
        cmocka_unit_test(test_caps),
        cmocka_unit_test(test_uellm_weights),
        cmocka_unit_test(test_idle),
        cmocka_unit_test(test_s3_doubles),
        cmocka_unit_test(test_keys_at_their_extremes),
        cmocka_unit_test(test_lpt_bound),
        cmocka_unit_test(test_random_lives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
