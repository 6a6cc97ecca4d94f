/* Faults by name: the last setting holds, and other names are refused. */
#include "../test.h"
#include "base/time.h"
#include "scenario/faults.h"

static void read_them(void **state)
{
    const struct flags_texts texts = { { "latency=1ms,lost=0.01", "crash=60s,lost=0.02,load=4GiB" },
                                       2 };
    struct sim_faults f;
    struct fault fault;
    (void)state;
    assert_int_equal(scenario_faults_parse(&texts, &f, &fault), STATUS_OK);
    assert_true(f.latency_ns == TIME_NS_PER_MS && f.crash_ns == 60 * TIME_NS_PER_S);
    assert_true(f.lost == 0.02 && f.load_bytes_per_s == INT64_C(4) << 30 && f.twice == 0);
    static const char *const bad[] = { "lost",   "lost=2",    "lost=x",         "hope=1",
                                       "crash=", "crash=0ns", "bus-bytes=1KiB", "=3" };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        const struct flags_texts one = { { bad[i] }, 1 };
        assert_int_equal(scenario_faults_parse(&one, &f, &fault), STATUS_BAD_INPUT);
        assert_true(strlen(fault.text) > 10);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(read_them) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
