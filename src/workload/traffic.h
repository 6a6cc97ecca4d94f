/* The --workload texts of a command line, read into one workload. */
#pragma once
#include "base/flags.h"
#include "base/status.h"
#include "workload/workload.h"

#define TRAFFIC_PIPE_BYTES_MAX ((size_t)4 << 30)
struct traffic_options {
    uint64_t seed;       /* 0: as the workload says */
    uint64_t n_requests; /* 0: as the workload says; 10,000 where it has no end */
    int64_t duration_ns; /* arrivals end here; 0: as the workload says */
    double rate_scale;   /* times as many a second; 0 = 1 */
    int64_t run_length;  /* so many requests in a row of one source; 0: as the workload says */
    double length_noise; /* on true lengths; 0: as the workload says */
};
/* The workload is the caller's for workload_free, also after a fault. */
enum status traffic_parse(struct workload *workload, const struct flags_texts *texts,
                          const struct traffic_options *options, struct fault *fault) MUST_USE;
/* What the texts name that comes through a pipe is kept, so that it may be read more than once. */
enum status traffic_keep_pipes(const struct flags_texts *texts, struct fault *fault) MUST_USE;
