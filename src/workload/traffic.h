/* Reads the --workload texts of a command line into one workload. */
#pragma once
#include "base/flags.h"
#include "base/status.h"
#include "workload/workload.h"

#define TRAFFIC_PIPE_BYTES_MAX ((size_t)4 << 30)
struct traffic_options {
    uint64_t seed;       /* 0: as in the workload */
    uint64_t n_requests; /* 0: as in the workload; 10,000 if it has no end */
    int64_t duration_ns; /* arrivals end here; 0: as in the workload */
    double rate_scale;   /* times as many a second; 0 = 1 */
    int64_t run_length;  /* this many requests in a row of one source; 0: as in the workload */
    double length_noise; /* on true lengths; 0: as in the workload */
};
/* The caller frees the workload with workload_free, even after a fault. */
enum status traffic_parse(struct workload *workload, const struct flags_texts *texts,
                          const struct traffic_options *options, struct fault *fault) MUST_USE;
/* Keeps the content of pipes that the texts name, so that it may be read more than once. */
enum status traffic_keep_pipes(const struct flags_texts *texts, struct fault *fault) MUST_USE;
