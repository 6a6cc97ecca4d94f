/* What a pipeline changes in a batch: all batches that are under way pass all stages, and wait for
 * the longest of them. n_deep: of a service under way at once; 1: no pipeline, and no bound. */
#pragma once
#include "schedule/policy.h"

enum { SCHEDULE_PIPELINE_CHUNK_MIN = 32 }; /* no smaller piece of a prompt is worth its batch */
/* The most decodes that the next batch of the service takes on the lane. */
int32_t schedule_pipeline_decodes(const struct schedule_view *view, int32_t n_deep, int service,
                                  int32_t lane);
/* The most waiting requests that a batch starts. */
int32_t schedule_pipeline_starts(int32_t n_deep, const struct schedule_service *service);
/* The most prompt tokens of one request in one batch; the thresholds have chunks. */
int32_t schedule_pipeline_chunk(const struct schedule_view *view,
                                const struct schedule_config *config, int service);
