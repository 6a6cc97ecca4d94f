/* Queues whose mean wait is known: the simulator's must be within 1% of it, up to a load of 0.9. */
#include "../test.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/time.h"
#include "sim/many.h"

enum { N_PAIRS = 8192, N_REPLICAS = 4 };
static const double service_s = 0.01; /* mean */

/* Every server is an engine that takes one request at a time, for k1 times its prompt. */
struct queue {
    int32_t n_servers;
    double load;
    double (*wait_s)(int32_t n_servers, double load); /* the mean's closed form */
    const struct workload_pair *pairs;
    int32_t n_prompt_mean;
};

/* Pollaczek and Khinchine, for a constant service time. */
static double m_d_1_wait_s(int32_t c, double load)
{
    (void)c;
    return service_s * load / (2 * (1 - load));
}

/* Erlang's C formula: the chance to wait, then the mean of those who do. */
static double m_m_c_wait_s(int32_t c, double load)
{
    double term = 1, sum = 0, offered = load * c;
    for (int32_t k = 0; k < c; k++) {
        sum += term;
        term *= offered / (k + 1);
    }
    double waits = term / (1 - load) / (sum + term / (1 - load));
    return waits * service_s / (c * (1 - load));
}

/* Mean wait over replicas, each corrected by what its own traffic's load explains: the realised
 * load's mean is known, and the wait's slope in it as well (a control variate). */
static double mean_wait_s(const struct queue *q, uint64_t n_requests)
{
    struct sim_service service = {
        .name = "server",
        .bytes_per_token = 100,
        .perf = { .k1_ps = (int64_t)(service_s * 1e12) / q->n_prompt_mean,
                  .c3_ps = { 1000, 1000 },
                  .b_switch = 1000,
                  .prefill_scale = 1,
                  .decode_scale = 1 },
    };
    struct schedule_config config;
    struct workload workloads[N_REPLICAS];
    struct sim_options options[N_REPLICAS];
    struct sim_report reports[N_REPLICAS];
    schedule_config_init(&config);
    for (int i = 0; i < N_REPLICAS; i++) {
        workloads[i] = (struct workload){ .seed = test_seed(7) + (uint64_t)i,
                                          .n_requests = n_requests,
                                          .n_services = 1,
                                          .prediction_noise = -1 };
        workloads[i].services[0] = (struct workload_traffic){
            .rate_per_s = q->load * q->n_servers / service_s, .pairs = q->pairs, .n_pairs = N_PAIRS
        };
        options[i] = (struct sim_options){ .n_engines = q->n_servers,
                                           .n_lanes = 1,
                                           .n_services = 1,
                                           .services = &service,
                                           .memory_bytes = 100000000,
                                           .n_requests_max = 1,
                                           .n_tokens_max = 8192,
                                           .policy = schedule_find("fcfs"),
                                           .config = &config,
                                           .workload = &workloads[i] };
    }
    sim_many_run(options, reports, N_REPLICAS, 2);
    double sum_s = 0;
    for (int i = 0; i < N_REPLICAS; i++) {
        const struct sim_service_report *s = &reports[i].services[0];
        assert_null(reports[i].wrong);
        assert_int_equal(reports[i].n_requests, n_requests);
        double n = (double)n_requests, worked_s = s->solo_s;
        double load = worked_s / ((double)reports[i].end_ns * 1e-9 * q->n_servers);
        double slope_s =
            (q->wait_s(q->n_servers, q->load + 0.001) - q->wait_s(q->n_servers, q->load - 0.001)) /
            0.002;
        sum_s += (s->e2e_s - worked_s) / n - slope_s * (load - q->load);
        sim_report_free(&reports[i]);
    }
    return sum_s / N_REPLICAS;
}

static void assert_within_1_percent(const char *name, const struct queue *q, uint64_t n_requests)
{
    double wait_s = mean_wait_s(q, n_requests), expected_s = q->wait_s(q->n_servers, q->load);
    printf("%s, load %.1f: mean wait %.6f s, closed form %.6f s, off by %.2f%%\n", name, q->load,
           wait_s, expected_s, 100 * (wait_s / expected_s - 1));
    assert_true(wait_s > expected_s * 0.99 && wait_s < expected_s * 1.01);
}

static void waits_like_m_d_1(void **state)
{
    struct workload_pair *pairs = mem_take(N_PAIRS * sizeof(*pairs));
    (void)state;
    for (int i = 0; i < N_PAIRS; i++)
        pairs[i] = (struct workload_pair){ 10, 1 };
    for (double load = 0.3; load < 1; load += 0.3)
        assert_within_1_percent("M/D/1", &(struct queue){ 1, load, m_d_1_wait_s, pairs, 10 },
                                load > 0.8 ? 500000 : 300000);
    mem_give(pairs);
}

/* Exponential service times, as the middles of 8,192 equally likely parts; four servers whose one
 * queue is the door. */
static void waits_like_m_m_c(void **state)
{
    enum { MEAN = 500 };
    struct workload_pair *pairs = mem_take(N_PAIRS * sizeof(*pairs));
    (void)state;
    for (int i = 0; i < N_PAIRS; i++)
        pairs[i] = (struct workload_pair){
            max_i32((int32_t)(-MEAN * num_log(1 - (i + 0.5) / N_PAIRS) + 0.5), 1), 1
        };
    for (double load = 0.3; load < 1; load += 0.3)
        assert_within_1_percent("M/M/4", &(struct queue){ 4, load, m_m_c_wait_s, pairs, MEAN },
                                load > 0.8 ? 800000 : 500000);
    mem_give(pairs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits_like_m_d_1),
        cmocka_unit_test(waits_like_m_m_c),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
