/* Value: its parts, its growth with time, and which models keep room for which. */
#include "test.h"
#include "base/num.h"
#include "base/rng.h"
#include "base/time.h"
#include "schedule/value.h"
#include <float.h>

#define PS_PER_MS INT64_C(1000000000)

struct desk { /* two services and their pool */
    struct schedule_config config;
    struct schedule_service services[2];
    struct kv_budget kv;
    struct schedule_view view;
};

static void open_desk(struct desk *desk)
{
    *desk = (struct desk){ .kv = { .n_services = 2, .n_units_free = 1000, .n_units_open = 1000 } };
    schedule_config_init(&desk->config);
    desk->config.value_age = 0.1;
    for (int i = 0; i < 2; i++) {
        desk->kv.services[i] = (struct kv_budget_service){ .block_tokens = 16,
                                                           .blocks_per_unit = 1,
                                                           .n_units_max = 1000 };
        desk->services[i] = (struct schedule_service){ .is_open = true,
                                                       .solo_ns = TIME_NS_PER_S,
                                                       .rate_per_s = 1,
                                                       .n_prompt_mean = 100,
                                                       .n_output_mean = 100,
                                                       .kv_bytes_per_token = 1000 };
    }
    desk->view = (struct schedule_view){ .n_services = 2, .services = desk->services };
    desk->view.kv = &desk->kv;
}

static double distance(double a, double b)
{
    return a > b ? a - b : b - a;
}

/* The sums of the service as it is now, with no request running. */
static struct schedule_value look(const struct desk *desk, int service)
{
    struct schedule_value sums;
    schedule_value_open(&sums, &desk->config);
    schedule_value_look(&sums, &desk->config, &desk->services[service], 0);
    return sums;
}

static double lightest_of(const struct schedule_view *view)
{
    const struct schedule_value_weights none = { .n_changes = 0 };
    return schedule_value_lightest(&none, view);
}

static double index_of(const struct desk *desk, int service, const struct schedule_value *sums)
{
    struct schedule_value_here here = { .lightest = lightest_of(&desk->view) };
    return schedule_value_index(&desk->config, &desk->view, service, sums, -1, &here);
}

/* By hand: L-hat is 1 s, half of it is done, and the request has been here for 2 s. So x = 0.5,
 * h = 1 / sqrt(0.5), slow = 4, at which half of what slowness can add is added. */
static void one_request_by_hand(void **state)
{
    (void)state;
    struct desk desk;
    open_desk(&desk);
    struct schedule_value sums = look(&desk, 0);
    schedule_value_add(&sums, 500 * PS_PER_MS, -2 * TIME_NS_PER_S, 1);
    assert_true(distance(index_of(&desk, 0, &sums), 13.5 / num_sqrt(0.5)) < 1e-9);
    desk.services[0].solo_ns = 4 * TIME_NS_PER_S; /* divides by 4 sqrt 4 */
    desk.services[0].rate_per_s = 9;              /* and by sqrt 9 */
    sums = look(&desk, 0);
    schedule_value_add(&sums, 2000 * PS_PER_MS, -8 * TIME_NS_PER_S, 1);
    assert_true(distance(index_of(&desk, 0, &sums), 13.5 / num_sqrt(0.5) / 24) < 1e-9);
    /* Six of twelve here: half of the way to L-hat^2, a quarter of the rate's part left. */
    double few = schedule_value_few(&desk.config, 12, 0);
    assert_true(few == 0.5);
    struct schedule_value_here here = { .few = few, .lightest = DBL_MAX };
    double half = schedule_value_index(&desk.config, &desk.view, 0, &sums, -1, &here);
    assert_true(distance(half, 13.5 / num_sqrt(0.5) / (num_pow(4, 1.75) * num_pow(9, 0.25))) <
                1e-9);
    assert_true(schedule_value_few(&desk.config, 6, 0) == 1);
}

/* However late a request is, slowness gives at most the factor 1 + value_cap^2, for running and
 * waiting requests alike. */
static void slowness_adds_so_much_at_most(void **state)
{
    (void)state;
    struct desk desk;
    open_desk(&desk);
    struct schedule_value sums = look(&desk, 0), none = sums;
    schedule_value_add(&sums, 500 * PS_PER_MS, -36000 * TIME_NS_PER_S, 1);
    assert_true(distance(index_of(&desk, 0, &sums), 26 / num_sqrt(0.5)) < 1e-6);
    desk.config.value_cap = 0;
    assert_true(distance(index_of(&desk, 0, &sums), 1 / num_sqrt(0.5)) < 1e-9);
    desk.config.value_cap = 5;
    desk.services[0].n_waiting = 1;
    int64_t waited_ns = 36000 * TIME_NS_PER_S;
    struct schedule_value_here here = { .lightest = lightest_of(&desk.view) };
    double waits = schedule_value_index(&desk.config, &desk.view, 0, &none, waited_ns, &here);
    assert_true(distance(waits, 26 / num_sqrt(0.1)) < 1e-6);
}

/* A request that has done less than young counts as if it had done that. */
static void the_young_are_alike(void **state)
{
    (void)state;
    struct desk desk;
    open_desk(&desk);
    struct schedule_value fresh = look(&desk, 0), begun = fresh;
    schedule_value_add(&fresh, 0, -TIME_NS_PER_S, 1);
    schedule_value_add(&begun, 99 * PS_PER_MS, -TIME_NS_PER_S, 1);
    assert_true(distance(index_of(&desk, 0, &fresh), index_of(&desk, 0, &begun)) < 1e-9);
}

/* Young becomes the work that a fifth of the requests stay below: 0.4 where the works are even
 * between 0 and 2. When they change, it follows them. */
static void young_is_learned(void **state)
{
    (void)state;
    struct desk desk;
    struct rng rng;
    open_desk(&desk);
    struct schedule_value sums = look(&desk, 0);
    rng_init(&rng, test_seed(3), 0);
    for (int round = 1; round <= 2; round++) {
        double mean = 0;
        for (int i = 0; i < 4000; i++) {
            schedule_value_ended(&sums, &desk.config,
                                 (int64_t)rng_below(&rng, 2000) * round * PS_PER_MS);
            mean += i < 2000 ? 0 : sums.young / 2000;
        }
        assert_true(distance(mean, 0.4 * round) < 0.1 * round);
    }
    for (int i = 0; i < 1000; i++)
        schedule_value_ended(&sums, &desk.config, 0);
    assert_true(sums.young > 0 && sums.young < 0.01);
    for (int i = 0; i < 1000; i++)
        schedule_value_ended(&sums, &desk.config, INT64_MAX);
    assert_true(sums.young == 1);
}

/* A step takes a + b k. */
static struct perf line(int64_t a_ps, int64_t b_ps)
{
    return (struct perf){ .c3_ps = { a_ps, a_ps },
                          .c2_ps = { b_ps, b_ps },
                          .b_switch = 64,
                          .prefill_scale = 1,
                          .decode_scale = 1 };
}

/* A step of 16 takes 16 times a step of one. So neither slowness nor the rate nor the work done
 * counts, but L-hat does, squared, and two requests are worth no more a step than one. */
static void where_batches_do_not_pay(void **state)
{
    (void)state;
    struct desk desk;
    open_desk(&desk);
    desk.services[0].solo_ns = 4 * TIME_NS_PER_S;
    desk.services[0].rate_per_s = 9;
    desk.services[0].perf = line(0, 1000000000);
    struct schedule_value sums = look(&desk, 0);
    double few = schedule_value_few(&desk.config, 12, sums.little);
    assert_true(distance(few, 1) < 1e-9);
    struct schedule_value_here here = { .few = few };
    for (int n = 1; n <= 2; n++) {
        schedule_value_add(&sums, 2000 * n * PS_PER_MS, -9 * TIME_NS_PER_S, 1);
        double index = schedule_value_index(&desk.config, &desk.view, 0, &sums, -1, &here);
        assert_true(distance(index, 1.0 / 16) < 1e-9);
    }
}

/* A step of 16 takes 1, 1.15, 1.9, 2.5 and 14.5 times a step of one: slowness adds only a part of
 * its most, here `part`. */
static void slowness_counts_where_batches_cost_little(void **state)
{
    (void)state;
    static const struct {
        int64_t b; /* of a step of one with 1000 */
        double part;
    } cases[] = { { 0, 1 }, { 10, 0.9775 }, { 60, 0.19 }, { 100, 0 }, { 900, 0 } };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct desk desk;
        open_desk(&desk);
        desk.services[0].perf = line((1000 - cases[i].b) * 1000000, cases[i].b * 1000000);
        struct schedule_value sums = look(&desk, 0);
        assert_true(distance(sums.slow_part, cases[i].part) < 1e-9);
        schedule_value_add(&sums, 1000 * PS_PER_MS, -36000 * TIME_NS_PER_S, 1);
        double late = index_of(&desk, 0, &sums);
        desk.config.value_cap = 0;
        assert_true(distance(late, index_of(&desk, 0, &sums) * (1 + 25 * cases[i].part)) < 1e-6);
    }
}

/* The greedy rule holds from where a step of 16 takes three times a step of one, as soon as 8
 * requests have ended. */
static void the_greedy_rule_needs_to_know_its_model(void **state)
{
    (void)state;
    static const struct {
        int64_t b; /* of a step of one with 1000 */
        double before, after;
    } cases[] = { { 10, 0.02, 0.02 }, { 130, 0.26, 0.26 }, { 140, 0.28, 1 }, { 900, 1, 1 } };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct desk desk;
        open_desk(&desk);
        desk.services[0].perf = line((1000 - cases[i].b) * 1000000, cases[i].b * 1000000);
        struct schedule_value sums = look(&desk, 0);
        for (int n = 0; n < 8; n++) {
            schedule_value_look(&sums, &desk.config, &desk.services[0], 0);
            assert_true(distance(sums.little, cases[i].before) < 1e-9);
            schedule_value_ended(&sums, &desk.config, 1000 * PS_PER_MS);
        }
        int most = schedule_value_seqs_most(&desk.config, &sums, 4);
        schedule_value_look(&sums, &desk.config, &desk.services[0], 0);
        assert_true(distance(sums.little, cases[i].after) < 1e-9);
        int more = schedule_value_seqs_most(&desk.config, &sums, 4) - most;
        assert_int_equal(more, cases[i].after > cases[i].before); /* others come meanwhile */
    }
}

/* The batch size that lets n like requests, of equally many steps each, end soonest on average, by
 * trying all. */
static int best_batch(int n, int64_t a, int64_t b)
{
    int best = 1;
    double best_mean = DBL_MAX;
    for (int k = 1; k <= n; k++) {
        double mean = (double)(a + b * k) * ((double)n / k + 1);
        if (mean < best_mean)
            best = k;
        best_mean = mean < best_mean ? mean : best_mean;
    }
    return best;
}

static void as_many_run_together_as_end_soonest(void **state)
{
    (void)state;
    struct desk desk;
    open_desk(&desk);
    for (int ratio = 0; ratio <= 1000; ratio = 2 * ratio + 1) {
        desk.services[0].perf = line(ratio * INT64_C(1000000), 1000000);
        struct schedule_value sums = look(&desk, 0);
        for (int n = 1; n <= 200; n += 7) {
            int most = schedule_value_seqs_most(&desk.config, &sums, n);
            int best = best_batch(n, ratio, 1);
            assert_true(best < n ? most - best <= 1 && best - most <= 1 : most >= best);
        }
    }
    desk.services[0].perf = line(1000000, 0); /* a batch costs nothing more */
    struct schedule_value sums = look(&desk, 0);
    assert_int_equal(schedule_value_seqs_most(&desk.config, &sums, 1), desk.config.n_seqs_max);
}

/* Sums of one moment are the sums of a later one, from the same requests. */
static void time_passes_as_if_summed_anew(void **state)
{
    (void)state;
    struct rng rng;
    rng_init(&rng, test_seed(1), 0);
    for (int round = 0; round < 200; round++) {
        struct desk desk;
        open_desk(&desk);
        int64_t later_ns = rng_below(&rng, 10000) * TIME_NS_PER_MS;
        struct schedule_value early = look(&desk, 0), late = early;
        late.looked_ns = later_ns;
        for (int i = 0; i < 50; i++) {
            int64_t done_ps = rng_below(&rng, 2000) * INT64_C(1000000000);
            int64_t age_ns = rng_below(&rng, 20000) * TIME_NS_PER_MS;
            int64_t left_ps = rng_below(&rng, 2000) * INT64_C(1000000000);
            schedule_value_add(&early, done_ps, -age_ns, 1);
            schedule_value_add(&late, done_ps, -age_ns, 1);
            schedule_value_add(&late, left_ps, -age_ns, 1); /* and leaves */
            schedule_value_add(&late, left_ps, -age_ns, -1);
        }
        desk.view.now_ns = later_ns;
        double a = index_of(&desk, 0, &early), b = index_of(&desk, 0, &late);
        assert_true(distance(a, b) < 1e-9 * b);
    }
}

/* Waiting requests count as long as they could start, and not when none may. */
static void who_waits_counts_while_there_is_room(void **state)
{
    (void)state;
    struct desk desk;
    open_desk(&desk);
    struct schedule_value none = look(&desk, 0);
    struct schedule_value_here alone = { .lightest = DBL_MAX };
    desk.services[0].n_waiting = 4; /* h = 1 / sqrt(0.1) each */
    double four = schedule_value_index(&desk.config, &desk.view, 0, &none, 0, &alone);
    assert_true(distance(four, 4 / num_sqrt(0.1)) < 1e-9);
    assert_true(index_of(&desk, 0, &none) == 0);
    desk.kv.n_units_free = 0;
    assert_true(schedule_value_index(&desk.config, &desk.view, 0, &none, 0, &alone) == 0);
}

/* Two requests with L-hat 4 s, whose last batch began 3 s ago, gathered a normalized latency of
 * 1.5. */
static void what_a_job_gathered(void **state)
{
    (void)state;
    struct desk desk;
    open_desk(&desk);
    desk.services[0].solo_ns = 4 * TIME_NS_PER_S;
    desk.view.now_ns = 10 * TIME_NS_PER_S;
    double worth = schedule_value_gathered(&desk.view, 0, 2, 7 * TIME_NS_PER_S);
    assert_true(distance(worth, 1.5e9) < 1);
}

static int64_t kept(const struct desk *desk, int service)
{
    double of[2];
    uint16_t asked[2];
    struct schedule_value_weights weights = { .of = of, .asked = asked };
    struct schedule_view view = desk->view;
    view.n_changes = 1;
    schedule_value_weigh(&weights, &view, 0);
    schedule_value_weigh(&weights, &view, 1);
    struct schedule_value_here here = {
        .lightest = schedule_value_lightest(&weights, &view),
        .needed = schedule_value_needed(&desk->config, &view, &weights),
    };
    view.n_changes = 2; /* until the next event all are looked at */
    assert_true(distance(schedule_value_lightest(&weights, &view), here.lightest) == 0);
    assert_true(schedule_value_needed(&desk->config, &view, &weights) > 1e300);
    return schedule_value_kept(&desk->config, &view, service, &here);
}

static void the_heavy_keep_room_for_the_light(void **state)
{
    (void)state;
    struct desk desk;
    open_desk(&desk);
    assert_int_equal(kept(&desk, 0), 0);
    desk.services[0].kv_bytes_per_token = 2000;
    /* One light request a second, four seconds here, 200 tokens in units of 16: 50, and twice the
     * deviation of four. */
    assert_int_equal(kept(&desk, 0), 100);
    assert_int_equal(kept(&desk, 1), 0);
    desk.services[1].rate_per_s = 16; /* 800 and 200: never more than a quarter of the pool */
    assert_int_equal(kept(&desk, 0), 250);
    desk.services[1].rate_per_s = 0; /* no service to keep it for */
    assert_int_equal(kept(&desk, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_request_by_hand),
        cmocka_unit_test(slowness_adds_so_much_at_most),
        cmocka_unit_test(the_young_are_alike),
        cmocka_unit_test(young_is_learned),
        cmocka_unit_test(as_many_run_together_as_end_soonest),
        cmocka_unit_test(where_batches_do_not_pay),
        cmocka_unit_test(slowness_counts_where_batches_cost_little),
        cmocka_unit_test(the_greedy_rule_needs_to_know_its_model),
        cmocka_unit_test(time_passes_as_if_summed_anew),
        cmocka_unit_test(who_waits_counts_while_there_is_room),
        cmocka_unit_test(what_a_job_gathered),
        cmocka_unit_test(the_heavy_keep_room_for_the_light),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
