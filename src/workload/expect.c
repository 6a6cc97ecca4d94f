/* Computes the expected load of a service from its sources: mean rate and mean lengths. */
#include "base/num.h"
#include "base/time.h"
#include "workload/draw.h"
#include "workload/part.h"
#include "workload/trace.h"

enum { N_DRAWS = 4096 };

struct sums {
    double rate_per_s, n_prompt, n_output; /* lengths times rate */
};

static void add(struct sums *sums, double rate_per_s, double n_prompt, double n_output)
{
    sums->rate_per_s += rate_per_s;
    sums->n_prompt += rate_per_s * n_prompt;
    sums->n_output += rate_per_s * n_output;
}

double workload_expect_rate(double n, int64_t last_ns)
{
    return n / ((double)(last_ns > 0 ? last_ns : TIME_NS_PER_S) * 1e-9);
}

static double mean_rate(const struct workload_traffic *t)
{
    if (t->times_ns != NULL && t->rate_per_s > 0)
        return t->rate_per_s;
    if (t->times_ns != NULL) {
        double speed = t->times_speed > 0 ? t->times_speed : 1;
        int64_t last_ns = t->n_times > 0 ? t->times_ns[t->n_times - 1] : 0;
        return workload_expect_rate((double)t->n_times, (int64_t)((double)last_ns / speed));
    }
    if (t->arrivals == WORKLOAD_ONCE)
        return workload_expect_rate((double)t->n_requests, 0);
    double factor = 0;
    for (uint32_t i = 0; t->profile != NULL && i < t->profile->n; i++)
        factor += (double)t->profile->factors[i] / t->profile->n;
    return t->rate_per_s * (t->profile != NULL ? factor : 1);
}

static void add_traffic(struct sums *sums, const struct workload_traffic *traffic)
{
    double rate_per_s = mean_rate(traffic);
    int64_t n_prompt = 0, n_output = 0;
    if (!(rate_per_s > 0))
        return;
    for (uint64_t i = 0; i < N_DRAWS; i++) {
        struct workload_pair pair = workload_draw_lengths(traffic, 1, 0, i);
        n_prompt += pair.n_prompt;
        n_output += pair.n_output;
    }
    add(sums, rate_per_s, (double)n_prompt / N_DRAWS, (double)n_output / N_DRAWS);
}

static void add_replay(struct sums *sums, const struct workload_replay *replay, int32_t service)
{
    const struct workload_trace *trace = replay->trace;
    int64_t to = replay->to_ns > 0 ? replay->to_ns : TIME_NEVER, last_ns = replay->from_ns;
    int64_t n = 0, n_prompt = 0, n_output = 0;
    for (size_t i = 0; i < trace->n_rows; i++) {
        const struct workload_trace_row *row = &trace->rows[i];
        if (row->arrived_ns < replay->from_ns || row->arrived_ns >= to)
            continue;
        last_ns = row->arrived_ns;
        if (replay->service_of[row->model] != service)
            continue;
        struct workload_pair pair = workload_draw_cut(
            &replay->filter, (struct workload_pair){ row->n_prompt, row->n_output });
        n++;
        n_prompt += pair.n_prompt;
        n_output += pair.n_output;
    }
    if (n == 0)
        return;
    double speed = replay->speed > 0 ? replay->speed : 1;
    double rate_per_s =
        workload_expect_rate((double)n, (int64_t)((double)(last_ns - replay->from_ns) / speed));
    add(sums, rate_per_s, (double)n_prompt / (double)n, (double)n_output / (double)n);
}

void workload_expect(const struct workload *workload, int32_t service,
                     struct workload_expected *expected)
{
    struct sums sums = { 0, 0, 0 };
    add_traffic(&sums, &workload->services[service]);
    for (uint32_t i = 0; i < workload->n_more; i++)
        if (workload->more[i].service == service)
            add_traffic(&sums, &workload->more[i]);
    for (uint32_t i = 0; i < workload->n_replays; i++)
        add_replay(&sums, &workload->replays[i], service);
    *expected = (struct workload_expected){ .rate_per_s = sums.rate_per_s };
    if (sums.rate_per_s > 0) {
        expected->n_prompt = sums.n_prompt / sums.rate_per_s;
        expected->n_output = sums.n_output / sums.rate_per_s;
    }
}

struct workload_traffic workload_conversations(double rate_per_s)
{
    return (struct workload_traffic){
        .rate_per_s = rate_per_s,
        .prompt = { 6.9276, 0.5, 1, 8000 },  /* log 1,020 */
        .output = { 4.8598, 0.99, 2, 1500 }, /* log 129 */
    };
}
