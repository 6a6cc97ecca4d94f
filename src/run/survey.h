/* Measures a loaded model over a grid of passes, for `shoal profile`.
 *
 * Passes are measured in rounds, each round in another order, and a pass' time is the median of its
 * rounds. So a temporary slowdown of the machine affects a round of all passes, not one point. */
#pragma once
#include "predict/profile.h"
#include "run/meter.h"

struct run_survey_options {
    int64_t budget_ns; /* approximate, but at least three rounds of a few passes */
    int32_t n_batch_max, n_prompt_max, n_context_max;
};
/* Measures decodes by batch and context, prompts, and prompts behind a context, small ones first. A
 * fifth of the points is held out. Sets the group's samples, n_samples and n_held. */
void run_survey(const struct run_model *model, const struct run_survey_options *options,
                struct predict_profile_group *group);
/* Measures how much longer a pass takes on the device's lane 1 while lane 2 computes the same
 * model. Results are medians of rounds, each of which measures the pass alone and beside the other.
 * The device has lanes 1 and 2. */
void run_survey_beside(const struct run_model *model, const struct run_survey_options *options,
                       struct predict_profile_beside *out);
