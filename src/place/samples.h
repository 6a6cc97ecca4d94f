/* The window that was seen, and others that might have been: what a plan is judged on that is to
 * serve requests which nobody has seen yet.
 *
 * A sample is the window cut into SAMPLE_BLOCKS spans, of which every service draws as many, with
 * repeats and apart from the others: its own bursts stay as they are, what comes together with what
 * does not, and rates vary as far as the window shows that they do (a block bootstrap). All of a
 * sample is played quicker by a factor, so that a plan at the edge of what it can serve is seen to
 * be there. The same seed gives the same samples. */
#pragma once
#include "place/planner.h"

enum { PLACE_SAMPLES_MAX = 4, PLACE_SAMPLE_BLOCKS = 8, PLACE_SAMPLE_USUAL = 1200, PLACE_RACE_MAX = 32 };
struct place_samples {
    const struct place_desk *desk;
    struct place_window windows[PLACE_SAMPLES_MAX]; /* the first is the problem's own */
    int32_t n, n_blocks; /* of a sample */
    struct place_score *scores; /* (n_scores) what one window gave, with services */
    int32_t n_scores;
};
/* Takes what it needs from the desk's pile. */
void place_samples_open(struct place_samples *samples, const struct place_desk *desk);
/* A judge whose scores are of all windows together, whichever window it is asked for: every request
 * of every sample counts once. latency_s and p99_s are the first window's. */
struct place_judge place_samples_face(struct place_samples *samples);
/* The same for the n_kept of the plans that are best in one sample; the others' scores say that
 * they place fewer than none, which is worse than all. */
void place_samples_race(struct place_samples *samples, const struct place_plan *const *plans, int n,
                        int n_kept, struct place_score *scores);
