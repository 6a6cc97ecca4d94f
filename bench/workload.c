/* What one request of a workload costs to draw, in nanoseconds of processor time.
 *
 * usage: workload [requests, default 4000000] */
#include "base/time.h"
#include "sim/tables.h"
#include "sim/workload.h"
#include <stdio.h>
#include <stdlib.h>

static void run(const char *what, const struct sim_workload *workload)
{
    struct sim_stream stream;
    struct sim_ask ask;
    int64_t n = 0, n_tokens = 0, begin_ns = time_thread_cpu_ns();
    sim_workload_begin(&stream, workload);
    while (sim_workload_next(&stream, &ask)) {
        n_tokens += ask.n_prompt + ask.n_output;
        n++;
    }
    sim_workload_end(&stream);
    double ns = (double)(time_thread_cpu_ns() - begin_ns);
    printf("%-44s %6.1f ns a request (%lld tokens each)\n", what, ns / (double)n,
           (long long)(n_tokens / n));
}

int main(int argc, char **argv)
{
    static struct sim_workload one, many;
    uint64_t n = argc > 1 ? strtoull(argv[1], NULL, 10) : 4000000;
    one = (struct sim_workload){
        .seed = 1, .n_requests = n, .n_services = 1, .prediction_noise = -1
    };
    one.services[0] = (struct sim_traffic){ .rate_per_s = 100, .prompt = { 5, 0, 1, 1000 } };
    one.services[0].output = one.services[0].prompt;
    run("constant lengths, Poisson", &one);
    one.services[0] = sim_workload_conversations(100);
    run("lognormal lengths, Poisson", &one);
    one.services[0].table = sim_tables_find("azure-conv");
    run("table azure-conv, Poisson", &one);
    one.prediction_noise = 0.3;
    run("table azure-conv, Poisson, noisy predictions", &one);
    one.prediction_noise = -1;
    many = one;
    many.n_services = 64;
    for (int i = 0; i < 64; i++)
        many.services[i] = one.services[0];
    run("table azure-conv, Poisson, 64 services", &many);
    one.services[0].arrivals = SIM_GAMMA;
    one.services[0].cv = 4;
    run("table azure-conv, Gamma", &one);
    one.services[0].arrivals = SIM_POISSON;
    one.services[0].on_s = one.services[0].off_s = 5;
    run("table azure-conv, bursts", &one);
    return 0;
}
