/* The bus on virtual time: order is kept, nothing is lost for good, and the same seed draws the
 * same faults. */
#include "../test.h"
#include "base/time.h"
#include "sim/channels.h"

struct letter {
    int64_t sent_ns, number;
};

static void a_perfect_bus_delivers_at_once(void **state)
{
    const struct sim_faults none = { 0 };
    struct sim_faults_report report = { 0 };
    struct sim_channels channels;
    int64_t clock_ns = 5;
    const void *message;
    size_t n_bytes;
    (void)state;
    sim_channels_open(&channels, &none, 1, &clock_ns, &report);
    struct bus_port a = sim_channels_port(&channels, 0), b = sim_channels_port(&channels, 1);
    assert_false(b.peek(b.self, 1, &message, &n_bytes));
    assert_int_equal(sim_channels_next_ns(&channels, 1), TIME_NEVER);
    assert_true(a.send(a.self, 1, "head", 4, "tail!", 5));
    assert_true(a.send(a.self, 1, "x", 1, NULL, 0));
    assert_int_equal(sim_channels_next_ns(&channels, 1), 5);
    assert_int_equal(sim_channels_next_ns(&channels, 0), TIME_NEVER);
    assert_true(b.peek(b.self, 1, &message, &n_bytes));
    assert_int_equal(n_bytes, 9);
    assert_memory_equal(message, "headtail!", 9);
    b.pop(b.self, 1);
    assert_true(b.peek(b.self, 1, &message, &n_bytes));
    assert_int_equal(n_bytes, 1);
    b.pop(b.self, 1);
    assert_false(b.peek(b.self, 1, &message, &n_bytes));
    assert_true(report.n_messages == 2 && report.n_bytes == 10);
    sim_channels_close(&channels);
}

static void a_full_bus_refuses(void **state)
{
    const struct sim_faults small = { .bus_bytes = 1000 };
    struct sim_faults_report report = { 0 };
    struct sim_channels channels;
    int64_t clock_ns = 0;
    char bytes[100] = { 0 };
    const void *message;
    size_t n_bytes;
    int n = 0;
    (void)state;
    sim_channels_open(&channels, &small, 1, &clock_ns, &report);
    struct bus_port a = sim_channels_port(&channels, 0), b = sim_channels_port(&channels, 1);
    while (a.send(a.self, 1, bytes, sizeof(bytes), NULL, 0))
        n++;
    assert_true(n > 4 && n < 10 && report.n_refused == 1);
    assert_true(a.send(a.self, 2, bytes, sizeof(bytes), NULL, 0)); /* another end has room */
    assert_true(b.peek(b.self, 1, &message, &n_bytes));
    b.pop(b.self, 1);
    assert_true(a.send(a.self, 1, bytes, sizeof(bytes), NULL, 0));
    sim_channels_close(&channels);
}

enum { N = 2000 };

/* Two senders send a message every 3 ms. Returns a hash of the arrivals and their times. */
static uint64_t run(const struct sim_faults *faults, uint64_t seed, int64_t *longest_ns,
                    struct sim_faults_report *report)
{
    struct sim_channels channels;
    int64_t clock_ns = 0, last[2] = { -1, -1 }, n_arrived = 0, n_again = 0, next_ns = 0;
    uint64_t hash = 0;
    const void *message;
    size_t n_bytes;
    *report = (struct sim_faults_report){ 0 };
    *longest_ns = 0;
    sim_channels_open(&channels, faults, seed, &clock_ns, report);
    struct bus_port to = sim_channels_port(&channels, 2);
    for (int64_t sent = 0; sent < N || next_ns != TIME_NEVER;) {
        clock_ns = min_i64(sent < N ? sent / 2 * 3 * TIME_NS_PER_MS : TIME_NEVER, next_ns);
        while (sent < N && sent / 2 * 3 * TIME_NS_PER_MS <= clock_ns) {
            const struct letter letter = { clock_ns, sent / 2 };
            struct bus_port from = sim_channels_port(&channels, (uint16_t)(sent % 2));
            assert_true(from.send(from.self, 2, &sent, 8, &letter, sizeof(letter)));
            sent++;
        }
        while (to.peek(to.self, 2, &message, &n_bytes)) {
            int64_t number;
            struct letter letter;
            memcpy(&number, message, 8);
            memcpy(&letter, (const char *)message + 8, sizeof(letter));
            bool is_first = letter.number == last[number % 2] + 1;
            assert_true(is_first || letter.number <= last[number % 2]); /* in order, or known */
            last[number % 2] += is_first;
            n_arrived += is_first;
            n_again += !is_first;
            *longest_ns = max_i64(*longest_ns, clock_ns - letter.sent_ns);
            assert_true(clock_ns - letter.sent_ns >= faults->latency_ns);
            hash = (hash ^ (uint64_t)(clock_ns + number)) * UINT64_C(0x9e3779b97f4a7c15);
            to.pop(to.self, 2);
        }
        next_ns = sim_channels_next_ns(&channels, 2);
    }
    assert_int_equal(n_arrived, N);
    assert_int_equal(n_again, report->n_twice);
    assert_int_equal(report->n_messages, N);
    sim_channels_close(&channels);
    return hash;
}

static void what_goes_wrong_is_made_good(void **state)
{
    const struct sim_faults kinds[] = {
        { .latency_ns = TIME_NS_PER_MS },
        { .latency_ns = TIME_NS_PER_MS, .late_ns = 10 * TIME_NS_PER_MS },
        { .lost = 0.1, .resend_ns = 50 * TIME_NS_PER_MS },
        { .twice = 0.2 },
        { .cut_ns = 500 * TIME_NS_PER_MS, .cut_for_ns = 100 * TIME_NS_PER_MS },
        { .late_ns = TIME_NS_PER_MS, .lost = 0.05, .twice = 0.05, .cut_ns = TIME_NS_PER_S },
    };
    struct sim_faults_report report, again;
    int64_t longest_ns;
    uint64_t seed = test_seed(1);
    (void)state;
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        uint64_t hash = run(&kinds[i], seed, &longest_ns, &report);
        assert_int_equal(run(&kinds[i], seed, &longest_ns, &again), hash);
        assert_memory_equal(&report, &again, sizeof(report));
        assert_true(i == 0 || run(&kinds[i], seed + 1, &longest_ns, &again) != hash);
        assert_true((kinds[i].lost > 0) == (report.n_lost > 0));
        assert_true((kinds[i].twice > 0) == (report.n_twice > 0));
        if (i == 0)
            assert_int_equal(longest_ns, TIME_NS_PER_MS);
        if (i == 2)
            assert_true(report.n_lost > N / 20 && report.n_lost < N / 5);
        if (i == 4) /* a cut lasts this long, and occurs about twice a second in 3 */
            assert_true(longest_ns > 50 * TIME_NS_PER_MS && longest_ns <= 100 * TIME_NS_PER_MS);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_perfect_bus_delivers_at_once),
        cmocka_unit_test(a_full_bus_refuses),
        cmocka_unit_test(what_goes_wrong_is_made_good),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
