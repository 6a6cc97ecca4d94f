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
    add_event(&c, 20, 0, false); /* in the map: 0 and 1 become 1 and 2 */
    add_event(&c, 40, 3, false); /* not in it */
    add_event(&c, 60, 0, true);
    add_event(&c, 61, 1, false); /* while the map with it loads */
    add_event(&c, 90, 2, false); /* one device is too small for all layers: down */
    add_event(&c, 100, 1, true);
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

static void test_the_same_with_and_without_holds_and_threads(void **state)
{
    struct small_chain c;
    (void)state;
    open_small(&c);
    add_event(&c, 20, 0, false);
    add_event(&c, 60, 0, true);
    struct sim_report held = run(&c);
    c.options.n_threads = 4;
    struct sim_report threads = run(&c);
    c.config.n_rounds_max = 1;
    struct sim_report stepped = run(&c);
    assert_int_equal(held.chains.n_maps, 2);
    assert_true(held.hash == threads.hash && held.hash == stepped.hash);
    assert_true(held.n_steps < stepped.n_steps);
    assert_memory_equal(&held.chains, &threads.chains, sizeof(held.chains));
    assert_memory_equal(&held.chains, &stepped.chains, sizeof(held.chains));
    sim_report_free(&held);
    sim_report_free(&threads);
    sim_report_free(&stepped);
}

static void test_a_chain_that_stays_waits(void **state)
{
    struct small_chain c;
    (void)state;
    open_small(&c);
    add_event(&c, 20, 0, false);
    add_event(&c, 100, 0, true);
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
        add_event(&c, 30, d, false);
    struct sim_report report = run(&c);
    int64_t n = report.services[0].n_ended[SERVICE_LENGTH];
    assert_true(n > 0 && n < 300); /* the others are told of as unfinished, not lost */
    assert_int_equal(report.chains.n_none, 1);
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
        cmocka_unit_test(test_the_same_with_and_without_holds_and_threads),
        cmocka_unit_test(test_a_chain_that_stays_waits),
        cmocka_unit_test(test_a_chain_that_never_comes_back),
        cmocka_unit_test(test_kv_asks_for_another_map),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
