/* Simulations side by side: the same reports on any number of threads. */
#include "../test.h"
#include "base/str.h"
#include "sim/many.h"
#include "models.h"

enum { N = 7 };

static void run(const struct sim_options *options, int n_threads, struct str *texts)
{
    struct sim_report reports[N];
    sim_many_run(options, reports, N, n_threads);
    for (int i = 0; i < N; i++) {
        assert_null(reports[i].wrong);
        str_init(&texts[i]);
        sim_report_print(&reports[i], &options[i], &texts[i]);
        sim_report_free(&reports[i]);
    }
}

static void threads_change_nothing(void **state)
{
    static const int n_threads[] = { 1, 2, 3, 16, 0 };
    const struct sim_service service = { .name = "model",
                                         .perf = small_model,
                                         .bytes_per_token = 2000 };
    struct workload workloads[N];
    struct sim_options options[N];
    struct str texts[COUNT_OF(n_threads)][N];
    int n_policies;
    const struct schedule_policy *const *policies = schedule_all(&n_policies);
    (void)state;
    for (int i = 0; i < N; i++) {
        workloads[i] = (struct workload){ .seed = test_seed(1) + (uint64_t)i,
                                          .n_requests = 300,
                                          .n_services = 1,
                                          .cancelled = 0.1,
                                          .cancel_ns_mean = 1000000000 };
        workloads[i].services[0] = workload_conversations(20);
        options[i] = (struct sim_options){ .n_engines = 2,
                                           .n_lanes = 1,
                                           .n_services = 1,
                                           .services = &service,
                                           .memory_bytes = 50000000,
                                           .n_requests_max = 64,
                                           .n_tokens_max = 10240,
                                           .policy = policies[i % n_policies],
                                           .workload = &workloads[i] };
    }
    for (size_t t = 0; t < COUNT_OF(n_threads); t++)
        run(options, n_threads[t], texts[t]);
    for (int i = 0; i < N; i++) {
        for (size_t t = 1; t < COUNT_OF(n_threads); t++)
            assert_string_equal(texts[t][i].at, texts[0][i].at);
        if (i > 0)
            assert_string_not_equal(texts[0][i].at, texts[0][0].at); /* each its own */
    }
    for (size_t t = 0; t < COUNT_OF(n_threads); t++)
        for (int i = 0; i < N; i++)
            str_free(&texts[t][i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(threads_change_nothing) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
