/* Block bootstrap, service by service, and sums of scores. */
#include "place/samples.h"

#include "base/num.h"
#include "base/rng.h"
#include <stdlib.h>
#include <string.h>

/* How much faster each sample is played, and one that is alone. */
static const double paces[PLACE_SAMPLES] = { 1, 1, 1.2, 1.2, 1 }, lone_pace = 1.2;
/* The weight of the window that was seen; the other samples share the rest equally. */
static const double seen_part = 1.0 / 3;
/* Races begin with a pair of drawn samples, which are shorter than the window that was seen. */
static const int32_t orders[PLACE_SAMPLES] = { 1, 2, 0, 3, 4 };
enum { BLOCKS_MAX = 64 * PLACE_SAMPLE_BLOCKS };
static const double drift_max = 0.7, factor_max = 4;
/* The plan with fewer devices wins among equals. */
static const double missed_weight = 0.25, left_out_weight = 1e3, device_weight = 1e-3;

static int by_arrival(const void *a, const void *b)
{
    const struct place_request *x = a, *y = b;
    if (x->arrived_ns != y->arrived_ns)
        return x->arrived_ns < y->arrived_ns ? -1 : 1;
    if (x->service != y->service)
        return x->service < y->service ? -1 : 1;
    if (x->n_prompt != y->n_prompt)
        return x->n_prompt < y->n_prompt ? -1 : 1;
    return (x->n_output > y->n_output) - (x->n_output < y->n_output);
}

/* ---- How rates drift. ---- */

/* Counts the requests of each service in the two halves of the window. counts: (2, n_services) */
static void count_halves(const struct place_problem *problem, double *counts)
{
    const struct place_window *window = &problem->window;
    for (int32_t i = 0; i < window->n; i++) {
        const struct place_request *r = &window->requests[i];
        bool is_late = r->arrived_ns >= window->span_ns / 2;
        counts[is_late ? problem->n_services + r->service : r->service]++;
    }
}

/* Returns the variance of the logarithm of a service's rate from one half to the next, beyond that
 * of Poisson arrivals. */
static double drift_of(const double *counts, int32_t n_services)
{
    double sum = 0;
    int32_t n = 0;
    for (int32_t s = 0; s < n_services; s++) {
        double a = counts[s] + 0.5, b = counts[n_services + s] + 0.5;
        double log_ratio = num_log(a / b);
        if (a + b < 4)
            continue; /* chance alone */
        sum += (log_ratio * log_ratio - 1 / a - 1 / b) / 2;
        n++;
    }
    double drift = n > 0 ? sum / n : 0;
    return drift < 0 ? 0 : drift > drift_max ? drift_max : drift;
}

static void measure(struct place_samples *samples)
{
    const struct place_desk *desk = samples->desk;
    size_t n = (size_t)desk->problem->n_services;
    double *counts = pile_take(desk->pile, 2 * n * sizeof(*counts));
    count_halves(desk->problem, counts);
    samples->drift = drift_of(counts, desk->problem->n_services);
}

/* ---- Samples. ---- */

/* Returns the span of an arrival; the last one also when the arrival was rounded up to the window's
 * end. */
static int32_t block_of(const struct place_window *window, int64_t arrived_ns)
{
    double block = (double)arrived_ns / (double)window->span_ns * PLACE_SAMPLE_BLOCKS;
    return min_i32((int32_t)block, PLACE_SAMPLE_BLOCKS - 1);
}

static int32_t blocks_of(const struct place_samples *samples, int32_t sample)
{
    return sample == 0 ? samples->n_seen : samples->n_blocks;
}

/* The spans that one service draws for one sample. */
struct draws {
    uint8_t counts[BLOCKS_MAX][PLACE_SAMPLE_BLOCKS]; /* (to, from) how often */
};
static void draw_blocks(const struct place_samples *samples, int32_t sample, int32_t service,
                        struct draws *draws)
{
    struct rng rng;
    double deviation = num_sqrt(samples->drift), z;
    memset(draws, 0, sizeof(*draws));
    rng_init(&rng, samples->desk->seed, (uint64_t)((sample + 1) / 2) << 32 | (uint64_t)service);
    z = rng_normal(&rng) * (sample % 2 == 0 ? -1 : 1);
    rng_init(&rng, samples->desk->seed,
             (uint64_t)(sample + PLACE_SAMPLES) << 32 | (uint64_t)service);
    double factor = num_exp(deviation * z - samples->drift / 2);
    factor = factor < factor_max ? factor : factor_max;
    int32_t n_blocks = blocks_of(samples, sample);
    for (int32_t to = 0; to < n_blocks; to++) {
        if (sample == 0) {
            draws->counts[to][PLACE_SAMPLE_BLOCKS - n_blocks + to] = 1;
            continue;
        }
        for (double left = factor; left > 0; left -= 1) { /* a part counts with that probability */
            uint32_t from = rng_below(&rng, PLACE_SAMPLE_BLOCKS);
            if (rng_unit(&rng) < left)
                draws->counts[to][from]++;
        }
    }
}

/* Copies the sample's requests into `out`, unless that is NULL. draws: (n_services). Returns how
 * many. */
static int32_t copy(const struct place_samples *samples, const struct draws *draws, double pace,
                    struct place_request *out)
{
    const struct place_window *window = &samples->desk->problem->window;
    int64_t block_ns = window->span_ns / PLACE_SAMPLE_BLOCKS;
    int32_t n = 0;
    for (int32_t i = 0; i < window->n; i++) {
        const struct place_request *r = &window->requests[i];
        int32_t from = block_of(window, r->arrived_ns);
        for (int32_t to = 0; to < max_i32(samples->n_blocks, samples->n_seen); to++) {
            int64_t at_ns = max_i64(r->arrived_ns + (to - from) * block_ns, 0);
            for (int32_t k = 0; k < draws[r->service].counts[to][from]; k++, n++) {
                if (out == NULL)
                    continue;
                out[n] = *r;
                out[n].arrived_ns = (int64_t)((double)at_ns / pace);
            }
        }
    }
    return n;
}

static void draw(struct place_samples *samples, int32_t sample, double pace, struct draws *draws)
{
    const struct place_desk *desk = samples->desk;
    for (int32_t s = 0; s < desk->problem->n_services; s++)
        draw_blocks(samples, sample, s, &draws[s]);
    int32_t n = copy(samples, draws, pace, NULL);
    struct place_request *requests =
        pile_take(desk->pile, (size_t)max_i32(n, 1) * sizeof(*requests));
    (void)copy(samples, draws, pace, requests);
    qsort(requests, (size_t)n, sizeof(*requests), by_arrival);
    double span = (double)desk->problem->window.span_ns * blocks_of(samples, sample);
    int64_t span_ns = (int64_t)(span / (PLACE_SAMPLE_BLOCKS * pace)) + 1;
    if (n > 0)
        span_ns = max_i64(span_ns, requests[n - 1].arrived_ns + 1);
    samples->windows[sample] = (struct place_window){ requests, n, span_ns };
}

/* Returns the mean solo time of a request of the window. */
static double mean_solo_s(const struct place_problem *problem)
{
    double sum = 0;
    for (int32_t s = 0; s < problem->n_services; s++)
        sum += problem->services[s].solo_s * (double)problem->services[s].n_requests;
    return problem->window.n > 0 ? sum / problem->window.n : 0;
}

/* Sets how many spans a sample has, and returns how many samples there are. */
static int32_t size(struct place_samples *samples)
{
    const struct place_desk *desk = samples->desk;
    const struct place_window *window = &desk->problem->window;
    double each = window->n / (double)PLACE_SAMPLE_BLOCKS;
    double block_s = (double)window->span_ns * 1e-9 / PLACE_SAMPLE_BLOCKS;
    double usual = PLACE_SAMPLE_USUAL * desk->effort / each + 0.5;
    double most = PLACE_SAMPLE_LONG * desk->effort / each;
    double wanted = PLACE_SAMPLE_SOLOS * mean_solo_s(desk->problem) / block_s + 1;
    if (usual < PLACE_SAMPLE_BLOCKS)
        samples->n_blocks = max_i32((int32_t)usual, 1);
    samples->n_seen = min_i32(2 * samples->n_blocks, PLACE_SAMPLE_BLOCKS);
    wanted = wanted < most ? wanted : most;
    if (wanted <= samples->n_blocks)
        return PLACE_SAMPLES;
    double all = (PLACE_SAMPLES - 1) * samples->n_blocks;
    samples->n_blocks = wanted < BLOCKS_MAX ? (int32_t)wanted : BLOCKS_MAX;
    int32_t n = max_i32((int32_t)(all / samples->n_blocks + 0.5), 1);
    samples->length = n * samples->n_blocks / all;
    samples->length = samples->length > 1 ? samples->length : 1;
    return n + 1;
}

void place_samples_open(struct place_samples *samples, const struct place_desk *desk)
{
    const struct place_window *window = &desk->problem->window;
    size_t n_services = (size_t)desk->problem->n_services;
    *samples = (struct place_samples){
        .desk = desk, .n = 1, .n_blocks = PLACE_SAMPLE_BLOCKS, .length = 1
    };
    samples->windows[0] = *window;
    if (window->n < PLACE_SAMPLE_LEAST || window->span_ns < PLACE_SAMPLE_BLOCKS)
        return;
    int32_t n = size(samples);
    measure(samples);
    struct draws *draws = pile_take(desk->pile, n_services * sizeof(*draws));
    bool is_alone = n == 2; /* besides the window that was seen, which is shorter and comes first */
    for (int32_t k = 0; k < n; k++) {
        draw(samples, k, is_alone && k > 0 ? lone_pace : paces[k], draws);
        samples->order[k] = is_alone ? k : orders[k];
    }
    samples->n = n;
}

/* ---- Scores. ---- */

static void reserve(struct place_samples *samples, int32_t n)
{
    const struct place_desk *desk = samples->desk;
    size_t n_services = (size_t)desk->problem->n_services;
    if (n <= samples->n_scores)
        return;
    samples->n_scores = n;
    samples->scores = pile_take(desk->pile, (size_t)n * sizeof(*samples->scores));
    for (int32_t i = 0; i < n; i++)
        samples->scores[i].services =
            pile_take(desk->pile, n_services * sizeof(*samples->scores[i].services));
}

static void add(struct place_service_score *to, const struct place_service_score *from, int32_t n)
{
    for (int32_t s = 0; s < n; s++) {
        to[s].n += from[s].n;
        to[s].n_done += from[s].n_done;
        to[s].n_met += from[s].n_met;
        to[s].normalized += from[s].normalized;
        to[s].latency_s += from[s].latency_s;
    }
}

static double cost_of(const struct place_problem *problem, const struct place_score *score)
{
    double n = problem->n_services, normalized = score->normalized;
    return num_log(normalized > 1e-9 ? normalized : 1e-9) + (1 - score->attainment) +
           missed_weight * (1 - score->n_met / n) + left_out_weight * (n - score->n_placed) +
           device_weight * score->n_devices / problem->n_devices;
}

static void sum_up(const struct place_samples *samples, struct place_score *score)
{
    const struct place_problem *problem = samples->desk->problem;
    int64_t n = 0, n_met = 0;
    score->n_met = 0;
    score->normalized = 0;
    for (int32_t s = 0; s < problem->n_services; s++) {
        const struct place_service_score *own = &score->services[s];
        n += own->n;
        n_met += own->n_met;
        score->normalized += own->normalized;
        score->n_met += (double)own->n_met >= problem->limits.attainment * (double)own->n;
    }
    score->attainment = n > 0 ? (double)n_met / (double)n : 1;
    score->normalized = n > 0 ? score->normalized / (double)n : 0;
}

/* Returns the weight of one sample in a plan's cost. */
static double part_of(const struct place_samples *samples, int32_t sample)
{
    if (samples->n == 1)
        return 1;
    return sample == 0 ? seen_part : (1 - seen_part) / (samples->n - 1);
}

/* Scores the plans in the k-th sample of the order, and adds the results to their scores and
 * costs. */
static void add_sample(struct place_samples *samples, const struct place_plan *const *plans, int n,
                       int32_t k, struct place_score *scores, double *costs)
{
    const struct place_desk *desk = samples->desk;
    const struct place_judge *judge = desk->judge;
    size_t n_services = (size_t)desk->problem->n_services;
    double part = part_of(samples, samples->order[k]);
    reserve(samples, n);
    judge->score(judge->self, plans, n, &samples->windows[samples->order[k]], samples->scores);
    for (int i = 0; i < n; i++) {
        const struct place_score *own = &samples->scores[i];
        struct place_service_score *services = scores[i].services;
        if (k == 0) {
            scores[i] = *own;
            scores[i].services = services;
            memcpy(services, own->services, n_services * sizeof(*services));
        } else {
            add(services, own->services, desk->problem->n_services);
        }
        costs[i] += cost_of(desk->problem, own) * part;
    }
}

/* Returns how much a plan costs in a sample, relative to what the sample takes to simulate. */
static double dearness(const struct place_samples *samples, const double *costs, int32_t sample)
{
    double length = blocks_of(samples, sample);
    return costs[sample] > 0 ? costs[sample] / length : costs[sample] * length;
}

void place_samples_aim(struct place_samples *samples, const struct place_plan *plan)
{
    const struct place_judge *judge = samples->desk->judge;
    double costs[PLACE_SAMPLES];
    reserve(samples, 1);
    for (int32_t k = 0; k < samples->n; k++) {
        int32_t at = k;
        judge->score(judge->self, &plan, 1, &samples->windows[k], samples->scores);
        costs[k] = cost_of(samples->desk->problem, &samples->scores[0]);
        for (; at > 0 &&
               dearness(samples, costs, samples->order[at - 1]) < dearness(samples, costs, k);
             at--)
            samples->order[at] = samples->order[at - 1];
        samples->order[at] = k;
    }
    for (int32_t k = 0; k < samples->n; k++)
        samples->aimed[k] = (k > 0 ? samples->aimed[k - 1] : 0) +
                            costs[samples->order[k]] * part_of(samples, samples->order[k]);
}

struct heat { /* those still in a race, the cheapest first */
    const struct place_plan *plans[PLACE_RACE_MAX];
    struct place_score scores[PLACE_RACE_MAX];
    double costs[PLACE_RACE_MAX];
    int32_t of[PLACE_RACE_MAX]; /* where they are among all */
};
static void sort_heat(struct heat *heat, int n)
{
    for (int i = 1; i < n; i++) {
        const struct place_plan *plan = heat->plans[i];
        struct place_score score = heat->scores[i];
        double cost = heat->costs[i];
        int32_t of = heat->of[i];
        int at = i;
        for (; at > 0 && heat->costs[at - 1] > cost; at--) {
            heat->plans[at] = heat->plans[at - 1];
            heat->scores[at] = heat->scores[at - 1];
            heat->costs[at] = heat->costs[at - 1];
            heat->of[at] = heat->of[at - 1];
        }
        heat->plans[at] = plan;
        heat->scores[at] = score;
        heat->costs[at] = cost;
        heat->of[at] = of;
    }
}

static void open_heat(struct heat *heat, const struct place_plan *const *plans, int n,
                      const struct place_score *scores, double *costs)
{
    CHECK(n <= PLACE_RACE_MAX);
    for (int i = 0; i < n; i++) {
        heat->plans[i] = plans[i];
        heat->scores[i] = scores[i];
        heat->costs[i] = 0;
        heat->of[i] = i;
        costs[i] = PLACE_COST_LOST;
    }
}

/* Announces the samples from the k-th on. If it is certain that these plans will be judged in each,
 * that is all of them. While a single plan is judged, which leaves cores idle, it is the next one
 * too. */
static void expect(struct place_samples *samples, const struct heat *heat, int n, int32_t k,
                   bool is_certain)
{
    const struct place_judge *judge = samples->desk->judge;
    const struct place_window *windows[PLACE_SAMPLES];
    int32_t n_windows = is_certain ? samples->n - k : min_i32(samples->n - k, 2);
    for (int32_t i = 0; i < n_windows; i++)
        windows[i] = &samples->windows[samples->order[k + i]];
    if (judge->expect != NULL && n_windows > 1 && (is_certain || n == 1))
        judge->expect(judge->self, heat->plans, n, windows, n_windows);
}

/* bars: (the samples' n), the highest cost so far with which a plan stays, after each sample; NULL:
 * no limit. Returns how many are left. */
static int run_heat(struct place_samples *samples, struct heat *heat, int n, int n_kept,
                    const double *bars)
{
    for (int32_t k = 0; k < samples->n && n > 0; k++) {
        expect(samples, heat, n, k, bars == NULL && n <= n_kept);
        add_sample(samples, heat->plans, n, k, heat->scores, heat->costs);
        sort_heat(heat, n);
        if (k + 1 < samples->n)
            n = min_i32(n, max_i32(n / 2, n_kept));
        while (bars != NULL && n > 0 && heat->costs[n - 1] > bars[k])
            n--;
    }
    return n;
}

static void close_heat(const struct place_samples *samples, struct heat *heat, int n,
                       struct place_score *scores, double *costs)
{
    for (int i = 0; i < n; i++) {
        sum_up(samples, &heat->scores[i]);
        scores[heat->of[i]] = heat->scores[i];
        costs[heat->of[i]] = heat->costs[i];
    }
}

void place_samples_first(struct place_samples *samples, const struct place_plan *const *plans,
                         int n, struct place_score *scores, double *costs)
{
    for (int i = 0; i < n; i++)
        costs[i] = 0;
    add_sample(samples, plans, n, 0, scores, costs);
}

void place_samples_race(struct place_samples *samples, const struct place_plan *const *plans, int n,
                        int n_kept, struct place_score *scores, double *costs)
{
    struct heat heat;
    open_heat(&heat, plans, n, scores, costs);
    close_heat(samples, &heat, run_heat(samples, &heat, n, n_kept, NULL), scores, costs);
}

void place_samples_challenge(struct place_samples *samples, const struct place_plan *const *plans,
                             int n, int n_kept, struct place_score *scores, double *costs)
{
    struct heat heat;
    open_heat(&heat, plans, n, scores, costs);
    close_heat(samples, &heat, run_heat(samples, &heat, n, n_kept, samples->aimed), scores, costs);
}

static void score(void *self, const struct place_plan *const *plans, int n,
                  const struct place_window *window, struct place_score *scores)
{
    (void)window;
    while (n > 0) {
        double costs[PLACE_RACE_MAX];
        int n_own = min_i32(n, PLACE_RACE_MAX);
        place_samples_race(self, plans, n_own, n_own, scores, costs);
        plans += n_own;
        scores += n_own;
        n -= n_own;
    }
}

static int64_t work(const void *self)
{
    const struct place_samples *samples = self;
    return samples->desk->judge->work(samples->desk->judge->self);
}

struct place_judge place_samples_face(struct place_samples *samples)
{
    return (struct place_judge){ .self = samples, .score = score, .work = work };
}
