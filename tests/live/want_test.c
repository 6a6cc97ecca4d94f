/* The engines that a service wants, against numbers worked out by hand. */
#include "test.h"

#include "live/want.h"

#define S INT64_C(1000000000)

static bool near(double a, double b)
{
    double away = a < b ? b - a : a - b;
    return away <= 1e-6 * (b < 0 ? -b : b);
}

/* A decode step takes 20 ms whatever the batch is. KV of 1,000 bytes holds 10 requests of 60 + 80 /
 * 2 tokens of one byte each, so one engine gives 10 / 20 ms = 500 tokens a second: 6.25 answers of
 * 80 tokens. */
static const struct monitor_reading reading = {
    .prompt = { 9, 60, 0 },
    .output = { 9, 80, 0 },
    .perf = { .c1_ps = 1,
              .c3_ps = { 20000000000, 20000000000 },
              .b_switch = 64,
              .prefill_scale = 1,
              .decode_scale = 1 },
};

static struct live_want_ask ask_of(int64_t n_arrived, int32_t n_copies)
{
    return (struct live_want_ask){
        .reading = &reading,
        .size = { .weights_bytes = 90, .activation_bytes = 10, .kv_bytes_per_token = 1 },
        .memory_bytes = 1100,
        .cold_start_ns = S,
        .n_arrived = n_arrived,
        .n_copies = n_copies
    };
}

static void test_by_hand(void **state)
{
    (void)state;
    struct scale scale;
    struct live_want want = { .n_wanted = 1 };
    int64_t now_ns = 0;
    scale_init(&scale);
    for (int i = 0; i <= 60; i++, now_ns += S) { /* 20 requests a second */
        const struct live_want_ask ask = ask_of(20, want.n_wanted);
        live_want_tick(&scale, &ask, now_ns, &want);
    }
    assert_true(near(want.rate_of_one, 6.25));
    assert_true(want.rate > 19 && want.rate < 22);
    assert_int_equal(want.n_wanted, 4);         /* 20 / 6.25 = 3.2 */
    for (int i = 0; i < 40; i++, now_ns += S) { /* 5 a second */
        const struct live_want_ask ask = ask_of(5, want.n_wanted);
        live_want_tick(&scale, &ask, now_ns, &want);
    }
    assert_int_equal(want.n_wanted, 4); /* fewer have to be enough for 60 s */
    for (int i = 0; i < 80; i++, now_ns += S) {
        const struct live_want_ask ask = ask_of(5, want.n_wanted);
        live_want_tick(&scale, &ask, now_ns, &want);
    }
    assert_int_equal(want.n_wanted, 1);
    assert_true(near(want.rate, 5));
}

static void test_unknown(void **state)
{
    (void)state;
    struct scale scale;
    struct live_want want;
    struct monitor_reading none = { 0 };
    scale_init(&scale);
    struct live_want_ask ask = ask_of(5, 1);
    ask.reading = &none; /* no answer yet, no profile */
    live_want_tick(&scale, &ask, S, &want);
    assert_int_equal(want.n_wanted, -1);
    ask = ask_of(5, 1);
    ask.memory_bytes = 50; /* no engine has room */
    live_want_tick(&scale, &ask, S, &want);
    assert_int_equal(want.n_wanted, -1);
}

/* A target for TPOT below the step's own time can't be met by any number of engines. */
static void test_target(void **state)
{
    (void)state;
    struct scale scale;
    struct live_want want;
    scale_init(&scale);
    struct live_want_ask ask = ask_of(5, 1);
    ask.tpot_ns = 10 * 1000000;
    live_want_tick(&scale, &ask, S, &want);
    assert_int_equal(want.n_wanted, -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_hand),
        cmocka_unit_test(test_unknown),
        cmocka_unit_test(test_target),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
