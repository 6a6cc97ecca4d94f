/* The seeded stream of requests: Poisson arrivals, a service drawn by its share of the rate,
 * lognormal lengths. Every purpose has its own stream of dice. */
#include "sim/workload.h"

#include "base/num.h"
#include "base/time.h"

enum { DICE_GAPS = 1, DICE_SERVICE, DICE_LENGTHS, DICE_CANCEL, DICE_DEADLINE };

void sim_workload_begin(struct sim_stream *stream, const struct sim_workload *workload)
{
    *stream = (struct sim_stream){ .workload = workload };
    for (int32_t i = 0; i < workload->n_services; i++)
        stream->rate_per_s += workload->services[i].rate_per_s;
    CHECK(stream->rate_per_s > 0);
    rng_init(&stream->gaps, workload->seed, DICE_GAPS);
}

static double dice(const struct sim_workload *w, uint64_t purpose, uint64_t number)
{
    return rng_unit_of(rng_at(w->seed, purpose, number));
}

static uint16_t draw_service(const struct sim_stream *stream, uint64_t number)
{
    const struct sim_workload *w = stream->workload;
    double x = dice(w, DICE_SERVICE, number) * stream->rate_per_s;
    int32_t i = 0;
    while (i < w->n_services - 1 && x >= w->services[i].rate_per_s)
        x -= w->services[i++].rate_per_s;
    return (uint16_t)i;
}

static int32_t draw_length(const struct sim_lengths *lengths, struct rng *rng)
{
    double x = num_exp(lengths->mean_log +
                       (lengths->sigma_log > 0 ? lengths->sigma_log * rng_normal(rng) : 0));
    if (x >= (double)lengths->max)
        return lengths->max;
    return max_i32((int32_t)num_floor(x + 0.5), max_i32(lengths->min, 1));
}

bool sim_workload_next(struct sim_stream *stream, struct sim_ask *ask)
{
    const struct sim_workload *w = stream->workload;
    struct rng lengths;
    if (stream->next == w->n_requests)
        return false;
    uint64_t number = stream->next++;
    stream->clock_s += rng_exponential(&stream->gaps) / stream->rate_per_s;
    *ask = (struct sim_ask){
        .number = number,
        .arrived_ns = (int64_t)(stream->clock_s * 1e9),
        .service = draw_service(stream, number),
        .cancel_ns = TIME_NEVER,
        .deadline_ns = TIME_NEVER,
    };
    const struct sim_traffic *traffic = &w->services[ask->service];
    rng_init(&lengths, w->seed ^ (number << 8), DICE_LENGTHS);
    ask->n_prompt = draw_length(&traffic->prompt, &lengths);
    ask->n_output = draw_length(&traffic->output, &lengths);
    if (w->length_noise >= 0)
        ask->n_predicted = max_i32(
            (int32_t)((double)ask->n_output *
                      (w->length_noise > 0 ? num_exp(w->length_noise * rng_normal(&lengths)) : 1)),
            1);
    if (dice(w, DICE_CANCEL, 2 * number) < w->cancelled)
        ask->cancel_ns =
            ask->arrived_ns + (int64_t)(-num_log(1 - dice(w, DICE_CANCEL, 2 * number + 1)) *
                                        (double)w->cancel_ns_mean);
    if (dice(w, DICE_DEADLINE, number) < w->with_deadline)
        ask->deadline_ns = ask->arrived_ns + w->deadline_ns;
    return true;
}

struct sim_traffic sim_workload_conversations(double rate_per_s)
{
    return (struct sim_traffic){
        .rate_per_s = rate_per_s,
        .prompt = { 6.9276, 0.5, 1, 8000 },  /* log 1,020 */
        .output = { 4.8598, 0.99, 2, 1500 }, /* log 129 */
    };
}
