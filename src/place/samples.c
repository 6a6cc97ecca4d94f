/* Block bootstrap, service by service, and sums of scores. */
#include "place/samples.h"

#include "base/rng.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How much quicker each sample is played. */
static double paces[PLACE_SAMPLES_MAX] = { 1, 1.2, 1.5, 1.2 };
static int n_samples = 3;
/* Of a window with fewer requests there is nothing to draw. */
enum { REQUESTS_LEAST = 64 };

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

static int32_t block_of(const struct place_window *window, int64_t arrived_ns)
{
    return (int32_t)((double)arrived_ns / (double)window->span_ns * PLACE_SAMPLE_BLOCKS);
}

/* The block of the window that a service has in the place of `block`. */
static int32_t drawn(const struct place_samples *samples, int32_t sample, int32_t service,
                     int32_t block)
{
    uint64_t at = (uint64_t)service * PLACE_SAMPLE_BLOCKS + (uint64_t)block;
    if (sample == 0)
        return PLACE_SAMPLE_BLOCKS - samples->n_blocks + block;
    return (int32_t)(rng_at(samples->desk->seed, (uint64_t)sample, at) >> 32) &
           (PLACE_SAMPLE_BLOCKS - 1);
}

/* Into `out`, unless that is NULL. Returns how many. */
static int32_t copy(const struct place_samples *samples, int32_t sample, struct place_request *out)
{
    const struct place_window *window = &samples->desk->problem->window;
    int64_t block_ns = window->span_ns / PLACE_SAMPLE_BLOCKS;
    int32_t n = 0;
    for (int32_t i = 0; i < window->n; i++) {
        const struct place_request *r = &window->requests[i];
        int32_t block = block_of(window, r->arrived_ns);
        for (int32_t b = 0; b < samples->n_blocks; b++) {
            if (drawn(samples, sample, r->service, b) != block)
                continue;
            int64_t at_ns = max_i64(r->arrived_ns + (b - block) * block_ns, 0);
            if (out != NULL) {
                out[n] = *r;
                out[n].arrived_ns = (int64_t)((double)at_ns / paces[sample]);
            }
            n++;
        }
    }
    return n;
}

static void draw(struct place_samples *samples, int32_t sample)
{
    struct place_window *out = &samples->windows[sample];
    int32_t n = copy(samples, sample, NULL);
    struct place_request *requests =
        pile_take(samples->desk->pile, (size_t)max_i32(n, 1) * sizeof(*requests));
    (void)copy(samples, sample, requests);
    qsort(requests, (size_t)n, sizeof(*requests), by_arrival);
    double span = (double)samples->desk->problem->window.span_ns * samples->n_blocks;
    int64_t span_ns = (int64_t)(span / (PLACE_SAMPLE_BLOCKS * paces[sample])) + 1;
    if (n > 0)
        span_ns = max_i64(span_ns, requests[n - 1].arrived_ns + 1);
    *out = (struct place_window){ requests, n, span_ns };
}

void place_samples_open(struct place_samples *samples, const struct place_desk *desk)
{
    int usual = getenv("USUAL") ? atoi(getenv("USUAL")) : PLACE_SAMPLE_USUAL;
    if (getenv("SAMPLES")) {
        n_samples = atoi(getenv("SAMPLES"));
        sscanf(getenv("PACES"), "%lf,%lf,%lf", &paces[1], &paces[2], &paces[3]);
    }
    const struct place_window *window = &desk->problem->window;
    *samples = (struct place_samples){ .desk = desk, .n = 1, .n_blocks = PLACE_SAMPLE_BLOCKS };
    samples->windows[0] = *window;
    if (window->n < REQUESTS_LEAST || window->span_ns < PLACE_SAMPLE_BLOCKS)
        return;
    double blocks = PLACE_SAMPLE_BLOCKS * usual * desk->effort / window->n + 0.5;
    if (blocks < PLACE_SAMPLE_BLOCKS)
        samples->n_blocks = max_i32((int32_t)blocks, 1);
    for (samples->n = samples->n_blocks == PLACE_SAMPLE_BLOCKS; samples->n < n_samples; samples->n++)
        draw(samples, samples->n);
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

/* Those of the other windows added to the scores of the one. */
static void score_others(struct place_samples *samples, const struct place_plan *const *plans,
                         int n, int32_t but, struct place_score *scores)
{
    const struct place_judge *judge = samples->desk->judge;
    reserve(samples, n);
    for (int32_t k = 0; k < samples->n; k++) {
        if (k == but)
            continue;
        judge->score(judge->self, plans, n, &samples->windows[k], samples->scores);
        for (int i = 0; i < n; i++)
            add(scores[i].services, samples->scores[i].services, samples->desk->problem->n_services);
    }
    for (int i = 0; i < n && samples->n > 1; i++)
        sum_up(samples, &scores[i]);
}

static void score(void *self, const struct place_plan *const *plans, int n,
                  const struct place_window *window, struct place_score *scores)
{
    struct place_samples *samples = self;
    const struct place_judge *judge = samples->desk->judge;
    (void)window;
    judge->score(judge->self, plans, n, &samples->windows[0], scores);
    score_others(samples, plans, n, 0, scores);
}

void place_samples_race(struct place_samples *samples, const struct place_plan *const *plans, int n,
                        int n_kept, struct place_score *scores)
{
    const struct place_judge *judge = samples->desk->judge;
    const struct place_plan *kept[PLACE_RACE_MAX];
    struct place_score kept_scores[PLACE_RACE_MAX];
    int32_t first = samples->n > 1, at[PLACE_RACE_MAX], n_own = 0;
    CHECK(n <= PLACE_RACE_MAX);
    judge->score(judge->self, plans, n, &samples->windows[first], scores);
    for (int i = 0; i < n; i++) {
        int n_better = 0;
        for (int k = 0; k < n; k++) {
            int order = k == i ? 0 : place_judge_compare(&scores[k], &scores[i]);
            n_better += order > 0 || (order == 0 && k < i);
        }
        if (n_better >= n_kept)
            continue;
        at[n_own] = i;
        kept[n_own] = plans[i];
        kept_scores[n_own++] = scores[i];
    }
    for (int i = 0; i < n; i++)
        scores[i].n_placed = -1;
    score_others(samples, kept, n_own, first, kept_scores);
    for (int i = 0; i < n_own; i++)
        scores[at[i]] = kept_scores[i];
}

static int64_t work(const void *self)
{
    const struct place_samples *samples = self;
    return samples->desk->judge->work(samples->desk->judge->self);
}

struct place_judge place_samples_face(struct place_samples *samples)
{
    return (struct place_judge){ samples, score, work };
}
