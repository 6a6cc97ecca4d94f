/* Learns figures of the services: solo times, lengths, arrival rates.
 *
 * L-hat and sigma are exponential averages over finished requests (window 1000) of the solo time
 * X(i, o) at their true lengths. Until 20 have finished, X(256, 256) replaces them
 * (docs/ALGORITHMS.md D-1).
 *
 * Arrival rates are averages over whole seconds of virtual or real time, so they depend on when
 * requests come, not on how often the engine looks. */
#include "engine/stats.h"
#include "engine/state.h"

#include "base/num.h"

#define STATS_WINDOW     1000 /* finished requests */
#define STATS_KNOWN      20
#define STATS_RATE_TICKS 30 /* seconds */
#define STATS_GUESS      256

static void show(struct engine *e, int service)
{
    const struct engine_stats *stats = &e->stats[service];
    struct schedule_service *shown = &e->services[service];
    shown->rate_per_s = stats->rate_per_s;
    shown->n_prompt_mean = stats->n_finished > 0 ? stats->n_prompt : STATS_GUESS;
    shown->n_output_mean = stats->n_finished > 0 ? stats->n_output : STATS_GUESS;
    if (stats->n_finished < STATS_KNOWN) {
        shown->solo_ns = perf_solo_ps(&shown->perf, STATS_GUESS, STATS_GUESS) / 1000;
        shown->solo_deviation_ns = 0;
    } else {
        shown->solo_ns = (int64_t)stats->solo_ns;
        shown->solo_deviation_ns = (int64_t)num_sqrt(stats->solo_variance);
    }
    shown->solo_ns = max_i64(shown->solo_ns, 1);
}

void engine_stats_init(struct engine *e, int service, const struct perf *perf)
{
    e->services[service].perf = *perf;
    show(e, service);
    e->view.n_changes++;
}

void engine_stats_arrived(struct engine *e, const struct request *request)
{
    e->stats[request->service].n_arrived++;
    e->stats[request->service].n_arrived_tick++;
}

void engine_stats_finished(struct engine *e, const struct request *request)
{
    struct engine_stats *stats = &e->stats[request->service];
    const struct perf *perf = &e->services[request->service].perf;
    int64_t n_output = request->n_tokens - request->n_prompt;
    double solo = (double)perf_solo_ps(perf, request->n_prompt, max_i64(n_output, 1)) / 1000;
    stats->n_finished++;
    double weight = 1.0 / (double)min_i64(stats->n_finished, STATS_WINDOW);
    double difference = solo - stats->solo_ns;
    stats->solo_ns += weight * difference;
    stats->solo_variance = (1 - weight) * (stats->solo_variance + weight * difference * difference);
    stats->n_prompt += weight * (request->n_prompt - stats->n_prompt);
    stats->n_output += weight * ((double)n_output - stats->n_output);
    show(e, request->service);
}

/* Returns the weight of the next tick after n_before ticks. */
static double weight_of_tick(int64_t n_before)
{
    bool is_full = n_before >= STATS_RATE_TICKS; /* spares a division */
    return is_full ? 1.0 / STATS_RATE_TICKS : 1.0 / (double)(n_before + 1);
}

void engine_stats_tick(struct engine *e, int64_t now_ns)
{
    if (e->next_tick_ns == 0)
        e->next_tick_ns = now_ns + TIME_NS_PER_S;
    /* After a long sleep the rates are practically zero, so not every second is processed. */
    if (now_ns - e->next_tick_ns > 1000 * TIME_NS_PER_S)
        e->next_tick_ns = now_ns - 1000 * TIME_NS_PER_S;
    if (now_ns < e->next_tick_ns)
        return; /* nearly always */
    int64_t n_ticks = (now_ns - e->next_tick_ns) / TIME_NS_PER_S + 1;
    e->next_tick_ns += n_ticks * TIME_NS_PER_S;
    int n = e->options.n_services;
    for (int service = 0; (service = set_next(&e->listed, service, n)) >= 0; service++) {
        struct engine_stats *stats = &e->stats[service]; /* no requests come for the others */
        double rate = stats->rate_per_s, n_arrived = (double)stats->n_arrived_tick;
        rate += weight_of_tick(e->n_ticks) * (n_arrived - rate);
        for (int64_t i = 1; i < n_ticks; i++) /* no request came in these seconds */
            rate -= weight_of_tick(e->n_ticks + i) * rate;
        stats->n_arrived_tick = 0;
        if ((rate > 0) != (stats->rate_per_s > 0))
            e->view.n_changes++;
        e->services[service].rate_per_s = stats->rate_per_s = rate;
    }
    e->n_ticks = min_i64(e->n_ticks + n_ticks, STATS_RATE_TICKS);
}

int64_t engine_stats_remaining_ns(const struct engine *e, int service)
{
    const struct schedule_service *shown = &e->services[service];
    int64_t sum_ns = (int64_t)shown->n_waiting * shown->solo_ns;
    for (uint32_t i = 0; i < shown->n_running; i++) {
        const struct request *r = &e->requests[shown->running[i]];
        int64_t n_done = r->n_tokens - r->n_prompt;
        int64_t n_all = r->n_predicted > 0 ? r->n_predicted : (int64_t)shown->n_output_mean;
        int64_t n_left = max_i64(min_i64(n_all, r->n_tokens_max - r->n_prompt) - n_done, 1);
        int64_t n_lacking = r->n_tokens - r->n_computed;
        sum_ns += n_lacking > 1 ? perf_solo_ps(&shown->perf, n_lacking, n_left) / 1000
                                : perf_decode_span_ps(&shown->perf, 1, r->n_tokens, n_left) / 1000;
    }
    return sum_ns;
}
