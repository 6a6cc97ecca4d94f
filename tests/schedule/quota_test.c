/* Quotas of the pool: shares by D-12 worked by hand, which services give to which, and that quotas
 * always sum to the pool. */
#include "test.h"
#include "base/rng.h"
#include "base/time.h"
#include "schedule/quota.h"

struct world {
    struct kv_budget kv;
    struct schedule_service services[4];
    struct request requests[4];
    struct schedule_view view;
    struct schedule_config config;
    struct schedule_quota quota;
    int64_t quota_memory[2 * 4];
};

/* Units of one block of 10 tokens, 100 bytes a token. */
static void draw(struct world *w, int n, int64_t n_units)
{
    *w = (struct world){ .kv = {
                             .n_services = n, .n_units_free = n_units, .n_units_open = n_units } };
    schedule_config_init(&w->config);
    schedule_quota_init(&w->quota, w->quota_memory, n);
    for (int i = 0; i < n; i++) {
        w->kv.services[i] = (struct kv_budget_service){ .block_tokens = 10,
                                                        .blocks_per_unit = 1,
                                                        .n_units_max = n_units };
        w->services[i] = (struct schedule_service){ .is_open = true,
                                                    .first_waiting = SCHEDULE_NONE,
                                                    .rate_per_s = 1,
                                                    .n_prompt_mean = 50,
                                                    .n_output_mean = 50,
                                                    .kv_bytes_per_token = 100 };
    }
    w->view = (struct schedule_view){
        .n_services = n, .services = w->services, .requests = w->requests, .kv = &w->kv
    };
}

static void tell(struct world *w, enum schedule_what what, int64_t now_ns)
{
    struct schedule_event event = { .what = what, .now_ns = now_ns };
    w->view.now_ns = now_ns;
    schedule_quota_saw(&w->quota, &w->view, &w->config, &event);
}

static int64_t sum_of(const struct world *w)
{
    int64_t sum = 0;
    for (int i = 0; i < w->view.n_services; i++)
        sum += w->quota.n_units[i];
    return sum;
}

/* Figure 9b's pair: the first has requests four times as long, the second eight times the rate.
 * By rate and length 4 : 8; by rate alone, as MuxServe's code has it, 1 : 8. */
static void shares_count_length_too(void **state)
{
    (void)state;
    struct world w;
    double shares[4];
    draw(&w, 2, 1200);
    w.services[0].n_prompt_mean = w.services[0].n_output_mean = 200;
    w.services[1].rate_per_s = 8;
    schedule_quota_shares(&w.view, shares);
    assert_true(shares[0] > 0.3333 && shares[0] < 0.3334);
    tell(&w, SCHEDULE_ARRIVED, 0);
    /* Floors of a mean request each (40 and 10 units), what is left by 1 : 2. */
    assert_int_equal(w.quota.n_units[0], 40 + 384); /* 383.3, and the unit that rounding left */
    assert_int_equal(w.quota.n_units[1], 10 + 766);
    assert_int_equal(sum_of(&w), 1200);
}

/* 100 units each. The first uses 20: it offers 95 - 20 = 75. The second uses 95 and much waits. It
 * asks for a tenth of its quota, which a mean request (10 units) does not exceed. The third uses 95
 * and nothing waits, so it keeps its quota. */
static void low_users_give_to_high_ones(void **state)
{
    (void)state;
    struct world w;
    draw(&w, 3, 300);
    tell(&w, SCHEDULE_ARRIVED, 0);
    for (int i = 0; i < 3; i++)
        w.quota.n_units[i] = 100;
    w.services[1].n_waiting = 50;
    w.services[1].first_waiting = 0;
    w.requests[0] = (struct request){ .n_tokens = 50 };
    int64_t used[3] = { 20, 95, 95 };
    schedule_quota_adapt(&w.quota, &w.view, &w.config, used);
    assert_int_equal(w.quota.n_units[0], 90);
    assert_int_equal(w.quota.n_units[1], 110);
    assert_int_equal(w.quota.n_units[2], 100);
    assert_int_equal(w.quota.n_changes, 1);
}

static void a_quota_may_be_passed_while_nobody_else_needs_it(void **state)
{
    (void)state;
    struct world w;
    int64_t n_kept;
    draw(&w, 2, 200);
    tell(&w, SCHEDULE_ARRIVED, 0);
    assert_int_equal(schedule_quota_most(&w.quota, &w.view, &w.config, 0, &n_kept), INT64_MAX);
    w.services[0].n_running = 1; /* it runs a request: the quota counts, lent down to a tenth */
    assert_int_equal(schedule_quota_most(&w.quota, &w.view, &w.config, 0, &n_kept), 100);
    assert_int_equal(n_kept, 21);
    w.services[1].n_waiting = 1; /* below its quota and waiting: nothing is lent */
    assert_int_equal(schedule_quota_most(&w.quota, &w.view, &w.config, 0, &n_kept), 100);
    assert_true(n_kept == INT64_MAX);
}

static void they_always_sum_to_the_pool(void **state)
{
    (void)state;
    uint64_t seed = test_seed(3);
    for (uint64_t round = 0; round < 200; round++) {
        struct rng rng;
        struct world w;
        rng_init(&rng, seed, round);
        draw(&w, 1 + (int)rng_below(&rng, 4), 10 + rng_below(&rng, 1000));
        int64_t now = 0;
        for (int i = 0; i < 300; i++) {
            int s = (int)rng_below(&rng, (uint32_t)w.view.n_services);
            now += rng_below(&rng, 1000) * TIME_NS_PER_MS;
            w.kv.services[s].n_units = rng_below(&rng, (uint32_t)w.kv.n_units_open + 1);
            w.services[s].n_waiting = rng_below(&rng, 40);
            w.services[s].rate_per_s = rng_below(&rng, 10);
            w.services[s].is_open = rng_below(&rng, 10) > 0;
            if (rng_below(&rng, 30) == 0)
                w.kv.n_units_open = 10 + rng_below(&rng, 1000);
            tell(&w, rng_below(&rng, 3) > 0 ? SCHEDULE_DONE : SCHEDULE_GONE, now);
            assert_int_equal(sum_of(&w), w.kv.n_units_open);
            for (int k = 0; k < w.view.n_services; k++)
                assert_true(w.quota.n_units[k] >= 0);
        }
        assert_true(w.quota.n_changes > 0 || w.view.n_services == 1 || w.kv.n_units_open < 100);
    }
}

/* A placement's quotas go before rates and lengths. They adapt from there. */
static void a_placement_says_where_they_begin(void **state)
{
    struct world w;
    double shares[4];
    (void)state;
    draw(&w, 2, 1000);
    w.services[0].rate_per_s = 9;
    w.services[0].kv_quota_bytes = 1000;
    w.services[1].kv_quota_bytes = 3000;
    schedule_quota_shares(&w.view, shares);
    assert_true(shares[0] > 0.249 && shares[0] < 0.251 && shares[1] > 0.749);
    tell(&w, SCHEDULE_ARRIVED, TIME_NS_PER_S);
    assert_int_equal(sum_of(&w), 1000);
    assert_in_range(w.quota.n_units[1], 700, 760); /* after the floors of all */
    w.services[1].is_open = false;                 /* it left: no units are kept for it */
    schedule_quota_shares(&w.view, shares);
    assert_true(shares[0] > 0.999);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_count_length_too),
        cmocka_unit_test(low_users_give_to_high_ones),
        cmocka_unit_test(a_quota_may_be_passed_while_nobody_else_needs_it),
        cmocka_unit_test(they_always_sum_to_the_pool),
        cmocka_unit_test(a_placement_says_where_they_begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
