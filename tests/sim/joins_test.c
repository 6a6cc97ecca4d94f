/* Services join and leave engines while requests run: every request is served or fails at once, and
 * nothing is left behind. The same seed gives the same report. */
#include "../test.h"
#include "base/str.h"
#include "base/time.h"
#include "models.h"
#include "sim/sim.h"

enum { N_SERVICES = 3 };
struct world {
    struct sim_service services[N_SERVICES];
    struct workload workload;
    struct sim_options options;
    int n_failed[N_SERVICES], n_served[N_SERVICES], n_too_large;
    bool is_late; /* a request arrived while its service was away, and was served, or the reverse */
};

static void take(void *self, const struct record *record)
{
    struct world *w = self;
    const struct sim_service *s = &w->services[record->service];
    bool is_there = record->arrived_ns >= s->joins_ns &&
                    (s->leaves_ns == 0 || record->arrived_ns < s->leaves_ns);
    bool is_at_edge = record->arrived_ns == s->joins_ns || record->arrived_ns == s->leaves_ns;
    bool is_failed = record->why == RECORD_FAILED;
    w->n_failed[record->service] += is_failed;
    w->n_served[record->service] += !is_failed;
    w->n_too_large += record->why == RECORD_TOO_LARGE;
    w->is_late |= is_failed == is_there && !is_at_edge;
}

static void make(struct world *w, uint64_t seed, const char *policy, enum kv_kind kv)
{
    static const int64_t joins_s[N_SERVICES] = { 0, 20, 10 }, leaves_s[N_SERVICES] = { 0, 0, 30 };
    *w = (struct world){ 0 };
    for (int i = 0; i < N_SERVICES; i++)
        w->services[i] = (struct sim_service){ .name = i == 0   ? "stays"
                                                       : i == 1 ? "joins"
                                                                : "both",
                                               .perf = i == 1 ? large_model : small_model,
                                               .size = { .kv_bytes_per_token = 2000,
                                                         .weights_bytes = 40000000,
                                                         .activation_bytes = 100000 },
                                               .joins_ns = joins_s[i] * TIME_NS_PER_S,
                                               .leaves_ns = leaves_s[i] * TIME_NS_PER_S };
    w->workload = (struct workload){ .seed = seed,
                                     .n_requests = 500,
                                     .n_services = N_SERVICES,
                                     .cancelled = 0.1,
                                     .cancel_ns_mean = TIME_NS_PER_S,
                                     .prediction_noise = 0.3 };
    for (int i = 0; i < N_SERVICES; i++)
        w->workload.services[i] = (struct workload_traffic){ .rate_per_s = 4,
                                                             .prompt = { 4.5, 0.8, 1, 600 },
                                                             .output = { 3.5, 0.9, 1, 300 } };
    w->options = (struct sim_options){ .n_engines = 2,
                                       .n_lanes = 1,
                                       .n_services = N_SERVICES,
                                       .services = w->services,
                                       .memory_bytes = 123000000,
                                       .n_requests_max = 64,
                                       .n_tokens_max = 1000,
                                       .kv = kv,
                                       .policy = schedule_find(policy),
                                       .workload = &w->workload,
                                       .checks_steps = true,
                                       .take = take,
                                       .take_self = w };
}

static void run_once(struct world *w, struct str *text)
{
    struct sim_report report;
    str_init(text);
    sim_run(&w->options, &report);
    sim_report_print(&report, &w->options, text);
    if (report.wrong != NULL)
        fail_msg("%s", report.wrong);
}

static void services_join_and_leave(void **state)
{
    static const char *const policies[] = { "value", "fcfs", "db-share", "rr" };
    static const enum kv_kind kinds[] = { KV_MERGED, KV_HEADS, KV_PRIVATE };
    int n_failed = 0, n_served = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= 24; seed++) {
        struct world w;
        struct str texts[2];
        for (int i = 0; i < 2; i++) {
            make(&w, seed, policies[seed % COUNT_OF(policies)], kinds[seed % COUNT_OF(kinds)]);
            run_once(&w, &texts[i]);
        }
        assert_string_equal(texts[0].at, texts[1].at);
        assert_false(w.is_late);
        assert_int_equal(w.n_failed[0], 0);
        assert_true(w.n_served[0] > 0 && w.n_served[1] > 0 && w.n_served[2] > 0);
        assert_true(w.n_failed[1] > 0 && w.n_failed[2] > 0);
        n_failed += w.n_failed[1] + w.n_failed[2];
        n_served += w.n_served[1] + w.n_served[2];
        str_free(&texts[0]);
        str_free(&texts[1]);
    }
    printf("%d requests served, %d failed as their service was away\n", n_served, n_failed);
}

/* A service without joins_ns and leaves_ns costs nothing, and one that joins at once serves all. */
static void a_service_that_joins_at_once_serves_all(void **state)
{
    struct world w;
    struct str text;
    (void)state;
    make(&w, 7, "value", KV_MERGED);
    w.services[1].joins_ns = 1;
    w.services[2].joins_ns = w.services[2].leaves_ns = 0;
    run_once(&w, &text);
    assert_int_equal(w.n_failed[0] + w.n_failed[1] + w.n_failed[2], 0);
    str_free(&text);
}

/* Weights leave little memory for the pool: what can't run beside them ends. */
static void what_has_no_space_ends(void **state)
{
    struct world w;
    struct str text;
    (void)state;
    make(&w, 7, "value", KV_MERGED);
    w.options.memory_bytes = 121000000;
    run_once(&w, &text);
    assert_true(w.n_too_large > 0);
    str_free(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(services_join_and_leave),
        cmocka_unit_test(a_service_that_joins_at_once_serves_all),
        cmocka_unit_test(what_has_no_space_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
