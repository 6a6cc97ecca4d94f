/* The effect of a pipeline on a batch: all batches in flight pass all stages, and wait for the
 * longest of them. n_deep: batches of a service in flight at once; 1: no pipeline, and no bound. */
#pragma once
#include "schedule/policy.h"

enum { SCHEDULE_PIPELINE_CHUNK_MIN = 32 }; /* a smaller piece of a prompt is not worth its batch */
/* Returns the most decodes that the next batch of the service takes on the lane. */
int32_t schedule_pipeline_decodes(const struct schedule_view *view, int32_t n_deep, int service,
                                  int32_t lane);
/* The most waiting requests that a batch starts. */
int32_t schedule_pipeline_starts(int32_t n_deep, const struct schedule_service *service);
/* Returns the most prompt tokens of one request in one batch. The thresholds must have chunks. */
int32_t schedule_pipeline_chunk(const struct schedule_view *view,
                                const struct schedule_config *config, int service);
