/* Chains in a simulation: nothing is lost while devices leave and join. */
#include "small_chain.h"

#include "place/watch.h"

static struct sim_report run(const struct small_chain *c)
{
    struct sim_report report;
    sim_run(&c->options, &report);
    if (report.wrong != NULL)
        fail_msg("%s", report.wrong);
    return report;
}

static void test_nothing_is_lost(void **state)
{
    struct small_chain c;
    (void)state;
    open_small(&c);
    add_event(&c, 20, 0, SIM_CHAIN_LEAVES); /* in the map: 0 and 1 become 1 and 2 */
    add_event(&c, 40, 3, SIM_CHAIN_LEAVES); /* not in it */
    add_event(&c, 60, 0, SIM_CHAIN_JOINS);
    add_event(&c, 61, 1, SIM_CHAIN_LEAVES); /* while the map with it loads */
    add_event(&c, 90, 2, SIM_CHAIN_LEAVES); /* one device is too small for all layers: down */
    add_event(&c, 100, 1, SIM_CHAIN_JOINS);
    struct sim_report report = run(&c);
    const struct sim_chains_report *r = &report.chains;
    printf("%lld maps, %lld returned, %.1f s away, %lld MiB loaded, end %.1f s\n",
           (long long)r->n_maps, (long long)r->n_returned, (double)r->away_ns * 1e-9,
           (long long)(r->loaded_bytes / MIB), (double)report.end_ns * 1e-9);
    assert_int_equal(report.services[0].n_ended[SERVICE_LENGTH], 300);
    assert_int_equal(r->n_reruns[WATCH_LEFT], 4);
    assert_int_equal(r->n_reruns[WATCH_JOINED], 2);
    assert_int_equal(r->n_same, 1);
    assert_int_equal(r->n_none, 1);
    assert_int_equal(r->n_maps, 4);
    assert_true(r->n_returned > 0);
    /* Four layers at 100 MB/s and settling, 5.2 s: of 1 and 2; of 0 and 1, begun at 60 s and again
     * of 0 and 2 at 61 s; none from 90 s, and of 0 and 1 at 100 s. Steps that run end first. */
    int64_t load_ns = S + (int64_t)(400.0 * (double)MIB / 100e6 * 1e9);
    int64_t least_ns = load_ns + (S + load_ns) + (10 * S + load_ns);
    assert_true(r->away_ns >= least_ns && r->away_ns < least_ns + S / 2);
    sim_report_free(&report);
}

static void test_the_same_with_and_without_holds(void **state)
{
    struct small_chain c;
    (void)state;
    open_small(&c);
    add_event(&c, 20, 0, SIM_CHAIN_LEAVES);
    add_event(&c, 60, 0, SIM_CHAIN_JOINS);
    struct sim_report held = run(&c);
    c.config.n_rounds_max = 1;
    struct sim_report stepped = run(&c);
    assert_int_equal(held.chains.n_maps, 2);
    assert_true(held.hash == stepped.hash);
    assert_true(held.n_steps < stepped.n_steps);
    assert_memory_equal(&held.chains, &stepped.chains, sizeof(held.chains));
    sim_report_free(&held);
    sim_report_free(&stepped);
}

/* ---- Crashes. ---- */

static void keep(void *self, const struct record *record)
{
    *(struct record *)self = *record;
}

/* One request, whose chain loses a device in the middle of a decode. */
static void test_a_crash_by_hand(void **state)
{
    struct small_chain c;
    struct record record;
    (void)state;
    open_small(&c);
    c.workload.n_requests = 1;
    c.options.take = keep;
    c.options.take_self = &record;
    struct sim_report plain = run(&c);
    int64_t n_prompt = record.n_prompt, n = record.n_output, begin_ns = record.arrived_ns;
    sim_report_free(&plain);
    /* Devices 0 and 1 have four layers each: 4 + 8 ms, links of 25 us and 2 us a token handed on.
     * Then 1 and 2: 8 + 12 ms and the same links. */
    int64_t prompt_ns = 12025000 + 2000 * n_prompt, decode_ns = 12027000;
    assert_int_equal(record.end_ns - begin_ns, prompt_ns + (n - 1) * decode_ns);
    /* Ten tokens are there, the eleventh is half done. */
    int64_t crash_ns = begin_ns + prompt_ns + 9 * decode_ns + decode_ns / 2;
    c.events[c.chain.n_events++] = (struct sim_chain_event){ crash_ns, 0, SIM_CHAIN_CRASHES };
    struct sim_report report = run(&c);
    int64_t load_ns = S + (int64_t)(400.0 * (double)MIB / 100e6 * 1e9);
    int64_t again_ns = 20025000 + 2000 * (n_prompt + 10);
    assert_int_equal(record.end_ns, crash_ns + load_ns + again_ns + (n - 11) * (int64_t)20027000);
    assert_int_equal(report.chains.n_crashes, 1);
    assert_int_equal(report.chains.n_crashed, 1);
    assert_int_equal(report.chains.n_returned, 1);
    assert_int_equal(report.chains.away_ns, load_ns);
    sim_report_free(&report);
}

static void test_crashes_lose_nobody(void **state)
{
    struct small_chain c;
    (void)state;
    open_small(&c);
    add_event(&c, 20, 0, SIM_CHAIN_CRASHES); /* in the map: 0 and 1 become 1 and 2 */
    add_event(&c, 40, 3, SIM_CHAIN_CRASHES); /* not in it */
    add_event(&c, 60, 0, SIM_CHAIN_JOINS);
    add_event(&c, 61, 1, SIM_CHAIN_CRASHES); /* while the map with it loads */
    add_event(&c, 90, 2, SIM_CHAIN_CRASHES); /* down */
    add_event(&c, 100, 1, SIM_CHAIN_JOINS);
    add_event(&c, 120, 1, SIM_CHAIN_CRASHES); /* down, and at the same instant it is back, empty */
    add_event(&c, 120, 1, SIM_CHAIN_JOINS);
    struct sim_report report = run(&c);
    const struct sim_chains_report *r = &report.chains;
    assert_int_equal(report.services[0].n_ended[SERVICE_LENGTH], 300);
    assert_int_equal(r->n_reruns[WATCH_LEFT], 5);
    assert_int_equal(r->n_maps, 5);
    assert_int_equal(r->n_crashes, 4);
    assert_true(r->n_crashed > 0 && r->n_crashed <= r->n_returned);
    sim_report_free(&report);
}

static void test_crashes_with_and_without_holds(void **state)
{
    int64_t n_crashed = 0;
    (void)state;
    for (int i = 0; i < 40; i++) { /* at every phase of a step, and at its very end */
        struct small_chain c;
        open_small(&c);
        c.workload.n_requests = 40;
        int64_t at_ns = 3 * S + i * S / 7 + i * 100003;
        c.events[0] = (struct sim_chain_event){ at_ns, 1, SIM_CHAIN_CRASHES };
        c.events[1] = (struct sim_chain_event){ at_ns + 9 * S, 1, SIM_CHAIN_JOINS };
        c.chain.n_events = 2;
        c.chain.stays = i % 2 == 1;
        struct sim_report held = run(&c);
        c.config.n_rounds_max = 1;
        struct sim_report stepped = run(&c);
        assert_true(held.hash == stepped.hash && held.n_rounds == stepped.n_rounds);
        assert_true(held.busy_ns == stepped.busy_ns);
        assert_memory_equal(&held.chains, &stepped.chains, sizeof(held.chains));
        n_crashed += held.chains.n_crashed;
        sim_report_free(&held);
        sim_report_free(&stepped);
    }
    assert_true(n_crashed > 40);
}

/* ---- Several batches under way. ---- */

/* Four equal devices of two layers each; a decode takes 1 ms a layer and 0.5 ms for each of its
 * requests, which all come at once. */
static void open_even(struct small_chain *c, int32_t n_requests)
{
    open_small(c);
    for (int d = 0; d < DEVICES; d++) {
        c->devices[d] = c->devices[0];
        c->devices[d].perf.c2_ps[0] = c->devices[d].perf.c2_ps[1] = 4 * PS_PER_MS;
        c->devices[d].memory_bytes = 250 * MIB;
    }
    for (int i = 0; i < DEVICES * DEVICES; i++)
        c->at[i].latency_ns = 10000;
    c->workload.n_requests = (uint64_t)n_requests;
    c->workload.services[0].rate_per_s = 1e6;
    c->workload.services[0].output = (struct workload_lengths){ 6.0, 0, 1, 500 };
    c->options.n_tokens_max = 2048;
}

static void test_an_even_pipeline_is_as_fast_as_its_stages(void **state)
{
    struct small_chain c;
    (void)state;
    for (int n = 4; n <= 32; n *= 2) {
        open_even(&c, n);
        struct sim_report report = run(&c);
        int32_t n_each = n / DEVICES; /* requests of a batch */
        int64_t n_tokens = report.services[0].n_tokens / n;
        /* Two layers and the link; every batch has passed when all four parts have been free for
         * it. */
        int64_t stage_ps = 2 * PS_PER_MS + n_each * PS_PER_MS + (10 + n_each) * 1000000;
        int64_t wanted_ns = n_tokens * DEVICES * stage_ps / 1000;
        assert_true(n_tokens > 350 && n_tokens < 450);
        assert_int_equal(report.services[0].n_ended[SERVICE_LENGTH], n);
        /* Prompts come first, and are no decodes. */
        assert_true(report.end_ns > wanted_ns - wanted_ns / 100);
        assert_true(report.end_ns < wanted_ns + wanted_ns / 50);
        assert_true(report.busy_ns <= report.end_ns);
        sim_report_free(&report);
    }
}

static void test_a_pipeline_waits_for_blocks(void **state)
{
    (void)state;
    for (int n_tokens = 1100; n_tokens < 3000; n_tokens += 171) {
        struct small_chain c;
        open_even(&c, 40);
        c.chain.n_context = 250;
        for (int d = 0; d < DEVICES; d++)
            c.devices[d].memory_bytes = 200 * MIB + n_tokens * 2 * 800;
        struct sim_report held = run(&c);
        c.config.n_rounds_max = 1;
        struct sim_report stepped = run(&c);
        assert_int_equal(held.services[0].n_ended[SERVICE_LENGTH], 40);
        assert_true(held.hash == stepped.hash && held.busy_ns == stepped.busy_ns);
        sim_report_free(&held);
        sim_report_free(&stepped);
    }
}

static const struct schedule_lane halves[] = { { .share = 1, .conflicts = 6, .n_gpus = 1 },
                                               { .share = 0.5F, .conflicts = 1, .n_gpus = 1 },
                                               { .share = 0.5F, .conflicts = 1, .n_gpus = 1 } };

/* Whoever plans, on all of the devices or on halves too: nothing is lost, and holds change nothing,
 * while devices come and go. */
static void test_pipelines_of_all_policies(void **state)
{
    int n;
    const struct schedule_policy *const *policies = schedule_all(&n);
    (void)state;
    for (int i = 0; i < 3 * n; i++) {
        struct small_chain c;
        open_small(&c);
        c.options.policy = policies[i / 3];
        if (c.options.policy->n_lanes_wanted > 0) {
            c.options.lanes = halves;
            c.options.n_lanes = 3;
            c.config.chunk_tokens = 128;
        }
        c.workload.services[0].rate_per_s = i % 3 == 0 ? 0.5 : i % 3 == 1 ? 4 : 40;
        for (int d = 0; d < DEVICES; d++)
            c.devices[d].memory_bytes = (i % 3 + 2) * 100 * MIB + 50 * MIB;
        add_event(&c, 15, 0, SIM_CHAIN_LEAVES);
        add_event(&c, 40, 0, SIM_CHAIN_JOINS);
        add_event(&c, 60, 2, SIM_CHAIN_CRASHES);
        add_event(&c, 80, 2, SIM_CHAIN_JOINS);
        struct sim_report held = run(&c);
        c.config.n_rounds_max = 1;
        struct sim_report stepped = run(&c);
        if (held.hash != stepped.hash)
            fail_msg("%s with other holds: another report", c.options.policy->name);
        assert_int_equal(held.services[0].n_ended[SERVICE_LENGTH], 300);
        assert_int_equal(held.n_rounds, stepped.n_rounds);
        assert_true(held.busy_ns == stepped.busy_ns);
        assert_memory_equal(&held.chains, &stepped.chains, sizeof(held.chains));
        sim_report_free(&held);
        sim_report_free(&stepped);
    }
}

static void add_time(void *self, const struct record *record)
{
    *(int64_t *)self += record->end_ns - record->arrived_ns;
}

/* Prompts of some 300 ms come to a chain whose decode steps take 12 ms: seven in ten seconds, or
 * ten in one. On halves of the devices no decode waits for a prompt; too many prompts have them
 * all. */
static void test_prompts_beside_decodes(void **state)
{
    (void)state;
    for (int is_heavy = 0; is_heavy < 2; is_heavy++) {
        int64_t sums_ns[2] = { 0, 0 };
        for (int has_halves = 0; has_halves < 2; has_halves++) {
            struct small_chain c;
            open_small(&c);
            for (int d = 0; d < DEVICES; d++)
                c.devices[d].perf.k1_ps = c.devices[d].perf.c1_ps / 4;
            c.options.policy = schedule_find("value");
            c.options.lanes = halves;
            c.options.n_lanes = has_halves ? 3 : 1;
            c.config.chunk_tokens = 2048;
            c.workload.services[0].rate_per_s = is_heavy ? 10 : 0.7;
            c.workload.services[0].output = (struct workload_lengths){ 5.0, 0.3, 1, 400 };
            c.options.take = add_time;
            c.options.take_self = &sums_ns[has_halves];
            struct sim_report report = run(&c);
            assert_int_equal(report.services[0].n_ended[SERVICE_LENGTH], 300);
            sim_report_free(&report);
        }
        print_message("%s: %.2f s each, on halves too %.2f s\n", is_heavy ? "heavy" : "light",
                      (double)sums_ns[0] / 300e9, (double)sums_ns[1] / 300e9);
        assert_true(sums_ns[1] < (is_heavy ? sums_ns[0] * 11 / 10 : sums_ns[0] * 19 / 20));
    }
}

static void test_a_chain_that_stays_waits(void **state)
{
    struct small_chain c;
    (void)state;
    open_small(&c);
    add_event(&c, 20, 0, SIM_CHAIN_LEAVES);
    add_event(&c, 100, 0, SIM_CHAIN_JOINS);
    struct sim_report anew = run(&c);
    c.chain.stays = true;
    struct sim_report stayed = run(&c);
    assert_int_equal(stayed.services[0].n_ended[SERVICE_LENGTH], 300);
    assert_int_equal(stayed.chains.n_maps, 1); /* the same, when the device is back */
    assert_true(stayed.chains.away_ns > 80 * S && anew.chains.away_ns < 12 * S);
    assert_true(stayed.services[0].e2e_s > 2 * anew.services[0].e2e_s);
    sim_report_free(&anew);
    sim_report_free(&stayed);
}

static void test_a_chain_that_never_comes_back(void **state)
{
    struct small_chain c;
    (void)state;
    open_small(&c);
    for (int d = 0; d < 3; d++)
        add_event(&c, 30, d, SIM_CHAIN_LEAVES);
    struct sim_report report = run(&c);
    int64_t n = report.services[0].n_ended[SERVICE_LENGTH];
    assert_true(n > 0 && n < 300); /* the others are told of as unfinished, not lost */
    assert_int_equal(report.chains.n_none, 1);
    sim_report_free(&report);
}

/* A faster device comes back: with a queue the chain moves to it, and is better off; where hardly
 * anybody comes, or loading takes too long, it stays with the map that it has. */
static void test_a_move_is_weighed(void **state)
{
    static const struct {
        double rate_per_s, host_bytes_per_s;
        uint64_t n_requests;
        bool moves;
    } cases[] = { { 4, 100e6, 600, true }, { 0.05, 20e6, 10, false }, { 4, 1e6, 600, false } };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct small_chain c;
        open_small(&c);
        c.workload.services[0].rate_per_s = cases[i].rate_per_s;
        c.workload.n_requests = cases[i].n_requests;
        c.chain.host_bytes_per_s = cases[i].host_bytes_per_s;
        add_event(&c, 60, 0, SIM_CHAIN_JOINS); /* it was not there: 1 and 2 have the layers */
        struct sim_report report = run(&c);
        const struct sim_chains_report *r = &report.chains;
        assert_int_equal(report.services[0].n_ended[SERVICE_LENGTH], cases[i].n_requests);
        assert_int_equal(r->n_reruns[WATCH_JOINED], 1);
        assert_int_equal(r->n_maps, cases[i].moves);
        assert_int_equal(r->n_maps + r->n_kept, 1 + r->n_reruns[WATCH_NOTHING]);
        assert_true(cases[i].moves || (r->away_ns == 0 && r->loaded_bytes == 0));
        assert_true(cases[i].moves || r->n_reruns[WATCH_NOTHING] > 0); /* and it is asked again */
        c.chain.n_events = 0; /* with device 0 from the beginning: what it would be like */
        struct sim_report there = run(&c);
        assert_true(there.services[0].e2e_s < report.services[0].e2e_s);
        sim_report_free(&there);
        sim_report_free(&report);
    }
}

/* A queue that grows later is worth the move that was not when the device came. */
static void test_it_is_weighed_again(void **state)
{
    struct small_chain c;
    (void)state;
    open_small(&c);
    c.workload.services[0].rate_per_s = 4;
    c.workload.n_requests = 900;
    add_event(&c, 1, 0, SIM_CHAIN_JOINS); /* nobody was there yet to say what comes */
    struct sim_report report = run(&c);
    assert_int_equal(report.chains.n_kept, 1);
    assert_int_equal(report.chains.n_maps, 1);
    assert_int_equal(report.chains.n_reruns[WATCH_NOTHING], 1);
    sim_report_free(&report);
}

static void test_kv_asks_for_another_map(void **state)
{
    struct small_chain c;
    (void)state;
    open_small(&c);
    c.chain.aim = LAYERS_HE;
    for (int d = 0; d < DEVICES; d++) /* 2 devices have room for 4,000 tokens, 3 for more */
        c.devices[d].memory_bytes = 400 * MIB + 4 * 800 * 4100;
    c.workload.services[0].rate_per_s = 30;
    c.workload.n_requests = 3000;
    struct sim_report report = run(&c);
    assert_true(report.chains.n_reruns[WATCH_KV] > 0);
    assert_true(report.chains.n_maps > 0);
    assert_int_equal(report.services[0].n_ended[SERVICE_LENGTH], 3000);
    sim_report_free(&report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_is_lost),
        cmocka_unit_test(test_the_same_with_and_without_holds),
        cmocka_unit_test(test_a_crash_by_hand),
        cmocka_unit_test(test_crashes_lose_nobody),
        cmocka_unit_test(test_crashes_with_and_without_holds),
        cmocka_unit_test(test_an_even_pipeline_is_as_fast_as_its_stages),
        cmocka_unit_test(test_a_pipeline_waits_for_blocks),
        cmocka_unit_test(test_pipelines_of_all_policies),
        cmocka_unit_test(test_prompts_beside_decodes),
        cmocka_unit_test(test_a_chain_that_stays_waits),
        cmocka_unit_test(test_a_chain_that_never_comes_back),
        cmocka_unit_test(test_a_move_is_weighed),
        cmocka_unit_test(test_it_is_weighed_again),
        cmocka_unit_test(test_kv_asks_for_another_map),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
