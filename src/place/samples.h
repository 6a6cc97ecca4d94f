/* The windows on which a plan is judged: the one that was seen, and others that might have been,
 * because the plan is to serve future requests.
 *
 * A sample is made of spans of the window; the whole window has PLACE_SAMPLE_BLOCKS of them. Every
 * service draws its own spans, with repeats. This keeps the bursts of each service, but not which
 * bursts coincide (a block bootstrap). If rates drift more than chance explains, services draw more
 * or fewer spans. How far is measured over all services by how much the two halves of the window
 * differ (drift, the variance of the logarithm of a rate). Samples come in pairs: a service with
 * more load in one has less in the other. Some samples are played faster, so that a plan at the
 * edge of its capacity shows it. For a long window a sample has as many spans as hold about
 * PLACE_SAMPLE_USUAL requests. Such samples can be over before a group that cannot keep up visibly
 * falls behind. Then samples are longer, and fewer: they last as long as PLACE_SAMPLE_SOLOS
 * requests take one after the other, if that is at most PLACE_SAMPLE_LONG requests. The first
 * sample is what was seen: the last spans of the window, twice the usual number, unchanged. It
 * counts for a third. The same seed gives the same samples.
 *
 * The cost of a plan is its mean over samples of log NL + (1 - attainment) + a quarter of the part
 * of the services that miss the target. So a percent of any term costs the same in an overloaded
 * sample as in another. Services that the plan leaves out outweigh all of these. */
#pragma once
#include "place/planner.h"

enum {
    PLACE_SAMPLES = 5,
    PLACE_SAMPLE_BLOCKS = 16,
    PLACE_SAMPLE_USUAL = 1000, /* times the desk's effort */
    PLACE_SAMPLE_LONG = 8000,  /* times the same */
    PLACE_SAMPLE_SOLOS = 10,
    PLACE_SAMPLE_LEAST = 64, /* a window of fewer requests is used as it is, alone */
    PLACE_RACE_MAX = 80,
};
struct place_samples {
    const struct place_desk *desk;
    struct place_window windows[PLACE_SAMPLES];
    int32_t n, n_blocks, n_seen;  /* spans of a sample, of the first */
    double length;                /* of all samples together, over the usual; at least 1 */
    int32_t order[PLACE_SAMPLES]; /* in which a race has them */
    double aimed[PLACE_SAMPLES];  /* cost of the plan aimed at, in the first 1, 2, ... of these */
    double drift;
    struct place_score *scores; /* (n_scores) what one window gave, with services */
    int32_t n_scores;
};
/* Takes the memory that it needs from the desk's pile. The desk is lent. */
void place_samples_open(struct place_samples *samples, const struct place_desk *desk);
/* Returns a judge whose scores are over all samples together, whichever window is passed: every
 * request of every sample counts once. The fields latency_s and p99_s are of one sample. Scores
 * that are passed in must have services. It is for planners that choose by themselves. */
struct place_judge place_samples_face(struct place_samples *samples);
/* Gives the same scores, and costs, for the best n_kept plans. After every sample the half of the
 * remaining plans with the higher cost drops out, down to n_kept. Plans that dropped out cost
 * PLACE_COST_LOST, and their scores are meaningless. n: at most PLACE_RACE_MAX. */
#define PLACE_COST_LOST 1e300
void place_samples_race(struct place_samples *samples, const struct place_plan *const *plans, int n,
                        int n_kept, struct place_score *scores, double *costs);
/* Gives the costs in the first sample of a race, and the scores in it. */
void place_samples_first(struct place_samples *samples, const struct place_plan *const *plans,
                         int n, struct place_score *scores, double *costs);
/* Makes races begin with the samples in which this plan costs most for their length, because
 * changes of it show there soonest. */
void place_samples_aim(struct place_samples *samples, const struct place_plan *plan);
/* Races against the plan aimed at: a plan that costs more than it after any sample drops out. */
void place_samples_challenge(struct place_samples *samples, const struct place_plan *const *plans,
                             int n, int n_kept, struct place_score *scores, double *costs);
