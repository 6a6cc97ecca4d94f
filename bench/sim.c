/* How fast the simulator is, what it keeps, and how true it is: requests of Azure's conversation
 * lengths, full semantics (door and router, engines, block-level KV, holds).
 *
 * usage: sim [speed] [policies] [bus] [big] [memory] [truth], default all of them; or
 *        sim run REQUESTS ENGINES RATE POLICY MODE [ROUTER]    one line; RATE: requests/s an
 *        engine; MODE: holds, or steps (the policy plans every step) */
#include "base/num.h"
#include "base/time.h"
#include "sim/many.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* A 7B model on an A100: our fit (docs/ALGORITHMS.md, appendix A), tokens of 512 KiB. */
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
    .size.kv_bytes_per_token = 524288,
    .size.weights_bytes = INT64_C(14) << 30,
    .size.activation_bytes = INT64_C(2) << 30,
};

struct setting {
    uint64_t n_requests;
    int32_t n_engines;
    double rate_per_s; /* an engine */
    const char *policy;
    bool holds, is_list;             /* is_list: all of them come at once */
    const struct sim_faults *faults; /* of the bus; NULL: there is none */
    const char *router;              /* NULL: least */
};

static void run(const struct setting *s)
{
    struct workload workload = { .seed = 1, .n_requests = s->n_requests, .n_services = 1 };
    workload.services[0] = workload_conversations(s->rate_per_s * s->n_engines);
    workload.services[0].arrivals = s->is_list ? WORKLOAD_ONCE : WORKLOAD_POISSON;
    workload.services[0].n_requests = s->n_requests;
    struct schedule_config config;
    schedule_config_init(&config);
    config.n_rounds_max = s->holds ? 4096 : 1;
    struct sim_options options = {
        .n_engines = s->n_engines,
        .n_lanes = 1,
        .n_services = 1,
        .services = &service,
        .memory_bytes = INT64_C(76) << 30,
        .n_requests_max = s->is_list ? 4096 : 512,
        .n_live_max = 1 << 19,
        .n_tokens_max = 10240,
        .block_tokens = 16,
        .policy = schedule_find(s->policy),
        .config = &config,
        .router = s->router != NULL ? route_find(s->router) : NULL,
        .workload = &workload,
        .faults = s->faults,
    };
    struct sim_report report;
    int64_t begin_ns = time_now_ns(), cpu_ns = time_thread_cpu_ns();
    sim_run(&options, &report);
    cpu_ns = time_thread_cpu_ns() - cpu_ns;
    double wall_s = (double)(time_now_ns() - begin_ns) * 1e-9, n = (double)report.n_requests;
    printf(
        "%-11s %-6s %-5s %4d engines %4.1f/s %8.0f requests: %8.0f requests/s a core, %5.0f ns a "
        "step; %5.1f steps, %6.1f batches a request; %6.2f s, wall %6.2f s; %s\n",
        s->policy, options.router != NULL ? options.router->name : "least",
        s->holds ? "holds" : "steps", s->n_engines, s->rate_per_s, n, n / (double)cpu_ns * 1e9,
        (double)cpu_ns / (double)report.n_steps, (double)report.n_steps / n,
        (double)report.n_rounds / n, (double)cpu_ns * 1e-9, wall_s,
        report.wrong != NULL ? report.wrong : "sound");
    fflush(stdout);
    sim_report_free(&report);
}

/* ---- The parts. ---- */

static void speed(void)
{
    static const double rates[] = { 0.1, 0.3, 1, 2, 3 };
    static const char *const routers[] = { "least", "rr" };
    puts("speed: one core, 32 engines, by load (saturation is at about 3 requests/s an engine); "
         "the best published simulator: 770 requests/s");
    for (size_t k = 0; k < COUNT_OF(routers); k++)
        for (int holds = 1; holds >= 0; holds--)
            for (size_t i = 0; i < COUNT_OF(rates); i++)
                run(&(struct setting){ holds ? 400000 : 100000, 32, rates[i], "fcfs", holds, false,
                                       NULL, routers[k] });
}

static void policies(void)
{
    int n;
    const struct schedule_policy *const *all = schedule_all(&n);
    puts("policies: one core, 32 engines, 1 request/s each");
    for (int i = 0; i < n; i++)
        for (int holds = 1; holds >= 0; holds--)
            run(&(struct setting){ 50000, 32, 1, all[i]->name, holds, false, NULL });
}

static void big(void)
{
    puts("big: one hour of 3,000 requests/s on 1,000 engines; engines in turn, then least");
    run(&(struct setting){ 10800000, 1000, 3, "fcfs", true, false, NULL, "rr" });
    run(&(struct setting){ 10800000, 1000, 3, "fcfs", true, false, NULL, NULL });
}

/* Gateway, manager, node and messages; then with all that may go wrong. A machine has 16 engines.
 */
static void bus(void)
{
    static const struct sim_faults perfect = { 0 }, bad = { .latency_ns = TIME_NS_PER_MS,
                                                            .late_ns = TIME_NS_PER_MS,
                                                            .lost = 0.01,
                                                            .twice = 0.01,
                                                            .cut_ns = 300 * TIME_NS_PER_S,
                                                            .crash_ns = 100 * TIME_NS_PER_S };
    static const double rates[] = { 0.3, 1, 2 };
    puts("bus: 16 engines; perfect, then 1 to 2 ms late, 1% lost, 1% twice, cuts, crashes");
    for (int is_bad = 0; is_bad < 2; is_bad++)
        for (size_t i = 0; i < COUNT_OF(rates); i++)
            run(&(struct setting){ 50000, 16, rates[i], "fcfs", true, false,
                                   is_bad == 1 ? &bad : &perfect });
}

static int64_t resident_bytes(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (int64_t)usage.ru_maxrss * 1024;
}

/* A list that comes at once: what its peak is more than the process had before, all of it. */
static void memory(void)
{
    const uint64_t n = 131072;
    int64_t before_bytes = resident_bytes();
    puts("memory: all requests live at once, peak of resident memory");
    run(&(struct setting){ n, 32, 0, "fcfs", true, true, NULL });
    int64_t bytes = resident_bytes() - before_bytes;
    printf("%.0f bytes per live request, engines and their empty places included (%.1f MiB); a "
           "held block: 0 (counted, named by nobody)\n",
           (double)bytes / (double)n, (double)bytes / 1048576);
}

/* ---- Queues at a load of 0.95: the mean wait with its interval, beside the closed form. ---- */

struct queue {
    const char *name;
    int32_t n_servers; /* engines of one request each */
    bool is_exponential;
    double expected_s;
};

/* Service times, as tokens of a prompt: the middles of equally likely parts. */
enum { N_PAIRS = 8192, N_RUNS = 16, MEAN = 500 };
static const double load = 0.95, service_s = 0.01;

static void wait_at(const struct queue *q)
{
    static struct workload_pair pairs[N_PAIRS];
    struct sim_service server = { .name = "server",
                                  .size.kv_bytes_per_token = 100,
                                  .perf = { .k1_ps = (int64_t)(service_s * 1e12) / MEAN,
                                            .c3_ps = { 1000, 1000 },
                                            .b_switch = 1000,
                                            .prefill_scale = 1,
                                            .decode_scale = 1 } };
    struct workload workloads[N_RUNS];
    struct sim_options options[N_RUNS];
    struct sim_report reports[N_RUNS];
    double sum_s = 0, squares = 0;
    for (int i = 0; i < N_PAIRS; i++) {
        double tokens = q->is_exponential ? -MEAN * num_log(1 - (i + 0.5) / N_PAIRS) : MEAN;
        pairs[i] = (struct workload_pair){ max_i32((int32_t)(tokens + 0.5), 1), 1 };
    }
    for (int i = 0; i < N_RUNS; i++) {
        workloads[i] =
            (struct workload){ .seed = 100 + (uint64_t)i, .n_requests = 1000000, .n_services = 1 };
        workloads[i].services[0] = (struct workload_traffic){
            .rate_per_s = load * q->n_servers / service_s, .pairs = pairs, .n_pairs = N_PAIRS
        };
        options[i] = (struct sim_options){ .n_engines = q->n_servers,
                                           .n_lanes = 1,
                                           .n_services = 1,
                                           .services = &server,
                                           .memory_bytes = 100000000,
                                           .n_requests_max = 1,
                                           .n_tokens_max = 8192,
                                           .policy = schedule_find("fcfs"),
                                           .workload = &workloads[i] };
    }
    sim_many_run(options, reports, N_RUNS, 0);
    for (int i = 0; i < N_RUNS; i++) {
        const struct sim_service_report *s = &reports[i].services[0];
        double wait_s = (s->e2e_s - s->solo_s) / (double)reports[i].n_requests;
        sum_s += wait_s;
        squares += wait_s * wait_s;
        sim_report_free(&reports[i]);
    }
    double mean_s = sum_s / N_RUNS, variance = (squares - N_RUNS * mean_s * mean_s) / (N_RUNS - 1);
    double half_s = 2.131 * num_sqrt(variance / N_RUNS); /* Student's t of 15 degrees, 95% */
    printf("truth: %s at load 0.95: mean wait %.5f s, 95%% between %.5f and %.5f; closed form "
           "%.5f (off by %.2f%%)\n",
           q->name, mean_s, mean_s - half_s, mean_s + half_s, q->expected_s,
           100 * (mean_s / q->expected_s - 1));
}

/* Pollaczek and Khinchine; Erlang's C, the chance to wait times the mean of those who do. */
static void truth(void)
{
    const int32_t c = 4;
    double term = 1, sum = 0;
    for (int32_t k = 0; k < c; k++) {
        sum += term;
        term *= load * c / (k + 1);
    }
    double waits = term / (1 - load) / (sum + term / (1 - load));
    wait_at(&(struct queue){ "M/D/1", 1, false, service_s * load / (2 * (1 - load)) });
    wait_at(&(struct queue){ "M/M/4", c, true, waits * service_s / (c * (1 - load)) });
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } parts[] = { { "memory", memory }, /* first: the peak is the process's */
                  { "speed", speed },   { "policies", policies }, { "bus", bus },
                  { "big", big },       { "truth", truth } };
    if (argc >= 7 && strcmp(argv[1], "run") == 0 && schedule_find(argv[5]) != NULL) {
        run(&(struct setting){ strtoull(argv[2], NULL, 10), (int32_t)strtol(argv[3], NULL, 10),
                               strtod(argv[4], NULL), argv[5], strcmp(argv[6], "holds") == 0, false,
                               NULL, argc > 7 ? argv[7] : NULL });
        return 0;
    }
    puts("how measured: processor time of the one thread that simulates, opening and closing "
         "included; every run checks itself");
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        bool is_asked = argc == 1;
        for (int k = 1; k < argc; k++)
            is_asked |= strcmp(argv[k], parts[i].name) == 0;
        if (is_asked)
            parts[i].run();
    }
    return 0;
}
