/* How fast the simulator is: requests of Azure's conversation lengths over 32 engines, full
 * semantics (engines, pools, schedulers, door), on one core. With holds and planning every step.
 *
 * usage: sim [requests, default 200000] [engines, default 32] [requests/s an engine, default 3] */
#include "base/num.h"
#include "base/time.h"
#include "sim/sim.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A 7B model on an A100: our fit (ALGORITHMS, appendix A), tokens of 512 KiB. */
static const struct sim_service service = {
    .name = "7B",
    .perf = { .floor_ps = 13900000000,
              .c1_ps = 3400000000,
              .k1_ps = 73800000,
              .c3_ps = { 11440000000, 11440000000 },
              .c2_ps = { 30000000, 90000000 },
              .k2_ps = { 374000, 374000 },
              .b_switch = 64,
              .prefill_scale = 1,
              .decode_scale = 1 },
    .bytes_per_token = 524288,
    .weights_bytes = INT64_C(14) << 30,
    .activation_bytes = INT64_C(2) << 30,
};

static void run(const char *policy, int32_t n_rounds_max, uint64_t n_requests, int32_t n_engines,
                double rate_per_s)
{
    struct sim_workload workload = { .seed = 1, .n_requests = n_requests, .n_services = 1 };
    workload.services[0] = sim_workload_conversations(rate_per_s * n_engines);
    struct schedule_config config;
    schedule_config_init(&config);
    config.n_rounds_max = n_rounds_max;
    struct sim_options options = {
        .n_engines = n_engines,
        .n_lanes = 1,
        .n_services = 1,
        .services = &service,
        .memory_bytes = INT64_C(76) << 30,
        .n_requests_max = 512,
        .n_live_max = 1 << 19,
        .n_tokens_max = 10240,
        .block_tokens = 16,
        .policy = schedule_find(policy),
        .config = &config,
        .workload = &workload,
    };
    struct sim_report report;
    int64_t begin_ns = time_now_ns(), cpu_ns = time_thread_cpu_ns();
    sim_run(&options, &report);
    int64_t wall_ns = time_now_ns() - begin_ns;
    cpu_ns = time_thread_cpu_ns() - cpu_ns;
    double n = (double)n_requests;
    printf("%-10s %-9s %9.0f requests/s of processor time (%9.0f wall)  %5.1f steps, %6.1f batches "
           "a request  %5.0f ns a step  mean e2e %.3f s  %s\n",
           policy, n_rounds_max > 1 ? "holds" : "each step", n / (double)cpu_ns * 1e9,
           n / (double)wall_ns * 1e9, (double)report.n_steps / n, (double)report.n_rounds / n,
           (double)cpu_ns / (double)report.n_steps, report.services[0].e2e_s / n,
           report.wrong != NULL ? report.wrong : "sound");
    sim_report_free(&report);
}

int main(int argc, char **argv)
{
    uint64_t n_requests = argc > 1 ? strtoull(argv[1], NULL, 10) : 200000;
    int32_t n_engines = argc > 2 ? (int32_t)strtol(argv[2], NULL, 10) : 32;
    double rate_per_s = argc > 3 ? strtod(argv[3], NULL) : 3;
    int n_policies;
    const char *only = getenv("ONLY");
    const struct schedule_policy *const *policies = schedule_all(&n_policies);
    for (int i = 0; i < n_policies; i++) {
        if (only != NULL && strcmp(only, policies[i]->name) != 0)
            continue;
        if (getenv("MODE") == NULL || getenv("MODE")[0] == 'h')
        run(policies[i]->name, 4096, n_requests, n_engines, rate_per_s);
        if (getenv("MODE") == NULL || getenv("MODE")[0] == 'e')
        run(policies[i]->name, 1, n_requests, n_engines, rate_per_s);
    }
    return 0;
}
