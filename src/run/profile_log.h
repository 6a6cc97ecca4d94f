/* Makes a profile's group from an engine's log: the times of its batches while it served, instead
 * of passes that are measured for it. */
#pragma once
#include "base/status.h"
#include "predict/profile.h"

/* Uses the batches of the log's service with this name on the whole device. Equal batches (requests
 * and their mean context, tokens of prompts) form one sample, by the median of their times; every
 * fifth sample is held out. Batches of prompts and decodes together are left out, because perf_fit
 * does not take them. n_batches: the number that was used. BAD_INPUT: it is not a log, or has too
 * few batches. */
enum status profile_log_read(const char *path, const char *service,
                             struct predict_profile_group *group, int64_t *n_batches,
                             struct fault *fault) MUST_USE;
