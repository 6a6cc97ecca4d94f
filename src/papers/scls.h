/* Shared by the claims of SCLS: a setting, and the results of a run. */
#pragma once
#include "papers/papers.h"

struct papers_scls_setting {
    const char *key, *policy; /* as papers_simulate */
    int rate, n_workers;      /* requests a second; LLaMA2-13B on an A100-80G each */
    const char *more;         /* further lines of the scenario, or "" */
};
/* Runs Poisson arrivals for 10 minutes (a minute when quick), with lengths like CodeFuse's and no
 * predictions. */
enum status papers_scls_run(struct papers *repro, const struct papers_scls_setting *setting,
                            struct fault *fault) MUST_USE;
/* Runs each of the policies at 20 requests/s on 8 workers, under the keys "0", "1", ... */
enum status papers_scls_run_each(struct papers *repro, const char *const *policies, int n,
                                 const char *more, struct fault *fault) MUST_USE;
/* Means over the seeds of a key. */
struct papers_scls_worth {
    double per_s, mean_s, p95_s; /* requests a second, response times */
    double deviation_s;          /* of the times at which workers finished */
    double pads, invalid;        /* tokens of a request, all its slices together */
    double slices;               /* of a request */
    double batch;                /* rows of a static batch; 0: there was no batch */
    double early; /* part of the batches that all members left before the slice was over */
};
struct papers_scls_worth papers_scls_of(const struct papers *repro, const char *key);
