/* The change detector and the scaler. */
#include "test.h"

#include "base/rng.h"
#include "place/scale.h"

#define S INT64_C(1000000000)

/* A worker for each 10 requests/s. */
static struct scale_config config_of(void)
{
    struct scale_config config;
    scale_config_init(&config);
    config.line = (struct workers_line){ 0.1, 0, 0 };
    return config;
}

static void test_cusum_by_hand(void **state)
{
    (void)state;
    struct scale_config config = config_of();
    struct scale_cusum c;
    scale_cusum_init(&c);
    assert_true(scale_cusum_saw(&c, &config, 100)); /* the first is believed */
    assert_true(c.mean == 100);
    assert_false(scale_cusum_saw(&c, &config, 104)); /* within the drift of 5 */
    assert_true(c.high == 0 && c.mean == 102);
    /* The limit is 5 sqrt(mean) = 50.5. A count of 132 drifts by 132 - 102 - 5.1 = 24.9, mean 112.
     * Another drifts by 14.4, 39.3 in all, mean 117. A third drifts by 9.15, which makes 48.4 of
     * now 54. */
    for (int i = 0; i < 3; i++)
        assert_false(scale_cusum_saw(&c, &config, 132));
    assert_true(c.mean == 120 && c.high > 48.4 && c.high < 48.5);
    assert_true(scale_cusum_saw(&c, &config, 152)); /* 26 more */
    assert_true(c.mean == 137 && c.high == 0);      /* of the four since it began */
    assert_true(scale_cusum_saw(&c, &config, 50));  /* 137 - 50 - 6.85 > 58.5 */
    assert_true(c.mean == 50);
}

static void test_cusum_is_quiet_and_quick(void **state)
{
    (void)state;
    struct scale_config config = config_of();
    struct rng rng;
    int n_false = 0, n_late = 0;
    rng_init(&rng, test_seed(3), 0);
    for (int run = 0; run < 50; run++) {
        struct scale_cusum c;
        scale_cusum_init(&c);
        for (int bin = 0; bin < 230; bin++) {
            double count = 0, mean = bin < 200 ? 100 : 150;
            for (double at = rng_exponential(&rng); at < mean; at += rng_exponential(&rng))
                count++;
            bool is_changed = scale_cusum_saw(&c, &config, count);
            n_false += is_changed && bin > 0 && bin < 200;
            if (bin == 204)
                n_late += c.mean < 135;
        }
    }
    assert_true(n_false < 50); /* in 10,000 bins: less than one in 200 */
    assert_true(n_late < 5);   /* half as much again is seen within 5 bins */
}

static struct scale_order tick(struct scale *scale, const struct scale_config *config, int64_t s,
                               int64_t n_arrived, int32_t n_workers)
{
    scale_arrived(scale, n_arrived);
    return scale_tick(scale, config, s * S, n_workers);
}

static void test_up_at_once_down_when_it_lasts(void **state)
{
    (void)state;
    struct scale_config config = config_of();
    struct scale scale;
    scale_init(&scale);
    assert_int_equal(tick(&scale, &config, 0, 0, 2).n_wanted, 2); /* nothing is known yet */
    struct scale_order order = tick(&scale, &config, 10, 200, 2); /* 20/s */
    assert_true(order.is_changed && order.rate == 20);
    assert_int_equal(order.n_wanted, 2);
    assert_int_equal(order.wake_ns, 20 * S);
    assert_int_equal(tick(&scale, &config, 20, 500, 2).n_wanted, 5); /* 50/s: at once */
    for (int64_t s = 30; s <= 80; s += 10)
        assert_int_equal(tick(&scale, &config, s, 200, 5).n_wanted, 5); /* low since 30 */
    order = tick(&scale, &config, 90, 200, 5);
    assert_int_equal(order.n_wanted, 2); /* for 60 s */
}

static void test_a_switch_has_to_pay(void **state)
{
    (void)state;
    struct scale_config config = config_of();
    struct scale scale;
    int n_switches[2] = { 0, 0 };
    /* 20/s and 50/s alternate, 100 s each, so a worker that goes is back 40 s later. If a switch
     * costs 10 s it goes each time; if it costs 200 s, only once. */
    for (int i = 0; i < 2; i++) {
        int32_t n_workers = 2;
        config.switch_ns = (i == 0 ? 10 : 200) * S;
        scale_init(&scale);
        for (int64_t s = 0; s < 2000; s += 10) {
            int32_t n = tick(&scale, &config, s, s / 100 % 2 == 0 ? 200 : 500, n_workers).n_wanted;
            n_switches[i] += n < n_workers;
            n_workers = n;
        }
    }
    assert_true(n_switches[0] >= 8);
    assert_int_equal(n_switches[1], 1);
}

static void test_bounds_and_idleness(void **state)
{
    (void)state;
    struct scale_config config = config_of();
    struct scale scale;
    config.n_min = 2;
    config.n_max = 4;
    scale_init(&scale);
    (void)tick(&scale, &config, 0, 0, 2);
    assert_int_equal(tick(&scale, &config, 10, 100000, 2).n_wanted, 4);
    int32_t n = 4;
    for (int64_t s = 20; s < 400; s += 10)
        n = tick(&scale, &config, s, 0, n).n_wanted;
    assert_int_equal(n, 2);
    assert_int_equal(tick(&scale, &config, 1000000, 0, 2).n_wanted, 2); /* many bins at once */
}

static void test_settings_by_name(void **state)
{
    (void)state;
    struct scale_config config;
    struct fault fault;
    scale_config_init(&config);
    assert_int_equal(scale_config_set(&config, "k5=0.25", &fault), STATUS_OK);
    assert_int_equal(scale_config_set(&config, "c5=-1", &fault), STATUS_OK);
    assert_int_equal(scale_config_set(&config, "cold_start_ns=1500", &fault), STATUS_OK);
    assert_int_equal(scale_config_set(&config, "n_min=3", &fault), STATUS_OK);
    assert_true(config.line.k5 == 0.25 && config.line.c5 == -1);
    assert_int_equal(config.cold_start_ns, 1500000000);
    assert_int_equal(config.n_min, 3);
    assert_int_equal(scale_config_set(&config, "k5=-1", &fault), STATUS_BAD_INPUT);
    assert_int_equal(scale_config_set(&config, "n_min=0", &fault), STATUS_BAD_INPUT);
    assert_int_equal(scale_config_set(&config, "workers=3", &fault), STATUS_BAD_INPUT);
    assert_int_equal(config.n_min, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cusum_by_hand),
        cmocka_unit_test(test_cusum_is_quiet_and_quick),
        cmocka_unit_test(test_up_at_once_down_when_it_lasts),
        cmocka_unit_test(test_a_switch_has_to_pay),
        cmocka_unit_test(test_bounds_and_idleness),
        cmocka_unit_test(test_settings_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
