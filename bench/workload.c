/* What one request of a workload costs to draw, in nanoseconds of processor time, and how near the
 * drawn requests' figures are to those of their sources.
 *
 * usage: workload [requests, default 4000000; 0: the figures alone [FOLDER of the published traces,
 *        unpacked: azure-llm-2023, mooncake]] */
#include "base/mem.h"
#include "base/num.h"
#include "base/time.h"
#include "workload/tables.h"
#include "workload/workload.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void run(const char *what, const struct workload *workload)
{
    struct workload_stream stream;
    struct workload_ask ask;
    int64_t n = 0, n_tokens = 0, begin_ns = time_thread_cpu_ns();
    workload_begin(&stream, workload);
    while (workload_next(&stream, &ask)) {
        n_tokens += ask.n_prompt + ask.n_output;
        n++;
    }
    workload_end(&stream);
    double ns = (double)(time_thread_cpu_ns() - begin_ns);
    printf("%-44s %6.1f ns a request (%lld tokens each)\n", what, ns / (double)n,
           (long long)(n_tokens / n));
}

/* ---- Figures. ---- */

enum { DRAWS_MAX = 200000 };
struct known { /* of a source; 0 = not published. Lengths: mean, median, 90% and 99% quantiles */
    const char *text;
    double rate, cv, prompts[4], outputs[4];
};

/* What the published files say of themselves (ServeGen: of their first week, which the tables are
 * of, each client weighing its rate; here at a rate that makes it 200,000 requests. Over both weeks
 * clients with short answers ask more: m-small's mean is 15 then), and theory of gaps: Gamma and
 * Weibull of shape k have the coefficients of variation 1/sqrt(k) and sqrt(G(1 + 2/k) / G(1 +
 * 1/k)^2 - 1). */
static const struct known drawn[] = {
    { "poisson:rate=10,in=100,out=50", 10, 1, { 100, 100 }, { 50, 50 } },
    { "gamma:rate=10,cv=4,in=100,out=50", 10, 4, { 100 }, { 50 } },
    { "weibull:rate=10,shape=0.5,in=100,out=50", 10, 2.236, { 100 }, { 50 } },
    { "poisson:rate=10,on=5s,off=20s,in=100,out=50", 10, 0, { 100 }, { 50 } },
    { "poisson:rate=5,in=100,out=50,length-noise=0.3", 5, 1, { 100 }, { 50 } },
    { "azure-conv:rate=5.53", 5.53, 1, { 1155, 1020, 2735, 4142 }, { 211, 129, 424, 601 } },
    { "azure-conv:rate=5.53,arrivals=trace", 5.53, 1.09, { 1155 }, { 211 } },
    { "azure-code:rate=2.57", 2.57, 1, { 2048, 1469, 5188, 7436 }, { 28, 13, 55, 252 } },
    { "azure-code:rate=2.57,arrivals=trace", 2.57, 13.2, { 2048 }, { 28 } },
    { "sharegpt:rate=2", 2, 1, { 161 }, { 338 } },
    { "sharegpt-turns:rate=2", 2, 1, { 248, 36, 759, 2863 }, { 325, 283, 682, 999 } },
    { "sharegpt-first:rate=2", 2, 1, { 74, 20, 198, 780 }, { 229, 217, 409, 607 } },
    { "alpaca:rate=2", 2, 1, { 14, 11, 23, 57 }, { 48, 37, 102, 207 } },
    { "lmsys:rate=2", 2, 1, { 62, 17 }, { 162, 117 } },
    { "creation:rate=2", 2, 1, { 308, 309 }, { 1144, 1107 } },
    { "arxiv:rate=2", 2, 1, { 2588, 2730, 3702, 3933 }, { 291, 167, 372, 3271 } },
    { "mooncake:rate=3.4", 3.4, 1, { 12035, 6909, 27367, 85400 }, { 343, 350, 597, 1119 } },
    { "mooncake-synthetic:rate=3.91",
      3.91,
      1,
      { 15325, 11587, 38611, 66456 },
      { 149, 69, 389, 768 } },
    { "servegen:rate=0.33,clients=m-large",
      0.33,
      0,
      { 964, 627, 2378, 5728 },
      { 161, 54, 466, 832 } },
    { "servegen:rate=0.33,clients=m-mid", 0.33, 0, { 305, 173, 670, 2878 }, { 52.5, 34, 90, 495 } },
    { "servegen:rate=0.33,clients=m-small", 0.33, 0, { 127, 43, 403, 1487 }, { 18.4, 3, 53, 161 } },
};
/* "%s" is the folder. */
static const struct known files[] = {
    { "file:%s/azure-llm-2023/AzureLLMInferenceTrace_conv.csv",
      5.53,
      1.09,
      { 1155, 1020, 2735, 4142 },
      { 211, 129, 424, 601 } },
    { "file:%s/azure-llm-2023/AzureLLMInferenceTrace_code.csv",
      2.57,
      13.2,
      { 2048, 1469, 5188, 7436 },
      { 28, 13, 55, 252 } },
    { "mooncake:%s/mooncake/conversation_trace.jsonl",
      3.40,
      3.03,
      { 12035, 6909, 27367, 85400 },
      { 343, 350, 597, 1119 } },
    { "mooncake:%s/mooncake/synthetic_trace.jsonl",
      3.91,
      1.01,
      { 15325, 11587, 38611, 66456 },
      { 149, 69, 389, 768 } },
};

static int ascends(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print_lengths(double *values, size_t n, const double *known)
{
    double figures[4] = { 0 };
    for (size_t i = 0; i < n; i++)
        figures[0] += values[i] / (double)n;
    qsort(values, n, sizeof(*values), ascends);
    figures[1] = values[n / 2];
    figures[2] = values[n * 9 / 10];
    figures[3] = values[n * 99 / 100];
    for (int f = 0; f < 4; f++) {
        printf(" %7.0f", figures[f]);
        if (known[f] > 0)
            printf(" %+6.1f%%", 100 * (figures[f] / known[f] - 1));
        else
            printf(" %7s", "");
    }
}

static void figures_of(const struct known *known, const char *folder)
{
    struct workload w;
    struct workload_stream stream;
    struct workload_ask ask;
    struct fault fault;
    char text[512];
    snprintf(text, sizeof(text), "%s", known->text);
    const char *slot = strstr(known->text, "%s");
    if (slot != NULL)
        snprintf(text, sizeof(text), "%.*s%s%s", (int)(slot - known->text), known->text, folder,
                 slot + 2);
    workload_init(&w);
    if (workload_parse(&w, text, &fault) != STATUS_OK) {
        printf("%-44.44s %s\n", text, fault.text);
        workload_free(&w);
        return;
    }
    double *prompts = mem_take(DRAWS_MAX * sizeof(double)), sum = 0, squares = 0;
    double *outputs = mem_take(DRAWS_MAX * sizeof(double));
    size_t n = 0;
    int64_t last_ns = 0;
    workload_begin(&stream, &w);
    while (n < DRAWS_MAX && workload_next(&stream, &ask)) {
        double gap_s = (double)(ask.arrived_ns - last_ns) * 1e-9;
        last_ns = ask.arrived_ns;
        sum += gap_s;
        squares += gap_s * gap_s;
        prompts[n] = ask.n_prompt;
        outputs[n++] = ask.n_output;
    }
    workload_end(&stream);
    double mean = sum / (double)n, rate = 1 / mean;
    double cv = num_sqrt(squares / (double)n - mean * mean) / mean;
    printf("%-44.44s %7zu %7.2f", slot != NULL ? known->text : text, n, rate);
    printf(" %+6.1f%%", 100 * (rate / known->rate - 1));
    printf(" %6.2f", cv);
    if (known->cv > 0)
        printf(" %+6.1f%% |", 100 * (cv / known->cv - 1));
    else
        printf(" %7s |", "");
    print_lengths(prompts, n, known->prompts);
    printf(" |");
    print_lengths(outputs, n, known->outputs);
    printf("\n");
    mem_give(prompts);
    mem_give(outputs);
    workload_free(&w);
}

static void figures(const char *folder)
{
    printf("\nfigures of up to %d requests, each with how far it is off its source's\n%-44s %7s "
           "%15s %14s | prompts: mean, 50, 90, 99%% | outputs: the same\n",
           DRAWS_MAX, "workload", "n", "requests/s", "cv of gaps");
    for (size_t i = 0; i < COUNT_OF(drawn); i++)
        figures_of(&drawn[i], NULL);
    for (size_t i = 0; i < COUNT_OF(files) && folder != NULL; i++)
        figures_of(&files[i], folder);
}

int main(int argc, char **argv)
{
    static struct workload one, many;
    uint64_t n = argc > 1 ? strtoull(argv[1], NULL, 10) : 4000000;
    if (n == 0) {
        figures(argc > 2 ? argv[2] : NULL);
        return 0;
    }
    one = (struct workload){ .seed = 1, .n_requests = n, .n_services = 1, .prediction_noise = -1 };
    one.services[0] = (struct workload_traffic){ .rate_per_s = 100, .prompt = { 5, 0, 1, 1000 } };
    one.services[0].output = one.services[0].prompt;
    run("constant lengths, Poisson", &one);
    one.services[0] = workload_conversations(100);
    run("lognormal lengths, Poisson", &one);
    one.services[0].table = workload_tables_find("azure-conv");
    run("table azure-conv, Poisson", &one);
    one.prediction_noise = 0.3;
    run("table azure-conv, Poisson, noisy predictions", &one);
    one.prediction_noise = -1;
    many = one;
    many.n_services = 64;
    for (int i = 0; i < 64; i++)
        many.services[i] = one.services[0];
    run("table azure-conv, Poisson, 64 services", &many);
    one.services[0].arrivals = WORKLOAD_GAMMA;
    one.services[0].cv = 4;
    run("table azure-conv, Gamma", &one);
    one.services[0].arrivals = WORKLOAD_POISSON;
    one.services[0].on_s = one.services[0].off_s = 5;
    run("table azure-conv, bursts", &one);
    figures(NULL);
    return 0;
}
