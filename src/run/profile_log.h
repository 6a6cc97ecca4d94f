/* A profile's group from an engine's log: what its batches took while it served, in the place of
 * passes that are measured for it. */
#pragma once
#include "base/status.h"
#include "predict/profile.h"

/* Of the log's service with this name, its batches on the whole device. Batches that are alike
 * (requests and their mean context, tokens of prompts) are one sample, by the median of what they
 * took; every fifth is held out. Those of prompts and decodes together are left out: perf_fit takes
 * none. n_batches: that were used. BAD_INPUT: it is no log, or has too few of them. */
enum status profile_log_read(const char *path, const char *service,
                             struct predict_profile_group *group, int64_t *n_batches,
                             struct fault *fault) MUST_USE;
