/* The window that was seen, and others that might have been: what a plan is judged on that is to
 * serve requests which nobody has seen yet.
 *
 * A sample is made of spans of the window, PLACE_SAMPLE_BLOCKS of which are all of it. Every
 * service draws its own, with repeats: its bursts stay as they are, what comes together with what
 * does not (a block bootstrap). Where rates drift more than chance explains, services draw more or
 * fewer of them: how far the two halves of the window differ, over all services, says how far
 * (drift, the variance of the logarithm of a rate). Samples come in pairs: who is asked more in one
 * is asked less in the other. Some are played quicker, so that a plan at the edge of what it can
 * serve is seen to be there. Of a long window a sample has as many spans as hold about
 * PLACE_SAMPLE_USUAL requests. Where these are over before a group that cannot keep up is seen to
 * fall behind, samples are longer, and fewer: as long as PLACE_SAMPLE_SOLOS requests take one after
 * the other, while that is at most PLACE_SAMPLE_LONG requests. The first sample is what was seen:
 * twice as many usual spans, the window's last ones, as they were; it counts for a third. The same
 * seed gives the same samples.
 *
 * What a plan costs is its mean over samples of log NL + (1 - attainment) + a quarter of the part
 * of the services that miss the target, so that a percent of any of them is as dear in a sample
 * that is overloaded as in one that is not; services that it leaves out come before all. */
#pragma once
#include "place/planner.h"

enum {
    PLACE_SAMPLES = 5,
    PLACE_SAMPLE_BLOCKS = 16,
    PLACE_SAMPLE_USUAL = 1000, /* times the desk's effort */
    PLACE_SAMPLE_LONG = 8000,  /* times the same */
    PLACE_SAMPLE_SOLOS = 10,
    PLACE_SAMPLE_LEAST = 64, /* a window of fewer requests is all that there is */
    PLACE_RACE_MAX = 80,
};
struct place_samples {
    const struct place_desk *desk;
    struct place_window windows[PLACE_SAMPLES];
    int32_t n, n_blocks, n_seen;  /* spans of a sample, of the first */
    double length;                /* of all together, over the usual; at least 1 */
    int32_t order[PLACE_SAMPLES]; /* in which a race has them */
    double aimed[PLACE_SAMPLES];  /* what the plan aimed at costs in the first so many of these */
    double drift;
    struct place_score *scores; /* (n_scores) what one window gave, with services */
    int32_t n_scores;
};
/* Takes what it needs from the desk's pile. The desk is lent. */
void place_samples_open(struct place_samples *samples, const struct place_desk *desk);
/* A judge whose scores are of all samples together, whichever window it is asked for: every request
 * of every sample counts once. latency_s and p99_s are of one sample. Scores that it is given
 * have services. For planners that choose by themselves. */
struct place_judge place_samples_face(struct place_samples *samples);
/* The same scores, and costs, of the best n_kept plans: after every sample the dearer half of those
 * left is out, down to n_kept. These cost PLACE_COST_LOST, and their scores are of nothing. n: at
 * most PLACE_RACE_MAX. */
#define PLACE_COST_LOST 1e300
void place_samples_race(struct place_samples *samples, const struct place_plan *const *plans, int n,
                        int n_kept, struct place_score *scores, double *costs);
/* What they cost in the first sample of a race; their scores are of it. */
void place_samples_first(struct place_samples *samples, const struct place_plan *const *plans,
                         int n, struct place_score *scores, double *costs);
/* Races begin with the samples in which this plan is dearest, for their length: there changes of it
 * are told apart soonest. */
void place_samples_aim(struct place_samples *samples, const struct place_plan *plan);
/* A race against the plan aimed at: who is dearer than it after any sample is out. */
void place_samples_challenge(struct place_samples *samples, const struct place_plan *const *plans,
                             int n, int n_kept, struct place_score *scores, double *costs);
